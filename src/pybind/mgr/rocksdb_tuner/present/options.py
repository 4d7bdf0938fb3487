"""Option strings, options and profiles: `check`, `explain` and `profile`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Optional, Union

from ..advise.profiles import Profile, PublishedEvidence, SuitabilityRule
from ..advise.whatif.compare import Comparison, OptionChange
from ..options.catalogue import OptionInfo, RelatedOption
from ..options.checks import Problem
from ..options.effective import as_read_by
from ..options.syntax import OptionSyntaxError, parse
from ..options.verdict import ReleaseVerdict, Verdict
from ..units import UNKNOWN, format_change, format_plural
from .layout import Column, fields, paragraph, table
from .phrases import COMMAND, SEVERITY_MARKS, bullets, osd_names, sections, titled

_ACCEPTED = {True: 'accepted', False: 'NOT accepted', None: 'unknown'}
_TAKES_EFFECT = {
    'at-once': 'immediately',
    'restart': 'after a restart of the OSD',
    'mkfs': 'when an OSD is created',
}
_SCOPES = {'db': 'the whole database', 'cf': 'each column family', 'ceph': 'Ceph'}


def check(verdict: Verdict) -> str:
    """Whether an OSD would start, the effective options and problems."""
    worst = verdict.worst
    return sections(
        fields(
            [
                ('Release', f'{worst.release.label}, RocksDB {worst.release.rocksdb_version}'),
                ('Accepted', _accepted(worst)),
                *_about_osds(worst),
                *_others(verdict),
            ]
        ),
        titled('Problems', '\n'.join(_problem(p) for p in worst.result.problems)),
        _in_effect(worst),
        titled('Assumptions', bullets(worst.subject.hardware.assumptions)),
    )


def _about_osds(verdict: ReleaseVerdict) -> Iterable[tuple[str, str]]:
    if verdict.subject.osd_ids:
        yield 'For', osd_names(verdict.subject.osd_ids)
    if verdict.subject.annex:
        yield 'With annex', verdict.subject.annex


def _accepted(verdict: ReleaseVerdict) -> str:
    return {
        True: 'yes: an OSD starts with these options',
        False: 'NO: an OSD does not start with these options',
        None: 'UNKNOWN: cannot determine whether an OSD starts with these options',
    }[verdict.result.accepted]


def _others(verdict: Verdict) -> Iterable[tuple[str, str]]:
    others = [
        f'{one.release.label}: {_ACCEPTED[one.result.accepted]}' for one in verdict.by_release[1:]
    ]
    if others:
        yield 'Other releases', ', '.join(others)


def _in_effect(verdict: ReleaseVerdict) -> str:
    """The given options whose effective value differs, and the number of the others."""
    if not verdict.result.accepted:
        return ''
    try:
        written = as_read_by(parse(verdict.text), verdict.release.rocksdb_version).as_dict()
    except OptionSyntaxError:
        return ''
    effective = verdict.result.effective
    rows = [
        (name, value, effective.get(name, UNKNOWN))
        for name, value in written.items()
        if re.sub(r'\.0+$', '', effective.get(name, '')) != value
    ]
    if not rows:
        return ''
    columns = (
        Column('OPTION'),
        Column('GIVEN'),
        Column('EFFECTIVE'),
    )
    return titled('Read differently', table(columns, rows, indent=2))


def _problem(problem: Problem) -> str:
    label = f'  {SEVERITY_MARKS[problem.severity]} '
    about = '' if problem.option is None else f'{problem.option}: '
    return '\n'.join(
        (
            paragraph(f'{about}{problem.message}', indent=len(label), first=label),
            paragraph(f'({problem.rule}; {problem.source})', indent=len(label)),
        )
    )


def option_list(options: Sequence[Union[OptionInfo, RelatedOption]]) -> str:
    """A row per option."""
    columns = (
        Column('OPTION'),
        Column('FOR', omit=1),
        Column('TYPE', omit=3),
        Column('DANGER', omit=2),
        Column('DESCRIPTION', omit=4),
    )
    return table(
        columns,
        (
            (
                info.name,
                *_kind(info),
                info.danger.level if info.danger else UNKNOWN,
                info.meaning,
            )
            for info in options
        ),
    )


def _kind(info: Union[OptionInfo, RelatedOption]) -> tuple[str, str]:
    if isinstance(info, RelatedOption):
        return 'osd', info.value_type
    return info.scope, info.value_type.value


def explain(info: Union[OptionInfo, RelatedOption]) -> str:
    """An option in full."""
    if isinstance(info, RelatedOption):
        return _related_option(info)
    unit = f' of {info.unit}' if info.unit else ''
    pairs = [
        ('Option', info.name),
        ('For', _SCOPES.get(info.scope, info.scope)),
        ('Type', f'{info.value_type.value}{unit}'),
        ('Description', info.meaning),
        ('Change it', info.change_when),
        ('Leave it', info.leave_when),
        *_limits(info),
        *([('Deprecated', info.deprecated)] if info.deprecated else []),
        ('Takes effect', _TAKES_EFFECT['restart' if info.needs_restart else 'at-once']),
        ('Set by module', 'possible' if info.assessed else 'never: its effect is not assessed'),
        ('Source', info.source),
    ]
    rows = [
        (f'RocksDB {version}', facts.default or UNKNOWN, facts.no_effect or '')
        for version, facts in info.versions.items()
    ]
    columns = (
        Column('IN'),
        Column('DEFAULT'),
        Column('NO EFFECT'),
    )
    return sections(fields(pairs), table(columns, rows), titled('Members', _members(info)))


def _related_option(info: RelatedOption) -> str:
    """A Ceph option outside the option string."""
    unit = f' of {info.unit}' if info.unit else ''
    pairs = [
        ('Option', info.name),
        ('For', 'the OSD, outside the option string'),
        ('Type', f'{info.value_type}{unit}'),
        ('Description', info.meaning),
        ('Change it', info.change_when),
        ('Leave it', info.leave_when),
        *([('Danger', f'{info.danger.level}: {info.danger.why}')] if info.danger else []),
        ('Takes effect', _TAKES_EFFECT[info.takes_effect]),
        ('Source', info.source),
    ]
    rows = [
        (release.capitalize(), '(no such option)' if text is None else text or '(empty)')
        for release, text in info.defaults.items()
    ]
    columns = (Column('IN'), Column('DEFAULT'))
    return sections(fields(pairs), table(columns, rows))


def _members(info: OptionInfo) -> str:
    """The members of a struct with their defaults by version."""
    if not info.members:
        return ''
    columns = (
        Column('MEMBER'),
        Column('TYPE'),
        Column('DEFAULT'),
    )
    rows = []
    for member in info.members:
        by_default: dict[str, list[str]] = {}
        for version, default in member.defaults.items():
            by_default.setdefault(default, []).append(version)
        defaults = (f'{text or "(empty)"} ({", ".join(v)})' for text, v in by_default.items())
        kind = member.value_type.value if member.value_type else 'ignored'
        rows.append((member.name, kind, ', '.join(defaults)))
    return table(columns, rows, indent=2)


def _limits(info: OptionInfo) -> Iterable[tuple[str, str]]:
    if info.choices:
        yield (
            'Values',
            ', '.join(
                c.name if c.starts else f'{c.name} (an OSD does not start with it)'
                for c in info.choices
            ),
        )
    if info.bounds:
        ends = (info.bounds.minimum, info.bounds.maximum)
        yield 'Moved into', ' to '.join(UNKNOWN if e is None else info.spelled(e) for e in ends)
    if info.sane:
        least, most = info.spelled(info.sane.minimum), info.spelled(info.sane.maximum)
        yield 'Sane range', f'{least} to {most}: {info.sane.why}'
    if info.danger:
        yield 'Danger', f'{info.danger.level}: {info.danger.why}'


def comparison(compared: Comparison) -> str:
    """The differences between two option strings, and an explanation of each."""
    head = fields(
        [
            ('From', compared.side_from.name),
            ('To', compared.side_to.name),
            (
                'Release',
                f'{compared.release.label}, RocksDB {compared.release.rocksdb_version}',
            ),
        ]
    )
    if not compared.changes:
        return sections(head, 'No difference: both result in the same effective options.')
    columns = (
        Column('OPTION'),
        Column('FROM'),
        Column('TO'),
    )
    rows = (
        (
            change.option,
            _value(change.written_from, change.effective_from),
            _value(change.written_to, change.effective_to),
        )
        for change in compared.changes
    )
    untold = [
        f'{name[:1].upper()}{name[1:]}: {what}'
        for names, what in (
            (compared.refused, 'OSDs do not start with it.'),
            (compared.not_judged, 'cannot determine whether an OSD starts with it.'),
        )
        for name in names
    ]
    return sections(
        head,
        bullets(untold),
        table(columns, rows),
        titled('Why', '\n'.join(_reason(change) for change in compared.changes)),
    )


def _value(written: Optional[str], effective: Optional[str]) -> str:
    """The effective value, and the given one if it differs."""
    if effective is None:
        return UNKNOWN if written is None else written
    if written is None or written == effective:
        return effective
    return f'{effective} ({written})'


def _reason(change: OptionChange) -> str:
    info = change.info
    if info is None:
        text = 'Not in the catalog.'
    elif change.follows:
        text = f'Follows from other options. {info.meaning}'
    else:
        text = f'{info.meaning} Change it: {info.change_when} Leave it: {info.leave_when}'
    return paragraph(f'{change.option}: {text}', 4, '  - ')


_SUPERSEDED_MARK = '*'


def profile_list(profiles: Sequence[Profile]) -> str:
    """All profiles, the best-tested first."""
    text = table(
        (
            Column('NAME'),
            Column('DEFAULT OF', omit=1),
            Column('SUITS'),
            Column('TITLE', omit=2),
        ),
        (
            (
                _name(p),
                ', '.join(p.release_defaults) or UNKNOWN,
                ', '.join(w.value for w in p.workloads) or UNKNOWN,
                p.title,
            )
            for p in profiles
        ),
    )
    superseded = any(p.superseded is not None for p in profiles)
    note = (
        f'{_SUPERSEDED_MARK} superseded, some only on newer releases: '
        f'see "{COMMAND} profile show <name>"'
    )
    return sections(text, paragraph(note) if superseded else '')


def _name(shown: Profile) -> str:
    mark = '' if shown.superseded is None else _SUPERSEDED_MARK
    return f'{shown.name}{mark} (custom)' if shown.own else f'{shown.name}{mark}'


def profile(shown: Profile) -> str:
    """A profile with its suitability and published evidence."""
    pairs = [
        ('Profile', shown.name),
        ('Title', shown.title),
        ('Default of', ', '.join(shown.release_defaults) or 'no release'),
    ]
    if shown.own:
        pairs.append(('Custom, for', ', '.join(shown.own_releases)))
    if shown.superseded is not None:
        since = shown.superseded_from_rocksdb
        when = '' if since is None else f' (from RocksDB {since} on)'
        pairs.append(('Superseded', f'{shown.superseded}{when}'))
    pairs += [('Options', shown.options or '(empty)'), ('Source', shown.source)]
    return sections(
        fields(pairs),
        titled('Suits', '\n'.join(_suitability(shown.suitability))),
        titled('Hardware', bullets(_hardware(shown))),
        titled('Published', '\n'.join(_published(figure) for figure in shown.evidence)),
        titled('Cautions', bullets(shown.cautions)),
    )


def _suitability(rules: Sequence[SuitabilityRule]) -> Iterable[str]:
    """One entry for identical rules of several workloads."""
    by_content: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        where = f'RocksDB {_versions(rule)}'
        by_content.setdefault((where, rule.reasons), []).append(rule.workload.value)
    for (where, reasons), workloads in by_content.items():
        yield paragraph(f'{", ".join(workloads)} ({where})', 4, '  - ')
        yield from (paragraph(reason, 6) for reason in reasons)


def _versions(rule: SuitabilityRule) -> str:
    if rule.rocksdb_max is None:
        return f'{rule.rocksdb_min} and later'
    if rule.rocksdb_max == rule.rocksdb_min:
        return rule.rocksdb_min
    return f'{rule.rocksdb_min} to {rule.rocksdb_max}'


def _hardware(shown: Profile) -> Iterable[str]:
    cores = shown.hardware.loses_at_cores_per_osd
    if cores is not None:
        yield f'A loss was published for {format_plural(cores, "core")} per OSD or fewer.'
    yield from shown.hardware.notes


def _published(figure: PublishedEvidence) -> str:
    change = format_change(figure.change_percent)
    text = f'{figure.workload.value}, {figure.metric}: {change} against {figure.baseline}'
    if figure.baseline_value is not None:
        # Published figures are not rounded.
        unit = '' if figure.unit == 'ratio' else f' {figure.unit}'
        text += f' ({figure.value:,.12g}{unit} against {figure.baseline_value:,.12g})'
    source = figure.source
    return '\n'.join(
        (
            paragraph(text, 4, '  - '),
            paragraph(figure.setup, 6),
            paragraph(f'{source.author}, {source.title}, {source.year}, {source.section}', 6),
        )
    )

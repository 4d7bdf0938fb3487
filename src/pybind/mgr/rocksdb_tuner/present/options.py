"""Option strings, options and profiles: `check`, `explain` and `profile`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Optional, Union

from ..advise.profiles import Profile, PublishedEvidence, SuitabilityRule
from ..advise.whatif.compare import Comparison, OptionChange
from ..options.catalogue import Member, OptionInfo, RelatedOption
from ..options.checks import Problem
from ..options.effective import as_read_by
from ..options.syntax import OptionSyntaxError, parse
from ..options.verdict import ReleaseVerdict, Verdict
from ..units import UNKNOWN, format_change, format_plural
from .layout import Column, bullets, fields, filled, joined, paragraph, sections, table, titled
from .phrases import COMMAND, SEVERITY_MARKS, options_or_empty, osd_names

Info = Union[OptionInfo, RelatedOption]

_ACCEPTED = {True: 'accepted', False: 'NOT accepted', None: 'unknown'}
_STARTS = {
    True: 'yes: an OSD starts with these options',
    False: 'NO: an OSD does not start with these options',
    None: 'UNKNOWN: cannot determine whether an OSD starts with these options',
}


def _texts(*titles: str) -> Sequence[Column[Sequence[str]]]:
    """Columns of rows that are their cells."""
    return tuple(Column(title, itemgetter(number)) for number, title in enumerate(titles))


def check(verdict: Verdict) -> str:
    """Whether an OSD would start, the effective options and problems."""
    worst, subject = verdict.worst, verdict.worst.subject
    others = (f'{v.release.label}: {_ACCEPTED[v.result.accepted]}' for v in verdict.by_release[1:])
    return sections(
        fields(
            ('Release', f'{worst.release.label}, RocksDB {worst.release.rocksdb_version}'),
            ('Accepted', _STARTS[worst.result.accepted]),
            ('For', osd_names(subject.osd_ids) if subject.osd_ids else None),
            ('With annex', subject.annex or None),
            ('Other releases', ', '.join(others) or None),
        ),
        titled('Problems', joined(*map(_problem, worst.result.problems))),
        titled(
            'Read differently',
            table(_texts('OPTION', 'GIVEN', 'EFFECTIVE'), _read_differently(worst), indent=2),
        ),
        titled('Assumptions', bullets(subject.hardware.assumptions)),
    )


def _read_differently(verdict: ReleaseVerdict) -> Iterable[Sequence[str]]:
    """The given options whose effective value differs."""
    effective, version = verdict.result.effective, verdict.release.rocksdb_version
    try:
        written = as_read_by(parse(verdict.text), version) if verdict.result.accepted else None
    except OptionSyntaxError:
        return
    for name, value in written.as_dict().items() if written else ():
        if re.sub(r'\.0+$', '', effective.get(name, '')) != value:
            yield name, value, effective.get(name, UNKNOWN)


def _problem(problem: Problem) -> str:
    label = f'  {SEVERITY_MARKS[problem.severity]} '
    about = '' if problem.option is None else f'{problem.option}: '
    return joined(
        paragraph(f'{about}{problem.message}', len(label), label),
        paragraph(f'({problem.rule}; {problem.source})', len(label)),
    )


_TAKES_EFFECT = {
    'at-once': 'immediately',
    'restart': 'after a restart of the OSD',
    'mkfs': 'when an OSD is created',
}
_SCOPES = {'db': 'the whole database', 'cf': 'each column family', 'ceph': 'Ceph'}


def _type(info: Info) -> str:
    return info.value_type.value if isinstance(info, OptionInfo) else info.value_type


_OPTIONS: Sequence[Column[Info]] = (
    Column('OPTION', 'name'),
    Column('FOR', lambda info: info.scope if isinstance(info, OptionInfo) else 'osd', omit=1),
    Column('TYPE', _type, omit=3),
    Column('DANGER', 'danger.level', omit=2),
    Column('DESCRIPTION', 'meaning', omit=4),
)


def option_list(options: Sequence[Info]) -> str:
    """A row per option."""
    return table(_OPTIONS, options)


def explain(info: Info) -> str:
    """An option of the string, or one of Ceph, in full."""
    danger = f'{info.danger.level}: {info.danger.why}' if info.danger else None
    use: Sequence[tuple[str, Optional[str]]]
    if isinstance(info, OptionInfo):
        scope, defaults = _SCOPES.get(info.scope, info.scope), _defaults(info)
        use = tuple(_use(info))
    else:
        scope, defaults = 'the OSD, outside the option string', _ceph_defaults(info)
        use = (('Takes effect', _TAKES_EFFECT[info.takes_effect]),)
    return sections(
        fields(
            ('Option', info.name),
            ('For', scope),
            ('Type', _type(info) + (f' of {info.unit}' if info.unit else '')),
            ('Description', info.meaning),
            ('Change it', info.change_when),
            ('Leave it', info.leave_when),
            *(_limits(info) if isinstance(info, OptionInfo) else ()),
            ('Danger', danger),
            *use,
            ('Source', info.source),
        ),
        defaults,
    )


def _limits(info: OptionInfo) -> Iterable[tuple[str, str]]:
    if info.choices:
        refused = ' (an OSD does not start with it)'
        yield 'Values', ', '.join(c.name + ('' if c.starts else refused) for c in info.choices)
    if info.bounds:
        ends = (info.bounds.minimum, info.bounds.maximum)
        yield 'Moved into', ' to '.join(UNKNOWN if e is None else info.spelled(e) for e in ends)
    if info.sane:
        least, most = info.spelled(info.sane.minimum), info.spelled(info.sane.maximum)
        yield 'Sane range', f'{least} to {most}: {info.sane.why}'


def _use(info: OptionInfo) -> Iterable[tuple[str, Optional[str]]]:
    yield 'Deprecated', info.deprecated or None
    yield 'Takes effect', _TAKES_EFFECT['restart' if info.needs_restart else 'at-once']
    yield 'Set by module', 'possible' if info.assessed else 'never: its effect is not assessed'


def _versions_by_default(member: Member) -> str:
    by_default: dict[str, list[str]] = {}
    for version, default in member.defaults.items():
        by_default.setdefault(options_or_empty(default), []).append(version)
    return ', '.join(f'{text} ({", ".join(v)})' for text, v in by_default.items())


_MEMBERS: Sequence[Column[Member]] = (
    Column('MEMBER', 'name'),
    Column('TYPE', lambda member: member.value_type.value if member.value_type else 'ignored'),
    Column('DEFAULT', _versions_by_default),
)


def _defaults(info: OptionInfo) -> str:
    rows = (
        (f'RocksDB {version}', facts.default or UNKNOWN, facts.no_effect or '')
        for version, facts in info.versions.items()
    )
    members = titled('Members', table(_MEMBERS, info.members, indent=2))
    return sections(table(_texts('IN', 'DEFAULT', 'NO EFFECT'), rows), members)


def _ceph_defaults(info: RelatedOption) -> str:
    rows = (
        (name.capitalize(), '(no such option)' if text is None else options_or_empty(text))
        for name, text in info.defaults.items()
    )
    return table(_texts('IN', 'DEFAULT'), rows)


def comparison(compared: Comparison) -> str:
    """The differences between two option strings, and an explanation of each."""
    head = fields(
        ('From', compared.side_from.name),
        ('To', compared.side_to.name),
        ('Release', filled('{release.label}, RocksDB {release.rocksdb_version}', compared)),
    )
    if not compared.changes:
        return sections(head, 'No difference: both result in the same effective options.')
    columns: Sequence[Column[OptionChange]] = (
        Column('OPTION', 'option'),
        Column('FROM', lambda c: _value(c.written_from, c.effective_from)),
        Column('TO', lambda c: _value(c.written_to, c.effective_to)),
    )
    unknown = 'cannot determine whether an OSD starts with it.'
    untold = [f'{name}: OSDs do not start with it.' for name in compared.refused]
    untold += [f'{name}: {unknown}' for name in compared.not_judged]
    return sections(
        head,
        bullets(f'{text[:1].upper()}{text[1:]}' for text in untold),
        table(columns, compared.changes),
        titled('Why', bullets(map(_reason, compared.changes))),
    )


def _value(written: Optional[str], effective: Optional[str]) -> Optional[str]:
    """The effective value, and the given one if it differs."""
    if effective is None:
        return written
    return effective if written in {None, effective} else f'{effective} ({written})'


def _reason(change: OptionChange) -> str:
    info = change.info
    if info is None:
        text = 'Not in the catalog.'
    elif change.follows:
        text = f'Follows from other options. {info.meaning}'
    else:
        text = f'{info.meaning} Change it: {info.change_when} Leave it: {info.leave_when}'
    return f'{change.option}: {text}'


_SUPERSEDED_MARK = '*'


def _profile_name(p: Profile) -> str:
    mark = '' if p.superseded is None else _SUPERSEDED_MARK
    return f'{p.name}{mark} (custom)' if p.own else p.name + mark


_PROFILES: Sequence[Column[Profile]] = (
    Column('NAME', _profile_name),
    Column('DEFAULT OF', lambda p: ', '.join(p.release_defaults) or UNKNOWN, omit=1),
    Column('SUITS', lambda p: ', '.join(w.value for w in p.workloads) or UNKNOWN),
    Column('TITLE', 'title', omit=2),
)


def profile_list(profiles: Sequence[Profile]) -> str:
    """All profiles, the best-tested first."""
    see = f'see "{COMMAND} profile show <name>"'
    note = paragraph(f'{_SUPERSEDED_MARK} superseded, some only on newer releases: {see}')
    superseded = any(p.superseded is not None for p in profiles)
    return sections(table(_PROFILES, profiles), note if superseded else '')


def profile(shown: Profile) -> str:
    """A profile with its suitability and published evidence."""
    since, cores = shown.superseded_from_rocksdb, shown.hardware.loses_at_cores_per_osd
    when = '' if since is None else f' (from RocksDB {since} on)'
    notes = shown.hardware.notes
    if cores is not None:
        loss = f'A loss was published for {format_plural(cores, "core")} per OSD or fewer.'
        notes = (loss, *notes)
    return sections(
        fields(
            ('Profile', shown.name),
            ('Title', shown.title),
            ('Default of', ', '.join(shown.release_defaults) or 'no release'),
            ('Custom, for', ', '.join(shown.own_releases) if shown.own else None),
            ('Superseded', shown.superseded and f'{shown.superseded}{when}'),
            ('Options', options_or_empty(shown.options)),
            ('Source', shown.source),
        ),
        titled('Suits', joined(*_suitability(shown.suitability))),
        titled('Hardware', bullets(notes)),
        titled('Published', joined(*map(_published, shown.evidence))),
        titled('Cautions', bullets(shown.cautions)),
    )


def _suitability(rules: Sequence[SuitabilityRule]) -> Iterable[str]:
    """One entry for identical rules of several workloads."""
    by_content: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        versions = f'{rule.rocksdb_min} to {rule.rocksdb_max}'
        if rule.rocksdb_max is None:
            versions = f'{rule.rocksdb_min} and later'
        elif rule.rocksdb_max == rule.rocksdb_min:
            versions = rule.rocksdb_min
        where = f'RocksDB {versions}'
        by_content.setdefault((where, rule.reasons), []).append(rule.workload.value)
    for (where, reasons), workloads in by_content.items():
        yield paragraph(f'{", ".join(workloads)} ({where})', 4, '  - ')
        yield from (paragraph(reason, 6) for reason in reasons)


def _published(figure: PublishedEvidence) -> str:
    change, source = format_change(figure.change_percent), figure.source
    text = f'{figure.workload.value}, {figure.metric}: {change} against {figure.baseline}'
    if figure.baseline_value is not None:
        # Published figures are not rounded.
        unit = '' if figure.unit == 'ratio' else f' {figure.unit}'
        text += f' ({figure.value:,.12g}{unit} against {figure.baseline_value:,.12g})'
    return joined(
        paragraph(text, 4, '  - '),
        paragraph(figure.setup, 6),
        paragraph(f'{source.author}, {source.title}, {source.year}, {source.section}', 6),
    )

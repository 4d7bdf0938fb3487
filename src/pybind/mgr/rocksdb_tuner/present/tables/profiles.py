"""Profiles: `profile ls` and `profile show`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...advise.profiles import Profile, PublishedEvidence, SuitabilityRule
from ...units import UNKNOWN, format_change, format_plural
from ..layout import Column, fields, paragraph, table
from ..summaries import suited_workloads
from .phrases import COMMAND, bullets, sections, titled

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
                ', '.join(w.value for w in suited_workloads(p)) or UNKNOWN,
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
        where = f'RocksDB {_versions(rule)}, score {rule.score:.2f}'
        if rule.only_as_release_default:
            where += ', only as the default of the release'
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

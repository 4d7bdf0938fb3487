"""The manual's reference of RocksDB's options, from the module's own knowledge.

What is known of an assessed option is shown in full. Others are in one table: their effect on
BlueStore is neither published nor measured, so there is nothing to advise about them. Sources are
listed once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocksdb_tuner.options.catalogue import (
    Member,
    OptionInfo,
    RelatedOption,
    catalogue,
    related_options,
)
from rocksdb_tuner.options.problems import Rule, rules
from rocksdb_tuner.options.releases import known_releases

from .rst_text import escaped, heading, wrapped

_SCOPES = {
    'ceph': "Ceph's own keys",
    'db': 'Options of the whole database',
    'cf': 'Options of each column family',
}
_TAKES_EFFECT = {
    'at-once': 'at once',
    'restart': 'at the next start of the OSD',
    'mkfs': 'only when an OSD is made',
}
_TABLE = """\
.. list-table::
   :header-rows: 1
   :widths: 26 14 18 42

   * - Option
     - Type
     - Default
     - Meaning
"""


class _Sources:
    """Numbers each source once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, source: str) -> str:
        return f'[{self._numbers.setdefault(source, len(self._numbers) + 1)}]_'

    def notes(self) -> str:
        notes = (f'.. [{number}] {escaped(text)}' for text, number in self._numbers.items())
        return '\n'.join(wrapped(note, '   ') for note in notes) + '\n'


def reference() -> str:
    sources = _Sources()
    options = catalogue().options.values()
    parts = [_section('RocksDB versions', _versions())]
    for scope, title in _SCOPES.items():
        assessed = [info for info in options if info.scope == scope and info.assessed]
        parts.append(_section(title, '\n'.join(_option(info, sources) for info in assessed)))
    known = (_related_option(info, sources) for info in related_options().values())
    parts.append(_section("Ceph's options beside the string", '\n'.join(known)))
    parts.append(_section('Rules of check', '\n'.join(_rule(r, sources) for r in rules().values())))
    others = [_row(info, sources) for info in options if not info.assessed]
    parts.append(_section('Other options', _TABLE + '\n'.join(others) + '\n'))
    parts.append(_section('Sources', sources.notes()))
    return '\n'.join(parts)


def _section(title: str, text: str) -> str:
    return f'{heading(title, "-")}\n{text}'


def _versions() -> str:
    found: dict[str, list[str]] = {}
    for release in known_releases():
        found.setdefault(release.rocksdb_version, []).append(release.label)
    lines = [f'* RocksDB {version}: {", ".join(names)}' for version, names in found.items()]
    lines.extend(
        f'* RocksDB {version}: no release yet'
        for version in catalogue().measured_versions
        if version not in found
    )
    return '\n'.join(wrapped(line, '  ') for line in lines) + '\n'


def _rule(rule: Rule, sources: _Sources) -> str:
    text = f'{escaped(rule.meaning)} {sources.mark(rule.source)}'
    return f'``{rule.name}`` ({rule.severity})\n{wrapped("   " + text, "   ")}\n'


def _option(info: OptionInfo, sources: _Sources) -> str:
    lines = [heading(info.name, '~'), wrapped(escaped(info.meaning), ''), '']
    for name, text in _fields(info):
        lines.append(wrapped(f':{name}: {escaped(text)}', '   '))
    lines.append(f':Source: {sources.mark(info.source)}')
    return '\n'.join(lines) + '\n'


def _row(info: OptionInfo, sources: _Sources) -> str:
    meaning = info.meaning
    if info.danger:
        meaning += f' {info.danger.level.capitalize()}: {info.danger.why}'
    cells = (
        f'``{info.name}``',
        f'{info.value_type.value}, {info.unit}' if info.unit else info.value_type.value,
        escaped(_default(info)),
        f'{escaped(meaning)} {sources.mark(info.source)}',
    )
    rows = (f'{"* -" if n == 0 else "  -"} {cell}' for n, cell in enumerate(cells))
    return '\n'.join(wrapped(f'   {row}', '       ') for row in rows)


def _default(info: OptionInfo) -> str:
    if info.members:
        return '; '.join(map(_member, info.members))
    return _by_version({v: facts.default for v, facts in info.versions.items()})


def _related_option(info: RelatedOption, sources: _Sources) -> str:
    reported = [
        ('Type', info.value_type + (f', {info.unit}' if info.unit else '')),
        ('Default', _by_release(info.defaults)),
        ('Takes effect', _TAKES_EFFECT[info.takes_effect]),
        *([('Danger', f'{info.danger.level}: {info.danger.why}')] if info.danger else []),
        ('Change it', info.change_when),
        ('Leave it', info.leave_when),
    ]
    lines = [heading(info.name, '~'), wrapped(escaped(info.meaning), ''), '']
    lines.extend(wrapped(f':{name}: {escaped(text)}', '   ') for name, text in reported)
    lines.append(f':Source: {sources.mark(info.source)}')
    return '\n'.join(lines) + '\n'


def _by_release(values: Mapping[str, str | None]) -> str:
    by_value: dict[str | None, list[str]] = {}
    for release, value in values.items():
        by_value.setdefault(value, []).append(release.capitalize())
    if len(by_value) == 1:
        (value,) = by_value
        return 'no such option' if value is None else _shown(value)
    return '; '.join(f'{_shown(value)} ({", ".join(names)})' for value, names in by_value.items())


def _fields(info: OptionInfo) -> Iterator[tuple[str, str]]:
    yield 'Type', info.value_type.value + (f', {info.unit}' if info.unit else '')
    if not info.members:
        yield 'Default', _default(info)
    if info.choices:
        yield (
            'Values',
            ', '.join(
                c.name + ('' if c.starts else ' (an OSD does not start with it)')
                for c in info.choices
            ),
        )
    if info.members:
        yield 'Members', '; '.join(map(_member, info.members))
    if info.bounds:
        ends = ['...' if e is None else str(e) for e in (info.bounds.minimum, info.bounds.maximum)]
        yield 'Moved into', ' to '.join(ends)
    if info.sane:
        yield 'Sane', f'{info.sane.minimum} to {info.sane.maximum}: {info.sane.why}'
    without = {v: facts.no_effect for v, facts in info.versions.items() if facts.no_effect}
    if without:
        yield 'No effect', _by_version(without)
    if info.danger:
        yield 'Danger', f'{info.danger.level}: {info.danger.why}'
    if info.deprecated:
        yield 'Deprecated', info.deprecated
    yield 'Change it', info.change_when
    yield 'Leave it', info.leave_when
    yield 'Mutable in RocksDB', 'yes' if info.mutable_in_rocksdb else 'no'


def _member(member: Member) -> str:
    kind = member.value_type.value if member.value_type else 'ignored'
    return f'{member.name} ({kind}; {_by_version(member.defaults)})'


def _by_version(values: Mapping[str, str | None]) -> str:
    """ "5 (6.8, 7.9); 7 (9.10)", or the value alone where all versions agree."""
    by_value: dict[str | None, list[str]] = {}
    for version, value in values.items():
        by_value.setdefault(value, []).append(version)
    if len(by_value) == 1 and len(values) == len(catalogue().measured_versions):
        return _shown(next(iter(by_value)))
    return '; '.join(f'{_shown(value)} ({", ".join(known)})' for value, known in by_value.items())


def _shown(value: str | None) -> str:
    if value is None:
        return 'not known'
    return value or 'empty'

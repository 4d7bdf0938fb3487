#!/usr/bin/python3
"""Writes the manual's reference of RocksDB's options from the module's own knowledge.

doc/mgr/rocksdb_tuner_options.rst is what this prints; a test holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rst_text import escaped, heading, paragraph, wrapped  # noqa: E402

from rocksdb_tuner.options.catalogue import (  # noqa: E402 - after the path to it
    Member,
    OptionInfo,
    catalogue,
)
from rocksdb_tuner.options.problems import Rule, rules  # noqa: E402
from rocksdb_tuner.options.related_options import RelatedOption, related_options  # noqa: E402
from rocksdb_tuner.options.releases import known_releases  # noqa: E402

PAGE = CHECKOUT / 'doc/mgr/rocksdb_tuner_options.rst'
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
_INTRODUCTION = """\
What ``ceph rocksdb-tuner explain`` says, as a page: every option that may stand
in ``bluestore_rocksdb_options``, by where it applies. A default is the value that
is in effect in a daemon that does not set the option, which for some is not what
RocksDB's headers say. *Assessed* options are those whose effect on BlueStore is
published or measured; the module sets no others.

No option of the string changes in a running OSD: Ceph offers no way to, even where
RocksDB could. Each takes effect at the next start of an OSD.
"""


def page() -> str:
    """The whole page."""
    options = catalogue().options.values()
    parts = [
        '.. This page is written by qa/option_reference.py: do not edit it.\n',
        '.. _mgr-rocksdb-tuner-options:\n',
        heading('RocksDB options', '=', over=True) + '\n' + _INTRODUCTION,
        heading('Versions', '=') + '\n' + _versions(),
        heading('Rules of check', '=') + '\n' + '\n'.join(map(_rule, rules().values())),
    ]
    for scope, title in _SCOPES.items():
        chosen = [info for info in options if info.scope == scope]
        parts.append(heading(title, '=') + '\n' + '\n'.join(map(_option, chosen)))
    known = map(_related_option, related_options().values())
    parts.append(heading("Ceph's options beside the string", '=') + '\n' + '\n'.join(known))
    return '\n'.join(parts)


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


def _rule(rule: Rule) -> str:
    return f'``{rule.name}`` ({rule.severity})\n{paragraph(rule.meaning)}\n{_source(rule.source)}'


def _option(info: OptionInfo) -> str:
    lines = [f'.. describe:: {info.name}', '', paragraph(info.meaning), '']
    for name, text in _fields(info):
        lines.append(wrapped(f'   :{name}: {escaped(text)}', '      '))
    return '\n'.join(lines) + '\n'


def _related_option(info: RelatedOption) -> str:
    told = [
        ('Type', info.value_type + (f', {info.unit}' if info.unit else '')),
        ('Default', _by_release(info.defaults)),
        ('Takes effect', _TAKES_EFFECT[info.takes_effect]),
        *([('Danger', f'{info.danger.level}: {info.danger.why}')] if info.danger else []),
        ('Change it', info.change_when),
        ('Leave it', info.leave_when),
        ('Source', info.source),
    ]
    lines = [f'.. describe:: {info.name}', '', paragraph(info.meaning), '']
    lines.extend(wrapped(f'   :{name}: {escaped(text)}', '      ') for name, text in told)
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
        yield 'Default', _by_version({v: facts.default for v, facts in info.versions.items()})
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
    yield 'Assessed', 'yes' if info.assessed else 'no'
    yield 'Mutable in RocksDB', 'yes' if info.mutable_in_rocksdb else 'no'
    yield 'Source', info.source


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


def _source(text: str) -> str:
    return wrapped(f'   Source: {escaped(text)}', '   ') + '\n'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')

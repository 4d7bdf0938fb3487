#!/usr/bin/python3
"""Writes the manual's reference of findings from what the module declares of them.

doc/mgr/rocksdb_tuner_findings.rst is what this prints; a test holds the two together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rst_text import escaped, heading, paragraph, wrapped  # noqa: E402 - after the path to it

from rocksdb_tuner.advise.conditions.declaration import (  # noqa: E402
    Condition,
    HealthPolicy,
    Threshold,
)
from rocksdb_tuner.advise.conditions.registry import conditions  # noqa: E402
from rocksdb_tuner.units import format_bytes, format_bytes_rate, format_span  # noqa: E402

PAGE = CHECKOUT / 'doc/mgr/rocksdb_tuner_findings.rst'
#: By the modules of `advise/conditions` that declare them.
_SECTIONS = {
    'Options': ('starting', 'entries', 'published', 'checked', 'memory', 'settings'),
    'Devices': ('db_device', 'device', 'sharding'),
    'Load': ('kv_sync', 'metadata_work', 'compaction', 'caches', 'starts', 'alerts'),
    'Builds': ('build',),
}
_INTRODUCTION = """\
All findings that ``ceph rocksdb-tuner findings`` may list. The severity is the worst
that a finding has: a milder case has a lower one. Thresholds with an option can be
changed with ``ceph config set mgr mgr/rocksdb_tuner/<option> <value>``. Names in
angle brackets are filled in by ``ceph rocksdb-tuner finding show <id>``.

A finding of severity error or warning with a health check raises that check while
it lasts. Where Ceph raises a health check of its own, the module raises none.
"""
#: Where a name in angle brackets would not say what follows.
_FILL = {
    'osd': '<id>',
    'kv_who': '<who>',
    'meta_who': '<who>',
    'before': '',
    'restart': '<restart osd.id>',
    'proposal': 'Depends on the OSD: see "ceph rocksdb-tuner finding show level-does-not-fit".',
}


def page() -> str:
    """The whole page."""
    parts = [
        '.. This page is written by qa/finding_reference.py: do not edit it.\n',
        '.. _mgr-rocksdb-tuner-findings:\n',
        heading('RocksDB findings', '=', over=True) + '\n' + _INTRODUCTION,
    ]
    for title, modules in _SECTIONS.items():
        chosen = [known for known in conditions().values() if _module(known) in modules]
        parts.append(heading(title, '=') + '\n' + '\n'.join(map(_condition, chosen)))
    return '\n'.join(parts)


def _module(known: Condition) -> str:
    return known.function.__module__.rpartition('.')[2]


def _condition(known: Condition) -> str:
    lines = [f'.. describe:: {known.condition_id}', '', paragraph(f'{known.title}.'), '']
    lines.extend(wrapped(f'   :{name}: {text}', '      ') for name, text in _fields(known))
    return '\n'.join(lines) + '\n'


def _fields(known: Condition) -> Iterator[tuple[str, str]]:
    commands = [command.format_map(_Open()) for command in known.commands]
    yield 'Severity', known.severity.value
    for threshold in known.thresholds.values():
        yield 'Threshold', _threshold(threshold)
    yield 'Remedy', escaped(known.remedy.format_map(_Open(command='; '.join(commands))))
    if commands:
        yield 'Commands', ', '.join(f'``{command}``' for command in commands)
    if known.do_not:
        yield 'Avoid', escaped(known.do_not)
    if known.health:
        yield 'Health check', f'``{known.health_code}``: {_health(known.health)}'
    if known.ceph_checks:
        yield "Ceph's health check", ', '.join(f'``{code}``' for code in known.ceph_checks)
    yield 'Source', escaped(known.source)


class _Open(dict[str, str]):
    """Fills in what is known, and a name in angle brackets for everything else."""

    def __init__(self, **fill: str) -> None:
        super().__init__({**_FILL, **fill})

    def __missing__(self, name: str) -> str:
        return f'<{name}>'


def _threshold(threshold: Threshold) -> str:
    text = f'{_value(threshold.value, threshold.unit)}: {escaped(threshold.meaning)}'
    if threshold.option is not None:
        text += f' (option :confval:`{threshold.option.name}`)'
    return f'{text}. Source: {escaped(threshold.source)}'


def _value(value: float, unit: str) -> str:
    if unit == 's':
        return format_span(value)
    if unit == 'bytes':
        return format_bytes(value)
    if unit == 'bytes/s':
        return format_bytes_rate(value)
    return f'{value:g}' if unit in {'confidence', 'ratio'} else f'{value:g} {escaped(unit)}'


def _health(policy: HealthPolicy) -> str:
    cleared = _after(policy.clear_after_s)
    if policy.clear_after_s:
        cleared += ' without the condition'
    raised = _after(policy.raise_after_s)
    return f'N OSD(s) {escaped(policy.summary)}. Raised {raised}, and cleared {cleared}'


def _after(seconds: float) -> str:
    return f'after {format_span(seconds)}' if seconds else 'at once'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')

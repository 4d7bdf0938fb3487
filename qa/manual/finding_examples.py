"""An example of each finding, with its evidence, from what the tests of the module compare.

The file has a line with severity, id and OSDs of each finding, then its summary and its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import rocksdb_tuner
from rocksdb_tuner.units import format_bytes, format_bytes_rate, format_span

_RECORDED_TEXTS = Path(rocksdb_tuner.__file__).parent / 'tests/advise/conditions/data/findings.txt'
_FOUND = re.compile(
    r'^(?:error|warning|info) (?P<id>[\w-]+) \[.*\]\n'
    r'  (?P<summary>.+)\n'
    r'(?P<evidence>(?:  (?!-> |\$ ).+ = .*\n)*)',
    re.MULTILINE,
)
_MEASURED = re.compile(
    r'(?P<value>-?\d+(?:\.\d+)?) (?P<unit>bytes/s|bytes|s|[a-z/ ]+?)(?: in (?P<window_s>\d+) s)?'
)
_FORMATS = {'bytes': format_bytes, 'bytes/s': format_bytes_rate, 's': format_span}
#: Say nothing to a reader who sees the value.
_KINDS = re.compile(
    r' (?:option string|config source|health check|leniently read|option|class|version|file|clamped'
    r'|forbidden|unwise|definition|published)$'
)
#: Of a value; an option string may be long.
_VALUE_MAX = 60


class Example(NamedTuple):
    """A finding as the module reports it."""

    summary: str
    #: Values by signal, as they are shown; a signal may come twice.
    evidence: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def examples() -> Mapping[str, Example]:
    """The first of each condition, by its id."""
    found: dict[str, Example] = {}
    for match in _FOUND.finditer(_RECORDED_TEXTS.read_text(encoding='utf-8')):
        example = Example(match['summary'], tuple(_evidence(match['evidence'])))
        found.setdefault(match['id'], example)
    return found


def _evidence(lines: str) -> Iterator[tuple[str, str]]:
    for line in lines.splitlines():
        signal, _, value = line.strip().partition(' = ')
        # Unknown
        if not value.startswith('None '):
            yield signal, shown(value)


def shown(value: str) -> str:
    """ "90 GiB" of "96636764160 bytes"."""
    measured = _MEASURED.fullmatch(value)
    if measured is None:
        text = _KINDS.sub('', value)
        return text if len(text) <= _VALUE_MAX else f'{text[:_VALUE_MAX]}...'
    number, unit = float(measured['value']), measured['unit']
    text = _FORMATS[unit](number) if unit in _FORMATS else f'{number:.3g} {unit}'
    if measured['window_s'] is None:
        return text
    return f'{text} over {format_span(float(measured["window_s"]))}'

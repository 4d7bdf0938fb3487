"""Converts perf counters to the format of `perf dump` and back. Pure."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, Mapping, Union

from ..mgr.records import CounterPoint
from ..observe.counters import details_for, names_for
from ..observe.slow_events import SLOW_COUNTERS
from ..options.releases import known_releases
from .shapes import ShapeError

#: RocksDB's own counter, which complements its statistics if they are enabled.
MEMTABLE_TIME = 'rocksdb.rocksdb_write_memtable_time'

_NS_PER_S = 1_000_000_000
#: Ceph's counters have 64 bits.
_LARGEST = (1 << 64) - 1


@lru_cache(maxsize=1)
def wanted_paths() -> frozenset[str]:
    """All counters in use, by their names in any release."""
    releases = (None, *(release.name for release in known_releases()))
    named = (path for name in releases for path in (*names_for(name), *details_for(name)))
    return frozenset({*(path for path in named if path), MEMTABLE_TIME, *SLOW_COUNTERS})


def parse_perf_dump(dump: object, time_s: float) -> Mapping[str, CounterPoint]:
    """The used counters of a dump with exact numbers (`Decimal`).

    Raises ShapeError.
    """
    if not isinstance(dump, dict):
        raise ShapeError('the document is not an object')
    points = {}
    for path in wanted_paths():
        section, _, name = path.partition('.')
        counters = dump.get(section)
        if isinstance(counters, dict) and counters.get(name) is not None:
            points[path] = _point(counters[name], path, time_s)
    if not points:
        raise ShapeError('no OSD counters found')
    return points


def _point(value: object, path: str, time_s: float) -> CounterPoint:
    if isinstance(value, dict):
        total, count = value.get('sum'), value.get('avgcount')
        if isinstance(total, (int, Decimal)) and total <= _LARGEST and _is_count(count):
            total_ns = round(Decimal(total) * _NS_PER_S)
            if 0 <= total_ns <= _LARGEST:
                assert isinstance(count, int)
                return CounterPoint(time_s, total_ns, count)
    elif _is_count(value):
        assert isinstance(value, int)
        return CounterPoint(time_s, value, None)
    raise ShapeError(f'"{path}" is neither a count nor an average')


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def format_perf_dump(
    points: Mapping[str, CounterPoint],
) -> dict[str, dict[str, Union[int, dict[str, Any]]]]:
    """The format of `perf dump`, without the times of the points."""
    dump: dict[str, dict[str, Union[int, dict[str, Any]]]] = {}
    for path, point in points.items():
        section, _, name = path.partition('.')
        dump.setdefault(section, {})[name] = (
            point.value
            if point.avgcount is None
            else {'avgcount': point.avgcount, 'sum': point.value / _NS_PER_S}
        )
    return dump

"""Fits the values without a formula to the runs of `bench_model_runs`: bytes of each kind of key.

The structure is BlueStore's: which keys a write of a client puts into which column. Of their sizes
those are fitted that the files of level 0 show, by windows of different length.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench_model_runs import PG_NUM, SCALE, ColumnFamilyRun, Run

from rocksdb_tuner.lsm.amplification import LOG_ENTRIES
from rocksdb_tuner.lsm.calibration import ColumnCalibration
from rocksdb_tuner.lsm.keys import Fate, KeyKind, Members, Population
from rocksdb_tuner.options.catalogue import NO_COMPRESSION

#: A column with less than this share of all writes gives no value.
LEAST_SHARE = 0.01


def column_of(family: str) -> str:
    """The column of a family: "O" of "O-2"."""
    head, _, shard = family.rpartition('-')
    return head if shard.isdigit() and head else family


def by_column(run: Run) -> dict[str, list[ColumnFamilyRun]]:
    found: dict[str, list[ColumnFamilyRun]] = {}
    for family in run.column_families:
        found.setdefault(column_of(family.name), []).append(family)
    return found


def flushed_memory(families: Iterable[ColumnFamilyRun]) -> float:
    return sum(
        f.full_flushes * (f.full_flush_memory_bytes or 0.0)
        + f.early_flushes * (f.early_flush_memory_bytes or 0.0)
        for f in families
    )


def is_compressed(run: Run) -> bool:
    return NO_COMPRESSION not in run.options


def log_entries(run: Run) -> float:
    """As many as the OSD kept in the logs of its placement groups."""
    return LOG_ENTRIES / SCALE if run.scaled else LOG_ENTRIES


def population_of(run: Run, objects: float) -> Population:
    return Population(objects, PG_NUM, log_entries(run))


@dataclass(frozen=True)
class Seen:
    """The result of the flushes of one column in one run."""

    writes_per_flush: float
    #: Of all shards together.
    left_bytes: float
    population: Population
    compression: str


def _seen(runs: Sequence[Run], column: str, objects: float) -> list[Seen]:
    found = []
    for run in runs:
        families = [f for f in by_column(run).get(column, []) if f.full_flushes + f.early_flushes]
        if flushed_memory(families) <= LEAST_SHARE * run.wal_bytes:
            continue
        flushes = statistics.mean(f.full_flushes + f.early_flushes for f in families)
        found.append(
            Seen(
                run.client['ops'] / flushes,
                sum(f.level_0_bytes for f in families) / flushes,
                population_of(run, objects),
                'kLZ4Compression' if is_compressed(run) else NO_COMPRESSION,
            )
        )
    return found


def _error(column: ColumnCalibration, seen: Sequence[Seen]) -> float:
    return sum(
        math.log(
            column.left_bytes(s.writes_per_flush, s.population, s.compression)
            / max(1.0, s.left_bytes)
        )
        ** 2
        for s in seen
    )


def _best(
    build: Callable[..., ColumnCalibration],
    choices: Sequence[Sequence[float]],
    seen: Sequence[Seen],
) -> ColumnCalibration:
    """The parameters that come nearest to what was seen, of a grid."""
    return min(
        (build(*parameters) for parameters in itertools.product(*choices)),
        key=lambda column: _error(column, seen),
    )


def _grid(low: float, high: float, steps: int = 24) -> list[float]:
    return [low * (high / low) ** (i / (steps - 1)) for i in range(steps)]


def _kind(name: str, fate: Fate, members: Members, **sizes: float) -> KeyKind:
    return KeyKind(
        name=name,
        fate=fate,
        members=members,
        written_bytes=sizes.get('written', 0.0),
        left_bytes=sizes.get('left', 0.0),
        tombstone_bytes=sizes.get('tombstone', 0.0),
        compressed=sizes.get('compressed', 1.0),
        keys=sizes.get('keys', 1.0),
    )


#: Of the extent map of an object of 4 MiB that was overwritten at random, 7 to 8 KB in all:
#: `bluestore_extent_map_shard_target_size` is 500, `bluestore_extent_map_shard_max_size` 1200.
SHARDS = 10.0
#: Of what a write puts into "P" while a log is short, what is for remembered requests: with a log
#: that nothing was trimmed from, a write puts 1925 bytes into the WAL, with one that is 2180.
DUP_SHARE = 0.25
COMPRESSED = [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0]


def onodes(written: float, seen: Sequence[Seen]) -> ColumnCalibration:
    """For a write, the onode and the one shard of its extent map that changes."""

    def build(per_object: float, compressed: float) -> ColumnCalibration:
        shard = max(1.0, (per_object - written) / (SHARDS - 1))
        onode = max(1.0, written - shard)
        return ColumnCalibration(
            'O',
            (
                _kind(
                    'onode', Fate.OVERWRITTEN, Members.OBJECTS,
                    written=onode, left=onode, compressed=compressed,
                ),
                _kind(
                    'extent map shard', Fate.OVERWRITTEN, Members.OBJECTS,
                    written=shard, left=shard, compressed=compressed, keys=SHARDS,
                ),
            ),
        )  # fmt: skip

    return _best(build, (_grid(1.2 * written, SHARDS * written, 60), COMPRESSED), seen)


def pg_log(written: float, seen: Sequence[Seen]) -> ColumnCalibration:
    """The entry of a write, the removal of an old one, what is remembered of that, and the info."""

    def build(left: float, tombstone: float, dup: float, compressed: float) -> ColumnCalibration:
        packed = {'compressed': compressed}
        return ColumnCalibration(
            'P',
            (
                _kind(
                    'log entry', Fate.LOGGED, Members.LOG_ENTRIES,
                    written=written * (1 - DUP_SHARE), left=left, tombstone=tombstone, **packed,
                ),
                _kind(
                    'dup', Fate.LOGGED, Members.LOG_DUPS,
                    written=written * DUP_SHARE, left=dup, tombstone=tombstone, **packed,
                ),
            ),
        )  # fmt: skip

    sizes = _grid(0.2 * written, 0.6 * written)
    choices = (sizes, _grid(5, 60, 6), _grid(20, 160, 8), COMPRESSED)
    return _best(build, choices, seen)


def fixed(name: str, written: float, seen: Sequence[Seen]) -> ColumnCalibration:
    """Few keys that are written over and over: free space, statistics."""

    def build(total: float, compressed: float) -> ColumnCalibration:
        return ColumnCalibration(
            name,
            (
                _kind(
                    'fixed', Fate.OVERWRITTEN, Members.FIXED,
                    written=written, left=total / 100, compressed=compressed, keys=100,
                ),
            ),
        )  # fmt: skip

    return _best(build, (_grid(1e3, 1e6, 60), COMPRESSED), seen)


def kept(name: str, written: float, seen: Sequence[Seen]) -> ColumnCalibration:
    """New keys."""

    def build(left: float, compressed: float) -> ColumnCalibration:
        return ColumnCalibration(
            name,
            (
                _kind(
                    'key', Fate.KEPT, Members.FIXED,
                    written=written, left=left, compressed=compressed,
                ),
            ),
        )  # fmt: skip

    return _best(build, (_grid(0.2 * written, written, 60), COMPRESSED), seen)


def overwritten(name: str, written: float, seen: Sequence[Seen]) -> ColumnCalibration:
    """One key for each object."""

    def build(left: float, compressed: float) -> ColumnCalibration:
        return ColumnCalibration(
            name,
            (
                _kind(
                    'onode', Fate.OVERWRITTEN, Members.OBJECTS,
                    written=written, left=left, compressed=compressed,
                ),
            ),
        )  # fmt: skip

    return _best(build, (_grid(0.1 * written, 2 * written, 60), COMPRESSED), seen)


def columns_of(
    runs: Sequence[Run], names: Sequence[str], objects: float, growing: str
) -> list[ColumnCalibration]:
    """Every column that is written to; ``growing`` is the one that gets new keys, or ""."""
    found = []
    for name in names:
        written, seen = written_bytes(runs, name), _seen(runs, name, objects)
        if not seen:
            found.append(ColumnCalibration(name, ()))
        elif name == growing:
            found.append(kept(name, written, seen))
        elif name == 'O':
            found.append((overwritten('O', written, seen)) if growing else onodes(written, seen))
        elif name == 'P':
            found.append(pg_log(written, seen))
        else:
            found.append(fixed(name, written, seen))
    return found


def written_bytes(runs: Sequence[Run], column: str) -> float:
    """Keys and values of a write; the median of the runs with enough flushes."""
    found = [
        sum(f.flushed_data_bytes for f in by_column(run).get(column, [])) / run.client['ops']
        for run in runs
        if flushed_memory(by_column(run).get(column, [])) > LEAST_SHARE * run.wal_bytes
    ]
    return statistics.median(found) if found else 0.0


def document(column: ColumnCalibration) -> dict[str, Any]:
    return {
        'name': column.name,
        'kinds': [
            {
                'name': kind.name,
                'fate': kind.fate.value,
                'members': kind.members.value,
                'keys': round(kind.keys, 2),
                'written_bytes': round(kind.written_bytes, 1),
                'left_bytes': round(kind.left_bytes, 1),
                'tombstone_bytes': round(kind.tombstone_bytes, 1),
                'compressed': round(kind.compressed, 3),
            }
            for kind in column.kinds
        ],
    }

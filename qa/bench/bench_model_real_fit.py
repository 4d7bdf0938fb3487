"""Fits the values without a formula to the runs at real size, for RBD clients. Fitted runs only.

The content of files is counted by RocksDB itself: keys, and bytes with and without compression,
after a full compaction. So sizes of keys are read off; fitted are how the size of an onode grows
with what was written to its object, and what removals take in a file of level 0.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_model_compare import QUANTITIES, Comparison
from bench_model_fit import Seen as Window
from bench_model_fit import document, fixed
from bench_model_judge import changes, compare, fitted_intervals, log_entries
from bench_model_steady import ColumnSeen, RealRun

from rocksdb_tuner.lsm.calibration import ColumnCalibration, parse_calibration
from rocksdb_tuner.lsm.keys import BLOCK_BYTES, Fate, KeyKind, Members, Onodes, Population
from rocksdb_tuner.options.catalogue import NO_COMPRESSION

RBD = 'rbd-randwrite'
#: Bytes in a file, uncompressed, for each byte of keys and values, if no run has a value.
USUAL_IN_FILE = 0.95


def column(run: RealRun, name: str) -> ColumnSeen | None:
    """None where it is not known what is left of it after a full compaction."""
    if not run.compacted:
        return None
    return next((c for c in run.columns if c.name == name and c.live_keys), None)


def _with(runs: Iterable[RealRun], name: str) -> list[tuple[RealRun, ColumnSeen]]:
    return [(run, found) for run in runs for found in [column(run, name)] if found]


def _middle(values: Iterable[float]) -> float:
    return statistics.median(list(values))


def packing(runs: Sequence[RealRun], name: str) -> tuple[float, float]:
    """Bytes in a file for each byte of keys and values, and what compression makes of that."""
    plain = [
        c.live_bytes / c.live_data_bytes
        for run, c in _with(runs, name)
        if run.trial.compression == NO_COMPRESSION
    ]
    packed = [
        c.live_bytes / c.live_data_bytes
        for run, c in _with(runs, name)
        if run.trial.compression != NO_COMPRESSION
    ]
    in_file = _middle(plain) if plain else USUAL_IN_FILE
    return in_file, min(1.0, _middle(packed) / in_file) if packed else 1.0


@dataclass(frozen=True)
class _Objects:
    """The objects of one run."""

    block_bytes: int
    #: For each object, at the end: writes, keys, and bytes of keys and values.
    writes: float
    keys: float | None
    data_bytes: float | None
    #: What a write put into the column, and how many an object had got by then.
    written_bytes: float | None
    written_at: float


def _objects(runs: Iterable[RealRun]) -> list[_Objects]:
    return [
        _Objects(
            run.trial.block_bytes,
            (run.writes_before + run.writes) / run.objects,
            c.live_keys / run.objects if run.compacted else None,
            c.live_data_bytes / run.objects if run.compacted else None,
            c.data_bytes_per_write,
            (c.rates_at_writes or 0) / run.objects,
        )
        for run in runs
        for c in run.columns
        if c.name == 'O'
    ]


def onodes(runs: Sequence[RealRun]) -> Onodes:
    """Of what an object takes at the end, and of what its writes took before; by a grid."""
    seen = _objects(runs)

    def with_shards(found: Onodes) -> Onodes:
        shards = [
            found.map_bytes(o.block_bytes, o.writes) / (o.keys - 1)
            for o in seen
            if o.keys and o.keys > 2
        ]
        return replace(found, shard_bytes=round(_middle(shards), 1)) if shards else found

    def error(found: Onodes) -> float:
        total = 0.0
        for o in seen:
            live = found.onode_bytes + found.map_bytes(o.block_bytes, o.writes)
            if o.data_bytes:
                total += math.log(live / o.data_bytes) ** 2
            if o.written_bytes:
                kinds = found.kinds(o.block_bytes, o.written_at)
                total += math.log(sum(kind.written_bytes for kind in kinds) / o.written_bytes) ** 2
        return total

    grid = itertools.product(range(400, 900, 25), range(0, 80, 3), range(0, 48, 2))
    best = min((with_shards(Onodes(o, b, e / 4, 600.0, 1.0)) for o, b, e in grid), key=error)
    return replace(best, compressed=_compressed(runs, best))


def _compressed(runs: Iterable[RealRun], found: Onodes) -> float:
    """Of what is not random in onodes and extent maps."""
    parts = []
    for run, c in _with(runs, 'O'):
        if run.trial.compression == NO_COMPRESSION:
            continue
        writes = (run.writes_before + run.writes) / run.objects
        random = replace(found, compressed=0.0).packed(run.trial.block_bytes, writes)
        parts.append((c.live_bytes / c.live_data_bytes - random) / (1 - random))
    return round(min(1.0, max(0.1, _middle(parts))), 3) if parts else 0.4


def _written(runs: Iterable[RealRun], name: str) -> float:
    """Keys and values that a write puts into a column."""
    rates = [c.data_bytes_per_write for run in runs for c in run.columns if c.name == name]
    return _middle(rate for rate in rates if rate)


def population_of(run: RealRun) -> Population:
    return Population(run.objects, run.placement_groups, log_entries(run))


def _windows(runs: Iterable[RealRun], name: str) -> list[Window]:
    return [
        Window(
            c.writes_per_flush,
            c.level_0_bytes_per_write * c.writes_per_flush,
            population_of(run),
            run.trial.compression,
        )
        for run in runs
        for c in run.columns
        if c.name == name and c.writes_per_flush and c.level_0_bytes_per_write
    ]


def pg_log(runs: Sequence[RealRun]) -> ColumnCalibration:
    runs = [run for run in runs if _windows([run], 'P')]
    long = [run for run in runs if not population_of(run).log_dups]
    short = [run for run in runs if population_of(run).log_dups]
    entry_written = _written(long, 'P')
    dup_written = max(0.0, _written(short, 'P') - entry_written) if short else 0.0
    in_file, compressed = packing(runs, 'P')
    entry_left = in_file * _middle(c.live_data_bytes / c.live_keys for _, c in _with(long, 'P'))
    short_seen = _with(short, 'P')
    dup_left = (
        in_file * _middle(c.live_data_bytes / c.live_keys for _, c in short_seen)
        if short_seen
        else entry_left / 2
    )
    windows = _windows(runs, 'P')

    def kind(name: str, members: Members, written: float, left: float, removal: float) -> KeyKind:
        return KeyKind(
            name=name,
            fate=Fate.LOGGED,
            written_bytes=written,
            left_bytes=left,
            tombstone_bytes=removal,
            compressed=compressed,
            members=members,
            keys=1.0,
        )

    def column_with(removal: float) -> ColumnCalibration:
        return ColumnCalibration(
            'P',
            (
                kind('log entry', Members.LOG_ENTRIES, entry_written, entry_left, removal),
                kind('dup', Members.LOG_DUPS, dup_written, dup_left, removal),
            ),
        )

    def error(removal: float) -> float:
        found = column_with(removal)
        return sum(
            math.log(found.left_bytes(w.writes_per_flush, w.population, w.compression)
                     / w.left_bytes) ** 2
            for w in windows
        )  # fmt: skip

    return column_with(min((step / 2 for step in range(2, 121)), key=error))


def fit(runs: Sequence[RealRun], names: Sequence[str]) -> dict[str, Any]:
    """The new columns of RBD clients in ``knowledge/model.json``."""
    if any(run.trial.held_out for run in runs):
        raise ValueError('nothing is fitted to a run that is held out')
    rbd = [run for run in runs if run.trial.clients == 'rbd']
    found = onodes(rbd)
    made = {'O': ColumnCalibration('O', found.kinds(BLOCK_BYTES, None)), 'P': pg_log(rbd)}
    windows = _windows(rbd, 'default')
    if windows:
        made['default'] = fixed('default', _written(rbd, 'default'), windows)
    ratios = [
        c.flushed_memory_bytes / c.flushed_data_bytes
        for run in rbd
        for c in run.columns
        if c.full_flushes
    ]
    return {
        'memory_per_wal_byte': round(_middle(ratios), 3),
        'onodes': {name: round(value, 2) for name, value in vars(found).items()},
        'columns': [document(made.get(name, ColumnCalibration(name, ()))) for name in names],
    }


def _replaced(content: Mapping[str, Any], fitted: Mapping[str, Any]) -> dict[str, Any]:
    """The content of ``knowledge/model.json`` with another fit of its RBD clients."""
    return {
        **content,
        'workloads': [
            {**entry, **fitted} if entry['name'] == RBD else entry for entry in content['workloads']
        ],
    }


def left_out(content: Mapping[str, Any], runs: Sequence[RealRun]) -> list[Comparison]:
    """Each run against a model that was fitted to all others."""
    names = _names(content)
    found: list[Comparison] = []
    for run in runs:
        others = fit([other for other in runs if other is not run], names)
        found += compare(run, parse_calibration(_replaced(content, others)))
    return found


def _names(content: Mapping[str, Any]) -> list[str]:
    entry = next(entry for entry in content['workloads'] if entry['name'] == RBD)
    return [column['name'] for column in entry['columns']]


def installed(
    content: Mapping[str, Any], runs: Sequence[RealRun], scaled: Sequence[Comparison]
) -> dict[str, Any]:
    """``knowledge/model.json`` with this fit, and intervals of what it was off by."""
    rbd = [run for run in runs if run.trial.clients == 'rbd']
    comparisons = left_out(content, rbd)
    comparisons += changes(comparisons)
    counted = Counter(comparison.quantity for comparison in comparisons)
    at_real_size = {quantity for quantity, number in counted.items() if number > 1}
    comparisons += scaled
    by_quantity: dict[str, list[float]] = {}
    for comparison in comparisons:
        by_quantity.setdefault(comparison.quantity, []).append(comparison.ratio)
    # What one run at real size shows, or none, is taken to be as far off as it was.
    ratios = {name: by_quantity[name] for name in QUANTITIES if name in at_real_size}
    made = _replaced(content, fit(rbd, _names(content)))
    found = {interval['quantity']: interval for interval in fitted_intervals(ratios)}
    return {
        **made,
        'intervals': [found.get(old['quantity'], old) for old in content['intervals']],
    }

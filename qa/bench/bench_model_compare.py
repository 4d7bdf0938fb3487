"""What the model predicts for the runs of `bench_model_runs`, beside what was measured.

Of what no formula gives, the model has measured values. So that it is not compared with itself, the
runs of an option set are predicted with the values of the runs of all other option sets.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_model_runs import ColumnFamilyRun, Run

from rocksdb_tuner.lsm.calibration import Calibration, parse_calibration
from rocksdb_tuner.lsm.columns import Column, columns
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Load, TreeModel
from rocksdb_tuner.lsm.tree_options import tree_options
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.options.syntax import parse

#: The interval that is stated holds this part of the comparisons.
HELD = 0.8
#: A column that gets less than this of all writes is not worth a comparison.
LEAST_SHARE = 0.01
_EXACT = {'low': 1.0, 'high': 1.0, 'comparisons': 0}
QUANTITIES = (
    'full_flush_bytes',
    'early_flush_bytes',
    'level0_file_bytes',
    'wal_bytes',
    'wal_device_bytes',
    'write_amplification',
    'space_amplification',
)


@dataclass(frozen=True)
class Comparison:
    #: "16.2.15"
    release: str
    option_set: str
    workload: str
    quantity: str
    #: "O" and the like; '' where it is about the whole database.
    column: str
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted


def read_runs(path: Path) -> list[Run]:
    content = json.loads(path.read_text())
    return [
        Run(**{**run, 'column_families': [ColumnFamilyRun(**c) for c in run['column_families']]})
        for run in content['runs']
    ]


# -- what the runs say of what no formula gives


def _column(name: str) -> str:
    """The column of a family: "O" of "O-2"."""
    head, _, shard = name.rpartition('-')
    return head if shard.isdigit() and head else name


def _by_column(run: Run) -> dict[str, list[ColumnFamilyRun]]:
    found: dict[str, list[ColumnFamilyRun]] = {}
    for family in run.column_families:
        found.setdefault(_column(family.name), []).append(family)
    return found


def _flushed_memory(families: Iterable[ColumnFamilyRun]) -> float:
    return sum(
        f.full_flushes * (f.full_flush_memory_bytes or 0.0)
        + f.early_flushes * (f.early_flush_memory_bytes or 0.0)
        for f in families
    )


def _is_compressed(run: Run) -> bool:
    return 'kNoCompression' not in run.options


def _survivals(runs: Sequence[Run], column: str, *, compressed: bool) -> list[float]:
    """Level 0 bytes for each byte that was flushed, of every run where enough of them were."""
    found = []
    for run in runs:
        families = _by_column(run).get(column, [])
        memory = _flushed_memory(families)
        if _is_compressed(run) == compressed and memory > LEAST_SHARE * run.wal_bytes:
            found.append(sum(f.level_0_bytes for f in families) / memory)
    return found


def _mean_shares(amount: Mapping[str, list[float]]) -> dict[str, float]:
    means = {name: statistics.mean(values) for name, values in amount.items()}
    total = sum(means.values())
    return {name: mean / total for name, mean in means.items()}


def _columns(runs: Sequence[Run]) -> tuple[Column, ...]:
    release = release_of(runs[0].release, None)
    assert release is not None
    return columns(release.default_cfs)


def _stale(runs: Sequence[Run], entry: dict[str, Any], overlap: float) -> float:
    """What part of level 0's share is old: by how much a full compaction made the SST smaller."""
    document = {'overlap': overlap, 'workloads': [{**entry, 'stale': 1.0}], 'intervals': []}
    known = known_from({**document, 'intervals': [{'quantity': q, **_EXACT} for q in QUANTITIES]})
    found = []
    for run in runs:
        if not _level0_filled(run):
            continue
        most = predict(run, known).amplification.space
        assert most is not None
        measured = 1 - run.sst_bytes_compacted / run.sst_bytes_after
        if most.value > 1:
            found.append(max(0.0, measured) / (1 - 1 / most.value))
    return round(min(1.0, statistics.median(found)), 3) if found else 0.0


def _workload(
    name: str, classes: Sequence[str], text: str, runs: Sequence[Run], overlap: float
) -> dict[str, Any]:
    names = [column.name for column in _columns(runs)]
    ingest: dict[str, list[float]] = {n: [] for n in names}
    data: dict[str, list[float]] = {n: [] for n in names}
    ratios = []
    for run in runs:
        of_column = _by_column(run)
        memory = {n: _flushed_memory(of_column.get(n, [])) for n in names}
        live = {n: float(sum(f.live_bytes for f in of_column.get(n, []))) for n in names}
        # Where no memtable was filled nothing is known of the parts.
        if sum(memory.values()) > 0.5 * run.wal_bytes:
            ratios.append(sum(memory.values()) / run.wal_bytes)
            for n in names:
                ingest[n].append(memory[n] / sum(memory.values()))
                data[n].append(live[n] / sum(live.values()))
    ingest_shares, data_shares = _mean_shares(ingest), _mean_shares(data)
    entries = []
    for n in names:
        plain = _survivals(runs, n, compressed=False)
        packed = _survivals(runs, n, compressed=True)
        survival = statistics.median(plain or packed or [0.0])
        entries.append(
            {
                'name': n,
                'ingest_share': round(ingest_shares[n], 4),
                'data_share': round(data_shares[n], 4),
                'survival': round(survival, 4),
                # RocksDB leaves a block as it is that compression would make larger; more than 1
                # comes of sets that differ in more than compression.
                'compressed': round(min(1.0, statistics.median(packed) / survival), 3)
                if plain and packed and survival
                else 1.0,
            }
        )
    entry = {
        'name': name,
        'classes': list(classes),
        'description': text,
        'memory_per_wal_byte': round(statistics.median(ratios), 3),
        'columns': entries,
    }
    return {**entry, 'stale': _stale(runs, entry, overlap)}


_WORKLOADS = (
    (
        'rbd-randwrite',
        ('rbd-small-write',),
        '4 KiB random writes with overwrites into an RBD image of 1 GiB (256 objects), flash OSD',
    ),
    (
        'omap-heavy',
        ('rgw-metadata',),
        (
            'omap of 64 objects, new keys in no order, each written twice as RGW does with entries '
            'of a bucket index'
        ),
    ),
)


def calibrate(
    runs: Sequence[Run], overlap: float, intervals: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The measured part of ``knowledge/model.json``, from these runs alone."""
    known = {interval['quantity'] for interval in intervals}
    return {
        'overlap': overlap,
        'workloads': [
            _workload(name, classes, text, [r for r in runs if r.workload == name], overlap)
            for name, classes, text in _WORKLOADS
        ],
        'intervals': [
            *intervals,
            *({'quantity': q, **_EXACT} for q in QUANTITIES if q not in known),
        ],
    }


# -- predicted and measured


def predict(run: Run, known: Calibration) -> TreeModel:
    release = release_of(run.release, None)
    assert release is not None
    inputs = TreeInputs(
        options=parse(run.options),
        rocksdb_version=release.rocksdb_version,
        columns=columns(release.default_cfs),
        load=Load(
            workload=run.workload, data_bytes=(run.sst_bytes_before + run.sst_bytes_after) / 2
        ),
    )
    return model(inputs, known)


def compare(run: Run, known: Calibration) -> Iterator[Comparison]:
    """Every quantity that this run shows."""
    predicted = predict(run, known)

    def comparison(quantity: str, column: str, expected: float, measured: float) -> Comparison:
        return Comparison(
            run.release, run.option_set, run.workload, quantity, column, expected, measured
        )

    measured_columns = _by_column(run)
    for column in predicted.column_families:
        families = measured_columns.get(column.name, [])
        full = [f for f in families if f.full_flushes]
        # An odd early flush of a family that else fills its memtables is a flush by chance.
        early = [f for f in families if f.early_flushes and not f.full_flushes]
        if _flushed_memory(families) < LEAST_SHARE * run.wal_bytes:
            continue
        if full:
            memory = statistics.mean(f.full_flush_memory_bytes or 0.0 for f in full)
            yield comparison('full_flush_bytes', column.name, column.full_flush_bytes.value, memory)
        expected, file = column.expected_flush_bytes, column.level0_file_bytes
        assert expected is not None
        assert file is not None
        if early and len(early) == len(families) and column.flushed_by == 'wal':
            memory = statistics.mean(f.early_flush_memory_bytes or 0.0 for f in early)
            yield comparison('early_flush_bytes', column.name, expected.value, memory)
        sizes = [
            size
            for f in families
            for size in [f.full_flush_file_bytes if f.full_flushes else f.early_flush_file_bytes]
            if size
        ]
        if sizes and file.value:
            yield comparison('level0_file_bytes', column.name, file.value, statistics.mean(sizes))
    if run.wal_limit_met:
        if run.wal_peak_bytes is not None:
            yield comparison('wal_bytes', '', predicted.wal.limit_bytes, run.wal_peak_bytes)
        yield comparison(
            'wal_device_bytes', '', predicted.wal.device_bytes.value, run.wal_peak_allocated_bytes
        )
    if _level0_filled(run):
        amplification = predicted.amplification
        assert amplification.write is not None
        assert amplification.space is not None
        yield comparison(
            'write_amplification', '', amplification.write.value, write_amplification(run)
        )
        yield comparison(
            'space_amplification',
            '',
            amplification.space.value,
            run.sst_bytes_after / run.sst_bytes_compacted,
        )


def _level0_filled(run: Run) -> bool:
    """Whether the run was long enough to mean anything for what compactions write."""
    busiest = max(_by_column(run).values(), key=_flushed_memory)
    release = release_of(run.release, None)
    assert release is not None
    trigger = tree_options(parse(run.options), release.rocksdb_version).level0_trigger
    return statistics.mean(f.full_flushes for f in busiest) >= trigger


def write_amplification(run: Run) -> float:
    return (run.wal_bytes + run.flush_bytes + run.compaction_bytes) / run.wal_bytes


def known_from(document: Mapping[str, Any]) -> Calibration:
    return parse_calibration({**document, 'formulas': [], 'source': ''})


def compare_all(runs: Sequence[Run], overlap: float) -> list[Comparison]:
    """Each run against a model that has not seen any run of its option set."""
    found: list[Comparison] = []
    for name in dict.fromkeys(run.option_set for run in runs):
        others = known_from(calibrate([r for r in runs if r.option_set != name], overlap))
        for run in runs:
            if run.option_set == name:
                found.extend(compare(run, others))
    return found


def best_overlap(runs: Sequence[Run]) -> float:
    """The one parameter that is fitted: what makes the write amplification least wrong."""

    def error(overlap: float) -> float:
        known = known_from(calibrate(runs, overlap))
        return sum(
            math.log(c.ratio) ** 2
            for run in runs
            for c in compare(run, known)
            if c.quantity == 'write_amplification'
        )

    return min((step / 20 for step in range(31)), key=error)


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """The narrowest interval, as a factor, that holds HELD of the ratios."""
    ordered = sorted(ratios)
    count = math.ceil(HELD * len(ordered))
    choices = [(ordered[i], ordered[i + count - 1]) for i in range(len(ordered) - count + 1)]
    return min(choices, key=lambda ends: ends[1] / ends[0])


def intervals(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for quantity in QUANTITIES:
        ratios = [c.ratio for c in comparisons if c.quantity == quantity]
        if ratios:
            low, high = interval(ratios)
            found.append(
                {
                    'quantity': quantity,
                    # Outwards, so that the interval still holds what it held.
                    'low': math.floor(low * 100) / 100,
                    'high': math.ceil(high * 100) / 100,
                    'comparisons': len(ratios),
                }
            )
    return found

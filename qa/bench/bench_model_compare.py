"""Predictions of the model for the runs of `bench_model_runs`, compared with the measurements.

Where no formula exists, the model has measured values. To avoid comparing it with itself, the runs
of an option set are predicted with the values of the runs of all other option sets.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench_model_fit as fitting
from bench_model_runs import PG_NUM, ColumnFamilyRun, Run

from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.lsm.amplification import LOG_ENTRIES
from rocksdb_tuner.lsm.calibration import Calibration, parse_calibration
from rocksdb_tuner.lsm.levels import tree_options
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Load, TreeModel
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.options.sharding import Column, columns
from rocksdb_tuner.options.syntax import parse

#: The interval that is stated holds this part of the comparisons.
HELD = 0.8
_EXACT = {'low': 1.0, 'high': 1.0, 'comparisons': 0}
#: One option set against another under the same load, as a recommendation puts it.
CHANGE = 'write_amplification_change'
QUANTITIES = (
    'full_flush_bytes',
    'early_flush_bytes',
    'level0_file_bytes',
    'wal_bytes',
    'wal_device_bytes',
    'write_amplification',
    'space_amplification',
    CHANGE,
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


# -- values without a formula, from the runs


def _columns(runs: Sequence[Run]) -> tuple[Column, ...]:
    release = release_of(runs[0].release, None)
    assert release is not None
    return columns(release.default_cfs)


def _stale(runs: Sequence[Run], entry: dict[str, Any], overlap: float) -> float:
    """The share of old data in level 0: by how much a full compaction made the SST smaller."""
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


def _fitted(setup: _Setup, runs: Sequence[Run]) -> dict[str, Any]:
    names = [column.name for column in _columns(runs)]
    ratios = [
        memory / data
        for run in runs
        for memory, data in [_flushed(run)]
        if memory > 0.5 * run.wal_bytes
    ]
    columns_found = fitting.columns_of(runs, names, setup.objects, setup.growing)
    return {
        'name': setup.name,
        'classes': list(setup.classes),
        'description': setup.description,
        'population': {
            'objects': setup.objects,
            'placement_groups': PG_NUM,
            'log_entries': LOG_ENTRIES,
        },
        'memory_per_wal_byte': round(statistics.median(ratios), 3),
        'columns': [fitting.document(column) for column in columns_found],
    }


def _flushed(run: Run) -> tuple[float, float]:
    """The data through memtables: their memory, and the keys and values in them."""
    return (
        fitting.flushed_memory(run.column_families),
        float(sum(f.flushed_data_bytes for f in run.column_families)),
    )


@dataclass(frozen=True)
class _Setup:
    """The objects written by a load."""

    name: str
    classes: tuple[str, ...]
    description: str
    objects: float
    #: The column that gets new keys, or "".
    growing: str


_SETUPS = (
    _Setup(
        'rbd-randwrite',
        ('rbd-small-write',),
        '4 KiB random writes with overwrites into an RBD image of 1 GiB (256 objects), flash OSD',
        objects=256,
        growing='',
    ),
    _Setup(
        'omap-heavy',
        ('rgw-metadata',),
        "omap of 64 objects, new keys in random order, each written twice like RGW's bucket "
        'index entries',
        objects=64,
        growing='p',
    ),
)


def fit(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The values of each load from these runs alone."""
    return [_fitted(setup, [r for r in runs if r.workload == setup.name]) for setup in _SETUPS]


def calibrate(
    runs: Sequence[Run],
    fitted: Sequence[dict[str, Any]],
    overlap: float,
    intervals: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The measured part of ``knowledge/model.json``, from these runs alone."""
    known = {interval['quantity'] for interval in intervals}
    return {
        'overlap': overlap,
        'workloads': [
            {
                **entry,
                'stale': _stale([r for r in runs if r.workload == entry['name']], entry, overlap),
            }
            for entry in fitted
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
            workload=run.workload,
            data_bytes=(run.sst_bytes_before + run.sst_bytes_after) / 2,
            objects=known.workloads[run.workload].population.objects,
            placement_groups=PG_NUM,
            log_entries=fitting.log_entries(run),
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

    measured_columns = fitting.by_column(run)
    for column in predicted.column_families:
        families = measured_columns.get(column.name, [])
        full = [f for f in families if f.full_flushes]
        # An odd early flush of a family that else fills its memtables is a flush by chance.
        early = [f for f in families if f.early_flushes and not f.full_flushes]
        if fitting.flushed_memory(families) < fitting.LEAST_SHARE * run.wal_bytes:
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


def _flushed_by_family(families: Sequence[ColumnFamilyRun]) -> float:
    return fitting.flushed_memory(families)


def _level0_filled(run: Run) -> bool:
    """Whether the run was long enough to mean anything for what compactions write."""
    busiest = max(fitting.by_column(run).values(), key=_flushed_by_family)
    release = release_of(run.release, None)
    assert release is not None
    trigger = tree_options(parse(run.options), release.rocksdb_version).level0_trigger
    return statistics.mean(f.full_flushes for f in busiest) >= trigger


def write_amplification(run: Run) -> float:
    return (run.wal_bytes + run.flush_bytes + run.compaction_bytes) / run.wal_bytes


def known_from(document: Mapping[str, Any]) -> Calibration:
    installed = loader.load('model')
    apart = {name: installed[name] for name in ('inserts', 'cpu')}
    return parse_calibration({**document, **apart, 'formulas': [], 'source': ''})


def compare_all(runs: Sequence[Run], overlap: float) -> list[Comparison]:
    """Each run against a model that has not seen any run of its option set."""
    found: list[Comparison] = []
    for name in dict.fromkeys(run.option_set for run in runs):
        rest = [r for r in runs if r.option_set != name]
        others = known_from(calibrate(rest, fit(rest), overlap))
        for run in runs:
            if run.option_set == name:
                found.extend(compare(run, others))
    return [*found, *changes(found)]


def best_overlap(runs: Sequence[Run]) -> float:
    """The one parameter that is fitted: what makes the write amplification least wrong."""

    fitted = fit(runs)

    def error(overlap: float) -> float:
        known = known_from(calibrate(runs, fitted, overlap))
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


def changes(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Every option set against every other of the same release and load, both ways."""
    amplified = [c for c in comparisons if c.quantity == 'write_amplification']
    return [
        Comparison(
            before.release,
            f'{before.option_set} to {after.option_set}',
            before.workload,
            CHANGE,
            '',
            after.predicted / before.predicted,
            after.measured / before.measured,
        )
        for before, after in itertools.permutations(amplified, 2)
        if (before.release, before.workload) == (after.release, after.workload)
    ]


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

"""The costs that the model is given, and its CPU against that of real OSDs.

So that the model is not compared with itself, the OSDs of a release are predicted with the costs
that those of the other releases show.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_cpu_fit import COMPACTION, FLUSH, fit, osd_rows, rocksdb_rows
from bench_cpu_rocksdb import RocksDbRun
from bench_cpu_runs import OPTION_SETS, SCALE, CpuRun
from bench_model_compare import interval

from rocksdb_tuner.lsm.calibration import Calibration, calibration, parse_cpu_costs
from rocksdb_tuner.lsm.columns import columns
from rocksdb_tuner.lsm.cpu import cpu_change
from rocksdb_tuner.lsm.kv_sync import kv_sync_time
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Estimate, Load, TreeModel
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.options.syntax import parse

PGS, LOG_ENTRIES, IMAGE_OBJECTS = 128, 300_000 / SCALE, 1024
#: Of a kv_sync thread beside RocksDB's own write, where no OSD was measured.
UNMEASURED_KV_SYNC = Estimate(1.0, 1.6, 2.5)
_ALONE = 'RocksDB 7.8.3 alone (qa/bench/cpu_cost.cc)'


@dataclass(frozen=True)
class Comparison:
    """CPU for the same writes under one option set over that under another, in one round."""

    release: str
    workload: str
    change: str
    predicted: Estimate
    measured: float

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted.value

    @property
    def held(self) -> bool:
        return self.predicted.low <= self.measured <= self.predicted.high


def tree_of(run: CpuRun) -> TreeModel:
    """What the model makes of the options of a run, with what its OSD held."""
    release = release_of(run.release, None)
    assert release is not None
    osds = len(OPTION_SETS)
    return model(
        TreeInputs(
            parse(run.options),
            release.rocksdb_version,
            columns(release.default_cfs),
            load=Load(
                workload=run.workload,
                data_bytes=float(run.live_bytes),
                objects=IMAGE_OBJECTS / osds if run.workload == 'rbd-randwrite' else None,
                placement_groups=PGS // osds,
                log_entries=LOG_ENTRIES,
            ),
        )
    )


def measured_ns(run: CpuRun) -> float:
    """Of RocksDB, for each byte in the WAL."""
    names = ('bstore_kv_sync', 'rocksdb:high', 'rocksdb:low')
    return sum(run.cpu_s[name] for name in names) * 1e9 / run.wal_bytes


def compare(runs: Sequence[CpuRun], known: Calibration) -> Iterator[Comparison]:
    """Every option set against every other of the same time and load, both ways."""
    trees = {(run.release, run.workload, run.round, run.osd): tree_of(run) for run in runs}
    for before, after in itertools.permutations(runs, 2):
        if (before.release, before.workload, before.round) != (
            after.release,
            after.workload,
            after.round,
        ):
            continue
        old, new = (trees[r.release, r.workload, r.round, r.osd] for r in (before, after))
        predicted = cpu_change(old, new, known)
        assert predicted is not None
        yield Comparison(
            before.release,
            before.workload,
            f'{before.option_set} to {after.option_set}',
            predicted,
            measured_ns(after) / measured_ns(before),
        )


def compare_all(runs: Sequence[CpuRun], alone: Sequence[RocksDbRun]) -> Iterator[Comparison]:
    """Each release against a model that has seen no run of it."""
    for release in dict.fromkeys(run.release for run in runs):
        others = [run for run in runs if run.release != release]
        known = replace(calibration(), cpu=parse_cpu_costs(costs(others, alone)))
        yield from compare([run for run in runs if run.release == release], known)


def costs(runs: Sequence[CpuRun], alone: Sequence[RocksDbRun]) -> dict[str, Any]:
    """What `knowledge/model.json` has as "cpu"."""
    rows = rocksdb_rows(alone)
    values = fit(rows)
    ratios = {
        kind: [row.cpu_ns / row.expected_ns(values) for row in rows if row.kind == kind]
        for kind in (FLUSH, COMPACTION)
    }
    source = _ALONE
    if runs:
        real = osd_rows(runs)
        ratios = {
            kind: [row.cpu_ns / row.expected_ns(values) for row in real if row.kind == kind]
            for kind in (FLUSH, COMPACTION)
        }
        versions = ', '.join(dict.fromkeys(run.release for run in runs))
        source = f'{_ALONE}, times what OSDs of {versions} took of that (qa/bench/bench_cpu.py)'

    def cost(name: str, kind: str) -> dict[str, Any]:
        low, high = interval(ratios[kind])
        value = values[name]
        return {
            'low': _rounded(value * low),
            'value': _rounded(value * statistics.median(ratios[kind])),
            'high': _rounded(value * high),
            'source': source,
        }

    names = sorted(name.split()[1] for name in values if name.startswith('compress '))
    return {
        'kv_sync': _kv_sync(runs, alone),
        'flush': {
            'memtable_byte': cost('flush_taken', FLUSH),
            'written_byte': cost('flush_written', FLUSH),
        },
        'compaction': {
            'read_byte': cost('compaction_read', COMPACTION),
            'written_byte': cost('compaction_written', COMPACTION),
        },
        'compression': [
            {
                'name': name,
                'compressed_byte': cost(f'compress {name}', FLUSH),
                'decompressed_byte': cost(f'decompress {name}', COMPACTION),
            }
            for name in names
        ],
        'source': 'qa/bench/bench_cpu.py: CPU time of threads, on an AMD EPYC 9004 (Zen 4)',
    }


def _kv_sync(runs: Sequence[CpuRun], alone: Sequence[RocksDbRun]) -> list[dict[str, Any]]:
    """With memtables of the size that times of the thread are parts of."""
    if not runs:
        return [
            _unmeasured_kv_sync(workload, [run for run in alone if run.workload == workload])
            for workload in dict.fromkeys(run.workload for run in alone)
        ]
    found = []
    for workload in dict.fromkeys(run.workload for run in runs):
        ns = []
        for run in runs:
            if run.workload == workload:
                time = kv_sync_time(tree_of(run).column_families, calibration().inserts)
                assert time is not None
                ns.append(run.cpu_s['bstore_kv_sync'] * 1e9 / run.wal_bytes / time.value)
        low, high = interval(ns)
        versions = ', '.join(dict.fromkeys(run.release for run in runs))
        found.append(
            {
                'workload': workload,
                'wal_byte': {
                    'low': _rounded(low),
                    'value': _rounded(statistics.median(ns)),
                    'high': _rounded(high),
                    'source': f'OSDs of {versions} (qa/bench/bench_cpu.py)',
                },
            }
        )
    return found


def _unmeasured_kv_sync(workload: str, runs: Sequence[RocksDbRun]) -> dict[str, Any]:
    largest = max(run.memtable_mib for run in runs)
    ns = statistics.median(
        run.write_cpu_s * 1e9 / run.wal_bytes for run in runs if run.memtable_mib == largest
    )
    times = UNMEASURED_KV_SYNC
    return {
        'workload': workload,
        'wal_byte': {
            'low': _rounded(ns * times.low),
            'value': _rounded(ns * times.value),
            'high': _rounded(ns * times.high),
            'source': f'{_ALONE}: what a write takes, and more for the rest of the thread, taken '
            f'to be {times.low:g} to {times.high:g} times as much',
        },
    }


def _rounded(value: float) -> float:
    return float(f'{value:.3g}')

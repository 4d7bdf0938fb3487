"""The costs that the model is given, and its CPU against that of real OSDs.

So that the model is not compared with itself, the OSDs of a release are predicted with the costs
that those of the other releases show.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_cpu_fit import (
    COMPACTION,
    FLUSH,
    compression_factors,
    compression_of,
    factors_of,
    fit,
    osd_rows,
    rocksdb_rows,
)
from bench_cpu_rocksdb import RocksDbRun
from bench_cpu_runs import SETS, CpuRun
from bench_model_compare import interval

from rocksdb_tuner.lsm.calibration import Calibration, calibration, parse_cpu
from rocksdb_tuner.lsm.cpu import cpu_change, kv_sync_time
from rocksdb_tuner.lsm.levels import columns
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Estimate, Load, TreeModel
from rocksdb_tuner.options.catalogue import NO_COMPRESSION
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.options.syntax import parse

#: Of memtables, in the names of option sets.
SIZES = ('large', 'small')
#: The workload that a profile of the thread was published of.
PROFILED = 'rbd-randwrite'
NOT_COMPARED = {'low': 1.0, 'high': 1.0, 'comparisons': 0}
PGS, LOG_ENTRIES, IMAGE_OBJECTS = 128, 300_000, 1024


@dataclass(frozen=True)
class Comparison:
    """CPU for a byte in the WAL, or that under one option set over that under another."""

    release: str
    workload: str
    #: Of the option sets; '' of one alone.
    change: str
    predicted: Estimate
    measured: float

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted.value

    @property
    def held(self) -> bool:
        return self.predicted.low <= self.measured <= self.predicted.high


def tree_of(run: CpuRun, known: Calibration | None = None) -> TreeModel:
    """The model of a run's options, with the data of its OSD."""
    release = release_of(run.release, None)
    assert release is not None
    osds = len(SETS)
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
                log_entries=LOG_ENTRIES / run.scale,
            ),
        ),
        known,
    )


def measured_ns(run: CpuRun) -> float:
    """Of RocksDB, for each byte in the WAL."""
    names = ('bstore_kv_sync', 'rocksdb:high', 'rocksdb:low')
    return sum(run.cpu_s[name] for name in names) * 1e9 / run.wal_bytes


def compare(runs: Sequence[CpuRun], known: Calibration) -> Iterator[Comparison]:
    """Every option set, and each against every other of the same time and load, both ways."""
    trees = [(run, tree_of(run, known)) for run in runs]
    for run, tree in trees:
        assert tree.cpu is not None
        us = tree.cpu.us_per_wal_kib
        ns = Estimate(*(value / 1.024 for value in (us.low, us.value, us.high)))
        yield Comparison(run.release, run.workload, '', ns, measured_ns(run))
    for (before, old), (after, new) in itertools.permutations(trees, 2):
        if (before.workload, before.round) != (after.workload, after.round):
            continue
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
    values = fit(rocksdb_rows(alone))
    for release in dict.fromkeys(run.release for run in runs):
        others = [run for run in runs if run.release != release]
        known = parse_cpu(_document(others, values, NOT_COMPARED, NOT_COMPARED))
        yield from compare(
            [run for run in runs if run.release == release], replace(calibration(), cpu=known)
        )


def costs(runs: Sequence[CpuRun], alone: Sequence[RocksDbRun]) -> dict[str, Any]:
    """The "cpu" entry of `knowledge/model.json`."""
    found = list(compare_all(runs, alone))
    return _document(
        runs,
        fit(rocksdb_rows(alone)),
        _interval([c.ratio for c in found if not c.change]),
        _interval([c.ratio for c in found if c.change]),
    )


def _interval(ratios: Sequence[float]) -> dict[str, Any]:
    low, high = interval(ratios)
    # Outwards, so that the interval still holds what it held.
    return {
        'low': math.floor(low * 100) / 100,
        'high': math.ceil(high * 100) / 100,
        'comparisons': len(ratios),
    }


def _document(
    runs: Sequence[CpuRun],
    values: Mapping[str, float],
    total: Mapping[str, Any],
    change: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        'workloads': [
            _of_workload(workload, [run for run in runs if run.workload == workload], values)
            for workload in dict.fromkeys(run.workload for run in runs)
        ],
        'total': dict(total),
        'change': dict(change),
        'source': 'qa/bench/bench_cpu.py: CPU time of threads, on an AMD EPYC 9004 (Zen 4), two '
        'cores shared with other work; each release is predicted without its own runs, and the '
        'interval covers 80% of the comparisons',
    }


def _of_workload(
    workload: str, runs: Sequence[CpuRun], values: Mapping[str, float]
) -> dict[str, Any]:
    versions = ', '.join(dict.fromkeys(run.release for run in runs))
    kv_sync = f'OSDs of {versions} (qa/bench/bench_cpu.py)'
    scaled = f'standalone RocksDB 7.8.3 (qa/bench/cpu_cost.cc), scaled to {kv_sync}'
    rows = osd_rows(runs)
    factors = {
        kind: _middle_and_ends(factors_of(rows, values, kind)) for kind in (FLUSH, COMPACTION)
    }
    compression = _middle_and_ends(compression_factors(rows, values))

    def cost(name: str, factor: Estimate, source: str = scaled) -> dict[str, Any]:
        value = values[name]
        return {
            'low': _rounded(value * factor.low),
            'value': _rounded(value * factor.value),
            'high': _rounded(value * factor.high),
            'source': source,
        }

    names = sorted(name.split()[1] for name in values if name.startswith('compress '))
    measured = {compression_of(run) for run in runs} - {NO_COMPRESSION}
    thread = _middle_and_ends([_kv_sync_ns(run) for run in runs])
    return {
        'workload': workload,
        'kv_sync': {
            'wal_byte': {
                'low': _rounded(thread.low),
                'value': _rounded(thread.value),
                'high': _rounded(thread.high),
                'source': kv_sync,
            }
        },
        'flush': {
            'memtable_byte': cost('flush_taken', factors[FLUSH]),
            'written_byte': cost('flush_written', factors[FLUSH]),
        },
        'compaction': {
            'read_byte': cost('compaction_read', factors[COMPACTION]),
            'written_byte': cost('compaction_written', factors[COMPACTION]),
        },
        'compression': [
            {
                'name': name,
                **{
                    part: cost(
                        f'{verb} {name}',
                        compression,
                        scaled if name in measured else f'{scaled} with {", ".join(measured)}',
                    )
                    for part, verb in (
                        ('compressed_byte', 'compress'),
                        ('decompressed_byte', 'decompress'),
                    )
                },
            }
            for name in names
        ],
    }


def _kv_sync_ns(run: CpuRun) -> float:
    """With memtables of the size that times of the thread are parts of."""
    inserts = calibration().inserts_of(run.workload)
    time = kv_sync_time(tree_of(run).column_families, inserts)
    assert time is not None
    return run.cpu_s['bstore_kv_sync'] * 1e9 / run.wal_bytes / time.value


def insert_shares(runs: Sequence[CpuRun]) -> list[dict[str, Any]]:
    """Shares of the kv_sync thread's time with large memtables, by workload.

    One per round: the time per write of all OSDs with small memtables over that with large ones.
    The next round is within the interval with 80% probability. For RBD writes a profile was
    published with memtables of that size: its value is used, which the published IOPS confirm, and
    the interval covers both sources.
    """
    from scipy.stats import t  # noqa: PLC0415 - only calibrating needs it

    commits = commits_exponent(runs)
    versions = ', '.join(dict.fromkeys(run.release for run in runs))
    profiled = calibration().inserts.share
    found = []
    for workload in dict.fromkeys(run.workload for run in runs):
        rounds = _by_round(run for run in runs if run.workload == workload)
        shares = [_share_of_inserts(of_round, commits) for of_round in rounds]
        middle, number = statistics.fmean(shares), len(shares)
        reach = float(t.ppf(0.9, number - 1)) * statistics.stdev(shares) * math.sqrt(1 + 1 / number)
        share = Estimate(max(0.0, middle - reach), middle, min(1.0, middle + reach))
        source = (
            f'CPU time of the thread per write with large and with small memtables, {number} '
            f'rounds on OSDs of {versions} (qa/bench/bench_cpu.py), normalized to equal '
            f'commits per write (time grows with their power of {commits:.2f}), and the exponent'
        )
        if workload == PROFILED:
            source += f'; these gave {middle:.2f}, the profile {profiled.value:.2f}'
            low, high = min(share.low, profiled.low), max(share.high, profiled.high)
            share = Estimate(low, profiled.value, high)
        ends = {'low': share.low, 'value': share.value, 'high': share.high}
        found.append(
            {
                'workload': workload,
                'share': {name: round(end, 2) for name, end in ends.items()},
                'source': source,
            }
        )
    return found


def commits_exponent(runs: Sequence[CpuRun]) -> float:
    """How the thread's time for a write grows with commits for a write: d(log) over d(log).

    By all pairs of OSDs that had memtables of one size at one time: a thread that finds more writes
    waiting takes them together.
    """
    moved = []
    for of_round in _by_round(runs):
        for size in SIZES:
            alike = [run for run in of_round if size in run.option_set]
            moved += [
                (
                    math.log(two.commits / two.writes / (one.commits / one.writes)),
                    math.log(_kv_sync_s(two) / _kv_sync_s(one)),
                )
                for one, two in itertools.combinations(alike, 2)
            ]
    return sum(x * y for x, y in moved) / sum(x * x for x, _ in moved)


def _by_round(runs: Iterable[CpuRun]) -> list[list[CpuRun]]:
    rounds: dict[tuple[str, str, int], list[CpuRun]] = {}
    for run in runs:
        rounds.setdefault((run.release, run.workload, run.round), []).append(run)
    return list(rounds.values())


def _kv_sync_s(run: CpuRun) -> float:
    return run.cpu_s['bstore_kv_sync'] / run.writes


def _share_of_inserts(runs: Sequence[CpuRun], commits: float) -> float:
    """That makes the ratio of what was measured: with x the inserts, 1 - f + f x is the time."""
    inserts = calibration().inserts
    taken: list[float] = []
    parts: list[float] = []
    for size in SIZES:
        alike = [run for run in runs if size in run.option_set]
        costs = [_kv_sync_s(run) / (run.commits / run.writes) ** commits for run in alike]
        taken.append(statistics.geometric_mean(costs))
        time = kv_sync_time(tree_of(alike[0]).column_families, inserts)
        assert time is not None
        parts.append(1 + (time.value - 1) / inserts.share.value)
    ratio = taken[1] / taken[0]
    return (1 - ratio) / (1 - parts[1] - ratio * (1 - parts[0]))


def _middle_and_ends(values: Sequence[float]) -> Estimate:
    """The median, and the narrowest interval that holds 80%."""
    low, high = interval([max(value, 0.01) for value in values])
    middle = statistics.median(values)
    return Estimate(min(low, middle), middle, max(high, middle))


def _rounded(value: float) -> float:
    return float(f'{value:.3g}')

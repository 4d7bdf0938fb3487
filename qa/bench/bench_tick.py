#!/usr/bin/python3
"""Cost of a tick: CPU per OSD of sampling and evaluating, and memory, over a cluster in memory.

The counters are read from a dictionary here; in a real mgr each of the reads costs about 1.7 us
more (measured on 16.2.15 between ticks, when caches are cold), which the third column adds.
`bench_tick_real.py` measures a real tick, all of which runs with cold caches, as ``--cold`` does
here. Costs are means over a multiple of three ticks: every third one evaluates the samples.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import resource
import statistics
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rocksdb_tuner.mgr.records import CounterPoint  # noqa: E402 - after the path to it
from rocksdb_tuner.observe.sample import ALL_OPERATIONS, details_for, names_for  # noqa: E402
from rocksdb_tuner.settings import Settings  # noqa: E402
from rocksdb_tuner.snapshot import Mode  # noqa: E402
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore  # noqa: E402
from rocksdb_tuner.tuner import Tuner  # noqa: E402

REAL_READ_US = 1.7
#: More than the caches of a processor hold, by lines of a cache.
CACHES_BYTES, LINE_BYTES = 96 << 20, 64
NAMES = names_for('pacific')
DETAILS = [path for path in details_for('pacific') if path]
_PLAIN = ('_bytes',)


class CountingCluster(FakeCluster):
    """Knows how many counters were read."""

    reads = 0

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[CounterPoint | None]:
        self.reads += len(paths)
        return super().latest(osd_id, paths)


def report(cluster: FakeCluster, step: int) -> None:
    """Every OSD sends a report of 4 KiB writes, on a dedicated DB device that fills."""
    for osd_id in cluster.osds:
        done, now_s = (step + 1) * 4000 + osd_id, cluster.now_s
        # No two counters are equal, since equal numbers might share memory.
        different = itertools.count(done)
        values = {
            path: CounterPoint(
                now_s, next(different), None if path.endswith(_PLAIN) else next(different)
            )
            for path in DETAILS
        }
        for path in NAMES:
            latency = path.endswith(('lat', 'latency'))
            values[path] = CounterPoint(
                now_s, next(different), next(different) if latency else None
            )
        values[NAMES.op_w_in_bytes] = CounterPoint(now_s, done * 4096, None)
        values[ALL_OPERATIONS] = CounterPoint(now_s, values[NAMES.op_w_latency].avgcount or 0, None)
        # Where all that clients do is plain writes
        for path in (NAMES.op_r, NAMES.op_r_out_bytes, NAMES.op_rw, NAMES.op_rw_in_bytes):
            values[path] = CounterPoint(now_s, 0)
        for path in (NAMES.recovery_ops, NAMES.recovery_bytes):
            values[path] = CounterPoint(now_s, 0)
        values[NAMES.db_total_bytes] = CounterPoint(now_s, 1 << 40, None)
        values[NAMES.db_used_bytes] = CounterPoint(now_s, (1 << 30) + done, None)
        for path in (NAMES.slow_used_bytes, NAMES.wal_total_bytes, NAMES.wal_used_bytes):
            values[path] = CounterPoint(now_s, 0)
        for path, point in values.items():
            cluster.counters[osd_id, path] = point


def make(osds: int, mode: Mode = Mode.RECOMMEND) -> tuple[CountingCluster, Tuner]:
    cluster = CountingCluster(osds)
    for osd in cluster.osds.values():
        osd.dedicated_db = True
    cluster_map = cluster.cluster_map()
    cluster.cluster_map = lambda: cluster_map  # type: ignore[method-assign]  # as the mgr caches it
    tuner = Tuner(
        cluster,
        FakeStore(),
        lambda: Settings(mode=mode, sample_interval_s=5.0),
        manager_version='16.2.15',
        manager_release='pacific',
        wall_clock=lambda: cluster.now_s,
    )
    return cluster, tuner


class Between:
    """What happens between two ticks: time passes, and others may use the caches."""

    def __init__(self, interval_s: float = 60.0, *, cold: bool = False) -> None:
        self.interval_s = interval_s
        self._used = bytearray(CACHES_BYTES if cold else 0)

    def others_work(self) -> None:
        for place in range(0, len(self._used), LINE_BYTES):
            self._used[place] ^= 1


def measure(osds: int, ticks: int, mode: Mode, between: Between) -> tuple[float, float, float]:
    """Of each OSD and tick the CPU microseconds, and the reads; MiB that this grew by."""
    cluster, tuner = make(osds, mode)
    report(cluster, 0)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    costs_us = []
    for step in range(ticks):
        cluster.now_s += 3600.0 if step == 0 else between.interval_s
        report(cluster, step)
        between.others_work()
        # The double of the mgr's own memory would not be collected there.
        gc.freeze()
        tuner.tick()
        gc.unfreeze()
        tick_ms = tuner.snapshot.sampling.tick_ms
        if step == 0:
            # Of a process that is new, all of them
            cluster.reads = 0
        # The first ticks also parse the option strings, once.
        if tick_ms is not None and step >= ticks // 2:
            costs_us.append(tick_ms * 1000 / osds)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    return statistics.fmean(costs_us), cluster.reads / osds / (ticks - 1), grown_mib


def measure_day(osds: int) -> float:
    """KiB that the module keeps of so many OSDs after a day."""
    cluster, tuner = make(osds, Mode.OBSERVE)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for step in range(1440 + 12):
        # At the end as often as 10,000 OSDs are sampled, so that the short window is full too.
        cluster.now_s += 60.0 if step < 1440 else 30.0
        report(cluster, step)
        tuner.tick()
    # What the double keeps is not the module's.
    cluster.counters.clear()
    cluster.tell_commands.clear()
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return kept / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--osds', type=int, nargs='+', default=[20, 100, 1000, 10000])
    parser.add_argument('--ticks', type=int, default=24, help='of which the second half counts')
    parser.add_argument('--interval', type=float, default=10.0, help='seconds between two ticks')
    parser.add_argument('--cold', action='store_true', help='others use the caches in between')
    parser.add_argument(
        '--day-of', type=int, default=40, help='OSDs to keep a day of, then thrice; 0: none'
    )
    arguments = parser.parse_args()
    between = Between(arguments.interval, cold=arguments.cold)
    # Loads the knowledge, which is not part of the history.
    measure(20, 4, Mode.OBSERVE, between)
    print(
        f'{"OSDs":>6}  {"us/OSD":>7}  {"with real reads":>15}  {"with advice":>11}  '
        f'{"memory, MiB":>11}'
    )
    for osds in arguments.osds:
        cost_us, reads, grown_mib = measure(osds, arguments.ticks, Mode.OBSERVE, between)
        # What advising a group costs more is the same for any number of OSDs
        advising_us, _, _ = measure(osds, arguments.ticks, Mode.RECOMMEND, between)
        print(
            f'{osds:>6}  {cost_us:>7.0f}  {cost_us + reads * REAL_READ_US:>15.0f}  '
            f'{advising_us + reads * REAL_READ_US:>11.0f}  {grown_mib:>11.0f}'
        )
    if not arguments.day_of:
        return 0
    few, many = arguments.day_of, 3 * arguments.day_of
    few_kib, many_kib = measure_day(few), measure_day(many)
    each_kib = (many_kib - few_kib) / (many - few)
    print(
        f'a day keeps {each_kib:.1f} KiB for each OSD, and {few_kib - few * each_kib:.0f} KiB once '
        f'(of {few} OSDs {few_kib / few:.1f} KiB each in all)'
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())

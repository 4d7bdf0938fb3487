#!/usr/bin/python3
"""Cost of a tick: CPU per OSD of sampling and evaluating, and memory, over a cluster in memory.

The counters are read from a dictionary here; in a real mgr each of the reads costs about 2.5 us
more (measured on 16.2.15), which the last column adds. `status` shows what a real tick took.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rocksdb_tuner.mgr.records import CounterPoint  # noqa: E402 - after the path to it
from rocksdb_tuner.observe.counters import names_for  # noqa: E402
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore  # noqa: E402
from rocksdb_tuner.tuner import Settings, Tuner  # noqa: E402

REAL_READ_US = 2.5
NAMES = names_for('pacific')


def report(cluster: FakeCluster, step: int) -> None:
    """Every OSD sends a report of 4 KiB writes."""
    done = step * 4000
    values = {
        path: CounterPoint(cluster.now_s, done, done if path.endswith(('lat', 'latency')) else None)
        for path in NAMES
    }
    values[NAMES.op_w_in_bytes] = CounterPoint(cluster.now_s, done * 4096, None)
    for osd_id in cluster.osds:
        for path, point in values.items():
            cluster.counters[osd_id, path] = point


def measure(osds: int, ticks: int) -> tuple[float, float]:
    """(median CPU microseconds per OSD and tick, MiB that this process grew by)."""
    cluster = FakeCluster(osds)
    cluster_map = cluster.cluster_map()
    cluster.cluster_map = lambda: cluster_map  # type: ignore[method-assign]  # as the mgr caches it
    tuner = Tuner(
        cluster,
        FakeStore(),
        lambda: Settings(sample_interval_s=5.0),
        manager_version='16.2.15',
        manager_release='pacific',
        wall_clock=lambda: cluster.now_s,
    )
    report(cluster, 0)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    costs_us = []
    for step in range(ticks):
        cluster.now_s += 3600.0 if step == 0 else 60.0
        report(cluster, step)
        tuner.tick()
        tick_ms = tuner.snapshot.sampling.tick_ms
        # The first ticks also parse the option strings, once.
        if tick_ms is not None and step >= ticks // 2:
            costs_us.append(tick_ms * 1000 / osds)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) / 1024
    return statistics.median(costs_us), grown_mib


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--osds', type=int, nargs='+', default=[20, 100, 1000, 10000])
    parser.add_argument('--ticks', type=int, default=10)
    arguments = parser.parse_args()
    reads_us = len(NAMES) * REAL_READ_US
    print(f'{"OSDs":>6}  {"us/OSD":>7}  {"with real reads":>15}  {"memory, MiB":>11}')
    for osds in arguments.osds:
        cost_us, grown_mib = measure(osds, arguments.ticks)
        print(f'{osds:>6}  {cost_us:>7.0f}  {cost_us + reads_us:>15.0f}  {grown_mib:>11.0f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())

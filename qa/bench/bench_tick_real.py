#!/usr/bin/python3
"""What a tick of the module costs a real manager, in CPU time per OSD.

    bench_tick_real.py cost --dir DIR --what '300 client writes of 4 KiB per second'

A running cluster of `qa/cluster up` is watched. The CPU time of a tick is compared with that of
reading all counters of all OSDs and of the prometheus module's `collect`, which a module of the
bench (counter_cost) calls in the same manager between ticks. Of the time that others take on the
same cores nothing is counted, but caches are shared with them: a busy machine shows more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness.client import wait_until  # noqa: E402 - after the path to it
from harness.cluster import Cluster  # noqa: E402
from harness.errors import HarnessError  # noqa: E402

MODULE = 'rocksdb_tuner'
PROBE = 'counter_cost'
#: Until a tick is seen; from then on there is one question for each tick, and right behind it: each
#: starts a program, which a manager in production is spared.
POLL_S = 1.0
START_TIMEOUT_S = 120.0
#: Until then the module evaluates each sample.
WARM_UP_S = 120.0


@dataclass(frozen=True)
class Spread:
    least: float
    median: float
    most: float


def spread(values: Sequence[float], digits: int = 0) -> Spread:
    """Least, median and most of values, rounded."""
    found = (min(values), statistics.median(values), max(values))
    return Spread(*(round(value, digits) for value in found))


@dataclass(frozen=True)
class Cost:
    """Microseconds of CPU time per OSD."""

    release: str
    date: str
    osds: int
    what: str
    machine_load: float
    #: Figures of the module; each is the mean over the ticks from one evaluation to the next.
    ticks: int
    us_per_osd: Spread
    all_counters_us_per_osd: Spread
    prometheus_us_per_osd: Spread


def cost(cluster: Cluster, seconds: float, what: str) -> Cost:
    with_probe(cluster)
    time.sleep(WARM_UP_S)
    osds = 0
    # Shown from before, when the module still warmed up and evaluated at every tick
    newest = _sampling(cluster)['tick_ms']
    ticks_ms: list[float] = []
    others: list[dict[str, float]] = []
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        sampling = _sampling(cluster)
        # Two ticks never take the same time to the nanosecond
        if sampling['tick_ms'] not in (None, newest):
            newest = sampling['tick_ms']
            osds = sampling['osds']
            ticks_ms.append(newest)
            # Midway to the next tick, when caches are as cold for them as they are for a tick
            time.sleep(sampling['interval_s'] / 2)
            others.append(json.loads(cluster.ceph(PROBE.replace('_', '-'))))
            time.sleep(sampling['interval_s'] / 2)
        else:
            time.sleep(POLL_S)
    if len(ticks_ms) < 3 or not osds:
        raise HarnessError('the module sampled no OSD meanwhile')

    def per_osd(values_ms: Sequence[float]) -> Spread:
        return spread([1000 * value / osds for value in values_ms])

    return Cost(
        **_described(cluster, osds),
        what=what,
        machine_load=round(os.getloadavg()[1], 1),
        ticks=len(ticks_ms),
        us_per_osd=per_osd(ticks_ms),
        all_counters_us_per_osd=per_osd([found['all_counters_ms'] for found in others]),
        prometheus_us_per_osd=per_osd([found['prometheus_ms'] for found in others]),
    )


def _sampling(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.ceph_json(MODULE.replace('_', '-'), 'status')['sampling']
    return found


def with_probe(cluster: Cluster) -> None:
    """A manager that has the bench's module, and the prometheus module."""
    link = cluster.layout.mgr_modules / PROBE
    if not link.exists():
        link.symlink_to(Path(__file__).parent / PROBE)
        restart_manager(cluster)
    for name in ('prometheus', PROBE):
        # The monitors do not know yet which modules a new manager has.
        enable = ('mgr', 'module', 'enable', name)
        wait_until(partial(_succeeds, cluster, *enable), START_TIMEOUT_S, f'{name} is enabled')
    asked = partial(_succeeds, cluster, PROBE.replace('_', '-'))
    wait_until(asked, START_TIMEOUT_S, f'{PROBE} and prometheus answer')


def _succeeds(cluster: Cluster, *command: str) -> bool:
    try:
        cluster.ceph(*command)
    except HarnessError:
        return False
    return True


def restart_manager(cluster: Cluster) -> None:
    name = f'mgr.{cluster.record.spec.mgr_ids[0]}'
    cluster.stop_daemon(name)
    cluster.start_daemon(name)
    wait_until(
        lambda: bool(cluster.ceph_json('mgr', 'stat')['available']),
        START_TIMEOUT_S,
        f'{name} is active',
    )


def _described(cluster: Cluster, osds: int) -> dict[str, Any]:
    date = time.strftime('%Y-%m-%d', time.gmtime())
    return {'release': cluster.release.name, 'date': date, 'osds': osds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('what_costs', choices=('cost',))
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument('--seconds', type=float, default=300.0)
    parser.add_argument('--what', default='idle', help='what goes on meanwhile, for the record')
    parser.add_argument('--out', type=Path, help='a JSON file that the result is added to')
    arguments = parser.parse_args()
    found = asdict(cost(Cluster.open(arguments.dir), arguments.seconds, arguments.what))
    print(json.dumps(found))
    if arguments.out:
        known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        known.setdefault('cost', []).append(found)
        arguments.out.write_text(json.dumps(known, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())

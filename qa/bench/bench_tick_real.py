#!/usr/bin/python3
"""Cost of a tick in a real manager: the thread's CPU time, as shown by `status`, for each OSD.

A running cluster of `qa/cluster up` is watched for a while. Of the CPU time that others take on
the same cores nothing is counted, but caches are shared with them: a busy machine shows more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness.cluster import Cluster  # noqa: E402 - after the path to it

#: Until a tick is seen; from then on there is one question for each tick, and right behind it: each
#: starts a program, which a manager in production is spared.
POLL_S = 1.0


def ticks_ms(cluster: Cluster, seconds: float) -> tuple[int, list[float]]:
    """(OSDs that were sampled, CPU time of each tick that was seen)."""
    osds, found = 0, []
    newest: float | None = None
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        sampling = cluster.ceph_json('rocksdb-tuner', 'status')['sampling']
        # Two ticks never take the same time to the nanosecond
        if sampling['tick_ms'] not in (None, newest):
            newest = sampling['tick_ms']
            osds = sampling['osds']
            found.append(newest)
            time.sleep(sampling['interval_s'])
        else:
            time.sleep(POLL_S)
    return osds, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument('--seconds', type=float, default=120.0)
    parser.add_argument('--what', default='idle', help='what goes on meanwhile, for the record')
    parser.add_argument('--out', type=Path, help='a JSON file that the result is added to')
    arguments = parser.parse_args()
    cluster = Cluster.open(arguments.dir)
    osds, found = ticks_ms(cluster, arguments.seconds)
    if len(found) < 2 or not osds:
        parser.error('the module sampled no OSD meanwhile')
    per_osd_us = sorted(1000 * tick_ms / osds for tick_ms in found)
    result = {
        'release': cluster.release.name,
        'date': time.strftime('%Y-%m-%d', time.gmtime()),
        'osds': osds,
        'what': arguments.what,
        'ticks': len(found),
        'us_per_osd': {
            'least': round(per_osd_us[0]),
            'median': round(statistics.median(per_osd_us)),
            'most': round(per_osd_us[-1]),
        },
    }
    print(json.dumps(result))
    if arguments.out:
        before = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
        arguments.out.write_text(json.dumps([*before, result], indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())

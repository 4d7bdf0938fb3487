#!/usr/bin/python3
"""Cost of the requests of the dashboard's tab: time for each answer, and its size as sent.

A cluster in memory answers through the module and the controller, as in the dashboard, which then
compresses the answer. Time is CPU time of one core, the median of some answers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(CHECKOUT / path) for path in ('src/pybind/mgr', 'qa/doubles', 'qa/doubles_dashboard')
]

from bench_tick import make, report  # noqa: E402 - after the path to it
from dashboard import mgr  # noqa: E402
from tuner_api import Api  # noqa: E402

from rocksdb_tuner import Module  # noqa: E402

ANSWERS = {
    'status': lambda api: api.status(),
    'findings': lambda api: api.findings(),
    'recommend': lambda api: api.recommendations(),
    'map': lambda api: api.osd_map(),
    'trend of a class': lambda api: api.trend(device_class='ssd'),
    'trend of 12 OSDs': lambda api: api.trend(osds=','.join(map(str, range(12)))),
}
#: The requests of each refresh of the tab.
OVERVIEW = ('status', 'findings', 'recommend', 'map')


def prepare(osds: int, ticks: int) -> Api:
    """The API of a cluster whose module has ticked some times."""
    cluster, tuner = make(osds)
    for step in range(ticks):
        cluster.now_s += 3600.0 if step == 0 else 60.0
        report(cluster, step)
        tuner.tick()
    module: Any = Module('rocksdb_tuner', '', '')
    module._tuner = tuner  # noqa: SLF001 - in a manager it makes its own
    mgr.answer = lambda _name, method, *args: getattr(module, method)(*args)
    return Api()


def measure(api: Api, name: str, times: int) -> tuple[float, int]:
    """(median milliseconds until the answer is compressed, its compressed size in bytes)."""
    costs_ms, size = [], 0
    for _ in range(times):
        begin_s = time.thread_time()
        # The level of CherryPy's tool.
        size = len(gzip.compress(json.dumps(ANSWERS[name](api)).encode(), 5))
        costs_ms.append((time.thread_time() - begin_s) * 1000)
    return statistics.median(costs_ms), size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--osds', type=int, nargs='+', default=[1000, 10000])
    parser.add_argument('--ticks', type=int, default=40)
    parser.add_argument('--times', type=int, default=9)
    arguments = parser.parse_args()
    print(f'{"OSDs":>6}  {"answer":<18}{"ms":>8}{"KB sent":>10}')
    for osds in arguments.osds:
        api = prepare(osds, arguments.ticks)
        found = {name: measure(api, name, arguments.times) for name in ANSWERS}
        whole_ms, whole_bytes = (sum(found[name][i] for name in OVERVIEW) for i in (0, 1))
        for name, (cost_ms, size) in (*found.items(), ('overview, all 4', (whole_ms, whole_bytes))):
            print(f'{osds:>6}  {name:<18}{cost_ms:>8.1f}{size / 1000:>10.1f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())

"""Recordings of the module's own counters under a real client, for its unit tests.

The format is described beside the recordings (tests/workload/data/README.md of the module).
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rocksdb_tuner.observe.counters import names_for

from .cli import run_main
from .cluster import Cluster
from .workloads import WORKLOADS, run_workload

REPORT_PERIOD_S = 5.0


class Recorder:
    """Reads every OSD's counters, as often as OSDs send them to the mgr."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.counters = tuple(names_for(cluster.release.name))
        self.reports: list[list[Any]] = []
        self._started_s = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def now_s(self) -> float:
        return round(time.monotonic() - self._started_s, 2)

    def __enter__(self) -> Recorder:  # noqa: PYI034  # Self is of Python 3.11
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due_s = 0.0
        while not self._stop.wait(max(0.0, due_s - self.now_s())):
            now_s, due_s = due_s, due_s + REPORT_PERIOD_S
            osds = self._cluster.ceph_json('osd', 'dump')['osds']
            up = [osd for osd in osds if osd['up']]
            with ThreadPoolExecutor(max_workers=max(1, len(up))) as pool:
                self.reports += pool.map(lambda osd, at_s=now_s: self._report(at_s, osd), up)

    def _report(self, now_s: float, osd: dict[str, Any]) -> list[Any]:
        dump = self._cluster.ceph_json('tell', f'osd.{osd["osd"]}', 'perf', 'dump')
        values = [self._value(dump, *path.split('.')) for path in self.counters]
        return [now_s, osd['osd'], osd['public_addrs']['addrvec'][0]['nonce'], values]

    @staticmethod
    def _value(dump: dict[str, Any], section: str, name: str) -> Any:
        value = dump[section][name]
        if isinstance(value, dict):
            return [round(value['sum'] * 1e9), value['avgcount']]
        return value


def record(cluster: Cluster, name: str, seconds: float, around_s: float) -> dict[str, Any]:
    """The counters from `around_s` seconds before a client's run to as long after it."""
    with Recorder(cluster) as recorder:
        time.sleep(around_s)
        start_s = recorder.now_s()
        run_workload(cluster, name, seconds)
        end_s = recorder.now_s()
        time.sleep(around_s)
    pools = cluster.ceph_json('osd', 'pool', 'ls', 'detail')
    return {
        'client': name,
        'release': cluster.release.name,
        'client_start_s': start_s,
        'load_start_s': start_s,
        'load_end_s': end_s,
        'pools': {p['pool_name']: sorted(p['application_metadata']) for p in pools},
        'counters': recorder.counters,
        'reports': recorder.reports,
    }


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='qa/record', description='Record what OSDs count while a real client runs.'
    )
    parser.add_argument('name', choices=tuple(WORKLOADS), metavar='|'.join(WORKLOADS))
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--around', type=float, default=35.0, help='seconds before and after')
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument('--out', type=Path, required=True)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parse(argv)

    def work() -> int:
        cluster = Cluster.open(arguments.dir)
        document = record(cluster, arguments.name, arguments.seconds, arguments.around)
        arguments.out.write_text(json.dumps(document, separators=(',', ':')) + '\n')
        return 0

    return run_main('qa/record', work)

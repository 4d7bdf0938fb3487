"""Recordings of what the module sees while real clients run, for its tests and its evaluation.

A real client works, with nobody before and after it. The format of a recording is described
beside the recordings (tests/workload/data/README.md of the module).
"""

from __future__ import annotations

import argparse
import json
import lzma
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from rocksdb_tuner.observe.sample import details_for, names_for

from . import ending
from .cli import run_endable
from .cluster import Cluster
from .errors import HarnessError
from .workloads import WORKLOADS, run_workload
from .workloads.python_client import CLIENTS, PYTHON

FORMAT = 2
#: As often as OSDs send their counters to the manager.
REPORT_PERIOD_S = 5.0
RECORDER_TIMEOUT_S = 3600.0
STOP_FILE = 'stop-recording'


@dataclass(frozen=True)
class Span:
    """A time of which it is known what went on; seconds since the recording's begin."""

    what: str
    labels: tuple[str, ...]
    begin_s: float
    end_s: float


class Recorder:
    """Reads the cluster's counters and maps while it is entered; then they are in `readings`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        release = cluster.release.name
        paths = [*names_for(release), *filter(None, details_for(release))]
        self.counters = tuple(dict.fromkeys(paths))
        self.readings: list[dict[str, Any]] = []
        self.complaints = ''
        self._stop_file = cluster.layout.clients / STOP_FILE
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Recorder:  # noqa: PYI034  # Self is of Python 3.11
        self._cluster.install('rados-client')
        self._cluster.host.outside(self._stop_file).unlink(missing_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cluster.host.outside(self._stop_file).touch()
        self._thread.join()

    def _run(self) -> None:
        order = {
            'period_s': REPORT_PERIOD_S,
            'stop_file': str(self._stop_file),
            'run_dir': str(self._cluster.layout.run_dir),
            'counters': self.counters,
        }
        done = self._cluster.client.run(
            PYTHON,
            '-B',
            '-',
            json.dumps(order),
            stdin=(CLIENTS / 'recorder_client.py').read_text(),
            timeout_s=RECORDER_TIMEOUT_S,
            check=False,
        )
        self.readings = [json.loads(line) for line in done.stdout.splitlines()]
        self.complaints = done.stderr.strip()


def record(
    cluster: Cluster, name: str, seconds: float, around_s: float, labels: Sequence[str]
) -> dict[str, Any]:
    """The module's samples while a client works, and around that; labels are the right classes."""
    spans: list[Span] = []
    with Recorder(cluster) as recorder:
        began_s = time.time()

        def span(what: str, labels: Sequence[str], begin_s: float, end_s: float) -> None:
            begin, end = round(begin_s - began_s, 1), round(end_s - began_s, 1)
            spans.append(Span(what, tuple(labels), begin, end))

        def nobody() -> None:
            cluster.progress.say(f'nobody: {around_s:g} s')
            begin_s = time.time()
            ending.pause(around_s)
            span('nobody', ('idle',), begin_s, time.time())

        nobody()
        cluster.progress.say(f'{name}: {seconds:g} s')
        result = run_workload(cluster, name, seconds)
        if not result.ok:
            raise HarnessError(f'{result.workload} failed: {result.error_messages}')
        if labels:
            span(name, labels, result.began_s, result.began_s + result.seconds)
        nobody()
    return {
        **document(cluster, recorder, name, began_s),
        'cluster': {
            'osds': cluster.record.spec.osds,
            'pool_size': cluster.record.spec.replicas,
            'db_size_bytes': cluster.record.spec.db_size_bytes,
            'osd_conf': dict(cluster.record.spec.osd_conf),
        },
        'spans': [asdict(span) for span in spans],
        'clients': [{**asdict(result), 'began_s': round(result.began_s - began_s, 1)}],
    }


def document(cluster: Cluster, recorder: Recorder, name: str, began_s: float) -> dict[str, Any]:
    """What was recorded, with times since the recording's begin."""
    if not recorder.readings:
        raise HarnessError(f'nothing was read: {recorder.complaints}')
    return {
        'format': FORMAT,
        'name': name,
        'release': cluster.release.name,
        'date': datetime.fromtimestamp(began_s, timezone.utc).strftime('%Y-%m-%d'),
        'counters': recorder.counters,
        'readings': [
            {**reading, 'time_s': round(reading['time_s'] - began_s, 2)}
            for reading in recorder.readings
        ],
    }


def save(document: Mapping[str, Any], path: Path) -> None:
    """Write a recording, all of it or nothing."""
    text = json.dumps(document, separators=(',', ':')) + '\n'
    new = path.with_name(f'{path.name}.new')
    new.write_bytes(lzma.compress(text.encode(), preset=9))
    new.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='qa/record', description='Record what OSDs count while a real client runs.'
    )
    parser.add_argument('name', choices=tuple(WORKLOADS), metavar='|'.join(WORKLOADS))
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--around', type=float, default=35.0, help='seconds before and after')
    parser.add_argument('--label', action='append', default=[], help='a class that is right')
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument('--out', type=Path, required=True, help='a file, NAME.json.xz')
    arguments = parser.parse_args()

    def work() -> int:
        cluster = Cluster.open(arguments.dir)
        recorded = record(
            cluster, arguments.name, arguments.seconds, arguments.around, arguments.label
        )
        save(recorded, arguments.out)
        return 0

    return run_endable('qa/record', work)

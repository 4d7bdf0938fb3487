"""Recordings of what the module sees while real clients run, for its tests and its evaluation.

A run is a sequence of steps, each with its true workload. The format of a recording is
described beside the recordings (tests/workload/data/README.md of the module).
"""

from __future__ import annotations

import argparse
import json
import lzma
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from rocksdb_tuner.observe.sample import details_for, names_for

from .cli import run_main
from .client import wait_until
from .cluster import Cluster
from .errors import HarnessError
from .host import in_parallel
from .workloads import WORKLOADS, WorkloadResult, run_workload
from .workloads.python_client import CLIENTS, PYTHON

FORMAT = 2
#: As often as OSDs send their counters to the manager.
REPORT_PERIOD_S = 5.0
RECORDER_TIMEOUT_S = 3600.0
STOP_FILE = 'stop-recording'
CLEAN_TIMEOUT_S = 240.0
RECOVERY_SLEEPS = ('osd_recovery_sleep_hdd', 'osd_recovery_sleep_ssd')
#: When in a step something happens that is to happen in its middle.
MIDDLE = 0.5
LOAD_COMMANDS = (
    ('pg', 'dump'),
    ('osd', 'df', 'tree'),
    ('df', 'detail'),
    ('osd', 'perf'),
    ('health', 'detail'),
    ('rocksdb-tuner', 'osd'),
)


@dataclass(frozen=True)
class Client:
    """A workload of qa/workload with what differs from its defaults."""

    name: str
    parameters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What goes on for so many seconds.

    `labels` are the classes that are right, the first of them the one that is meant; none: nothing
    is claimed of this time. With clients, they hold while all of them are at work.
    """

    what: str
    seconds: float
    labels: tuple[str, ...] = ()
    clients: tuple[Client, ...] = ()
    begin: tuple[str, ...] = ()
    """The action at its start: 'out N', 'in N', 'stop N', 'start N', 'scrub', 'deep-scrub'."""
    middle: tuple[str, ...] = ()
    """The same, in its middle; also 'restart N'."""
    until_clean: bool = False
    """It ends when all PGs are active and clean; after `seconds` recovery stops pausing."""
    loaded_manager: bool = False
    """All the while commands are sent to the manager, one after the other."""


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


class _Play:
    """Executes steps and records their times."""

    def __init__(self, cluster: Cluster, began_s: float) -> None:
        self._cluster = cluster
        self._started_s = began_s
        self.spans: list[Span] = []
        self.results: list[WorkloadResult] = []

    def step(self, step: Step) -> None:
        self._cluster.progress.say(f'{step.what}: {step.seconds:g} s')
        stop = threading.Event()
        begin_s = time.time()
        with ThreadPoolExecutor(max_workers=2) as beside:
            futures = []
            try:
                if step.loaded_manager:
                    futures.append(beside.submit(self._load_manager, stop))
                for action in step.begin:
                    self._do(action)
                if step.middle:
                    futures.append(beside.submit(self._in_the_middle, step, stop))
                begin_s, end_s = self._work(step, begin_s)
            finally:
                stop.set()
            for future in futures:
                future.result()
        if step.labels:
            self.spans.append(
                Span(
                    step.what,
                    step.labels,
                    round(begin_s - self._started_s, 1),
                    round(end_s - self._started_s, 1),
                )
            )

    def _work(self, step: Step, begin_s: float) -> tuple[float, float]:
        """Returns from when to when the labels hold."""
        if step.clients:
            results = self._clients(step)
            return (
                max(r.began_s for r in results),
                min(r.began_s + r.seconds for r in results),
            )
        if step.until_clean:
            self._wait_until_clean(step.seconds)
        else:
            time.sleep(max(0.0, begin_s + step.seconds - time.time()))
        return begin_s, time.time()

    def _clients(self, step: Step) -> list[WorkloadResult]:
        results: list[WorkloadResult] = []
        in_parallel(
            self._cluster.host,
            [
                lambda client=client: results.append(  # type: ignore[misc]
                    run_workload(self._cluster, client.name, step.seconds, **client.parameters)
                )
                for client in step.clients
            ],
        )
        for result in results:
            if not result.ok:
                raise HarnessError(f'{result.workload} failed: {result.error_messages}')
        self.results += results
        return results

    def _in_the_middle(self, step: Step, stop: threading.Event) -> None:
        if not stop.wait(step.seconds * MIDDLE):
            for action in step.middle:
                self._do(action)

    def _load_manager(self, stop: threading.Event) -> None:
        while not stop.is_set():
            for command in LOAD_COMMANDS:
                self._cluster.ceph(*command)
                if stop.is_set():
                    return

    def _do(self, action: str) -> None:
        verb, _, number = action.partition(' ')
        if verb in ('out', 'in'):
            self._cluster.ceph('osd', verb, number)
        elif verb == 'stop':
            self._cluster.stop_daemon(f'osd.{number}')
        elif verb == 'start':
            self._cluster.start_daemon(f'osd.{number}')
        elif verb == 'restart':
            self._cluster.restart_osd(int(number))
        elif verb in ('scrub', 'deep-scrub'):
            self._cluster.ceph('osd', verb, 'all')
        else:
            raise HarnessError(f'a step cannot do {action!r}')

    def _wait_until_clean(self, seconds: float) -> None:
        # The change has to reach the PGs first
        time.sleep(REPORT_PERIOD_S)

        clean = self._cluster.pgs_are_clean
        try:
            wait_until(clean, seconds, 'all PGs are clean', poll_s=1.0)
        except HarnessError:
            for option in RECOVERY_SLEEPS:
                self._cluster.ceph('tell', 'osd.*', 'config', 'set', option, '0')
            wait_until(clean, CLEAN_TIMEOUT_S, 'all PGs are clean', poll_s=1.0)


def record(cluster: Cluster, name: str, steps: Sequence[Step]) -> dict[str, Any]:
    """The module's samples while the steps are executed."""
    with Recorder(cluster) as recorder:
        began_s = time.time()
        play = _Play(cluster, began_s)
        for step in steps:
            play.step(step)
    if not recorder.readings:
        raise HarnessError(f'nothing was read: {recorder.complaints}')
    return {
        'format': FORMAT,
        'name': name,
        'release': cluster.release.name,
        'date': datetime.fromtimestamp(began_s, timezone.utc).strftime('%Y-%m-%d'),
        'cluster': {
            'osds': cluster.record.spec.osds,
            'pool_size': cluster.record.spec.replicas,
            'db_size_bytes': cluster.record.spec.db_size_bytes,
            'osd_conf': dict(cluster.record.spec.osd_conf),
        },
        'spans': [asdict(span) for span in play.spans],
        'clients': [_client(result, began_s) for result in play.results],
        'counters': recorder.counters,
        'readings': [relative(reading, began_s) for reading in recorder.readings],
    }


def _client(result: WorkloadResult, began_s: float) -> dict[str, Any]:
    return {**asdict(result), 'began_s': round(result.began_s - began_s, 1)}


def relative(reading: Mapping[str, Any], began_s: float) -> dict[str, Any]:
    return {**reading, 'time_s': round(reading['time_s'] - began_s, 2)}


def save(document: Mapping[str, Any], path: Path) -> None:
    """Write a recording, all of it or nothing."""
    text = json.dumps(document, separators=(',', ':')) + '\n'
    new = path.with_name(f'{path.name}.new')
    new.write_bytes(lzma.compress(text.encode(), preset=9))
    new.replace(path)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='qa/record', description='Record what OSDs count while a real client runs.'
    )
    parser.add_argument('name', choices=tuple(WORKLOADS), metavar='|'.join(WORKLOADS))
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--around', type=float, default=35.0, help='seconds before and after')
    parser.add_argument('--label', action='append', default=[], help='a class that is right')
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument('--out', type=Path, required=True, help='a file, NAME.json.xz')
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parse(argv)

    def work() -> int:
        cluster = Cluster.open(arguments.dir)
        around = Step('nobody', arguments.around, ('idle',))
        client = Step(
            arguments.name, arguments.seconds, tuple(arguments.label), (Client(arguments.name),)
        )
        save(record(cluster, arguments.name, (around, client, around)), arguments.out)
        return 0

    return run_main('qa/record', work)

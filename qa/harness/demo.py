"""Measure, classify, recommend, apply, verify: on a real cluster, with real clients.

Exits with 0 only if every step did what it claims: the workloads were recognized, the change was
applied, every OSD runs the new value in a new process, and no client had an error. If the module
reports that nothing can be gained, with a reason, nothing is applied.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cluster import Cluster
from .demo_table import Measured, table
from .ending import interruptible
from .errors import HarnessError
from .layout import DEFAULT_MEMORY, ClusterSpec
from .progress import Progress

QA = Path(__file__).resolve().parent.parent
OPTION = 'bluestore_rocksdb_options'
#: The first windows of a workload still hold the time before it.
WORKLOAD_S = 60
ROLLOUT_TIMEOUT_S = 900.0
POLL_S = 5.0


@dataclass(frozen=True)
class Job:
    """A real client, and the workload that the module should recognize while it runs."""

    title: str
    name: str
    expected: str


JOBS = (
    Job('RBD: fio with librbd, 4 KiB random writes, verified', 'rbd-randwrite', 'rbd-small-write'),
    Job('S3: boto3 against radosgw, small objects', 's3-put', 'rgw-metadata'),
)


class DemoError(Exception):
    """A step of the demonstration did not do what it should."""


class Demo:
    def __init__(self, cluster: Cluster, progress: Progress, seconds: int) -> None:
        self.cluster = cluster
        self.progress = progress
        self.seconds = seconds

    def run(self) -> str:
        """The result, in a sentence."""
        before = {job.name: self._measure(job) for job in JOBS}
        recommendation = self._recommend()
        if recommendation is None:
            _raise_for_errors(before.values())
            return 'measured, recognized, and nothing to gain: see the reasons above.'
        self._apply(recommendation)
        self._verify(recommendation)
        after = {job.name: self._measure(job, show=False) for job in JOBS}
        for job in JOBS:
            self._compare(job, before[job.name], after[job.name])
        self._print(self._tuner('history'))
        _raise_for_errors((*before.values(), *after.values()))
        return 'measured, recognized, recommended, applied, verified.'

    # -- steps

    def _measure(self, job: Job, *, show: bool = True) -> Measured:
        self._heading(job.title)
        command = ['/usr/bin/python3', str(QA / 'workload'), job.name]
        command += ['--seconds', str(self.seconds), '--dir', str(self.cluster.dir)]
        best: Measured | None = None
        with self.progress.step(f'run {job.name} for {self.seconds} s'):
            client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                while client.poll() is None:
                    time.sleep(POLL_S)
                    best = self._look(job, best)
                output, _ = client.communicate()
            finally:
                if client.poll() is None:
                    client.terminate()
                    client.wait(30)
        if client.returncode != 0:
            raise DemoError(f'qa/workload {job.name} ended with status {client.returncode}')
        if best is None or best.recognized != job.expected:
            raise DemoError(
                f'{job.name} should be recognized as {job.expected}, and was seen as '
                f'{best.recognized if best else None}'
            )
        if show:
            self._print(self._tuner('osd'))
            self._print(self._tuner('recommend'))
        return Measured(json.loads(output), best.osds, best.recognized, best.confidence)

    def _look(self, job: Job, best: Measured | None) -> Measured | None:
        """Show the current answers of the module; keep those under the expected workload."""
        group = self._tuner_json('workload')['groups'][0]
        found = group['workload'] or {'class': None, 'confidence': None}
        osds = tuple(self._tuner_json('osd'))
        busy = [o['kv_sync_busy'] for o in osds if o['kv_sync_busy'] is not None]
        self.progress.say(
            f'  recognized: {found["class"]} (confidence {found["confidence"]}), kv_sync busy '
            f'{max(busy) if busy else None}'
        )
        if found['class'] != job.expected:
            return best
        if best is None:
            self._print(self._tuner('workload'))
        if best is not None and (best.confidence or 0) > found['confidence']:
            return best
        return Measured({}, osds, found['class'], found['confidence'])

    def _recommend(self) -> dict[str, Any] | None:
        self._heading('What is recommended, why, and the exact commands')
        recommendations = self._tuner_json('recommend')
        if not recommendations:
            self._explain_no_change()
            return None
        recommendation: dict[str, Any] = recommendations[0]
        self._print(self._tuner('show', recommendation['id']))
        return recommendation

    def _explain_no_change(self) -> None:
        """No change is an answer, but not without a reason."""
        for group in self._tuner_json('status')['groups']:
            if not group['conclusion']:
                raise DemoError(f'nothing is recommended for {group["who"]}, without a reason')
            self._print(f'{group["who"]}: {group["conclusion"]}')

    def _apply(self, recommendation: dict[str, Any]) -> None:
        self._heading(f'Apply {recommendation["id"]}, one OSD at a time')
        # A verdict takes clients and a quarter of an hour; here before and after are compared.
        self.cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/soak_max', '0')
        self._print(self._tuner('apply', recommendation['id']))
        deadline_s = time.monotonic() + ROLLOUT_TIMEOUT_S
        last = None
        with self.progress.step('roll out'):
            while time.monotonic() < deadline_s:
                state = self._tuner_json('rollout', 'status')
                batches = ', '.join(f'{b["osds"]} {b["phase"]}' for b in state['batches'])
                line = f'{state["phase"]}: {batches}'
                if state['paused_reason']:
                    line += f' ({state["paused_reason"]})'
                if line != last:
                    self.progress.say(f'  {line}')
                    last = line
                if state['phase'] in ('done', 'failed', 'rolled-back'):
                    break
                time.sleep(1)
        self._print(self._tuner('rollout', 'status'))
        if state['phase'] != 'done':
            raise DemoError(f'the rollout ended as {state["phase"]}')

    def _verify(self, recommendation: dict[str, Any]) -> None:
        self._heading('Verify on every OSD that the new value is the running one')
        wanted = recommendation['options_to']
        for osd in self._tuner_json('osd'):
            name = f'osd.{osd["osd"]}'
            shown = self.cluster.ceph_json('config', 'show', name)
            entry = next((e for e in shown if e['name'] == OPTION), None)
            if entry is None or entry['value'] != wanted or entry['source'] != 'mon':
                raise DemoError(f'{name} does not run the new value: {entry}')
            log = self.cluster.host.outside(self.cluster.layout.log(name)).read_text(
                'utf-8', 'replace'
            )
            opened = [line for line in log.splitlines() if 'opened rocksdb path db options' in line]
            if not opened or wanted not in opened[-1]:
                raise DemoError(f'the log of {name} does not show that RocksDB was opened with it')
            self._print(
                f'{name}: runs it (source: config store), confirmed by its log:\n  {opened[-1]}'
            )
        own = [e for e in self.cluster.ceph_json('config', 'dump') if e['name'] == OPTION]
        self._print(f'In the config store: {[(e["section"], e["mask"]) for e in own]}')
        if [(e['section'], e['mask']) for e in own] != [('osd', '')]:
            raise DemoError('the config store does not hold exactly one entry, for all OSDs')

    def _compare(self, job: Job, before: Measured, after: Measured) -> None:
        self._heading(f'Before and after: {job.title}')
        print(table(before, after))
        print(
            'One short run on shared cores shows that it works, not what it gains: see the '
            'published evidence in "profile show".',
            flush=True,
        )

    # -- helpers

    def _tuner(self, *words: str) -> str:
        return self.cluster.ceph('rocksdb-tuner', *words)

    def _tuner_json(self, *words: str) -> Any:
        return self.cluster.ceph_json('rocksdb-tuner', *words)

    def _heading(self, text: str) -> None:
        print(f'\n== {text}\n', flush=True)

    def _print(self, text: str) -> None:
        print(text.rstrip(), flush=True)


def _raise_for_errors(runs: Iterable[Measured]) -> None:
    for measured in runs:
        errors = measured.client.get('errors')
        if errors:
            raise DemoError(f'the client {measured.client["workload"]} saw {errors} errors')


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='qa/demo', description=__doc__.splitlines()[0])
    parser.add_argument('--keep', action='store_true', help='leave the cluster up')
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument(
        '--seconds', type=int, default=WORKLOAD_S, help='length of each of the four runs'
    )
    arguments = parser.parse_args(argv)
    progress = Progress()
    cluster: Cluster | None = None
    try:
        with interruptible():
            spec = ClusterSpec(osds=3, mgrs=2, rgw=True, osd_conf=DEFAULT_MEMORY)
            cluster = Cluster.up(spec, arguments.dir, progress)
            shown = Demo(cluster, progress, arguments.seconds).run()
    except (DemoError, HarnessError) as error:
        print(f'\nFAILED: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    else:
        print(f'\nDone: {shown}')
        return 0
    finally:
        if cluster is not None:
            if arguments.keep:
                print(
                    f'The cluster is up. Reach it with\n'
                    f'  qa/cluster exec --dir {cluster.dir} -- ceph rocksdb-tuner status\n'
                    f'and end it with\n  qa/cluster down --dir {cluster.dir}'
                )
            else:
                cluster.down()

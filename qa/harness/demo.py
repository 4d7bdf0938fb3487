"""Measure, classify, recommend, apply, verify: on a real cluster, with real clients.

The first act tunes OSDs that run their release's default. The second one finds and replaces a stale
option string (demo_stale.py).

Exits with 0 only if every step did what it claims: the workloads were recognized, the changes were
applied, every OSD runs the new value in a new process, no client had an error, the first change is
good by its own measurement, and the module measured what the second one saves. If the module
reports in the first act that nothing can be gained, with a reason, nothing is applied there. A
change without a measurable gain is rolled back, and fails the demo if anything got worse.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cluster import Cluster
from .demo_console import Console, DemoError
from .demo_counting import compacted_space, counted
from .demo_stale import StaleString
from .demo_table import (
    DbSpace,
    Load,
    Measured,
    Outcome,
    client_table,
    counted_table,
    judge,
    space_row,
)
from .ending import interruptible
from .errors import HarnessError
from .layout import DEFAULT_MEMORY, ClusterSpec
from .progress import Progress

QA = Path(__file__).resolve().parent.parent
#: The first windows of a workload still hold the time before it.
WORKLOAD_S = 60
POLL_S = 5.0
#: For how long "Wait" is taken at its word.
ADVICE_TIMEOUT_S = 120.0


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


class Demo:
    def __init__(self, cluster: Cluster, progress: Progress, seconds: int) -> None:
        self.cluster = cluster
        self.progress = progress
        self.seconds = seconds
        self._console = Console(cluster, progress)

    def run(self) -> str:
        """The result, in a sentence."""
        before = {job.name: self._measure(job) for job in JOBS}
        recommendation = self._recommend()
        if recommendation is None:
            _raise_for_errors(before.values())
            return 'measured, recognized, and nothing to gain: see the reasons above.'
        space_before = self._space()
        self._console.apply(recommendation)
        self._console.verify(recommendation)
        after = {job.name: self._measure(job, show=False) for job in JOBS}
        for job in JOBS:
            self._compare(job, before[job.name], after[job.name])
        outcome = self._judge(space_before, before, after)
        if outcome is not Outcome.BETTER:
            self._console.roll_back()
        self._console.show(self._console.tuner('history'))
        _raise_for_errors((*before.values(), *after.values()))
        if outcome is Outcome.WORSE:
            raise DemoError('the change made something worse, and was rolled back')
        if outcome is Outcome.SAME:
            return 'measured, recognized, applied, and rolled back: no gain could be measured.'
        return 'measured, recognized, recommended, applied, verified, and better by measurement.'

    # -- steps

    def _measure(self, job: Job, *, show: bool = True) -> Measured:
        self._console.heading(job.title)
        command = ['/usr/bin/python3', str(QA / 'workload'), job.name]
        command += ['--seconds', str(self.seconds), '--dir', str(self.cluster.dir)]
        best: Measured | None = None
        began = counted(self.cluster)
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
            self._console.show(self._console.tuner('osd'))
            self._console.show(self._console.tuner('recommend'))
        result = json.loads(output)
        load = Load(result['ops'], counted(self.cluster).since(began))
        return Measured(result, best.recognized, best.confidence, load)

    def _look(self, job: Job, best: Measured | None) -> Measured | None:
        """Show the current answers of the module; keep those under the expected workload."""
        group = self._console.tuner_json('workload')['groups'][0]
        found = group['workload'] or {'class': None, 'confidence': None}
        osds = self._console.tuner_json('osd')
        busy = [o['kv_sync_busy'] for o in osds if o['kv_sync_busy'] is not None]
        self.progress.say(
            f'  recognized: {found["class"]} (confidence {found["confidence"]}), kv_sync busy '
            f'{max(busy) if busy else None}'
        )
        if found['class'] != job.expected:
            return best
        if best is None:
            self._console.show(self._console.tuner('workload'))
        if best is not None and (best.confidence or 0) > found['confidence']:
            return best
        return Measured({}, found['class'], found['confidence'])

    def _recommend(self) -> dict[str, Any] | None:
        self._console.heading('What is recommended, why, and the exact commands')
        deadline_s = time.monotonic() + ADVICE_TIMEOUT_S
        while not (recommendations := self._console.tuner_json('recommend')):
            # As an operator would: "Wait: the figures of the candidates still change"
            decisions = self._console.tuner_json('status')['decisions']
            waits = any(decision['do'].startswith('Wait') for decision in decisions)
            if not waits or time.monotonic() > deadline_s:
                self._explain_no_change()
                return None
            time.sleep(POLL_S)
        recommendation: dict[str, Any] = recommendations[0]
        self._console.show(self._console.tuner('recommend', recommendation['id']))
        return recommendation

    def _explain_no_change(self) -> None:
        """No change is an answer, but not without a reason."""
        for decision in self._console.tuner_json('status')['decisions']:
            if not decision['because']:
                raise DemoError(f'nothing is recommended for {decision["who"]}, without a reason')
            self._console.show(f'{decision["who"]}: {decision["do"]}: {decision["because"]}')

    def _space(self) -> DbSpace:
        with self.progress.step('compact all OSDs, to compare their DB space'):
            return compacted_space(self.cluster)

    def _compare(self, job: Job, before: Measured, after: Measured) -> None:
        self._console.heading(f'Before and after: {job.title}')
        print(client_table(before, after))
        if before.load and after.load:
            print('Of all OSDs, per request:')
            print(counted_table(before.load, after.load))
        print("The client's times are those of one short run on shared cores.", flush=True)

    def _judge(
        self, space: DbSpace, before: Mapping[str, Measured], after: Mapping[str, Measured]
    ) -> Outcome:
        now = self._space()
        self._console.heading('Before and after: DB space, compacted')
        print(space_row(space, now), flush=True)
        pairs = [(before[job.name].load, after[job.name].load) for job in JOBS]
        return judge((space, now), [(old, new) for old, new in pairs if old and new])


def _raise_for_errors(runs: Iterable[Measured]) -> None:
    for measured in runs:
        errors = measured.client.get('errors')
        if errors:
            raise DemoError(f'the client {measured.client["workload"]} saw {errors} errors')


def run_acts(cluster: Cluster, progress: Progress, seconds: int, act: int | None) -> list[str]:
    """Both acts, or only ``act``: the result of each, in a sentence."""
    console = Console(cluster, progress)
    # Here before and after are compared; the second act has a soak.
    console.set_soak(0)
    acts = {1: Demo(cluster, progress, seconds).run, 2: StaleString(console).run}
    return [run() for number, run in acts.items() if act in (None, number)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='qa/demo', description=__doc__.splitlines()[0])
    parser.add_argument('--keep', action='store_true', help='leave the cluster up')
    parser.add_argument('--dir', type=Path, help='folder of the cluster')
    parser.add_argument(
        '--seconds', type=int, default=WORKLOAD_S, help='length of each run of a client'
    )
    parser.add_argument('--act', type=int, choices=(1, 2), help='only this act')
    arguments = parser.parse_args(argv)
    progress = Progress()
    cluster: Cluster | None = None
    try:
        with interruptible():
            spec = ClusterSpec(osds=3, mgrs=2, rgw=True, osd_conf=DEFAULT_MEMORY)
            cluster = Cluster.up(spec, arguments.dir, progress)
            shown = run_acts(cluster, progress, arguments.seconds, arguments.act)
    except (DemoError, HarnessError) as error:
        print(f'\nFAILED: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\ninterrupted', file=sys.stderr)
        return 130
    else:
        print('\nDone:', *shown, sep='\n  ')
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

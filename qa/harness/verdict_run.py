"""A real cluster under a steady client while nothing, something worse, or a rollout happens to it.

What the OSDs counted is recorded with what was true at the time, so that the verdict can be held
against it (qa/bench/bench_verdict_real.py).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

from .cluster import Cluster
from .errors import HarnessError
from .record import FORMAT, Recorder, relative
from .services import make_pools
from .workloads.rbd import POOL, Fio, new_image

IMAGE = 'qa-verdict'
IMAGE_BYTES = 4 << 30
#: More than there are OSDs by far, so that each is the primary of several.
PG_NUM = 128
#: So long the client may take to begin and to end.
AROUND_S = 120.0
POLL_S = 5.0
#: Kinds of recommendations that a rollout carries out.
CARRIED_OUT = ('set-profile', 'remove-override')
FINAL = ('done', 'failed', 'rolled-back')


@dataclass(frozen=True)
class Pauses:
    """A process is stopped for `stopped_ms` of each `period_ms`."""

    stopped_ms: float
    period_ms: float

    def __post_init__(self) -> None:
        if not 0 < self.stopped_ms < self.period_ms:
            raise ValueError(f'{self.stopped_ms:g} ms of {self.period_ms:g} ms cannot be')


@dataclass(frozen=True)
class Phase:
    """So many seconds in which nothing changes but that these OSDs are slowed down.

    With `rollout`, the first recommendation of the module is carried out instead, for at most so
    long.
    """

    seconds: float
    slowed: Mapping[int, Pauses] = field(default_factory=dict)
    rollout: bool = False


def parse_phase(text: str) -> Phase:
    """'900', '330:0=10/60,4=20/60' (osd.0 is stopped for 10 ms of each 60) or '1800:rollout'."""
    seconds, _, what = text.partition(':')
    try:
        if what == 'rollout':
            return Phase(float(seconds), rollout=True)
        slowed = {}
        for part in filter(None, what.split(',')):
            osd, _, pauses = part.partition('=')
            stopped_ms, _, period_ms = pauses.partition('/')
            slowed[int(osd)] = Pauses(float(stopped_ms), float(period_ms))
        return Phase(float(seconds), slowed)
    except ValueError as error:
        raise HarnessError(f'{text!r} is no phase such as "900" or "330:0=10/60"') from error


class SlowedDown:
    """Processes that are stopped again and again while this is entered."""

    def __init__(self, cluster: Cluster, slowed: Mapping[int, Pauses]) -> None:
        status = cluster.status()
        self._end = threading.Event()
        self._threads = []
        for osd, pauses in slowed.items():
            pid = status.pid(f'osd.{osd}')
            if pid is None:
                raise HarnessError(f'osd.{osd} does not run')
            self._threads.append(threading.Thread(target=self._run, args=(pid, pauses)))

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _run(self, pid: int, pauses: Pauses) -> None:
        runs_s = (pauses.period_ms - pauses.stopped_ms) / 1e3
        while not self._end.is_set():
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(pauses.stopped_ms / 1e3)
            finally:
                os.kill(pid, signal.SIGCONT)
            self._end.wait(runs_s)


@contextmanager
def _client(cluster: Cluster, rate_iops: int, seconds: float) -> Iterator[None]:
    """4 KiB random writes at a pace that the cluster keeps up with, on an image that is full."""
    cluster.install('rbd-client')
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=PG_NUM)
    new_image(cluster, IMAGE, IMAGE_BYTES)
    job = {
        'rw': 'randwrite',
        'bs': '4096',
        'iodepth': '16',
        'norandommap': '1',
        'time_based': '1',
        'runtime': f'{seconds:g}',
        'size': str(IMAGE_BYTES),
        'rate_iops': str(rate_iops),
    }
    with ThreadPoolExecutor(max_workers=1) as beside:
        fio = Fio(cluster, IMAGE)
        done = beside.submit(fio.run, 'verdict', job, seconds + AROUND_S, 'write')
        try:
            yield
        finally:
            if not done.done():
                cluster.progress.say('wait for the client to end')
            run, messages = done.result()
    if run.error:
        raise HarnessError(f'the client failed: {messages}')


def run(
    cluster: Cluster, phases: Sequence[Phase], rate_iops: int, settle_s: float
) -> dict[str, Any]:
    """A recording (format 2) in whose spans it stands which OSDs were slowed down, and how."""
    spans: list[dict[str, Any]] = []
    rollouts: list[dict[str, Any]] = []
    seconds = settle_s + sum(phase.seconds for phase in phases)
    with _client(cluster, rate_iops, seconds + AROUND_S / 2):
        cluster.progress.say(f'let the cluster settle: {settle_s:g} s')
        time.sleep(settle_s)
        with Recorder(cluster) as recorder:
            began_s = time.time()
            for phase in phases:
                cluster.progress.say(f'{phase}')
                begin_s = time.time()
                if phase.rollout:
                    try:
                        rollouts.append(_rollout(cluster, phase.seconds))
                    except HarnessError as error:
                        # What was recorded until now is kept
                        rollouts.append({'error': str(error)})
                else:
                    with SlowedDown(cluster, phase.slowed):
                        time.sleep(phase.seconds)
                spans.append(
                    {
                        'what': 'rollout' if phase.rollout else 'steady',
                        'labels': [],
                        'slowed': {str(n): asdict(p) for n, p in phase.slowed.items()},
                        'begin_s': round(begin_s - began_s, 1),
                        'end_s': round(time.time() - began_s, 1),
                    }
                )
    if not recorder.readings:
        raise HarnessError(f'nothing was read: {recorder.complaints}')
    return {
        'format': FORMAT,
        'name': 'verdict',
        'part': 'verdict',
        'release': cluster.release.name,
        'date': datetime.fromtimestamp(began_s, timezone.utc).strftime('%Y-%m-%d'),
        'cluster': asdict(cluster.record.spec),
        'rate_iops': rate_iops,
        'spans': spans,
        'rollouts': rollouts,
        'counters': recorder.counters,
        'readings': [relative(reading, began_s) for reading in recorder.readings],
    }


def _rollout(cluster: Cluster, seconds: float) -> dict[str, Any]:
    """Carry out the first recommendation of the module; returns its last status, with the phases.

    The workload has to be recognised first, so this begins once there is a recommendation.
    """
    until_s = time.monotonic() + seconds
    found: list[dict[str, Any]] = []
    while not found:
        if time.monotonic() > until_s:
            raise HarnessError('the module recommends nothing')
        time.sleep(POLL_S)
        listed = cluster.ceph_json('rocksdb-tuner', 'recommend')
        found = [r for r in listed if r['kind'] in CARRIED_OUT]
    shown = found[0]
    began_s = time.monotonic()
    cluster.ceph('rocksdb-tuner', 'apply', shown['id'])
    phases: list[tuple[float, str]] = []
    state: dict[str, Any] = {}
    while time.monotonic() < until_s and state.get('phase') not in FINAL:
        time.sleep(POLL_S)
        state = cluster.ceph_json('rocksdb-tuner', 'rollout', 'status')
        told = ' '.join(filter(None, [state['phase'], state['paused_reason']]))
        if not phases or phases[-1][1] != told:
            phases.append((round(time.monotonic() - began_s), told))
            cluster.progress.say(f'rollout after {phases[-1][0]} s: {told}')
    return {
        'recommendation': shown['id'],
        'kind': shown['kind'],
        'profile': shown['profile'],
        'lasted_s': round(time.monotonic() - began_s),
        'phases': phases,
        'status': state,
    }

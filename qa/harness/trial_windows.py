"""Windows of time in which a cluster gives independent trials of the verdict.

In each window every OSD has one role. A group is a canary that becomes slower half-way, a canary to
which nothing is done, and two controls that both are compared with. No OSD is in two groups, and
windows share no time. So two trials of one kind never have an OSD and a time in common. The pool
has one replica: with more, what an OSD counts depends on the others, and a null change of a peer of
a slow OSD is none.

How much longer syncs must take for a write to take `TARGET` longer depends on the machine, so it is
calibrated before each recording, on times that no trial uses.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rocksdb_tuner.observe.sample import names_for

from . import admin_socket
from .client import wait_until
from .cluster import Cluster
from .errors import HarnessError
from .record import Recorder, document
from .services import make_pools
from .slow_sync import slow_down
from .workloads.rbd import POOL, Fio, new_image

#: The roles, in the order in which an OSD has them from window to window.
ROLES = ('slower', 'control', 'control', 'unchanged')
#: Between a true 20 and 25%, as long as it is hit by a tenth of it.
TARGET = 0.225
#: Tried first, in percent of a sync.
FIRST_PERCENT = 30.0
TRIED_S = 120.0
#: Percent of a sync; beyond them the trial was disturbed.
LEAST_PERCENT, MOST_PERCENT = 20.0, 100.0
#: So many that each OSD gets about as many writes as any other.
PGS_PER_OSD = 32
#: 2048 objects, for the same reason.
IMAGE, IMAGE_BYTES = 'qa-verdict', 8 << 30
#: What a window may take beyond its phases: the recording is ended and compressed.
BESIDE_S = 60.0
#: So long the client may take to begin and to end.
AROUND_S = 120.0
#: Thousands of new placement groups, on two cores.
CLEAN_TIMEOUT_S = 900.0
#: The parts of a reading that list the OSDs.
MAPS = ('osds', 'pools', 'cephfs_metadata')


@dataclass(frozen=True)
class Group:
    """OSDs of two trials, one of each kind."""

    slower: int
    unchanged: int
    controls: tuple[int, ...]


@dataclass(frozen=True)
class TrialWindow:
    """Everything about a window that is fixed before it is recorded."""

    number: int
    groups: tuple[Group, ...]
    #: soak_min and soak_max of its trials.
    soak_s: tuple[float, float]
    calm_s: float
    slow_s: float


def draw(osds: int, window: int) -> tuple[Group, ...]:
    """The groups of a window, whose number is the seed; OSDs beyond a multiple of four have none.

    An OSD is a canary of one kind in every fourth window, and a control in the two windows after it
    was slow. Lots decide which OSDs form a group.
    """
    of_role: dict[int, list[int]] = {role: [] for role in range(len(ROLES))}
    for n in range(osds - osds % len(ROLES)):
        of_role[(n + window) % len(ROLES)].append(n)
    lots = random.Random(window)
    for members in of_role.values():
        lots.shuffle(members)
    return tuple(
        Group(slower, unchanged, (first, second))
        for slower, first, second, unchanged in zip(*of_role.values())
    )


def record(
    cluster: Cluster, window: TrialWindow, rate_iops: int, settle_s: float
) -> dict[str, Any]:
    """A recording of a window under one steady client, with its trials."""
    # It would move PGs for as long as it takes
    cluster.ceph('balancer', 'off')
    seconds = settle_s + 2 * TRIED_S + window.calm_s + window.slow_s + BESIDE_S + AROUND_S / 2
    with _steady_client(cluster, rate_iops, seconds) as client:
        cluster.progress.say(f'let the cluster settle: {settle_s:g} s')
        time.sleep(settle_s)
        slower = [group.slower for group in window.groups]
        try:
            slowed = dict.fromkeys(slower, _calibrated(cluster, slower))
            document = _recorded(cluster, ((window.calm_s, {}), (window.slow_s, slowed)))
        finally:
            slow_down(cluster.dir, {})
        if client.done():
            raise HarnessError('the client ended before the window did')
    return {**document, 'rate_iops': rate_iops, 'trials': asdict(window)}


@contextmanager
def _steady_client(cluster: Cluster, rate_iops: int, seconds: float) -> Iterator[Future[Any]]:
    """4 KiB random writes at a pace that the cluster keeps up with, on an image that fills."""
    cluster.install('rbd-client')
    # The next power of two: PGs of other numbers differ in size by a factor of two
    pg_num = 1 << (PGS_PER_OSD * cluster.record.spec.osds - 1).bit_length()
    # A pool with more is made smaller and split under the client
    cluster.ceph('config', 'set', 'mon', 'mon_osd_max_initial_pgs', str(pg_num))
    make_pools(cluster.client, cluster.record.spec, (POOL,), 'rbd', pg_num=pg_num)
    wait_until(cluster.pgs_are_clean, CLEAN_TIMEOUT_S, f'{pg_num} placement groups are clean')
    new_image(cluster, IMAGE, IMAGE_BYTES)
    job = {
        'rw': 'randwrite', 'bs': '4096', 'iodepth': '16', 'norandommap': '1', 'time_based': '1',
        'runtime': f'{seconds:g}', 'size': str(IMAGE_BYTES), 'rate_iops': str(rate_iops),
    }  # fmt: skip
    with ThreadPoolExecutor(max_workers=1) as beside:
        fio = Fio(cluster, IMAGE)
        done = beside.submit(fio.run, 'verdict', job, seconds + AROUND_S, 'write')
        try:
            yield done
        finally:
            if not done.done():
                cluster.progress.say('wait for the client to end')
            run, messages = done.result()
    if run.error:
        raise HarnessError(f'the client failed: {messages}')


def _recorded(
    cluster: Cluster, phases: Sequence[tuple[float, Mapping[int, float]]]
) -> dict[str, Any]:
    """A recording (format 2) whose spans list which OSDs were slowed down, and how."""
    spans: list[dict[str, Any]] = []
    with Recorder(cluster) as recorder:
        began_s = time.time()
        for seconds, slowed_percent in phases:
            cluster.progress.say(f'{seconds:g} s, slowed down: {slowed_percent}')
            begin_s = time.time()
            slow_down(cluster.dir, slowed_percent)
            time.sleep(seconds)
            spans.append(
                {
                    'what': 'steady',
                    'labels': [],
                    'slowed_percent': dict(slowed_percent),
                    'begin_s': round(begin_s - began_s, 1),
                    'end_s': round(time.time() - began_s, 1),
                    'machine_load': round(os.getloadavg()[1], 1),
                }
            )
    names = tuple(names_for(cluster.release.name))
    recorded = document(cluster, recorder, 'verdict', began_s)
    spec = asdict(cluster.record.spec)
    # The path of the checkout is not recorded
    del spec['module']
    return {
        **recorded,
        'part': 'verdict',
        'cluster': spec,
        'spans': spans,
        'counters': names,
        'readings': [_lean(r, recorder.counters, names) for r in recorded['readings']],
    }


def _lean(
    reading: Mapping[str, Any], counters: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    """What a verdict can be made of: a recording of many OSDs for an hour is kept in the checkout.

    ``counters`` are those that were read, ``names`` those that are kept.
    """
    kept = {name: reading[name] for name in ('time_s', *MAPS) if name in reading}
    places = [counters.index(name) for name in names]
    values = reading.get('counters', {})
    return {**kept, 'counters': {n: [at[i] for i in places] for n, at in values.items()}}


def _calibrated(cluster: Cluster, slowed: Sequence[int]) -> float:
    """How many percent longer syncs must take for writes to take `TARGET` longer."""
    counted = [_sync_times(cluster)]
    for percent in (0.0, FIRST_PERCENT):
        slow_down(cluster.dir, dict.fromkeys(slowed, percent) if percent else {})
        time.sleep(TRIED_S)
        counted.append(_sync_times(cluster))
    slow_down(cluster.dir, {})
    began, middle, ended = counted
    risen = {n: _per_write(middle, ended, n) / _per_write(began, middle, n) for n in began}
    others = median(value for n, value in risen.items() if n not in slowed)
    worsening = median(risen[n] for n in slowed) / others - 1
    percent = FIRST_PERCENT * TARGET / max(worsening, FIRST_PERCENT * TARGET / MOST_PERCENT)
    percent = round(min(max(percent, LEAST_PERCENT), MOST_PERCENT))
    cluster.progress.say(
        f'syncs {FIRST_PERCENT:g}% longer: writes {worsening:+.1%}; from now on {percent:g}%'
    )
    return percent


_SyncTimes = Mapping[int, tuple[float, int]]


def _per_write(begin: _SyncTimes, end: _SyncTimes, osd: int) -> float:
    (sync_s, commits), (later_s, later) = begin[osd], end[osd]
    return (later_s - sync_s) / max(later - commits, 1)


def _sync_times(cluster: Cluster) -> _SyncTimes:
    """Seconds of the kv_sync thread of each OSD, and commits."""
    found = {}
    for n in range(cluster.record.spec.osds):
        dump = admin_socket.ask(admin_socket.osd_socket(cluster, n), 'perf dump')['bluestore']
        commit = dump.get('txc_commit_lat') or dump['commit_lat']
        found[n] = (dump['kv_sync_lat']['sum'], commit['avgcount'])
    return found

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

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, NamedTuple

from . import admin_socket
from .cluster import Cluster
from .errors import HarnessError
from .slow_sync import slow_down
from .verdict_run import AROUND_S, Phase, recorded, steady_client

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
IMAGE_BYTES = 8 << 30
#: What a window may take beyond its phases: the recording is ended and compressed.
BESIDE_S = 60.0


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


class Commits(NamedTuple):
    """The counters of the kv_sync thread of one OSD."""

    sync_s: float
    commits: int


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
    seconds = settle_s + 2 * TRIED_S + window.calm_s + window.slow_s + BESIDE_S
    pgs = pg_num(cluster.record.spec.osds)
    # A pool with more is made smaller and split under the client
    cluster.ceph('config', 'set', 'mon', 'mon_osd_max_initial_pgs', str(pgs))
    longer_s = seconds + AROUND_S / 2
    with steady_client(cluster, rate_iops, longer_s, pgs, IMAGE_BYTES) as client:
        cluster.progress.say(f'let the cluster settle: {settle_s:g} s')
        time.sleep(settle_s)
        slower = [group.slower for group in window.groups]
        try:
            slowed = dict.fromkeys(slower, _calibrated(cluster, slower))
            phases = (Phase(window.calm_s), Phase(window.slow_s, slowed))
            document = recorded(cluster, phases, rate_iops)
        finally:
            slow_down(cluster.dir, {})
        if client.done():
            raise HarnessError('the client ended before the window did')
    return {**document, 'trials': asdict(window)}


def pg_num(osds: int) -> int:
    """The next power of two: PGs of other numbers differ in size by a factor of two."""
    return 1 << (PGS_PER_OSD * osds - 1).bit_length()


def _calibrated(cluster: Cluster, slowed: Sequence[int]) -> float:
    began = _counted(cluster)
    time.sleep(TRIED_S)
    middle = _counted(cluster)
    slow_down(cluster.dir, dict.fromkeys(slowed, FIRST_PERCENT))
    time.sleep(TRIED_S)
    worsening = worsened(began, middle, _counted(cluster), slowed)
    slow_down(cluster.dir, {})
    percent = percent_for(worsening)
    cluster.progress.say(
        f'syncs {FIRST_PERCENT:g}% longer: writes {worsening:+.1%}; from now on {percent:g}%'
    )
    return percent


def worsened(
    began: Mapping[int, Commits],
    middle: Mapping[int, Commits],
    ended: Mapping[int, Commits],
    slowed: Sequence[int],
) -> float:
    """By how much of it the kv_sync time per write of these rose beyond that of the others."""

    def risen(n: int) -> float:
        before_s, after_s = (
            (b.sync_s - a.sync_s) / max(b.commits - a.commits, 1)
            for a, b in ((began[n], middle[n]), (middle[n], ended[n]))
        )
        return after_s / before_s

    ours = median(risen(n) for n in slowed)
    others = median(risen(n) for n in began if n not in slowed)
    return ours / others - 1


def percent_for(worsening: float) -> float:
    """The delay that makes writes slower by `TARGET`, if `FIRST_PERCENT` did by ``worsening``."""
    least = FIRST_PERCENT * TARGET / MOST_PERCENT
    percent = FIRST_PERCENT * TARGET / max(worsening, least)
    return round(min(max(percent, LEAST_PERCENT), MOST_PERCENT))


def _counted(cluster: Cluster) -> dict[int, Commits]:
    found = {}
    for n in range(cluster.record.spec.osds):
        socket = admin_socket.osd_socket(cluster, n)
        dump = admin_socket.ask(socket, 'perf dump')['bluestore']
        sync, commit = dump['kv_sync_lat'], dump.get('txc_commit_lat') or dump['commit_lat']
        found[n] = Commits(sync['sum'], commit['avgcount'])
    return found

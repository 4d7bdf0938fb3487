"""A schedule of slow OSDs, so that one hour of one cluster has many trials of the verdict.

Time is divided into four slots, each as long as a default soak with its surroundings. Two groups of
OSDs alternate: one is slower in the second and fourth slot, the other one from the third slot on,
and each slot is compared with the previous one. All other OSDs are never slower: they are the
controls, and by themselves null changes.

How much longer syncs must take for a write to take `TARGET` longer depends on the machine, so it is
calibrated on the second group early in the first slot, which no trial uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from . import admin_socket
from .cluster import Cluster
from .verdict_run import Phase

#: 600 s before a change; 60 s and 600 s after it; two samples at either end.
SLOT_S = 680.0
SLOTS = 4
SECONDS = SLOTS * SLOT_S
#: Between a true 20 and 25%, as long as it is hit by a tenth of it.
TARGET = 0.225
#: Tried first, in percent of a sync; what was seen on 16.2.15 under 300 writes per second.
FIRST_PERCENT = 45.0
TRIED_S = 170.0
#: Percent of a sync; beyond them the trial was disturbed.
LEAST_PERCENT, MOST_PERCENT = 25.0, 100.0


@dataclass(frozen=True)
class Groups:
    """OSDs that are slower at some times; at all times no others are."""

    first: tuple[int, ...]
    second: tuple[int, ...]


def groups(size: int) -> Groups:
    """The first OSDs, which lie on all hosts in turn."""
    return Groups(tuple(range(size)), tuple(range(size, 2 * size)))


class Commits(NamedTuple):
    """The counters of the kv_sync thread of one OSD."""

    sync_s: float
    commits: int


def phases(cluster: Cluster, slow: Groups) -> Iterator[Phase]:
    """To be gone through as they come: the later ones depend on what was counted meanwhile."""
    first, second = slow.first, slow.second
    began = _counted(cluster)
    yield Phase(TRIED_S)
    slowed = _counted(cluster)
    yield Phase(TRIED_S, dict.fromkeys(second, FIRST_PERCENT))
    worsening = worsened(began, slowed, _counted(cluster), second)
    percent = percent_for(worsening)
    cluster.progress.say(
        f'syncs {FIRST_PERCENT:g}% longer: writes {worsening:+.1%}; from now on {percent:g}%'
    )
    yield Phase(SLOT_S - 2 * TRIED_S)
    for now in (first, second, (*first, *second)):
        yield Phase(SLOT_S, dict.fromkeys(now, percent))


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
        socket = cluster.host.outside(cluster.layout.run_dir / f'osd.{n}.asok')
        dump = admin_socket.ask(socket, 'perf dump')['bluestore']
        sync, commit = dump['kv_sync_lat'], dump.get('txc_commit_lat') or dump['commit_lat']
        found[n] = Commits(sync['sum'], commit['avgcount'])
    return found

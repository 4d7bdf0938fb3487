"""Gates: the conditions for restarting an OSD.

Names of Ceph's health checks and OSD map flags as of 16.2.15, 18.2.7 and 20.2.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from ..mgr.records import ClusterMap, DaemonVersions, OsdInfo, PgSummary
from ..units import format_ids


@dataclass(frozen=True)
class ClusterView:
    """The cluster at one time. What was not queried, or did not answer, is missing."""

    cluster: ClusterMap
    pgs: PgSummary
    #: Codes of the current health checks.
    health: frozenset[str]
    #: Why an OSD may not stop now; None if it may.
    ok_to_stop: Mapping[int, Optional[str]] = field(default_factory=dict)
    #: Running versions by daemon type; None: not queried, or no answer.
    versions: Optional[tuple[DaemonVersions, ...]] = None
    #: Upgrade target of the orchestrator, or why it is unknown; None: no upgrade.
    upgrade: Optional[str] = None
    #: False: changes are disabled by the mode.
    may_act: bool = True
    #: Why the maintenance window or the daily limit keeps another OSD from starting; None if
    #: neither does.
    schedule_reason: Optional[str] = None
    #: Why this manager has no current OSD reports; None while OSDs report to it.
    no_reports_reason: Optional[str] = None
    #: OSDs without a current sample, among those that need one before another OSD starts.
    unsampled: tuple[int, ...] = ()
    #: An OSD joined, left or restarted, and not every OSD has reported its placement groups since.
    osds_moved: bool = False

    def osd(self, osd_id: int) -> Optional[OsdInfo]:
        return self.cluster.by_id.get(osd_id)


class Away(Enum):
    GONE = 'was removed from the cluster'
    DOWN_AND_OUT = 'is down and out'


def absent(seen: ClusterView, osd_id: int) -> Optional[Away]:
    """How an OSD is absent; None if it is present."""
    # An empty map has not been read yet.
    return _away(seen.osd(osd_id)) if seen.cluster.osds else None


def absent_of(cluster: ClusterMap, osd_ids: Iterable[int]) -> tuple[int, ...]:
    """The absent ones among ``osd_ids``."""
    # An empty map has not been read yet.
    if not cluster.osds:
        return ()
    known, out = cluster.by_id, cluster.down_and_out
    return tuple(n for n in osd_ids if n not in known or n in out)


def why_away(osd_id: int, away: Away) -> str:
    return f'osd.{osd_id} {away.value}'


def _away(info: Optional[OsdInfo]) -> Optional[Away]:
    if info is None:
        return Away.GONE
    return Away.DOWN_AND_OUT if not info.up and not info.in_cluster else None


#: Flags that keep the cluster from recovering after a restart.
HOLDING_FLAGS = frozenset(
    {
        'full',
        'nearfull',
        'nobackfill',
        'nodown',
        'noin',
        'noout',
        'norebalance',
        'norecover',
        'noup',
        'pause',
        'pauserd',
        'pausewr',
    }
)

#: Health checks of space, redundancy, quorum, and flags on single OSDs and CRUSH nodes.
HOLDING_HEALTH = frozenset(
    {
        'DAEMON_OLD_VERSION',
        'MON_DOWN',
        'OSDMAP_FULL',
        'OSDMAP_NEARFULL',
        'OSD_BACKFILLFULL',
        'OSD_DOWN',
        'OSD_FLAGS',
        'OSD_FULL',
        'OSD_NEARFULL',
        'PG_AVAILABILITY',
        'PG_BACKFILL_FULL',
        'PG_DAMAGED',
        'PG_DEGRADED',
        'PG_RECOVERY_FULL',
        'POOL_BACKFILLFULL',
        'POOL_FULL',
        'POOL_NEARFULL',
    }
)

#: The gate that needs to watch for some seconds.
REPORTED = 'placement group reports'
NOT_ALLOWED = 'the module mode does not allow changes'

#: A PG in one of these states is busy, in doubt or damaged, even if also active and clean.
_UNSETTLED = frozenset(
    {
        'backfill_toofull',
        'backfill_unfound',
        'backfill_wait',
        'backfilling',
        'degraded',
        'down',
        'forced_backfill',
        'forced_recovery',
        'incomplete',
        'inconsistent',
        'peered',
        'peering',
        'recovering',
        'recovery_toofull',
        'recovery_unfound',
        'recovery_wait',
        'repair',
        'stale',
        'undersized',
        'unknown',
    }
)


#: Different versions among these mean an upgrade that is under way or incomplete.
_UPGRADED_TOGETHER = frozenset({'mon', 'mgr', 'osd'})


#: The gates in words, in the order in which they are checked.
GATES = (
    'the module mode allows changes and the rollout is not paused',
    'the time is within maintenance_days and maintenance_hours, if set',
    'restarts_per_day is not exhausted, if set',
    'OSDs report to this manager',
    'no OSD is down, and the OSD to restart has reported its version',
    'no OSD joined, left or restarted since placement groups were last reported',
    'no flag such as noout or nobackfill is set, neither for the cluster nor for single OSDs',
    'no health check reports missing space, redundancy or quorum (OSD_NEARFULL, MON_DOWN, ...)',
    'all placement groups are active+clean, and none is recovering or damaged',
    'Ceph is not being upgraded, and all daemons run the same version',
    'ok-to-stop agrees',
    'the canary, the OSDs of earlier batches and the controls have current samples',
)


#: Remedies for a gate that stays closed, by the beginning of its reason.
_REMEDIES = (
    (
        r'osd\.(\d+) is down',
        'start it, or, if it will not come back, mark it out: "ceph osd out \\1"',
    ),
    (r'flags set on the cluster', '"ceph osd unset <flag>" once it is no longer needed'),
    (r'cluster health', '"ceph health detail" shows the cause'),
    (r'placement group', '"ceph pg dump_stuck" and "ceph -s" show what blocks them'),
    (r'Ceph is being upgraded', 'finish the upgrade: "ceph orch upgrade status"'),
    (
        r'(daemons run different versions|daemon versions)',
        'finish the upgrade: "ceph versions" shows the running versions',
    ),
    (
        r'(osd\.\d+ is not ok-to-stop|no ok-to-stop answer)',
        '"ceph osd ok-to-stop" shows the affected placement groups',
    ),
    (r'the (version|address) of osd', '"ceph osd metadata" shows what OSDs reported'),
    (
        r'not every OSD has reported',
        '"ceph log last cluster" shows OSDs that flap, "ceph rocksdb-tuner doctor" a silent one',
    ),
)


def remedy_for(reason: str) -> Optional[str]:
    """The remedy for a closed gate; None if there is none."""
    for beginning, remedy in _REMEDIES:
        match = re.match(beginning, reason)
        if match is not None:
            return match.expand(remedy)
    return None


def gate_states(seen: ClusterView, osd_id: int) -> Mapping[str, Optional[str]]:
    """Each gate of an OSD, in order, with the reason why it is closed; None: it is open."""
    return {
        'mode': _mode(seen),
        'OSD reports': seen.no_reports_reason,
        'OSDs up': _osds(seen, osd_id),
        REPORTED: not_yet_reported(seen),
        'flags and health': _held_cluster(seen),
        'placement groups': placement_groups(seen),
        'upgrade': _upgrade(seen),
        'ok-to-stop': _ok_to_stop(seen, osd_id),
    }


def closed_gate(seen: ClusterView, osd_id: int) -> Optional[str]:
    """Why an OSD that is up may not be restarted now; None if it may."""
    return next(filter(None, gate_states(seen, osd_id).values()), None)


def without_samples(seen: ClusterView) -> Optional[str]:
    """Why no further OSD may start for want of samples; None if there are samples.

    OSDs in flight and rollbacks do not wait for them.
    """
    if not seen.unsampled:
        return None
    return (
        f'no current samples of OSD {format_ids(seen.unsampled)}: it continues once they report; '
        '"ceph rocksdb-tuner doctor" shows what is missing'
    )


def not_yet_reported(seen: ClusterView) -> Optional[str]:
    """Why the states of placement groups may be from before OSDs last changed; None if not.

    A joining OSD makes PGs peer and remap at once. The manager sees that with the next report of
    their primaries; until then PGs still appear clean (seen on 16.2.15).
    """
    if not seen.osds_moved:
        return None
    return 'not every OSD has reported its placement groups since OSDs last changed'


def placement_groups(seen: ClusterView) -> Optional[str]:
    """Why not all placement groups are active+clean and idle; None if they are."""
    if seen.pgs.total == 0 and seen.cluster.pools:
        return 'placement group states are not known yet'
    # Without counts: the text would change, and be stored, at every step.
    unsettled = sorted(
        state
        for state, _ in seen.pgs.by_state
        if not {'active', 'clean'} <= set(state.split('+')) or _UNSETTLED & set(state.split('+'))
    )
    if unsettled:
        return f'placement groups are not all active+clean ({", ".join(unsettled[:4])})'
    if seen.pgs.active_clean != seen.pgs.total:
        return 'placement groups are not all active+clean'
    return None


def _mode(seen: ClusterView) -> Optional[str]:
    return None if seen.may_act else NOT_ALLOWED


def _held_cluster(seen: ClusterView) -> Optional[str]:
    flags = sorted(HOLDING_FLAGS & seen.cluster.flags)
    if flags:
        return f'flags set on the cluster: {", ".join(flags)}'
    codes = sorted(HOLDING_HEALTH & seen.health)
    return f'cluster health: {", ".join(codes)}' if codes else None


def _osds(seen: ClusterView, osd_id: int) -> Optional[str]:
    osd = seen.osd(osd_id)
    # `osd ok-to-stop` answers "ok" for an id that does not exist.
    if osd is None:
        return f'osd.{osd_id} is not in the OSD map'
    if not osd.up:
        return f'osd.{osd_id} is down'
    if osd.nonce is None:
        return f'the address of osd.{osd_id} is not known'
    if osd.version is None:
        return f'the version of osd.{osd_id} is not known yet'
    down = [other.osd_id for other in seen.cluster.osds if other.in_cluster and not other.up]
    return f'osd.{down[0]} is down' if down else None


def _upgrade(seen: ClusterView) -> Optional[str]:
    if seen.upgrade is None and seen.versions is None:
        return 'daemon versions are not known yet'
    return upgrading(seen)


def upgrading(seen: ClusterView) -> Optional[str]:
    """Evidence that Ceph is being upgraded; None if there is none."""
    if seen.upgrade is not None:
        return f'Ceph is being upgraded: {seen.upgrade}'
    if seen.versions is None:
        return None
    running = [found for found in seen.versions if found.kind in _UPGRADED_TOGETHER]
    if len({version for found in running for version in found.versions}) > 1:
        each = ', '.join(f'{found.kind} {" and ".join(found.versions)}' for found in running)
        return f'daemons run different versions, as in an upgrade: {each}'
    return None


def _ok_to_stop(seen: ClusterView, osd_id: int) -> Optional[str]:
    if osd_id not in seen.ok_to_stop:
        return f'no ok-to-stop answer for osd.{osd_id} yet'
    reason = seen.ok_to_stop[osd_id]
    return None if reason is None else f'osd.{osd_id} is not ok-to-stop: {reason}'

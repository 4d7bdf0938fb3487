"""Rules shared by all parts of the state machine: time limits, and whether an OSD may compact."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Optional

from ...mgr.records import ClusterMap
from .. import step
from ..absence import Away, absent, why_away
from ..gates import NOT_ALLOWED
from ..texts import paused_text
from .records import CampaignState, OsdCompaction
from .view import Probe, View

#: Beginning of the reason while client writes are slower than the baseline.
SLOW_WRITES = 'client writes take more than'


#: Obsolete files are removed, and the space is reported, within this time and that by which reports
#: are late.
SETTLE_S = 30.0


@dataclass(frozen=True)
class Limits:
    """Seconds as seen by one manager, unless noted otherwise."""

    #: How long a newly active manager observes before it acts.
    observe_first_s: float = 10.0
    #: How long client latency is measured before the first compaction.
    baseline_s: float = 60.0
    #: A requested compaction shows in the counters within this time.
    begin_s: float = 15.0
    settle_s: float = SETTLE_S
    #: No further OSD is started while client writes are slower than the baseline by this factor.
    slower: float = 1.5
    #: An OSD that stays down and out for this long is left behind.
    away_s: float = 300.0
    #: An OSD that did not start compacting after this many requests is skipped.
    tries: int = 2


@dataclass(frozen=True)
class Compact:
    """Ask an OSD to compact now."""

    osd_id: int


@dataclass(frozen=True)
class Step(step.Step[CampaignState, Compact]):
    #: Work in progress that is not held up: displayed but not stored, since it names a time.
    waits_for: Optional[str] = None

    @property
    def compact(self) -> Optional[int]:
        """The OSD to compact now."""
        return self.actions[0].osd_id if self.actions else None


def why_held(state: CampaignState, view: View) -> Optional[str]:
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if view.cluster.may_act else NOT_ALLOWED


def is_new_process(osd: OsdCompaction, probe: Optional[Probe]) -> bool:
    """Whether the OSD has restarted since the request."""
    return probe is not None and probe.nonce != osd.nonce


def probe_of(osd_id: int, view: View) -> Optional[Probe]:
    """The answer of the current process."""
    probe, info = view.probes.get(osd_id), view.cluster.osd(osd_id)
    return probe if probe is not None and info is not None and probe.nonce == info.nonce else None


def why_given_up(osd_id: int, view: View, limits: Limits) -> Optional[str]:
    """Why the campaign stops waiting for an OSD; None: it is present, or may return."""
    if absent(view.cluster, osd_id) is Away.GONE:
        return 'it is no longer in the OSD map'
    return f'it {Away.DOWN_AND_OUT.value}' if _stays_absent(osd_id, view, limits) else None


def _stays_absent(osd_id: int, view: View, limits: Limits) -> bool:
    """Whether an OSD was down and out for too long to wait for.

    Its compaction ended with its process.
    """
    return view.away_s.get(osd_id, 0.0) >= limits.away_s


def why_down(osd_id: int, view: View) -> Optional[str]:
    info = view.cluster.osd(osd_id)
    if info is None or info.up:
        return None
    away = absent(view.cluster, osd_id)
    if away is None:
        return f'osd.{osd_id} is down'
    return f'{why_away(osd_id, away)}: it will be left behind unless it returns'


def why_unknown(osd_id: int, view: View) -> Optional[str]:
    """Which guard cannot be evaluated for want of current samples; None: all can be."""
    if osd_id not in view.used_bytes or osd_id not in view.total_bytes:
        return (
            f'it is unknown whether a second copy of the DB fits on osd.{osd_id}: no current '
            'sample of its DB use and size'
        )
    if view.unmeasured is not None:
        return (
            'it is unknown whether client writes are slow: no current sample of client writes on '
            f'osd.{view.unmeasured}'
        )
    return None


def together(osds: Collection[OsdCompaction], cluster: ClusterMap) -> bool:
    """Whether OSDs are in one failure domain now: some may have moved since they were planned."""
    wanted = {osd.osd_id for osd in osds}
    domains = {o.osd_id: o.failure_domain for o in cluster.osds if o.osd_id in wanted}
    known = len(domains) == len(wanted) and None not in domains.values()
    return known and len(set(domains.values())) == 1

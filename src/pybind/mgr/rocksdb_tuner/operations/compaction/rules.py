"""What every part of the machine goes by: time limits, and whether an OSD may compact."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Optional

from ...mgr.records import ClusterMap
from .. import step
from ..gates import NOT_ALLOWED
from ..leaving import Away, absent, why_away
from ..texts import paused_text
from .records import CampaignState, OsdCompaction
from .view import Probe, View

#: How the reason begins while clients' writes are slower than before.
SLOW_WRITES = 'writes of clients take more than'


@dataclass(frozen=True)
class Limits:
    """In seconds as seen by one manager, where nothing else is said."""

    #: A manager that became active looks this long before it does anything.
    look_first_s: float = 10.0
    #: So long the clients are watched before anything is compacted.
    baseline_s: float = 60.0
    #: A compaction that was asked for may be counted this late.
    begin_s: float = 15.0
    #: Files that a compaction made superfluous are removed, and reported, within this time.
    settle_s: float = 30.0
    #: No further OSD is begun while clients' writes take longer than before by this factor.
    slower: float = 1.5
    #: An OSD that stays down and out for so long is left behind.
    away_s: float = 300.0
    #: An OSD that did not begin when asked so often is left.
    tries: int = 2


@dataclass(frozen=True)
class Compact:
    """Ask an OSD to compact now."""

    osd_id: int


@dataclass(frozen=True)
class Step(step.Step[CampaignState, Compact]):
    #: What goes on that nothing holds up: shown, and not stored, since it names a time.
    waits_for: Optional[str] = None

    @property
    def compact(self) -> Optional[int]:
        """The OSD to be asked to compact now."""
        return self.actions[0].osd_id if self.actions else None


def why_held(state: CampaignState, view: View) -> Optional[str]:
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if view.cluster.may_act else NOT_ALLOWED


def is_new(osd: OsdCompaction, probe: Optional[Probe]) -> bool:
    """Whether the OSD's process is another than that which was asked."""
    return probe is not None and probe.nonce != osd.nonce


def probe_of(osd_id: int, view: View) -> Optional[Probe]:
    """What the process of now says of its compactions."""
    probe, info = view.probes.get(osd_id), view.cluster.osd(osd_id)
    return probe if probe is not None and info is not None and probe.nonce == info.nonce else None


def why_lost(osd_id: int, view: View, limits: Limits) -> Optional[str]:
    """Why nobody waits for an OSD any more; None: it is there, or may come back."""
    if absent(view.cluster, osd_id) is Away.GONE:
        return 'it is no longer in the OSD map'
    return f'it {Away.DOWN_AND_OUT.value}' if _stays_away(osd_id, view, limits) else None


def _stays_away(osd_id: int, view: View, limits: Limits) -> bool:
    """Whether an OSD was replaced by others for so long that nobody waits for it any more.

    Whatever it was asked ended with its process.
    """
    return view.away_s.get(osd_id, 0.0) >= limits.away_s


def why_down(osd_id: int, view: View) -> Optional[str]:
    info = view.cluster.osd(osd_id)
    if info is None or info.up:
        return None
    away = absent(view.cluster, osd_id)
    if away is None:
        return f'osd.{osd_id} is down'
    return f'{why_away(osd_id, away)}: it is left behind if that stays so'


def together(osds: Collection[OsdCompaction], cluster: ClusterMap) -> bool:
    """Whether OSDs are of one failure domain now: some may have been moved since the plan."""
    wanted = {osd.osd_id for osd in osds}
    domains = {o.osd_id: o.failure_domain for o in cluster.osds if o.osd_id in wanted}
    known = len(domains) == len(wanted) and None not in domains.values()
    return known and len(set(domains.values())) == 1

"""What a campaign compacts, what that takes, and what would hold it up now. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Optional

from ...advise.facts import places
from ...advise.records import OsdFacts, Recommendation
from ...lsm.calibration import calibration
from ...mgr.records import ClusterMap, FailureDomain
from ...notes import Amount, Count, InPlace, Named, OsdId
from ...plan.order import canary_first
from ..gates import REPORTED, Away, ClusterView, gate_states
from .machine import Limits, Measured, why_no_room, why_room_unknown, why_writes_unknown
from .records import CampaignRequest


class Guard(NamedTuple):
    """A condition for starting the next OSD."""

    name: Annotated[str, Named('guard'), 'What has to be in order.']
    open: Annotated[Optional[bool], 'Whether it is; null: known only once the campaign runs.']
    reason: Annotated[Optional[str], 'Why it is not known to be open; null if it is.']


@dataclass(frozen=True)
class PlannedOsd:
    """What the compaction of one OSD would take."""

    osd_id: Annotated[OsdId, Named('osd'), 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    domain: Annotated[
        Optional[FailureDomain],
        Named('failure_domain'),
        'Failure domain of the OSD; null: unknown.',
    ]
    bytes: Annotated[
        Optional[Count],
        'Read at most, written at most, and needed until the old files are removed; null: unknown.',
    ]
    free_bytes: Annotated[Optional[Count], 'Free on the device with its DB; null: unknown.']
    skipped: Annotated[Optional[str], 'Why it would be skipped; null if it would not.']


@dataclass(frozen=True)
class CampaignPlan:
    """What a compaction campaign would take. Nothing was changed."""

    request: Annotated[CampaignRequest, InPlace('who', 'recommendation_id')]
    osds: Annotated[tuple[PlannedOsd, ...], 'The OSDs in order.']
    guards: Annotated[tuple[Guard, ...], 'All guards, for the first OSD.']
    limits: Limits

    @property
    def bytes(
        self,
    ) -> Annotated[
        Optional[Count], 'Read at most, and written at most, by all OSDs; null: unknown.'
    ]:
        sizes = [osd.bytes for osd in self.osds if osd.skipped is None]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def duration_s(
        self,
    ) -> Annotated[
        Optional[tuple[Amount, ...]],
        'Least and most duration of one OSD after the other, without waiting; null: unknown.',
    ]:
        size = self.bytes
        if size is None:
            return None
        rate = calibration().manual_compaction_bytes_per_s
        count = sum(osd.skipped is None for osd in self.osds)
        fixed_s = self.limits.baseline_s + count * self.limits.settle_s if count else 0.0
        return fixed_s + size / rate.high, fixed_s + size / rate.low


def recommended(recommendation: Recommendation, actor: str) -> CampaignRequest:
    """The campaign of ``recommendation``, exactly as displayed."""
    where, predicted = dict(recommendation.places), recommendation.prediction
    return CampaignRequest(
        recommendation_id=recommendation.recommendation_id,
        who=recommendation.who,
        options=recommendation.options_to,
        osds=tuple((osd_id, where[osd_id]) for osd_id in recommendation.osds),
        actor=actor,
        prediction=None if predicted is None else predicted.text,
        predicted=None if predicted is None else predicted.predicted,
    )


def requested(who: str, osds: Sequence[OsdFacts], actor: str) -> CampaignRequest:
    """A campaign of OSDs that an operator chose."""
    where = dict(places(osds))
    running = {None if osd.options is None else osd.options.running for osd in osds}
    return CampaignRequest(
        recommendation_id=None,
        who=who,
        options=(running.pop() or '') if len(running) == 1 else '',
        osds=tuple((osd_id, where[osd_id]) for osd_id in canary_first(where, {})),
        actor=actor,
    )


def planned_osds(
    request: CampaignRequest, cluster: ClusterMap, measured: Measured
) -> tuple[PlannedOsd, ...]:
    return tuple(
        PlannedOsd(
            osd_id=osd_id,
            host=place.host,
            domain=place.domain,
            bytes=measured.used_bytes.get(osd_id),
            free_bytes=_free_bytes(osd_id, measured),
            skipped=_skipped(osd_id, cluster, measured),
        )
        for osd_id, place in request.osds
    )


def guards(
    seen: ClusterView,
    osds: Sequence[PlannedOsd],
    measured: Measured,
    limits: Limits,
    others: Optional[str],
) -> tuple[Guard, ...]:
    """The state of all guards before the first OSD. ``others``: which operation is under way."""
    compacted = [osd.osd_id for osd in osds if osd.skipped is None]
    unknown = (why_room_unknown(osd_id, measured) for osd_id in compacted)
    found: Mapping[str, Optional[str]] = {
        'operations': others,
        **({} if not compacted else gate_states(seen, compacted[0])),
        'maintenance window': seen.schedule_reason,
        'DB use and size': next(filter(None, unknown), None),
        'client writes': why_writes_unknown(measured),
    }
    watched = {
        REPORTED: 'every OSD has to report its placement groups first',
        'client write latency': (
            f'measured for {limits.baseline_s:.0f}s before the first OSD; the next OSD waits while '
            f'it is more than {limits.slower:g} times as high'
        ),
    }
    states = [Guard(n, why is None, why) for n, why in found.items() if n not in watched]
    return (*states, *(Guard(name, None, why) for name, why in watched.items()))


def _free_bytes(osd_id: int, measured: Measured) -> Optional[int]:
    if why_room_unknown(osd_id, measured) is not None:
        return None
    return max(0, measured.total_bytes[osd_id] - measured.used_bytes[osd_id])


def _skipped(osd_id: int, cluster: ClusterMap, measured: Measured) -> Optional[str]:
    if osd_id in cluster.down_and_out:
        return f'it {Away.DOWN_AND_OUT.value}'
    if why_room_unknown(osd_id, measured) is not None:
        return None
    return why_no_room(measured.used_bytes[osd_id], measured.total_bytes[osd_id])

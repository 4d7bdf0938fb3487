"""What a command asks about, found in a snapshot by the name that the operator gave."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Optional

from ..advise.limit import limit_of_osd
from ..advise.records import UNKNOWN_LIMIT, Finding, Limit, OsdFacts, Recommendation
from ..advise.whatif.modeled import Modeled, modeled
from ..deep.reader import OsdDeepStats
from ..judge.records import SoakPlan
from ..plan.batches import PlannedBatch, planned_batches, soak_for
from ..plan.commands import expected_duration_s
from ..plan.records import ChangeRequest
from ..snapshot import Snapshot
from ..units import format_ids
from .errors import PresentError
from .summaries import worst_first


@dataclass(frozen=True)
class OsdDetail:
    """One OSD with everything that concerns it."""

    facts: OsdFacts
    findings: tuple[Finding, ...]
    recommendations: tuple[Recommendation, ...]
    #: What its RocksDB says of itself, where it was asked.
    deep: Optional[OsdDeepStats] = None
    #: What the model says of it; None where it has none.
    modeled: Optional[Modeled] = None
    #: What bounds its clients.
    limit: Limit = UNKNOWN_LIMIT


@dataclass(frozen=True)
class Plan:
    """What carrying out a recommendation would come to."""

    recommendation: Recommendation
    change: ChangeRequest
    #: As it is for this change.
    soak: SoakPlan
    #: The first is the canary.
    batches: tuple[PlannedBatch, ...]
    #: If nothing has to wait, and nobody has to decide.
    least_duration_s: float
    most_duration_s: float

    @property
    def judged(self) -> bool:
        """Whether the first OSD is watched and judged before the others follow."""
        return bool(self.batches) and self.batches[0].judged


def osd_detail(snapshot: Snapshot, osd_id: int, deep: Optional[OsdDeepStats] = None) -> OsdDetail:
    """All that the snapshot knows of one OSD; raises PresentError (ENOENT) if it is not there."""
    facts = facts_of(snapshot, osd_id)
    return OsdDetail(
        facts=facts,
        findings=tuple(f for f in snapshot.findings if osd_id in f.osds),
        recommendations=tuple(r for r in snapshot.recommendations if osd_id in r.osds),
        deep=deep,
        modeled=modeled(facts),
        limit=limit_of_osd(facts),
    )


def facts_of(snapshot: Snapshot, osd_id: int) -> OsdFacts:
    """What was measured of one OSD; raises PresentError (ENOENT) if it is not there."""
    for facts in snapshot.osds:
        if facts.info.osd_id == osd_id:
            return facts
    if not snapshot.osds:
        raise PresentError(
            errno.ENOENT,
            f'osd.{osd_id} is not known: nothing was read from this cluster yet, try again '
            f'in a moment',
        )
    known = format_ids(facts.info.osd_id for facts in snapshot.osds)
    raise PresentError(errno.ENOENT, f'osd.{osd_id} does not exist; OSDs of this cluster: {known}')


def findings_of(snapshot: Snapshot, finding_id: str) -> tuple[Finding, ...]:
    """The findings of one id, worst first; raises PresentError (ENOENT) if there are none."""
    found = tuple(f for f in worst_first(snapshot.findings) if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise PresentError(errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}')
    return found


def plan(recommendation: Recommendation, soak: SoakPlan) -> Plan:
    """What `apply` would do; raises PresentError (EINVAL) for what no rollout can carry out."""
    if recommendation.change is None:
        raise PresentError(
            errno.EINVAL,
            f'{recommendation.recommendation_id} ({recommendation.kind.value}) is not carried out '
            f'by a rollout; do it by hand, as "ceph rocksdb-tuner show '
            f'{recommendation.recommendation_id}" says',
        )
    request = recommendation.change
    least_s, most_s = expected_duration_s(request, soak)
    return Plan(
        recommendation,
        request,
        soak_for(request, soak),
        planned_batches(request, soak),
        least_s,
        most_s,
    )


def plan_if_any(recommendation: Recommendation, soak: Optional[SoakPlan]) -> Optional[Plan]:
    """None for what no rollout carries out, and where there is no cluster (``soak`` None)."""
    carried_out = recommendation.change is not None
    return plan(recommendation, soak) if carried_out and soak is not None else None

"""Looks up the subject of a command in a snapshot by name."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Optional

from ..advise.limit import limit_of_osd
from ..advise.records import (
    UNKNOWN_LIMIT,
    Finding,
    Limit,
    OsdFacts,
    Recommendation,
    Severity,
)
from ..advise.whatif.tree import Modeled, modeled
from ..deep.reader import OsdDeepStats
from ..judge.records import SoakPlan
from ..plan.batches import PlannedBatch, planned_batches, soak_for
from ..plan.commands import expected_duration_s
from ..plan.entries import reaches
from ..plan.records import ChangeRequest
from ..snapshot import Snapshot
from ..units import format_ids
from .errors import PresentError
from .summaries import SEVERITIES, worst_first


@dataclass(frozen=True)
class OsdDetail:
    """An OSD with all related data."""

    facts: OsdFacts
    #: Time of the snapshot; None before the first.
    taken_s: Optional[float]
    findings: tuple[Finding, ...]
    recommendations: tuple[Recommendation, ...]
    #: The statistics of its RocksDB, if requested.
    deep: Optional[OsdDeepStats] = None
    #: The model of its database; None if there is none.
    modeled: Optional[Modeled] = None
    #: The limiting resource.
    limit: Limit = UNKNOWN_LIMIT


@dataclass(frozen=True)
class Plan:
    """The plan of a recommendation."""

    recommendation: Recommendation
    change: ChangeRequest
    #: As it applies to this change.
    soak: SoakPlan
    #: The first one is the canary.
    batches: tuple[PlannedBatch, ...]
    #: Without time waiting for gates or operators.
    least_duration_s: float
    most_duration_s: float

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on the canary before the other OSDs are changed."""
        return bool(self.batches) and self.batches[0].judged


def osd_detail(snapshot: Snapshot, osd_id: int, deep: Optional[OsdDeepStats] = None) -> OsdDetail:
    """An OSD with all related data; raises PresentError (ENOENT) if it does not exist."""
    facts = facts_of(snapshot, osd_id)
    return OsdDetail(
        facts=facts,
        taken_s=snapshot.taken_s,
        findings=tuple(f for f in snapshot.findings if osd_id in f.osds),
        recommendations=tuple(r for r in snapshot.recommendations if osd_id in r.osds),
        deep=deep,
        modeled=modeled(facts),
        limit=limit_of_osd(facts),
    )


def osds_worst_first(
    snapshot: Snapshot, who: Optional[str] = None, worst: Optional[int] = None
) -> tuple[OsdFacts, ...]:
    """The ``worst`` OSDs of ``who``: those with the worst findings, then the busiest.

    Raises PresentError if there are none.
    """
    if worst is not None and worst < 1:
        raise PresentError(errno.EINVAL, f'invalid --worst {worst}: use a number from 1 on')
    found = [f for f in snapshot.osds if who is None or reaches(who, f.info)]
    if who is not None and not found:
        groups = ', '.join(group.who for group in snapshot.groups) or 'none'
        raise PresentError(errno.ENOENT, f'no OSD matches "{who}"; groups: {groups}')
    ranks: dict[int, int] = {}
    for finding in reversed(worst_first(snapshot.findings)):
        if finding.severity is not Severity.INFO:
            ranks.update(dict.fromkeys(finding.osds, SEVERITIES.index(finding.severity)))

    def key(facts: OsdFacts) -> tuple[float, float, float, int]:
        signals = facts.signals
        busy, iops = (signals.kv_sync_busy, signals.write_iops) if signals else (None, None)
        osd_id = facts.info.osd_id
        return ranks.get(osd_id, len(SEVERITIES)), -(busy or 0.0), -(iops or 0.0), osd_id

    return tuple(sorted(found, key=key)[:worst])


def facts_of(snapshot: Snapshot, osd_id: int) -> OsdFacts:
    """The facts of an OSD; raises PresentError (ENOENT) if it does not exist."""
    for facts in snapshot.osds:
        if facts.info.osd_id == osd_id:
            return facts
    if not snapshot.osds:
        raise PresentError(
            errno.ENOENT,
            f'osd.{osd_id} is unknown: the cluster has not been sampled yet, try again in a moment',
        )
    known = format_ids(facts.info.osd_id for facts in snapshot.osds)
    raise PresentError(errno.ENOENT, f'osd.{osd_id} does not exist; OSDs of this cluster: {known}')


def findings_of(snapshot: Snapshot, finding_id: str) -> tuple[Finding, ...]:
    """The findings with one id, worst first; raises PresentError (ENOENT) if there are none."""
    found = tuple(f for f in worst_first(snapshot.findings) if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise PresentError(errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}')
    return found


def plan(recommendation: Recommendation, soak: SoakPlan) -> Plan:
    """Preview of `apply`; raises PresentError (EINVAL) if no rollout can apply it."""
    if recommendation.change is None:
        raise PresentError(
            errno.EINVAL,
            f'{recommendation.recommendation_id} ({recommendation.kind.value}) cannot be applied '
            'by a rollout; apply it manually, see "ceph rocksdb-tuner recommend '
            f'{recommendation.recommendation_id}"',
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
    """None if no rollout can apply it, or without a cluster (``soak`` None)."""
    applicable = recommendation.change is not None
    return plan(recommendation, soak) if applicable and soak is not None else None

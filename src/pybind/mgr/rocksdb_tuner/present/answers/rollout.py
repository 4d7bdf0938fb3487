"""The rollout under way, or the last one, and planned rollouts.

Verdicts on changes, and their measured effects.

Failure domains of OSDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...judge.records import Inconclusive, SignalVerdict, SoakPlan, Verdict
from ...judge.records import Judgement as FoundJudgment
from ...mgr.records import FailureDomain as FoundDomain
from ...notes import Among, Amount, Count, InPlace, OsdId, Time
from ...operations.phases import Outcome, Phase
from ...operations.rollout.records import (
    Batch,
    Direction,
    OsdProgress,
    OsdStep,
    RolloutState,
    batches,
)
from ...plan.batches import planned_batch, soak_for, without_gain
from ...plan.records import ChangeKind, ChangeRequest, Purpose
from ...units import format_time
from ..summaries import osds_finished


@dataclass(frozen=True)
class Judged:
    """The verdict, as pass or fail and in detail."""

    verdict: Annotated[
        Optional[Annotated[str, Among(('pass', 'fail', 'inconclusive', 'no-data'))]],
        'Verdict; null: none, or not yet.',
    ]
    judged: Annotated[
        Optional[Verdict],
        'Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got '
        'worse; null: as for verdict.',
    ]


def judged_of(verdict: Optional[Verdict]) -> Judged:
    return Judged(None if verdict is None else verdict.pass_or_fail, verdict)


@dataclass(frozen=True)
class FailureDomain:
    """The CRUSH bucket in which a placement group has at most one copy."""

    type: Annotated[str, 'CRUSH type: host, rack, ...; osd if each OSD is its own failure domain.']
    name: Annotated[str, 'Name of the bucket, or of the OSD.']


def domain_of(found: Optional[FoundDomain]) -> Optional[FailureDomain]:
    return None if found is None else FailureDomain(found.kind, found.name)


@dataclass(frozen=True)
class SoakTime:
    """Soak time of changed OSDs."""

    least_s: Annotated[
        Optional[Amount],
        'Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to '
        'soak_max if that is longer.',
    ]
    most_s: Annotated[Optional[Amount], 'Maximum soak time in seconds; 0: no soak.']
    inconclusive: Annotated[Inconclusive, 'Action if there is no verdict after most_s.']


@dataclass(frozen=True)
class CanarySoak(SoakTime):
    """Soak time of the canary; most_s 0: no soak."""

    fill_s: Annotated[
        Optional[Amount],
        'Modeled time between two memtable flushes under the current load, with the slower of the '
        'two option strings; null: unknown.',
    ]
    no_benefit: Annotated[
        Inconclusive,
        Among((Inconclusive.PROMOTE, Inconclusive.ROLLBACK)),
        'Action if the canary is neither better nor worse.',
    ]
    batches: Annotated[
        Optional[SoakTime],
        'Soak time of each later batch; null: no soak.',
    ]


@dataclass(frozen=True)
class Watch:
    """Soak times, planned and elapsed."""

    soak: Annotated[CanarySoak, InPlace()]
    baseline_s: Annotated[
        Optional[Amount],
        'Baseline time of the canary and its controls before the change, as measured by this mgr; '
        '0 after a failover.',
    ]
    baseline_least_s: Annotated[
        Optional[Amount], 'Minimum baseline time in seconds; 0: no baseline.'
    ]
    soaked_s: Annotated[Optional[Amount], 'Elapsed soak time of the canary, without interruptions.']
    batch_soaked_s: Annotated[Optional[Amount], 'Elapsed soak time of the current batch.']
    controls: Annotated[tuple[OsdId, ...], 'Ids of the control OSDs.']


@dataclass(frozen=True)
class RolloutBatch:
    """A batch of OSDs, changed before the next batch."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    failure_domain: Annotated[
        Optional[FailureDomain], 'Failure domain of all of these OSDs; null: unknown.'
    ]
    phase: Annotated[Phase, 'Current phase.']
    judged: Annotated[Judged, InPlace()]
    controls: Annotated[
        tuple[OsdId, ...],
        'Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected.',
    ]


@dataclass(frozen=True)
class Judgment:
    """Basis of a verdict."""

    better: Annotated[bool, 'Whether the verdict is "better".']
    signals: Annotated[tuple[SignalVerdict, ...], 'Effect of the change on each signal.']
    missing: Annotated[tuple[str, ...], 'Data missing for a verdict, in words.']
    cause: Annotated[Optional[str], 'Cause of the verdict other than the signals; null: none.']


@dataclass(frozen=True)
class RolloutOsd:
    """Progress of one OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    step: Annotated[OsdStep, 'Current step.']
    left_reason: Annotated[Optional[str], 'Why the rollout skips the OSD; null if it does not.']
    from_: Annotated[Optional[str], 'Option string before the change.']
    to: Annotated[Optional[str], 'Option string after the change.']
    restarts_asked: Annotated[Count, 'Number of requested restarts.']
    flaps: Annotated[Count, 'How often it went down again after coming up.']


@dataclass(frozen=True)
class Rollout:
    """A rollout, under way or the last one."""

    kind: Annotated[Literal['rollout'], 'Kind of operation.']
    id: Annotated[str, 'Id of the rollout.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    change: Annotated[ChangeKind, 'Kind of change.']
    phase: Annotated[Phase, 'Current phase.']
    who: Annotated[str, 'Config mask of the change.']
    option: Annotated[
        str, 'Changed option: the option string, or the annex that OSDs append to it.'
    ]
    actor: Annotated[str, 'Client that requested it.']
    osds_total: Annotated[Count, 'Number of OSDs in the rollout.']
    osds_finished: Annotated[Count, 'Number of finished OSDs.']
    judged: Annotated[Judged, InPlace()]
    started: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'Time of the last change. ISO 8601, UTC.']
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    batches: Annotated[
        tuple[RolloutBatch, ...],
        'OSDs in the order of the changes, in batches, each with a soak before the next.',
    ]
    purpose: Annotated[
        Purpose,
        'Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; '
        'else "safety".',
    ]
    soak: Annotated[Watch, 'Soak time of the canary; most_s 0: no soak.']
    judgement: Annotated[Optional[Judgment], 'Basis of the verdict; null: no verdict.']
    batch_judgement: Annotated[
        Optional[Judgment],
        'Basis of the verdict on the current batch; null: no verdict yet.',
    ]
    direction: Annotated[
        Direction,
        'Direction; "recover": one OSD failed and is restored; "back": everything is rolled back.',
    ]
    paused_by: Annotated[Optional[str], 'Client that requested the pause.']
    last_error: Annotated[Optional[str], 'Error of the last failed action.']
    osds: Annotated[tuple[RolloutOsd, ...], 'Progress of each OSD.']


def rollout_of(state: RolloutState) -> Rollout:
    before = {osd.osd_id: osd.value for osd in state.before.osds}
    targets = dict(state.request.targets)
    return Rollout(
        kind='rollout',
        id=state.rollout_id,
        recommendation=state.request.recommendation_id,
        change=state.request.kind,
        phase=state.phase,
        who=state.request.who,
        option=state.request.option,
        actor=state.request.actor,
        osds_total=len(state.osds),
        osds_finished=osds_finished(state),
        judged=judged_of(state.verdict),
        started=format_time(state.started_s),
        updated=format_time(state.updated_s),
        paused_reason=state.paused_reason,
        outcome=state.outcome,
        failure=state.failure,
        batches=tuple(map(_batch, batches(state))),
        purpose=state.request.purpose,
        soak=_watch(state),
        judgement=_judgment(state.judgement),
        batch_judgement=_judgment(state.batch_judgement),
        direction=state.direction,
        paused_by=state.paused_by,
        last_error=state.last_error,
        osds=tuple(_osd(o, before.get(o.osd_id), targets.get(o.osd_id)) for o in state.osds),
    )


def soak_of(request: ChangeRequest, soak: SoakPlan) -> CanarySoak:
    return CanarySoak(
        least_s=soak.least_s,
        most_s=soak.most_s,
        inconclusive=soak.inconclusive,
        fill_s=request.fill_s,
        no_benefit=without_gain(request),
        batches=None if soak.batches is None else _soak_time(soak.batches),
    )


def _soak_time(soak: SoakPlan) -> SoakTime:
    return SoakTime(soak.least_s, soak.most_s, soak.inconclusive)


def _watch(state: RolloutState) -> Watch:
    return Watch(
        soak=soak_of(state.request, soak_for(state.request, state.soak)),
        baseline_s=state.baseline_s,
        baseline_least_s=planned_batch(state.request, state.soak, 0).baseline_s,
        soaked_s=state.soaked_s,
        batch_soaked_s=state.batch_soaked_s,
        controls=state.controls,
    )


def _batch(batch: Batch) -> RolloutBatch:
    return RolloutBatch(
        osds=batch.osds,
        failure_domain=domain_of(batch.domain),
        phase=batch.phase,
        judged=judged_of(batch.verdict),
        controls=batch.controls,
    )


def _judgment(found: Optional[FoundJudgment]) -> Optional[Judgment]:
    if found is None:
        return None
    return Judgment(
        better=found.verdict is Verdict.BETTER,
        signals=found.signals,
        missing=found.missing,
        cause=found.cause,
    )


def _osd(osd: OsdProgress, before: Optional[str], target: Optional[str]) -> RolloutOsd:
    return RolloutOsd(
        osd=osd.osd_id,
        step=osd.step,
        left_reason=osd.left_reason,
        from_=before,
        to=target,
        restarts_asked=osd.restarts_asked,
        flaps=osd.flaps,
    )

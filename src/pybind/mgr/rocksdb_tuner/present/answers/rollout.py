"""The rollout under way, or the last one, and how one is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...judge.records import Inconclusive, NoBenefit, SoakPlan, Verdict
from ...judge.records import Judgement as FoundJudgment
from ...operations.compaction.records import CampaignState
from ...operations.phases import Outcome, Phase
from ...operations.rollout.batches import Batch, batches
from ...operations.rollout.records import Direction, OsdProgress, OsdStep, RolloutState
from ...plan.batches import planned_batch, soak_for
from ...plan.records import ChangeKind, Purpose
from ...units import format_time
from ..summaries import osds_finished
from .campaign import Campaign, campaign_of
from .judgment import Judged, SignalEffect, effects_of, judged_of
from .notes import Among, Amount, Count, InPlace, OsdId, Time
from .places import FailureDomain, domain_of


@dataclass(frozen=True)
class SoakTime:
    """How long OSDs are watched after a change."""

    least_s: Annotated[
        Optional[Amount],
        'At least this long. Of the first OSD: soak_min, and three times fill_s as far as soak_max '
        'allows.',
    ]
    most_s: Annotated[Optional[Amount], 'At most this long; 0: not at all.']
    inconclusive: Annotated[Inconclusive, 'What follows where the time is over without a verdict.']


@dataclass(frozen=True)
class CanarySoak(SoakTime):
    """How long the first changed OSD is watched; most_s 0: not at all."""

    fill_s: Annotated[
        Optional[Amount],
        'From one flush of memtables to the next under the load at the time, by the model, in the '
        'slower of the two option strings; null: not known.',
    ]
    no_benefit: Annotated[
        NoBenefit,
        Among((NoBenefit.WAIT, NoBenefit.PROMOTE, NoBenefit.ROLLBACK)),
        'What follows where the first changed OSD got no worse, but no better either.',
    ]
    batches: Annotated[
        Optional[SoakTime],
        'The same for each batch after the first OSD; null: these are not watched.',
    ]


@dataclass(frozen=True)
class Watch:
    """How long OSDs are watched, and how long they were so far."""

    soak: Annotated[CanarySoak, InPlace()]
    baseline_s: Annotated[
        Optional[Amount],
        'How long the first OSD and the controls were measured before it was changed, as far as '
        'this manager has seen: 0 from then on after a failover.',
    ]
    baseline_least_s: Annotated[
        Optional[Amount], 'How long they are measured before; 0: not at all.'
    ]
    soaked_s: Annotated[Optional[Amount], 'How long it was watched so far, without interruptions.']
    batch_soaked_s: Annotated[Optional[Amount], 'The same of the batch after it that is watched.']
    controls: Annotated[tuple[OsdId, ...], 'Ids of the OSDs that it is compared with.']


@dataclass(frozen=True)
class RolloutSummary:
    """The rollout under way or the last one."""

    id: Annotated[str, 'Id of the rollout.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    kind: Annotated[ChangeKind, 'What it does.']
    phase: Annotated[Phase, 'Where it is.']
    who: Annotated[str, 'Mask of the config store that the change is about.']
    option: Annotated[
        str, 'Option that is changed: the string, or the annex that OSDs append to it.'
    ]
    actor: Annotated[str, 'Who asked for it.']
    osds_total: Annotated[Count, 'How many OSDs it is about.']
    osds_finished: Annotated[Count, 'How many of them it has dealt with to the end.']
    judged: Annotated[Judged, InPlace()]
    started: Annotated[Optional[Time], 'When it started. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'When it last changed. ISO 8601, UTC.']
    paused_reason: Annotated[Optional[str], 'Why it waits; null while it does not.']
    outcome: Annotated[Optional[Outcome], 'How it ended; null before that.']
    failure: Annotated[Optional[str], 'What happened, where it did not go as planned.']


@dataclass(frozen=True)
class RolloutBatch:
    """OSDs that are changed before others follow."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    failure_domain: Annotated[
        Optional[FailureDomain], 'The failure domain that all of them are in; null: not known.'
    ]
    phase: Annotated[Phase, 'Where it is.']
    judged: Annotated[Judged, InPlace()]
    controls: Annotated[
        tuple[OsdId, ...],
        'Ids of the OSDs that it is compared with; empty: there are too few, and it is watched for '
        'crashes only.',
    ]


@dataclass(frozen=True)
class Judgment:
    """What a verdict rests on."""

    better: Annotated[bool, 'Whether it was judged better.']
    signals: Annotated[tuple[SignalEffect, ...], 'What the change did to each signal.']
    missing: Annotated[tuple[str, ...], 'What a verdict lacks, in words.']
    cause: Annotated[Optional[str], 'What decided it beside the signals.']


@dataclass(frozen=True)
class RolloutOsd:
    """How far one OSD is."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    step: Annotated[OsdStep, 'How far it is.']
    left_reason: Annotated[
        Optional[str], 'Why the rollout goes on without it; null where it does not.'
    ]
    from_: Annotated[Optional[str], 'Option string that it ran before.']
    to: Annotated[Optional[str], 'Option string that it shall run.']
    restarts_asked: Annotated[Count, 'How often a restart was requested.']
    flaps: Annotated[Count, 'How often it went down again after it had come up.']


@dataclass(frozen=True)
class Rollout:
    """The rollout under way or the last one, and the compaction campaign."""

    summary: Annotated[RolloutSummary, InPlace()]
    batches: Annotated[
        tuple[RolloutBatch, ...],
        'OSDs in the order in which they are changed, in batches; each is watched before the next.',
    ]
    purpose: Annotated[
        Purpose,
        'What the change is for: "gain" where one is predicted, which the first changed OSD has to '
        'show; else "safety".',
    ]
    soak: Annotated[Watch, 'How long the first changed OSD is watched; most_s 0: not at all.']
    judgement: Annotated[Optional[Judgment], 'What the verdict rests on; null: nothing was judged.']
    batch_judgement: Annotated[
        Optional[Judgment],
        'The same for the batch after the first OSD that is watched; null: nothing was judged of '
        'it yet.',
    ]
    direction: Annotated[
        Direction,
        '"recover": one OSD failed and is restored; "back": everything is rolled back.',
    ]
    paused_by: Annotated[Optional[str], 'Who asked for a pause.']
    last_error: Annotated[Optional[str], 'What the last failed action answered.']
    osds: Annotated[tuple[RolloutOsd, ...], 'How far each OSD is.']
    campaign: Annotated[
        Optional[Campaign],
        'The compaction campaign under way or the last one; null before the first.',
    ]


def rollout_of(
    state: Optional[RolloutState],
    campaign: Optional[CampaignState] = None,
    campaign_waits_for: Optional[str] = None,
) -> Optional[Rollout]:
    """The running or the last rollout, and compaction campaign; None before the first rollout."""
    if state is None:
        return None
    before = {osd.osd_id: osd.value for osd in state.before.osds}
    targets = dict(state.request.targets)
    return Rollout(
        summary=summary_of(state),
        batches=tuple(map(_batch, batches(state))),
        purpose=state.request.purpose,
        soak=_watch(state),
        judgement=_judgment(state.judgement),
        batch_judgement=_judgment(state.batch_judgement),
        direction=state.direction,
        paused_by=state.paused_by,
        last_error=state.last_error,
        osds=tuple(_osd(o, before.get(o.osd_id), targets.get(o.osd_id)) for o in state.osds),
        campaign=None if campaign is None else campaign_of(campaign, campaign_waits_for),
    )


def summary_of(state: RolloutState) -> RolloutSummary:
    return RolloutSummary(
        id=state.rollout_id,
        recommendation=state.request.recommendation_id,
        kind=state.request.kind,
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
    )


def soak_of(soak: SoakPlan, fill_s: Optional[float]) -> CanarySoak:
    return CanarySoak(
        least_s=soak.least_s,
        most_s=soak.most_s,
        inconclusive=soak.inconclusive,
        fill_s=fill_s,
        no_benefit=soak.no_benefit,
        batches=None if soak.batches is None else _soak_time(soak.batches),
    )


def _soak_time(soak: SoakPlan) -> SoakTime:
    return SoakTime(soak.least_s, soak.most_s, soak.inconclusive)


def _watch(state: RolloutState) -> Watch:
    return Watch(
        soak=soak_of(soak_for(state.request, state.soak), state.request.fill_s),
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
        signals=effects_of(found.signals),
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

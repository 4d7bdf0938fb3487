"""The experiment under way, and ended ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...judge.arms import Answer, Contrast
from ...judge.records import Effect, SignalVerdict
from ...notes import Amount, Count, InPlace, OsdId, Time
from ...operations.experiment.records import DroppedArm as FoundDrop
from ...operations.experiment.records import ExperimentArm as FoundArm
from ...operations.experiment.records import ExperimentState, TracePoint
from ...operations.phases import Outcome
from ...plan.experiment_design import ExperimentPlan as FoundPlan
from ...units import format_time
from ..experiments import (
    ArmVerdict,
    ExperimentPhase,
    arm_verdict,
    measured_blocks,
    percent_of,
    phase_of,
    result_of,
    summary_of,
)

_NAME = 'Name of the arm: the profile that it tries.'


@dataclass(frozen=True)
class ExperimentEffect:
    """Effect of an arm on one signal, against unchanged OSDs."""

    signal: Annotated[str, 'Name of the signal, as in knowledge/judged_signals.json.']
    effect: Annotated[Effect, 'Effect; "unclear": too little data so far.']
    estimate_percent: Annotated[
        Optional[float], 'Most likely change; negative is better. null: unknown.'
    ]
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']


@dataclass(frozen=True)
class DroppedArm:
    """Why an arm ended before the experiment."""

    reason: Annotated[str, 'The reason, as a phrase.']
    signals: Annotated[tuple[str, ...], 'Signals that got worse by more than their tolerance.']
    period: Annotated[Count, 'Period in which it ended.']
    block: Annotated[Count, 'Number of measured blocks of that period until then.']


@dataclass(frozen=True)
class PredictedGain:
    """Predicted effect of an arm on the goal of the experiment."""

    metric: Annotated[str, 'The metric that would change.']
    low_percent: Annotated[float, 'Lower end of the 80% interval; negative is better.']
    high_percent: Annotated[float, 'Upper end of the 80% interval.']


@dataclass(frozen=True)
class ExperimentArm:
    """An option string on some OSDs."""

    name: Annotated[str, _NAME]
    options: Annotated[str, 'Option string of the arm.']
    osds: Annotated[
        tuple[OsdId, ...],
        'OSDs of the arm in the current period, or in the first one before it begins.',
    ]
    predicted: Annotated[
        Optional[PredictedGain], 'Prediction of the model and published figures; null: none.'
    ]
    verdict: Annotated[Optional[ArmVerdict], 'Verdict so far; null: none yet.']
    effect: Annotated[
        tuple[ExperimentEffect, ...], 'Effect on each signal, the goal of the experiment first.'
    ]
    dropped: Annotated[Optional[DroppedArm], 'null if it was not dropped.']


@dataclass(frozen=True)
class PeriodArm:
    """OSDs of one arm in one period."""

    name: Annotated[str, _NAME]
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']


@dataclass(frozen=True)
class ExperimentPeriod:
    """A time in which no OSD changes its options."""

    arms: Annotated[tuple[PeriodArm, ...], 'Empty in the first period, the baseline.']
    blocks: Annotated[Count, 'Number of measured blocks.']
    settle_blocks: Annotated[Count, 'Blocks before them for restarts and warm-up.']


@dataclass(frozen=True)
class TracedArm:
    """The goal of the experiment in one arm, as known after one block."""

    name: Annotated[str, _NAME]
    estimate_percent: Annotated[Optional[float], 'Most likely change; null: unknown.']
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']


@dataclass(frozen=True)
class TracedBlock:
    """All remaining arms after one block."""

    period: Annotated[Count, 'Period of the block.']
    block: Annotated[Count, 'Number of measured blocks of that period.']
    time: Annotated[Optional[Time], 'End of the block. ISO 8601, UTC.']
    arms: Annotated[tuple[TracedArm, ...], 'The remaining arms.']


@dataclass(frozen=True)
class ExperimentDesign:
    """What is tried on which OSDs, and with what precision."""

    who: Annotated[str, 'Config mask of the group.']
    signal: Annotated[str, 'The judged signal that arms are expected to improve.']
    min_effect_percent: Annotated[Amount, 'Smaller differences count as none.']
    max_duration_s: Annotated[Amount, 'Maximum duration in seconds.']
    options_from: Annotated[str, 'Option string that the group runs.']
    controls: Annotated[tuple[OsdId, ...], 'OSDs that stay unchanged for comparison.']
    detectable_percent: Annotated[
        Optional[Amount],
        'Smallest difference that is detected, with the noise measured on these OSDs; null: '
        'unknown.',
    ]
    unsafe_percent: Annotated[
        Optional[Amount],
        'Smallest worsening that ends an arm within three blocks; null: unknown.',
    ]
    duration_s: Annotated[
        Optional[Amount], 'Planned duration in seconds, without waiting for gates; null: no plan.'
    ]
    block_s: Annotated[Optional[Amount], 'Length of a block in seconds.']
    restarts: Annotated[
        Optional[Count], 'Planned restarts of OSDs, including the last; null: no plan.'
    ]
    periods: Annotated[tuple[ExperimentPeriod, ...], 'Periods in order; the first is the baseline.']


@dataclass(frozen=True)
class Experiment:
    """The experiment under way, or an ended one."""

    kind: Annotated[Literal['experiment'], 'Kind of operation.']
    id: Annotated[str, 'Id of the experiment, as in history.']
    phase: Annotated[ExperimentPhase, 'Current phase.']
    actor: Annotated[str, 'Client that requested it.']
    arms: Annotated[tuple[ExperimentArm, ...], 'The compared option strings.']
    design: Annotated[ExperimentDesign, InPlace()]
    adopt: Annotated[bool, 'Whether the winner is applied to the group at the end.']
    period: Annotated[Count, 'Current period; 0 is the baseline.']
    blocks: Annotated[Count, 'Number of measured blocks.']
    trace: Annotated[
        tuple[TracedBlock, ...], 'Effect of each arm on the signal after each block, oldest first.'
    ]
    winner: Annotated[Optional[str], 'Best arm; null: none, or not yet.']
    conclusion: Annotated[
        Optional[Answer],
        'Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is '
        'better by it; "unclear": the data is inconclusive; null: not yet.',
    ]
    summary: Annotated[str, 'State or result, as a sentence.']
    runner_up: Annotated[Optional[str], 'Second best arm; null: none.']
    lead: Annotated[
        Optional[ExperimentEffect], 'The winner against the runner-up; null without either.'
    ]
    within_percent: Annotated[
        Optional[Amount], 'Upper bound of all differences; null: not bounded.'
    ]
    unproven: Annotated[tuple[str, ...], 'Signals of the winner that may have got worse.']
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.']
    paused_by: Annotated[Optional[str], 'Client that requested the pause.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    started: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'Time of the last change. ISO 8601, UTC.']
    ended: Annotated[Optional[Time], 'End time; null while it is under way. ISO 8601, UTC.']


def experiment_of(state: ExperimentState) -> Experiment:
    request, found = state.request, state.conclusion
    return Experiment(
        kind='experiment',
        id=state.experiment_id,
        phase=phase_of(state),
        actor=request.actor,
        arms=tuple(_arm(state, arm) for arm in request.arms),
        design=ExperimentDesign(
            who=request.who,
            signal=request.objective,
            min_effect_percent=request.min_effect * 100,
            max_duration_s=request.max_duration_s,
            options_from=request.from_options,
            controls=request.plan.controls,
            detectable_percent=request.plan.detectable * 100,
            unsafe_percent=request.plan.unsafe_detectable * 100,
            duration_s=request.plan.duration_s,
            block_s=request.plan.block_s,
            restarts=request.plan.shape.changed * (request.plan.shape.periods + 1),
            periods=periods_of(request.plan),
        ),
        adopt=request.adopt,
        period=state.period,
        blocks=measured_blocks(state),
        trace=tuple(map(_traced, state.trace)),
        winner=None if found is None else found.winner,
        conclusion=None if found is None else found.answer,
        summary=summary_of(state),
        runner_up=None if found is None else found.runner_up,
        lead=None if found is None or found.lead is None else _lead(state, found.lead),
        within_percent=None if found is None or found.within is None else found.within * 100,
        unproven=() if found is None else found.unproven,
        paused_reason=state.paused_reason,
        paused_by=state.paused_by,
        outcome=state.outcome,
        failure=state.failure,
        started=format_time(state.started_s),
        updated=format_time(state.updated_s),
        ended=format_time(state.ended_s),
    )


def periods_of(plan: FoundPlan) -> tuple[ExperimentPeriod, ...]:
    return tuple(
        ExperimentPeriod(
            tuple(PeriodArm(name, osds) for name, osds in period.arms),
            period.blocks,
            period.settle_blocks,
        )
        for period in plan.periods
    )


def _arm(state: ExperimentState, arm: FoundArm) -> ExperimentArm:
    result = result_of(state, arm.name)
    dropped = next((drop for drop in state.dropped if drop.name == arm.name), None)
    return ExperimentArm(
        name=arm.name,
        options=arm.options,
        osds=_osds(state, arm.name),
        predicted=None
        if arm.predicted is None
        else PredictedGain(
            arm.predicted.metric, arm.predicted.low_percent, arm.predicted.high_percent
        ),
        verdict=arm_verdict(state, arm.name),
        effect=_effects(() if result is None else result.signals, state.request.objective),
        dropped=None if dropped is None else _drop(dropped),
    )


def _osds(state: ExperimentState, name: str) -> tuple[int, ...]:
    """OSDs that run the arm, or will run it first."""
    if state.period == 0 and not state.ended:
        return next((osds for arm, osds in state.request.plan.periods[1].arms if arm == name), ())
    return tuple(osd.osd_id for osd in state.osds if osd.arm == name)


def _effects(signals: Iterable[SignalVerdict], objective: str) -> tuple[ExperimentEffect, ...]:
    return tuple(
        ExperimentEffect(
            one.name, one.effect, one.change_percent, one.low_percent, one.high_percent
        )
        for one in sorted(signals, key=lambda signal: signal.name != objective)
    )


def _drop(found: FoundDrop) -> DroppedArm:
    names = tuple(signal.name for signal in found.signals)
    return DroppedArm(found.reason, names, found.period, found.block)


def _traced(point: TracePoint) -> TracedBlock:
    return TracedBlock(
        point.period,
        point.block,
        format_time(point.time_s),
        tuple(
            TracedArm(arm.name, arm.estimate_percent, arm.low_percent, arm.high_percent)
            for arm in point.arms
        ),
    )


def _lead(state: ExperimentState, lead: Contrast) -> ExperimentEffect:
    effect = Effect.BETTER if lead.below else Effect.UNCLEAR
    return ExperimentEffect(state.request.objective, effect, *percent_of(lead))

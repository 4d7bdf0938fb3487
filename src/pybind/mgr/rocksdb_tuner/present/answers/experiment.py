"""The experiment under way, and ended ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from ...advise.experiment_plan import PlannedExperiment
from ...judge.arms import Answer
from ...judge.records import Effect, Predicted
from ...notes import Among, Amount, Count, InPlace, OsdId, Time
from ...operations.experiment.records import ExperimentArm as TriedArm
from ...operations.experiment.records import ExperimentRequest, ExperimentState
from ...operations.experiment.results import in_percent
from ...operations.gates import GATES
from ...operations.phases import Outcome
from ...plan.experiment_design import ExperimentPlan as FoundPlan
from ...plan.experiment_design import Refusal
from ...units import format_time
from ..experiments import (
    ArmVerdict,
    ExperimentPhase,
    arm_verdict,
    phase_of,
    plan_summary,
    result_of,
    risks,
    start_command,
    summary_of,
    unknowns,
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
    block: Annotated[Count, 'Number of measured blocks after the change until then.']


@dataclass(frozen=True)
class ExperimentArm:
    """An option string on some OSDs."""

    name: Annotated[str, _NAME]
    options: Annotated[str, 'Option string of the arm.']
    osds: Annotated[tuple[OsdId, ...], 'OSDs of the arm.']
    predicted: Annotated[
        Optional[Predicted], 'Prediction of the model and published figures; null: none.'
    ]
    verdict: Annotated[Optional[ArmVerdict], 'Verdict so far; null: none yet.']
    effect: Annotated[
        tuple[ExperimentEffect, ...], 'Effect on each signal, the goal of the experiment first.'
    ]
    dropped: Annotated[Optional[DroppedArm], 'null if it was not dropped.']


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
    planned_blocks: Annotated[
        Optional[Count], 'Blocks of the baseline, and as many after the change; null: no plan.'
    ]


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
    blocks: Annotated[Count, 'Number of measured blocks.']
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


@dataclass(frozen=True)
class ExperimentRefusal:
    """Why no experiment is possible, and the requirements."""

    reason: Annotated[str, 'The reason, as a phrase.']
    osds: Annotated[Optional[Count], 'Required size of the group; null: unknown, or none suffices.']
    duration_s: Annotated[
        Optional[Amount],
        'Required duration with these OSDs; null: unknown, or none suffices.',
    ]


@dataclass(frozen=True)
class ExperimentPlan:
    """Preview of `experiment start`."""

    id: Annotated[Optional[str], 'Always null: nothing was started.']
    phase: Annotated[ExperimentPhase, Among((ExperimentPhase.PLANNED,)), 'Always "planned".']
    arms: Annotated[tuple[ExperimentArm, ...], 'Option strings to compare; without any effects.']
    design: Annotated[ExperimentDesign, InPlace()]
    winner: Annotated[Optional[str], 'Always null.']
    conclusion: Annotated[Optional[Answer], 'Always null.']
    summary: Annotated[str, 'The plan or the refusal, as a sentence.']
    started: Annotated[Optional[Time], 'Always null.']
    ended: Annotated[Optional[Time], 'Always null.']
    refusal: Annotated[Optional[ExperimentRefusal], 'null if the experiment is possible.']
    risk: Annotated[tuple[str, ...], 'Risks, in sentences.']
    unknown: Annotated[tuple[str, ...], 'Limitations of the experiment, in sentences.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']
    command: Annotated[str, 'Command that starts it.']


def experiment_of(state: ExperimentState) -> Experiment:
    request, found = state.request, state.conclusion
    plan, lead = request.plan, None if found is None else found.lead
    effect = Effect.BETTER if lead is not None and lead.below else Effect.UNCLEAR
    return Experiment(
        kind='experiment',
        id=state.experiment_id,
        phase=phase_of(state),
        actor=request.actor,
        arms=tuple(_arm(state, arm) for arm in request.arms),
        design=_design(request, plan, plan.duration_s, plan.block_s),
        adopt=request.adopt,
        blocks=state.measured_blocks,
        winner=None if found is None else found.winner,
        conclusion=None if found is None else found.answer,
        summary=summary_of(state),
        runner_up=None if found is None else found.runner_up,
        lead=None
        if lead is None
        else ExperimentEffect(request.objective, effect, *in_percent(lead)),
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


def experiment_plan_of(planned: PlannedExperiment) -> ExperimentPlan:
    plan = planned.plan
    osds = {} if isinstance(plan, Refusal) else dict(plan.arms)
    return ExperimentPlan(
        id=None,
        phase=ExperimentPhase.PLANNED,
        arms=tuple(
            ExperimentArm(
                name=arm.name,
                options=arm.options,
                osds=osds.get(arm.name, ()),
                predicted=arm.predicted,
                verdict=None,
                effect=(),
                dropped=None,
            )
            for arm in planned.arms
        ),
        design=_design(planned, plan, planned.duration_s, planned.block_s),
        winner=None,
        conclusion=None,
        summary=plan_summary(planned),
        started=None,
        ended=None,
        refusal=ExperimentRefusal(plan.reason, plan.osds, plan.duration_s)
        if isinstance(plan, Refusal)
        else None,
        risk=risks(planned),
        unknown=unknowns(planned),
        gates=GATES,
        command=start_command(planned),
    )


def _design(
    asked: Union[ExperimentRequest, PlannedExperiment],
    plan: Union[FoundPlan, Refusal],
    duration_s: Optional[float],
    block_s: float,
) -> ExperimentDesign:
    found = plan if isinstance(plan, FoundPlan) else None
    return ExperimentDesign(
        who=asked.who,
        signal=asked.objective,
        min_effect_percent=asked.min_effect * 100,
        max_duration_s=asked.max_duration_s,
        options_from=asked.from_options,
        controls=() if found is None else found.controls,
        detectable_percent=None if plan.detectable is None else plan.detectable * 100,
        unsafe_percent=None if plan.unsafe_detectable is None else plan.unsafe_detectable * 100,
        duration_s=duration_s,
        block_s=block_s,
        restarts=None if found is None else found.restarts,
        planned_blocks=None if found is None else found.blocks,
    )


def _arm(state: ExperimentState, arm: TriedArm) -> ExperimentArm:
    result = result_of(state, arm.name)
    signals = () if result is None else result.signals
    return ExperimentArm(
        name=arm.name,
        options=arm.options,
        osds=dict(state.request.plan.arms)[arm.name],
        predicted=arm.predicted,
        verdict=arm_verdict(state, arm.name),
        effect=tuple(
            ExperimentEffect(
                one.name, one.effect, one.change_percent, one.low_percent, one.high_percent
            )
            for one in sorted(signals, key=lambda signal: signal.name != state.request.objective)
        ),
        dropped=next(
            (
                DroppedArm(found.reason, tuple(one.name for one in found.signals), found.block)
                for found in state.dropped
                if found.name == arm.name
            ),
            None,
        ),
    )

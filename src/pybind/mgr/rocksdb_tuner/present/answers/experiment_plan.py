"""The plan of an experiment, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.experiment_plan import PlannedExperiment
from ...judge.arms import Answer
from ...notes import Among, Amount, Count, InPlace, Time
from ...operations.gates import GATES
from ...plan.experiment_design import ExperimentPlan as FoundPlan
from ...plan.experiment_design import Refusal
from ..experiments import ExperimentPhase, plan_summary, risks, start_command, unknowns
from .experiment import ExperimentArm, ExperimentDesign, PredictedGain, periods_of


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


def experiment_plan_of(planned: PlannedExperiment) -> ExperimentPlan:
    plan = planned.plan
    first = {} if isinstance(plan, Refusal) else dict(plan.periods[1].arms)
    return ExperimentPlan(
        id=None,
        phase=ExperimentPhase.PLANNED,
        arms=tuple(
            ExperimentArm(
                name=arm.name,
                options=arm.options,
                osds=first.get(arm.name, ()),
                predicted=None
                if arm.predicted is None
                else PredictedGain(
                    arm.predicted.metric, arm.predicted.low_percent, arm.predicted.high_percent
                ),
                verdict=None,
                effect=(),
                dropped=None,
            )
            for arm in planned.arms
        ),
        design=_design(planned),
        winner=None,
        conclusion=None,
        summary=plan_summary(planned),
        started=None,
        ended=None,
        refusal=_refusal(plan) if isinstance(plan, Refusal) else None,
        risk=risks(planned),
        unknown=unknowns(planned),
        gates=GATES,
        command=start_command(planned),
    )


def _design(planned: PlannedExperiment) -> ExperimentDesign:
    plan = planned.plan
    found = plan if isinstance(plan, FoundPlan) else None
    unsafe = plan.unsafe_detectable
    detectable = plan.detectable
    return ExperimentDesign(
        who=planned.who,
        signal=planned.objective,
        min_effect_percent=planned.min_effect * 100,
        max_duration_s=planned.max_duration_s,
        options_from=planned.from_options,
        controls=() if found is None else found.controls,
        detectable_percent=None if detectable is None else detectable * 100,
        unsafe_percent=None if unsafe is None else unsafe * 100,
        duration_s=planned.duration_s,
        block_s=planned.block_s,
        restarts=planned.restarts,
        periods=() if found is None else periods_of(found),
    )


def _refusal(found: Refusal) -> ExperimentRefusal:
    return ExperimentRefusal(found.reason, found.osds, found.duration_s)

"""Experiments: the plan, the one under way, and ended ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional

from ..judge.arms import Answer, Arm, Conclusion
from ..judge.records import SignalVerdict
from ..judge.signals import experiment_limits, signal_named
from ..kinds import kind_of
from ..notes import Among, Count, InPlace
from ..operations.experiment.announce import in_words
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.gates import GATES
from ..plan.experiment_design import ExperimentPlan as FoundPlan
from ..plan.experiment_design import Refusal
from ..shell import command
from ..units import (
    format_change_range,
    format_duration,
    format_effect,
    format_ids,
    format_plural,
)
from .layout import Column, outline, sections, table
from .to_json import to_json

_Result = Annotated[Optional[Conclusion], InPlace('answer', 'winner')]


@dataclass(frozen=True)
class Experiment:
    """The experiment under way, or an ended one."""

    kind: Annotated[Literal['experiment'], 'Kind of operation.']
    state: Annotated[ExperimentState, InPlace()]
    arms: Annotated[tuple[Arm, ...], 'The compared option strings.']
    blocks: Annotated[Count, 'Number of measured blocks.']
    result: _Result
    summary: Annotated[str, 'State or result, as a sentence.']


@dataclass(frozen=True)
class ExperimentOutcome:
    """Result of an experiment."""

    plan: Annotated[FoundPlan, InPlace('objective', 'min_effect_percent')]
    result: _Result
    arms: Annotated[tuple[Arm, ...], 'The arms.']


@dataclass(frozen=True)
class ExperimentPlan:
    """Preview of `experiment start`: an experiment without an id, times and a result."""

    state: Annotated[Optional[ExperimentState], InPlace('experiment_id', 'started_s', 'ended_s')]
    phase: Annotated[Stage, Among((Stage.PLANNED,)), 'Always "planned".']
    arms: Annotated[tuple[Arm, ...], 'Option strings to compare; without any effects.']
    plan: Annotated[FoundPlan, InPlace()]
    result: _Result
    summary: Annotated[str, 'The plan or the refusal, as a sentence.']
    refusal: Annotated[Optional[Refusal], 'null if the experiment is possible.']
    risk: Annotated[tuple[str, ...], 'Risks, in sentences.']
    unknown: Annotated[tuple[str, ...], 'Limitations of the experiment, in sentences.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']
    command: Annotated[str, 'Command that starts it; empty if it is not possible.']


def experiment_of(state: ExperimentState) -> Experiment:
    blocks, summary = state.measured_blocks, summary_of(state)
    return Experiment('experiment', state, state.arms, blocks, state.conclusion, summary)


def outcome_of(plan: FoundPlan, result: Optional[Conclusion]) -> ExperimentOutcome:
    return ExperimentOutcome(plan, result, plan.arms)


def experiment_plan_of(plan: FoundPlan) -> ExperimentPlan:
    planned = (
        f'{format_plural(len(plan.arms), "option string")} on {len(plan.changed)} OSDs, compared '
        f'with {len(plan.controls)} unchanged OSDs for {format_duration(plan.duration_s)}.'
    )
    return ExperimentPlan(
        state=None,
        phase=Stage.PLANNED,
        arms=plan.arms,
        plan=plan,
        result=None,
        summary=f'Not possible here: {plan.refusal.reason}.' if plan.refusal else planned,
        refusal=plan.refusal,
        risk=() if plan.refusal else tuple(_risks(plan)),
        unknown=() if plan.refusal else tuple(_unknowns(plan)),
        gates=() if plan.refusal else GATES,
        command='' if plan.refusal else start_command(plan),
    )


def summary_of(state: ExperimentState) -> str:
    """The state or the result in a sentence."""
    answer = None if state.conclusion is None else state.conclusion.answer
    text = in_words(state)
    if text is not None and answer is not Answer.FAILED:
        return text if state.ended else f'{text} The OSDs are being restored.'
    if state.ended:
        ending = 'Aborted' if state.stage is Stage.ABORTED else 'Failed'
        return f'{ending}: {state.failure}.' if state.failure else f'{ending} without a result.'
    if state.paused_reason is not None:
        return f'Waiting: {state.paused_reason}.'
    if state.stage is Stage.CHANGING:
        return 'Changing the OSDs of the arms.'
    if state.stage is Stage.RESTORING:
        return 'Restoring the OSDs.'
    measured = 'arms' if state.stage is Stage.MEASURING else 'baseline'
    return f'Measuring the {measured}, block {state.blocks} of {state.request.blocks}.'


def _risks(plan: FoundPlan) -> Iterable[str]:
    """Possible harm to the cluster."""
    limits, changed = experiment_limits(), len(plan.changed)
    soon = format_duration(limits.unsafe_blocks * plan.block_s)
    yield f'{format_plural(2 * changed, "restart")} of OSDs, one at a time.'
    yield (
        f'Up to {changed} OSDs run options that are not proven here. An arm that is worse by '
        f'{plan.unsafe_percent:.0f}% is dropped within {limits.unsafe_blocks} blocks ({soon}) '
        f'in {limits.power:.0%} of cases.'
    )
    yield 'If an OSD crashes or does not start, it is restored at once and the experiment ends.'
    yield from (f'{a.name}: {text}' for a in plan.arms for text in a.cautions)


def _unknowns(plan: FoundPlan) -> Iterable[str]:
    """What the experiment does not show."""
    yield (
        'Effects that take longer than the experiment, such as the rewriting of existing data by '
        'compactions, are not measured.'
    )
    if plan.measuring_s > plan.history_s:
        yield (
            f'The noise was measured over {format_duration(plan.history_s)}, less than the '
            'experiment takes: if OSDs drift apart later, the intervals get wider than planned.'
        )
    if plan.fill_s is None:
        yield 'The time between memtable flushes is unknown, so blocks may be too short for them.'
    for name in plan.unmeasured:
        title = signal_named(name).title
        yield f'The noise of the {title} is unknown, so harm to it may be detected late.'


def start_command(plan: FoundPlan) -> str:
    """The command that starts exactly this experiment."""
    arms = ','.join(arm.name for arm in plan.arms)
    start = ('ceph', 'rocksdb-tuner', 'experiment', 'start', '--who', plan.who, '--arms', arms)
    effect, duration = f'{plan.min_effect * 100:g}', f'{plan.max_duration_s:.0f}'
    bounds = ('--signal', plan.objective, '--min-effect', effect, '--max-duration', duration)
    return command(*start, *bounds)


def _predicted(arm: Arm) -> Optional[str]:
    found = arm.predicted
    return format_change_range(found.low_percent, found.high_percent) if found else None


_ARMS: Sequence[Column[Arm]] = (
    Column('ARM', 'name'),
    Column('OSDS', lambda arm: format_ids(arm.osds)),
    Column('PREDICTED', _predicted),
    Column('VERDICT', 'verdict'),
    Column('DROPPED', lambda arm: f'after {arm.dropped_after} blocks' if arm.dropped else None),
)
_MEASURED: Sequence[Column[tuple[Arm, SignalVerdict]]] = (
    Column('SIGNAL', lambda row: signal_named(row[1].name).title),
    Column('ARM', lambda row: row[0].name),
    Column('VERDICT', lambda row: row[1].effect.value),
    Column(
        'EFFECT',
        lambda row: format_effect(row[1].change_percent, row[1].low_percent, row[1].high_percent),
    ),
)


def experiment_plan(plan: FoundPlan) -> str:
    """Preview of `experiment start`."""
    names = (
        *('who', 'signal', 'summary', 'detectable_percent', 'controls', 'refusal', 'arms', 'risk'),
        *('unknown', 'gates', 'command'),
    )
    found: Any = to_json(experiment_plan_of(plan), kind_of(ExperimentPlan))
    return sections('Not started.', outline(found, names))


def experiment_fields(state: ExperimentState) -> Iterable[tuple[str, Optional[str]]]:
    """What only an experiment has."""
    goal = state.request.objective
    yield 'Signal', f'{goal} ({signal_named(goal).title})'
    yield 'Result' if state.ended else 'Progress', summary_of(state)
    yield 'Controls', f'osd.{format_ids(state.request.controls)} (unchanged)'
    yield 'Winner is', 'applied to the group' if state.adopt else 'recommended, not applied'


def experiment_tables(state: ExperimentState) -> str:
    """The arms, and their effect on each signal, on the goal first."""
    effects = ((arm, effect) for arm in state.arms for effect in arm.signals)
    return sections(table(_ARMS, state.arms), table(_MEASURED, effects))

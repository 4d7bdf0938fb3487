"""Experiments: the plan, the one under way, and ended ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, Optional, Union

from ..advise.experiment_plan import PlannedExperiment
from ..judge.arms import Answer, Arm, Conclusion
from ..judge.records import Effect, Predicted
from ..judge.signals import experiment_limits, signal_named
from ..notes import Among, Amount, Count, InPlace, OsdId, Time
from ..operations.experiment.records import ExperimentRequest, ExperimentState, Stage
from ..operations.experiment.results import in_percent, in_words
from ..operations.gates import GATES
from ..options.grammar import difference
from ..plan.experiment_design import ExperimentPlan as FoundPlan
from ..plan.experiment_design import Refusal
from ..shell import command
from ..units import (
    UNKNOWN,
    format_change_range,
    format_duration,
    format_effect,
    format_ids,
    format_plural,
    format_time,
)
from .layout import (
    Column,
    bullets,
    fields,
    joined,
    paragraph,
    sections,
    shell_command,
    table,
    titled,
)
from .phrases import option_value

#: A limitation of every experiment.
_SLOW_EFFECTS = (
    'Effects that take longer than the experiment, such as the rewriting of existing data by '
    'compactions, are not measured.'
)


class ExperimentPhase(str, Enum):
    """Progress of an experiment."""

    PLANNED = 'planned'
    BASELINE = 'baseline'
    CHANGING = 'changing'
    MEASURING = 'measuring'
    RESTORING = 'restoring'
    #: Waiting for the operator or a gate; see `paused_reason`.
    WAITING = 'waiting'
    DONE = 'done'
    FAILED = 'failed'
    ABORTED = 'aborted'


class ArmVerdict(str, Enum):
    BETTER = 'better'
    SAME = 'same'
    WORSE = 'worse'
    UNCLEAR = 'unclear'
    #: An OSD of the arm crashed or did not start.
    FAILED = 'failed'


def phase_of(state: ExperimentState) -> ExperimentPhase:
    waits = state.paused_reason is not None and not state.ended
    return ExperimentPhase.WAITING if waits else ExperimentPhase(state.stage.value)


def signal_title(name: str) -> str:
    """ "kv_sync time per write" """
    return signal_named(name).title


def arm_verdict(arm: Arm, objective: str) -> Optional[ArmVerdict]:
    """None before the first comparison."""
    if arm.crashed:
        return ArmVerdict.FAILED
    if arm.of(Effect.WORSE):
        return ArmVerdict.WORSE
    effects = (one.effect for one in arm.signals if one.name == objective)
    return next((ArmVerdict(effect.value) for effect in effects), None)


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
    return f'Measuring the {measured}, block {state.blocks} of {state.request.plan.blocks}.'


def plan_summary(planned: PlannedExperiment) -> str:
    """The plan or its refusal in a sentence."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        return f'Not possible here: {plan.reason}.'
    return (
        f'{format_plural(len(plan.arms), "option string")} on {len(plan.changed)} OSDs, compared '
        f'with {len(plan.controls)} unchanged OSDs for {format_duration(planned.duration_s)}.'
    )


def risks(planned: PlannedExperiment) -> tuple[str, ...]:
    """Possible harm to the cluster."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        return ()
    limits = experiment_limits()
    soon_s = limits.unsafe_blocks * plan.block_s
    restarts = f'{format_plural(plan.restarts, "restart")} of OSDs, one at a time.'
    untested = (
        f'Up to {len(plan.changed)} OSDs run options that are not proven here. An arm '
        f'that is worse by {plan.unsafe_detectable:.0%} is dropped within {limits.unsafe_blocks} '
        f'blocks ({format_duration(soon_s)}) in {1 - limits.error_rate:.0%} of cases.'
    )
    crash = 'If an OSD crashes or does not start, it is restored at once and the experiment ends.'
    cautions = (f'{arm.name}: {text}' for arm in planned.arms for text in arm.cautions)
    return restarts, untested, crash, *cautions


def unknowns(planned: PlannedExperiment) -> tuple[str, ...]:
    """What the experiment does not show."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        return ()
    found = [_SLOW_EFFECTS]
    if plan.duration_s > planned.history_s:
        found.append(
            f'The noise was measured over {format_duration(planned.history_s)}, less than the '
            'experiment takes: if OSDs drift apart later, the intervals get wider than planned.'
        )
    if planned.fill_s is None:
        found.append(
            'The time between memtable flushes is unknown, so blocks may be too short to cover '
            'them.'
        )
    found += [
        f'The noise of the {signal_title(name)} is unknown, so harm to it may be detected late.'
        for name in planned.unmeasured
    ]
    return tuple(found)


def start_command(planned: PlannedExperiment) -> str:
    """The command that starts exactly this experiment."""
    arms = ','.join(arm.name for arm in planned.arms)
    start = ('ceph', 'rocksdb-tuner', 'experiment', 'start', '--who', planned.who, '--arms', arms)
    effect, duration = f'{planned.min_effect * 100:g}', f'{planned.max_duration_s:.0f}'
    bounds = ('--signal', planned.objective, '--min-effect', effect, '--max-duration', duration)
    return command(*start, *bounds)


def would_take(found: Refusal) -> str:
    """The requirements of a refused experiment; empty if none is known to suffice."""
    ways = []
    if found.osds is not None:
        ways.append(f'a group of {found.osds} OSDs')
    if found.duration_s is not None:
        ways.append(f'{format_duration(found.duration_s)} with these OSDs')
    if found.min_effect is not None:
        ways.append(f'--min-effect {100 * found.min_effect:.0f}')
    return ' or '.join(ways)


#: Before the conclusion.
_NOTHING_YET = Conclusion(Answer.UNCLEAR)


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

    arm: Annotated[Arm, InPlace('name', 'options', 'osds', 'predicted')]
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
    state: Annotated[ExperimentState, InPlace()]
    phase: Annotated[ExperimentPhase, 'Current phase.']
    arms: Annotated[tuple[ExperimentArm, ...], 'The compared option strings.']
    design: Annotated[ExperimentDesign, InPlace()]
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
    request, found = state.request, state.conclusion or _NOTHING_YET
    plan, lead = request.plan, found.lead
    effect = Effect.BETTER if lead is not None and lead.below else Effect.UNCLEAR
    won = [arm for arm in state.arms if arm.name == found.winner]
    return Experiment(
        'experiment',
        state,
        phase_of(state),
        arms=tuple(_arm(arm, request.objective) for arm in state.arms),
        design=_design(request, plan, plan.duration_s, plan.block_s),
        blocks=state.measured_blocks,
        winner=found.winner,
        conclusion=None if state.conclusion is None else found.answer,
        summary=summary_of(state),
        runner_up=found.runner_up,
        lead=lead and ExperimentEffect(request.objective, effect, *in_percent(lead)),
        within_percent=None if found.within is None else found.within * 100,
        unproven=tuple(signal.name for arm in won for signal in arm.of(Effect.UNCLEAR)),
    )


def experiment_plan_of(planned: PlannedExperiment) -> ExperimentPlan:
    plan = planned.plan
    return ExperimentPlan(
        id=None,
        phase=ExperimentPhase.PLANNED,
        arms=tuple(_arm(arm, planned.objective) for arm in planned.arms),
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


def _arm(arm: Arm, objective: str) -> ExperimentArm:
    worse = tuple(signal.name for signal in arm.of(Effect.WORSE))
    ended = arm.dropped_after
    return ExperimentArm(
        arm,
        verdict=arm_verdict(arm, objective),
        effect=tuple(
            ExperimentEffect(s.name, s.effect, s.change_percent, s.low_percent, s.high_percent)
            for s in sorted(arm.signals, key=lambda signal: signal.name != objective)
        ),
        dropped=None if ended is None else DroppedArm(arm.why_dropped, worse, ended),
    )


_ARMS: Sequence[Column[Arm]] = (
    Column('ARM', lambda arm: arm.name),
    Column('OSDS', lambda arm: format_ids(arm.osds)),
    Column('PREDICTED', lambda arm: _predicted(arm.predicted)),
)


def experiment_plan(planned: PlannedExperiment) -> str:
    """Preview of `experiment start`."""
    found = planned.plan
    possible = isinstance(found, FoundPlan)
    return sections(
        fields(
            (
                ('Experiment', 'not started'),
                ('Who', planned.who),
                ('Signal', _signal(planned.objective)),
                ('Plan', plan_summary(planned)),
                *(
                    _precision(planned, found)
                    if isinstance(found, FoundPlan)
                    else _requirements(found)
                ),
            )
        ),
        table(_ARMS, planned.arms),
        titled('Changed options', joined(*(_changes(planned, arm) for arm in planned.arms))),
        titled('Risk', bullets(risks(planned))),
        titled('Not measured', bullets(unknowns(planned))),
        titled('Conditions for each restart', bullets(GATES if possible else ())),
        titled('To start it', shell_command(start_command(planned)) if possible else ''),
    )


def _signal(name: str) -> str:
    return f'{name} ({signal_title(name)})'


def _requirements(found: Refusal) -> Iterable[tuple[str, Optional[str]]]:
    detects = found.detectable
    yield 'Detects', None if detects is None else f'differences of {detects:.0%} or more'
    yield 'Required', would_take(found) or 'no number of OSDs or hours is known to suffice'


def _precision(planned: PlannedExperiment, found: FoundPlan) -> Iterable[tuple[str, str]]:
    limits = experiment_limits()
    yield (
        'Detects',
        (
            f'differences of {found.detectable:.0%} or more in {limits.power:.0%} of cases, with a '
            f'total error rate of {limits.error_rate:.0%}'
        ),
    )
    yield 'Controls', f'osd.{format_ids(found.controls)} (unchanged)'
    yield (
        'Duration',
        (
            f'{format_duration(planned.duration_s)} without waiting for gates: {found.blocks} '
            f'blocks of {format_duration(found.block_s)} before the change, and up to as many '
            'after it'
        ),
    )
    yield 'Restarts', f'{found.restarts}, one OSD at a time'
    yield 'Noise', f'measured over the last {format_duration(planned.history_s)}'


def _predicted(found: Optional[Predicted]) -> Optional[str]:
    return format_change_range(found.low_percent, found.high_percent) if found else None


def _changes(planned: PlannedExperiment, arm: Arm) -> str:
    changes = difference(planned.from_options, arm.options)
    text = arm.options
    # The strings of arms can be parsed; the running string may be invalid.
    if changes is not None:
        text = ', '.join(f'{c.option}={option_value(c.value_to)}' for c in changes)
    return paragraph(text, 4, f'  {arm.name}: ')


_OTHER_SIGNALS: Sequence[Column[tuple[str, str, ExperimentEffect]]] = (
    Column('SIGNAL', lambda row: row[0]),
    Column('ARM', lambda row: row[1]),
    Column('VERDICT', lambda row: row[2].effect.value),
    Column('EFFECT', lambda row: _interval(row[2])),
)


def _interval(effect: ExperimentEffect) -> str:
    return format_effect(effect.estimate_percent, effect.low_percent, effect.high_percent)


def experiment(state: ExperimentState) -> str:
    """The experiment under way, or an ended one."""
    arms, request, ended = experiment_of(state).arms, state.request, state.ended
    goal = request.objective
    columns: Sequence[Column[ExperimentArm]] = (
        Column('ARM', lambda shown: shown.arm.name),
        Column('OSDS', lambda shown: format_ids(shown.arm.osds)),
        Column('VERDICT', lambda shown: shown.verdict and shown.verdict.value),
        Column(
            'EFFECT',
            lambda shown: next((_interval(e) for e in shown.effect if e.signal == goal), None),
        ),
        Column('PREDICTED', lambda shown: _predicted(shown.arm.predicted)),
    )
    others = [(signal_title(e.signal), one.arm.name, e) for one in arms for e in one.effect]
    return sections(
        fields(
            (
                ('Experiment', state.experiment_id),
                ('Who', request.who),
                ('Signal', _signal(goal)),
                ('Started by', request.actor),
                ('Phase', phase_of(state).value),
                ('Paused', None if ended else state.paused_reason),
                ('Failure', state.failure),
                ('Result' if ended else 'Progress', summary_of(state)),
                ('Controls', f'osd.{format_ids(request.plan.controls)} (unchanged)'),
                ('Started', format_time(state.started_s) or UNKNOWN),
                ('Ended', (format_time(state.ended_s) or UNKNOWN) if ended else None),
                (
                    'Winner is',
                    'applied to the group' if request.adopt else 'recommended, not applied',
                ),
            )
        ),
        table(columns, arms),
        titled(
            'Dropped',
            bullets(
                f'{one.arm.name} after {one.dropped.block} blocks: {one.dropped.reason}'
                for one in arms
                if one.dropped is not None
            ),
        ),
        # The signals that must not get worse.
        table(_OTHER_SIGNALS, sorted((row for row in others if row[2].signal != goal), key=_names)),
    )


def _names(row: tuple[str, str, ExperimentEffect]) -> tuple[str, str]:
    return row[:2]

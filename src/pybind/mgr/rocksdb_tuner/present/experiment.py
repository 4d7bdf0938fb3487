"""Experiments: the plan, the one under way, and ended ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Annotated, Literal, Optional

from ..judge.arms import Answer, Arm, Conclusion
from ..judge.records import Effect, Predicted
from ..judge.signals import experiment_limits, signal_named
from ..notes import Among, Amount, Count, InPlace, Time
from ..operations.experiment.announce import in_words
from ..operations.experiment.records import ExperimentState, Stage
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


class ArmVerdict(str, Enum):
    BETTER = 'better'
    SAME = 'same'
    WORSE = 'worse'
    UNCLEAR = 'unclear'
    #: An OSD of the arm crashed or did not start.
    FAILED = 'failed'


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
    return f'Measuring the {measured}, block {state.blocks} of {state.request.blocks}.'


def plan_summary(plan: FoundPlan) -> str:
    """The plan or its refusal in a sentence."""
    if plan.refusal is not None:
        return f'Not possible here: {plan.refusal.reason}.'
    return (
        f'{format_plural(len(plan.arms), "option string")} on {len(plan.changed)} OSDs, compared '
        f'with {len(plan.controls)} unchanged OSDs for {format_duration(plan.duration_s)}.'
    )


def risks(plan: FoundPlan) -> tuple[str, ...]:
    """Possible harm to the cluster."""
    if plan.refusal is not None:
        return ()
    limits = experiment_limits()
    soon_s = limits.unsafe_blocks * plan.block_s
    restarts = f'{format_plural(2 * len(plan.changed), "restart")} of OSDs, one at a time.'
    untested = (
        f'Up to {len(plan.changed)} OSDs run options that are not proven here. An arm '
        f'that is worse by {plan.unsafe_detectable:.0%} is dropped within {limits.unsafe_blocks} '
        f'blocks ({format_duration(soon_s)}) in {1 - limits.error_rate:.0%} of cases.'
    )
    crash = 'If an OSD crashes or does not start, it is restored at once and the experiment ends.'
    return (
        restarts,
        untested,
        crash,
        *(f'{a.name}: {text}' for a in plan.arms for text in a.cautions),
    )


def unknowns(plan: FoundPlan) -> tuple[str, ...]:
    """What the experiment does not show."""
    if plan.refusal is not None:
        return ()
    found = [_SLOW_EFFECTS]
    if plan.measuring_s > plan.history_s:
        found.append(
            f'The noise was measured over {format_duration(plan.history_s)}, less than the '
            'experiment takes: if OSDs drift apart later, the intervals get wider than planned.'
        )
    if plan.fill_s is None:
        found.append(
            'The time between memtable flushes is unknown, so blocks may be too short to cover '
            'them.'
        )
    found += [
        f'The noise of the {signal_title(name)} is unknown, so harm to it may be detected late.'
        for name in plan.unmeasured
    ]
    return tuple(found)


def start_command(plan: FoundPlan) -> str:
    """The command that starts exactly this experiment."""
    arms = ','.join(arm.name for arm in plan.arms)
    start = ('ceph', 'rocksdb-tuner', 'experiment', 'start', '--who', plan.who, '--arms', arms)
    effect, duration = f'{plan.min_effect * 100:g}', f'{plan.max_duration_s:.0f}'
    bounds = ('--signal', plan.objective, '--min-effect', effect, '--max-duration', duration)
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
class Experiment:
    """The experiment under way, or an ended one."""

    kind: Annotated[Literal['experiment'], 'Kind of operation.']
    state: Annotated[ExperimentState, InPlace()]
    arms: Annotated[tuple[ExperimentArm, ...], 'The compared option strings.']
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
class ExperimentPlan:
    """Preview of `experiment start`."""

    id: Annotated[Optional[str], 'Always null: nothing was started.']
    phase: Annotated[Stage, Among((Stage.PLANNED,)), 'Always "planned".']
    arms: Annotated[tuple[ExperimentArm, ...], 'Option strings to compare; without any effects.']
    plan: Annotated[FoundPlan, InPlace()]
    winner: Annotated[Optional[str], 'Always null.']
    conclusion: Annotated[Optional[Answer], 'Always null.']
    summary: Annotated[str, 'The plan or the refusal, as a sentence.']
    started: Annotated[Optional[Time], 'Always null.']
    ended: Annotated[Optional[Time], 'Always null.']
    refusal: Annotated[Optional[Refusal], 'null if the experiment is possible.']
    risk: Annotated[tuple[str, ...], 'Risks, in sentences.']
    unknown: Annotated[tuple[str, ...], 'Limitations of the experiment, in sentences.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']
    command: Annotated[str, 'Command that starts it.']


def experiment_of(state: ExperimentState) -> Experiment:
    objective, found = state.request.objective, state.conclusion or _NOTHING_YET
    lead = found.lead
    effect = Effect.BETTER if lead is not None and lead.below else Effect.UNCLEAR
    return Experiment(
        'experiment',
        state,
        arms=tuple(_arm(arm, objective) for arm in state.arms),
        blocks=state.measured_blocks,
        winner=found.winner,
        conclusion=None if state.conclusion is None else found.answer,
        summary=summary_of(state),
        runner_up=found.runner_up,
        lead=lead and ExperimentEffect(objective, effect, *lead.percents),
        within_percent=None if found.within is None else found.within * 100,
        unproven=tuple(s.name for s in state.best.of(Effect.UNCLEAR)) if state.best else (),
    )


def experiment_plan_of(plan: FoundPlan) -> ExperimentPlan:
    return ExperimentPlan(
        id=None,
        phase=Stage.PLANNED,
        arms=tuple(_arm(arm, plan.objective) for arm in plan.arms),
        plan=plan,
        winner=None,
        conclusion=None,
        summary=plan_summary(plan),
        started=None,
        ended=None,
        refusal=plan.refusal,
        risk=risks(plan),
        unknown=unknowns(plan),
        gates=GATES,
        command=start_command(plan),
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
    Column('ARM', 'name'),
    Column('OSDS', lambda arm: format_ids(arm.osds)),
    Column('PREDICTED', lambda arm: _predicted(arm.predicted)),
)


def experiment_plan(plan: FoundPlan) -> str:
    """Preview of `experiment start`."""
    possible = plan.refusal is None
    return sections(
        fields(
            ('Experiment', 'not started'),
            ('Who', plan.who),
            ('Signal', _signal(plan.objective)),
            ('Plan', plan_summary(plan)),
            *(_precision(plan) if plan.refusal is None else _required(plan, plan.refusal)),
        ),
        table(_ARMS, plan.arms),
        titled('Changed options', joined(*(_changes(plan, arm) for arm in plan.arms))),
        titled('Risk', bullets(risks(plan))),
        titled('Not measured', bullets(unknowns(plan))),
        titled('Conditions for each restart', bullets(GATES if possible else ())),
        titled('To start it', shell_command(start_command(plan)) if possible else ''),
    )


def _signal(name: str) -> str:
    return f'{name} ({signal_title(name)})'


def _required(plan: FoundPlan, refusal: Refusal) -> Iterable[tuple[str, Optional[str]]]:
    detects = plan.detectable
    yield 'Detects', None if detects is None else f'differences of {detects:.0%} or more'
    yield 'Required', would_take(refusal) or 'no number of OSDs or hours is known to suffice'


def _precision(plan: FoundPlan) -> Iterable[tuple[str, str]]:
    limits = experiment_limits()
    yield (
        'Detects',
        (
            f'differences of {plan.detectable:.0%} or more in {limits.power:.0%} of cases, with a '
            f'total error rate of {limits.error_rate:.0%}'
        ),
    )
    yield 'Controls', f'osd.{format_ids(plan.controls)} (unchanged)'
    yield (
        'Duration',
        (
            f'{format_duration(plan.duration_s)} without waiting for gates: {plan.blocks} '
            f'blocks of {format_duration(plan.block_s)} before the change, and up to as many '
            'after it'
        ),
    )
    yield 'Restarts', f'{plan.restarts}, one OSD at a time'
    yield 'Noise', f'measured over the last {format_duration(plan.history_s)}'


def _predicted(found: Optional[Predicted]) -> Optional[str]:
    return format_change_range(found.low_percent, found.high_percent) if found else None


def _changes(plan: FoundPlan, arm: Arm) -> str:
    changes = difference(plan.from_options, arm.options)
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
        Column('ARM', 'arm.name'),
        Column('OSDS', lambda shown: format_ids(shown.arm.osds)),
        Column('VERDICT', lambda shown: shown.verdict and shown.verdict.value),
        Column(
            'EFFECT',
            lambda shown: next((_interval(e) for e in shown.effect if e.signal == goal), None),
        ),
        Column('PREDICTED', lambda shown: _predicted(shown.arm.predicted)),
    )
    others = [
        (signal_title(e.signal), one.arm.name, e)
        for one in arms
        for e in one.effect
        if e.signal != goal
    ]
    return sections(
        fields(
            ('Experiment', state.experiment_id),
            ('Who', request.who),
            ('Signal', _signal(goal)),
            ('Started by', state.actor),
            ('Phase', state.phase.value),
            ('Paused', None if ended else state.paused_reason),
            ('Failure', state.failure),
            ('Result' if ended else 'Progress', summary_of(state)),
            ('Controls', f'osd.{format_ids(request.controls)} (unchanged)'),
            ('Started', format_time(state.started_s) or UNKNOWN),
            ('Ended', (format_time(state.ended_s) or UNKNOWN) if ended else None),
            ('Winner is', 'applied to the group' if state.adopt else 'recommended, not applied'),
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
        table(_OTHER_SIGNALS, sorted(others, key=itemgetter(0, 1))),
    )

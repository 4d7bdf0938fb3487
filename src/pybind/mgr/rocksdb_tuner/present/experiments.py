"""Experiments in words. Pure."""

from __future__ import annotations

import math
from enum import Enum
from typing import Optional

from ..advise.experiment_plan import PlannedExperiment
from ..judge.arms import Answer, ArmResult, Contrast
from ..judge.records import SignalVerdict
from ..judge.signals import experiment_limits, signal_named
from ..judge.statistics import percent
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.experiment.wording import in_words
from ..plan.experiment_design import Refusal
from ..shell import command
from ..units import format_duration, format_plural

#: A limitation of every experiment.
_SLOW_EFFECTS = (
    'Effects that take longer than a period, such as the rewriting of existing data by '
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


def arm_verdict(state: ExperimentState, name: str) -> Optional[ArmVerdict]:
    """None before the first comparison."""
    if name in state.crashed:
        return ArmVerdict.FAILED
    if any(dropped.name == name and dropped.signals for dropped in state.dropped):
        return ArmVerdict.WORSE
    found = result_of(state, name)
    if found is None:
        return None
    if found.worse:
        return ArmVerdict.WORSE
    objective = _signal(found, state.request.objective)
    return None if objective is None else ArmVerdict(objective.effect.value)


def result_of(state: ExperimentState, name: str) -> Optional[ArmResult]:
    return next((result for result in state.results if result.name == name), None)


def _signal(result: ArmResult, name: str) -> Optional[SignalVerdict]:
    return next((signal for signal in result.signals if signal.name == name), None)


def percent_of(contrast: Optional[Contrast]) -> tuple[Optional[float], ...]:
    """Estimate and interval of a contrast, in percent."""
    if contrast is None:
        return None, None, None
    return tuple(
        None if value is None or not math.isfinite(value) else percent(value) for value in contrast
    )


def measured_blocks(state: ExperimentState) -> int:
    """Measured blocks of all periods."""
    earlier = [point for point in state.trace if point.period < state.period]
    last = {point.period: point.block for point in earlier}
    baseline = state.request.plan.shape.blocks if state.period > 0 else 0
    return baseline + sum(last.values()) + state.blocks


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
    return _progress(state)


def _progress(state: ExperimentState) -> str:
    plan = state.request.plan
    of_periods = f'period {state.period} of {plan.shape.periods}'
    if state.stage in {Stage.PLANNED, Stage.BASELINE}:
        return f'Measuring the baseline, block {state.blocks} of {plan.shape.blocks}.'
    if state.stage is Stage.CHANGING:
        return f'Changing OSDs for {of_periods}.'
    if state.stage is Stage.RESTORING:
        return 'Restoring the OSDs.'
    return f'Measuring {of_periods}, block {state.blocks} of {plan.shape.blocks}.'


def plan_summary(planned: PlannedExperiment) -> str:
    """The plan or its refusal in a sentence."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        return f'Not possible here: {plan.reason}.'
    shape = plan.shape
    return (
        f'{format_plural(shape.arms, "option string")} on {shape.changed} OSDs, compared with '
        f'{shape.controls} unchanged OSDs for {format_duration(planned.duration_s)}.'
    )


def risks(planned: PlannedExperiment) -> tuple[str, ...]:
    """Possible harm to the cluster."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        return ()
    limits = experiment_limits()
    soon_s = limits.unsafe_blocks * plan.block_s
    restarts = f'{format_plural(planned.restarts or 0, "restart")} of OSDs, one at a time.'
    untested = (
        f'Up to {plan.shape.changed} OSDs at a time run options that are not proven here. An arm '
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
    period_s = plan.shape.blocks * plan.block_s
    if 2 * period_s > planned.history_s:
        found.append(
            f'The noise was measured over {format_duration(planned.history_s)}, less than two '
            f'periods of {format_duration(period_s)}: if OSDs drift apart later, the intervals get '
            'wider than planned.'
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

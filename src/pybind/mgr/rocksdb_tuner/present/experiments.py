"""Experiments in words. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Optional

from ..advise.experiment_plan import PlannedExperiment
from ..judge.arms import Answer, ArmResult
from ..judge.signals import experiment_limits, signal_named
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.experiment.results import in_words
from ..plan.experiment_design import Refusal
from ..shell import command
from ..units import format_duration, format_plural

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
    objective = (one.effect for one in found.signals if one.name == state.request.objective)
    return next((ArmVerdict(effect.value) for effect in objective), None)


def result_of(state: ExperimentState, name: str) -> Optional[ArmResult]:
    return next((result for result in state.results if result.name == name), None)


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
    of_blocks = f'block {state.blocks} of {state.request.plan.blocks}'
    if state.stage is Stage.CHANGING:
        return 'Changing the OSDs of the arms.'
    if state.stage is Stage.RESTORING:
        return 'Restoring the OSDs.'
    measured = 'arms' if state.stage is Stage.MEASURING else 'baseline'
    return f'Measuring the {measured}, {of_blocks}.'


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

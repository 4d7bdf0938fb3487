"""Experiments: the plan and the state."""

from __future__ import annotations

from typing import Optional

from ...advise.experiment_arms import TriedArm
from ...advise.experiment_plan import PlannedExperiment
from ...judge.records import Predicted
from ...judge.signals import experiment_limits
from ...operations.experiment.records import ExperimentState
from ...operations.gates import GATES
from ...options.grammar import difference
from ...plan.experiment_design import ExperimentPlan, Refusal
from ...units import (
    UNKNOWN,
    format_change_range,
    format_duration,
    format_effect,
    format_ids,
    format_time,
)
from ..answers.experiment import Experiment, experiment_of
from ..experiments import (
    phase_of,
    plan_summary,
    risks,
    signal_title,
    start_command,
    summary_of,
    unknowns,
    would_take,
)
from ..layout import Column, fields, paragraph, shell_command, table
from .phrases import bullets, option_value, sections, titled


def experiment_plan(planned: PlannedExperiment) -> str:
    """Preview of `experiment start`."""
    found = planned.plan
    pairs = [
        ('Experiment', 'not started'),
        ('Who', planned.who),
        ('Signal', _signal(planned.objective)),
        ('Plan', plan_summary(planned)),
    ]
    if isinstance(found, Refusal):
        pairs += _refusal(found)
    else:
        pairs += _precision(planned, found)
    first = {} if isinstance(found, Refusal) else dict(found.arms)
    return sections(
        fields(pairs),
        _planned_arms(planned, first),
        titled('Changed options', '\n'.join(_changes(planned, arm) for arm in planned.arms)),
        titled('Risk', bullets(risks(planned))),
        titled('Not measured', bullets(unknowns(planned))),
        *(
            ()
            if isinstance(found, Refusal)
            else (
                titled('Conditions for each restart', bullets(GATES)),
                titled('To start it', shell_command(start_command(planned))),
            )
        ),
    )


def _signal(name: str) -> str:
    return f'{name} ({signal_title(name)})'


def _refusal(found: Refusal) -> list[tuple[str, str]]:
    pairs = []
    if found.detectable is not None:
        pairs.append(('Detects', f'differences of {found.detectable:.0%} or more'))
    pairs.append(
        ('Required', would_take(found) or 'no number of OSDs or hours is known to suffice')
    )
    return pairs


def _precision(planned: PlannedExperiment, found: ExperimentPlan) -> list[tuple[str, str]]:
    limits = experiment_limits()
    detects = (
        f'differences of {found.detectable:.0%} or more in {limits.power:.0%} of cases, with a '
        f'total error rate of {limits.error_rate:.0%}'
    )
    duration = (
        f'{format_duration(planned.duration_s)} without waiting for gates: {found.blocks} blocks '
        f'of {format_duration(found.block_s)} before the change, and up to as many after it'
    )
    return [
        ('Detects', detects),
        ('Controls', f'osd.{format_ids(found.controls)} (unchanged)'),
        ('Duration', duration),
        ('Restarts', f'{found.restarts}, one OSD at a time'),
        ('Noise', f'measured over the last {format_duration(planned.history_s)}'),
    ]


def _planned_arms(planned: PlannedExperiment, first: dict[str, tuple[int, ...]]) -> str:
    return table(
        (
            Column('ARM'),
            Column('OSDS'),
            Column('PREDICTED'),
        ),
        [
            (
                arm.name,
                format_ids(first.get(arm.name, ())),
                _predicted(arm.predicted),
            )
            for arm in planned.arms
        ],
    )


def _predicted(found: Optional[Predicted]) -> str:
    if found is None:
        return UNKNOWN
    return format_change_range(found.low_percent, found.high_percent)


def _changes(planned: PlannedExperiment, arm: TriedArm) -> str:
    changes = difference(planned.from_options, arm.options)
    # The strings of arms can be parsed; the running string may be invalid.
    text = (
        arm.options
        if changes is None
        else ', '.join(f'{c.option}={option_value(c.value_to)}' for c in changes)
    )
    return paragraph(text, 4, f'  {arm.name}: ')


def experiment(state: ExperimentState) -> str:
    """The experiment under way, or an ended one."""
    shown, request = experiment_of(state), state.request
    pairs = [
        ('Experiment', state.experiment_id),
        ('Who', request.who),
        ('Signal', _signal(request.objective)),
        ('Started by', request.actor),
        ('Phase', phase_of(state).value),
    ]
    if state.paused_reason is not None and not state.ended:
        pairs.append(('Paused', state.paused_reason))
    if state.failure is not None:
        pairs.append(('Failure', state.failure))
    pairs += [
        ('Result' if state.ended else 'Progress', summary_of(state)),
        ('Controls', f'osd.{format_ids(request.plan.controls)} (unchanged)'),
        ('Started', format_time(state.started_s) or UNKNOWN),
        *([('Ended', format_time(state.ended_s) or UNKNOWN)] if state.ended else []),
        ('Winner is', 'applied to the group' if request.adopt else 'recommended, not applied'),
    ]
    return sections(
        fields(pairs),
        _arms(shown),
        titled('Dropped', bullets(_dropped(shown))),
        _others(shown),
    )


def _arms(shown: Experiment) -> str:
    return table(
        (
            Column('ARM'),
            Column('OSDS'),
            Column('VERDICT'),
            Column('EFFECT'),
            Column('PREDICTED'),
        ),
        [
            (
                arm.name,
                format_ids(arm.osds),
                UNKNOWN if arm.verdict is None else arm.verdict.value,
                _effect(shown, number),
                UNKNOWN
                if arm.predicted is None
                else format_change_range(arm.predicted.low_percent, arm.predicted.high_percent),
            )
            for number, arm in enumerate(shown.arms)
        ],
    )


def _effect(shown: Experiment, number: int) -> str:
    """Effect on the goal of the experiment."""
    for effect in shown.arms[number].effect:
        if effect.signal == shown.design.signal:
            return format_effect(effect.estimate_percent, effect.low_percent, effect.high_percent)
    return UNKNOWN


def _dropped(shown: Experiment) -> list[str]:
    return [
        f'{arm.name} after {arm.dropped.block} blocks: {arm.dropped.reason}'
        for arm in shown.arms
        if arm.dropped is not None
    ]


def _others(shown: Experiment) -> str:
    """The signals that must not get worse."""
    rows = [
        (
            signal_title(effect.signal),
            arm.name,
            effect.effect.value,
            format_effect(effect.estimate_percent, effect.low_percent, effect.high_percent),
        )
        for arm in shown.arms
        for effect in arm.effect
        if effect.signal != shown.design.signal
    ]
    if not rows:
        return ''
    return table(
        (
            Column('SIGNAL'),
            Column('ARM'),
            Column('VERDICT'),
            Column('EFFECT'),
        ),
        sorted(rows),
    )

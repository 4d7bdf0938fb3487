"""Experiments: the plan, the one under way, and past ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Optional

from ...judge.records import Effect
from ...judge.winner import Answer
from ...operations.phases import Outcome
from .notes import Among, Amount, Count, InPlace, OsdId, Time

_WHO = 'Config mask of the group.'
_NAME = 'Name of the arm: the profile that it tries.'


class ExperimentPhase(str, Enum):
    """Where an experiment stands."""

    PLANNED = 'planned'
    BASELINE = 'baseline'
    CHANGING = 'changing'
    MEASURING = 'measuring'
    RESTORING = 'restoring'
    #: For the operator or a gate; `paused_reason` says which.
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
    block: Annotated[Optional[Count], 'Number of measured blocks until then; null: unknown.']


@dataclass(frozen=True)
class ExperimentArm:
    """An option string on some OSDs."""

    name: Annotated[str, _NAME]
    options: Annotated[str, 'Option string of the arm.']
    osds: Annotated[
        tuple[OsdId, ...],
        'OSDs of the arm in the current period, or in the first one before it begins.',
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
    osds: tuple[OsdId, ...]


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
    """All arms after one block."""

    block: Annotated[Count, 'Number of measured blocks so far.']
    period: Annotated[Count, 'Period of the block; 0 is the baseline.']
    time: Annotated[Optional[Time], 'End of the block. ISO 8601, UTC.']
    arms: tuple[TracedArm, ...]


@dataclass(frozen=True)
class ExperimentDesign:
    """What is tried on which OSDs, and with what precision."""

    who: Annotated[str, _WHO]
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
class ExperimentRefusal:
    """Why no experiment is possible, and what it would take."""

    reason: Annotated[str, 'The reason, as a phrase.']
    osds: Annotated[
        Optional[Count], 'Size of the group that it would take; null: unknown, or none suffices.'
    ]
    duration_s: Annotated[
        Optional[Amount],
        'Duration that it would take with these OSDs; null: unknown, or none suffices.',
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
    risk: Annotated[tuple[str, ...], 'What can happen, in sentences.']
    unknown: Annotated[tuple[str, ...], 'What the experiment does not tell, in sentences.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']


@dataclass(frozen=True)
class Experiment:
    """The experiment under way, or an ended one."""

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
        'better by it; "unclear": the data does not tell; null: not yet.',
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
class ExperimentSummary:
    """One experiment in a list; null fields are not kept for older ones."""

    id: Annotated[str, 'Id of the experiment, as in history.']
    who: Annotated[str, _WHO]
    actor: Annotated[str, 'Client that requested it.']
    arms: Annotated[tuple[str, ...], 'Names of the arms.']
    phase: Annotated[Optional[ExperimentPhase], 'Phase.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    winner: Annotated[Optional[str], 'Best arm; null: none, or not yet.']
    conclusion: Annotated[Optional[Answer], 'Result; null: not yet.']
    started: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    ended: Annotated[Optional[Time], 'End time. ISO 8601, UTC.']

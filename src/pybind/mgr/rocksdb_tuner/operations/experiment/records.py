"""The state of an experiment, and its transitions. Pure.

Every change of OSDs is a leg: a rollout without a soak, of which there is at most one at a time.
The leg of the stage `CHANGING` gives OSDs the option strings of their arms, each by its own entry.
A leg of any other stage is a rollback: it restores own entries to exactly what was recorded before
the experiment, and restarts the OSDs that may run anything else.

Times are seconds since the epoch, for display only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Annotated, Optional

from ...judge.arms import Arm, Conclusion
from ...notes import AsTime, InPlace, Named
from ...plan.entries import own
from ...plan.experiment_design import ExperimentPlan
from .. import phases
from ..phases import Outcome, Phase, clip
from ..rollout.records import (
    UNCHANGED,
    AskedRestart,
    Before,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from ..rollout.rollback import rolled_back

#: Ids of experiments begin with this letter.
EXPERIMENT = 'E'


class Stage(str, Enum):
    """Progress of an experiment."""

    #: A plan; nothing was started.
    PLANNED = 'planned'
    #: Nothing is changed yet: OSDs are measured with their old option string.
    BASELINE = 'baseline'
    #: OSDs get the option strings of their arms, one OSD at a time.
    CHANGING = 'changing'
    #: With a leg: the OSDs of a dropped arm are restored.
    MEASURING = 'measuring'
    #: Every OSD is restored to its old option string, one OSD at a time.
    RESTORING = 'restoring'
    #: Only shown: for the operator or a gate; see `paused_reason`.
    WAITING = 'waiting'
    DONE = 'done'
    #: Ended without a result: an OSD crashed, or the plan no longer matches the cluster.
    FAILED = 'failed'
    #: Ended by an operator.
    ABORTED = 'aborted'


#: An OSD was changed, and its change is complete.
CHANGED = frozenset({OsdStep.VERIFIED, OsdStep.COLLAPSED})


@dataclass(frozen=True)
class ExperimentState:
    experiment_id: Annotated[str, Named('id'), 'Id of the experiment, as in history.']
    #: Its arms have their results, too, once there are any.
    request: Annotated[ExperimentPlan, InPlace()]
    #: As in the audit log ("client.admin").
    actor: Annotated[str, 'Client that requested it.']
    adopt: Annotated[bool, 'Whether the winner is applied to the group at the end.']
    #: Entries and options of every OSD of the experiment, controls included.
    before: Before
    #: The OSDs of the arms, in the order in which they are changed, without the leg under way. Left
    #: behind: its own entry was changed externally and is kept.
    osds: tuple[OsdProgress, ...]
    started_s: Annotated[float, Named('started'), AsTime(), 'Start time. ISO 8601, UTC.']
    updated_s: Annotated[
        float, Named('updated'), AsTime(), 'Time of the last change. ISO 8601, UTC.'
    ]
    ended_s: Annotated[
        Optional[float],
        Named('ended'),
        AsTime(),
        'End time; null while it is under way. ISO 8601, UTC.',
    ] = None
    stage: Stage = Stage.BASELINE
    #: Measured blocks of the baseline or, once it is complete, after the change.
    blocks: int = 0
    #: The change of OSDs under way, and how many there were.
    leg: Optional[RolloutState] = None
    legs: int = 0
    #: The last requested restart, as long as it may still happen.
    asked: Optional[AskedRestart] = None
    #: How long managers had been active when it started: see `operations.stopwatch`.
    started_steady_s: float = 0.0
    conclusion: Optional[Conclusion] = None
    #: An external change seen once; it counts when seen again.
    pending_conflict: Optional[str] = None
    #: How it ends once every OSD is restored; without a reason: as planned.
    ending: Optional[Ending] = None
    paused_by: Annotated[Optional[str], 'Client that requested the pause.'] = None
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.'] = (
        None
    )
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.'] = None
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.'] = None
    #: An operator has acknowledged how it ended.
    acknowledged: bool = False
    #: Its end is in the history.
    recorded: bool = False

    @property
    def operation_id(self) -> str:
        return self.experiment_id

    @property
    def phase(self) -> Annotated[Stage, 'Current phase.']:
        waits = self.paused_reason is not None and not self.ended
        return Stage.WAITING if waits else self.stage

    @property
    def ended(self) -> bool:
        return self.stage in {Stage.DONE, Stage.FAILED, Stage.ABORTED}

    @property
    def measured_blocks(self) -> int:
        """Of the baseline and after the change."""
        return self.blocks + (self.request.blocks if self.legs else 0)

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.request.arms

    @cached_property
    def arm_of(self) -> Mapping[int, Arm]:
        """The arm of each of its OSDs."""
        return {n: arm for arm in self.arms for n in arm.osds}

    @property
    def best(self) -> Optional[Arm]:
        """The arm that won; None: none did, or not yet."""
        name = None if self.conclusion is None else self.conclusion.winner
        return next((arm for arm in self.arms if arm.name == name), None)

    @property
    def remaining(self) -> tuple[Arm, ...]:
        """Arms that were not dropped."""
        return tuple(arm for arm in self.arms if not arm.dropped)

    @property
    def changed(self) -> frozenset[int]:
        """OSDs that run the option string of their arm."""
        return frozenset(osd.osd_id for osd in self.osds if osd.step in CHANGED)

    @property
    def off(self) -> frozenset[int]:
        """OSDs that may not run their old option string, or may not start with it."""
        return self.changed.union(() if self.leg is None else self.leg.request.order)


# -- legs


def as_rollout(state: ExperimentState) -> RolloutState:
    """The leg under way, or all OSDs of the experiment between two legs, for evaluation only."""
    if state.leg is not None:
        return state.leg
    controls = map(OsdProgress, state.request.controls)
    return replace(
        _leg(state, (*state.osds, *controls)),
        rollout_id=state.experiment_id,
        stage=Phase.PROMOTING,
        pending_conflict=state.pending_conflict,
    )


def change(state: ExperimentState, osd_ids: Iterable[int]) -> ExperimentState:
    """Give each OSD the option string of its arm; in this order."""
    return _with_leg(state, _leg(state, map(OsdProgress, osd_ids)))


def back(state: ExperimentState, osd_ids: Collection[int]) -> ExperimentState:
    """Restore those of these OSDs that may be changed; no leg afterwards if there is none."""
    after = without_leg(state)
    parts = [o for o in after.osds if o.osd_id in osd_ids and o.step not in UNCHANGED]
    if not parts:
        return after
    actor = f'the experiment, of {len(parts)} OSD(s)'
    leg = rolled_back(_leg(state, parts), actor, state.updated_s, paused_by=state.paused_by)
    return _with_leg(after, leg)


def without_leg(state: ExperimentState) -> ExperimentState:
    """The OSDs as the leg left them."""
    steps = {} if state.leg is None else state.leg.by_id
    found = (steps.get(osd.osd_id, osd) for osd in state.osds)
    osds = (replace(o, step=OsdStep.VERIFIED) if o.step in CHANGED else o for o in found)
    return replace(state, leg=None, osds=tuple(osds))


def left_alone(state: ExperimentState, entries: Mapping[str, str]) -> ExperimentState:
    """OSDs with an unexpected own entry are not restored."""
    left = {
        n
        for n, arm in state.arm_of.items()
        if n in state.off and entries.get(own(n)) not in {state.before.entry(own(n)), arm.options}
    }

    def known(osds: tuple[OsdProgress, ...]) -> tuple[OsdProgress, ...]:
        return tuple(replace(o, step=OsdStep.LEFT_BEHIND) if o.osd_id in left else o for o in osds)

    leg = None if state.leg is None else replace(state.leg, osds=known(state.leg.osds))
    return replace(state, osds=known(state.osds), leg=leg)


def _with_leg(state: ExperimentState, leg: RolloutState) -> ExperimentState:
    return replace(state, leg=leg, legs=state.legs + 1, pending_conflict=None, paused_reason=None)


def _leg(state: ExperimentState, osds: Iterable[OsdProgress]) -> RolloutState:
    progress = tuple(osds)
    order = tuple(osd.osd_id for osd in progress)
    return RolloutState(
        rollout_id=f'{state.experiment_id}.{state.legs + 1}',
        request=state.request.change_of(state.experiment_id, state.actor, order),
        before=replace(state.before, osds=tuple(state.before.by_id[n] for n in order)),
        osds=progress,
        started_s=state.updated_s,
        updated_s=state.updated_s,
        paused_by=state.paused_by,
        asked=state.asked,
    )


# -- transitions


def with_arms(state: ExperimentState, arms: Iterable[Arm]) -> ExperimentState:
    return replace(state, request=replace(state.request, arms=tuple(arms)))


def waiting(state: ExperimentState, reason: str) -> ExperimentState:
    return replace(state, paused_reason=clip(reason))


def ending(state: ExperimentState, outcome: Outcome, reason: str = '') -> ExperimentState:
    """Restore every OSD, then end like this; the first ending is kept."""
    if state.ending is not None:
        return state
    return replace(state, ending=Ending(outcome, clip(reason)))


def failing(state: ExperimentState, reason: str) -> ExperimentState:
    """End as failed. The reason of an earlier ending comes first, and an abort stays an abort."""
    end = state.ending or Ending(Outcome.FAILED, '')
    outcome = Outcome.FAILED if end.outcome is Outcome.DONE else end.outcome
    text = '; '.join(filter(None, (end.reason, reason)))
    return replace(state, ending=Ending(outcome, clip(text)))


def finished(state: ExperimentState, now_s: float, leftovers: str = '') -> ExperimentState:
    """The final state; ``leftovers``: what was not restored."""
    end = state.ending or Ending(Outcome.DONE, '')
    outcome = Outcome.FAILED if leftovers and end.outcome is Outcome.DONE else end.outcome
    return replace(
        without_leg(state),
        stage=Stage.FAILED if leftovers else Stage(outcome.value),
        outcome=outcome,
        failure=clip('; '.join(filter(None, (end.reason, leftovers)))) or None,
        ending=None,
        pending_conflict=None,
        paused_by=None,
        paused_reason=None,
        updated_s=now_s,
        ended_s=now_s,
    )


def stamped(old: ExperimentState, new: ExperimentState, now_s: float) -> ExperimentState:
    return phases.stamped(old, new, now_s, held=not new.ended and new.leg is None)

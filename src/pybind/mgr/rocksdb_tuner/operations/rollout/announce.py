"""Cluster log lines and progress of a rollout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...judge.records import Verdict
from ...judge.verdict import in_words
from ..announce import ACTION_AFTER_S, Line, Progress, Texts, gate_stays_closed, with_remedy
from ..phases import Outcome, Phase
from .records import UNCHANGED, Direction, OsdStep, RolloutState, recovery_ending
from .rules import restoring_command
from .soak import undecided


def why_failed(state: RolloutState) -> Optional[str]:
    """Why an ended rollout failed; None if it ended as intended."""
    if state.stage is Phase.FAILED:
        changed = any(osd.step not in UNCHANGED for osd in state.osds)
        # The operator knows about an abort; OSDs that stay changed must not be forgotten.
        if state.outcome is not Outcome.ABORTED or changed:
            return state.failure or 'no reason was recorded'
    if state.stage is Phase.ROLLED_BACK and state.verdict is Verdict.WORSE:
        return state.failure or 'rolled back by the verdict'
    return None


def in_danger(state: RolloutState) -> Optional[str]:
    """What is done with the OSD in flight although the state cannot be stored."""
    osd = state.in_flight
    if osd is None:
        return None
    command = restoring_command(state, osd.osd_id)
    return (
        f'osd.{osd.osd_id} is finished all the same: if it does not start, "{command}" is run, and '
        'the OSD is started again'
    )


def why_waiting(state: RolloutState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting rollout; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    # A pause requires no action, unless an OSD is being restored in spite of it.
    paused = state.paused_by is not None and state.direction is not Direction.RECOVER
    if state.ended or state.paused_reason is None or paused:
        return None
    # An OSD in the middle of its change may not wait as long for a gate as one before it.
    in_the_middle = state.in_flight is not None and waited_s >= ACTION_AFTER_S
    if undecided(state) or state.errors > 0 or in_the_middle:
        return state.paused_reason
    if gate_stays_closed(waited_s):
        return with_remedy(state.paused_reason, 'rollout')
    return None


_FINISHED = frozenset(
    {OsdStep.VERIFIED, OsdStep.COLLAPSING, OsdStep.COLLAPSED, OsdStep.LEFT_BEHIND}
)
_STEPS = {
    OsdStep.SETTING: 'gets its new options',
    OsdStep.RESTARTING: 'is restarting',
    OsdStep.VERIFIED: 'runs its new options',
    OsdStep.RESTORING: 'gets its previous options back',
    OsdStep.RESTORED: 'is restored',
    OsdStep.LEFT_BEHIND: 'is left behind',
}


def transitions(before: Optional[RolloutState], after: RolloutState) -> Iterator[Line]:
    """Log lines for the transition between two states, in order."""
    request = after.request
    if before is None or before.rollout_id != after.rollout_id:
        yield Line(
            f'{request.actor} applies {request.recommendation_id} ({request.kind.value}) for '
            f'{request.who} to {len(after.osds)} OSD(s), osd.{request.order[0]} first'
        )
        return
    if after.judgement is not None and after.judgement != before.judgement:
        yield Line(f'the verdict on osd.{request.order[0]}: {in_words(after.judgement)}')
    if after.direction is not before.direction and not after.ended:
        yield _turn(after)
    if after.stage is not before.stage and not after.ended:
        yield Line(f'{before.stage.value} -> {after.stage.value}')
    yield from osd_transitions(before, after)
    if after.ended and not before.ended:
        yield _end(after)
    elif after.paused_reason != before.paused_reason:
        yield Line(
            'continues' if after.paused_reason is None else f'waiting: {after.paused_reason}',
            warning=undecided(after),
        )


def osd_transitions(before: RolloutState, after: RolloutState) -> Iterator[Line]:
    """The part about single OSDs, between two states of one rollout."""
    for old, new in zip(before.osds, after.osds):
        if new.step is not old.step and new.step in _STEPS:
            reason = '' if new.left_reason is None else f': {new.left_reason}'
            yield Line(f'osd.{new.osd_id} {_STEPS[new.step]}{reason}', warning=bool(reason))


def _turn(state: RolloutState) -> Line:
    if state.direction is Direction.RECOVER:
        return Line(f'restoring an OSD: {recovery_ending(state).reason}', warning=True)
    return Line(f'rolling back all OSDs: {state.failure}', warning=True)


def _end(state: RolloutState) -> Line:
    outcome = '' if state.outcome is None else state.outcome.value
    failure = why_failed(state)
    cause = None if state.judgement is None else state.judgement.cause
    reason = failure or state.failure or cause
    return Line(f'{outcome}: {reason}' if reason else outcome, warning=failure is not None)


def progress(state: RolloutState) -> Progress:
    """Complete only once it ended."""
    forward = state.direction is Direction.FORWARD
    finished = sum(osd.step in (_FINISHED if forward else UNCHANGED) for osd in state.osds)
    where = f'{finished} of {len(state.osds)} OSDs, {state.phase.value}'
    doing = 'Changing' if forward else 'Restoring'
    message = f'{doing} RocksDB options of {state.request.who} ({where})'
    begun = state.stage not in {Phase.PLANNED, Phase.PREFLIGHT}
    return Progress(message, min(0.99, finished / len(state.osds)) if begun else 0.0)


TEXTS = Texts(transitions, progress, why_failed, why_waiting, in_danger)

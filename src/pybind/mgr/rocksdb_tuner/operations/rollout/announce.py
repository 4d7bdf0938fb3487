"""Cluster log lines and progress of a rollout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...judge.verdict import in_words
from ..announce import Announcer, Line, Progress
from ..phases import Phase
from ..texts import clip
from .alarm import why_failed
from .records import Direction, OsdStep, RolloutState
from .soak import undecided
from .states import UNCHANGED, recovery_ending

_FINISHED = frozenset(
    {
        OsdStep.VERIFIED,
        OsdStep.COLLAPSING,
        OsdStep.REPINNING,
        OsdStep.COLLAPSED,
        OsdStep.LEFT_BEHIND,
    }
)
_FINISHED_BACK = UNCHANGED
_STEPS = {
    OsdStep.SETTING: 'gets its new options',
    OsdStep.RESTARTING: 'is restarting',
    OsdStep.VERIFIED: 'runs its new options',
    OsdStep.RESTORING: 'gets its previous options back',
    OsdStep.RESTORED: 'is restored',
    OsdStep.LEFT_BEHIND: 'is left behind',
}


class RolloutAnnouncer(Announcer[RolloutState]):
    def _lines(self, before: Optional[RolloutState], after: RolloutState) -> Iterator[Line]:
        for line in transitions(before, after):
            yield Line(f'rollout {after.rollout_id}: {clip(line.text)}', line.warning)

    def _progress(self, state: RolloutState) -> Progress:
        return Progress(_message(state), _share(state))

    def _failure(self, state: RolloutState) -> Optional[str]:
        return why_failed(state)


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
    reason = failure or state.failure
    if reason is None and state.judgement is not None:
        reason = state.judgement.cause
    return Line(f'{outcome}: {reason}' if reason else outcome, warning=failure is not None)


def _message(state: RolloutState) -> str:
    doing = 'Restoring' if state.direction is not Direction.FORWARD else 'Changing'
    where = f'{_finished(state)} of {len(state.osds)} OSDs'
    return f'{doing} RocksDB options of {state.request.who} ({where}, {state.phase.value})'


def _share(state: RolloutState) -> float:
    """0..1; complete only once it ended."""
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return 0.0
    return min(0.99, _finished(state) / len(state.osds))


def _finished(state: RolloutState) -> int:
    steps = _FINISHED if state.direction is Direction.FORWARD else _FINISHED_BACK
    return sum(osd.step in steps for osd in state.osds)

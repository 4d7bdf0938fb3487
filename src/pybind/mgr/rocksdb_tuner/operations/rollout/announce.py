"""What a rollout tells the cluster while it goes on."""

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
from .states import UNCHANGED, the_ending

_FINISHED = frozenset(
    {
        OsdStep.VERIFIED,
        OsdStep.COLLAPSING,
        OsdStep.SHIELDING,
        OsdStep.COLLAPSED,
        OsdStep.LEFT_BEHIND,
    }
)
_FINISHED_BACK = UNCHANGED
_STEPS = {
    OsdStep.SETTING: 'gets its new options',
    OsdStep.RESTARTING: 'is restarted',
    OsdStep.VERIFIED: 'runs its new options',
    OsdStep.RESTORING: 'gets its old options back',
    OsdStep.RESTORED: 'is as it was before',
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
    """What became of a rollout between two states, in the order in which it is told."""
    request = after.request
    if before is None or before.rollout_id != after.rollout_id:
        yield Line(
            f'{request.recommendation_id} ({request.kind.value}) for {request.who} is carried out '
            f'for {request.actor} on {len(after.osds)} OSD(s), osd.{request.order[0]} first'
        )
        return
    if after.judgement is not None and after.judgement != before.judgement:
        yield Line(f'the verdict on osd.{request.order[0]}: {in_words(after.judgement)}')
    if after.direction is not before.direction and not after.ended:
        yield _turn(after)
    if after.stage is not before.stage and not after.ended:
        yield Line(f'{before.stage.value} -> {after.stage.value}')
    for old, new in zip(before.osds, after.osds):
        if new.step is not old.step and new.step in _STEPS:
            told = '' if new.left_reason is None else f': {new.left_reason}'
            yield Line(f'osd.{new.osd_id} {_STEPS[new.step]}{told}', warning=bool(told))
    if after.ended and not before.ended:
        yield _end(after)
    elif after.paused_reason != before.paused_reason:
        yield Line(
            'goes on' if after.paused_reason is None else f'waits: {after.paused_reason}',
            warning=undecided(after),
        )


def _turn(state: RolloutState) -> Line:
    if state.direction is Direction.RECOVER:
        return Line(f'an OSD is restored: {the_ending(state).reason}', warning=True)
    return Line(f'everything is rolled back: {state.failure}', warning=True)


def _end(state: RolloutState) -> Line:
    outcome = '' if state.outcome is None else state.outcome.value
    failure = why_failed(state)
    told = failure or state.failure
    if told is None and state.judgement is not None:
        told = state.judgement.cause
    return Line(f'{outcome}: {told}' if told else outcome, warning=failure is not None)


def _message(state: RolloutState) -> str:
    doing = 'Restoring' if state.direction is not Direction.FORWARD else 'Changing'
    where = f'{_finished(state)} of {len(state.osds)} OSDs'
    return f'{doing} RocksDB options of {state.request.who} ({where}, {state.phase.value})'


def _share(state: RolloutState) -> float:
    """0..1; the whole only once it ended."""
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return 0.0
    return min(0.99, _finished(state) / len(state.osds))


def _finished(state: RolloutState) -> int:
    steps = _FINISHED if state.direction is Direction.FORWARD else _FINISHED_BACK
    return sum(osd.step in steps for osd in state.osds)

"""Cluster log lines and progress of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Optional

from ...units import format_ids
from ..announce import Announcer, Line, Progress
from ..phases import clip
from ..rollout.announce import osd_transitions
from .alarm import why_failed
from .records import ExperimentState, LegKind, Stage
from .wording import in_words

_LEGS = {
    LegKind.CHANGE: 'get the option strings of their arms, one OSD at a time',
    LegKind.RECHECK: 'restarted together with others and are checked again',
    LegKind.DROP: 'get their old option string back, one OSD at a time',
    LegKind.RESTORE: 'get their old option string back, one OSD at a time, and the experiment ends',
}
#: Complete only at the end.
_DONE = 0.99


class ExperimentAnnouncer(Announcer[ExperimentState]):
    def taken_over(self, state: Optional[ExperimentState]) -> None:
        super().taken_over(state)
        if state is not None and state.ended:
            # The previous manager may have ended before it could complete the event.
            self._end(state)

    def _lines(self, before: Optional[ExperimentState], after: ExperimentState) -> Iterator[Line]:
        for line in transitions(before, after):
            yield Line(f'experiment {after.experiment_id}: {clip(line.text)}', line.warning)

    def _progress(self, state: ExperimentState) -> Progress:
        return progress(state)

    def _failure(self, state: ExperimentState) -> Optional[str]:
        return why_failed(state)


def transitions(before: Optional[ExperimentState], after: ExperimentState) -> Iterator[Line]:
    """Log lines for the transition between two states, in order."""
    request = after.request
    if before is None or before.experiment_id != after.experiment_id:
        arms = ', '.join(arm.name for arm in request.arms)
        yield Line(
            f'{request.actor} compares {arms} on {request.plan.shape.changed} OSD(s) of '
            f'{request.who} with {len(request.plan.controls)} unchanged OSD(s)'
        )
        return
    for arm in islice(after.dropped, len(before.dropped), None):
        yield Line(f'{arm.name} ends early: {arm.reason}', warning=True)
    for old, new in zip(before.osds, after.osds):
        if new.lost is not None and old.lost is None:
            yield Line(f'continues without osd.{new.osd_id}: {new.lost}', warning=True)
    if after.conclusion is not None and before.conclusion is None:
        yield Line(f'{in_words(after)}')
    if after.ending is not None and before.ending is None and after.ending.reason is not None:
        yield Line(f'ends: {after.ending.reason}', warning=True)
    if after.stage is Stage.MEASURING and before.stage is not Stage.MEASURING:
        yield Line(f'period {after.period} of {len(request.plan.periods) - 1} is being measured')
    yield from _of_leg(before, after)
    if after.ended and not before.ended:
        failure = why_failed(after)
        reason = failure or after.failure
        outcome = 'ended' if after.outcome is None else after.outcome.value
        yield Line(f'{outcome}: {reason}' if reason else outcome, warning=failure is not None)
    elif after.paused_reason != before.paused_reason:
        reason = after.paused_reason
        yield Line('continues' if reason is None else f'waiting: {reason}')


def _of_leg(before: ExperimentState, after: ExperimentState) -> Iterator[Line]:
    leg = after.leg
    if leg is None or after.leg_kind is None:
        return
    if after.legs != before.legs:
        yield Line(f'OSD(s) {format_ids(leg.request.order)} {_LEGS[after.leg_kind]}')
    # Same number of legs: the leg is the same, and its phases are the experiment's.
    elif before.leg is not None:
        yield from osd_transitions(before.leg, leg)


def progress(state: ExperimentState) -> Progress:
    plan = state.request.plan
    blocks = [period.blocks + period.settle_blocks for period in plan.periods]
    done = sum(blocks[: state.period]) + (0 if state.stage is Stage.CHANGING else state.blocks)
    arms = len(state.request.arms) - len(state.dropped)
    message = (
        f'Comparing {arms} RocksDB option strings on {state.request.who} '
        f'(period {state.period} of {len(plan.periods) - 1}, {state.phase.value})'
    )
    return Progress(
        message, _DONE if state.stage is Stage.RESTORING else min(_DONE, done / sum(blocks))
    )

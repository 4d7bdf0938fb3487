"""Transitions of the state of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Optional

from ..phases import Outcome, clip, paused_text
from .records import ExperimentEnding, ExperimentOsd, ExperimentState, Stage

_STAGES = {
    Outcome.DONE: Stage.DONE,
    Outcome.FAILED: Stage.FAILED,
    Outcome.ABORTED: Stage.ABORTED,
}


def with_osds(state: ExperimentState, changed: Iterable[ExperimentOsd]) -> ExperimentState:
    by_id = {osd.osd_id: osd for osd in changed}
    return replace(state, osds=tuple(by_id.get(osd.osd_id, osd) for osd in state.osds))


def waiting(state: ExperimentState, reason: str) -> ExperimentState:
    return replace(state, paused_reason=clip(reason))


def ending(
    state: ExperimentState, outcome: Outcome, reason: Optional[str] = None
) -> ExperimentState:
    """Restore every OSD, then end like this; the first ending is kept."""
    if state.ending is not None:
        return state
    return replace(
        state, ending=ExperimentEnding(outcome, None if reason is None else clip(reason))
    )


def failing(state: ExperimentState, reason: str) -> ExperimentState:
    """End as failed. The reason of an earlier ending comes first, and an abort stays an abort."""
    end = state.ending or ExperimentEnding(Outcome.FAILED)
    outcome = Outcome.FAILED if end.outcome is Outcome.DONE else end.outcome
    text = reason if end.reason is None else f'{end.reason}; {reason}'
    return replace(state, ending=ExperimentEnding(outcome, clip(text)))


def finished(
    state: ExperimentState, now_s: float, leftovers: Optional[str] = None
) -> ExperimentState:
    """The final state; ``leftovers``: what was not restored, None if everything was."""
    end = state.ending or ExperimentEnding(Outcome.DONE)
    texts = [end.reason, leftovers]
    outcome = end.outcome
    if leftovers is not None and outcome is Outcome.DONE:
        outcome = Outcome.FAILED
    return replace(
        state,
        stage=Stage.FAILED if leftovers is not None else _STAGES[outcome],
        outcome=outcome,
        failure=clip('; '.join(text for text in texts if text is not None)) or None,
        ending=None,
        leg=None,
        leg_kind=None,
        pending_conflict=None,
        paused_by=None,
        paused_reason=None,
        ended_s=now_s,
    )


def stamped(old: ExperimentState, new: ExperimentState, now_s: float) -> ExperimentState:
    if new.paused_by is not None and not new.ended and new.leg is None:
        new = replace(new, paused_reason=paused_text(new.paused_by))
    return new if new == old else replace(new, updated_s=now_s)

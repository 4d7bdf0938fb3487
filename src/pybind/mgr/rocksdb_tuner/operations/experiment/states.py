"""Queries and transitions of the state of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Optional

from ..phases import Outcome, clip, paused_text
from .records import (
    DroppedArm,
    ExperimentEnding,
    ExperimentOsd,
    ExperimentState,
    Stage,
)

#: Longest reason, of which there may be one for each OSD.
_REASON_MAX = 200
_STAGES = {
    Outcome.DONE: Stage.DONE,
    Outcome.FAILED: Stage.FAILED,
    Outcome.ABORTED: Stage.ABORTED,
}


def osd_of(state: ExperimentState, osd_id: int) -> ExperimentOsd:
    return next(osd for osd in state.osds if osd.osd_id == osd_id)


def with_osds(state: ExperimentState, changed: Iterable[ExperimentOsd]) -> ExperimentState:
    by_id = {osd.osd_id: osd for osd in changed}
    return replace(state, osds=tuple(by_id.get(osd.osd_id, osd) for osd in state.osds))


def without(state: ExperimentState, lost: Mapping[int, str]) -> ExperimentState:
    """The experiment continues without these OSDs, for these reasons."""
    return with_osds(
        state,
        (
            replace(osd, lost=clip(lost[osd.osd_id], _REASON_MAX))
            for osd in state.osds
            if osd.osd_id in lost
        ),
    )


def taking_part(state: ExperimentState) -> tuple[ExperimentOsd, ...]:
    """OSDs that were not lost."""
    return tuple(osd for osd in state.osds if osd.lost is None)


def controls(state: ExperimentState) -> tuple[int, ...]:
    planned = set(state.request.plan.controls)
    return tuple(osd.osd_id for osd in taking_part(state) if osd.osd_id in planned)


def remaining(state: ExperimentState) -> tuple[str, ...]:
    """Arms that were not dropped."""
    ended = {arm.name for arm in state.dropped}
    return tuple(arm.name for arm in state.request.arms if arm.name not in ended)


def planned_arms(state: ExperimentState, period: int) -> dict[str, tuple[int, ...]]:
    """The OSDs of each remaining arm in a period of the plan, as far as they take part."""
    here, arms = {osd.osd_id for osd in taking_part(state)}, set(remaining(state))
    return {
        name: tuple(n for n in osds if n in here)
        for name, osds in state.request.plan.periods[period].arms
        if name in arms
    }


def wanted(state: ExperimentState) -> dict[int, str]:
    """The arm of each OSD in the current period; OSDs that are not in it run their old string."""
    return {n: arm for arm, osds in planned_arms(state, state.period).items() for n in osds}


def with_dropped(state: ExperimentState, dropped: Iterable[DroppedArm]) -> ExperimentState:
    return replace(state, dropped=(*state.dropped, *dropped))


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
    texts = [end.reason, _who_was_lost(state), leftovers]
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


def _who_was_lost(state: ExperimentState) -> Optional[str]:
    lost = [osd.lost for osd in state.osds if osd.lost is not None]
    if not lost:
        return None
    more = f' and {len(lost) - 3} more' if len(lost) > 3 else ''
    return f'it continued without some OSDs: {", ".join(lost[:3])}{more}'

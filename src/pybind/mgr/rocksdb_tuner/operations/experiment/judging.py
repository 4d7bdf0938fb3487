"""Decisions based on the measurements of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Optional

from ...judge.arms import Answer, ArmResult, Comparison, Conclusion, conclude, to_end
from ...judge.records import Effect, SignalVerdict
from ...judge.signals import experiment_limits, signal_named
from ...units import format_change
from ..phases import Outcome
from .records import DroppedArm, ExperimentState
from .states import ending


def compared(state: ExperimentState, comparison: Comparison) -> ExperimentState:
    """Record the comparison after a block, and drop arms that are worse."""
    left = [arm for arm in comparison.arms if arm.name in state.remaining]
    worse = to_end(comparison)
    dropped = (_dropped(state, arm) for arm in left if arm.name in worse)
    state = replace(state, results=comparison.arms, dropped=(*state.dropped, *dropped))
    # The first blocks may differ from the others, and tell little about the other signals.
    early = state.blocks < experiment_limits().unsafe_blocks
    return state if early else concluded(state, comparison, over=False)


def concluded(
    state: ExperimentState, comparison: Optional[Comparison], *, over: bool
) -> ExperimentState:
    """End the experiment if its question is answered, or its time is up."""
    found = Conclusion(Answer.UNCLEAR) if over else None
    if comparison is not None:
        dropped = [arm.name for arm in state.dropped]
        found = conclude(comparison, state.request.min_effect, over, dropped)
    return state if found is None else ending(replace(state, conclusion=found), Outcome.DONE)


def failed(state: ExperimentState, arms: Iterable[str], reason: str) -> ExperimentState:
    """OSDs of these arms crashed or did not start, which ends the experiment."""
    crashed = tuple(sorted({*state.crashed, *arms}))
    conclusion = Conclusion(Answer.FAILED, failed=crashed)
    state = replace(state, crashed=crashed, conclusion=state.conclusion or conclusion)
    return ending(state, Outcome.FAILED, reason)


def _dropped(state: ExperimentState, result: ArmResult) -> DroppedArm:
    signals = tuple(signal for signal in result.signals if signal.effect is Effect.WORSE)
    effects = ', '.join(_in_words(signal) for signal in signals)
    return DroppedArm(result.name, f'worse: {effects}', signals, state.blocks)


def _in_words(signal: SignalVerdict) -> str:
    title = signal_named(signal.name).title
    change = signal.change_percent
    return title if change is None else f'{title} {format_change(change)}'

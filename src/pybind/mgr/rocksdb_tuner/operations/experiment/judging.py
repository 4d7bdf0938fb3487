"""Decisions based on the measurements of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Optional

from ...judge.arms import Answer, ArmResult, Comparison, Conclusion, conclude, to_end
from ...judge.records import Effect, SignalVerdict
from ...judge.signals import limits, signal_named
from ...units import format_change
from ..phases import Outcome
from .records import ArmGain, DroppedArm, ExperimentState, PairResult, TracePoint
from .states import controls, ending, remaining, with_dropped
from .wording import in_percent

#: Points of the trace; older ones are thinned out.
TRACE_MAX = 120


def compared(state: ExperimentState, comparison: Comparison, now_s: float) -> ExperimentState:
    """Record the comparison after a block, and drop arms that are worse."""
    worse = [name for name in to_end(comparison) if name in remaining(state)]
    results = {arm.name: arm for arm in comparison.arms}
    kept = replace(
        state,
        results=comparison.arms,
        pairs=tuple(
            PairResult(arm, other, contrast)
            for (arm, other), contrast in sorted(comparison.pairs.items())
        ),
        trace=_thinned((*state.trace, _point(state, comparison, now_s))),
    )
    dropped = (_dropped(state, results[name]) for name in worse)
    return concluded(with_dropped(kept, dropped), over=False)


def concluded(state: ExperimentState, *, over: bool) -> ExperimentState:
    """End the experiment if its question is answered, or its time is up."""
    comparison = state.comparison
    if comparison is None:
        found = Conclusion(Answer.UNCLEAR) if over else None
    else:
        dropped = [arm.name for arm in state.dropped]
        found = conclude(comparison, state.request.min_effect, over, dropped)
        if not remaining(state) and not all(arm.signals for arm in state.dropped):
            # For an arm that lost its OSDs, it is unknown whether it was better.
            found = Conclusion(Answer.UNCLEAR)
    return state if found is None else _end(state, found)


def enough_controls(state: ExperimentState) -> ExperimentState:
    """End the experiment if too few controls are left for any comparison."""
    left, least = len(controls(state)), limits().least_controls
    if left >= least or state.ending is not None:
        return state
    reason = f'only {left} of its controls are left, and it needs {least}'
    return _end(state, Conclusion(Answer.UNCLEAR), reason)


def failed(state: ExperimentState, arms: Iterable[str], reason: str) -> ExperimentState:
    """OSDs of these arms crashed or did not start, which ends the experiment."""
    crashed = tuple(sorted({*state.crashed, *arms}))
    conclusion = Conclusion(Answer.FAILED, failed=crashed)
    return ending(
        replace(state, crashed=crashed, conclusion=state.conclusion or conclusion),
        Outcome.FAILED,
        reason,
    )


def _end(
    state: ExperimentState, conclusion: Conclusion, reason: Optional[str] = None
) -> ExperimentState:
    return ending(replace(state, conclusion=conclusion), Outcome.DONE, reason)


def _dropped(state: ExperimentState, result: ArmResult) -> DroppedArm:
    signals = tuple(signal for signal in result.signals if signal.effect is Effect.WORSE)
    effects = ', '.join(_in_words(signal) for signal in signals)
    return DroppedArm(result.name, f'worse: {effects}', signals, state.period, state.blocks)


def _in_words(signal: SignalVerdict) -> str:
    title = signal_named(signal.name).title
    change = signal.change_percent
    return title if change is None else f'{title} {format_change(change)}'


def _point(state: ExperimentState, comparison: Comparison, now_s: float) -> TracePoint:
    left = set(remaining(state))
    return TracePoint(
        round(now_s, 1),
        state.period,
        state.blocks,
        tuple(_gain(arm) for arm in comparison.arms if arm.name in left),
    )


def _gain(arm: ArmResult) -> ArmGain:
    gain = arm.gain
    if gain is None:
        return ArmGain(arm.name, None, None, None)
    return ArmGain(arm.name, *in_percent(gain))


def _thinned(points: tuple[TracePoint, ...]) -> tuple[TracePoint, ...]:
    """At most `TRACE_MAX`; the first and the newest are kept."""
    if len(points) <= TRACE_MAX:
        return points
    return (*points[:-1:2], points[-1])

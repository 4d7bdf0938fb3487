"""An experiment and its result as text. Pure."""

from __future__ import annotations

from typing import Optional

from ...judge.arms import Contrast
from ...judge.signals import signal_named
from ...judge.statistics import percent
from ...judge.winner import Answer, Conclusion
from ...units import format_effect
from .records import ExperimentState


def in_words(state: ExperimentState) -> Optional[str]:
    """The conclusion in one line; None: there is none."""
    conclusion = state.conclusion
    if conclusion is None:
        return None
    share = f'{state.request.min_effect:.0%}'
    if conclusion.answer is Answer.WINNER:
        return _winner(state, conclusion)
    if conclusion.answer is Answer.NO_DIFFERENCE:
        within = share if conclusion.within is None else f'{conclusion.within:.1%}'
        return f'no difference of more than {within}'
    return {
        Answer.NO_GAIN: f'no arm is better by {share} or more',
        Answer.UNCLEAR: f'a difference of {share} could not be detected',
        Answer.FAILED: f'failed: {", ".join(conclusion.failed)} crashed or did not start',
    }[conclusion.answer]


def in_percent(contrast: Contrast) -> tuple[Optional[float], Optional[float], Optional[float]]:
    """Estimate and interval in percent, as stored; None: not bounded."""
    estimate, low, high = (
        None if value is None else round(percent(value), 2) for value in contrast
    )
    return estimate, low, high


def contrast_in_words(contrast: Contrast) -> str:
    return format_effect(*in_percent(contrast))


def _winner(state: ExperimentState, conclusion: Conclusion) -> str:
    title = signal_named(state.request.objective).title
    text = f'{conclusion.winner} is best'
    if conclusion.gain is not None:
        text += f': {title} {contrast_in_words(conclusion.gain)}'
    if conclusion.runner_up is not None and conclusion.lead is not None:
        text += f'; against {conclusion.runner_up} {contrast_in_words(conclusion.lead)}'
    return text

"""The result of an experiment as text. Pure."""

from __future__ import annotations

import math
from typing import Optional

from ...judge.arms import Answer, Conclusion, Contrast
from ...judge.signals import signal_named
from ...judge.statistics import percent
from ...units import format_effect
from .records import ExperimentState


def in_words(state: ExperimentState) -> Optional[str]:
    """The conclusion in sentences; None: there is none."""
    found = state.conclusion
    if found is None:
        return None
    least = state.request.min_effect
    if found.answer is Answer.WINNER:
        return ' '.join(_winner(state, found))
    return {
        Answer.NO_DIFFERENCE: (
            'No arm differs from the old options by more than '
            f'{_upper(least if found.within is None else found.within)}.'
        ),
        Answer.NO_GAIN: f'No arm is better than the old options by {least:.0%} or more.',
        Answer.UNCLEAR: 'The measurements do not show which option string is better.',
        Answer.FAILED: f'An OSD with {" or ".join(found.failed)} crashed or did not start.',
    }[found.answer]


def _winner(state: ExperimentState, found: Conclusion) -> list[str]:
    measured = (
        ''
        if found.gain is None
        else f': {_title(state.request.objective)} {format_effect(*in_percent(found.gain))}'
    )
    sentences = [f'{found.winner} is better than the old options{measured}.']
    if found.runner_up is not None and found.lead is not None:
        sentences.append(
            f'It is ahead of {found.runner_up}.'
            if found.lead.below
            else f'The measurements do not show whether it is better than {found.runner_up}.'
        )
    if found.unproven:
        titles = ', '.join(map(_title, found.unproven))
        sentences.append(f'Not shown to be no worse: {titles}.')
    return sentences


def _upper(share: float) -> str:
    """A bound in percent, not rounded down."""
    return f'{math.ceil(round(100 * share, 6))}%'


def _title(signal: str) -> str:
    return signal_named(signal).title


def in_percent(contrast: Contrast) -> tuple[Optional[float], Optional[float], Optional[float]]:
    """Estimate and interval in percent, as stored; None: not bounded."""
    estimate, low, high = (
        None if value is None else round(percent(value), 2) for value in contrast
    )
    return estimate, low, high

"""Estimates of the model as text."""

from __future__ import annotations

from typing import Callable, Optional

from ...lsm.model import WorkingSet
from ...lsm.records import Estimate
from ...units import UNKNOWN, format_count


def estimated(found: Optional[Estimate], form: Callable[[Optional[float]], str]) -> str:
    """ "1.9x (1.7x to 2.1x)" """
    if found is None:
        return UNKNOWN
    low, value, high = form(found.low), form(found.value), form(found.high)
    return value if low == high == value else f'{value} ({low} to {high})'


def objects_written_to(found: Optional[WorkingSet]) -> str:
    """Estimated from measurements; without them, any number that fits the database."""
    if found is None:
        return UNKNOWN
    if found.fitted is None:
        most = format_count(found.prior.high)
        return f'up to {most}: not measured yet'
    return f'{estimated(found.fitted, format_count)}, estimated from writes'

"""Estimates of the model as JSON."""

from __future__ import annotations

from typing import Optional

from ..lsm.records import Estimate
from ..lsm.working_set import WorkingSet
from ..units import rounded
from .json_types import JsonObject

__all__ = ['estimate', 'working_set']


def estimate(found: Optional[Estimate]) -> Optional[JsonObject]:
    """A prediction with the interval that holds 80%; null where there is none."""
    if found is None:
        return None
    return {
        'low': rounded(found.low),
        'value': rounded(found.value),
        'high': rounded(found.high),
    }


def working_set(found: Optional[WorkingSet]) -> Optional[JsonObject]:
    """Objects that clients write to, before and after what was measured."""
    if found is None:
        return None
    return {'prior': estimate(found.prior), 'fitted': estimate(found.fitted)}

"""Estimates of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...lsm.model import WorkingSet
from ...lsm.records import Estimate as FoundEstimate
from .copies import like, like_if_any
from .notes import Amount


@dataclass(frozen=True)
class Estimate:
    """A prediction with its 80% interval, from measurements."""

    low: Amount
    value: Amount
    high: Amount


@dataclass(frozen=True)
class Objects:
    """Objects that clients write to."""

    prior: Annotated[
        Estimate, 'Estimate before any measurement: at most what fits into the database.'
    ]
    fitted: Annotated[
        Optional[Estimate],
        'Estimate from the measured write amplification of the OSD; null if that is not '
        'informative.',
    ]


def estimate_of(found: FoundEstimate) -> Estimate:
    return like(Estimate, found)


def estimate_if_any(found: Optional[FoundEstimate]) -> Optional[Estimate]:
    return like_if_any(Estimate, found)


def objects_of(found: Optional[WorkingSet]) -> Optional[Objects]:
    if found is None:
        return None
    return Objects(estimate_of(found.prior), estimate_if_any(found.fitted))

"""Estimates of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...lsm.records import Estimate as FoundEstimate
from ...lsm.working_set import WorkingSet
from .copies import like, like_if_any
from .notes import Amount


@dataclass(frozen=True)
class Estimate:
    """A prediction with the interval that held 80% of the measurements."""

    low: Amount
    value: Amount
    high: Amount


@dataclass(frozen=True)
class Objects:
    """Objects that clients write to."""

    prior: Annotated[
        Estimate, 'Before anything was measured: up to what the database has room for.'
    ]
    fitted: Annotated[
        Optional[Estimate],
        'With the write amplification that the OSD measured; null where that tells nothing.',
    ]


def estimate_of(found: FoundEstimate) -> Estimate:
    return like(Estimate, found)


def estimate_if_any(found: Optional[FoundEstimate]) -> Optional[Estimate]:
    return like_if_any(Estimate, found)


def objects_of(found: Optional[WorkingSet]) -> Optional[Objects]:
    if found is None:
        return None
    return Objects(estimate_of(found.prior), estimate_if_any(found.fitted))

"""Estimates of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...lsm.model import WorkingSet
from ...lsm.records import Estimate


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


def objects_of(found: Optional[WorkingSet]) -> Optional[Objects]:
    if found is None:
        return None
    return Objects(found.prior, found.fitted)

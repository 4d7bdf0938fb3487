"""Assessment of a group of OSDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .records import Decision, Recommendation
from .weighing import Weighing


@dataclass(frozen=True)
class Assessment:
    """Assessment of one group."""

    who: str
    #: If nothing is recommended.
    conclusion: Decision
    recommendations: tuple[Recommendation, ...]
    #: The weighed candidates; None if there is no resource to relieve.
    weighing: Optional[Weighing] = None

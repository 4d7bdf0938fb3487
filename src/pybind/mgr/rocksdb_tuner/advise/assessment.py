"""What was concluded for a group of OSDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .records import Recommendation
from .weighing import Weighing

__all__ = ['Assessment']


@dataclass(frozen=True)
class Assessment:
    """What was concluded for one group; ``conclusion`` says why where nothing is recommended."""

    who: str
    conclusion: str
    recommendations: tuple[Recommendation, ...]
    #: The option sets that were weighed; None where nothing is to be relieved.
    weighing: Optional[Weighing] = None

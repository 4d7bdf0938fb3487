"""What is known of one OSD of which there are only files."""

from __future__ import annotations

from dataclasses import dataclass

from ..collection.records import OsdCollection
from ..mgr.records import OsdInfo
from .configured import Configured
from .measure import Measured


@dataclass(frozen=True)
class OsdJudged:
    """One OSD, and how it came to be known."""

    info: OsdInfo
    collected: OsdCollection
    measured: Measured
    configured: Configured

"""One OSD as known from files."""

from __future__ import annotations

from dataclasses import dataclass

from ..collection.records import OsdCollection
from ..mgr.records import OsdInfo
from .configured import Configured
from .measure import Measured


@dataclass(frozen=True)
class OsdJudged:
    """One OSD with its files, measurements and options."""

    info: OsdInfo
    collected: OsdCollection
    measured: Measured
    configured: Configured

"""Options that were enabled in an OSD, stored until they are restored. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Override:
    """One option that was enabled."""

    name: str
    #: The previous override; None: there was none, so this one is removed.
    previous: Optional[str]


@dataclass(frozen=True)
class OsdOverrides:
    """The options of one OSD process; a restart drops them."""

    osd_id: int
    nonce: int
    time_s: float
    switched: tuple[Override, ...]

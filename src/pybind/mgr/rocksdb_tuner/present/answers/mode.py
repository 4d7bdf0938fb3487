"""The mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...snapshot import Mode


@dataclass(frozen=True)
class ModeInForce:
    """Operating mode of the module."""

    mode: Annotated[Mode, 'Current mode.']
    possible: Annotated[tuple[Mode, ...], 'All modes.']


def mode_of(current: Mode) -> ModeInForce:
    return ModeInForce(current, tuple(Mode))

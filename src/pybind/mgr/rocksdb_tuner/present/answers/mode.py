"""The mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...snapshot import Mode


@dataclass(frozen=True)
class ModeInForce:
    """How much the module may do."""

    mode: Annotated[Mode, 'The mode in force.']
    possible: Annotated[tuple[Mode, ...], 'All modes.']


def mode_of(current: Mode) -> ModeInForce:
    return ModeInForce(current, tuple(Mode))

"""Checks of the module and its surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...doctor import Check
from .copies import like


@dataclass(frozen=True)
class DoctorCheck:
    """One check of the module and its surroundings."""

    id: Annotated[str, 'Stable id of the check.']
    ok: Annotated[Optional[bool], 'Whether it passed; null: unknown so far.']
    summary: Annotated[str, 'What was found.']
    remedy: Annotated[Optional[str], 'What to do, with commands; null: nothing.']
    optional: Annotated[bool, 'Whether the module works without it.']


def checks_of(checks: Sequence[Check]) -> tuple[DoctorCheck, ...]:
    return tuple(like(DoctorCheck, check, id=check.check_id) for check in checks)

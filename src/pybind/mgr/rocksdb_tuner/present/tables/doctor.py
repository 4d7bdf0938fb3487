"""The table of `doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from ...doctor import Check
from ..layout import Column, paragraph, table
from .phrases import sections


def doctor(checks: Sequence[Check]) -> str:
    """One row per check, then the remedies, the required checks first."""
    rows = [(check.check_id, _state(check), check.summary) for check in checks]
    summary = Column('SUMMARY', flexible=True, wrap=True, min_width=24)
    failed = sorted((c for c in checks if c.ok is False), key=lambda check: check.optional)
    return sections(
        table((Column('CHECK'), Column('STATE'), summary), rows),
        '\n'.join(
            paragraph(check.remedy, 4, f'{check.check_id}: ')
            for check in failed
            if check.remedy is not None
        ),
    )


def _state(check: Check) -> str:
    if check.ok is None:
        return 'unknown'
    if check.ok:
        return 'ok'
    return 'off' if check.optional else 'FAILED'

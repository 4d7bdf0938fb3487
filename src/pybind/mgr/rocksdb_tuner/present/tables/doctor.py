"""The lines of `doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from ...doctor import DoctorCheck
from ..layout import paragraph

#: Of the states.
_WIDTH = 9


def doctor(checks: Sequence[DoctorCheck]) -> str:
    """A line per check, with the remedy below those that failed."""
    return '\n'.join(
        line
        for check in checks
        for line in (
            paragraph(f'{check.check_id}: {check.summary}', _WIDTH, _state(check)),
            *(
                [paragraph(check.remedy, _WIDTH + 8, f'{" " * _WIDTH}remedy:')]
                if check.ok is False and check.remedy is not None
                else []
            ),
        )
    )


def _state(check: DoctorCheck) -> str:
    if check.ok is None:
        return 'unknown'
    if check.ok:
        return 'ok'
    return 'off' if check.optional else 'FAILED'

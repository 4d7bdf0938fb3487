"""The operator's maintenance window: when OSDs may be changed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
_HOURS = re.compile(r'([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)')


@dataclass(frozen=True)
class MaintenanceWindow:
    """As configured; an empty text sets no bound."""

    #: "sat,sun" or "mon-fri": the days on which a window begins.
    days: str = ''
    #: "22:00-04:00": a window that ends before it starts ends on the next day.
    hours: str = ''


def outside(window: MaintenanceWindow, weekday: int, minute: int) -> Optional[str]:
    """Why nothing may start now; None inside the window.

    ``weekday`` counts from Monday, 0, ``minute`` from midnight, both in the manager's local time.
    An invalid window blocks every start until it is corrected.
    """
    days = _days(window.days)
    if days is None:
        return (
            f'invalid maintenance_days "{window.days}": use days as in "sat,sun" or "mon-fri" '
            f'({", ".join(DAYS)}), or leave it empty for every day'
        )
    hours = _minutes(window.hours)
    if hours is None:
        return (
            f'invalid maintenance_hours "{window.hours}": use hours as in "22:00-04:00", or leave '
            'it empty for all day'
        )
    begin, end = hours
    if begin < end:
        inside = weekday in days and begin <= minute < end
    else:
        began_yesterday = (weekday - 1) % 7 in days and minute < end
        inside = began_yesterday or (weekday in days and minute >= begin)
    if inside:
        return None
    window_text = ' '.join(text for text in (window.days, window.hours) if text.strip())
    return f"outside the maintenance window ({window_text}, the manager's local time)"


def _days(text: str) -> Optional[frozenset[int]]:
    """None for an invalid text."""
    found: set[int] = set()
    for part in text.lower().replace(' ', '').split(',') if text.strip() else ('mon-sun',):
        first, dash, last = part.partition('-')
        if first not in DAYS or (dash and last not in DAYS):
            return None
        begin = DAYS.index(first)
        count = (DAYS.index(last) - begin) % 7 if dash else 0
        found |= {(begin + i) % 7 for i in range(count + 1)}
    return frozenset(found)


def _minutes(text: str) -> Optional[tuple[int, int]]:
    """Start and end in minutes from midnight; None for an invalid text."""
    if not text.strip():
        return 0, 24 * 60
    match = _HOURS.fullmatch(text.replace(' ', ''))
    if match is None:
        return None
    begin_hour, begin_minute, end_hour, end_minute = map(int, match.groups())
    begin, end = begin_hour * 60 + begin_minute, end_hour * 60 + end_minute
    return None if begin == end else (begin, end)

"""Human-readable numbers, formatted as in Ceph's own commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from functools import wraps
from typing import Optional

#: Shown for an unknown value.
UNKNOWN = '-'

_IEC = ('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')
_SI = ('', 'k', 'M', 'G', 'T', 'P', 'E')
_SIGNIFICANT_DIGITS = 6
_DIGITS_OF_64_BITS = 20


def natural(text: Optional[str]) -> Optional[int]:
    """An unsigned 64-bit integer as Ceph writes it; None for any other text.

    int() alone raises on thousands of digits and accepts digits other than 0 to 9.
    """
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > _DIGITS_OF_64_BITS:
        return None
    number = int(text)
    return number if number < 1 << 64 else None


def rounded(value: Optional[float]) -> Optional[float]:
    """``value`` with six significant digits, more precise than any measurement.

    Integers are unchanged. Infinity and NaN, which JSON lacks, become None.
    """
    if value is None or isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    if value == 0.0:
        return 0.0
    short = float(f'{value:.{_SIGNIFICANT_DIGITS}g}')
    # The largest floats would round up beyond the range of a float.
    return short if math.isfinite(short) else value


def _or_unknown(formatted: Callable[[float], str]) -> Callable[[Optional[float]], str]:
    """The same for a value that may be unknown, infinite or no number."""

    @wraps(formatted)
    def text(value: Optional[float]) -> str:
        return UNKNOWN if value is None or not math.isfinite(value) else formatted(value)

    return text


@_or_unknown
def format_bytes(value: float) -> str:
    """Bytes as Ceph prints them: "512 B", "1.2 MiB", "60 GiB"."""
    number, prefix = _scaled(value, 1024, _IEC)
    return f'{number} {prefix}B'


@_or_unknown
def format_bytes_short(value: float) -> str:
    """Bytes for a narrow column, as in `ceph osd status`: "512", "1.2M", "60G"."""
    number, prefix = _scaled(value, 1024, _IEC)
    return number + prefix[:1].replace('K', 'k')


@_or_unknown
def format_bytes_rate(value: float) -> str:
    """Bytes per second: "1.2 MiB/s"."""
    return f'{format_bytes(value)}/s'


@_or_unknown
def format_count(value: float) -> str:
    """A number without a unit: "0.4", "842", "1.2k"."""
    number, prefix = _scaled(value, 1000, _SI)
    return number + prefix


@_or_unknown
def format_count_rate(value: float) -> str:
    """Operations per second, as in `ceph -s`: "1.2k op/s"."""
    return f'{format_count(value)} op/s'


@_or_unknown
def format_ms(value_ms: float) -> str:
    """A latency: "0.42 ms", "12 ms", "1.5 s"."""
    if abs(value_ms) >= 999.5:
        return f'{_two_digits(value_ms / 1000)} s'
    return f'{_two_digits(value_ms)} ms'


@_or_unknown
def format_ratio(value: float) -> str:
    """A multiple: "4.7x"."""
    return f'{_two_digits(value)}x'


@_or_unknown
def format_percent(ratio: float) -> str:
    """A share from 0 to 1 in percent: "87%", "0.4%"."""
    percent = ratio * 100
    if 0 < abs(percent) < 0.95:
        return f'{percent:.1g}%' if abs(percent) >= 0.095 else '<0.1%'
    return f'{percent:.0f}%'


def format_used(used_bytes: Optional[int], total_bytes: Optional[int]) -> str:
    """Usage of a device: "1.2 GiB of 60 GiB (2%)"; "1.2 GiB" without a total."""
    if used_bytes is None or not total_bytes:
        return format_bytes(used_bytes)
    part = format_percent(used_bytes / total_bytes)
    return f'{format_bytes(used_bytes)} of {format_bytes(total_bytes)} ({part})'


def format_change(percent: float) -> str:
    """A change in percent: "+31%", "0%"."""
    number = f'{percent:+.0f}'
    return '0%' if number in {'+0', '-0'} else f'{number}%'


def format_change_range(low_percent: float, high_percent: float) -> str:
    """A range of a change in percent: "+5 to +25%", "-10%"."""
    low, high = format_change(low_percent), format_change(high_percent)
    return low if low == high else f'{low.removesuffix("%")} to {high}'


def format_effect(
    percent: Optional[float], low_percent: Optional[float], high_percent: Optional[float]
) -> str:
    """A change with its interval: "-13% (-18 to -6%)", "-13% (unbounded)"."""
    if percent is None:
        return UNKNOWN
    interval = (
        'unbounded'
        if low_percent is None or high_percent is None
        else format_change_range(low_percent, high_percent)
    )
    return f'{format_change(percent)} ({interval})'


@_or_unknown
def format_duration(seconds: float) -> str:
    """An age or an interval in its two largest units: "8s", "5m", "2h 5m", "4d 3h"."""
    if seconds < 0:
        # Clock skew: a time in the near future counts as now.
        return '0s'
    if seconds < 9.95:
        return f'{seconds:.1f}'.rstrip('0').rstrip('.') + 's'
    whole = round(seconds)
    if whole < 120:
        return f'{whole}s'
    minutes = whole // 60
    if minutes < 60:
        return f'{minutes}m'
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f'{hours}h {minutes}m' if minutes else f'{hours}h'
    days, hours = divmod(hours, 24)
    if days >= 100_000:
        return f'{days:.0e}d'
    return f'{days}d {hours}h' if hours and days < 14 else f'{days}d'


@_or_unknown
def format_span(seconds: float) -> str:
    """A duration to the second, in its two largest units: "50s", "4m 10s", "2h 5m"."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 1_000_000:
        return f'{hours:.0e}h'
    parts = ((hours, 'h'), (minutes, 'm'), (rest, 's'))
    shown = [f'{number}{unit}' for number, unit in parts if number]
    return ' '.join(shown[:2]) or '0s'


def format_time(time_s: Optional[float]) -> Optional[str]:
    """A time in seconds since the epoch as ISO 8601, UTC: "2026-01-31T23:59:59Z".

    None if it is unknown or out of the calendar's range.
    """
    if time_s is None or not math.isfinite(time_s):
        return None
    try:
        moment = datetime.fromtimestamp(time_s, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None
    # strftime writes years before 1000 with fewer than four digits.
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + 'Z'


def format_ids(osd_ids: Iterable[int]) -> str:
    """OSD ids as ranges: "0-2,5,7-9"."""
    ranges: list[list[int]] = []
    for osd_id in sorted(set(osd_ids)):
        if ranges and ranges[-1][1] == osd_id - 1:
            ranges[-1][1] = osd_id
        else:
            ranges.append([osd_id, osd_id])
    return ','.join(str(a) if a == b else f'{a}-{b}' for a, b in ranges) or UNKNOWN


def format_plural(count: int, singular: str, plural: Optional[str] = None) -> str:
    """A count with its noun: "1 OSD", "3 OSDs"."""
    return f'{count} {singular if count == 1 else plural or singular + "s"}'


def _two_digits(value: float) -> str:
    """Two significant digits of a small number, the integer part of a large one."""
    size = abs(value)
    if size >= 1e6:
        return f'{value:.1e}'
    if size >= 9.95 or value == int(value):
        return f'{value:.0f}'
    if size >= 0.95:
        return f'{value:.1f}'
    return f'{value:.2g}' if size >= 0.001 else '<0.001'


def _scaled(value: float, step: int, prefixes: Sequence[str]) -> tuple[str, str]:
    """A number of at most four characters, and its prefix: ("1.2", "Mi"), ("512", "")."""
    scaled = float(value)
    for prefix in prefixes[:-1]:
        # A value that rounds up to a full step gets the next prefix.
        if abs(scaled) < step - 0.5:
            return _two_digits(scaled), prefix
        scaled /= step
    return _two_digits(scaled), prefixes[-1]

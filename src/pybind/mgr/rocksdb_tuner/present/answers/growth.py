"""Growth of the DB of an OSD, and the forecast of a full device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...notes import Amount, Bounds, Count, OsdId, Time
from ...observe.trend import Forecast as FoundForecast
from ...observe.trend import GrowthPoints, Outlook
from ...units import format_time


@dataclass(frozen=True)
class Forecast:
    """Forecast of a full DB device."""

    outlook: Annotated[Outlook, 'Result of the forecast.']
    time: Annotated[Optional[Time], 'Time of the newest point, the start of the intervals below.']
    history_s: Annotated[Optional[Amount], 'Length of the history, in seconds.']
    points: Annotated[int, Bounds(1), 'Number of points in the history.']
    growth_bytes_per_day: Annotated[Optional[float], 'Median growth.']
    growth_low_bytes_per_day: Annotated[Optional[float], 'Lower end of its 90% interval.']
    growth_high_bytes_per_day: Annotated[Optional[float], 'Upper end of its 90% interval.']
    full_in_s: Annotated[
        Optional[Amount], 'Seconds until the device is full; null unless it is filling.'
    ]
    full_earliest_s: Annotated[Optional[Amount], 'Lower bound of full_in_s.']
    full_latest_s: Annotated[Optional[Amount], 'Upper bound of full_in_s.']


@dataclass(frozen=True)
class Growth:
    """Data points behind the forecast."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    time_s: Annotated[tuple[int, ...], 'Seconds since the epoch, oldest first.']
    used_bytes: Annotated[tuple[Count, ...], 'Space used on the DB device at each of these times.']
    total_bytes: Annotated[
        Optional[Count],
        'Size of the DB device; null without a dedicated device or without data.',
    ]
    forecast: Annotated[
        Optional[Forecast],
        'Forecast of a full DB device; null without a dedicated device.',
    ]


def growth_of(
    osd_id: int, points: Optional[GrowthPoints], forecast: Optional[FoundForecast]
) -> Growth:
    return Growth(
        osd=osd_id,
        time_s=tuple(round(time_s) for time_s in points.times_s) if points else (),
        used_bytes=points.used_bytes if points else (),
        total_bytes=points.total_bytes if points else None,
        forecast=forecast_of(forecast),
    )


def forecast_of(found: Optional[FoundForecast]) -> Optional[Forecast]:
    if found is None:
        return None
    return Forecast(
        outlook=found.outlook,
        time=format_time(found.time_s),
        history_s=found.history_s,
        points=found.points,
        growth_bytes_per_day=found.growth_bytes_per_day,
        growth_low_bytes_per_day=found.growth_low_bytes_per_day,
        growth_high_bytes_per_day=found.growth_high_bytes_per_day,
        full_in_s=found.full_in_s,
        full_earliest_s=found.full_earliest_s,
        full_latest_s=found.full_latest_s,
    )

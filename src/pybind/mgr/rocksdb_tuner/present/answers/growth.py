"""How the DB of an OSD grew, and when its device will be full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...observe.growth import Forecast as FoundForecast
from ...observe.growth import GrowthPoints, Outlook
from ...units import format_time
from .notes import Amount, Bounds, Count, OsdId, Time


@dataclass(frozen=True)
class Forecast:
    """When a DB device will be full."""

    outlook: Annotated[Outlook, 'What can be said.']
    time: Annotated[Optional[Time], 'Of the newest point; the times below count from it.']
    history_s: Annotated[Optional[Amount], 'Seconds of history.']
    points: Annotated[int, Bounds(1), 'Points in it.']
    growth_bytes_per_day: Annotated[Optional[float], 'Median slope.']
    growth_low_bytes_per_day: Annotated[Optional[float], 'Lower end of its interval (90%).']
    growth_high_bytes_per_day: Annotated[Optional[float], 'Upper end.']
    full_in_s: Annotated[
        Optional[Amount], 'Seconds until the device is full; null unless it is filling.'
    ]
    full_earliest_s: Annotated[Optional[Amount], 'At the earliest.']
    full_latest_s: Annotated[Optional[Amount], 'At the latest.']


@dataclass(frozen=True)
class Growth:
    """The points that the forecast is made of."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    time_s: Annotated[tuple[int, ...], 'Seconds since the epoch, oldest first.']
    used_bytes: Annotated[tuple[Count, ...], 'Used on the DB device at each of these times.']
    total_bytes: Annotated[
        Optional[Count],
        'Size of the DB device; null without a dedicated one, or where nothing was seen.',
    ]
    forecast: Annotated[
        Optional[Forecast], 'When its DB device will be full; null without a dedicated one.'
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

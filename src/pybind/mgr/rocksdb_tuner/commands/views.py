"""Views for charts and maps of the dashboard."""

from __future__ import annotations

import errno
from typing import Optional

from ..present import render
from .command import Answer, view
from .context import CommandRefusedError, Context, osd_number

#: Enough for a canary with its controls, and still legible in a chart.
TREND_OSDS_MAX = 24


@view('osd_map')
def osd_map(context: Context) -> Answer:
    """Show all OSDs by column"""
    return lambda _: render.osd_map(context.snapshot)


@view('trend')
def trend(
    context: Context, osds: Optional[str] = None, device_class: Optional[str] = None
) -> Answer:
    """Show the trend of OSDs ("1,2,3") or of a device class"""
    trends = context.tuner.trends
    if (osds is None) == (device_class is None):
        raise CommandRefusedError(errno.EINVAL, 'specify either "osds" or "device_class"')
    if device_class is not None:
        found = trends.of_class(device_class)
        of_class = None if found is None else (device_class, found)
        return lambda _: render.trend((), of_class)
    known = {facts.info.osd_id for facts in context.snapshot.osds}
    numbers = [osd_number(text) for text in str(osds).split(',')]
    if len(numbers) > TREND_OSDS_MAX:
        raise CommandRefusedError(
            errno.EINVAL,
            f'too many OSDs ({len(numbers)}), the maximum is {TREND_OSDS_MAX}',
        )
    for number in numbers:
        if number not in known:
            raise CommandRefusedError(errno.ENOENT, f'osd.{number} does not exist')
    read = [(number, trends.of_osd(number)) for number in dict.fromkeys(numbers)]
    return lambda _: render.trend([(n, trend) for n, trend in read if trend is not None], None)


@view('growth')
def growth(context: Context, osd_id: str) -> Answer:
    """Show the growth of the DB of an OSD, with a forecast"""
    number = osd_number(osd_id)
    published = context.tuner.published
    return lambda _: render.growth(published.snapshot, number, published.growth_of(number))

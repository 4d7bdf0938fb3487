"""What charts and maps are drawn of: asked by the dashboard, and by no command line."""

from __future__ import annotations

import errno
from typing import Optional

from ..present import render
from .command import Answer, view
from .context import Context, osd_number
from .errors import CommandRefusedError

#: As many lines as one tells apart in a chart, and a canary with its controls.
TREND_OSDS_MAX = 24


@view('osd_map')
def osd_map(context: Context) -> Answer:
    """What all OSDs do, by columns"""
    return lambda _: render.osd_map(context.snapshot)


@view('trend')
def trend(
    context: Context, osds: Optional[str] = None, device_class: Optional[str] = None
) -> Answer:
    """What OSDs, named "1,2,3", or those of a device class did in the last hours"""
    trends = context.tuner.trends
    if (osds is None) == (device_class is None):
        raise CommandRefusedError(errno.EINVAL, 'give either "osds" or "device_class"')
    if device_class is not None:
        found = trends.of_class(device_class)
        of_class = None if found is None else (device_class, found)
        return lambda _: render.trend((), of_class)
    known = {facts.info.osd_id for facts in context.snapshot.osds}
    numbers = [osd_number(text) for text in str(osds).split(',')]
    if len(numbers) > TREND_OSDS_MAX:
        raise CommandRefusedError(
            errno.EINVAL,
            f'{len(numbers)} OSDs are too many, at most {TREND_OSDS_MAX} are shown at once',
        )
    for number in numbers:
        if number not in known:
            raise CommandRefusedError(errno.ENOENT, f'osd.{number} is not known')
    read = [(number, trends.of_osd(number)) for number in dict.fromkeys(numbers)]
    return lambda _: render.trend([(n, trend) for n, trend in read if trend is not None], None)


@view('growth')
def growth(context: Context, osd_id: str) -> Answer:
    """How the DB of an OSD grew, with the forecast"""
    number = osd_number(osd_id)
    published = context.tuner.published
    return lambda _: render.growth(published.snapshot, number, published.growth_of(number))

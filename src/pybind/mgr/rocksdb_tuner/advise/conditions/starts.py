"""Conditions of OSD startup times."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import median

from ...observe.starts import LastStart
from ...units import format_span
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, worst_of


@condition('slow-start')
def slow_start(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """OSDs with a slow start that is not due to their host."""
    limit = condition.limit('away_s', cluster.limits)
    measured, alone = [], []
    for osd in cluster.osds:
        start = osd.last_start
        if start is None or start.host_away or start.away_s < limit:
            continue
        measured.append(Measured(start.away_s, osd, partial(_evidence, osd, start, cluster)))
        # For the only OSD of a host a slow start and a host reboot look the same. It is reported
        # with a note, since the uptime of the host settles it, while no finding would hide all
        # slow starts on clusters with one OSD per host.
        if start.host_away is None:
            alone.append(osd.info.osd_id)
    worst = worst_of(measured)
    if worst and worst.osd.last_start:
        away = format_span(worst.osd.last_start.away_s)
        summary = f'{worst.names} was down for at least {away} before it came up again'
        if len(worst.ids) > 1:
            summary = f'{worst.names} were down for long before they came up again, '
            summary += f'osd.{worst.ids[0]} for at least {away}'
        if alone:
            summary += f'; whether the host of {name_osds(alone)} rebooted is unknown: no '
            summary += 'other OSD on it was up'
        yield condition.finding(summary, worst.ids, worst.evidence)


def _evidence(
    osd: OsdFacts, start: LastStart, cluster: ClusterFacts
) -> tuple[FindingEvidence, ...]:
    # Upper bounds of the others, for the minimum difference.
    others = [
        other.last_start.away_most_s
        for other in cluster.osds
        if other.last_start is not None
        and not other.last_start.host_away
        and other is not osd
        and other.info.device_class == osd.info.device_class
    ]
    return (
        FindingEvidence('away_s', start.away_s, 's', None),
        FindingEvidence('away_most_s', start.away_most_s, 's', None),
        *([FindingEvidence('others_median_s', median(others), 's', None)] if others else []),
    )

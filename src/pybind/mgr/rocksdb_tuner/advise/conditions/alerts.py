"""Explanations of Ceph's own health checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Mapping

from ...observe.slow_events import SLOW_OP_ALERT
from ...units import format_duration
from ..naming import name_osds
from ..records import Finding, FindingEvidence
from .declaration import Condition, condition
from .facts import ClusterFacts


@condition('slow-op-alert')
def slow_op_alert(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's alert for slow operations: which OSDs, whether slow now, and what they share."""
    if not cluster.alerting:
        yield from _explained(cluster, condition, 'one slow operation per day raises it')
        return
    recent_s = condition.limit('recent_s', cluster.limits)
    now, latched, unknown = [], [], []
    for osd_id, osd in sorted(cluster.alerting.items()):
        if osd.quiet_s is not None and osd.quiet_s <= recent_s:
            now.append(osd_id)
        elif osd.watched_s is not None and osd.watched_s > recent_s:
            latched.append(osd_id)
        else:
            unknown.append(osd_id)
    states = (
        (now, 'slow within the last'),
        (latched, 'latched, without a slow operation within the last'),
        (unknown, 'not watched for'),
    )
    parts = [f'{name_osds(ids)} {text} {format_duration(recent_s)}' for ids, text in states if ids]
    parts += [
        f'{name_osds(ids)} share {device} of {host}'
        for (host, device), ids in _by_device(cluster).items()
        if len(ids) > 1
    ]
    worst = cluster.alerting[(now or latched or unknown)[0]]
    yield condition.finding(
        f'Ceph warns of slow operations in BlueStore: {"; ".join(parts)}',
        (*now, *latched, *unknown),
        (
            FindingEvidence(SLOW_OP_ALERT, 'raised', 'health check', None),
            FindingEvidence('last_slow_op', worst.quiet_s, 's', worst.watched_s),
        ),
    )


def _by_device(cluster: ClusterFacts) -> Mapping[tuple[str, str], Sequence[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for osd in cluster.osds:
        if osd.info.osd_id in cluster.alerting and osd.info.host is not None:
            for device in osd.info.devices:
                found.setdefault((osd.info.host, device), []).append(osd.info.osd_id)
    return found


@condition('legacy-omap')
def legacy_omap(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's alerts for legacy omap formats."""
    yield from _explained(
        cluster, condition, 'omap of these OSDs is in a format that cannot be counted by pool or PG'
    )


@condition('large-omap-objects')
def large_omap_objects(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's alert for large omap objects."""
    yield from _explained(
        cluster,
        condition,
        'mostly oversized bucket index shards, which slow down listing, recovery and compaction',
    )


def _explained(cluster: ClusterFacts, condition: Condition, what: str) -> Iterable[Finding]:
    raised = [code for code in condition.ceph_checks if code in cluster.health_codes]
    if raised:
        yield condition.finding(
            f'Ceph warns of {" and ".join(raised)}: {what}',
            (),
            tuple(FindingEvidence(code, 'raised', 'health check', None) for code in raised),
        )

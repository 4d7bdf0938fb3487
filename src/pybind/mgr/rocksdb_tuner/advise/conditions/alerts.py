"""Explanations of Ceph's own health checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Mapping

from ...observe.slow_events import SLOW_OP_ALERT
from ...units import format_duration
from ..naming import name_osds
from ..records import Finding, FindingEvidence, Severity
from .declaration import Condition, Threshold, condition
from .facts import ClusterFacts
from .subjects import Subject


@condition(
    'slow-op-alert',
    title='Ceph warns of slow operations in BlueStore',
    severity=Severity.INFO,
    needs=Subject.HEALTH_CHECK,
    thresholds={
        'recent_s': Threshold(
            600,
            's',
            'an OSD with a slow operation within this time is slow now; else its alert is latched',
            source='chosen: Ceph keeps the alert for bluestore_slow_ops_warn_lifetime, 86400s',
        ),
    },
    remedy=(
        'One operation per day raises it. A latched alert clears by itself a day after the last '
        'slow operation; until then: ceph health mute BLUESTORE_SLOW_OP_ALERT 1d. Where OSDs are '
        'slow now, "ceph rocksdb-tuner osd <id>" shows what takes the time: check the device that '
        'they share. If single slow operations are normal for the devices, raise the threshold: '
        'ceph config set osd bluestore_slow_ops_warn_threshold 10'
    ),
    commands=(
        'ceph health detail',
        'ceph health mute BLUESTORE_SLOW_OP_ALERT 1d',
        'ceph config set osd bluestore_slow_ops_warn_threshold 10',
    ),
    do_not='Do not tune RocksDB because of this alone.',
    stops_osds=False,
    source=(
        'Ceph documentation, BLUESTORE_SLOW_OP_ALERT; bluestore_slow_ops_warn_threshold is 1 in '
        '86400s on 18.2.7 and 20.2.4'
    ),
    ceph_checks=(SLOW_OP_ALERT,),
    tests=('tests/advise/conditions/test_load.py',),
)
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


@condition(
    'legacy-omap',
    title='Omap has the format of an older release',
    severity=Severity.WARNING,
    needs=Subject.HEALTH_CHECK,
    remedy=(
        'Ceph raises its own warning. Convert one stopped OSD at a time: ceph-bluestore-tool '
        'repair --path /var/lib/ceph/osd/ceph-<id>; it takes minutes to hours.'
    ),
    commands=(
        'ceph health detail',
        'ceph-bluestore-tool repair --path /var/lib/ceph/osd/ceph-<id>',
    ),
    do_not=(
        'Never convert before 16.2.7: earlier versions could damage omap keys. Do not set '
        'bluestore_fsck_quick_fix_on_mount for all OSDs at once: each start then takes as long.'
    ),
    source=(
        'Ceph documentation, BLUESTORE_NO_PER_POOL_OMAP and BLUESTORE_NO_PER_PG_OMAP; v16.2.7 '
        'release notes'
    ),
    ceph_checks=('BLUESTORE_NO_PER_POOL_OMAP', 'BLUESTORE_NO_PER_PG_OMAP'),
    tests=(
        'tests/advise/conditions/test_load.py',
        'qa/tests/integration/test_conditions.py',
    ),
)
def legacy_omap(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's alerts for legacy omap formats."""
    yield from _explained(
        cluster, condition, 'omap of these OSDs is in a format that cannot be counted by pool or PG'
    )


@condition(
    'large-omap-objects',
    title='Objects have too many omap keys',
    severity=Severity.WARNING,
    needs=Subject.HEALTH_CHECK,
    remedy=(
        'Ceph raises its own warning, and its cluster log names the objects. For bucket indexes '
        'run: radosgw-admin bucket limit check, then reshard the listed buckets. To find '
        'leftovers of an earlier reshard run: radosgw-admin reshard stale-instances list. The '
        'alert clears with the next deep scrub of the placement group.'
    ),
    commands=(
        'ceph health detail',
        'radosgw-admin bucket limit check',
        'radosgw-admin reshard stale-instances list',
    ),
    do_not=(
        'Do not raise osd_deep_scrub_large_omap_object_key_threshold to silence it. Do not remove '
        'stale instances in a multisite setup.'
    ),
    stops_osds=False,
    source=(
        'Ceph documentation, LARGE_OMAP_OBJECTS: more than 200000 keys or 1 GiB in one object, '
        'found by deep scrub; Dynamic Bucket Index Resharding'
    ),
    ceph_checks=('LARGE_OMAP_OBJECTS',),
    tests=('tests/advise/conditions/test_load.py',),
)
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

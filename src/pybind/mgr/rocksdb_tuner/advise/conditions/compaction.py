"""Conditions of compaction: compaction storms and write stalls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...observe.deep import RocksdbTimes
from ...observe.signals import Signals
from ..records import Finding, FindingEvidence, Severity
from .declaration import Condition, HealthPolicy, Threshold, condition
from .facts import ClusterFacts, Measured, worst_of
from .subjects import Figure, Reaches, Subject


@condition(
    'compaction-storm',
    title='Many OSDs compact at once',
    severity=Severity.WARNING,
    needs=Reaches(Figure.SST_BYTES_PER_S, 'sst_bytes_per_s'),
    thresholds={
        'share_of_osds': Threshold(
            0.5,
            'share of the OSDs of a class',
            'half of them do not compact at once by chance',
            source='chosen',
        ),
        'least_osds': Threshold(
            3,
            'OSDs',
            'fewer OSDs are not a storm',
            source='chosen: the usual number of replicas',
        ),
        'sst_bytes_per_s': Threshold(
            33554432,
            'bytes/s',
            'a slower one does not keep a device busy',
            source='chosen: a fifth of what a hard disk writes',
        ),
        'sst_per_wal': Threshold(
            16,
            'ratio',
            (
                'client writes reach SST files only through the WAL; this many more are '
                'compaction alone'
            ),
            source=(
                'recorded on 16.2.15 to 20.2.4 with healthy clients: at most 3.6; leveled '
                'compaction writes about 10 times as much in a steady state'
            ),
        ),
    },
    remedy=(
        'Stop what starts further compactions; those under way end by themselves. Next time '
        'compact one OSD, or at most one failure domain, at a time. Before 17.2.8, 18.2.5 and '
        '19.2.1 a compaction also blocks the command that started it.'
    ),
    do_not=(
        'Do not run "ceph tell osd.* compact". Do not restart OSDs that compact: they start over.'
    ),
    stops_osds=False,
    source=(
        'ceph/ceph#42218: online compaction of index OSDs leads to them being marked down; '
        'ceph/ceph#57107'
    ),
    health=HealthPolicy('compact at once', raise_after_s=1800, clear_after_s=120),
    tests=('tests/advise/conditions/test_load.py',),
)
def compaction_storm(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Many OSDs of a class write far more SST bytes than their clients cause."""
    least_rate = condition.limit('sst_bytes_per_s', cluster.limits)
    ratio = condition.limit('sst_per_wal', cluster.limits)
    least_osds = condition.limit('least_osds', cluster.limits)
    share = condition.limit('share_of_osds', cluster.limits)
    seen: dict[str, int] = {}
    compacting: dict[str, list[Measured]] = {}
    for osd in cluster.osds:
        signals, device_class = osd.signals, osd.info.device_class
        if signals is None or device_class is None:
            continue
        sst, wal = signals.sst_bytes_per_s, signals.wal_bytes_per_s
        if sst is None or wal is None:
            continue
        seen[device_class] = seen.get(device_class, 0) + 1
        if sst >= least_rate and sst >= ratio * wal:
            evidence = partial(_storm, signals)
            compacting.setdefault(device_class, []).append(Measured(sst, osd, evidence))
    for device_class, measured in compacting.items():
        worst = worst_of(measured)
        if worst and len(measured) >= max(least_osds, share * seen[device_class]):
            yield condition.finding(
                f'{len(measured)} of {seen[device_class]} OSDs of class {device_class} compact at '
                'once',
                worst.ids,
                worst.evidence,
            )


def _storm(signals: Signals) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('sst_bytes_per_s', signals.sst_bytes_per_s, 'bytes/s', window_s),
        FindingEvidence('wal_bytes_per_s', signals.wal_bytes_per_s, 'bytes/s', window_s),
    )


@condition(
    'write-stalls',
    title='RocksDB stalls writes',
    severity=Severity.WARNING,
    needs=Subject.STATISTICS,
    thresholds={
        'stall_share': Threshold(
            0.01,
            'share of time',
            'a stall of 0.6s per minute shows in tail latency',
            source='chosen',
        ),
    },
    remedy=(
        'Too much data is waiting for compaction: raise level0_slowdown_writes_trigger and '
        'level0_stop_writes_trigger together with level0_file_num_compaction_trigger, and '
        'max_background_jobs within the cores of the OSD, or return to the default of the release.'
    ),
    source=(
        'facebook/rocksdb v7.9.2, db/column_family.cc: writes stop at 36 files in level 0, all '
        'memtables full, or 256 GiB to compact'
    ),
    health=HealthPolicy('have RocksDB write stalls', raise_after_s=600, clear_after_s=600),
    tests=('tests/advise/conditions/test_load.py',),
)
def write_stalls(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB reports write stalls."""
    limit = condition.limit('stall_share', cluster.limits)
    measured = []
    for osd in cluster.osds:
        times = osd.rocksdb_times
        if times is not None and times.stall_share is not None and times.stall_share >= limit:
            measured.append(Measured(times.stall_share, osd, partial(_stalls, times)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'RocksDB stalls writes of {worst.names}', worst.ids, worst.evidence
        )


def _stalls(times: RocksdbTimes) -> tuple[FindingEvidence, ...]:
    return (FindingEvidence('stalled', times.stall_share, 'ratio', times.window_s),)

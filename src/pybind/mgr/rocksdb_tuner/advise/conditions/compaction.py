"""Conditions of compaction: compaction storms and write stalls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...observe.deep import RocksdbTimes
from ...observe.signals import Signals
from ..records import Finding, FindingEvidence
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, worst_of


@condition('compaction-storm')
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


@condition('write-stalls')
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

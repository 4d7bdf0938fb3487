"""Conditions of what OSDs do now: the kv_sync thread, iterators, compaction, stalls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Optional

from ...observe.deep import RocksdbTimes
from ...observe.details import Details
from ...observe.signals import Signals
from ...options.compression import NO_COMPRESSION
from ...workload.records import Workload
from ..facts import BUFFERED_IO, COMPACT_ON_DELETION, release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from .build import numbers_of
from .catalogue import Condition
from .facts import (
    ClusterFacts,
    Measured,
    compacts_on_deletion,
    effective_options,
    worst_of,
)
from .subjects import METADATA_WORK


def uncompressed_metadata(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Metadata is what the clients write, and nothing compresses it."""
    measured = []
    for osd, workload in _with_metadata_work(cluster, condition):
        effective = effective_options(osd)
        if effective is not None and effective.get('compression') == NO_COMPRESSION:
            used_bytes = osd.signals.db_used_bytes if osd.signals else None
            evidence = partial(_uncompressed, workload, used_bytes)
            measured.append(Measured(used_bytes or 0, osd, evidence))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'{worst.names} keep metadata uncompressed', worst.ids, worst.evidence
        )


def _uncompressed(workload: Workload, used_bytes: Optional[int]) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('workload', workload.workload_class.value, 'class', None),
        FindingEvidence('compression', NO_COMPRESSION, 'option', None),
        FindingEvidence('db_used_bytes', used_bytes, 'bytes', None),
    )


def _with_metadata_work(
    cluster: ClusterFacts, condition: Condition
) -> Iterator[tuple[OsdFacts, Workload]]:
    confidence = condition.limit('confidence', cluster.limits)
    for osd in cluster.osds:
        workload = osd.workload
        if (
            workload is not None
            and workload.workload_class in METADATA_WORK
            and workload.confidence >= confidence
        ):
            yield osd, workload


def compact_on_deletion_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Clients delete and rewrite metadata, and tombstones stay until compaction comes by."""
    by_need: dict[str, list[int]] = {}
    values = set()
    for osd, _ in _with_metadata_work(cluster, condition):
        release = release_of_osd(osd.info)
        if release is None or osd.settings is None:
            continue
        by_default = compacts_on_deletion(release)
        setting = osd.settings.get(COMPACT_ON_DELETION)
        if not (_is_true(setting.value) if setting else by_default):
            by_need.setdefault(_before_compaction(osd, condition), []).append(osd.info.osd_id)
            values.add('set' if setting else 'default')
    for before, ids in by_need.items():
        yield condition.finding(
            f'{name_osds(ids)} do not compact when much was deleted',
            tuple(ids),
            (
                FindingEvidence(COMPACT_ON_DELETION, 'false', 'option', None),
                FindingEvidence('source', ', '.join(sorted(values)), 'config source', None),
            ),
            before=before,
        )


def _before_compaction(osd: OsdFacts, condition: Condition) -> str:
    """What has to come first: the option, or that it reaches all of the database."""
    version = numbers_of(osd.info.version)
    added = _of_line(version, condition.values['added'])
    if added is not None and version < numbers_of(added):
        return f'Upgrade to at least {added}, which added the option. Then: '
    whole = _of_line(version, condition.values['whole_database'])
    if osd.sharded is False and whole is not None and version < numbers_of(whole):
        return (
            f'It does nothing for an OSD without column families before {whole}: upgrade, or '
            'reshard the OSD first. Then: '
        )
    if osd.sharded is False and version[:1] == numbers_of(added or '')[:1] and whole is None:
        return (
            'It does nothing for an OSD without column families on this release: reshard the OSD '
            'first. Then: '
        )
    return ''


def _of_line(version: tuple[int, ...], texts: Sequence[str]) -> Optional[str]:
    """The point release of the same major number."""
    return next((text for text in texts if numbers_of(text)[:1] == version[:1]), None)


def buffered_io_off(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """BlueFS reads around the page cache."""
    by_who: dict[Optional[str], list[int]] = {}
    for osd in cluster.osds:
        setting = osd.settings.get(BUFFERED_IO) if osd.settings else None
        if setting is not None and not _is_true(setting.value):
            by_who.setdefault(setting.who, []).append(osd.info.osd_id)
    for who, ids in by_who.items():
        yield condition.finding(
            f'{name_osds(ids)} read RocksDB without the page cache',
            tuple(ids),
            (FindingEvidence(BUFFERED_IO, 'false', 'option', None),),
            who=who or '<who>',
        )


def _is_true(value: str) -> bool:
    return value.strip().lower() in {'true', '1', 'yes', 'on'}


def kv_sync_bound(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The one kv_sync thread has no time left, and writes are small."""
    busy = condition.limit('busy', cluster.limits)
    small_bytes = condition.limit('small_write_bytes', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is None or signals.kv_sync_busy is None or signals.kv_sync_busy < busy:
            continue
        if signals.write_bytes_avg is not None and signals.write_bytes_avg <= small_bytes:
            measured.append(Measured(signals.kv_sync_busy, osd, partial(_kv_sync, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'the kv_sync thread of {worst.names} limits small writes', worst.ids, worst.evidence
        )


def _kv_sync(signals: Signals) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('kv_sync_busy', signals.kv_sync_busy, 'ratio', window_s),
        FindingEvidence('write_bytes_avg', signals.write_bytes_avg, 'bytes', window_s),
        FindingEvidence('write_iops', signals.write_iops, 'operations/s', window_s),
    )


def slow_iterators(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """To place an iterator takes RocksDB long, as it does behind many tombstones."""
    usual_ms = condition.limit('seek_ms', cluster.limits)
    # An operator who raises the one means the other too.
    rotational_ms = max(usual_ms, condition.limit('seek_rotational_ms', cluster.limits))
    seeks = condition.limit('seeks', cluster.limits)
    measured = []
    for osd in cluster.osds:
        details = osd.details
        if details is None or details.omap_seek_ms is None or details.omap_seeks is None:
            continue
        limit_ms = rotational_ms if osd.info.db_rotational else usual_ms
        if details.omap_seeks >= seeks and details.omap_seek_ms >= limit_ms:
            measured.append(Measured(details.omap_seek_ms, osd, partial(_seeks, details)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'RocksDB iterators of {worst.names} are slow, as after a mass delete',
            worst.ids,
            worst.evidence,
        )


def _seeks(details: Details) -> tuple[FindingEvidence, ...]:
    window_s = details.latency.window_s if details.latency else None
    return (
        FindingEvidence('omap_seek_ms', details.omap_seek_ms, 'ms', window_s),
        FindingEvidence('omap_seeks', details.omap_seeks, 'seeks', window_s),
    )


def compaction_storm(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Many OSDs of a class write SST files at once, and far more than clients cause."""
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


def write_stalls(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB itself counts time in which it let writes wait."""
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


def slow_sync(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A flash device that takes milliseconds to make a commit durable."""
    limit_ms = condition.limit('round_ms', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if osd.info.db_rotational is not False or signals is None or signals.kv_sync_ms is None:
            continue
        if signals.kv_sync_ms >= limit_ms:
            measured.append(Measured(signals.kv_sync_ms, osd, partial(_commits, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'commits of {worst.names} wait long for a flash device', worst.ids, worst.evidence
        )


def _commits(signals: Signals) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('kv_sync_ms', signals.kv_sync_ms, 'ms', window_s),
        FindingEvidence('kv_flush_ms', signals.kv_flush_ms, 'ms', window_s),
    )


def slow_op_alert(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's own alert of slow operations, explained."""
    yield from _explained(cluster, condition, 'one slow operation in a day raises it')


def legacy_omap(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's own alerts of an old omap format, explained."""
    yield from _explained(
        cluster, condition, 'omap of these OSDs is in a format that cannot be counted by pool or PG'
    )


def large_omap_objects(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Ceph's own alert of objects with too many keys, explained."""
    yield from _explained(
        cluster,
        condition,
        'mostly bucket index shards that have outgrown one OSD each, which slow every list, '
        'recovery and compaction of theirs down',
    )


def hot_index_shard(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """One OSD writes far more metadata than others that hold the same pools."""
    busy = condition.limit('busy', cluster.limits)
    factor = condition.limit('times_median', cluster.limits)
    least_osds = condition.limit('least_osds', cluster.limits)
    by_class: dict[str, list[tuple[float, OsdFacts]]] = {}
    for osd, _ in _with_metadata_work(cluster, condition):
        rate = osd.signals.wal_bytes_per_s if osd.signals else None
        if rate is not None and osd.info.device_class is not None:
            by_class.setdefault(osd.info.device_class, []).append((rate, osd))
    for device_class, rates in by_class.items():
        if len(rates) < least_osds:
            continue
        usual = median(rate for rate, _ in rates)
        worst = worst_of(
            [
                Measured(rate, osd, partial(_hot, osd.signals, usual))
                for rate, osd in rates
                if usual > 0
                and rate >= factor * usual
                and osd.signals is not None
                and (osd.signals.kv_sync_busy or 0.0) >= busy
            ]
        )
        if worst:
            yield condition.finding(
                f'{worst.names} {"writes" if len(worst.ids) == 1 else "write"} at least '
                f'{factor:g} times the metadata that OSDs of class {device_class} do',
                worst.ids,
                worst.evidence,
            )


def _hot(signals: Signals, usual: float) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('wal_bytes_per_s', signals.wal_bytes_per_s, 'bytes/s', window_s),
        FindingEvidence('median of the class', usual, 'bytes/s', window_s),
        FindingEvidence('kv_sync_busy', signals.kv_sync_busy, 'ratio', window_s),
    )


def _explained(cluster: ClusterFacts, condition: Condition, what: str) -> Iterable[Finding]:
    raised = [code for code in condition.ceph_checks if code in cluster.health_codes]
    if raised:
        yield condition.finding(
            f'Ceph warns of {" and ".join(raised)}: {what}',
            (),
            tuple(FindingEvidence(code, 'raised', 'health check', None) for code in raised),
        )

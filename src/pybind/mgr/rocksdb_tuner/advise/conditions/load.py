"""Conditions of load: the kv_sync thread, metadata work, compaction, caches, starts, alerts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import Optional

from ...observe.details import SLOW_OP_ALERT, Details
from ...observe.signals import Signals
from ...options.catalogue import NO_COMPRESSION
from ...units import format_duration, format_span
from ..cohort import name_osds
from ..facts import COMPACT_ON_DELETION, release_of_osd
from ..limit import DATA_FLUSH, DISK_FLUSH, FLUSH, SYNC
from ..records import FindingEvidence, OsdFacts, Resource
from .declaration import At, Case, case, each_osd, each_osd_of, merged, of_cluster, osds_limited_by
from .devices import fixed_in, numbers_of
from .facts import (
    METADATA_WORK,
    ClusterFacts,
    compacts_on_deletion,
    effective_options,
    is_enabled,
    readings,
)


@each_osd('kv-sync-bound')
def kv_sync_bound(osd: OsdFacts, at: At) -> Iterator[Case]:
    signals = osd.signals
    if signals is None or signals.kv_sync_busy is None or signals.write_bytes_avg is None:
        return
    if signals.kv_sync_busy >= at['busy'] and signals.write_bytes_avg <= at['small_write_bytes']:
        names = ('kv_sync_busy', 'write_bytes_avg', 'write_iops')
        evidence = readings(signals, *names, window_s=signals.window_s)
        yield case(*evidence, rank=signals.kv_sync_busy)


@of_cluster('slow-sync')
def slow_sync(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Flash that takes long to sync a commit, or too long for clients that wait for it."""
    waiting = {osd.info.osd_id for osd in osds_limited_by(cluster, FLUSH, SYNC)}
    for worst in merged(
        case(
            *readings(signals, 'kv_sync_ms', 'kv_flush_ms', window_s=signals.window_s),
            osds=(osd.info.osd_id,),
            rank=signals.kv_sync_ms,
        )
        for osd in cluster.osds
        if (signals := osd.signals) is not None and signals.kv_sync_ms is not None
        if osd.info.osd_id in waiting
        or (osd.info.db_rotational is False and signals.kv_sync_ms >= at['round_ms'])
    ):
        info = next(o.info for o in cluster.osds if o.info.osd_id == worst.osds[0])
        yield worst._replace(fill={'device': (*info.devices, '<device>')[0]})


@each_osd_of('slow-flush', DISK_FLUSH, DATA_FLUSH)
def slow_flush(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Hard disks whose flush takes most of each commit."""
    size, signals = osd.info.main_device_bytes, osd.signals
    if signals is not None:
        share = at['share_rgw'] if _writes_metadata(osd, at) else at['share_other']
        yield case(
            *readings(signals, 'kv_sync_ms', 'kv_flush_ms', window_s=signals.window_s),
            group=(osd.info.dedicated_db, size, share),
            rank=signals.kv_flush_ms,
            variant='db' if osd.info.dedicated_db else 'no-db',
            size=f'{math.ceil(share * size / (1 << 30))}G' if size else '<size>',
        )


@each_osd_of('few-cores', Resource.CORES)
def few_cores(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Writes wait for threads and cores."""
    if osd.signals is not None:
        busy = osd.signals.kv_sync_busy
        yield case(*readings(osd.signals, 'kv_sync_busy', window_s=osd.signals.window_s), rank=busy)


def _writes_metadata(osd: OsdFacts, at: At) -> bool:
    workload = osd.workload
    return (
        workload is not None
        and workload.workload_class in METADATA_WORK
        and workload.confidence >= at['confidence']
    )


@each_osd('uncompressed-metadata')
def uncompressed_metadata(osd: OsdFacts, at: At) -> Iterator[Case]:
    effective = effective_options(osd) if _writes_metadata(osd, at) else None
    if effective and osd.workload and effective.get('compression') == NO_COMPRESSION:
        used_bytes = osd.signals.db_used_bytes if osd.signals else None
        yield case(
            FindingEvidence('workload', osd.workload.workload_class.value, 'class'),
            FindingEvidence('compression', NO_COMPRESSION, 'option'),
            FindingEvidence('db_used_bytes', used_bytes, 'bytes'),
            rank=used_bytes or 0,
        )


@each_osd('slow-iterators')
def slow_iterators(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Slow iterator seeks, as with many tombstones."""
    details = osd.details
    if details is None or details.omap_seek_ms is None or details.omap_seeks is None:
        return
    # Raising the one threshold also raises the other.
    rotational_ms = max(at['seek_ms'], at['seek_rotational_ms'])
    limit_ms = rotational_ms if osd.info.db_rotational else at['seek_ms']
    if details.omap_seeks >= at['seeks'] and details.omap_seek_ms >= limit_ms:
        window_s = details.latency.window_s if details.latency else None
        evidence = readings(details, 'omap_seek_ms', 'omap_seeks', window_s=window_s)
        yield case(*evidence, rank=details.omap_seek_ms)


@each_osd('compact-on-deletion-off')
def compact_on_deletion_off(osd: OsdFacts, at: At) -> Iterator[Case]:
    """A metadata workload without compaction on deletion, so that tombstones pile up."""
    release = release_of_osd(osd.info) if _writes_metadata(osd, at) else None
    if release is None or osd.settings is None:
        return
    setting = osd.settings.get(COMPACT_ON_DELETION)
    if not (is_enabled(setting.value) if setting else compacts_on_deletion(release)):
        variant, fixed = _before_compaction(osd, at)
        source = 'set' if setting else 'default'
        yield case(
            FindingEvidence(COMPACT_ON_DELETION, 'false', 'option'),
            FindingEvidence('source', source, 'config source'),
            group=(variant, fixed),
            variant=variant,
            fixed=fixed,
        )


def _before_compaction(osd: OsdFacts, at: At) -> tuple[str, Optional[str]]:
    """The first step: set the option, or make it apply to the whole database."""
    version = numbers_of(osd.info.version)
    added, whole = fixed_in(at['added'], version), fixed_in(at['whole_database'], version)
    if added is not None and version < numbers_of(added):
        return 'upgrade', added
    if osd.sharded is False and whole is not None and version < numbers_of(whole):
        return 'upgrade-or-reshard', whole
    if osd.sharded is False and added is not None and whole is None:
        return 'reshard', None
    return 'set', None


@of_cluster('hot-index-shard')
def hot_index_shard(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """An OSD that writes far more metadata than other OSDs of the same pools."""
    by_class: dict[str, list[tuple[float, OsdFacts]]] = {}
    for osd in cluster.osds:
        rate = osd.signals.wal_bytes_per_s if osd.signals else None
        device_class = osd.info.device_class
        if rate is not None and device_class is not None and _writes_metadata(osd, at):
            by_class.setdefault(device_class, []).append((rate, osd))
    for device_class, rates in by_class.items():
        usual = median(rate for rate, _ in rates)
        if len(rates) >= at['least_osds'] and usual > 0:
            yield from merged(
                case(
                    *readings(signals, 'wal_bytes_per_s', window_s=signals.window_s),
                    FindingEvidence('median of the class', usual, 'bytes/s', signals.window_s),
                    *readings(signals, 'kv_sync_busy', window_s=signals.window_s),
                    osds=(osd.info.osd_id,),
                    rank=rate,
                    factor=f'{at["times_median"]:g}',
                    device_class=device_class,
                )
                for rate, osd in rates
                if rate >= at['times_median'] * usual
                and (signals := osd.signals) is not None
                and (signals.kv_sync_busy or 0.0) >= at['busy']
            )


@of_cluster('compaction-storm')
def compaction_storm(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Many OSDs of a class write far more SST bytes than their clients cause."""
    by_class: dict[str, list[Signals]] = {}
    for osd in cluster.osds:
        signals, device_class = osd.signals, osd.info.device_class
        if device_class is None or signals is None or signals.sst_bytes_per_s is None:
            continue
        if signals.wal_bytes_per_s is not None:
            by_class.setdefault(device_class, []).append(signals)
    for device_class, known in by_class.items():
        storming = [s for s in known if _storms(s, at)]
        if len(storming) >= max(at['least_osds'], at['share_of_osds'] * len(known)):
            fill = {'count': len(storming), 'total': len(known), 'device_class': device_class}
            names = ('sst_bytes_per_s', 'wal_bytes_per_s')
            for found in merged(
                case(
                    *readings(s, *names, window_s=s.window_s),
                    osds=(s.osd_id,),
                    rank=s.sst_bytes_per_s,
                )
                for s in storming
            ):
                yield found._replace(fill=fill)


def _storms(signals: Signals, at: At) -> bool:
    sst, wal = signals.sst_bytes_per_s or 0.0, signals.wal_bytes_per_s or 0.0
    return bool(sst >= max(at['sst_bytes_per_s'], at['sst_per_wal'] * wal))


@each_osd('write-stalls')
def write_stalls(osd: OsdFacts, at: At) -> Iterator[Case]:
    times = osd.rocksdb_times
    if times is not None and (times.stall_share or 0.0) >= at['stall_share']:
        evidence = FindingEvidence('stalled', times.stall_share, 'ratio', times.window_s)
        yield case(evidence, rank=times.stall_share)


@each_osd('onode-cache-misses')
def onode_cache_misses(osd: OsdFacts, at: At) -> Iterator[Case]:
    """A low onode cache hit ratio in caches that cannot grow."""
    details = osd.details
    share = _hit_share(details.onode_hits, details.onode_misses, at) if details else None
    if details is not None and share is not None and _is_full(details, at):
        yield case(
            FindingEvidence('onode cache hits', share, 'ratio', details.window_s),
            FindingEvidence('onode_misses', details.onode_misses, 'onodes', details.window_s),
            *_memory(details),
            rank=-share,
            target=_half_more(details),
        )


@each_osd('kv-cache-misses')
def kv_cache_misses(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The same for RocksDB's block cache, if its statistics are enabled."""
    details, times = osd.details, osd.rocksdb_times
    share = _hit_share(times.cache_hits, times.cache_misses, at) if times else None
    if details is not None and times is not None and share is not None and _is_full(details, at):
        yield case(
            FindingEvidence('block cache hits', share, 'ratio', times.window_s),
            FindingEvidence('block_cache_misses', times.cache_misses, 'blocks', times.window_s),
            *_memory(details),
            rank=-share,
            target=_half_more(details),
        )


def _hit_share(hits: Optional[int], misses: Optional[int], at: At) -> Optional[float]:
    """If it is low; None for too few lookups."""
    if hits is None or misses is None or hits + misses < at['lookups']:
        return None
    share = hits / (hits + misses)
    return share if share < at['hit_share'] else None


def _is_full(details: Details, at: At) -> bool:
    """Whether the OSD has used up its memory target; until then its caches grow."""
    mapped, target = details.memory_mapped_bytes, details.memory_target_bytes
    return bool(mapped and target and mapped / target >= at['memory_share'])


def _half_more(details: Details) -> int:
    """An `osd_memory_target`, in whole GiB."""
    return math.ceil(1.5 * (details.memory_target_bytes or 0) / (1 << 30)) << 30


def _memory(details: Details) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('memory_mapped', details.memory_mapped_bytes, 'bytes'),
        FindingEvidence('osd_memory_target', details.memory_target_bytes, 'bytes'),
    )


@each_osd('bluefs-small-units')
def bluefs_small_units(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """BlueFS fell back to small allocation units on the shared device."""
    details = osd.details
    if details is not None and details.bluefs_fallbacks:
        fallbacks = details.bluefs_fallbacks
        yield case(
            FindingEvidence('alloc_slow_size_fallback', fallbacks, 'allocations'),
            FindingEvidence('fragmentation', details.fragmentation, 'ratio'),
            rank=fallbacks,
        )


@of_cluster('slow-start')
def slow_start(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """OSDs with a slow start that is not due to their host."""
    started = {
        osd.info.osd_id: (start, osd.info.device_class)
        for osd in cluster.osds
        if (start := osd.last_start) is not None and not start.host_away
    }
    slow = [
        case(
            FindingEvidence('away_s', start.away_s, 's'),
            FindingEvidence('away_most_s', start.away_most_s, 's'),
            osds=(osd_id,),
            rank=start.away_s,
        )
        for osd_id, (start, _) in started.items()
        if start.away_s >= at['away_s']
    ]
    # For the only OSD of a host a slow start and a host reboot look the same. It is reported with
    # a note, since the uptime of the host settles it, while no finding would hide all slow starts
    # on clusters with one OSD per host.
    alone = [i for found in slow for i in found.osds if started[i][0].host_away is None]
    for worst in merged(slow):
        first = worst.osds[0]
        # Upper bounds of the others, for the minimum difference.
        others = [
            start.away_most_s
            for osd_id, (start, device_class) in started.items()
            if osd_id != first and device_class == started[first][1]
        ]
        usual = [FindingEvidence('others_median_s', median(others), 's')] if others else []
        yield worst._replace(
            evidence=(*worst.evidence, *usual),
            variant='one' if len(worst.osds) == 1 else 'several',
            fill={
                'worst': f'osd.{first}',
                'away': format_span(started[first][0].away_s),
                'note': at['note'][0].format(alone=name_osds(alone)) if alone else '',
            },
        )


@of_cluster('slow-op-alert')
def slow_op_alert(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Ceph's alert for slow operations: which OSDs, whether slow now, and what they share."""
    alerting, recent_s = cluster.alerting, at['recent_s']
    if not alerting:
        yield from _raised(cluster, at, variant='any')
        return
    states: dict[str, list[int]] = {'now': [], 'latched': [], 'unwatched': []}
    for osd_id, osd in sorted(alerting.items()):
        if osd.quiet_s is not None and osd.quiet_s <= recent_s:
            states['now'].append(osd_id)
        elif osd.watched_s is not None and osd.watched_s > recent_s:
            states['latched'].append(osd_id)
        else:
            states['unwatched'].append(osd_id)
    by_device: dict[tuple[str, str], list[int]] = {}
    for facts in cluster.osds:
        if facts.info.osd_id in alerting and facts.info.host is not None:
            for device in facts.info.devices:
                by_device.setdefault((device, facts.info.host), []).append(facts.info.osd_id)
    parts = [
        at[state][0].format(osds=name_osds(ids), recent=format_duration(recent_s))
        for state, ids in states.items()
        if ids
    ]
    parts += [
        at['shared'][0].format(osds=name_osds(ids), device=device, host=host)
        for (device, host), ids in by_device.items()
        if len(ids) > 1
    ]
    osds = [osd_id for ids in states.values() for osd_id in ids]
    worst = alerting[osds[0]]
    yield case(
        FindingEvidence(SLOW_OP_ALERT, 'raised', 'health check'),
        FindingEvidence('last_slow_op', worst.quiet_s, 's', worst.watched_s),
        osds=osds,
        variant='osds',
        states='; '.join(parts),
    )


def _raised(cluster: ClusterFacts, at: At, variant: str = '') -> Iterator[Case]:
    """Ceph's own alert, explained."""
    raised = [code for code in at['ceph_checks'] if code in cluster.health_codes]
    if raised:
        evidence = (FindingEvidence(code, 'raised', 'health check') for code in raised)
        yield case(*evidence, variant=variant, checks=' and '.join(raised))


legacy_omap = of_cluster('legacy-omap')(_raised)
large_omap_objects = of_cluster('large-omap-objects')(_raised)

"""Conditions of load: the kv_sync thread, metadata work, compaction, caches, starts, alerts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import Optional

from ...options.catalogue import NO_COMPRESSION
from ...units import format_duration, format_span
from ..facts import COMPACT_ON_DELETION, name_osds, release_of_osd
from ..limit import DATA_FLUSH, DISK_FLUSH, FLUSH, SYNC
from ..records import FindingEvidence, OsdFacts, Resource
from .declaration import (
    At,
    Case,
    ClusterFacts,
    case,
    each_osd,
    effective_options,
    is_enabled,
    merged,
    of_cluster,
    writes_metadata,
)
from .devices import fixed_in, numbers_of

#: RocksDB of the first release that compacts on deletion by default.
_COMPACTS_ON_DELETION_FROM = 7


@each_osd('kv-sync-bound')
def kv_sync_bound(osd: OsdFacts, at: At) -> Iterator[Case]:
    signals = osd.signals
    if signals is None or signals.kv_sync_busy is None or signals.write_bytes_avg is None:
        return
    if signals.kv_sync_busy >= at['busy'] and signals.write_bytes_avg <= at['small_write_bytes']:
        yield case(rank=signals.kv_sync_busy)


@of_cluster('slow-sync')
def slow_sync(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Flash that takes long to sync a commit, or too long for clients that wait for it."""
    waiting = {osd.info.osd_id for osd in cluster.limited_by(FLUSH, SYNC)}
    return merged(
        case(osd=osd, rank=round_ms, device=(*osd.info.devices, '<device>')[0])
        for osd in cluster.osds
        if (round_ms := osd.signals and osd.signals.kv_sync_ms) is not None
        if osd.info.osd_id in waiting
        or (osd.info.db_rotational is False and round_ms >= at['round_ms'])
    )


@each_osd('slow-flush', limits=(DISK_FLUSH, DATA_FLUSH))
def slow_flush(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Hard disks whose flush takes most of each commit."""
    info = osd.info
    share = at['share_rgw'] if writes_metadata(osd, at['confidence']) else at['share_other']
    size = math.ceil(share * (info.main_device_bytes or 0) / (1 << 30))
    if osd.signals is not None:
        yield case(
            group=(info.dedicated_db, info.main_device_bytes, share),
            rank=osd.signals.kv_flush_ms,
            variant='db' if info.dedicated_db else 'no-db',
            size=f'{size}G' if info.main_device_bytes else '<size>',
        )


@each_osd('few-cores', limits=(Resource.CORES,))
def few_cores(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Writes wait for threads and cores."""
    if osd.signals is not None:
        yield case(rank=osd.signals.kv_sync_busy)


@each_osd('uncompressed-metadata')
def uncompressed_metadata(osd: OsdFacts, at: At) -> Iterator[Case]:
    effective = effective_options(osd) if writes_metadata(osd, at['confidence']) else {}
    if effective.get('compression') == NO_COMPRESSION:
        used_bytes = osd.signals.db_used_bytes if osd.signals else None
        yield case(FindingEvidence('compression', NO_COMPRESSION, 'option'), rank=used_bytes or 0)


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
        yield case(rank=details.omap_seek_ms)


@each_osd('compact-on-deletion-off')
def compact_on_deletion_off(osd: OsdFacts, at: At) -> Iterator[Case]:
    """A metadata workload without compaction on deletion, so that tombstones pile up."""
    release = release_of_osd(osd.info) if writes_metadata(osd, at['confidence']) else None
    if release is None or osd.settings is None:
        return
    setting = osd.settings.get(COMPACT_ON_DELETION)
    by_default = int(release.rocksdb_version.split('.')[0]) >= _COMPACTS_ON_DELETION_FROM
    if not (is_enabled(setting.value) if setting else by_default):
        variant, fixed = _before_compaction(osd, at)
        yield case(
            FindingEvidence(COMPACT_ON_DELETION, 'false', 'option'),
            FindingEvidence('source', 'set' if setting else 'default', 'config source'),
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


def _by_class(cluster: ClusterFacts) -> dict[str, list[tuple[OsdFacts, float]]]:
    """OSDs of each device class with the WAL bytes that their clients write."""
    found: dict[str, list[tuple[OsdFacts, float]]] = {}
    for osd in cluster.osds:
        rate = osd.signals.wal_bytes_per_s if osd.signals else None
        if rate is not None and osd.info.device_class is not None:
            found.setdefault(osd.info.device_class, []).append((osd, rate))
    return found


@of_cluster('hot-index-shard')
def hot_index_shard(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """An OSD that writes far more metadata than other OSDs of the same pools."""
    for device_class, osds in _by_class(cluster).items():
        known = [(o, rate) for o, rate in osds if writes_metadata(o, at['confidence'])]
        usual = median(rate for _, rate in known) if len(known) >= at['least_osds'] else 0.0
        yield from merged(
            case(
                FindingEvidence('median of the class', usual, 'bytes/s', signals.window_s),
                osd=osd,
                rank=rate,
                factor=f'{at["times_median"]:g}',
                device_class=device_class,
            )
            for osd, rate in known
            if usual > 0 and rate >= at['times_median'] * usual
            if (signals := osd.signals) and (signals.kv_sync_busy or 0.0) >= at['busy']
        )


@of_cluster('compaction-storm')
def compaction_storm(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Many OSDs of a class write far more SST bytes than their clients cause."""
    for device_class, osds in _by_class(cluster).items():
        known = [
            (osd, osd.signals.sst_bytes_per_s, rate)
            for osd, rate in osds
            if osd.signals is not None and osd.signals.sst_bytes_per_s is not None
        ]
        storming = [
            (osd, sst)
            for osd, sst, rate in known
            if sst >= max(at['sst_bytes_per_s'], at['sst_per_wal'] * rate)
        ]
        if len(storming) >= max(at['least_osds'], at['share_of_osds'] * len(known)):
            fill = {'count': len(storming), 'total': len(known), 'device_class': device_class}
            for found in merged(case(osd=osd, rank=sst) for osd, sst in storming):
                yield found._replace(fill=fill)


@each_osd('write-stalls')
def write_stalls(osd: OsdFacts, at: At) -> Iterator[Case]:
    times = osd.rocksdb_times
    if times is not None and (times.stall_share or 0.0) >= at['stall_share']:
        yield case(rank=times.stall_share)


@each_osd('onode-cache-misses', 'kv-cache-misses')
def cache_misses(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Few hits of caches that cannot grow: of onodes, or RocksDB's blocks if statistics are on."""
    details, times = osd.details, osd.rocksdb_times
    if details is None or (times is None and 'blocks' in at):
        return
    mapped, target = details.memory_mapped_bytes, details.memory_target_bytes
    name, found = 'onode cache hits', (details.onode_hits, details.onode_misses, details.window_s)
    if times is not None and 'blocks' in at:
        name, found = 'block cache hits', (times.cache_hits, times.cache_misses, times.window_s)
    hits, misses, window_s = found
    if hits is None or misses is None or hits + misses < at['lookups'] or not (mapped and target):
        return
    share = hits / (hits + misses)
    if share < at['hit_share'] and mapped / target >= at['memory_share']:
        half_more = math.ceil(1.5 * target / (1 << 30)) << 30
        yield case(FindingEvidence(name, share, 'ratio', window_s), rank=-share, target=half_more)


@each_osd('bluefs-small-units')
def bluefs_small_units(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """BlueFS fell back to small allocation units on the shared device."""
    if osd.details is not None and osd.details.bluefs_fallbacks:
        yield case(rank=osd.details.bluefs_fallbacks)


@of_cluster('slow-start')
def slow_start(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """OSDs with a slow start that is not due to their host."""
    started = [
        (osd, osd.last_start)
        for osd in cluster.osds
        if osd.last_start is not None and not osd.last_start.host_away
    ]
    slow = [(osd, start) for osd, start in started if start.away_s >= at['away_s']]
    # For the only OSD of a host a slow start and a host reboot look the same. It is reported with
    # a note, since the uptime of the host settles it, while no finding would hide all slow starts
    # on clusters with one OSD per host.
    alone = [osd.info.osd_id for osd, start in slow if start.host_away is None]
    for found in merged(case(osd=osd, rank=start.away_s) for osd, start in slow):
        worst = found.worst
        # Upper bounds of the others, for the minimum difference.
        others = [
            start.away_most_s
            for osd, start in started
            if worst and osd is not worst and osd.info.device_class == worst.info.device_class
        ]
        usual = [FindingEvidence('others_median_s', median(others), 's')] if others else []
        yield found._replace(
            evidence=tuple(usual),
            variant='one' if len(found.osds) == 1 else 'several',
            fill={
                'worst': f'osd.{found.osds[0]}',
                'away': format_span(found.rank or 0.0),
                'note': at['note'][0].format(alone=name_osds(alone)) if alone else '',
            },
        )


@of_cluster('legacy-omap', 'large-omap-objects')
def raised(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Ceph's own alert, explained."""
    codes = [code for code in at['ceph_checks'] if code in cluster.health_codes]
    if codes:
        evidence = (FindingEvidence(code, 'raised', 'health check') for code in codes)
        yield case(*evidence, variant='any', checks=' and '.join(codes))


@of_cluster('slow-op-alert')
def slow_op_alert(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Ceph's alert for slow operations: which OSDs, whether slow now, and what they share."""
    alerting, recent_s = cluster.alerting, at['recent_s']
    if not alerting:
        yield from raised(cluster, at)
        return
    states: dict[str, list[int]] = {'now': [], 'latched': [], 'unwatched': []}
    for osd_id, osd in sorted(alerting.items()):
        state = 'unwatched'
        if osd.quiet_s is not None and osd.quiet_s <= recent_s:
            state = 'now'
        elif osd.watched_s is not None and osd.watched_s > recent_s:
            state = 'latched'
        states[state].append(osd_id)
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
        FindingEvidence(at['ceph_checks'][0], 'raised', 'health check'),
        FindingEvidence('last_slow_op', worst.quiet_s, 's', worst.watched_s),
        osds=osds,
        variant='osds',
        states='; '.join(parts),
    )

"""The resource that limits the clients of a group of OSDs. Pure.

The inputs are the load of the kv_sync threads, device usage, memory, the time that writes wait for
the OSD's own threads, and write stalls if RocksDB's statistics are enabled. The network is not
measured, so it is never the result. An unknown limit is `Resource.UNKNOWN`, never "none".

Storage of OSDs, in the classes of published figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Optional

from ..knowledge import loader
from ..mgr.records import OsdInfo
from ..units import format_percent
from ..workload.pressure import (
    KV_FLUSH_MS,
    KV_SYNC_BUSY,
    KV_SYNC_MS,
    ONODE_MISSES,
    THREAD_SHARE,
    TRANSACTIONS,
    measured,
    with_pressure,
)
from ..workload.records import Evidence, Workload, WorkloadClass, limit_thresholds
from .profiles import Storage
from .records import UNKNOWN_LIMIT, GroupFacts, Limit, OsdFacts, Resource

#: Device classes that override the kernel's rotational flag: RAID controllers and virtual disks
#: report flash as rotational.
_FLASH_CLASSES = frozenset({'ssd', 'nvme'})


def storage_of(info: OsdInfo) -> Optional[Storage]:
    """None: unknown."""
    if info.device_class in _FLASH_CLASSES or info.main_rotational is False:
        return Storage.NVME
    if info.main_rotational is None and info.device_class != 'hdd':
        return None
    if not info.dedicated_db:
        return None if info.dedicated_db is None else Storage.HDD
    if info.db_rotational is None:
        return None
    return Storage.HDD if info.db_rotational else Storage.SSD_DB_HDD


def common_storage(osds: Iterable[OsdFacts]) -> Optional[Storage]:
    """Common storage of all OSDs; None if they differ or any is unknown."""
    # Called for whole groups at every tick, which have a handful of kinds.
    kinds = {
        (i.device_class, i.main_rotational, i.dedicated_db, i.db_rotational): i
        for i in (osd.info for osd in osds)
    }
    found = {storage_of(info) for info in kinds.values()}
    return found.pop() if len(found) == 1 else None


_NOT_CLIENTS = frozenset({WorkloadClass.RECOVERY, WorkloadClass.UNKNOWN})
_SURE = 0.95
FLUSH = 'flushing the data device'
DISK_FLUSH = 'waiting for hard disks'
#: With DB devices on flash.
DATA_FLUSH = 'flushing the hard disks of the data'
SYNC = 'syncing the WAL'
CPU = 'CPU time of transactions'


def with_limit(group: GroupFacts) -> GroupFacts:
    """``group`` with the limit of its clients."""
    return replace(group, limit=limit_of(group))


def limit_of_osd(osd: OsdFacts) -> Limit:
    """The limit of one OSD's clients under its own workload."""
    return limit_of(GroupFacts(osd.info.device_class or '', osd.workload, (osd,)))


def kv_sync_busy(group: GroupFacts) -> Optional[Evidence]:
    """Load of the kv_sync threads under the group's workload; None: not measured."""
    return measured(_with_pressure(group), KV_SYNC_BUSY)


def _with_pressure(group: GroupFacts) -> Optional[Workload]:
    workload = group.workload
    if workload is None or measured(workload, KV_SYNC_BUSY) is not None:
        return workload
    return with_pressure(
        workload,
        (o.signals for o in group.osds if o.signals is not None),
        (o.details for o in group.osds if o.details is not None),
    )


def relief_of(limit: Limit) -> Optional[str]:
    """What would relieve ``limit``; None if nothing limits."""
    if limit.part is not None and limit.part.startswith('osd.'):
        return f'a look at {limit.part}: its device, and what else runs on it'
    return _relief(limit).get('relief')


def finding_of(limit: Limit) -> Optional[str]:
    """The finding with the commands that relieve ``limit``."""
    return _relief(limit).get('finding')


def _relief(limit: Limit) -> Mapping[str, Optional[str]]:
    """Of the part, if it differs from the rest of the resource."""
    known: Mapping[Optional[str], Mapping[str, Optional[str]]] = loader.load('limits')['relief']
    return known.get(limit.part) or known.get(limit.resource.value, {})


def limited_by(limit: Limit) -> str:
    """What limits, which part of it takes the time, and what would relieve it; empty if unknown."""
    if limit.resource is Resource.UNKNOWN:
        return ''
    nothing, cores = limit.resource is Resource.NONE, limit.resource is Resource.CORES
    name = 'none of the measured resources' if nothing else limit.resource.value
    part = '' if limit.part is None else f', mostly {limit.part}'
    relief = relief_of(limit)
    return ' '.join(
        (
            f'{name}{part} (confidence {format_percent(limit.confidence)}).',
            # A thread that waits for a core appears busy: of cores, it says nothing.
            *(e.statement for e in limit.evidence if not cores or e.signal != KV_SYNC_BUSY),
            *([] if relief is None else [f'Relieved by {relief}.']),
        )
    )


def limit_of(group: GroupFacts) -> Limit:
    """The limit of the clients of ``group`` under its workload, with its longest part."""
    found = _limit_of(group)
    words: Mapping[str, str] = loader.load('limits')['parts'].get(found.resource.value, {})
    latencies = [o.details.latency for o in group.osds if words and o.details is not None]
    times_ms = {name: sum(getattr(seen, name, None) or 0.0 for seen in latencies) for name in words}
    longest = max(times_ms, key=lambda name: times_ms[name], default='')
    if found.part is None and times_ms.get(longest):
        found = replace(found, part=words[longest])
    return replace(found, relief=relief_of(found))


def _limit_of(group: GroupFacts) -> Limit:
    if group.workload is None or group.workload.workload_class in _NOT_CLIENTS:
        return UNKNOWN_LIMIT
    if group.workload.workload_class is WorkloadClass.IDLE:
        return Limit(Resource.NONE, group.workload.confidence, group.workload.evidence)
    workload, osds = _with_pressure(group), group.osds
    busy = measured(workload, KV_SYNC_BUSY)
    reads = read_share(workload) >= limit_thresholds().reads and _is_full(osds)
    large = group.workload.workload_class is WorkloadClass.LARGE_WRITE
    return (
        _of_shares(osds, 'spillover', 'stalls')
        or _cores(group, workload, busy)
        # Reads that full caches do not serve, before anything that limits writes.
        or (_of_shares(osds, 'onodes', 'blocks') if reads else None)
        or _kv_sync(group, workload, busy)
        or _of_shares(osds, 'memory', 'db', 'wal', *(['data'] if large else []))
        or (
            # The network is not measured.
            Limit(Resource.NONE, 0.6, (busy,))
            if busy is not None
            and busy.value < limit_thresholds().kv_sync_idle
            and measured(workload, THREAD_SHARE) is None
            else UNKNOWN_LIMIT
        )
    )


def _share(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole else None


def _missed(hits: Optional[int], misses: Optional[int]) -> Optional[float]:
    return None if hits is None or misses is None else _share(misses, hits + misses)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _db_fill(osd: OsdFacts) -> Optional[float]:
    """DB usage including spillover, which leaves free space on the device but none for RocksDB."""
    seen = osd.signals
    if seen is None or seen.db_used_bytes is None or not osd.info.dedicated_db:
        return None
    return _share(seen.db_used_bytes + (seen.slow_used_bytes or 0), seen.db_total_bytes)


def _spilled(osd: OsdFacts) -> Optional[float]:
    """1 if data of its DB device is on a hard disk: from flash to flash it costs little."""
    if osd.signals is None or not osd.info.dedicated_db:
        return None
    return float(bool(osd.signals.slow_used_bytes) and storage_of(osd.info) is not Storage.NVME)


def _memory(osd: OsdFacts) -> Optional[float]:
    seen = osd.details
    return seen and _share(seen.memory_mapped_bytes, seen.memory_target_bytes)


def _wal_fill(osd: OsdFacts) -> Optional[float]:
    seen = osd.signals if osd.info.dedicated_wal else None
    return seen and _share(seen.wal_used_bytes, seen.wal_total_bytes)


def _data_writes(osd: OsdFacts) -> Optional[float]:
    seen = osd.details and osd.details.latency
    return seen and _share(seen.data_write_ms, seen.client_op_ms)


#: Measured shares of the worst or of half of the OSDs, from which a resource limits; the rest of
#: them is in ``knowledge/limits.json``.
_SHARES: Mapping[
    str, tuple[Callable[[OsdFacts], Optional[float]], Callable[[Sequence[float]], float]]
] = {
    'spillover': (_spilled, mean),
    'stalls': (lambda osd: osd.rocksdb_times and osd.rocksdb_times.stall_share, max),
    'onodes': (
        lambda o: o.details and _missed(o.details.onode_hits, o.details.onode_misses),
        _median,
    ),
    'blocks': (
        lambda o: (
            o.rocksdb_times and _missed(o.rocksdb_times.cache_hits, o.rocksdb_times.cache_misses)
        ),
        _median,
    ),
    'memory': (_memory, _median),
    'db': (_db_fill, max),
    'wal': (_wal_fill, max),
    'data': (_data_writes, _median),
}


def _values(osds: Sequence[OsdFacts], of: Callable[[OsdFacts], Optional[float]]) -> Sequence[float]:
    return [value for osd in osds if (value := of(osd)) is not None]


def _of_shares(osds: Sequence[OsdFacts], *names: str) -> Optional[Limit]:
    """The first resource of which the measured share is at its threshold."""
    for name in names:
        (of, all_of), row = _SHARES[name], loader.load('limits')['shares'][name]
        values = _values(osds, of)
        value = all_of(values) if values else 0.0
        if value >= getattr(limit_thresholds(), row['threshold']):
            window_s = next((o.signals.window_s or 0.0 for o in osds if o.signals is not None), 0.0)
            text, figures = row['statement'], (100 * value,)
            evidence = Evidence(row['signal'], value, 'ratio', window_s, text, figures)
            return Limit(Resource(row['resource']), row['confidence'], (evidence,))
    return None


def _is_full(osds: Sequence[OsdFacts]) -> bool:
    """Whether caches have no more memory to grow into."""
    taken = _values(osds, _memory)
    return bool(taken) and _median(taken) >= limit_thresholds().memory_full


def _cores(
    group: GroupFacts, workload: Optional[Workload], busy: Optional[Evidence]
) -> Optional[Limit]:
    """A kv_sync thread that waits for a core appears busy with slow commits."""
    threads = measured(workload, THREAD_SHARE)
    if threads is None or busy is None or busy.value < limit_thresholds().kv_sync_idle:
        return None
    missed = measured(workload, ONODE_MISSES)
    if common_storage(group.osds) is Storage.HDD:
        # Write preparation may read from the disk.
        return None
    if missed is None:
        return Limit(Resource.CORES, 0.6, (threads, busy))
    # Reads of onodes keep the threads busy, too: believed if the caches cannot grow.
    full = _is_full(group.osds)
    return Limit(Resource.MEMORY, 0.6, (missed, threads)) if full else UNKNOWN_LIMIT


def _split(
    group: GroupFacts, workload: Optional[Workload], round_ms: Evidence
) -> Optional[tuple[str, float, Evidence]]:
    """The part of a round that limits, and the share of CPU time in it; None: not measured.

    RocksDB's own statistics are believed first. Without them the transactions explain as much of a
    commit as they take at most elsewhere, and the sync of the WAL the rest, except where a commit
    takes far longer than flushes of the same device: then the threads themselves are slow. Rounds
    of several transactions without a flush do not tell.
    """
    flush, shared = measured(workload, KV_FLUSH_MS), measured(workload, TRANSACTIONS)
    if flush is None:
        return None
    limits, flush_ms = limit_thresholds(), flush.value
    commit_ms = max(0.0, round_ms.value - flush_ms)
    syncs = [t.wal_sync_ms for o in group.osds if (t := o.rocksdb_times) and t.wal_sync_ms]
    one_device = all(not (o.info.dedicated_db or o.info.dedicated_wal) for o in group.osds)
    transactions = 1.0 if shared is None else shared.value
    if syncs:
        cpu_ms = max(0.0, commit_ms - sum(syncs) / len(syncs))
        why = "RocksDB's statistics leave {:.2f} ms of it to CPU time"
    # Without new data there is nothing to flush, and its time tells nothing.
    elif one_device and limits.round_ms <= flush_ms < commit_ms / limits.flushes_per_sync:
        cpu_ms = commit_ms - flush_ms
        why = "a sync of the same device takes no longer, so {:.2f} ms are of the threads'"
    elif shared is None and round_ms.value < limits.slow_round_ms:
        return None
    else:
        cpu_ms = min(commit_ms, limits.round_ms + transactions * limits.transaction_ms)
        why = f'{transactions:.1f} transactions explain up to {{:.2f}} ms of it'
        if (
            cpu_ms < limits.part_share * commit_ms
            and flush_ms < limits.round_ms
            and transactions >= limits.transactions_alone
        ):
            # A thread that lacks a core takes as long as one that waits for a sync.
            return None
    text = f'Of a commit of {{:.2f}} ms the flush of the data device takes {{:.2f}} ms; {why}.'
    evidence = flush._replace(wording=text, figures=(round_ms.value, flush_ms, cpu_ms))
    share = cpu_ms / max(round_ms.value, flush_ms)
    part = FLUSH if flush_ms >= commit_ms - cpu_ms else SYNC
    return (CPU if share > 1 - limits.part_share else part), share, evidence


def _kv_sync(
    group: GroupFacts, workload: Optional[Workload], busy: Optional[Evidence]
) -> Optional[Limit]:
    """The thread itself, or the device that it waits for."""
    limits, round_ms = limit_thresholds(), measured(workload, KV_SYNC_MS)
    if busy is None or busy.value < limits.kv_sync_bound:
        return None if busy is None else _outlier(group, busy)
    storage = common_storage(group.osds)
    split = None if round_ms is None else _split(group, workload, round_ms)
    part, share, shown = (None, None, round_ms) if split is None else split
    resource, confidence = Resource.KV_SYNC, min(_SURE, 0.6 + busy.value - limits.kv_sync_bound)
    if part is FLUSH:
        resource, confidence = Resource.DATA_DEVICE, 0.8
        part = FLUSH if storage is Storage.NVME else DATA_FLUSH
    elif part is SYNC or (not part and round_ms and round_ms.value >= limits.slow_round_ms):
        resource, confidence = Resource.DB_DEVICE, 0.7
    if storage is Storage.HDD:
        # Whatever its parts are: on a disk each takes a rotation.
        resource, confidence, part = Resource.DATA_DEVICE, 0.8, DISK_FLUSH
    evidence = (busy,) if shown is None else (busy, shown)
    return Limit(
        resource,
        round(confidence, 3),
        evidence,
        part,
        thread_share=None if part is CPU else share,
    )


def _outlier(group: GroupFacts, busy: Evidence) -> Optional[Limit]:
    """One OSD with a busy thread among others without: clients wait for the slowest replica."""
    loads = sorted(
        (o.signals.kv_sync_busy, o.info.osd_id)
        for o in group.osds
        if o.signals is not None and o.signals.kv_sync_busy is not None
    )
    limits = limit_thresholds()
    if len(loads) < 2 or loads[-1][0] < limits.outlier_busy:
        return None
    (usual, _), (worst, osd_id) = loads[(len(loads) - 1) // 2], loads[-1]
    if usual >= limits.kv_sync_bound:
        return None
    text = f'The kv_sync thread of osd.{osd_id} is {{:.0f}}% busy, the median is {{:.0f}}%.'
    evidence = busy._replace(value=worst, wording=text, figures=(100 * worst, 100 * usual))
    return Limit(Resource.KV_SYNC, 0.6, (evidence,), f'osd.{osd_id}', thread_share=0.0)


def read_share(workload: Optional[Workload]) -> float:
    """Share of reads in the client operations; 0 if the workload does not tell."""
    if workload is None or workload.workload_class in _NOT_CLIENTS:
        return 0.0
    if workload.workload_class is WorkloadClass.READ_MOSTLY:
        return 1.0
    shares = measured(workload, 'read_iops')
    if shares is not None and shares.figures:
        return shares.figures[-1] / 100
    return limit_thresholds().reads if workload.workload_class is WorkloadClass.MIXED else 0.0

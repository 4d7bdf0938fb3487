"""The resource that limits the clients of a group of OSDs. Pure.

The inputs are the load of the kv_sync threads, device usage, memory, the time that writes wait for
the OSD's own threads, and write stalls if RocksDB's statistics are enabled. The network is not
measured, so it is never the result. An unknown limit is `Resource.UNKNOWN`, never "none".

Storage of OSDs, in the classes of published figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ..mgr.records import OsdInfo
from ..observe.signals import Signals
from ..units import format_percent
from ..workload.pressure import (
    KV_SYNC_BUSY,
    KV_SYNC_MS,
    ONODE_MISSES,
    THREAD_SHARE,
    measured,
    with_pressure,
)
from ..workload.records import Evidence, LimitThresholds, Workload, WorkloadClass, limit_thresholds
from .profiles import Storage
from .records import UNKNOWN_LIMIT, GroupFacts, Limit, OsdFacts, Resource

__all__ = [
    'LimitThresholds',
    'kv_sync_busy',
    'limit_of',
    'limit_of_osd',
    'limit_thresholds',
    'limited_by',
    'relief_of',
    'with_limit',
]


#: Device classes that override the kernel's rotational flag: RAID controllers and virtual disks
#: report flash as rotational.
_FLASH_CLASSES = frozenset({'ssd', 'nvme'})


def storage_of(info: OsdInfo) -> Optional[Storage]:
    """None: unknown."""
    flash = _is_flash(info.device_class, info.main_rotational)
    if flash is None:
        return None
    if flash:
        return Storage.NVME
    if not info.dedicated_db:
        return None if info.dedicated_db is None else Storage.HDD
    if info.db_rotational is None:
        return None
    return Storage.HDD if info.db_rotational else Storage.SSD_DB_HDD


def _is_flash(device_class: Optional[str], rotational: Optional[bool]) -> Optional[bool]:
    if device_class in _FLASH_CLASSES:
        return True
    if rotational is None:
        return False if device_class == 'hdd' else None
    return not rotational


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
#: Parts of a write that take time in a resource, by their field, with words for what they are.
_PARTS: Mapping[Resource, Mapping[str, str]] = {
    Resource.KV_SYNC: {
        'kv_flush_ms': 'flushing the data device',
        'kv_commit_ms': 'committing to RocksDB',
    },
    Resource.DB_DEVICE: {'kv_commit_ms': 'committing to RocksDB'},
    Resource.CORES: {
        'osd_queue_ms': "the OSD's queue",
        'osd_prepare_ms': 'preparing operations',
        'prepare_ms': 'preparing transactions',
    },
    Resource.DATA_DEVICE: {
        'data_write_ms': 'writing the data',
        'kv_flush_ms': 'flushing the data device',
    },
}
#: What would relieve a resource. For a part, if it differs from the rest of the resource.
_RELIEF: Mapping[str, str] = {
    Resource.KV_SYNC: 'options that shorten commits, or more OSDs per device',
    Resource.CORES: 'more cores for each OSD',
    Resource.DB_DEVICE: 'a faster DB device',
    Resource.DB_SPACE: 'a larger DB device',
    Resource.WAL_SPACE: 'a larger WAL device',
    Resource.MEMORY: 'more memory for each OSD',
    Resource.DATA_DEVICE: 'faster data devices',
    Resource.NETWORK: 'a faster network',
    'flushing the data device': 'flash with power-loss protection',
}


class _GroupUsage(NamedTuple):
    """Maximum or median over the OSDs of a group; None: not measured."""

    window_s: float
    osds_with_db: int
    spilled: int
    db_fill: Optional[float]
    wal_fill: Optional[float]
    stalled: Optional[float]
    memory_over_target: Optional[float]
    data_write_share: Optional[float]


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
    return _RELIEF.get(limit.part or '') or _RELIEF.get(limit.resource)


def limited_by(limit: Limit) -> str:
    """What limits, which part of it takes the time, and what would relieve it; empty if unknown."""
    if limit.resource is Resource.UNKNOWN:
        return ''
    nothing = limit.resource is Resource.NONE
    name = 'none of the measured resources' if nothing else limit.resource.value
    part = '' if limit.part is None else f', mostly {limit.part}'
    # A thread that waits for a core appears busy: of cores, it says nothing.
    told = [
        e.statement
        for e in limit.evidence
        if limit.resource is not Resource.CORES or e.signal != KV_SYNC_BUSY
    ]
    relief = relief_of(limit)
    return ' '.join(
        (
            f'{name}{part} (confidence {format_percent(limit.confidence)}).',
            *told,
            *([] if relief is None else [f'Relieved by {relief}.']),
        )
    )


def limit_of(group: GroupFacts) -> Limit:
    """The limit of the clients of ``group`` under its workload, with its longest part."""
    found = _limit_of(group)
    words = _PARTS.get(found.resource, {})
    latencies = [o.details.latency for o in group.osds if words and o.details is not None]
    times_ms = {name: sum(getattr(seen, name, None) or 0.0 for seen in latencies) for name in words}
    longest = max(times_ms, key=lambda name: times_ms[name], default='')
    found = replace(found, part=words[longest]) if times_ms.get(longest) else found
    return replace(found, relief=relief_of(found))


def _limit_of(group: GroupFacts) -> Limit:
    if group.workload is None or group.workload.workload_class in _NOT_CLIENTS:
        return UNKNOWN_LIMIT
    if group.workload.workload_class is WorkloadClass.IDLE:
        return Limit(Resource.NONE, group.workload.confidence, group.workload.evidence)
    limits = limit_thresholds()
    workload = _with_pressure(group)
    busy, round_ms = measured(workload, KV_SYNC_BUSY), measured(workload, KV_SYNC_MS)
    usage = _group_usage(group.osds)
    return (
        _spillover(usage, limits)
        or _stalls(usage, limits)
        or _cores(group, workload, busy, limits)
        or _kv_sync(group, busy, round_ms, limits)
        or _memory(usage, limits)
        or _space(usage, limits)
        or _data_device(group.workload, usage, limits)
        or _no_limit(workload, busy, limits)
    )


def _group_usage(osds: Sequence[OsdFacts]) -> _GroupUsage:
    """In one pass, since it is for every OSD at every tick."""
    window_s: Optional[float] = None
    osds_with_db = spilled = 0
    db_fills: list[Optional[float]] = []
    wal_fills: list[Optional[float]] = []
    stalls: list[Optional[float]] = []
    memory: list[Optional[float]] = []
    data_writes: list[Optional[float]] = []
    for osd in osds:
        info, signals, details = osd.info, osd.signals, osd.details
        if signals is not None:
            if window_s is None:
                window_s = signals.window_s or 0.0
            if info.dedicated_db:
                osds_with_db += 1
                spilled += _spilled_to_disk(osd)
                db_fills.append(_db_fill(signals))
            if info.dedicated_wal:
                wal_fills.append(_share(signals.wal_used_bytes, signals.wal_total_bytes))
        if details is not None:
            memory.append(_share(details.memory_mapped_bytes, details.memory_target_bytes))
            latency = details.latency
            if latency is not None:
                data_writes.append(_share(latency.data_write_ms, latency.client_op_ms))
        if osd.rocksdb_times is not None:
            stalls.append(osd.rocksdb_times.stall_share)
    return _GroupUsage(
        window_s=window_s or 0.0,
        osds_with_db=osds_with_db,
        spilled=spilled,
        db_fill=_largest(db_fills),
        wal_fill=_largest(wal_fills),
        stalled=_largest(stalls),
        memory_over_target=_median(memory),
        data_write_share=_median(data_writes),
    )


def _spilled_to_disk(osd: OsdFacts) -> bool:
    signals = osd.signals
    return (
        signals is not None
        and bool(signals.slow_used_bytes)
        and storage_of(osd.info) is not Storage.NVME
    )


def _db_fill(signals: Signals) -> Optional[float]:
    """DB usage including spillover, which leaves free space on the device but none for RocksDB."""
    if signals.db_used_bytes is None:
        return None
    return _share(signals.db_used_bytes + (signals.slow_used_bytes or 0), signals.db_total_bytes)


def _share(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole else None


def _largest(values: Iterable[Optional[float]]) -> Optional[float]:
    return max([value for value in values if value is not None], default=None)


def _median(values: Iterable[Optional[float]]) -> Optional[float]:
    known = sorted([value for value in values if value is not None])
    return known[len(known) // 2] if known else None


def _spillover(usage: _GroupUsage, limits: LimitThresholds) -> Optional[Limit]:
    if not usage.spilled or usage.spilled < limits.spilled_share * usage.osds_with_db:
        return None
    share = usage.spilled / usage.osds_with_db
    return Limit(
        Resource.DB_SPACE,
        0.8,
        (
            Evidence(
                'slow_used_bytes',
                share,
                'share of OSDs',
                usage.window_s,
                '{:.0f}% of the OSDs with a DB device keep RocksDB data on hard disks.',
                (100 * share,),
            ),
        ),
    )


def _stalls(usage: _GroupUsage, limits: LimitThresholds) -> Optional[Limit]:
    if usage.stalled is None or usage.stalled < limits.stall_share:
        return None
    return _of_ratio(
        Resource.DB_DEVICE,
        0.7,
        'stall_share',
        usage.stalled,
        usage,
        'RocksDB stalls writes for {:.0f}% of the time.',
    )


def _cores(
    group: GroupFacts,
    workload: Optional[Workload],
    busy: Optional[Evidence],
    limits: LimitThresholds,
) -> Optional[Limit]:
    """A kv_sync thread that waits for a core appears busy with slow commits."""
    threads = measured(workload, THREAD_SHARE)
    if threads is None or busy is None or busy.value < limits.kv_sync_idle:
        return None
    if common_storage(group.osds) is Storage.HDD:
        # Write preparation may read from the disk.
        return None
    if measured(workload, ONODE_MISSES) is not None:
        # Onode reads are another possible cause.
        return UNKNOWN_LIMIT
    return Limit(Resource.CORES, 0.6, (threads, busy))


def _kv_sync(
    group: GroupFacts,
    busy: Optional[Evidence],
    round_ms: Optional[Evidence],
    limits: LimitThresholds,
) -> Optional[Limit]:
    """The thread itself, or the device that it waits for."""
    if busy is None or busy.value < limits.kv_sync_bound:
        return None
    evidence = (busy,) if round_ms is None else (busy, round_ms)
    if common_storage(group.osds) is Storage.HDD:
        return Limit(Resource.DATA_DEVICE, 0.8, evidence)
    if round_ms is not None and round_ms.value >= limits.slow_round_ms:
        return Limit(Resource.DB_DEVICE, 0.7, evidence)
    confidence = min(_SURE, 0.6 + (busy.value - limits.kv_sync_bound))
    return Limit(Resource.KV_SYNC, round(confidence, 3), evidence)


def _memory(usage: _GroupUsage, limits: LimitThresholds) -> Optional[Limit]:
    over = usage.memory_over_target
    if over is None or over < limits.memory_over_target:
        return None
    evidence = Evidence(
        'memory_mapped_bytes',
        over,
        'ratio',
        usage.window_s,
        'Half of the OSDs have mapped {:.2f} times their osd_memory_target, or more.',
        (over,),
    )
    return Limit(Resource.MEMORY, 0.6, (evidence,))


def _space(usage: _GroupUsage, limits: LimitThresholds) -> Optional[Limit]:
    for resource, signal, fill, least, text in (
        (
            Resource.DB_SPACE,
            'db_used_bytes',
            usage.db_fill,
            limits.db_full_share,
            'The fullest DB device is {:.0f}% full.'
            if usage.db_fill is None or usage.db_fill <= 1
            else 'RocksDB takes up to {:.0f}% of its DB device.',
        ),
        (
            Resource.WAL_SPACE,
            'wal_used_bytes',
            usage.wal_fill,
            limits.wal_full_share,
            'The fullest WAL device is {:.0f}% full.',
        ),
    ):
        if fill is not None and fill >= least:
            return _of_ratio(resource, 0.6, signal, fill, usage, text)
    return None


def _data_device(
    workload: Workload, usage: _GroupUsage, limits: LimitThresholds
) -> Optional[Limit]:
    share = usage.data_write_share
    if workload.workload_class is not WorkloadClass.LARGE_WRITE or share is None:
        return None
    if share < limits.data_write_share:
        return None
    text = 'The data device takes {:.0f}% of the time of a write.'
    return _of_ratio(Resource.DATA_DEVICE, 0.7, 'data_write_ms', share, usage, text)


def _of_ratio(
    resource: Resource, confidence: float, signal: str, ratio: float, usage: _GroupUsage, text: str
) -> Limit:
    evidence = Evidence(signal, ratio, 'ratio', usage.window_s, text, (100 * ratio,))
    return Limit(resource, confidence, (evidence,))


def _no_limit(
    workload: Optional[Workload], busy: Optional[Evidence], limits: LimitThresholds
) -> Limit:
    if busy is None or busy.value >= limits.kv_sync_idle:
        return UNKNOWN_LIMIT
    if measured(workload, THREAD_SHARE) is not None:
        return UNKNOWN_LIMIT
    # The network is not measured.
    return Limit(Resource.NONE, 0.6, (busy,))

"""The limit of the clients of OSDs by measurements; none without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.limit import (
    CPU,
    DATA_FLUSH,
    DISK_FLUSH,
    FLUSH,
    SYNC,
    common_storage,
    kv_sync_busy,
    limit_of,
    relief_of,
    storage_of,
)
from rocksdb_tuner.advise.profiles import Storage
from rocksdb_tuner.advise.records import GroupFacts, Limit, OsdFacts, Resource
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details, WriteLatency
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.pressure import with_pressure
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from .builders import facts, group, osd_info, workload

GIB = 1 << 30
QUIET = workload(busy=None)


def osd(osd_id: int = 0, info: Optional[dict[str, Any]] = None, **signals: Any) -> OsdFacts:
    found = facts(osd_info(osd_id, **(info or {})))
    return found._replace(signals=Signals(osd_id, window_s=30.0, **signals))


def bound(*osds: OsdFacts, does: Workload = QUIET) -> Resource:
    return limit_of(group(*osds, does=does)).resource


def test_load_under_the_remembered_workload_counts_and_not_the_current_one() -> None:
    evening = group(osd(kv_sync_busy=0.0), does=workload(busy=0.72))
    assert limit_of(evening).resource is Resource.KV_SYNC
    busy = kv_sync_busy(evening)
    assert busy is not None
    assert busy.value == 0.72


DISK: dict[str, Any] = {'device_class': 'hdd', 'main_rotational': True, 'db_rotational': True}
DB: dict[str, Any] = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'db_rotational': False}


def used(osd_id: int, db_gib: Optional[float] = None, wal_gib: Optional[float] = None) -> OsdFacts:
    """On DB and WAL devices of 100 GiB of its own."""
    return osd(
        osd_id,
        info={**DB, 'dedicated_wal': True, 'wal_device_bytes': 100 * GIB},
        db_used_bytes=None if db_gib is None else int(db_gib * GIB),
        db_total_bytes=100 * GIB,
        wal_used_bytes=None if wal_gib is None else int(wal_gib * GIB),
        wal_total_bytes=100 * GIB,
    )


def mapped(gib: Optional[float], target_gib: Optional[float] = 4.0) -> OsdFacts:
    sizes = (None if size is None else int(size * GIB) for size in (gib, target_gib))
    return osd()._replace(details=Details(0.0, None, None, None, *sizes))


def stalled(share: Optional[float]) -> OsdFacts:
    return osd()._replace(rocksdb_times=RocksdbTimes(30.0, share, None, None))


def writing(data_ms: Optional[float], whole_ms: Optional[float] = 10.0) -> OsdFacts:
    latency = WriteLatency(30.0, *[None] * (len(WriteLatency._fields) - 1))
    latency = latency._replace(data_write_ms=data_ms, client_op_ms=whole_ms)
    return osd()._replace(details=Details(0.0, latency, None, None, None, None))


def threads(
    info: Optional[dict[str, Any]] = None, misses: int = 0, busy: float = 0.9, round_ms: float = 1.0
) -> OsdFacts:
    """Writes wait for the threads of this OSD."""
    latency = WriteLatency(40.0, client_op_ms=40.0, osd_queue_ms=2.0, osd_prepare_ms=1.0)
    details = Details(0.0, latency, None, None, None, None, 100, misses)
    return osd(info=info, kv_sync_busy=busy, kv_sync_ms=round_ms)._replace(details=details)


LARGE = workload(WorkloadClass.LARGE_WRITE, busy=None)
ON_DISK = {**DISK, **DB}
BUSY = 'The kv_sync threads are {}% busy.'


@pytest.mark.parametrize(
    ('osds', 'does', 'expected'),
    [
        ([osd(kv_sync_busy=0.72, kv_sync_ms=0.5)], QUIET, ('kv-sync', 0.82, BUSY.format(72))),
        ([osd(kv_sync_busy=0.5)], QUIET, ('kv-sync', 0.6, BUSY.format(50))),
        ([osd(kv_sync_busy=0.49)], QUIET, None),
        ([osd(kv_sync_busy=0.25)], QUIET, None),
        ([osd(kv_sync_busy=0.24)], QUIET, ('none', 0.6, BUSY.format(24))),
        ([osd()], QUIET, None),
        # Commits that take this long wait for the device.
        ([osd(kv_sync_busy=0.72, kv_sync_ms=5.0)], QUIET, ('db-device', 0.7, BUSY.format(72))),
        ([osd(kv_sync_busy=0.72, kv_sync_ms=4.9)], QUIET, ('kv-sync', 0.82, BUSY.format(72))),
        ([osd(info=DISK, kv_sync_busy=0.5)], QUIET, ('data-device', 0.8, BUSY.format(50))),
        ([osd(info=DISK, kv_sync_busy=0.49)], QUIET, None),
        # Those without a DB device, or that are not seen, do not count.
        (
            [osd(n, info=ON_DISK, slow_used_bytes=n // 3) for n in range(4)]
            + [osd(9), osd(8, info=ON_DISK)._replace(signals=None)],
            QUIET,
            ('db-space', 0.8, '25% of the OSDs with a DB device keep RocksDB data on hard disks.'),
        ),
        ([osd(n, info=ON_DISK, slow_used_bytes=n // 4) for n in range(5)], QUIET, None),
        # What a shared device holds is no WAL or DB device that is full.
        ([osd(wal_used_bytes=GIB, wal_total_bytes=GIB)], QUIET, None),
        ([osd(db_used_bytes=GIB, db_total_bytes=GIB)], QUIET, None),
        (
            [stalled(None), stalled(0.05), osd()],
            QUIET,
            ('db-device', 0.7, 'RocksDB stalls writes for 5% of the time.'),
        ),
        ([stalled(0.049)], QUIET, None),
        (
            [mapped(9.0), mapped(5.0), mapped(4.0), mapped(None), mapped(9.0, None), osd()],
            QUIET,
            (
                'memory',
                0.6,
                'Half of the OSDs have mapped 125% of their osd_memory_target, or more.',
            ),
        ),
        ([mapped(9.0), mapped(4.9), mapped(4.0)], QUIET, None),
        ([mapped(9.0, 0.0)], QUIET, None),
        (
            [used(0, 85, 1), used(1, 20, 99), used(2)],
            QUIET,
            ('db-space', 0.6, 'RocksDB takes up to 85% of its DB device.'),
        ),
        (
            [used(0, 84, 1), used(1, 20, 95), used(2)],
            QUIET,
            ('wal-space', 0.6, 'The fullest WAL device is 95% full.'),
        ),
        ([used(0, 84, 94)], QUIET, None),
        (
            [writing(5.0), writing(9.9), writing(1.0), writing(None), writing(9.0, None), osd()],
            LARGE,
            ('data-device', 0.7, 'The data device takes 50% of the time of a write.'),
        ),
        ([writing(4.9)], LARGE, None),
        (
            [osd(kv_sync_busy=0.24)],
            workload(WorkloadClass.IDLE, 0.85, busy=None),
            ('none', 0.85, 'Writes are of 4 KiB.'),
        ),
    ],
)
def test_limit_has_its_confidence_and_evidence_from_its_threshold_on(
    osds: list[OsdFacts], does: Workload, expected: Optional[tuple[str, float, str]]
) -> None:
    limit = limit_of(group(*osds, does=does))
    if expected is None:
        assert (limit.resource, limit.confidence, limit.evidence) == (Resource.UNKNOWN, 0.0, ())
        return
    found = (limit.resource.value, round(limit.confidence, 3), limit.evidence[0].statement)
    assert expected == found


@pytest.mark.parametrize(
    ('found', 'resource'),
    [
        (threads(), Resource.CORES),
        # A thread that waits for a core seems busy, and its commits seem slow.
        (threads(round_ms=9.0), Resource.CORES),
        (threads(busy=0.25), Resource.CORES),
        # It is not nothing, but what it is is unknown.
        (threads(busy=0.24), Resource.UNKNOWN),
        # Onodes may be read from RocksDB, or from the disk, meanwhile.
        (threads(misses=6), Resource.UNKNOWN),
        (threads(misses=5), Resource.CORES),
        (threads(info=DISK), Resource.DATA_DEVICE),
        (
            threads()._replace(rocksdb_times=RocksdbTimes(30.0, 0.05, None, None)),
            Resource.DB_DEVICE,
        ),
    ],
)
def test_cores_are_the_limit_if_writes_wait_for_threads_without_another_cause(
    found: OsdFacts, resource: Resource
) -> None:
    """No wrong name: an ambiguous limit is not reported."""
    assert bound(found) is resource


def round_of(
    round_ms: float,
    flush_ms: Optional[float],
    transactions: Optional[float],
    info: Optional[dict[str, Any]] = None,
    wal_sync_ms: Optional[float] = None,
) -> Limit:
    """The limit of an OSD with a busy kv_sync thread whose rounds consist of these."""
    latency = WriteLatency(30.0, 9.0, 8.0)
    details = Details(0.0, latency, None, None, None, None, transactions_per_round=transactions)
    found = osd(info=info, kv_sync_busy=0.95, kv_sync_ms=round_ms, kv_flush_ms=flush_ms)
    times = None if wal_sync_ms is None else RocksdbTimes(30.0, None, wal_sync_ms, None)
    return limit_of(group(found._replace(details=details, rocksdb_times=times), does=QUIET))


@pytest.mark.parametrize(
    ('limit', 'resource', 'part', 'relief'),
    [
        # Seen on hard disks: no option shortens a flush.
        (round_of(8.2, 7.9, 9.0, DISK), Resource.DATA_DEVICE, DISK_FLUSH, 'DB devices on flash'),
        (
            round_of(8.2, 7.9, 9.0, {**DISK, **DB}),
            Resource.DATA_DEVICE,
            DATA_FLUSH,
            'more hard disks, or flash for the data',
        ),
        # 390 commits per second to flash without power-loss protection.
        (round_of(2.5, 0.8, 1.2), Resource.DB_DEVICE, SYNC, 'flash with power-loss protection'),
        (round_of(2.5, 1.5, 1.2), Resource.DATA_DEVICE, FLUSH, 'flash with power-loss protection'),
        # Good flash under many clients.
        (
            round_of(1.2, 0.1, 20.0),
            Resource.KV_SYNC,
            CPU,
            'options that shorten commits, or more OSDs per device',
        ),
        # A commit of ten flushes of the same device is none of that device's, ...
        (
            round_of(17.4, 1.6, 3.5),
            Resource.KV_SYNC,
            CPU,
            'options that shorten commits, or more OSDs per device',
        ),
        # ... unless RocksDB says so, or the WAL is on another device.
        (
            round_of(17.4, 1.6, 3.5, wal_sync_ms=15.0),
            Resource.DB_DEVICE,
            SYNC,
            'flash with power-loss protection',
        ),
        (
            round_of(17.4, 1.6, 3.5, {**DB, 'main_rotational': False}),
            Resource.DB_DEVICE,
            SYNC,
            'flash with power-loss protection',
        ),
        # Overwrites have nothing to flush.
        (round_of(2.5, 0.0, 1.2), Resource.DB_DEVICE, SYNC, 'flash with power-loss protection'),
        # RocksDB's own statistics against a long commit of few transactions.
        (
            round_of(2.5, 0.8, 1.2, wal_sync_ms=0.1),
            Resource.KV_SYNC,
            CPU,
            'options that shorten commits, or more OSDs per device',
        ),
    ],
)
def test_part_of_a_round_of_the_kv_sync_thread_that_limits_is_named_with_its_relief(
    limit: Limit, resource: Resource, part: str, relief: str
) -> None:
    assert (limit.resource, limit.part, relief_of(limit)) == (resource, part, relief)
    assert limit.of_options is (Resource.KV_SYNC if part is CPU else None)


def test_long_rounds_of_several_transactions_without_a_flush_do_not_tell_the_part() -> None:
    """Seen on 16.2.15: with syncs of 3 ms, and on two busy cores with syncs of 0.13 ms."""
    slow_sync, no_core = round_of(9.9, 0.0, 4.0), round_of(3.28, 0.0, 2.4)
    assert (slow_sync.resource, slow_sync.part) == (Resource.DB_DEVICE, None)
    assert (no_core.resource, no_core.part) == (Resource.KV_SYNC, None)
    assert no_core.of_options is Resource.KV_SYNC
    assert relief_of(Limit(Resource.NONE, 0.6)) is None


def test_one_osd_with_a_busy_thread_among_others_is_named_as_the_limit() -> None:
    """Clients wait for the slowest replica, and no option string helps one OSD."""
    loads = (0.98, 0.1, 0.12, 0.2)
    limit = limit_of(group(*(osd(n, kv_sync_busy=v) for n, v in enumerate(loads)), does=QUIET))
    assert (limit.resource, limit.part, limit.of_options) == (Resource.KV_SYNC, 'osd.0', None)
    assert limit.evidence[0].statement == (
        'The kv_sync thread of osd.0 is 98% busy, the median is 12%.'
    )
    assert relief_of(limit) == 'a look at osd.0: its device, and what else runs on it'


@pytest.mark.parametrize(
    ('onode_misses', 'mapped_gib', 'does', 'resource'),
    [
        (60, 4, WorkloadClass.READ_MOSTLY, Resource.MEMORY),
        # Caches that still grow.
        (60, 2, WorkloadClass.READ_MOSTLY, Resource.KV_SYNC),
        (10, 4, WorkloadClass.READ_MOSTLY, Resource.KV_SYNC),
        # Writers of new objects miss as a rule.
        (60, 4, WorkloadClass.RBD_SMALL_WRITE, Resource.KV_SYNC),
    ],
)
def test_misses_of_full_caches_are_believed_before_a_busy_thread(
    onode_misses: int, mapped_gib: int, does: WorkloadClass, resource: Resource
) -> None:
    details = Details(
        0.0, None, None, None, mapped_gib * GIB, 4 * GIB, 100 - onode_misses, onode_misses
    )
    found = osd(kv_sync_busy=0.9)._replace(details=details)
    assert bound(found, does=workload(does, busy=None)) is resource


def test_core_limit_of_the_day_is_remembered_at_night() -> None:
    """Nor are cores named at night for a kv_sync thread that was busy by day."""
    day = with_pressure(QUIET, [threads().signals], [threads().details])  # type: ignore[list-item]
    assert bound(osd(kv_sync_busy=0.0), does=day) is Resource.CORES
    assert bound(threads(), does=workload(busy=0.72)) is Resource.KV_SYNC


def test_limit_that_explains_the_others_is_reported() -> None:
    """Spilled data makes threads busy; a shortage of memory and space follows from neither."""
    all_of_them = osd(
        info=ON_DISK,
        slow_used_bytes=1,
        kv_sync_busy=0.9,
        kv_sync_ms=1.0,
        db_used_bytes=99 * GIB,
        db_total_bytes=100 * GIB,
    )
    details = writing(9.0).details
    assert details is not None
    full = details._replace(memory_mapped_bytes=9 * GIB, memory_target_bytes=4 * GIB)
    known = all_of_them._replace(rocksdb_times=RocksdbTimes(30.0, 0.9, None, None), details=full)
    found = []
    for signals, others in (
        ({}, {}),
        ({'slow_used_bytes': 0}, {}),
        ({}, {'rocksdb_times': None}),
        ({'kv_sync_busy': 0.1}, {}),
        ({}, {'details': details}),
        ({'db_used_bytes': 1}, {}),
        ({}, {'details': None}),
    ):
        assert known.signals is not None
        known = known._replace(signals=known.signals._replace(**signals), **others)
        found.append(bound(known, does=LARGE))
    assert found == [
        Resource.DB_SPACE,
        Resource.DB_DEVICE,
        Resource.KV_SYNC,
        Resource.MEMORY,
        Resource.DB_SPACE,
        Resource.DATA_DEVICE,
        Resource.NONE,
    ]


@pytest.mark.parametrize(
    ('does', 'resource'),
    [
        (workload(WorkloadClass.IDLE, busy=None), Resource.NONE),
        (workload(WorkloadClass.RECOVERY), Resource.UNKNOWN),
        (workload(WorkloadClass.UNKNOWN), Resource.UNKNOWN),
        (None, Resource.UNKNOWN),
    ],
)
def test_no_limit_without_clients(does: Optional[Workload], resource: Resource) -> None:
    busy = osd(kv_sync_busy=0.9)
    assert limit_of(GroupFacts('ssd', does, (busy,))).resource is resource


@pytest.mark.parametrize(
    ('changes', 'storage'),
    [
        ({}, Storage.NVME),
        # Controllers and virtual disks call flash rotational; who named the class knows better.
        ({'main_rotational': True}, Storage.NVME),
        ({'device_class': 'hdd'}, Storage.HDD),
        ({'device_class': 'hdd', 'main_rotational': False}, Storage.NVME),
        ({'device_class': 'fast'}, None),
        ({'device_class': 'fast', 'main_rotational': False}, Storage.NVME),
        ({**DISK, 'dedicated_db': None}, None),
        ({**DISK, 'dedicated_db': True}, Storage.HDD),
        ({**DISK, **DB}, Storage.SSD_DB_HDD),
        ({**DISK, **DB, 'db_rotational': None}, None),
    ],
)
def test_storage_media_of_osds(changes: dict[str, Any], storage: Optional[Storage]) -> None:
    info = osd_info(0, **changes)
    assert storage_of(info) is storage
    other = facts(replace(osd_info(1), device_class='hdd', dedicated_db=False))
    assert common_storage([facts(info), facts(info)]) is storage
    assert common_storage([facts(info), other]) is (storage if storage is Storage.HDD else None)

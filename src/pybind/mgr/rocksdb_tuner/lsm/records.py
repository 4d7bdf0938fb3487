"""What the model is asked, and what it answers. Sizes are bytes, times seconds.

None is "not known": an input that was not given makes what depends on it None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

__all__ = [
    'Amplification',
    'ColumnFamilyModel',
    'CompressionWork',
    'CpuModel',
    'CpuWork',
    'DbDeviceModel',
    'Devices',
    'Estimate',
    'Level',
    'LevelsModel',
    'Load',
    'MemtableModel',
    'Stall',
    'TreeModel',
    'VolumeSelection',
    'WalModel',
]


@dataclass(frozen=True)
class Estimate:
    """A prediction, and between what the measured value lay in 80% of the comparisons."""

    low: float
    value: float
    high: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """From the lower end to the upper one, the value between them."""
        return self.low, self.value, self.high


@dataclass(frozen=True)
class Devices:
    """Of one OSD. ``dedicated_*`` None: not known whether there is one."""

    dedicated_db: Optional[bool] = None
    dedicated_wal: Optional[bool] = None
    #: Of a dedicated device; None where there is none, or its size is not known.
    db_bytes: Optional[int] = None
    wal_bytes: Optional[int] = None
    main_bytes: Optional[int] = None


@dataclass(frozen=True)
class VolumeSelection:
    """How BlueFS chooses the device of a file: BlueStore's options, with their defaults."""

    #: `bluestore_volume_selection_policy`
    policy: str = 'use_some_extra'
    #: `bluestore_volume_selection_reserved_factor`
    reserved_factor: float = 2.0
    #: `bluestore_volume_selection_reserved`; 0: by the factor
    reserved_bytes: int = 0


@dataclass(frozen=True)
class Load:
    """What goes into the database."""

    #: A key of `calibration()`, None where the workload is not one that was measured.
    workload: Optional[str] = None
    #: Bytes that go to the WAL, and the mean size of a key with its value.
    wal_bytes_per_s: Optional[float] = None
    bytes_per_key: Optional[float] = None
    #: SST files of all column families.
    data_bytes: Optional[float] = None
    #: That clients write to; None: as many as the data is of.
    objects: Optional[float] = None
    placement_groups: Optional[int] = None
    #: In the logs of all its placement groups; None: as many as an OSD is to keep by default.
    log_entries: Optional[float] = None
    #: Mean size of a client's write; None: not known, as that which was measured.
    write_bytes: Optional[float] = None
    #: That an object ever got, of those that clients write to; None: all its blocks were written.
    writes_per_object: Optional[float] = None
    #: In each round the kv_sync thread waits for its device for long: see `Calibration.inserts_of`.
    thread_waits: bool = False


@dataclass(frozen=True)
class ColumnFamilyModel:
    """One column of BlueStore: ``shards`` column families that are alike."""

    #: "O", or "default".
    name: str
    shards: int
    write_buffer_bytes: int
    max_write_buffer_number: int
    min_write_buffer_number_to_merge: int
    #: What the memtables of one shard may take, by their number alone.
    memtable_ceiling_bytes: int
    #: Of one flush of full memtables.
    full_flush_bytes: Estimate
    #: Part of all written bytes that goes to one shard; None: workload not known.
    share: Optional[float]
    #: What one flush takes under this workload.
    expected_flush_bytes: Optional[Estimate]
    #: "memtables" are full, or the limit of the "wal" comes first.
    flushed_by: Optional[str]
    level0_file_bytes: Optional[Estimate]
    #: Writes of clients, to all of the OSD, from one flush to the next.
    writes_per_flush: Optional[float]
    keys_per_flush: Optional[float]
    flush_every_s: Optional[float]


@dataclass(frozen=True)
class MemtableModel:
    #: By the number of memtables alone, over all column families.
    ceiling_bytes: int
    #: What the limit of the WAL (or `db_write_buffer_size`) leaves of that.
    bounded_bytes: Estimate
    #: "max_write_buffer_number", "wal" or "db_write_buffer_size".
    bounded_by: str
    memory_target_bytes: Optional[int]
    #: Part of the memory target that ``bounded_bytes`` is.
    share_of_memory_target: Optional[float]


@dataclass(frozen=True)
class WalModel:
    #: At this size RocksDB flushes whatever holds the oldest WAL file.
    limit_bytes: int
    #: "max_total_wal_size" or "memtables" (eight times their ceiling).
    limited_by: str
    #: What RocksDB preallocates for each WAL file.
    file_bytes: int
    #: What the WAL files take on the device: more than they hold.
    device_bytes: Estimate
    #: Of the device that holds the WAL; None where it is shared or not known.
    device_total_bytes: Optional[int]
    fits_device: Optional[bool]
    #: Until the limit is met first, from an empty WAL.
    fill_s: Optional[float]


@dataclass(frozen=True)
class Level:
    #: From 1.
    number: int
    #: Of one column family.
    target_bytes: int
    #: Level 1 to this one.
    cumulative_bytes: int
    #: With level 0, which RocksDB takes to be as large as level 1 here.
    cumulative_with_level0_bytes: int
    #: Whether RocksDB gives it to the DB device; None where there is none, or it is not known.
    on_db_device: Optional[bool]


@dataclass(frozen=True)
class LevelsModel:
    """The tree of one column family."""

    level0_files: int
    #: Flush size x compaction trigger: the stable size of the RocksDB Tuning Guide.
    level0_bytes: int
    #: Over the target of level 1: alike is best. None where that target is 0.
    level0_to_level1: Optional[float]
    levels: tuple[Level, ...]
    dynamic_requested: Optional[bool]
    dynamic_in_effect: Optional[bool]
    #: Why what was requested is not in effect; None where it is.
    dynamic_why: Optional[str]
    #: Targets by level if it were in effect, for this much data; empty where that is not known.
    dynamic_levels: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DbDeviceModel:
    """Where a dedicated DB device ends among the levels of a column family."""

    total_bytes: int
    #: What BlueStore tells RocksDB of.
    usable_bytes: int
    #: The highest level that goes to it whole; None: not even level 0, or all do.
    last_level: Optional[int]
    #: What those levels and level 0 may take there; the steps that are spoken of.
    levels_bytes: int
    #: Left over, and open to higher levels file by file under the policy in force.
    extra_bytes: int
    #: Neither for these levels nor for higher ones.
    unused_bytes: int
    policy: str
    #: Whether the data of the busiest column family fits its part of the levels; None: not known.
    holds_data: Optional[bool]


@dataclass(frozen=True)
class Stall:
    """One condition on which RocksDB slows or stops writes."""

    #: "memtables", "level0-files" or "pending-compaction-bytes".
    cause: str
    #: "slowdown" or "stop".
    effect: str
    limit: int
    #: Where it stands in normal work: memtables before a flush, level 0 files at the trigger, what
    #: is to be compacted then; None of the last where the size of the database is not known.
    normal: Optional[int]
    headroom: Optional[int]
    #: What may be written on top, to the busiest column family, before it comes, at least: level 0
    #: is smaller than what was written. None: the size of the database is not known.
    headroom_bytes: Optional[int]
    #: That, at the present rate, with flushes or compactions standing still.
    headroom_s: Optional[float]


@dataclass(frozen=True)
class Amplification:
    #: (WAL + flushes + compactions) / WAL bytes.
    write: Optional[Estimate]
    #: Of that, what flushes write, and what compactions do: bytes for each byte in the WAL.
    flushes: Optional[float]
    compactions: Optional[float]
    #: SST bytes over what would be left of them after a full compaction.
    space: Optional[Estimate]


@dataclass(frozen=True)
class CompressionWork:
    """Bytes for each byte in the WAL, as they are without compression."""

    #: "kLZ4Compression"
    name: str
    compressed: float
    decompressed: float


@dataclass(frozen=True)
class CpuWork:
    """What background threads do for each byte in the WAL; bytes as they are uncompressed."""

    #: A key of `calibration()`.
    workload: str
    flush_written: float
    compaction_read: float
    compaction_written: float
    compression: tuple[CompressionWork, ...]


@dataclass(frozen=True)
class CpuModel:
    """Of RocksDB in an OSD: the kv_sync thread, flushes and compactions; microseconds of CPU."""

    us_per_wal_kib: Estimate
    #: For each write of a client.
    us_per_write: Estimate
    #: Parts of the first.
    kv_sync_us_per_wal_kib: float
    flushes_us_per_wal_kib: float
    compactions_us_per_wal_kib: float
    compression_us_per_wal_kib: float
    work: CpuWork


@dataclass(frozen=True)
class TreeModel:
    rocksdb_version: str
    wal: WalModel
    memtables: MemtableModel
    #: In the order of `bluestore_rocksdb_cfs`, "default" first.
    column_families: tuple[ColumnFamilyModel, ...]
    levels: LevelsModel
    #: None: no dedicated DB device, or its size is not known.
    db_device: Optional[DbDeviceModel]
    stalls: tuple[Stall, ...]
    amplification: Amplification
    #: Of the kv_sync thread for a write, as a part of what it takes with memtables of 256 MiB;
    #: None: workload not known.
    kv_sync_time: Optional[Estimate]
    #: None: workload or size of the database not known, or its compression was not measured.
    cpu: Optional[CpuModel]
    #: Flushes and compactions that may run at once, and a word on cores; None: cores not known.
    background_flushes: int
    background_compactions: int
    cores: Optional[int]
    #: What was taken for granted, in sentences.
    assumptions: tuple[str, ...]

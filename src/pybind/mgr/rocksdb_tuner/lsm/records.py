"""Inputs and results of the model. Sizes are bytes, times seconds.

None is "unknown": results that depend on a missing input are None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Estimate:
    """A prediction with its 80% interval."""

    low: float
    value: float
    high: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """Lower end, value, upper end."""
        return self.low, self.value, self.high


@dataclass(frozen=True)
class Devices:
    """Devices of one OSD. ``dedicated_*`` None: unknown."""

    dedicated_db: Optional[bool] = None
    dedicated_wal: Optional[bool] = None
    #: Size of a dedicated device; None if there is none or its size is unknown.
    db_bytes: Optional[int] = None
    wal_bytes: Optional[int] = None
    main_bytes: Optional[int] = None


@dataclass(frozen=True)
class VolumeSelection:
    """BlueStore's volume selection options, with their defaults."""

    #: `bluestore_volume_selection_policy`
    policy: str = 'use_some_extra'
    #: `bluestore_volume_selection_reserved_factor`
    reserved_factor: float = 2.0
    #: `bluestore_volume_selection_reserved`; 0: by the factor
    reserved_bytes: int = 0


@dataclass(frozen=True)
class Load:
    """Load and contents of the database."""

    #: A key of `calibration()`, None if the workload was not measured.
    workload: Optional[str] = None
    #: WAL bytes, and the mean size of a key with its value.
    wal_bytes_per_s: Optional[float] = None
    bytes_per_key: Optional[float] = None
    #: SST files of all column families.
    data_bytes: Optional[float] = None
    #: Objects that clients write to; None: estimated from the data.
    objects: Optional[float] = None
    placement_groups: Optional[int] = None
    #: In all PG logs; None: the default target of an OSD.
    log_entries: Optional[float] = None
    #: Mean size of a client write; None: unknown, as in the calibration.
    write_bytes: Optional[float] = None
    #: Writes per object over its lifetime; None: all its blocks were written.
    writes_per_object: Optional[float] = None
    #: In each round the kv_sync thread waits long for its device: see `Calibration.inserts_of`.
    thread_waits: bool = False


@dataclass(frozen=True)
class ColumnFamilyModel:
    """One column of BlueStore: ``shards`` identical column families."""

    #: "O", or "default".
    name: str
    shards: int
    write_buffer_bytes: int
    max_write_buffer_number: int
    min_write_buffer_number_to_merge: int
    #: Maximum of one shard's memtables, by their number alone.
    memtable_ceiling_bytes: int
    #: One flush of full memtables.
    full_flush_bytes: Estimate
    #: Part of all WAL bytes that goes to one shard; None: workload unknown.
    share: Optional[float]
    #: One flush under this workload.
    expected_flush_bytes: Optional[Estimate]
    #: "memtables" (full), or "wal" if its limit is reached first.
    flushed_by: Optional[str]
    level0_file_bytes: Optional[Estimate]
    #: Client writes to the whole OSD between two flushes.
    writes_per_flush: Optional[float]
    keys_per_flush: Optional[float]
    flush_every_s: Optional[float]


@dataclass(frozen=True)
class MemtableModel:
    #: By the number of memtables alone, over all column families.
    ceiling_bytes: int
    #: The same, bounded by the WAL limit or `db_write_buffer_size`.
    bounded_bytes: Estimate
    #: "max_write_buffer_number", "wal" or "db_write_buffer_size".
    bounded_by: str
    memory_target_bytes: Optional[int]
    #: ``bounded_bytes`` as a share of the memory target.
    share_of_memory_target: Optional[float]


@dataclass(frozen=True)
class WalModel:
    #: At this size RocksDB flushes the column families that hold the oldest WAL file.
    limit_bytes: int
    #: "max_total_wal_size" or "memtables" (eight times their maximum).
    limited_by: str
    #: Preallocation per WAL file.
    file_bytes: int
    #: Space of the WAL files on the device, preallocation included.
    device_bytes: Estimate
    #: Size of the device that holds the WAL; None if shared or unknown.
    device_total_bytes: Optional[int]
    fits_device: Optional[bool]
    #: Time to the limit from an empty WAL.
    fill_s: Optional[float]


@dataclass(frozen=True)
class Level:
    #: From 1.
    number: int
    #: Of one column family.
    target_bytes: int
    #: Level 1 to this one.
    cumulative_bytes: int
    #: Includes level 0, which RocksDB assumes to be as large as level 1 here.
    cumulative_with_level0_bytes: int
    #: Whether RocksDB puts it on the DB device; None if there is none, or unknown.
    on_db_device: Optional[bool]


@dataclass(frozen=True)
class LevelsModel:
    """The tree of one column family."""

    level0_files: int
    #: Flush size x compaction trigger: the stable size of the RocksDB Tuning Guide.
    level0_bytes: int
    #: Over the target of level 1: equal is best. None if that target is 0.
    level0_to_level1: Optional[float]
    levels: tuple[Level, ...]
    dynamic_requested: Optional[bool]
    dynamic_in_effect: Optional[bool]
    #: Why the requested setting is not in effect; None if it is.
    dynamic_why: Optional[str]
    #: Targets by level if it were in effect, for this amount of data; empty if unknown.
    dynamic_levels: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class DbDeviceModel:
    """Where a dedicated DB device ends among the levels of a column family."""

    total_bytes: int
    #: Bytes that BlueStore offers to RocksDB.
    usable_bytes: int
    #: The highest level that fits completely; None: not even level 0, or all do.
    last_level: Optional[int]
    #: Targets of these levels and level 0.
    levels_bytes: int
    #: The remainder; higher levels may use it file by file under the current policy.
    extra_bytes: int
    #: Not used by any level.
    unused_bytes: int
    policy: str
    #: Whether the data fits the levels on the device; None: unknown.
    holds_data: Optional[bool]


@dataclass(frozen=True)
class Stall:
    """One condition on which RocksDB slows or stops writes."""

    #: "memtables", "level0-files" or "pending-compaction-bytes".
    cause: str
    #: "slowdown" or "stop".
    effect: str
    limit: int
    #: Value in normal operation: memtables before a flush, level 0 files at the trigger, pending
    #: compaction bytes at that point; None: size of the database unknown.
    normal: Optional[int]
    headroom: Optional[int]
    #: Lower bound of the writes to the busiest column family before the stall: level 0 is smaller
    #: than the writes. None: size of the database unknown.
    headroom_bytes: Optional[int]
    #: The same in seconds at the current rate, if flushes or compactions stop.
    headroom_s: Optional[float]


@dataclass(frozen=True)
class Amplification:
    #: (WAL + flushes + compactions) / WAL bytes.
    write: Optional[Estimate]
    #: Bytes written by flushes and by compactions, per WAL byte.
    flushes: Optional[float]
    compactions: Optional[float]
    #: SST bytes over SST bytes after a full compaction.
    space: Optional[Estimate]


@dataclass(frozen=True)
class CompressionWork:
    """Uncompressed bytes per WAL byte."""

    #: "kLZ4Compression"
    name: str
    compressed: float
    decompressed: float


@dataclass(frozen=True)
class CpuWork:
    """Work of background threads: uncompressed bytes per WAL byte."""

    #: A key of `calibration()`.
    workload: str
    flush_written: float
    compaction_read: float
    compaction_written: float
    compression: tuple[CompressionWork, ...]


@dataclass(frozen=True)
class CpuModel:
    """CPU of RocksDB in an OSD, in microseconds: the kv_sync thread, flushes and compactions."""

    us_per_wal_kib: Estimate
    #: Per client write.
    us_per_write: Estimate
    #: Parts of ``us_per_wal_kib``.
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
    #: None: no dedicated DB device, or its size is unknown.
    db_device: Optional[DbDeviceModel]
    stalls: tuple[Stall, ...]
    amplification: Amplification
    #: Of the kv_sync thread per write, relative to memtables of 256 MiB; None: unknown workload.
    kv_sync_time: Optional[Estimate]
    #: None: workload or size of the database unknown, or its compression was not measured.
    cpu: Optional[CpuModel]
    #: Maximum of concurrent flushes and compactions; ``cores`` None: unknown.
    background_flushes: int
    background_compactions: int
    cores: Optional[int]
    #: Assumptions, as sentences.
    assumptions: tuple[str, ...]

"""Inputs and results of the model. Sizes are bytes, times seconds.

None is "unknown": results that depend on a missing input are None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ..notes import Among, Amount, Count, Named


@dataclass(frozen=True)
class Estimate:
    """A prediction with its 80% interval."""

    low: Amount
    value: Amount
    high: Amount

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
    #: Measured over predicted bytes of flushes and compactions.
    written_ratio: float = 1.0


@dataclass(frozen=True)
class ColumnFamilyModel:
    """One column of BlueStore: ``shards`` identical column families."""

    name: Annotated[str, 'Name of the column.', Named('column')]
    shards: Annotated[Count, 'Number of its column families.']
    write_buffer_bytes: Annotated[Count, 'write_buffer_size']
    max_write_buffer_number: Count
    min_write_buffer_number_to_merge: Count
    memtable_ceiling_bytes: Annotated[Count, 'Maximum memtable memory of one shard.']
    full_flush_bytes: Annotated[Estimate, 'Size of a flush of full memtables.']
    share: Annotated[Optional[Amount], 'Share of all writes per shard.']
    expected_flush_bytes: Annotated[Optional[Estimate], 'Size of a flush under this workload.']
    flushed_by: Annotated[
        Optional[Annotated[str, Among(('memtables', 'wal'))]], 'What triggers flushes.'
    ]
    level0_file_bytes: Annotated[Optional[Estimate], 'Size of a level 0 file.']
    writes_per_flush: Annotated[Optional[Amount], 'Client writes to the OSD between two flushes.']
    keys_per_flush: Annotated[Optional[Amount], 'Keys per flush.']
    flush_every_s: Annotated[Optional[Amount], 'Seconds between two flushes.']


@dataclass(frozen=True)
class MemtableModel:
    """Memory of the memtables."""

    ceiling_bytes: Annotated[Count, 'Maximum by the number of memtables alone.']
    bounded_bytes: Annotated[Estimate, 'Maximum with the limit of the WAL.']
    bounded_by: Annotated[
        str,
        Among(('max_write_buffer_number', 'wal', 'db_write_buffer_size')),
        'Setting that determines this bound.',
    ]
    memory_target_bytes: Annotated[Optional[Count], 'osd_memory_target']
    share_of_memory_target: Annotated[Optional[Amount], 'Share of osd_memory_target.']


@dataclass(frozen=True)
class WalModel:
    """The write-ahead log."""

    limit_bytes: Annotated[
        Count, 'WAL size at which RocksDB flushes the memtables that need the oldest WAL file.'
    ]
    limited_by: Annotated[
        str, Among(('max_total_wal_size', 'memtables')), 'Setting that determines the limit.'
    ]
    file_bytes: Annotated[Count, 'Bytes preallocated for each WAL file.']
    device_bytes: Annotated[Estimate, 'Space of all WAL files on their device.']
    device_total_bytes: Annotated[Optional[Count], 'Size of the device with the WAL.']
    fits_device: Annotated[Optional[bool], 'Whether the WAL fits on its device.']
    fill_s: Annotated[Optional[Amount], 'Seconds until an empty WAL reaches the limit.']


@dataclass(frozen=True)
class Level:
    """A level with its static target size."""

    number: Annotated[Count, 'Number of the level, from 1.', Named('level')]
    target_bytes: Annotated[Count, 'Target size per column family.']
    cumulative_bytes: Annotated[Count, 'Total target size of levels 1 to this one.']
    cumulative_with_level0_bytes: Annotated[
        Count, 'The same with level 0, assumed as large as level 1.'
    ]
    on_db_device: Annotated[
        Optional[bool],
        'Whether the level is on the DB device; null: no dedicated device, or unknown.',
    ]


@dataclass(frozen=True)
class LevelsModel:
    """The tree of one column family."""

    level0_files: int
    #: Flush size x compaction trigger: the stable size of the RocksDB Tuning Guide.
    level0_bytes: int
    #: Over the target of level 1: equal is best. None if that target is 0.
    level0_to_level1: Optional[float]
    levels: tuple[Level, ...]
    #: Why level_compaction_dynamic_level_bytes is not in effect; None if it is, or is off.
    dynamic_why: Optional[str]


@dataclass(frozen=True)
class DbDeviceModel:
    """Where a dedicated DB device ends among the levels of a column family."""

    total_bytes: Annotated[Count, 'Size of the device.']
    usable_bytes: Annotated[Count, 'Size that BlueStore reports to RocksDB.']
    last_level: Annotated[
        Optional[Count], 'Highest level that is entirely on the device; null: none.'
    ]
    levels_bytes: Annotated[Count, 'Size of these levels, including level 0.']
    extra_bytes: Annotated[Count, 'Space available to single files of higher levels.']
    unused_bytes: Annotated[Count, 'Space that RocksDB cannot use.']
    policy: Annotated[str, 'bluestore_volume_selection_policy']
    holds_data: Annotated[Optional[bool], 'Whether the current data fits on the device.']


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
class CpuModel:
    """CPU time of RocksDB, in microseconds: the kv_sync thread, flushes and compactions."""

    workload: Annotated[str, 'Measured load that the costs are of.']
    us_per_wal_kib: Annotated[Estimate, 'Total per KiB in the WAL.']
    us_per_write: Annotated[Estimate, 'Total per client write.']
    kv_sync_us_per_wal_kib: Annotated[Amount, 'CPU time of the kv_sync thread.']
    flushes_us_per_wal_kib: Annotated[Amount, 'CPU time of flushes.']
    compactions_us_per_wal_kib: Annotated[Amount, 'CPU time of compactions.']
    compression_us_per_wal_kib: Annotated[
        Amount, 'CPU time of compression and decompression in flushes and compactions.'
    ]


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

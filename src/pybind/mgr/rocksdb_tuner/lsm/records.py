"""Inputs and results of the model. Sizes are bytes, times seconds.

None is "unknown": results that depend on a missing input are None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ..notes import Among, Amount, Count, InPlace, Named


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

    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.'] = None
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.'] = None
    #: Size of a dedicated device; None if there is none or its size is unknown.
    db_bytes: Annotated[Optional[Count], Named('db_device_bytes'), 'Size of the DB device.'] = None
    wal_bytes: Annotated[Optional[Count], Named('wal_device_bytes'), 'Size of the WAL device.'] = (
        None
    )
    main_bytes: Annotated[
        Optional[Count], Named('main_device_bytes'), 'Size of the data device.'
    ] = None


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
    workload: Annotated[
        Optional[str], Named('measured_as'), 'Measured load that represents the workload.'
    ] = None
    wal_bytes_per_s: Annotated[Optional[Amount], 'Bytes written to the database per second.'] = None
    bytes_per_key: Annotated[Optional[Amount], 'Mean size of a key with its value.'] = None
    data_bytes: Annotated[Optional[Amount], 'Total space used by BlueFS.'] = None
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

    level0_files: Annotated[Count, Named('files'), 'Number of files that triggers a compaction.']
    #: The stable size of the RocksDB Tuning Guide.
    level0_bytes: Annotated[
        Count,
        Named('bytes'),
        'Size: write_buffer_size x min_write_buffer_number_to_merge x '
        'level0_file_num_compaction_trigger.',
    ]
    #: Equal is best. None if the target of level 1 is 0.
    level0_to_level1: Annotated[
        Optional[Amount], Named('ratio_to_level1'), 'Size of level 0 over the size of level 1.'
    ]
    levels: Annotated[tuple[Level, ...], 'Levels from level 1.']
    dynamic_why: Annotated[
        Optional[str],
        Named('dynamic_level_bytes'),
        'Why level_compaction_dynamic_level_bytes is not in effect although enabled; null: it is '
        'as in the options.',
    ]


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
    write: Annotated[
        Optional[Estimate],
        Named('write_amplification'),
        '(WAL + flushes + compactions) / WAL bytes, with an 80% interval from measurements.',
    ]
    flushes: Annotated[
        Optional[Amount],
        Named('flush_bytes_per_wal_byte'),
        'Share of flushes in the write amplification.',
    ]
    compactions: Annotated[
        Optional[Amount],
        Named('compaction_bytes_per_wal_byte'),
        'Share of compactions in the write amplification.',
    ]
    space: Annotated[
        Optional[Estimate],
        Named('space_amplification'),
        'SST bytes over SST bytes after a full compaction.',
    ]


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
    """The modeled tree of an OSD."""

    rocksdb_version: str
    wal: Annotated[WalModel, 'The write-ahead log.']
    memtables: Annotated[MemtableModel, 'Memory of the memtables.']
    #: In the order of `bluestore_rocksdb_cfs`, "default" first.
    column_families: Annotated[tuple[ColumnFamilyModel, ...], 'Column families by column.']
    levels: Annotated[LevelsModel, InPlace('levels', 'dynamic_why')]
    db_device: Annotated[
        Optional[DbDeviceModel], 'Use of the DB device; null: no dedicated device, or unknown.'
    ]
    amplification: Annotated[Amplification, InPlace()]
    kv_sync_time: Annotated[
        Optional[Estimate],
        'Time of the kv_sync thread per write, relative to memtables of 256 MiB; null: unknown '
        'workload.',
    ]
    cpu: Annotated[
        Optional[CpuModel],
        'CPU time of the kv_sync thread, flushes and compactions, on the processor of the '
        'measurements; null: the workload or database size is unknown, or the compression was not '
        'measured.',
    ]
    #: Maximum of concurrent flushes and compactions; ``cores`` None: unknown.
    background_flushes: Annotated[Count, Named('flushes')]
    background_compactions: Annotated[Count, Named('compactions')]
    cores: Optional[int]
    assumptions: tuple[str, ...]

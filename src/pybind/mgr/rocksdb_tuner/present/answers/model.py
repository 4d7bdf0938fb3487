"""What an option string makes of an OSD's RocksDB, and option strings that are derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.whatif.derive import Derivation
from ...advise.whatif.situation import Situation as FoundSituation
from ...advise.whatif.tree import TreeAnswer
from ...lsm.calibration import calibration
from ...lsm.records import (
    ColumnFamilyModel,
    CpuModel,
    DbDeviceModel,
    LevelsModel,
    MemtableModel,
    WalModel,
)
from ...lsm.records import Stall as FoundStall
from ...workload.records import WorkloadClass
from .copies import like
from .estimates import Estimate, Objects, estimate_if_any, estimate_of, objects_of
from .notes import Among, Amount, Count, InPlace, OsdId
from .options import OptionChange, changes_of


@dataclass(frozen=True)
class ColumnShards:
    """A column of the database, and into how many column families it is sharded."""

    column: Annotated[str, 'Its name; "default" for what is in no other.']
    shards: Annotated[Count, 'Column families of it.']


@dataclass(frozen=True)
class Inputs:
    """What was known of the OSD; null: not known."""

    workload: Annotated[Optional[WorkloadClass], 'What clients do.']
    measured_as: Annotated[Optional[str], 'The measured load that stands for the workload.']
    wal_bytes_per_s: Annotated[Optional[Amount], 'Bytes written into the database a second.']
    bytes_per_key: Annotated[Optional[Amount], 'Mean size of a key with its value.']
    data_bytes: Annotated[Optional[Amount], 'All that BlueFS uses.']
    objects: Annotated[
        Optional[Objects],
        'Objects that clients write to; null where what is written does not depend on them, or no '
        'OSD was named.',
    ]
    memory_target_bytes: Annotated[Optional[Count], 'osd_memory_target']
    cores: Annotated[Optional[Count], 'Of the OSD.']
    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.']
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.']
    db_device_bytes: Annotated[Optional[Count], 'Size of the DB device.']
    wal_device_bytes: Annotated[Optional[Count], 'Size of the WAL device.']
    main_device_bytes: Annotated[Optional[Count], 'Size of the data device.']
    column_families: Annotated[tuple[ColumnShards, ...], 'As in bluestore_rocksdb_cfs.']


@dataclass(frozen=True)
class Situation:
    """For what OSD an answer is."""

    osd: Annotated[Optional[OsdId], 'null: no OSD was named.']
    release: Annotated[str, 'Its release.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    inputs: Annotated[Inputs, 'What was known; null is not known.']
    assumptions: Annotated[tuple[str, ...], 'What is assumed in place of what is not known.']


@dataclass(frozen=True)
class Wal:
    """The write-ahead log."""

    limit_bytes: Annotated[Count, 'RocksDB flushes what keeps the oldest WAL file at this size.']
    limited_by: Annotated[str, Among(('max_total_wal_size', 'memtables')), 'What gives that limit.']
    file_bytes: Annotated[Count, 'Preallocated for each WAL file.']
    device_bytes: Annotated[Estimate, 'What all WAL files take on their device.']
    device_total_bytes: Annotated[Optional[Count], 'Of the device that holds the WAL.']
    fits_device: Annotated[Optional[bool], 'Whether they fit.']
    fill_s: Annotated[Optional[Amount], 'Until the limit is met, from an empty WAL.']


@dataclass(frozen=True)
class Memtables:
    """Memory of memtables."""

    ceiling_bytes: Annotated[Count, 'By their number alone.']
    bounded_bytes: Annotated[Estimate, 'What the limit of the WAL leaves of that.']
    bounded_by: Annotated[
        str,
        Among(('max_write_buffer_number', 'wal', 'db_write_buffer_size')),
        'What gives that bound.',
    ]
    memory_target_bytes: Annotated[Optional[Count], 'osd_memory_target']
    share_of_memory_target: Annotated[Optional[Amount], 'What they take of it.']


@dataclass(frozen=True)
class ColumnFamily:
    """The shards of one column."""

    column: Annotated[str, 'Its name.']
    shards: Annotated[Count, 'Column families of it.']
    write_buffer_bytes: Annotated[Count, 'write_buffer_size']
    max_write_buffer_number: Count
    min_write_buffer_number_to_merge: Count
    memtable_ceiling_bytes: Annotated[Count, 'Of one shard.']
    full_flush_bytes: Annotated[Estimate, 'Of memtables that are full.']
    share: Annotated[Optional[Amount], 'Part of all writes that one shard gets.']
    expected_flush_bytes: Annotated[Optional[Estimate], 'Of one flush under this workload.']
    flushed_by: Annotated[
        Optional[Annotated[str, Among(('memtables', 'wal'))]], 'What triggers flushes.'
    ]
    level0_file_bytes: Annotated[Optional[Estimate], 'Of a file in level 0.']
    writes_per_flush: Annotated[
        Optional[Amount], 'Writes of clients to the OSD from one flush to the next.'
    ]
    keys_per_flush: Annotated[Optional[Amount], 'Keys in one flush.']
    flush_every_s: Annotated[Optional[Amount], 'From one flush to the next.']


@dataclass(frozen=True)
class Level0:
    """The level of flushes."""

    files: Annotated[Count, 'Files that trigger a compaction.']
    bytes: Annotated[
        Count,
        'write_buffer_size x min_write_buffer_number_to_merge x '
        'level0_file_num_compaction_trigger.',
    ]
    ratio_to_level1: Annotated[Optional[Amount], 'Its size over that of level 1.']


@dataclass(frozen=True)
class Level:
    """A level by its static target."""

    level: Annotated[Count, 'From 1.']
    target_bytes: Annotated[Count, 'Of one column family.']
    cumulative_bytes: Annotated[Count, 'Level 1 to this one.']
    cumulative_with_level0_bytes: Annotated[Count, 'With level 0, taken as large as level 1.']
    on_db_device: Annotated[Optional[bool], 'null: no dedicated DB device, or not known.']


@dataclass(frozen=True)
class DynamicLevel:
    """A level by its dynamic target."""

    level: Annotated[Count, 'From 1.']
    target_bytes: Annotated[Count, 'Its target.']


@dataclass(frozen=True)
class DynamicLevels:
    """level_compaction_dynamic_level_bytes"""

    requested: Annotated[Optional[bool], 'Whether the options ask for it.']
    in_effect: Annotated[Optional[bool], 'Whether it is in effect.']
    why: Annotated[Optional[str], 'Why it is not in effect although requested.']
    levels: Annotated[
        tuple[DynamicLevel, ...], 'Targets for the present data if it were in effect.'
    ]


@dataclass(frozen=True)
class DbDevice:
    """What of the database is on its dedicated device."""

    total_bytes: Annotated[Count, 'Its size.']
    usable_bytes: Annotated[Count, 'What BlueStore tells RocksDB of.']
    last_level: Annotated[
        Optional[Count], 'The highest level that goes to it whole; null: none does.'
    ]
    levels_bytes: Annotated[Count, 'Those levels with level 0.']
    extra_bytes: Annotated[Count, 'Open to higher levels, file by file.']
    unused_bytes: Annotated[Count, 'For neither.']
    policy: Annotated[str, 'bluestore_volume_selection_policy']
    holds_data: Annotated[Optional[bool], 'Whether the present data fit.']


@dataclass(frozen=True)
class Stall:
    """When RocksDB holds up writes."""

    cause: Annotated[
        str, Among(('memtables', 'level0-files', 'pending-compaction-bytes')), 'Of what.'
    ]
    effect: Annotated[str, Among(('slowdown', 'stop')), 'What it does then.']
    limit: Annotated[Count, 'From where on.']
    normal: Annotated[
        Optional[Count],
        'Where it stands in normal work; null: the size of the database is not known.',
    ]
    headroom: Annotated[Optional[Count], 'Between the two.']
    headroom_bytes: Annotated[
        Optional[Count], 'What the busiest column family takes before it comes, at least.'
    ]
    headroom_s: Annotated[
        Optional[Amount],
        'That, at the present rate, with flushes or compactions standing still.',
    ]


@dataclass(frozen=True)
class Background:
    """Jobs that may run at once."""

    flushes: Count
    compactions: Count


@dataclass(frozen=True)
class Cpu:
    """CPU time that RocksDB takes, in microseconds."""

    us_per_wal_kib: Annotated[Estimate, 'For each KiB in the WAL.']
    us_per_write: Annotated[Estimate, 'For each write of a client.']
    kv_sync_us_per_wal_kib: Annotated[Amount, 'Of the kv_sync thread.']
    flushes_us_per_wal_kib: Annotated[Amount, 'Of flushes.']
    compactions_us_per_wal_kib: Annotated[Amount, 'Of compactions.']
    compression_us_per_wal_kib: Annotated[
        Amount, 'Compressing and decompressing, in flushes and compactions.'
    ]


@dataclass(frozen=True)
class Formula:
    """What a quantity is calculated from."""

    quantity: Annotated[str, 'What is calculated.']
    formula: Annotated[str, 'How.']
    source: Annotated[str, 'Where that is known from.']


@dataclass(frozen=True)
class Model:
    """What an option string makes of an OSD's RocksDB."""

    options: Annotated[str, 'bluestore_rocksdb_options']
    profile: Annotated[Optional[str], 'Name of the profile that the options are.']
    situation: Annotated[Situation, InPlace()]
    wal: Wal
    memtables: Memtables
    column_families: Annotated[tuple[ColumnFamily, ...], 'By column.']
    level0: Level0
    levels: Annotated[tuple[Level, ...], 'From level 1 on.']
    dynamic_level_bytes: DynamicLevels
    db_device: Annotated[Optional[DbDevice], 'null: no dedicated DB device, or not known.']
    stalls: Annotated[tuple[Stall, ...], 'When RocksDB would hold up writes.']
    background: Background
    write_amplification: Annotated[
        Optional[Estimate],
        '(WAL + flushes + compactions) / WAL bytes; the interval held 80% of the comparisons.',
    ]
    flush_bytes_per_wal_byte: Annotated[
        Optional[Amount], 'Of the write amplification, what flushes write.'
    ]
    compaction_bytes_per_wal_byte: Annotated[
        Optional[Amount], 'Of the write amplification, what compactions write.'
    ]
    kv_sync_time: Annotated[
        Optional[Estimate],
        'Of the kv_sync thread for a write, as a part of what it takes with memtables of 256 MiB; '
        'null where the workload is not known.',
    ]
    cpu: Annotated[
        Optional[Cpu],
        'Of the kv_sync thread, flushes and compactions, on the processor that was measured; null '
        'where workload or size of the database is not known, or the compression was not measured.',
    ]
    space_amplification: Annotated[
        Optional[Estimate], 'SST bytes over what a full compaction leaves of them.'
    ]
    sources: Annotated[tuple[Formula, ...], 'How the quantities are calculated.']
    measured: Annotated[str, 'What the measured parameters and intervals come from.']


@dataclass(frozen=True)
class Choice:
    """One option of a derived string."""

    option: Annotated[str, 'Name of the option.']
    value: Annotated[str, 'Its value.']
    why: Annotated[str, 'Why it was chosen.']
    source: Annotated[str, 'Where that is known from.']


@dataclass(frozen=True)
class Derived:
    """An option string with the reason of each choice."""

    options: Annotated[str, 'bluestore_rocksdb_options']
    equals: Annotated[Optional[str], 'The profile that it means the same as.']
    nearest: Annotated[str, 'The profile that it differs least from.']
    differences: Annotated[tuple[OptionChange, ...], 'From the nearest profile to here.']
    situation: Annotated[Situation, InPlace()]
    choices: Annotated[tuple[Choice, ...], 'Each with its reason.']


def model_of(answer: TreeAnswer) -> Model:
    model = answer.model
    levels, amplification = model.levels, model.amplification
    return Model(
        options=answer.options,
        profile=answer.profile,
        situation=_situation(answer.situation, model.assumptions),
        wal=_wal(model.wal),
        memtables=_memtables(model.memtables),
        column_families=tuple(map(_column_family, model.column_families)),
        level0=Level0(levels.level0_files, levels.level0_bytes, levels.level0_to_level1),
        levels=tuple(like(Level, level, level=level.number) for level in levels.levels),
        dynamic_level_bytes=_dynamic(levels),
        db_device=None if model.db_device is None else _db_device(model.db_device),
        stalls=tuple(map(_stall, model.stalls)),
        background=Background(model.background_flushes, model.background_compactions),
        write_amplification=estimate_if_any(amplification.write),
        flush_bytes_per_wal_byte=amplification.flushes,
        compaction_bytes_per_wal_byte=amplification.compactions,
        kv_sync_time=estimate_if_any(model.kv_sync_time),
        cpu=None if model.cpu is None else _cpu(model.cpu),
        space_amplification=estimate_if_any(amplification.space),
        sources=tuple(like(Formula, formula) for formula in calibration().formulas),
        measured=calibration().source,
    )


def derived_of(derived: Derivation) -> Derived:
    return Derived(
        options=derived.options,
        equals=derived.equals,
        nearest=derived.nearest,
        differences=changes_of(derived.differences),
        situation=_situation(derived.situation, derived.assumptions),
        choices=tuple(like(Choice, choice) for choice in derived.choices),
    )


def _situation(situation: FoundSituation, assumptions: tuple[str, ...]) -> Situation:
    devices, load = situation.devices, situation.load
    return Situation(
        osd=situation.osd_id,
        release=situation.release.name,
        rocksdb_version=situation.release.rocksdb_version,
        inputs=Inputs(
            workload=situation.workload,
            measured_as=load.workload,
            wal_bytes_per_s=load.wal_bytes_per_s,
            bytes_per_key=load.bytes_per_key,
            data_bytes=load.data_bytes,
            objects=objects_of(situation.working_set),
            memory_target_bytes=situation.memory_target_bytes,
            cores=situation.cores,
            dedicated_db=devices.dedicated_db,
            dedicated_wal=devices.dedicated_wal,
            db_device_bytes=devices.db_bytes,
            wal_device_bytes=devices.wal_bytes,
            main_device_bytes=devices.main_bytes,
            column_families=tuple(
                ColumnShards(column.name, column.shards) for column in situation.columns
            ),
        ),
        assumptions=assumptions,
    )


def _wal(wal: WalModel) -> Wal:
    return like(Wal, wal, device_bytes=estimate_of(wal.device_bytes))


def _memtables(memtables: MemtableModel) -> Memtables:
    return like(Memtables, memtables, bounded_bytes=estimate_of(memtables.bounded_bytes))


def _column_family(column: ColumnFamilyModel) -> ColumnFamily:
    return like(
        ColumnFamily,
        column,
        column=column.name,
        full_flush_bytes=estimate_of(column.full_flush_bytes),
        expected_flush_bytes=estimate_if_any(column.expected_flush_bytes),
        level0_file_bytes=estimate_if_any(column.level0_file_bytes),
    )


def _cpu(cpu: CpuModel) -> Cpu:
    return like(
        Cpu,
        cpu,
        us_per_wal_kib=estimate_of(cpu.us_per_wal_kib),
        us_per_write=estimate_of(cpu.us_per_write),
    )


def _dynamic(levels: LevelsModel) -> DynamicLevels:
    return DynamicLevels(
        requested=levels.dynamic_requested,
        in_effect=levels.dynamic_in_effect,
        why=levels.dynamic_why,
        levels=tuple(DynamicLevel(level, size) for level, size in levels.dynamic_levels),
    )


def _db_device(device: DbDeviceModel) -> DbDevice:
    return like(DbDevice, device)


def _stall(stall: FoundStall) -> Stall:
    return like(Stall, stall)

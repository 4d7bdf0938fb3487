"""The LSM-tree model of an option string, and derived option strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.whatif.derive import Choice, Derivation
from ...advise.whatif.situation import Situation as FoundSituation
from ...advise.whatif.tree import TreeAnswer
from ...lsm.calibration import Formula, calibration
from ...lsm.records import (
    ColumnFamilyModel,
    CpuModel,
    DbDeviceModel,
    Estimate,
    Level,
    MemtableModel,
    WalModel,
)
from ...notes import Amount, Count, InPlace, OsdId
from ...options.grammar import OptionDifference
from ...workload.records import WorkloadClass


@dataclass(frozen=True)
class ColumnShards:
    """A column of the database, with its number of shards."""

    column: Annotated[str, 'Name of the column; "default" for all other keys.']
    shards: Annotated[Count, 'Number of its column families.']


@dataclass(frozen=True)
class Inputs:
    """Inputs of the model; null: unknown."""

    workload: Annotated[Optional[WorkloadClass], 'Workload class of the clients.']
    measured_as: Annotated[Optional[str], 'Measured load that represents the workload.']
    wal_bytes_per_s: Annotated[Optional[Amount], 'Bytes written to the database per second.']
    bytes_per_key: Annotated[Optional[Amount], 'Mean size of a key with its value.']
    data_bytes: Annotated[Optional[Amount], 'Total space used by BlueFS.']
    objects: Annotated[
        Optional[Estimate],
        'Objects that clients write to, estimated from the writes of the OSD; null if these do '
        'not tell.',
    ]
    memory_target_bytes: Annotated[Optional[Count], 'osd_memory_target']
    cores: Annotated[Optional[Count], 'CPU cores per OSD.']
    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.']
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.']
    db_device_bytes: Annotated[Optional[Count], 'Size of the DB device.']
    wal_device_bytes: Annotated[Optional[Count], 'Size of the WAL device.']
    main_device_bytes: Annotated[Optional[Count], 'Size of the data device.']
    column_families: Annotated[tuple[ColumnShards, ...], 'Columns as in bluestore_rocksdb_cfs.']


@dataclass(frozen=True)
class Situation:
    """The OSD that an answer is for."""

    osd: Annotated[Optional[OsdId], 'Id of the OSD; null: none was given.']
    release: Annotated[str, 'Its release.']
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    inputs: Annotated[Inputs, 'Inputs of the model; null: unknown.']
    assumptions: Annotated[tuple[str, ...], 'Assumptions in place of unknown inputs.']


@dataclass(frozen=True)
class Level0:
    """Level 0, which receives the flushes."""

    files: Annotated[Count, 'Number of files that triggers a compaction.']
    bytes: Annotated[
        Count,
        'Size: write_buffer_size x min_write_buffer_number_to_merge x '
        'level0_file_num_compaction_trigger.',
    ]
    ratio_to_level1: Annotated[Optional[Amount], 'Size of level 0 over the size of level 1.']


@dataclass(frozen=True)
class Background:
    """Maximum number of concurrent background jobs."""

    flushes: Count
    compactions: Count


@dataclass(frozen=True)
class Model:
    """Model of an OSD's RocksDB with an option string."""

    options: Annotated[str, 'bluestore_rocksdb_options']
    profile: Annotated[Optional[str], 'Name of the matching profile.']
    situation: Annotated[Situation, InPlace()]
    wal: Annotated[WalModel, 'The write-ahead log.']
    memtables: Annotated[MemtableModel, 'Memory of the memtables.']
    column_families: Annotated[tuple[ColumnFamilyModel, ...], 'Column families by column.']
    level0: Annotated[Level0, 'Level 0, which receives the flushes.']
    levels: Annotated[tuple[Level, ...], 'Levels from level 1.']
    dynamic_level_bytes: Annotated[
        Optional[str],
        'Why level_compaction_dynamic_level_bytes is not in effect although enabled; null: it is '
        'as in the options.',
    ]
    db_device: Annotated[
        Optional[DbDeviceModel], 'Use of the DB device; null: no dedicated device, or unknown.'
    ]
    background: Annotated[Background, 'Maximum number of concurrent background jobs.']
    write_amplification: Annotated[
        Optional[Estimate],
        '(WAL + flushes + compactions) / WAL bytes, with an 80% interval from measurements.',
    ]
    flush_bytes_per_wal_byte: Annotated[
        Optional[Amount], 'Share of flushes in the write amplification.'
    ]
    compaction_bytes_per_wal_byte: Annotated[
        Optional[Amount], 'Share of compactions in the write amplification.'
    ]
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
    space_amplification: Annotated[
        Optional[Estimate], 'SST bytes over SST bytes after a full compaction.'
    ]
    sources: Annotated[tuple[Formula, ...], 'Formulas of the quantities.']
    measured: Annotated[str, 'Source of the measured parameters and intervals.']


@dataclass(frozen=True)
class Derived:
    """A derived option string, with a reason for each option."""

    options: Annotated[str, 'bluestore_rocksdb_options']
    equals: Annotated[Optional[str], 'Equivalent profile; null: none.']
    nearest: Annotated[str, 'Most similar profile.']
    differences: Annotated[
        tuple[OptionDifference, ...], 'Differences from the most similar profile.'
    ]
    situation: Annotated[Situation, InPlace()]
    choices: Annotated[tuple[Choice, ...], 'Options with their reasons.']


def model_of(answer: TreeAnswer) -> Model:
    model = answer.model
    levels, amplification = model.levels, model.amplification
    return Model(
        options=answer.options,
        profile=answer.profile,
        situation=_situation(answer.situation, model.assumptions),
        wal=model.wal,
        memtables=model.memtables,
        column_families=model.column_families,
        level0=Level0(levels.level0_files, levels.level0_bytes, levels.level0_to_level1),
        levels=levels.levels,
        dynamic_level_bytes=levels.dynamic_why,
        db_device=model.db_device,
        background=Background(model.background_flushes, model.background_compactions),
        write_amplification=amplification.write,
        flush_bytes_per_wal_byte=amplification.flushes,
        compaction_bytes_per_wal_byte=amplification.compactions,
        kv_sync_time=model.kv_sync_time,
        cpu=model.cpu,
        space_amplification=amplification.space,
        sources=calibration().formulas,
        measured=calibration().source,
    )


def derived_of(derived: Derivation) -> Derived:
    return Derived(
        options=derived.options,
        equals=derived.equals,
        nearest=derived.nearest,
        differences=derived.differences,
        situation=_situation(derived.situation, derived.assumptions),
        choices=derived.choices,
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
            objects=situation.objects,
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

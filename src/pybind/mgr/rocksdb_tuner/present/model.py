"""The LSM-tree model of an option string, and derived option strings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.whatif.derive import Choice, Derivation
from ..advise.whatif.situation import Situation as FoundSituation
from ..advise.whatif.tree import TreeAnswer
from ..lsm.calibration import Formula, calibration
from ..lsm.records import (
    Amplification,
    ColumnFamilyModel,
    CpuModel,
    DbDeviceModel,
    Estimate,
    Level,
    MemtableModel,
    TreeModel,
    WalModel,
)
from ..notes import Amount, Count, InPlace, OsdId
from ..options.grammar import OptionDifference
from ..units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_duration,
    format_percent,
    format_ratio,
)
from ..workload.records import WorkloadClass
from .layout import Column, fields, paragraph, table
from .phrases import bullets, changes_table, estimated, objects_written_to, sections, titled


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


_LIMITED = {
    'max_total_wal_size': 'max_total_wal_size',
    'memtables': 'not limited, 8 x all memtables =',
}
_YES_NO = {True: 'yes', False: 'no', None: UNKNOWN}
#: Higher levels are never filled in practice.
_LEVELS_SHOWN = 5


def tree(answer: TreeAnswer) -> str:
    """WAL, memory, flushes, levels and amplification."""
    model = answer.model
    return sections(
        fields(
            [
                *_about(answer.situation),
                ('Profile', answer.profile or 'no known profile'),
                *_summary(model),
            ]
        ),
        titled('Column families', _columns(model)),
        titled('Levels of each column family', _levels(model)),
        titled('DB device', _db_device(model.db_device)),
        titled('Assumptions', bullets(model.assumptions)),
        paragraph('Formulas and sources: --format json-pretty.'),
    )


def _about(situation: FoundSituation) -> Iterable[tuple[str, str]]:
    if situation.osd_id is not None:
        yield 'OSD', f'osd.{situation.osd_id}'
    yield 'Release', f'{situation.release.label}, RocksDB {situation.release.rocksdb_version}'
    yield 'Workload', UNKNOWN if situation.workload is None else situation.workload.value
    if situation.objects is not None:
        yield 'Objects written to', objects_written_to(situation.objects)


def _summary(model: TreeModel) -> Iterable[tuple[str, str]]:
    wal, memtables, levels = model.wal, model.memtables, model.levels
    yield (
        'WAL',
        f'{_LIMITED[wal.limited_by]} {format_bytes(wal.limit_bytes)}, '
        f'{estimated(wal.device_bytes, format_bytes)} on the device'
        + ('' if wal.fits_device is None else _fits(wal.fits_device, wal.device_total_bytes))
        + ('' if wal.fill_s is None else f'; full in {format_duration(wal.fill_s)}'),
    )
    share = memtables.share_of_memory_target
    yield (
        'Memtables',
        f'at most {estimated(memtables.bounded_bytes, format_bytes)}, bounded by '
        f'{memtables.bounded_by}'
        + ('' if share is None else f'; {format_percent(share)} of the memory target')
        + (
            ''
            if memtables.bounded_by == 'max_write_buffer_number'
            else f' ({format_bytes(memtables.ceiling_bytes)} by their number alone)'
        ),
    )
    yield (
        'Level 0',
        (
            f'{levels.level0_files} files, {format_bytes(levels.level0_bytes)}: '
            f'{format_ratio(levels.level0_to_level1)} of level 1'
        ),
    )
    yield (
        'Background',
        f'at most {model.background_flushes} concurrent flushes, '
        f'{model.background_compactions} compactions'
        + ('' if model.cores is None else f', on {model.cores} cores'),
    )
    yield 'Write amplification', _written(model.amplification)
    if model.kv_sync_time is not None:
        time = estimated(model.kv_sync_time, format_ratio)
        yield 'KV sync', f'{time} of the time per write with memtables of 256 MiB'
    yield 'RocksDB CPU', _cpu(model.cpu)
    yield 'Space amplification', estimated(model.amplification.space, format_ratio)
    if levels.dynamic_why is not None:
        yield 'Dynamic level bytes', f'not in effect: {levels.dynamic_why}'


def _written(found: Amplification) -> str:
    total = estimated(found.write, format_ratio)
    if found.flushes is None or found.compactions is None:
        return total
    return (
        f'{total}: for each byte in the WAL flushes write {format_ratio(found.flushes)}, '
        f'compactions {format_ratio(found.compactions)}'
    )


def _cpu(cpu: Optional[CpuModel]) -> str:
    if cpu is None:
        return UNKNOWN
    parts = (
        ('kv_sync', cpu.kv_sync_us_per_wal_kib),
        ('flushes', cpu.flushes_us_per_wal_kib),
        ('compactions', cpu.compactions_us_per_wal_kib),
        ('compression', cpu.compression_us_per_wal_kib),
    )
    named = ', '.join(f'{name} {_micros(part)}' for name, part in parts if part)
    return (
        f'{estimated(cpu.us_per_wal_kib, _micros)} per KiB in the WAL ({named}), '
        f'{estimated(cpu.us_per_write, _micros)} per write'
    )


def _micros(microseconds: Optional[float]) -> str:
    return UNKNOWN if microseconds is None else f'{microseconds:.3g} us'


def _fits(fits: bool, total_bytes: Optional[int]) -> str:
    verb = 'fits' if fits else 'does NOT fit'
    return f'; {verb} its {format_bytes(total_bytes)}'


def _columns(model: TreeModel) -> str:
    """Columns on flushes are shown only for a known workload."""
    families = model.column_families
    columns = [
        Column('COLUMN FAMILY'),
        Column('SHARDS', 'r', omit=1),
        Column('MEMTABLE', 'r'),
        Column('FLUSH OF'),
        Column('FULL FLUSH', 'r', omit=2),
    ]
    if all(family.share is None for family in families):
        return table(columns, (_column(family) for family in families), indent=2)
    columns += [
        Column('SHARE', 'r', omit=3),
        Column('EXPECTED', 'r'),
        Column('FLUSHED BY'),
        Column('LEVEL 0 FILE', 'r', omit=5),
        Column('KEYS', 'r', omit=4),
        Column('EVERY', 'r'),
    ]
    rows = ((*_column(family), *_flush(family)) for family in families)
    return '\n'.join((table(columns, rows, indent=2), paragraph(_accuracy(), 2)))


def _column(column: ColumnFamilyModel) -> tuple[str, ...]:
    return (
        column.name,
        str(column.shards),
        format_bytes(column.write_buffer_bytes),
        f'{column.min_write_buffer_number_to_merge} of {column.max_write_buffer_number}',
        format_bytes(column.full_flush_bytes.value),
    )


def _flush(column: ColumnFamilyModel) -> tuple[str, ...]:
    expected, file = column.expected_flush_bytes, column.level0_file_bytes
    return (
        format_percent(column.share),
        UNKNOWN if expected is None else format_bytes(expected.value),
        column.flushed_by or UNKNOWN,
        UNKNOWN if file is None else format_bytes(file.value),
        format_count(column.keys_per_flush),
        format_duration(column.flush_every_s),
    )


def _accuracy() -> str:
    """The accuracy of the values in the table."""
    quantities = calibration().quantities
    parts = [
        f'{words} {quantities[name].low:.2f} to {quantities[name].high:.2f}'
        for words, name in (
            ('full flushes', 'full_flush_bytes'),
            ('flushes by the WAL', 'early_flush_bytes'),
            ('level 0 files', 'level0_file_bytes'),
        )
    ]
    return f'Measured over predicted, in 80% of the comparisons: {", ".join(parts)}.'


def _levels(model: TreeModel) -> str:
    columns = (
        Column('LEVEL', 'r'),
        Column('TARGET', 'r'),
        Column('UP TO HERE', 'r'),
        Column('WITH LEVEL 0', 'r'),
        Column('ON DB DEVICE'),
    )
    rows = (_level(level) for level in model.levels.levels[:_LEVELS_SHOWN])
    return table(columns, rows, indent=2)


def _level(level: Level) -> tuple[str, ...]:
    return (
        str(level.number),
        format_bytes(level.target_bytes),
        format_bytes(level.cumulative_bytes),
        format_bytes(level.cumulative_with_level0_bytes),
        _YES_NO[level.on_db_device],
    )


def _db_device(device: Optional[DbDeviceModel]) -> str:
    if device is None:
        return ''
    last = 'no level' if device.last_level is None else f'level {device.last_level}'
    if device.levels_bytes == 0 and device.extra_bytes == device.usable_bytes:
        last = 'no level: files are placed there while there is room'
    return fields(
        [
            (
                'Usable',
                f'{format_bytes(device.usable_bytes)} of {format_bytes(device.total_bytes)}',
            ),
            ('Last full level', f'{last} ({format_bytes(device.levels_bytes)} with level 0)'),
            ('Usable by higher levels', f'{format_bytes(device.extra_bytes)} ({device.policy})'),
            ('Unusable', format_bytes(device.unused_bytes)),
            ('Data fits', _YES_NO[device.holds_data]),
        ],
        indent=2,
    )


def derivation(derived: Derivation) -> str:
    """Derived options, the nearest profile, and the reason for each value."""
    equal = derived.equals
    return sections(
        fields(
            [
                *_about(derived.situation),
                ('Options', derived.options),
                (
                    'Profile',
                    equal or f'no known profile; the nearest is {derived.nearest}',
                ),
            ]
        ),
        titled(
            'Differences', changes_table(derived.differences, derived.nearest.upper(), 'DERIVED')
        ),
        titled(
            'Choices',
            '\n'.join(_choice(c.option, c.value, c.why, c.source) for c in derived.choices),
        ),
        titled('Assumptions', bullets(derived.assumptions)),
    )


def _choice(option: str, value: str, why: str, source: str) -> str:
    return '\n'.join(
        (
            paragraph(f'{option}={value}', 4, '  - '),
            paragraph(why, 6),
            paragraph(f'({source})', 6),
        )
    )

"""The modeled LSM tree and derived options: `model` and `profile derive`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.whatif.derive import Choice, Derivation
from ..advise.whatif.situation import Situation
from ..advise.whatif.tree import TreeAnswer
from ..lsm.calibration import Formula, calibration
from ..lsm.records import (
    ColumnFamilyModel,
    CpuModel,
    DbDeviceModel,
    Estimate,
    Level,
    LevelsModel,
    TreeModel,
)
from ..notes import InPlace, Picked
from ..options.grammar import OptionDifference
from ..units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_duration,
    format_ratio,
)
from .layout import (
    Column,
    bullets,
    fields,
    filled,
    joined,
    paragraph,
    sections,
    shown,
    table,
    titled,
)
from .phrases import changes_table, estimated, objects_written_to

_Inputs = Annotated[
    Situation,
    Picked('workload', 'load', 'objects', 'memory_target_bytes', 'cores', 'devices', 'columns'),
    'Inputs of the model; null: unknown.',
]
_Assumptions = Annotated[tuple[str, ...], 'Assumptions in place of unknown inputs.']


@dataclass(frozen=True)
class Model:
    """Model of an OSD's RocksDB with an option string."""

    answer: Annotated[TreeAnswer, InPlace()]
    inputs: _Inputs
    assumptions: _Assumptions
    level0: Annotated[
        LevelsModel,
        Picked('level0_files', 'level0_bytes', 'level0_to_level1'),
        'Level 0, which receives the flushes.',
    ]
    background: Annotated[
        TreeModel,
        Picked('background_flushes', 'background_compactions'),
        'Maximum number of concurrent background jobs.',
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
    situation: Annotated[Situation, InPlace('osd_id', 'release')]
    inputs: _Inputs
    assumptions: _Assumptions
    choices: Annotated[tuple[Choice, ...], 'Options with their reasons.']


def model_of(answer: TreeAnswer) -> Model:
    model, known, inputs = answer.model, calibration(), answer.situation
    assumed = model.assumptions
    return Model(answer, inputs, assumed, model.levels, model, known.formulas, known.source)


def derived_of(derived: Derivation) -> Derived:
    return Derived(
        derived.options,
        derived.equals,
        derived.nearest,
        derived.differences,
        derived.situation,
        derived.situation,
        derived.assumptions,
        derived.choices,
    )


_LIMITED = {
    'max_total_wal_size': 'max_total_wal_size',
    'memtables': 'not limited, 8 x all memtables =',
}
#: Higher levels are never filled in practice.
_LEVELS_SHOWN = 5
_FAMILIES: Sequence[Column[ColumnFamilyModel]] = (
    Column('COLUMN FAMILY', 'name'),
    Column('SHARDS', 'shards', 'r', omit=1),
    Column('MEMTABLE', 'write_buffer_bytes', 'r'),
    Column(
        'FLUSH OF', lambda c: f'{c.min_write_buffer_number_to_merge} of {c.max_write_buffer_number}'
    ),
    Column('FULL FLUSH', lambda c: format_bytes(c.full_flush_bytes.value), 'r', omit=2),
)
#: For a known workload.
_FLUSHES: Sequence[Column[ColumnFamilyModel]] = (
    Column('SHARE', 'share', 'r', omit=3),
    Column('EXPECTED', lambda c: _bytes(c.expected_flush_bytes), 'r'),
    Column('FLUSHED BY', 'flushed_by'),
    Column('LEVEL 0 FILE', lambda c: _bytes(c.level0_file_bytes), 'r', omit=5),
    Column('KEYS', lambda c: format_count(c.keys_per_flush), 'r', omit=4),
    Column('EVERY', 'flush_every_s', 'r'),
)
_LEVELS: Sequence[Column[Level]] = (
    Column('LEVEL', 'number', 'r'),
    Column('TARGET', 'target_bytes', 'r'),
    Column('UP TO HERE', 'cumulative_bytes', 'r'),
    Column('WITH LEVEL 0', 'cumulative_with_level0_bytes', 'r'),
    Column('ON DB DEVICE', 'on_db_device'),
)


def _bytes(found: Optional[Estimate]) -> Optional[str]:
    return format_bytes(found.value) if found else None


def tree(answer: TreeAnswer) -> str:
    """WAL, memory, flushes, levels and amplification."""
    model, profile = answer.model, ('Profile', answer.profile or 'no known profile')
    return sections(
        fields(*_about(answer.situation), profile, *_summary(model)),
        titled('Column families', _families(model.column_families)),
        titled(
            'Levels of each column family',
            table(_LEVELS, model.levels.levels[:_LEVELS_SHOWN], indent=2),
        ),
        titled('DB device', _device(model.db_device) if model.db_device else ''),
        titled('Assumptions', bullets(model.assumptions)),
        'Formulas and sources: --format json-pretty.',
    )


def _about(situation: Situation) -> Sequence[tuple[str, Optional[str]]]:
    osd_id, objects = situation.osd_id, situation.objects
    return (
        ('OSD', None if osd_id is None else f'osd.{osd_id}'),
        ('Release', filled('{release.label}, RocksDB {release.rocksdb_version}', situation)),
        ('Workload', shown(situation, 'workload')),
        ('Objects written to', objects_written_to(objects) if objects else None),
    )


def _summary(model: TreeModel) -> Iterable[tuple[str, Optional[str]]]:
    wal, memtables, levels, found = model.wal, model.memtables, model.levels, model.amplification
    fits, by = 'fits' if wal.fits_device else 'does NOT fit', memtables.bounded_by
    yield (
        'WAL',
        joined(
            f'{_LIMITED[wal.limited_by]} {format_bytes(wal.limit_bytes)}, '
            f'{estimated(wal.device_bytes, format_bytes)} on the device',
            None if wal.fits_device is None else f'{fits} its {shown(wal, "device_total_bytes")}',
            None if wal.fill_s is None else f'full in {format_duration(wal.fill_s)}',
            by='; ',
        ),
    )
    share = filled('{share_of_memory_target} of the memory target', memtables)
    by_number = f' ({format_bytes(memtables.ceiling_bytes)} by their number alone)'
    yield (
        'Memtables',
        joined(
            f'at most {estimated(memtables.bounded_bytes, format_bytes)}, bounded by {by}',
            None if memtables.share_of_memory_target is None else share,
            by='; ',
        )
        + ('' if by == 'max_write_buffer_number' else by_number),
    )
    size = f'{format_bytes(levels.level0_bytes)}: {format_ratio(levels.level0_to_level1)}'
    yield 'Level 0', f'{levels.level0_files} files, {size} of level 1'
    jobs = 'at most {background_flushes} concurrent flushes, {background_compactions} compactions'
    yield 'Background', filled(jobs + (', on {cores} cores' if model.cores else ''), model)
    parts = ''
    if found.flushes is not None and found.compactions is not None:
        flushes, compactions = format_ratio(found.flushes), format_ratio(found.compactions)
        parts = f': for each byte in the WAL flushes write {flushes}, compactions {compactions}'
    yield 'Write amplification', estimated(found.write, format_ratio) + parts
    if model.kv_sync_time is not None:
        time = estimated(model.kv_sync_time, format_ratio)
        yield 'KV sync', f'{time} of the time per write with memtables of 256 MiB'
    yield 'RocksDB CPU', UNKNOWN if model.cpu is None else _cpu(model.cpu)
    yield 'Space amplification', estimated(found.space, format_ratio)
    why = levels.dynamic_why
    yield 'Dynamic level bytes', None if why is None else f'not in effect: {why}'


def _cpu(cpu: CpuModel) -> str:
    parts = (
        ('kv_sync', cpu.kv_sync_us_per_wal_kib),
        ('flushes', cpu.flushes_us_per_wal_kib),
        ('compactions', cpu.compactions_us_per_wal_kib),
        ('compression', cpu.compression_us_per_wal_kib),
    )
    named = ', '.join(f'{name} {_micros(part)}' for name, part in parts if part)
    whole, each = (estimated(n, _micros) for n in (cpu.us_per_wal_kib, cpu.us_per_write))
    return f'{whole} per KiB in the WAL ({named}), {each} per write'


def _micros(microseconds: Optional[float]) -> str:
    return UNKNOWN if microseconds is None else f'{microseconds:.3g} us'


def _families(families: Sequence[ColumnFamilyModel]) -> str:
    """With the accuracy of what is known of flushes."""
    if all(family.share is None for family in families):
        return table(_FAMILIES, families, indent=2)
    known = calibration().quantities
    errors = ', '.join(
        f'{words} {known[name].low:.2f} to {known[name].high:.2f}'
        for words, name in (
            ('full flushes', 'full_flush_bytes'),
            ('flushes by the WAL', 'early_flush_bytes'),
            ('level 0 files', 'level0_file_bytes'),
        )
    )
    accuracy = f'Measured over predicted, in 80% of the comparisons: {errors}.'
    return joined(table((*_FAMILIES, *_FLUSHES), families, indent=2), paragraph(accuracy, 2))


def _device(device: DbDeviceModel) -> str:
    last = 'no level' if device.last_level is None else f'level {device.last_level}'
    if device.levels_bytes == 0 and device.extra_bytes == device.usable_bytes:
        last = 'no level: files are placed there while there is room'
    return fields(
        ('Usable', filled('{usable_bytes} of {total_bytes}', device)),
        ('Last full level', f'{last} ({format_bytes(device.levels_bytes)} with level 0)'),
        ('Usable by higher levels', filled('{extra_bytes} ({policy})', device)),
        ('Unusable', shown(device, 'unused_bytes')),
        ('Data fits', shown(device, 'holds_data')),
        indent=2,
    )


def derivation(derived: Derivation) -> str:
    """Derived options, the nearest profile, and the reason for each value."""
    nearest = derived.nearest
    return sections(
        fields(
            *_about(derived.situation),
            ('Options', derived.options),
            ('Profile', derived.equals or f'no known profile; the nearest is {nearest}'),
        ),
        titled('Differences', changes_table(derived.differences, nearest.upper(), 'DERIVED')),
        titled('Choices', joined(*map(_choice, derived.choices))),
        titled('Assumptions', bullets(derived.assumptions)),
    )


def _choice(choice: Choice) -> str:
    return joined(
        paragraph(f'{choice.option}={choice.value}', 4, '  - '),
        paragraph(choice.why, 6),
        paragraph(f'({choice.source})', 6),
    )

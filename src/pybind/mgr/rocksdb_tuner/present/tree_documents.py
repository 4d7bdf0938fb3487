"""The JSON of `model` and `profile derive`."""

from __future__ import annotations

from ..advise.derive import Derivation
from ..advise.situation import Situation
from ..advise.tree import TreeAnswer
from ..lsm.calibration import calibration
from ..lsm.records import (
    ColumnFamilyModel,
    CpuModel,
    DbDeviceModel,
    LevelsModel,
    MemtableModel,
    Stall,
    WalModel,
)
from ..units import rounded
from .estimates import estimate, working_set
from .json_types import JsonObject

__all__ = ['derivation', 'tree']


def tree(answer: TreeAnswer) -> JsonObject:
    """What an option string makes of an OSD's RocksDB."""
    model = answer.model
    return {
        'options': answer.options,
        'profile': answer.profile,
        **_situation(answer.situation),
        'assumptions': list(model.assumptions),
        'wal': _wal(model.wal),
        'memtables': _memtables(model.memtables),
        'column_families': [_column_family(column) for column in model.column_families],
        'level0': {
            'files': model.levels.level0_files,
            'bytes': model.levels.level0_bytes,
            'ratio_to_level1': rounded(model.levels.level0_to_level1),
        },
        'levels': [
            {
                'level': level.number,
                'target_bytes': level.target_bytes,
                'cumulative_bytes': level.cumulative_bytes,
                'cumulative_with_level0_bytes': level.cumulative_with_level0_bytes,
                'on_db_device': level.on_db_device,
            }
            for level in model.levels.levels
        ],
        'dynamic_level_bytes': _dynamic(model.levels),
        'db_device': None if model.db_device is None else _db_device(model.db_device),
        'stalls': [_stall(stall) for stall in model.stalls],
        'background': {
            'flushes': model.background_flushes,
            'compactions': model.background_compactions,
        },
        'write_amplification': estimate(model.amplification.write),
        'flush_bytes_per_wal_byte': rounded(model.amplification.flushes),
        'compaction_bytes_per_wal_byte': rounded(model.amplification.compactions),
        'kv_sync_time': estimate(model.kv_sync_time),
        'cpu': None if model.cpu is None else _cpu(model.cpu),
        'space_amplification': estimate(model.amplification.space),
        'sources': [
            {'quantity': f.quantity, 'formula': f.formula, 'source': f.source}
            for f in calibration().formulas
        ],
        'measured': calibration().source,
    }


def derivation(derived: Derivation) -> JsonObject:
    """An option set with the reason of each choice."""
    return {
        'options': derived.options,
        'equals': derived.equals,
        'nearest': derived.nearest,
        'differences': [
            {'option': c.option, 'from': c.value_from, 'to': c.value_to}
            for c in derived.differences
        ],
        **_situation(derived.situation),
        'assumptions': list(derived.assumptions),
        'choices': [
            {'option': c.option, 'value': c.value, 'why': c.why, 'source': c.source}
            for c in derived.choices
        ],
    }


def _situation(situation: Situation) -> JsonObject:
    devices, load = situation.devices, situation.load
    return {
        'osd': situation.osd_id,
        'release': situation.release.name,
        'rocksdb_version': situation.release.rocksdb_version,
        'inputs': {
            'workload': None if situation.workload is None else situation.workload.value,
            'measured_as': load.workload,
            'wal_bytes_per_s': rounded(load.wal_bytes_per_s),
            'bytes_per_key': rounded(load.bytes_per_key),
            'data_bytes': rounded(load.data_bytes),
            'objects': working_set(situation.working_set),
            'memory_target_bytes': situation.memory_target_bytes,
            'cores': situation.cores,
            'dedicated_db': devices.dedicated_db,
            'dedicated_wal': devices.dedicated_wal,
            'db_device_bytes': devices.db_bytes,
            'wal_device_bytes': devices.wal_bytes,
            'main_device_bytes': devices.main_bytes,
            'column_families': [
                {'column': column.name, 'shards': column.shards} for column in situation.columns
            ],
        },
    }


def _wal(wal: WalModel) -> JsonObject:
    return {
        'limit_bytes': wal.limit_bytes,
        'limited_by': wal.limited_by,
        'file_bytes': wal.file_bytes,
        'device_bytes': estimate(wal.device_bytes),
        'device_total_bytes': wal.device_total_bytes,
        'fits_device': wal.fits_device,
        'fill_s': rounded(wal.fill_s),
    }


def _memtables(memtables: MemtableModel) -> JsonObject:
    return {
        'ceiling_bytes': memtables.ceiling_bytes,
        'bounded_bytes': estimate(memtables.bounded_bytes),
        'bounded_by': memtables.bounded_by,
        'memory_target_bytes': memtables.memory_target_bytes,
        'share_of_memory_target': rounded(memtables.share_of_memory_target),
    }


def _column_family(column: ColumnFamilyModel) -> JsonObject:
    return {
        'column': column.name,
        'shards': column.shards,
        'write_buffer_bytes': column.write_buffer_bytes,
        'max_write_buffer_number': column.max_write_buffer_number,
        'min_write_buffer_number_to_merge': column.min_write_buffer_number_to_merge,
        'memtable_ceiling_bytes': column.memtable_ceiling_bytes,
        'full_flush_bytes': estimate(column.full_flush_bytes),
        'share': rounded(column.share),
        'expected_flush_bytes': estimate(column.expected_flush_bytes),
        'flushed_by': column.flushed_by,
        'level0_file_bytes': estimate(column.level0_file_bytes),
        'writes_per_flush': rounded(column.writes_per_flush),
        'keys_per_flush': rounded(column.keys_per_flush),
        'flush_every_s': rounded(column.flush_every_s),
    }


def _cpu(cpu: CpuModel) -> JsonObject:
    return {
        'us_per_wal_kib': estimate(cpu.us_per_wal_kib),
        'us_per_write': estimate(cpu.us_per_write),
        'kv_sync_us_per_wal_kib': rounded(cpu.kv_sync_us_per_wal_kib),
        'flushes_us_per_wal_kib': rounded(cpu.flushes_us_per_wal_kib),
        'compactions_us_per_wal_kib': rounded(cpu.compactions_us_per_wal_kib),
        'compression_us_per_wal_kib': rounded(cpu.compression_us_per_wal_kib),
    }


def _dynamic(levels: LevelsModel) -> JsonObject:
    return {
        'requested': levels.dynamic_requested,
        'in_effect': levels.dynamic_in_effect,
        'why': levels.dynamic_why,
        'levels': [{'level': level, 'target_bytes': size} for level, size in levels.dynamic_levels],
    }


def _db_device(device: DbDeviceModel) -> JsonObject:
    return {
        'total_bytes': device.total_bytes,
        'usable_bytes': device.usable_bytes,
        'last_level': device.last_level,
        'levels_bytes': device.levels_bytes,
        'extra_bytes': device.extra_bytes,
        'unused_bytes': device.unused_bytes,
        'policy': device.policy,
        'holds_data': device.holds_data,
    }


def _stall(stall: Stall) -> JsonObject:
    return {
        'cause': stall.cause,
        'effect': stall.effect,
        'limit': stall.limit,
        'normal': stall.normal,
        'headroom': stall.headroom,
        'headroom_bytes': stall.headroom_bytes,
        'headroom_s': rounded(stall.headroom_s),
    }

"""Options of a column family that determine the shape of its tree, as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

from ..options.effective import effective
from ..options.syntax import OptionSet

__all__ = ['NotModeledError', 'TreeOptions', 'tree_options']

_LEVEL_STYLE = 'kCompactionStyleLevel'


class NotModeledError(ValueError):
    """A possibly valid option set that this model does not cover."""


@dataclass(frozen=True)
class TreeOptions:
    """Effective values, after RocksDB's own corrections."""

    write_buffer_bytes: int
    arena_block_bytes: int
    max_write_buffer_number: int
    min_write_buffer_number_to_merge: int
    level0_trigger: int
    level0_slowdown: int
    level0_stop: int
    level_base_bytes: int
    level_multiplier: float
    levels: int
    #: None if it differs between the two nearest measured versions.
    dynamic_level_bytes: Optional[bool]
    soft_pending_bytes: int
    hard_pending_bytes: int
    #: 0: none.
    max_total_wal_bytes: int
    db_write_buffer_bytes: int
    max_background_jobs: int
    max_background_compactions: int
    max_background_flushes: int
    compression: str

    @property
    def flush_bytes(self) -> int:
        """Size of the memtables that are flushed together.

        The RocksDB Tuning Guide's write_buffer_size x min_write_buffer_number_to_merge.
        """
        return self.write_buffer_bytes * self.min_write_buffer_number_to_merge

    @property
    def full_memtable_bytes(self) -> float:
        """Size of a full memtable: less than write_buffer_size by a part of an arena block.

        MemTable::ShouldFlushNow() in db/memtable.cc: it allocates another block while it exceeds
        its size by at most 0.6 blocks, and is full when less than a quarter of the last block is
        left.
        """
        block = max(1, self.arena_block_bytes)
        blocks = max(1, math.ceil(self.write_buffer_bytes / block - 0.4))
        return blocks * block - block / 4

    @property
    def full_flush_bytes(self) -> float:
        return self.full_memtable_bytes * self.min_write_buffer_number_to_merge

    @property
    def level0_bytes(self) -> int:
        """The stable size of level 0 (RocksDB Tuning Guide, Level Style Compaction)."""
        return self.flush_bytes * self.level0_trigger

    @property
    def memtable_ceiling_bytes(self) -> int:
        return self.write_buffer_bytes * self.max_write_buffer_number


def tree_options(option_set: OptionSet, rocksdb_version: str) -> TreeOptions:
    """The tree options of one column family.

    Raises NotModeledError for another compaction style, for disabled compaction and for an infinite
    level multiplier, and what `effective` raises.
    """
    values = effective(option_set, rocksdb_version)
    style = values.get('compaction_style')
    if style != _LEVEL_STYLE:
        raise NotModeledError(f'compaction_style={style}: only {_LEVEL_STYLE} is modeled')
    if values.get('disable_auto_compactions') == 'true':
        raise NotModeledError('disable_auto_compactions=true: without compactions no level fills')

    def text(name: str) -> str:
        try:
            return values[name]
        except KeyError:
            raise NotModeledError(
                f'{name}: its effective value in RocksDB {rocksdb_version} is unknown'
            ) from None

    def number(name: str) -> int:
        return int(text(name))

    multiplier = float(text('max_bytes_for_level_multiplier'))
    if not math.isfinite(multiplier):
        raise NotModeledError(f'max_bytes_for_level_multiplier={multiplier:g}: no level has a size')
    dynamic = values.get('level_compaction_dynamic_level_bytes')
    return TreeOptions(
        write_buffer_bytes=number('write_buffer_size'),
        # Unknown for a version between two measured ones: an eighth was the rule until 7.
        arena_block_bytes=int(
            values.get('arena_block_size', max(1, number('write_buffer_size') // 8))
        ),
        max_write_buffer_number=number('max_write_buffer_number'),
        min_write_buffer_number_to_merge=number('min_write_buffer_number_to_merge'),
        level0_trigger=number('level0_file_num_compaction_trigger'),
        level0_slowdown=number('level0_slowdown_writes_trigger'),
        level0_stop=number('level0_stop_writes_trigger'),
        level_base_bytes=number('max_bytes_for_level_base'),
        level_multiplier=multiplier,
        levels=number('num_levels'),
        dynamic_level_bytes=None if dynamic is None else dynamic == 'true',
        soft_pending_bytes=number('soft_pending_compaction_bytes_limit'),
        hard_pending_bytes=number('hard_pending_compaction_bytes_limit'),
        max_total_wal_bytes=number('max_total_wal_size'),
        db_write_buffer_bytes=number('db_write_buffer_size'),
        max_background_jobs=number('max_background_jobs'),
        max_background_compactions=number('max_background_compactions'),
        max_background_flushes=number('max_background_flushes'),
        compression=text('compression'),
    )

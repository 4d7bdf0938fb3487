"""RocksDB's own statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Optional

from ...deep.reader import OsdDeepStats
from ...observe.kv_stats import ColumnFamilyStats
from ...units import format_time
from .copies import like, like_if_any
from .notes import Amount, Count, Time

_SINCE_START = 'Over all column families, since the OSD started.'


@dataclass(frozen=True)
class Totals:
    """RocksDB's own counters."""

    compact_read_bytes: Annotated[Optional[Count], _SINCE_START]
    compact_write_bytes: Annotated[Optional[Count], _SINCE_START]
    flush_write_bytes: Annotated[Optional[Count], _SINCE_START]
    wal_bytes: Annotated[Optional[Count], _SINCE_START]


@dataclass(frozen=True)
class DeepLevel:
    """One level of a column family."""

    level: Annotated[Count, 'Number of the level; flushes write to level 0.']
    files: Annotated[Optional[Count], 'Number of files.']
    size_bytes: Annotated[Optional[Count], 'Size of the files.']
    score: Annotated[Optional[Amount], 'Compaction score; above 1, compaction is due.']
    read_bytes: Annotated[
        Optional[Count], 'Bytes read by compaction since the OSD started; rounded by RocksDB.'
    ]
    write_bytes: Annotated[
        Optional[Count],
        'Bytes written by compaction or flushes since the OSD started; rounded by RocksDB.',
    ]
    write_amp: Annotated[
        Optional[Amount], 'Bytes written over bytes received from the level above.'
    ]
    compactions: Annotated[Optional[Count], 'Compactions since the OSD started.']


@dataclass(frozen=True)
class DeepColumnFamily:
    """One column family."""

    name: Annotated[str, 'Name as in bluestore_rocksdb_cfs, with the shard: "O-0".']
    files: Annotated[Optional[Count], 'Number of files in all levels.']
    size_bytes: Annotated[Optional[Count], 'Size of the files.']
    write_amp: Annotated[
        Optional[Amount],
        'Bytes written by flushes and compaction over bytes written by flushes; null without '
        'flushes.',
    ]
    flush_bytes: Annotated[
        Optional[Count],
        "Bytes written by flushes since the OSD started; null if below RocksDB's display "
        'precision.',
    ]
    compaction_write_bytes: Annotated[
        Optional[Count], 'Bytes written by flushes and compaction; rounded by RocksDB.'
    ]
    compaction_read_bytes: Annotated[
        Optional[Count], 'Bytes read by compaction; rounded by RocksDB.'
    ]
    stalls: Annotated[
        Mapping[str, Count], "Number of write slowdowns and stops, by RocksDB's reason."
    ]
    levels: Annotated[tuple[DeepLevel, ...], 'Levels with files.']


@dataclass(frozen=True)
class Deep:
    """Statistics of an OSD's RocksDB."""

    time: Annotated[Optional[Time], 'Time of the statistics. ISO 8601, UTC.']
    uptime_s: Annotated[
        Optional[Amount], 'Seconds since RocksDB was opened, when its counters start.'
    ]
    stalled_s: Annotated[Optional[Amount], 'Total time of write stalls, in seconds.']
    block_cache_bytes: Annotated[Optional[Count], 'Size of the block cache.']
    memtable_bytes: Annotated[Optional[Count], 'Size of the memtables.']
    totals: Annotated[
        Optional[Totals],
        "RocksDB's own counters; null if the OSD started without rocksdb_perf.",
    ]
    column_families: Annotated[
        tuple[DeepColumnFamily, ...],
        'Column families that the release reports: all since Tentacle, only "default" before.',
    ]
    switched_on: Annotated[
        tuple[str, ...], 'Options that the module enabled temporarily for this query.'
    ]
    not_put_back: Annotated[tuple[str, ...], 'Options not restored yet; the module retries.']


def deep_of(look: Optional[OsdDeepStats]) -> Optional[Deep]:
    if look is None:
        return None
    return like(
        Deep,
        look.stats,
        time=format_time(look.time_s),
        totals=like_if_any(Totals, look.stats.totals),
        column_families=tuple(map(_column_family, look.stats.column_families)),
        switched_on=look.switched_on,
        not_put_back=look.not_put_back,
    )


def _column_family(found: ColumnFamilyStats) -> DeepColumnFamily:
    levels = tuple(like(DeepLevel, level) for level in found.levels)
    return like(DeepColumnFamily, found, stalls=dict(found.stalls), levels=levels)

"""What RocksDB says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Optional

from ...deep.reader import OsdDeepStats
from ...observe.column_families import ColumnFamilyStats
from ...units import format_time
from .copies import like, like_if_any
from .notes import Amount, Count, Time

_SINCE_START = 'Over all column families, since the OSD started.'


@dataclass(frozen=True)
class Totals:
    """RocksDB's own counts."""

    compact_read_bytes: Annotated[Optional[Count], _SINCE_START]
    compact_write_bytes: Annotated[Optional[Count], _SINCE_START]
    flush_write_bytes: Annotated[Optional[Count], _SINCE_START]
    wal_bytes: Annotated[Optional[Count], _SINCE_START]


@dataclass(frozen=True)
class DeepLevel:
    """One level of a column family."""

    level: Annotated[Count, '0 is the level of flushes.']
    files: Annotated[Optional[Count], 'Files in it.']
    size_bytes: Annotated[Optional[Count], 'Their size.']
    score: Annotated[Optional[Amount], 'Above 1 it waits for compaction.']
    read_bytes: Annotated[
        Optional[Count], 'Read by compaction since the OSD started; rounded by RocksDB.'
    ]
    write_bytes: Annotated[
        Optional[Count],
        'Written by compaction, or by flushes, since the OSD started; rounded by RocksDB.',
    ]
    write_amp: Annotated[Optional[Amount], 'Bytes written over bytes that came from above.']
    compactions: Annotated[Optional[Count], 'Since the OSD started.']


@dataclass(frozen=True)
class DeepColumnFamily:
    """One column family."""

    name: Annotated[str, 'As in bluestore_rocksdb_cfs, with the shard: "O-0".']
    files: Annotated[Optional[Count], 'Files in all levels.']
    size_bytes: Annotated[Optional[Count], 'Their size.']
    write_amp: Annotated[
        Optional[Amount],
        'Bytes that flushes and compaction wrote over bytes that flushes did; null where nothing '
        'was flushed.',
    ]
    flush_bytes: Annotated[
        Optional[Count],
        'Written by flushes since the OSD started; null where that is less than RocksDB shows.',
    ]
    compaction_write_bytes: Annotated[
        Optional[Count], 'Written by flushes and compaction; rounded by RocksDB.'
    ]
    compaction_read_bytes: Annotated[Optional[Count], 'Read by compaction; rounded by RocksDB.']
    stalls: Annotated[
        Mapping[str, Count], "How often writes were slowed or stopped, by RocksDB's reason."
    ]
    levels: Annotated[tuple[DeepLevel, ...], 'Those that have files.']


@dataclass(frozen=True)
class Deep:
    """What the RocksDB of an OSD says of itself."""

    time: Annotated[Optional[Time], 'When this was so. ISO 8601, UTC.']
    uptime_s: Annotated[Optional[Amount], 'Since when RocksDB counts: it was opened this long ago.']
    stalled_s: Annotated[Optional[Amount], 'For how long writes were held up.']
    block_cache_bytes: Annotated[Optional[Count], 'In the block cache.']
    memtable_bytes: Annotated[Optional[Count], 'In memtables.']
    totals: Annotated[
        Optional[Totals],
        "RocksDB's own counts; null where the OSD started without rocksdb_perf.",
    ]
    column_families: Annotated[
        tuple[DeepColumnFamily, ...],
        'Those that the release shows: all from Tentacle on, before only "default".',
    ]
    switched_on: Annotated[tuple[str, ...], 'Options that were switched on for this look.']
    not_put_back: Annotated[
        tuple[str, ...], 'Those that could not be restored yet: it is tried again.'
    ]


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

"""RocksDB's own statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...deep.reader import OsdDeepStats
from ...notes import Amount, Count, Time
from ...observe.kv_stats import ColumnFamilyStats
from ...units import format_time
from .copies import like, like_if_any

_SINCE_START = 'Over all column families, since the OSD started.'


@dataclass(frozen=True)
class Totals:
    """RocksDB's own counters."""

    compact_read_bytes: Annotated[Optional[Count], _SINCE_START]
    compact_write_bytes: Annotated[Optional[Count], _SINCE_START]
    flush_write_bytes: Annotated[Optional[Count], _SINCE_START]
    wal_bytes: Annotated[Optional[Count], _SINCE_START]


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
        tuple[ColumnFamilyStats, ...],
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
        switched_on=look.switched_on,
        not_put_back=look.not_put_back,
    )

"""Parser of `dump_objectstore_kv_stats`: RocksDB's own statistics.

The output is two to four concatenated JSON documents that repeat one key ("" or ".") for every
line, so a JSON parser fails or keeps the last line only (16.2.15, 18.2.7 and 20.2.4).

Tickers ("rocksdb.compact.write.bytes COUNT : 178009961") count the whole database; they need
`rocksdb_perf` at OSD startup and `rocksdb_collect_extended_stats`.

Compaction tables are of one column family each, cumulative since the OSD started. Tentacle prints
every column family, Pacific and Reef only "default", which is nearly empty in a sharded RocksDB.
They need `rocksdb_perf` and `rocksdb_collect_compaction_stats`, which can be enabled at runtime.
RocksDB rounds its figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from ..notes import Amount, Count

_TICKER = re.compile(r'(rocksdb\.[a-z0-9.]+) COUNT : (\d{1,20})\s*')
_COMPACTED = 'rocksdb.compact.write.bytes'
_WAL_SYNC = re.compile(
    r'rocksdb\.wal\.file\.sync\.micros P50 : .* COUNT : (\d{1,20}) SUM : (\d{1,20})\s*'
)
_DECODER = json.JSONDecoder(object_pairs_hook=list)


class KvStatsUnavailableError(Exception):
    """The OSD has no such statistics, or its output is invalid; see the message."""


#: Total time, and number of events.
Timed = tuple[float, int]


@dataclass(frozen=True)
class KvStats:
    """RocksDB's own counters.

    ``compact_*`` is compaction without flushes. None: the ticker is missing.
    """

    compact_read_bytes: Annotated[
        Optional[Count], 'Over all column families, since the OSD started.'
    ]
    compact_write_bytes: Annotated[
        Optional[Count], 'Over all column families, since the OSD started.'
    ]
    flush_write_bytes: Annotated[
        Optional[Count], 'Over all column families, since the OSD started.'
    ]
    wal_bytes: Annotated[Optional[Count], 'Over all column families, since the OSD started.']
    stall_micros: Optional[int]
    #: fsync of the WAL: total microseconds, and count.
    wal_sync: Optional[tuple[int, int]] = None
    cache_hits: Optional[int] = None
    cache_misses: Optional[int] = None
    #: Inserts into memtables: total seconds, and count.
    memtable_insert: Optional[Timed] = None


def _memtable_insert(perf_dump: str) -> Optional[Timed]:
    """From `perf dump rocksdb`; None if the OSD started without `rocksdb_perf`."""
    try:
        time = json.loads(perf_dump)['rocksdb']['rocksdb_write_memtable_time']
        total_s, writes = float(time['sum']), int(time['avgcount'])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    return (total_s, writes) if writes > 0 else None


def offers_statistics(text: str) -> bool:
    """Whether an answer has any of them."""
    return _COMPACTED in text


def parse_kv_stats(text: str, perf_dump: str = '') -> KvStats:
    """Raises KvStatsUnavailableError if the text has no compaction tickers."""
    if not text.strip():
        raise KvStatsUnavailableError('the OSD sent an empty answer: rocksdb_perf is disabled')
    if text.lstrip().startswith('error:'):
        raise KvStatsUnavailableError(text.strip())
    counts: dict[str, int] = {}
    wal_sync = None
    for _, line in json_pairs(text):
        ticker, histogram = _TICKER.fullmatch(line), _WAL_SYNC.fullmatch(line)
        if ticker:
            counts[ticker[1]] = int(ticker[2])
        elif histogram and wal_sync is None:
            wal_sync = int(histogram[2]), int(histogram[1])
    if _COMPACTED not in counts:
        raise KvStatsUnavailableError(
            'the answer has no tickers: rocksdb_perf and rocksdb_collect_extended_stats must be '
            'enabled when the OSD starts'
        )
    return KvStats(
        compact_read_bytes=counts.get('rocksdb.compact.read.bytes'),
        compact_write_bytes=counts.get(_COMPACTED),
        flush_write_bytes=counts.get('rocksdb.flush.write.bytes'),
        wal_bytes=counts.get('rocksdb.wal.bytes'),
        stall_micros=counts.get('rocksdb.stall.micros'),
        wal_sync=wal_sync,
        cache_hits=counts.get('rocksdb.block.cache.hit'),
        cache_misses=counts.get('rocksdb.block.cache.miss'),
        memtable_insert=_memtable_insert(perf_dump),
    )


def json_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Every name and text in an answer, in order, repeated names included.

    Up to the first invalid or truncated document.
    """
    rest = text.lstrip()
    while rest:
        try:
            document, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            return
        rest = rest[end:].lstrip()
        for pair in document if isinstance(document, list) else ():
            if isinstance(pair, tuple) and isinstance(pair[1], str):
                yield pair[0], pair[1]


_TITLE = re.compile(r'\*\* Compaction Stats \[(.+)\] \*\*\s*')
_UNITS = {'B': 1, 'KB': 1 << 10, 'MB': 1 << 20, 'GB': 1 << 30, 'TB': 1 << 40}
_STALLS = re.compile(r'Stalls\(count\): (.*)')
_STALL = re.compile(r'([0-9]{1,18}) ([a-z0-9_]+(?: for [a-z_]+)?)')
_STALLED = re.compile(r'Cumulative stall: ([0-9]{1,9}):([0-9]{2}):([0-9.]{1,9}) H:M:S,.*')
_UPTIME = re.compile(r'Uptime\(secs\): ([0-9.]{1,20}) total,.*')


@dataclass(frozen=True)
class LevelStats:
    """One level of a column family; None: not in RocksDB's table."""

    level: Annotated[Count, 'Number of the level; flushes write to level 0.']
    files: Annotated[Optional[Count], 'Number of files.']
    size_bytes: Annotated[Optional[Count], 'Size of the files.']
    score: Annotated[Optional[Amount], 'Compaction score; above 1, compaction is due.']
    write_bytes: Annotated[
        Optional[Count],
        'Bytes written by compaction or flushes since the OSD started; rounded by RocksDB.',
    ]
    write_amp: Annotated[
        Optional[Amount], 'Bytes written over bytes received from the level above.'
    ]
    compactions: Annotated[Optional[Count], 'Compactions since the OSD started.']


@dataclass(frozen=True)
class ColumnFamilyStats:
    """One column family since the OSD started; None: not reported."""

    name: Annotated[str, 'Name as in bluestore_rocksdb_cfs, with the shard: "O-0".']
    levels: Annotated[tuple[LevelStats, ...], 'Levels with files.'] = ()
    write_amp: Annotated[
        Optional[Amount],
        'Bytes written by flushes and compaction over bytes written by flushes; null without '
        'flushes.',
    ] = None
    stalls: Annotated[
        Mapping[str, Count], "Number of write slowdowns and stops, by RocksDB's reason."
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class DeepStats:
    """The parsed output; None: not reported."""

    column_families: Annotated[
        tuple[ColumnFamilyStats, ...],
        'Column families that the release reports: all since Tentacle, only "default" before.',
    ] = ()
    uptime_s: Annotated[
        Optional[Amount], 'Seconds since RocksDB was opened, when its counters start.'
    ] = None
    stalled_s: Annotated[Optional[Amount], 'Total time of write stalls, in seconds.'] = None
    totals: Annotated[
        Optional[KvStats], "RocksDB's own counters; null if the OSD started without rocksdb_perf."
    ] = None
    block_cache_bytes: Annotated[Optional[Count], 'Size of the block cache.'] = None
    memtable_bytes: Annotated[Optional[Count], 'Size of the memtables.'] = None


def parse_deep_stats(text: str) -> DeepStats:
    """Parse an output, or its readable part; empty if there is none."""
    pairs = list(json_pairs(text))
    lines = [line for _, line in pairs]
    try:
        totals: Optional[KvStats] = parse_kv_stats(text)
    except KvStatsUnavailableError:
        totals = None
    values = {name: int(line) for name, line in pairs if re.fullmatch('[0-9]{1,18}', line)}
    return DeepStats(
        column_families=_column_families(lines),
        uptime_s=_first(_UPTIME, lines),
        stalled_s=_stalled_s(lines),
        totals=totals,
        block_cache_bytes=values.get('block_cache_usage'),
        memtable_bytes=values.get('rocksdb_memtable_usage'),
    )


def _column_families(lines: Iterable[str]) -> tuple[ColumnFamilyStats, ...]:
    found: dict[str, dict[str, Any]] = {}
    # What is not within a table is dropped.
    family: dict[str, Any] = {'levels': ()}
    header: tuple[str, ...] = ()
    for line in lines:
        words = line.split()
        if title := _TITLE.fullmatch(line):
            family, header = found.setdefault(title[1], {'name': title[1], 'levels': ()}), ()
        elif words[:2] == ['Level', 'Files']:
            header = tuple(words)
        elif words[:2] == ['Priority', 'Files'] or line.startswith('** '):
            header = ()
        elif header and words and words[0] == 'Sum':
            family['write_amp'] = _level(0, _cells(header, words)).write_amp
        elif header and words and re.fullmatch('L[0-9]{1,2}', words[0]):
            level = _level(int(words[0][1:]), _cells(header, words))
            family['levels'] = (*family['levels'], level)
        elif stalls := _STALLS.fullmatch(line):
            # The last number counts since the previous dump.
            counted = stalls[1].partition(', interval ')[0]
            family['stalls'] = {name: int(n) for n, name in _STALL.findall(counted)}
    return tuple(ColumnFamilyStats(**fields) for fields in found.values())


def _cells(header: tuple[str, ...], words: list[str]) -> Mapping[str, Optional[float]]:
    """Numbers by column; the size takes two words, number and unit, and files are "12/0"."""
    after = header.index('Size') + 1 if 'Size' in header else len(header)
    texts = dict(zip((*header[:after], 'Unit', *header[after:]), words))
    cells = {name: _number(text.partition('/')[0]) for name, text in texts.items()}
    size, unit = cells.get('Size'), _UNITS.get(texts.get('Unit', ''))
    return {**cells, 'Size': None if size is None or unit is None else size * unit}


def _level(number: int, cells: Mapping[str, Optional[float]]) -> LevelStats:
    return LevelStats(
        level=number,
        files=_whole(cells.get('Files')),
        size_bytes=_whole(cells['Size']),
        score=cells.get('Score'),
        write_bytes=_written(cells),
        # RocksDB prints 0 without flushes.
        write_amp=cells.get('W-Amp') or None,
        compactions=_whole(cells.get('Comp(cnt)')),
    )


def _whole(number: Optional[float]) -> Optional[int]:
    return None if number is None else round(number)


def _number(text: str) -> Optional[float]:
    return float(text) if re.fullmatch(r'[0-9]{1,18}(?:\.[0-9]{1,9})?', text) else None


def _written(cells: Mapping[str, Optional[float]]) -> Optional[int]:
    """Bytes from rate and time, which are more precise than the column in tenths of a GB.

    None if compaction was so short that its time is printed as 0.
    """
    mb_per_s, seconds = cells.get('Wr(MB/s)'), cells.get('Comp(sec)')
    if mb_per_s is None or seconds is None or (seconds == 0 and cells.get('Comp(cnt)') != 0):
        return None
    return round(mb_per_s * seconds * _UNITS['MB'])


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> Optional[float]:
    matches = (pattern.fullmatch(line) for line in lines)
    return next((_number(match[1]) for match in matches if match), None)


def _stalled_s(lines: Iterable[str]) -> Optional[float]:
    """RocksDB counts it for the whole database and prints it with the first column family."""
    for line in lines:
        match = _STALLED.fullmatch(line)
        seconds = _number(match[3]) if match else None
        if match and seconds is not None:
            return int(match[1]) * 3600 + int(match[2]) * 60 + seconds
    return None

"""Parser of `dump_objectstore_kv_stats`: RocksDB's own statistics.

The output is two to four concatenated JSON documents that repeat one key ("" or ".") for every
line, so a JSON parser fails or keeps the last line only. Seen on 16.2.15, 18.2.7 and 20.2.4. Only
the tickers ("rocksdb.compact.write.bytes COUNT : 178009961") are used: they count the whole
database, while the compaction tables of Pacific and Reef show one column family. Tickers need
`rocksdb_perf` at OSD startup and `rocksdb_collect_extended_stats`.

RocksDB's compaction statistics in the output of `dump_objectstore_kv_stats`.

One table per column family, cumulative since the OSD started. Tentacle prints every column family,
Pacific and Reef only "default", which is nearly empty in a sharded RocksDB (seen on 16.2.15, 18.2.7
and 20.2.4). The tables need `rocksdb_perf` and `rocksdb_collect_compaction_stats`, which can be
enabled at runtime. RocksDB rounds its figures; a GB is 2**30 bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Optional

from ..notes import Amount, Count

_TICKER = re.compile(r'(rocksdb\.[a-z0-9.]+) COUNT : (\d{1,20})\s*')
_HISTOGRAM = re.compile(r'(rocksdb\.[a-z0-9.]+) P50 : .* COUNT : (\d{1,20}) SUM : (\d{1,20})\s*')
_DECODER = json.JSONDecoder(object_pairs_hook=list)


class KvStatsUnavailableError(Exception):
    """The OSD has no such statistics, or its output is invalid; see the message."""


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
    #: Block cache hits and misses.
    cache_hits: Optional[int] = None
    cache_misses: Optional[int] = None


def parse_memtable_time(text: str) -> Optional[tuple[float, int]]:
    """(seconds, writes) of memtable inserts, from `perf dump rocksdb`.

    None if the OSD started without `rocksdb_perf`.
    """
    try:
        time = json.loads(text)['rocksdb']['rocksdb_write_memtable_time']
        total_s, writes = float(time['sum']), int(time['avgcount'])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (total_s, writes) if writes > 0 else None


def offers_statistics(text: str) -> bool:
    """Whether an answer has any of them."""
    try:
        parse_kv_stats(text)
    except KvStatsUnavailableError:
        return False
    return True


def parse_kv_stats(text: str) -> KvStats:
    """Raises KvStatsUnavailableError if the text has no compaction tickers."""
    if not text.strip():
        raise KvStatsUnavailableError('the OSD sent an empty answer: rocksdb_perf is disabled')
    if text.lstrip().startswith('error:'):
        raise KvStatsUnavailableError(text.strip())
    lines = [line for _, line in json_pairs(text)]
    tickers = dict(_tickers(lines))
    if 'rocksdb.compact.write.bytes' not in tickers:
        raise KvStatsUnavailableError(
            'the answer has no tickers: rocksdb_perf and rocksdb_collect_extended_stats must be '
            'enabled when the OSD starts'
        )
    return KvStats(
        compact_read_bytes=tickers.get('rocksdb.compact.read.bytes'),
        compact_write_bytes=tickers.get('rocksdb.compact.write.bytes'),
        flush_write_bytes=tickers.get('rocksdb.flush.write.bytes'),
        wal_bytes=tickers.get('rocksdb.wal.bytes'),
        stall_micros=tickers.get('rocksdb.stall.micros'),
        wal_sync=_histogram('rocksdb.wal.file.sync.micros', lines),
        cache_hits=tickers.get('rocksdb.block.cache.hit'),
        cache_misses=tickers.get('rocksdb.block.cache.miss'),
    )


def _tickers(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        match = _TICKER.fullmatch(line)
        if match:
            yield match[1], int(match[2])


def _histogram(name: str, lines: Iterable[str]) -> Optional[tuple[int, int]]:
    """(sum, count) of one histogram; None if it is missing."""
    for line in lines:
        match = _HISTOGRAM.fullmatch(line) if line.startswith(name) else None
        if match and match[1] == name:
            return int(match[3]), int(match[2])
    return None


def json_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Every name and text in an answer, in order, repeated names included."""
    for document in _documents(text):
        if not isinstance(document, list):
            continue
        for pair in document:
            if isinstance(pair, tuple) and isinstance(pair[1], str):
                yield pair[0], pair[1]


def _documents(text: str) -> Iterator[object]:
    """Concatenated JSON documents, up to the first invalid or truncated one."""
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position >= len(text):
            return
        try:
            document, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield document


_TITLE = re.compile(r'\*\* Compaction Stats \[(.+)\] \*\*\s*')
_UNITS = {'B': 1, 'KB': 1 << 10, 'MB': 1 << 20, 'GB': 1 << 30, 'TB': 1 << 40}
_MB, _GB = 1 << 20, 1 << 30
_FLUSH = re.compile(r'Flush\(GB\): cumulative ([0-9.]{1,20}),.*')
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
class ColumnFamilyStats:
    """One column family since the OSD started; None: not reported."""

    name: Annotated[str, 'Name as in bluestore_rocksdb_cfs, with the shard: "O-0".']
    levels: Annotated[tuple[LevelStats, ...], 'Levels with files.'] = ()
    files: Annotated[Optional[Count], 'Number of files in all levels.'] = None
    size_bytes: Annotated[Optional[Count], 'Size of the files.'] = None
    write_amp: Annotated[
        Optional[Amount],
        'Bytes written by flushes and compaction over bytes written by flushes; null without '
        'flushes.',
    ] = None
    flush_bytes: Annotated[
        Optional[Count],
        "Bytes written by flushes since the OSD started; null if below RocksDB's display "
        'precision.',
    ] = None
    compaction_write_bytes: Annotated[
        Optional[Count], 'Bytes written by flushes and compaction; rounded by RocksDB.'
    ] = None
    compaction_read_bytes: Annotated[
        Optional[Count], 'Bytes read by compaction; rounded by RocksDB.'
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
    found: dict[str, ColumnFamilyStats] = {}
    name: Optional[str] = None
    header: tuple[str, ...] = ()
    for line in lines:
        title = _TITLE.fullmatch(line)
        if title:
            name, header = title[1], ()
            found.setdefault(name, ColumnFamilyStats(name))
        elif name is not None:
            words = line.split()
            if words[:2] == ['Level', 'Files']:
                header = tuple(words)
            elif words[:2] == ['Priority', 'Files'] or line.startswith('** '):
                header = ()
            found[name] = _with_line(found[name], line, words, header)
    return tuple(found.values())


def _with_line(
    family: ColumnFamilyStats, line: str, words: list[str], header: tuple[str, ...]
) -> ColumnFamilyStats:
    if header and words and (words[0] == 'Sum' or re.fullmatch('L[0-9]{1,2}', words[0])):
        return _with_row(family, _row(header, words))
    flush = _FLUSH.fullmatch(line)
    if flush:
        return replace(family, flush_bytes=_flushed(flush[1], family.levels))
    stalls = _STALLS.fullmatch(line)
    if stalls:
        # The last number counts since the previous dump.
        counted = stalls[1].partition(', interval ')[0]
        return replace(family, stalls={name: int(n) for n, name in _STALL.findall(counted)})
    return family


def _row(header: tuple[str, ...], words: list[str]) -> Mapping[str, str]:
    """Cells by column; the size takes two words, number and unit."""
    at = header.index('Size') if 'Size' in header else len(header)
    after = at + 2
    cells = [*words[:at], ' '.join(words[at:after]), *words[after:]]
    return dict(zip(header, cells))


def _with_row(family: ColumnFamilyStats, row: Mapping[str, str]) -> ColumnFamilyStats:
    files = _number(row.get('Files', '').partition('/')[0])
    # RocksDB prints 0 without flushes.
    size_bytes, write_amp = _size(row.get('Size', '')), _number(row.get('W-Amp', '')) or None
    if row['Level'] == 'Sum':
        return replace(
            family,
            files=None if files is None else int(files),
            size_bytes=size_bytes,
            write_amp=write_amp,
            compaction_write_bytes=_moved(row, 'Wr(MB/s)'),
            compaction_read_bytes=_moved(row, 'Rd(MB/s)'),
        )
    compactions = _number(row.get('Comp(cnt)', ''))
    level = LevelStats(
        level=int(row['Level'][1:]),
        files=None if files is None else int(files),
        size_bytes=size_bytes,
        score=_number(row.get('Score', '')),
        read_bytes=_moved(row, 'Rd(MB/s)'),
        write_bytes=_moved(row, 'Wr(MB/s)'),
        write_amp=write_amp,
        compactions=None if compactions is None else int(compactions),
    )
    return replace(family, levels=(*family.levels, level))


def _number(text: str) -> Optional[float]:
    return float(text) if re.fullmatch(r'[0-9]{1,18}(?:\.[0-9]{1,9})?', text) else None


def _size(text: str) -> Optional[int]:
    value, _, unit = text.partition(' ')
    number = _number(value)
    return None if number is None or unit not in _UNITS else round(number * _UNITS[unit])


def _moved(row: Mapping[str, str], rate: str) -> Optional[int]:
    """Bytes from rate and time, which are more precise than the column in tenths of a GB.

    None if compaction was so short that its time is printed as 0.
    """
    mb_per_s, seconds = _number(row.get(rate, '')), _number(row.get('Comp(sec)', ''))
    if mb_per_s is None or seconds is None:
        return None
    if seconds == 0:
        return 0 if row.get('Comp(cnt)') == '0' else None
    return round(mb_per_s * seconds * _MB)


def _flushed(gigabytes: str, levels: Sequence[LevelStats]) -> Optional[int]:
    """None if the flushed bytes round to 0."""
    number = _number(gigabytes)
    flushes = next((level.compactions for level in levels if level.level == 0), 0)
    return None if number is None or (number == 0 and flushes) else round(number * _GB)


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

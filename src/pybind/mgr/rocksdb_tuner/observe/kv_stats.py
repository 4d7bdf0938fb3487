"""Parser of `dump_objectstore_kv_stats`: RocksDB's own statistics.

The output is two to four concatenated JSON documents that repeat one key ("" or ".") for every
line, so a JSON parser fails or keeps the last line only. Seen on 16.2.15, 18.2.7 and 20.2.4. Only
the tickers ("rocksdb.compact.write.bytes COUNT : 178009961") are used: they count the whole
database, while the compaction tables of Pacific and Reef show one column family. Tickers need
`rocksdb_perf` at OSD startup and `rocksdb_collect_extended_stats`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional

_TICKER = re.compile(r'(rocksdb\.[a-z0-9.]+) COUNT : (\d{1,20})\s*')
_HISTOGRAM = re.compile(r'(rocksdb\.[a-z0-9.]+) P50 : .* COUNT : (\d{1,20}) SUM : (\d{1,20})\s*')
_DECODER = json.JSONDecoder(object_pairs_hook=list)


class KvStatsUnavailableError(Exception):
    """The OSD has no such statistics, or its output is invalid; see the message."""


@dataclass(frozen=True)
class KvStats:
    """Bytes and microseconds since the OSD started, over all column families.

    ``compact_*`` is compaction without flushes. None: the ticker is missing.
    """

    compact_read_bytes: Optional[int]
    compact_write_bytes: Optional[int]
    flush_write_bytes: Optional[int]
    wal_bytes: Optional[int]
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

"""RocksDB's compaction statistics in the output of `dump_objectstore_kv_stats`.

One table per column family, cumulative since the OSD started. Tentacle prints every column family,
Pacific and Reef only "default", which is nearly empty in a sharded RocksDB (seen on 16.2.15, 18.2.7
and 20.2.4). The tables need `rocksdb_perf` and `rocksdb_collect_compaction_stats`, which can be
enabled at runtime. RocksDB rounds its figures; a GB is 2**30 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Mapping, Optional

from .kv_stats import KvStats, KvStatsUnavailableError, json_pairs, parse_kv_stats

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

    #: Flushes write to level 0.
    level: int
    files: Optional[int]
    size_bytes: Optional[int]
    #: Above 1 the level needs compaction.
    score: Optional[float]
    read_bytes: Optional[int]
    write_bytes: Optional[int]
    write_amp: Optional[float]
    compactions: Optional[int]


@dataclass(frozen=True)
class ColumnFamilyStats:
    """One column family since the OSD started; None: not reported."""

    name: str
    levels: tuple[LevelStats, ...] = ()
    files: Optional[int] = None
    size_bytes: Optional[int] = None
    #: Bytes written by flushes and compaction over bytes written by flushes.
    write_amp: Optional[float] = None
    flush_bytes: Optional[int] = None
    #: Includes flushes.
    compaction_write_bytes: Optional[int] = None
    compaction_read_bytes: Optional[int] = None
    #: Number of write slowdowns and stops, by RocksDB's reason.
    stalls: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DeepStats:
    """The parsed output; None: not reported."""

    column_families: tuple[ColumnFamilyStats, ...] = ()
    uptime_s: Optional[float] = None
    #: Duration of write stalls since the start.
    stalled_s: Optional[float] = None
    #: Over all column families; only if the OSD started with `rocksdb_perf`.
    totals: Optional[KvStats] = None
    block_cache_bytes: Optional[int] = None
    memtable_bytes: Optional[int] = None


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

"""RocksDB statistics of an OSD: levels, compactions and stalls."""

from __future__ import annotations

from typing import Optional

from ...deep.reader import OsdDeepStats
from ...observe.kv_stats import ColumnFamilyStats, DeepStats
from ...units import UNKNOWN, format_bytes, format_count, format_duration, format_ratio
from ..layout import Column, fields, paragraph, table
from .phrases import sections


def deep_look(look: OsdDeepStats, *, sharded: Optional[bool]) -> str:
    """``sharded``: whether there are more column families than "default"; None if unknown."""
    stats = look.stats
    return sections(
        fields(
            [
                ('RocksDB uptime', format_duration(stats.uptime_s)),
                ('Writes stalled for', format_duration(stats.stalled_s)),
                ('Memtables', format_bytes(stats.memtable_bytes)),
                ('Block cache', format_bytes(stats.block_cache_bytes)),
                *_totals(stats),
            ]
        ),
        '\n'.join(_remarks(look, sharded=sharded)),
        _families(stats),
        _levels(stats),
    )


def _totals(stats: DeepStats) -> list[tuple[str, str]]:
    totals = stats.totals
    if totals is None:
        return []
    return [
        ('Flushes wrote', format_bytes(totals.flush_write_bytes)),
        ('Compaction read', format_bytes(totals.compact_read_bytes)),
        ('Compaction wrote', format_bytes(totals.compact_write_bytes)),
        ('WAL', format_bytes(totals.wal_bytes)),
    ]


def _families(stats: DeepStats) -> str:
    if not stats.column_families:
        return 'RocksDB reports no column families.'
    columns = (
        Column('COLUMN FAMILY'),
        Column('FILES', 'r'),
        Column('SIZE', 'r'),
        Column('FLUSHED', 'r'),
        Column('WRITTEN', 'r'),
        Column('READ', 'r'),
        Column('WRITE AMP', 'r'),
        Column('STALLS', 'r'),
    )
    return table(
        columns,
        (
            (
                family.name,
                _count(family.files),
                format_bytes(family.size_bytes),
                format_bytes(family.flush_bytes),
                format_bytes(family.compaction_write_bytes),
                format_bytes(family.compaction_read_bytes),
                format_ratio(family.write_amp),
                _stalls(family),
            )
            for family in stats.column_families
            if family.files or family.stalls or family.compaction_write_bytes
        ),
    )


def _levels(stats: DeepStats) -> str:
    rows = [
        (
            family.name,
            f'L{level.level}',
            _count(level.files),
            format_bytes(level.size_bytes),
            format_count(level.score),
            format_bytes(level.write_bytes),
            format_ratio(level.write_amp),
            _count(level.compactions),
        )
        for family in stats.column_families
        for level in family.levels
        if level.files
    ]
    columns = (
        Column('COLUMN FAMILY'),
        Column('LEVEL'),
        Column('FILES', 'r'),
        Column('SIZE', 'r'),
        Column('SCORE', 'r'),
        Column('WRITTEN', 'r'),
        Column('WRITE AMP', 'r'),
        Column('COMPACTIONS', 'r'),
    )
    return table(columns, rows) if rows else ''


def _remarks(look: OsdDeepStats, *, sharded: Optional[bool]) -> list[str]:
    found = []
    only_default = [family.name for family in look.stats.column_families] == ['default']
    if only_default and sharded is not False:
        found.append(
            'This release reports only the column family "default", which is almost empty in a '
            'sharded RocksDB.'
        )
    if look.stats.totals is None:
        found.append(
            'Totals over all column families require an OSD that was started with rocksdb_perf.'
        )
    if look.not_put_back:
        names = ', '.join(look.not_put_back)
        found.append(f'Still enabled, and retried until restored: {names}.')
    elif look.switched_on:
        names = ', '.join(look.switched_on)
        found.append(f'Enabled temporarily: {names}.')
    return [paragraph(text) for text in found]


def _count(number: Optional[int]) -> str:
    return UNKNOWN if number is None else format_count(number)


def _stalls(family: ColumnFamilyStats) -> str:
    return _count(sum(family.stalls.values()) if family.stalls else None)

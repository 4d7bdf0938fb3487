"""OSDs and their workload: `osd` and `workload`.

RocksDB statistics of an OSD: levels, compactions and stalls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...advise.limit import limited_by
from ...advise.records import GroupFacts, OsdFacts, OsdOptions
from ...deep.reader import OsdDeepStats
from ...observe.kv_stats import ColumnFamilyStats, DeepStats
from ...observe.signals import Signals
from ...snapshot import Snapshot
from ...units import (
    UNKNOWN,
    format_bytes,
    format_bytes_short,
    format_count,
    format_duration,
    format_ms,
    format_percent,
    format_plural,
    format_ratio,
)
from ...workload.pressure import PRESSURE
from ..layout import ROWS, Column, fields, more, paragraph, table
from ..summaries import common_domain, options_in_use
from .phrases import (
    NO_SIGNALS,
    PENDING_MARK,
    UNNAMED_OPTIONS,
    nothing_known,
    pending_note,
    sections,
    workload_cells,
    workload_line,
)

#: The source of the release's own option string, shown instead of a profile.
_RELEASE_DEFAULT = 'default'
#: Separates the usage of the DB device from the spillover.
_SPILLED = '+'


def osds(snapshot: Snapshot, rows: Sequence[OsdFacts], *, everything: bool) -> str:
    """A row per OSD, worst first."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    columns = (
        Column('ID', 'r'),
        Column('HOST', omit=1),
        Column('CLASS', omit=5),
        Column('WORKLOAD'),
        Column('WR/S', 'r', omit=2),
        Column('KV SYNC', 'r', omit=4),
        Column('BUSY', 'r'),
        Column('DB', 'r'),
        Column('OPTIONS', omit=3),
    )
    domain = common_domain(facts.info.host for facts in snapshot.osds)
    shown = rows if everything else rows[:ROWS]
    text = table(columns, (_osd_cells(facts, domain) for facts in shown))
    left_out = more(len(rows) - len(shown))
    pending = options_in_use(rows).pending_restart
    notes = (_spillover_note(shown), pending_note(pending))
    return sections('\n'.join(filter(None, (text, left_out))), '\n'.join(filter(None, notes)))


def workload(snapshot: Snapshot, *, osds: bool, everything: bool) -> str:
    """Workload and limit of each group, with evidence; a row per OSD if ``osds``."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    return sections(
        *map(_group, snapshot.groups),
        _workloads_of_osds(snapshot, everything=everything) if osds else '',
    )


def _group(group: GroupFacts) -> str:
    evidence = () if group.workload is None else group.workload.evidence
    limited = limited_by(group.limit)
    of_clients = [e.statement for e in evidence if e.signal not in PRESSURE]
    return '\n'.join(
        (
            paragraph(
                f'{group.who} ({format_plural(len(group.osds), "OSD")}): '
                f'{workload_line(group.workload)}'
            ),
            *(paragraph(statement, 4, '  - ') for statement in of_clients),
            *([paragraph(limited, 4, '  Limited by ')] if limited else []),
        )
    )


def _workloads_of_osds(snapshot: Snapshot, *, everything: bool) -> str:
    """OSDs whose workload differs from their group's first."""
    of_group = {g.device_class: g.workload.workload_class for g in snapshot.groups if g.workload}

    def is_usual(facts: OsdFacts) -> bool:
        found = facts.workload and facts.workload.workload_class
        return found == of_group.get(facts.info.device_class or '')

    rows = sorted(snapshot.osds, key=is_usual)
    shown = rows if everything else rows[:ROWS]
    text = table(
        (
            Column('ID', 'r'),
            Column('HOST', omit=1),
            Column('CLASS', omit=2),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
        ),
        (
            (
                str(facts.info.osd_id),
                facts.info.host or UNKNOWN,
                facts.info.device_class or UNKNOWN,
                *_workload_of_osd(facts),
            )
            for facts in shown
        ),
    )
    return '\n'.join(filter(None, (text, more(len(rows) - len(shown)))))


def _osd_cells(facts: OsdFacts, domain: str) -> Sequence[str]:
    signals = facts.signals or NO_SIGNALS
    return (
        str(facts.info.osd_id),
        (facts.info.host or UNKNOWN)[: -len(domain) or None],
        facts.info.device_class or UNKNOWN,
        _workload_of_osd(facts)[0],
        format_count(signals.write_iops),
        format_ms(signals.kv_sync_ms),
        format_percent(signals.kv_sync_busy),
        _db_used_cell(signals),
        _profile_cell(facts.options),
    )


def _db_used_cell(signals: Signals) -> str:
    """Usage of a dedicated DB device, or the size of a DB on a shared one; and spillover."""
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        used = format_bytes_short(signals.db_used_bytes)
    else:
        used = format_percent(signals.db_used_bytes / signals.db_total_bytes)
    spilled = signals.slow_used_bytes
    return f'{used}{_SPILLED}{format_bytes_short(spilled)}' if spilled else used


def _spillover_note(osds: Iterable[OsdFacts]) -> str:
    if not any(facts.signals and facts.signals.slow_used_bytes for facts in osds):
        return ''
    return paragraph(f'{_SPILLED} spilled over to the slow device')


def _profile_cell(options: Optional[OsdOptions]) -> str:
    if options is None:
        return UNKNOWN
    # The default is that of the OSD's release; options from other sources have a name.
    by_default = options.profile is not None and options.source == _RELEASE_DEFAULT
    name = _RELEASE_DEFAULT if by_default else options.profile or UNNAMED_OPTIONS
    return name + (PENDING_MARK if options.pending_restart else '')


def _workload_of_osd(facts: OsdFacts) -> tuple[str, str]:
    return workload_cells(facts.workload) if facts.info.up else ('(down)', UNKNOWN)


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

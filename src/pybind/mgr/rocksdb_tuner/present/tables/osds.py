"""OSDs and their workload: `osd` and `workload`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...advise.limit import limited_by
from ...advise.records import GroupFacts, OsdFacts, OsdOptions
from ...observe.signals import Signals
from ...snapshot import Snapshot
from ...units import (
    UNKNOWN,
    format_bytes_short,
    format_count,
    format_ms,
    format_percent,
    format_plural,
)
from ...workload.pressure import PRESSURE
from ..layout import ROWS, Column, more, paragraph, table
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

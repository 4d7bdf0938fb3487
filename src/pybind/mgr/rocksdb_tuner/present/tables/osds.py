"""OSDs and their workload: `osd` and `workload`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...advise.records import OsdFacts, OsdOptions
from ...observe.signals import Signals
from ...snapshot import Snapshot
from ...units import (
    UNKNOWN,
    format_bytes_short,
    format_count,
    format_ms,
    format_percent,
)
from ...workload.records import Workload
from ..layout import Column, paragraph, table
from ..summaries import common_domain, options_in_use
from .phrases import (
    NO_SIGNALS,
    PENDING_MARK,
    UNNAMED_OPTIONS,
    limits_of_groups,
    nothing_known,
    pending_note,
    sections,
    workload_cells,
)

#: The source of the release's own option string, shown instead of a profile.
_RELEASE_DEFAULT = 'default'
#: Separates the usage of the DB device from the spillover.
_SPILLED = '+'


def osds(snapshot: Snapshot) -> str:
    """A row per OSD."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    columns = (
        Column('ID', 'r'),
        Column('HOST', flexible=True),
        Column('CLASS', flexible=True, min_width=5),
        Column('WORKLOAD', flexible=True, min_width=15),
        Column('WR/S', 'r'),
        Column('KV SYNC', 'r'),
        Column('BUSY', 'r'),
        Column('DB', 'r'),
        Column('OPTIONS', flexible=True, min_width=10),
    )
    domain = common_domain(facts.info.host for facts in snapshot.osds)
    text = table(columns, (_osd_cells(facts, domain) for facts in snapshot.osds))
    pending = options_in_use(snapshot.osds).pending_restart
    notes = (_spillover_note(snapshot.osds), pending_note(pending))
    return sections(text, '\n'.join(note for note in notes if note))


def workload(snapshot: Snapshot) -> str:
    """Workloads by group and by OSD, with evidence."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    by_group = table(
        (
            Column('GROUP', flexible=True),
            Column('OSDS', 'r'),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
            Column('EVIDENCE', flexible=True, wrap=True, min_width=40),
        ),
        (
            row
            for group in snapshot.groups
            for row in _workload_rows((group.who, str(len(group.osds))), group.workload)
        ),
    )
    by_osd = table(
        (
            Column('ID', 'r'),
            Column('HOST', flexible=True),
            Column('CLASS', flexible=True, min_width=5),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
            Column('FIRST EVIDENCE', flexible=True, min_width=30),
        ),
        (
            (
                str(facts.info.osd_id),
                facts.info.host or UNKNOWN,
                facts.info.device_class or UNKNOWN,
                *_osd_workload_cells(facts),
            )
            for facts in snapshot.osds
        ),
    )
    return sections(by_group if snapshot.groups else '', limits_of_groups(snapshot.groups), by_osd)


def _osd_cells(facts: OsdFacts, domain: str) -> Sequence[str]:
    signals = facts.signals or NO_SIGNALS
    return (
        str(facts.info.osd_id),
        (facts.info.host or UNKNOWN)[: -len(domain) or None],
        facts.info.device_class or UNKNOWN,
        _osd_workload_cells(facts)[0],
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


def _osd_workload_cells(facts: OsdFacts) -> tuple[str, str, str]:
    if not facts.info.up:
        return '(down)', UNKNOWN, UNKNOWN
    evidence = () if facts.workload is None else facts.workload.evidence
    return (*workload_cells(facts.workload), evidence[0].statement if evidence else UNKNOWN)


def _workload_rows(
    head: tuple[str, str], found: Optional[Workload]
) -> Iterable[tuple[str, str, str, str, str]]:
    """A row per piece of evidence, without repeating the cells above."""
    statements = [e.statement for e in found.evidence] if found is not None else []
    workload_class, confidence = workload_cells(found)
    yield (*head, workload_class, confidence, statements[0] if statements else UNKNOWN)
    for statement in statements[1:]:
        yield '', '', '', '', statement

"""A compaction campaign: progress and reclaimed space."""

from __future__ import annotations

from typing import Optional

from ...operations.compaction.announce import change_percent, in_words
from ...operations.compaction.records import CampaignState, OsdCompaction
from ...units import UNKNOWN, format_bytes, format_change, format_ms, format_time
from ..layout import Column, fields, table
from .phrases import sections


def campaign(state: CampaignState, waits_for: Optional[str] = None) -> str:
    """The current or last campaign."""
    phase = state.phase.value
    if state.paused_reason is not None:
        phase += f' (in {state.stage.value})'
    pairs = [
        ('Campaign', f'{state.campaign_id} (compact)'),
        ('Recommendation', state.request.recommendation_id),
        ('Who', state.request.who),
        ('Phase', phase),
    ]
    if state.paused_reason is not None:
        pairs.append(('Paused', state.paused_reason))
    if waits_for is not None and not state.ended:
        pairs.append(('Waiting for', waits_for))
    if state.last_error is not None and not state.ended:
        pairs.append(('Last error', state.last_error))
    pairs += [
        ('Progress' if not state.ended else 'Result', in_words(state)),
        ('Latency before', format_ms(state.baseline_ms)),
        ('Started', format_time(state.started_s) or UNKNOWN),
        ('Updated', format_time(state.updated_s) or UNKNOWN),
    ]
    columns = (
        Column('OSD', 'r'),
        Column('HOST', flexible=True),
        Column('FAILURE DOMAIN', flexible=True),
        Column('STEP'),
        Column('DB BEFORE', 'r'),
        Column('AFTER', 'r'),
        Column('CHANGE', 'r'),
        Column('LATENCY', 'r'),
    )
    return sections(fields(pairs), table(columns, [_row(osd) for osd in state.osds]))


def _row(osd: OsdCompaction) -> tuple[str, ...]:
    before, after = osd.used_before_bytes, osd.used_after_bytes
    percent = None if before is None or after is None else change_percent(before, after)
    return (
        str(osd.osd_id),
        osd.host or UNKNOWN,
        str(osd.domain or UNKNOWN),
        osd.step.value,
        format_bytes(before),
        format_bytes(after),
        UNKNOWN if percent is None else format_change(percent),
        format_ms(osd.latency_ms),
    )

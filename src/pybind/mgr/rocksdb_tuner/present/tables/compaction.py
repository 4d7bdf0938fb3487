"""A compaction campaign: its plan, progress and reclaimed space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from ...operations.compaction.announce import change_percent, in_words
from ...operations.compaction.plan import CampaignPlan, Guard
from ...operations.compaction.records import CampaignState, OsdCompaction
from ...units import (
    UNKNOWN,
    format_bytes,
    format_change,
    format_duration,
    format_ms,
    format_plural,
    format_time,
)
from ..layout import Column, fields, paragraph, table
from .phrases import sections, titled

#: The plan shows this many OSDs, so that it fits a screen.
OSDS_SHOWN = 10


def campaign(state: CampaignState, waits_for: Optional[str] = None) -> str:
    """The current or last campaign."""
    phase = state.phase.value
    if state.paused_reason is not None:
        phase += f' (in {state.stage.value})'
    pairs = [
        ('Campaign', f'{state.campaign_id} (compact)'),
        ('Recommendation', state.request.recommendation_id or 'none, on demand'),
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
        Column('HOST'),
        Column('FAILURE DOMAIN'),
        Column('STEP'),
        Column('DB BEFORE', 'r'),
        Column('AFTER', 'r'),
        Column('CHANGE', 'r'),
        Column('LATENCY', 'r'),
    )
    return sections(fields(pairs), table(columns, [_row(osd) for osd in state.osds]))


def campaign_plan(planned: CampaignPlan) -> str:
    """What a campaign would take, within one screen."""
    request, skipped = planned.request, [o for o in planned.osds if o.skipped is not None]
    count = format_plural(len(planned.osds), 'OSD')
    if len(planned.osds) > 1:
        count += ', one at a time'
    if request.parallel > 1:
        count += f', then up to {request.parallel} of one failure domain'
    duration = planned.duration_s
    size = UNKNOWN if planned.bytes is None else f'at most {format_bytes(planned.bytes)}'
    pairs = [
        ('Dry run', 'no changes were made'),
        *([('Recommendation', request.recommendation_id)] if request.recommendation_id else []),
        ('Who', request.who),
        ('OSDs', f'{count}; {len(skipped)} of them skipped' if skipped else count),
        ('Reads', size),
        ('Writes', size),
        ('Room', 'each OSD needs as much free space as its DB uses, until old files are removed'),
        (
            'Duration',
            UNKNOWN
            if duration is None
            else f'about {" to ".join(map(format_duration, duration))} without waiting',
        ),
    ]
    # What is skipped is worth reading first, then what takes longest
    worst = sorted(planned.osds, key=lambda o: (o.skipped is None, -(o.bytes or 0)))
    more = len(worst) - OSDS_SHOWN
    columns = (
        Column('OSD', 'r'),
        Column('HOST', omit=1),
        Column('DB USED', 'r'),
        Column('FREE', 'r'),
        Column('SKIPPED'),
    )
    rows = [
        (
            str(o.osd_id),
            o.host or UNKNOWN,
            format_bytes(o.bytes),
            format_bytes(o.free_bytes),
            o.skipped or '',
        )
        for o in worst[:OSDS_SHOWN]
    ]
    return sections(
        fields(pairs),
        table(columns, rows),
        f'{more} more OSDs: use --format json' if more > 0 else '',
        titled('Guards', '\n'.join(_guards(planned.guards))),
    )


def _guards(guards: Sequence[Guard]) -> Iterator[str]:
    for guard in guards:
        if guard.reason is not None:
            state = 'at start' if guard.open is None else 'CLOSED'
            yield paragraph(f'{guard.name}: {guard.reason}', 12, f'  {state:<8}  ')
    yield paragraph(', '.join(guard.name for guard in guards if guard.open), 12, '  open      ')


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

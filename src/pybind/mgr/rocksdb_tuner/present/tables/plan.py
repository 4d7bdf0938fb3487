"""The plan of a recommendation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...advise.records import Kind, Recommendation
from ...operations.gates import GATES
from ...plan.batches import PlannedBatch, without_gain
from ...units import UNKNOWN, format_duration, format_ids, format_plural
from ..layout import ROWS, Column, fields, more, shell_command, table
from ..subjects import Plan
from .phrases import (
    UNNAMED_OPTIONS,
    bullets,
    flushes_in,
    purpose,
    sections,
    titled,
)


def option_field(recommendation: Recommendation) -> list[tuple[str, str]]:
    """The config option that changes; none for a compaction."""
    written = recommendation.kind in {Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE}
    return [('Option', recommendation.option)] if written else []


def plan(planned: Plan) -> str:
    """The steps of `apply`, in order."""
    r = planned.recommendation
    pairs = [
        ('Dry run', 'no changes were made'),
        ('Recommendation', f'{r.recommendation_id} ({r.kind.value})'),
        ('Who', r.who),
        ('Profile', r.profile or f'{UNNAMED_OPTIONS} (no known profile)'),
        ('Purpose', purpose(planned.change.purpose)),
        ('Risk', r.risk.value),
        *option_field(r),
    ]
    return sections(
        fields(pairs),
        *how(planned),
        titled('Commands', command_lines(r.commands)),
        titled('Undo', command_lines(r.undo_commands)),
    )


def how(planned: Plan) -> Iterable[str]:
    """The procedure: order, soak, gates, duration."""
    r = planned.recommendation
    least, most = planned.least_duration_s, planned.most_duration_s
    duration = format_duration(least)
    if most > least:
        duration += f' to {format_duration(most)}'
    pairs = [
        (
            'OSDs',
            (
                f'{format_plural(len(r.osds), "OSD")}, one at a time, in '
                f'{format_plural(len(planned.batches), "batch", "batches")} of at most one failure '
                f'domain ({_domain_kinds(planned)})'
            ),
        ),
        ('Canary', _watch(planned)),
        *_watch_of_batches(planned),
        ('Duration', f'about {duration} without waiting'),
    ]
    steps = [
        'Set the option for this OSD only, and restart it.',
        'Continue once it is up with the new value and all placement groups are clean.',
    ]
    yield titled('Procedure', fields(pairs))
    yield _batches(planned)
    if r.restart_required:
        yield titled('Before each restart', bullets(GATES))
        yield titled('For each OSD', bullets(steps))


def _watch(planned: Plan) -> str:
    r, soak = planned.recommendation, planned.soak
    if not r.restart_required or not r.osds:
        return 'none: no OSD restarts'
    if soak.most_s <= 0:
        return 'none: soak_max is 0, so there is no verdict'
    canary = planned.batches[0]
    if canary.watched_for_crashes:
        return (
            f'osd.{r.osds[0]}, watched for crashes only, for {format_duration(soak.least_s)}: '
            'it is the only OSD, without controls, so the rollout ends as done, "not judged"'
        )
    if not planned.judged:
        return (
            f'osd.{r.osds[0]}, but there are too few OSDs to compare it with: soak_inconclusive '
            f'applies ({soak.inconclusive.value})'
        )
    times = f'{format_duration(soak.least_s)} to {format_duration(max(soak.least_s, soak.most_s))}'
    controls = ', '.join(f'osd.{osd_id}' for osd_id in planned.change.controls)
    return (
        f'osd.{r.osds[0]}, measured before the change and for {times} after it'
        f'{flushes_in(soak, planned.change.fill_s)}, compared with {controls}; if inconclusive: '
        f'{soak.inconclusive.value}; if neither better nor worse: '
        f'{without_gain(planned.change).value}'
    )


def _watch_of_batches(planned: Plan) -> Iterable[tuple[str, str]]:
    soak = planned.soak.batches
    if soak is None or len(planned.batches) < 2 or not planned.batches[0].watched:
        return
    times = f'{format_duration(soak.least_s)} to {format_duration(max(soak.least_s, soak.most_s))}'
    yield (
        'Batches',
        (
            f'each soaks for {times} and is compared with OSDs that are not changed yet; if '
            f'inconclusive: {soak.inconclusive.value}'
        ),
    )


def _batches(planned: Plan) -> str:
    shown = planned.batches[:ROWS]
    rows = table(
        (
            Column('BATCH', 'r'),
            Column('FAILURE DOMAIN', omit=1),
            Column('OSDS IN ORDER'),
            Column('COMPARED WITH', omit=2),
        ),
        [
            (
                str(batch.number + 1),
                str(batch.domain or UNKNOWN),
                _ids_in_order(batch.osds),
                _compared_with(batch),
            )
            for batch in shown
        ],
    )
    return '\n'.join(filter(None, (rows, more(len(planned.batches) - len(shown)))))


def _domain_kinds(planned: Plan) -> str:
    kinds = {'unknown' if b.domain is None else b.domain.kind for b in planned.batches}
    return ', '.join(sorted(kinds))


def _compared_with(batch: PlannedBatch) -> str:
    if batch.judged:
        return format_ids(batch.controls)
    return 'none, watched for crashes only' if batch.watched_for_crashes else UNKNOWN


def _ids_in_order(osd_ids: Sequence[int]) -> str:
    return ','.join(map(str, osd_ids))


def command_lines(commands: Sequence[str]) -> str:
    """Not indented, so that commands with continuation lines can be pasted."""
    return '\n'.join(shell_command(command) for command in commands)

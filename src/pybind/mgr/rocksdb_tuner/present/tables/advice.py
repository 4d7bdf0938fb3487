"""Findings and recommendations: `findings`, `recommend`, `show` and the plan of `apply`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Optional

from ...advise.records import Finding, Kind, Prediction, Reason, Recommendation, Severity
from ...operations.gates import GATES
from ...options.grammar import OptionDifference
from ...plan.batches import PlannedBatch
from ...snapshot import Mode, Snapshot
from ...units import UNKNOWN, format_duration, format_ids, format_percent_range, format_plural
from ..difference import difference
from ..layout import Column, fields, paragraph, shell_command, table
from ..subjects import Plan
from ..summaries import worst_first
from .candidates import experiment_hint
from .phrases import (
    COMMAND,
    UNNAMED_OPTIONS,
    bullets,
    changes_table,
    finding_text,
    flushes_in,
    limited_by,
    limits_of_groups,
    nothing_known,
    osd_names,
    purpose,
    sections,
    titled,
)


def findings(snapshot: Snapshot) -> str:
    """Findings, worst first."""
    if not snapshot.findings:
        if not snapshot.osds:
            return nothing_known(snapshot.mode)
        unread = [f.info.osd_id for f in snapshot.osds if f.options is None]
        if unread:
            return paragraph(f'No findings so far; the options of {osd_names(unread)} are unknown.')
        return 'No findings.'
    text = table(
        (
            # An argument of `finding show`, so never shortened.
            Column('ID', flexible=True, wrap=True, min_width=28),
            Column('SEVERITY'),
            Column('OSDS', 'r'),
            Column('SUMMARY', flexible=True, wrap=True, min_width=24),
        ),
        [_finding_row(alike) for alike in _alike(worst_first(snapshot.findings))],
    )
    return sections(text, f'Details, with evidence and remedy: {COMMAND} finding show <id>')


def finding(found: Sequence[Finding]) -> str:
    """All findings with one id, in full."""
    return sections(*(finding_text(one) for one in found))


def _alike(found: Sequence[Finding]) -> Iterable[Sequence[Finding]]:
    """Findings grouped by id and severity; a row counts their OSDs."""
    by_id: dict[tuple[str, Severity], list[Finding]] = {}
    for one in found:
        by_id.setdefault((one.finding_id, one.severity), []).append(one)
    return by_id.values()


def _finding_row(alike: Sequence[Finding]) -> tuple[str, str, str, str]:
    first, others = alike[0], len(alike) - 1
    osds = {osd_id for one in alike for osd_id in one.osds}
    return (
        first.finding_id,
        first.severity.value,
        str(len(osds)) if osds else UNKNOWN,
        first.summary + (f' (and {others} more)' if others else ''),
    )


def recommend(snapshot: Snapshot) -> str:
    """Recommended changes, or the reasons why there are none."""
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return f'No recommendations in mode {snapshot.mode.value}; see "{COMMAND} mode recommend".'
    if not snapshot.assessments:
        return nothing_known(snapshot.mode)
    if not snapshot.recommendations:
        return sections(
            'No changes recommended.',
            _conclusions(snapshot),
            limits_of_groups(snapshot.groups),
            *map(experiment_hint, snapshot.assessments),
        )
    text = table(
        (
            # An argument of `apply`, so never shortened.
            Column('ID', flexible=True, wrap=True, min_width=16),
            Column('WHO', flexible=True),
            Column('OSDS', 'r'),
            Column('CHANGE', flexible=True, wrap=True, min_width=25),
            Column('RISK'),
            Column('RESTART'),
        ),
        (
            (
                r.recommendation_id,
                r.who,
                str(len(r.osds)),
                f'{r.kind.value} {r.profile or UNNAMED_OPTIONS}',
                r.risk.value,
                'yes' if r.restart_required else 'no',
            )
            for r in snapshot.recommendations
        ),
    )
    expected = (
        paragraph(f'{r.recommendation_id}: {_expected(r.prediction)}', 4, '  ')
        for r in snapshot.recommendations
        if r.prediction is not None
    )
    return sections(
        text,
        titled('Expected', '\n'.join(expected)),
        _conclusions(snapshot),
        limits_of_groups(snapshot.groups),
        *map(experiment_hint, snapshot.assessments),
        f'Details, with commands and undo: {COMMAND} show <id>',
    )


def show(recommendation: Recommendation, planned: Optional[Plan] = None) -> str:
    """A recommendation in full: reasons, prediction, plan, commands and undo."""
    r = recommendation
    limited = limited_by(r.limit)
    head = fields(
        [
            ('Recommendation', r.recommendation_id),
            ('Kind', r.kind.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            ('Profile', r.profile or f'{UNNAMED_OPTIONS} (no known profile)'),
            ('Risk', r.risk.value),
            ('Restart', 'each OSD, one at a time' if r.restart_required else 'none'),
            *([('Limited by', limited)] if limited else []),
            *_option(r),
            ('Current options', r.options_from or '(empty)'),
            ('New options', r.options_to or '(empty)'),
            *_annex(r),
        ]
    )
    changes = difference(r.options_from, r.options_to)
    return sections(
        head,
        _difference(changes),
        titled('Why', _reasons(r.reasons)),
        titled('Expected', _predictions(r.predictions)),
        *(() if planned is None else _how(planned)),
        _one_domain_at_a_time(r) if r.kind is Kind.COMPACT else '',
        titled('Commands', _commands(r.commands)),
        titled('Undo', _commands(r.undo_commands)),
        titled(
            'To apply it one OSD at a time, with verification',
            _commands((f'{COMMAND} apply {r.recommendation_id}',)),
        ),
    )


def _annex(recommendation: Recommendation) -> list[tuple[str, str]]:
    if recommendation.annex is None:
        return []
    removed = recommendation.kind is Kind.REMOVE_OVERRIDE
    return [('Removed annex' if removed else 'Including annex', recommendation.annex)]


def _option(recommendation: Recommendation) -> list[tuple[str, str]]:
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
        *_option(r),
    ]
    return sections(
        fields(pairs),
        *_how(planned),
        titled('Commands', _commands(r.commands)),
        titled('Undo', _commands(r.undo_commands)),
    )


def _how(planned: Plan) -> Iterable[str]:
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


def _one_domain_at_a_time(recommendation: Recommendation) -> str:
    """The order of OSDs in a compaction campaign."""
    domains = {osd_id: place.domain for osd_id, place in recommendation.places}
    by_domain = groupby(recommendation.osds, domains.get)
    return table(
        (
            Column('FAILURE DOMAIN', flexible=True),
            Column('OSDS IN ORDER', flexible=True, wrap=True, min_width=20),
        ),
        [(str(domain or UNKNOWN), _ids_in_order(list(osds))) for domain, osds in by_domain],
    )


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
        f'{soak.inconclusive.value}; if neither better nor worse: {soak.no_benefit.value}'
    )


def _watch_of_batches(planned: Plan) -> Iterable[tuple[str, str]]:
    soak = planned.soak.batches
    if len(planned.batches) < 2 or not planned.batches[0].watched:
        return
    if soak is None or soak.most_s <= 0:
        yield 'Batches', 'batch_soak_max is 0, so there is no soak and no verdict'
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
    return table(
        (
            Column('BATCH', 'r'),
            Column('FAILURE DOMAIN', flexible=True),
            Column('OSDS IN ORDER', flexible=True, wrap=True, min_width=20),
            Column('COMPARED WITH', flexible=True, wrap=True, min_width=20),
        ),
        [
            (
                str(batch.number + 1),
                str(batch.domain or UNKNOWN),
                _ids_in_order(batch.osds),
                _compared_with(batch),
            )
            for batch in planned.batches
        ],
    )


def _domain_kinds(planned: Plan) -> str:
    kinds = {'unknown' if b.domain is None else b.domain.kind for b in planned.batches}
    return ', '.join(sorted(kinds))


def _compared_with(batch: PlannedBatch) -> str:
    if batch.judged:
        return format_ids(batch.controls)
    return 'none, watched for crashes only' if batch.watched_for_crashes else UNKNOWN


def _ids_in_order(osd_ids: Sequence[int]) -> str:
    return ','.join(map(str, osd_ids))


def _conclusions(snapshot: Snapshot) -> str:
    return '\n'.join(
        paragraph(assessment.conclusion, indent=4, first=f'{assessment.who}: ')
        for assessment in snapshot.assessments
    )


def _expected(prediction: Prediction) -> str:
    change = format_percent_range(prediction.low_percent, prediction.high_percent)
    return f'{prediction.metric} {change}'


def _difference(changes: Optional[Sequence[OptionDifference]]) -> str:
    if changes is None:
        return 'Cannot compare the options: one of the strings is invalid.'
    return changes_table(changes, 'CURRENT', 'NEW') or 'No option values change.'


def _reasons(reasons: Sequence[Reason]) -> str:
    return '\n'.join(
        paragraph(f'{reason.statement} [{reason.source}]', 4, '  - ') for reason in reasons
    )


def _predictions(predictions: Sequence[Prediction]) -> str:
    if not predictions:
        return paragraph('No prediction: no published measurement or model applies.', 4, '  - ')
    return '\n'.join(line for prediction in predictions for line in _prediction(prediction))


def _prediction(prediction: Prediction) -> tuple[str, str]:
    change = format_percent_range(prediction.low_percent, prediction.high_percent)
    return (
        paragraph(f'{prediction.metric}: {change}', 4, '  - '),
        paragraph(f'Basis: {prediction.basis}', 4),
    )


def _commands(commands: Sequence[str]) -> str:
    """Not indented, so that commands with continuation lines can be pasted."""
    return '\n'.join(shell_command(command) for command in commands)

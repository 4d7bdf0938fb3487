"""Findings and recommendations: `findings`, `recommend` and the plan of `apply`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from ...advise.records import Finding, Kind, Prediction, Reason, Recommendation, Severity
from ...options.grammar import OptionDifference
from ...snapshot import Snapshot
from ...units import format_change_range, format_ids, format_plural
from ..decisions import decisions_of
from ..layout import Column, fields, paragraph, table
from ..subjects import Plan
from ..summaries import difference, worst_first
from .phrases import (
    COMMAND,
    changes_table,
    decision_text,
    finding_text,
    nothing_known,
    osd_names,
    sections,
    severity_mark,
    titled,
)
from .plan import command_lines, how, option_field


def findings(snapshot: Snapshot) -> str:
    """Findings, worst first."""
    if not snapshot.findings:
        if not snapshot.osds:
            return nothing_known(snapshot.mode)
        unread = [f.info.osd_id for f in snapshot.osds if f.options is None]
        if unread:
            return paragraph(f'No findings so far; the options of {osd_names(unread)} are unknown.')
        return 'No findings.'
    return sections(
        '\n'.join(map(_finding_line, _alike(worst_first(snapshot.findings)))),
        f'Details, with evidence and remedy: {COMMAND} findings <id>',
    )


def finding(found: Sequence[Finding]) -> str:
    """All findings with one id, in full."""
    return sections(*(finding_text(one) for one in found))


def _alike(found: Sequence[Finding]) -> Iterable[Sequence[Finding]]:
    """Findings grouped by id and severity; a line counts their OSDs."""
    by_id: dict[tuple[str, Severity], list[Finding]] = {}
    for one in found:
        by_id.setdefault((one.finding_id, one.severity), []).append(one)
    return by_id.values()


def _finding_line(alike: Sequence[Finding]) -> str:
    first, others = alike[0], len(alike) - 1
    osds = {osd_id for one in alike for osd_id in one.osds}
    count = f' ({format_plural(len(osds), "OSD")})' if osds else ''
    also = f' (and {others} more)' if others else ''
    return paragraph(f'{first.finding_id}{count}: {first.summary}{also}', 6, severity_mark(first))


def recommend(snapshot: Snapshot) -> str:
    """Recommended changes, then the decisions of groups without one."""
    rows = [
        (
            r.recommendation_id,
            r.kind.value,
            r.priority.value,
            'yes' if r.restart_required else 'no',
            str(len(r.osds)),
        )
        for r in snapshot.recommendations
    ]
    columns = (
        # An argument of `apply`, so never shortened.
        Column('ID'),
        Column('KIND'),
        Column('PRIORITY'),
        Column('RESTART'),
        Column('OSDS', 'r'),
    )
    names = {r.decision: f'{r.recommendation_id} for {r.who}' for r in snapshot.recommendations}
    found = dict.fromkeys((*decisions_of(snapshot), *names))
    return sections(
        table(columns, rows) if rows else '',
        *(decision_text(d, paragraph(names.get(d, d.who))) for d in found),
        f'Details, with commands and undo: {COMMAND} recommend <id>' if rows else '',
    )


def show(recommendation: Recommendation, planned: Optional[Plan] = None) -> str:
    """A recommendation in full: reasons, prediction, plan, commands and undo."""
    r = recommendation
    head = fields(
        [
            ('Kind', r.kind.value),
            ('Priority', r.priority.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            *option_field(r),
            ('Current options', r.options_from or '(empty)'),
            ('New options', r.options_to or '(empty)'),
            *_annex(r),
        ]
    )
    changes = difference(r.options_from, r.options_to)
    return sections(
        decision_text(r.decision, r.recommendation_id),
        head,
        _difference(changes),
        titled('Why', _reasons(r.reasons)),
        titled('Expected', _predictions(r.predictions)),
        *(() if planned is None else how(planned)),
        titled('Commands', command_lines(r.commands)),
        titled('Undo', command_lines(r.undo_commands)),
        titled(
            'To apply it one OSD at a time, with verification',
            command_lines((f'{COMMAND} apply {r.recommendation_id}',)),
        ),
    )


def _annex(recommendation: Recommendation) -> list[tuple[str, str]]:
    if recommendation.annex is None:
        return []
    removed = recommendation.kind is Kind.REMOVE_OVERRIDE
    return [('Removed annex' if removed else 'Including annex', recommendation.annex)]


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
    change = format_change_range(prediction.low_percent, prediction.high_percent)
    return (
        paragraph(f'{prediction.metric}: {change}', 4, '  - '),
        paragraph(f'Basis: {prediction.basis}', 4),
    )

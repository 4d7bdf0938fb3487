"""Decisions, findings, recommendations with the plan of `apply`, and their candidates."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Optional

from ..advise.decision import decide, wait_for
from ..advise.records import Decision, Finding, GroupFacts, Kind, Resource, Severity
from ..advise.records import Recommendation as Advice
from ..advise.weighing import RESOURCES, Assessment, Bars, Origin, Weighed
from ..judge.records import SoakPlan, contradiction
from ..notes import Amount, InPlace, OsdId
from ..observe.report_interval import DEFAULT, USABLE_S, ReportInterval, Reports
from ..operations.gates import GATES
from ..options.grammar import OptionDifference, difference
from ..options.verdict import BadQuestionError
from ..plan.batches import PlannedBatch, planned_batches
from ..plan.commands import expected_duration_s
from ..plan.records import ChangeRequest
from ..snapshot import Mode, Snapshot
from ..units import (
    UNKNOWN,
    format_change_range,
    format_duration,
    format_effect,
    format_ids,
    format_plural,
)
from .layout import (
    ROWS,
    Column,
    bullets,
    fields,
    joined,
    paragraph,
    sections,
    shell_command,
    table,
    titled,
)
from .operations import CanarySoak, canary_soak, next_step
from .phrases import (
    COMMAND,
    PURPOSES,
    changes_table,
    decision_text,
    measured_value,
    nothing_known,
    options_or_empty,
    osd_names,
    severity_mark,
    times_of,
    worst_first,
)


@dataclass(frozen=True)
class Recommendation:
    """A recommendation, with the candidates considered."""

    recommendation: Annotated[Advice, InPlace()]
    candidates: Annotated[
        Optional[tuple[Weighed, ...]],
        'Candidates considered, as in "recommend --all"; null if none were compared.',
    ]


@dataclass(frozen=True)
class RecommendationInFull:
    """A recommendation, with the options that it changes."""

    recommendation: Annotated[Advice, InPlace()]
    difference: Annotated[
        Optional[tuple[OptionDifference, ...]],
        'Changed options; null if one of the option strings cannot be parsed.',
    ]


@dataclass(frozen=True)
class Plan:
    """Preview of `apply`."""

    recommendation: Annotated[
        Advice, InPlace('kind', 'who', 'profile', 'risk', 'options_to', 'commands', 'undo_commands')
    ]
    change: Annotated[ChangeRequest, InPlace('recommendation_id', 'purpose')]
    batches: Annotated[
        tuple[PlannedBatch, ...],
        'OSDs in the order in which they would be changed, in batches of at most one failure '
        'domain, each with a soak before the next.',
    ]
    soak: Annotated[CanarySoak, 'Soak time of the canary; most_s 0: no soak.']
    expected_duration_s: Annotated[
        Amount, 'Minimum duration in seconds, without any waiting for gates.'
    ]
    expected_duration_most_s: Annotated[Amount, 'The same with the maximum soak time.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.'] = GATES

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on the canary before the other OSDs are changed."""
        return bool(self.batches) and self.batches[0].judged

    @property
    def canary(
        self,
    ) -> Annotated[Optional[OsdId], 'Canary: the OSD to change and judge first; null: no verdict.']:
        return self.change.order[0] if self.judged else None

    @property
    def controls(self) -> Annotated[tuple[OsdId, ...], 'Ids of the control OSDs of the canary.']:
        return self.change.controls if self.judged else ()


_RECOMMEND = f'{COMMAND} mode recommend'
_DOCTOR = f'{COMMAND} doctor'
_OPERATION = f'{COMMAND} operation status'


def decisions_of(snapshot: Snapshot) -> tuple[Decision, ...]:
    """One for each group, in the words of every answer."""
    if snapshot.mode is Mode.OFF:
        return (wait_for('osd', 'the mode is off', 'OSDs are not sampled.', _RECOMMEND),)
    if not snapshot.groups:
        return (wait_for('osd', 'there are no samples yet', 'No OSD has reported yet.', _DOCTOR),)
    unassessed = ('there is no evaluation yet', 'OSDs were not evaluated yet.', _DOCTOR)
    if snapshot.mode is Mode.OBSERVE:
        unassessed = ('the mode is observe', 'It recommends nothing.', _RECOMMEND)
    assessments = {a.who: a for a in snapshot.assessments}
    findings = worst_first(snapshot.findings)
    return tuple(
        decide(
            group,
            findings,
            assessments.get(group.who)
            or Assessment(group.who, wait_for(group.who, *unassessed), ()),
            _wait(snapshot, group),
        )
        for group in snapshot.groups
    )


def _wait(snapshot: Snapshot, group: GroupFacts) -> Optional[Decision]:
    """Why any change of this group has to wait."""
    who, reports = group.who, snapshot.sampling.reports
    state, step = snapshot.operation, next_step(snapshot)
    touched = {osd.osd_id for osd in state.osds} if state and step else set()
    if state and step and touched & {osd.info.osd_id for osd in group.osds}:
        name = f'Operation {state.operation_id}'
        if state.ended:
            because = f'{name} failed: {state.failure}.'
            return Decision(who, f'To continue, {step}', because, next_command=_OPERATION)
        what = step.removeprefix('wait for ').removeprefix('wait: ')
        because = f'{name} for {state.request.who} is under way.'
        if state.paused_reason is not None:
            what, because = state.paused_reason, f'{name} waits: {step}.'
        return wait_for(who, what, because, _OPERATION)
    if reports is Reports.NONE:
        return wait_for(who, 'OSDs do not report', 'Nothing is measured without.', _DOCTOR)
    if reports is Reports.SLOW:
        because = f'Reports more than {format_duration(USABLE_S)} apart cannot be judged.'
        return wait_for(who, 'OSDs report too rarely', because, _DOCTOR)
    return None


def recommendations_of(snapshot: Snapshot) -> tuple[Recommendation, ...]:
    """Empty if nothing needs to change."""
    return tuple(
        # Candidates were compared for the first one only.
        Recommendation(r, a.weighing.weighed if number == 0 and a.weighing else None)
        for a in snapshot.assessments
        for number, r in enumerate(a.recommendations)
    )


def in_full(r: Advice) -> RecommendationInFull:
    return RecommendationInFull(r, difference(r.options_from, r.options_to))


def plan_of(recommendation: Advice, soak: SoakPlan, reports: ReportInterval = DEFAULT) -> Plan:
    """Raises BadQuestionError (EINVAL) if no rollout can apply it, or none can be judged."""
    name, change = recommendation.recommendation_id, recommendation.change
    problem = contradiction(soak)
    if change is None and problem is None:
        problem = (
            f'{name} ({recommendation.kind.value}) cannot be applied by a rollout; apply it '
            f'manually, see "{COMMAND} recommend {name}"'
        )
    if change is None or problem is not None:
        raise BadQuestionError(errno.EINVAL, str(problem))
    return Plan(
        recommendation,
        change,
        planned_batches(change, soak),
        canary_soak(change, soak),
        *expected_duration_s(change, soak, reports),
    )


def findings_named(snapshot: Snapshot, finding_id: str) -> Snapshot:
    """With these findings only; raises BadQuestionError (ENOENT) without any."""
    found = tuple(f for f in snapshot.findings if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise BadQuestionError(
            errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}'
        )
    return replace(snapshot, findings=found)


def findings(snapshot: Snapshot, *, whole: bool = False) -> str:
    """Findings, worst first; ``whole``: with evidence and remedy."""
    found = worst_first(snapshot.findings)
    if whole:
        return sections(*map(_finding, found))
    if not snapshot.osds and not found:
        return nothing_known(snapshot.mode)
    if not found:
        unread = [f.info.osd_id for f in snapshot.osds if f.options is None]
        so_far = f' so far; the options of {osd_names(unread)} are unknown' if unread else ''
        return paragraph(f'No findings{so_far}.')
    by_id: dict[tuple[str, Severity], list[Finding]] = {}
    for one in found:
        by_id.setdefault((one.finding_id, one.severity), []).append(one)
    return sections(
        joined(*map(_finding_line, by_id.values())),
        f'Details, with evidence and remedy: {COMMAND} findings <id>',
    )


def _finding_line(alike: Sequence[Finding]) -> str:
    """Findings of one id and severity, with the number of their OSDs."""
    first, others = alike[0], len(alike) - 1
    osds = {osd_id for one in alike for osd_id in one.osds}
    count = f' ({format_plural(len(osds), "OSD")})' if osds else ''
    also = f' (and {others} more)' if others else ''
    return paragraph(f'{first.finding_id}{count}: {first.summary}{also}', 6, severity_mark(first))


def _finding(finding: Finding) -> str:
    """In the form of `ceph health detail`."""
    evidence = [measured_value(*one) for one in finding.evidence]
    return joined(
        paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding)),
        *(paragraph(text, 16, '    evidence:') for text in evidence),
        paragraph(finding.remedy, 16, '    remedy:'),
        *(shell_command(c) for c in finding.commands if c not in finding.remedy),
        paragraph(finding.do_not, 16, '    do not:') if finding.do_not else '',
        paragraph(finding.source, 16, '    source:'),
    )


_RECOMMENDED: Sequence[Column[Advice]] = (
    # An argument of `apply`, so never shortened.
    Column('ID', 'recommendation_id'),
    Column('KIND', 'kind'),
    Column('PRIORITY', 'priority'),
    Column('RESTART', 'restart_required'),
    Column('OSDS', lambda r: len(r.osds), 'r'),
)


def recommend(snapshot: Snapshot) -> str:
    """Recommended changes, then the decisions of groups without one."""
    found = snapshot.recommendations
    names = {r.decision: f'{r.recommendation_id} for {r.who}' for r in found}
    decisions = dict.fromkeys((*decisions_of(snapshot), *names))
    return sections(
        table(_RECOMMENDED, found),
        *(decision_text(d, paragraph(names.get(d, d.who))) for d in decisions),
        f'Details, with commands and undo: {COMMAND} recommend <id>' if found else '',
    )


def show(r: Advice) -> str:
    """A recommendation in full: changes, reasons, prediction, commands and undo."""
    changes = in_full(r).difference
    annex = 'Removed annex' if r.kind is Kind.REMOVE_OVERRIDE else 'Including annex'
    return sections(
        decision_text(r.decision, r.recommendation_id),
        fields(
            ('Kind', r.kind.value),
            ('Priority', r.priority.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            ('Option', r.option if r.kind in {Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE} else None),
            ('Current options', options_or_empty(r.options_from)),
            ('New options', options_or_empty(r.options_to)),
            (annex, r.annex),
        ),
        'Cannot compare the options: one of the strings is invalid.'
        if changes is None
        else changes_table(changes, 'CURRENT', 'NEW') or 'No option values change.',
        titled('Why', bullets(f'{reason.statement} [{reason.source}]' for reason in r.reasons)),
        titled(
            'Expected',
            bullets(
                f'{p.metric}: {format_change_range(p.low_percent, p.high_percent)} ({p.basis})'
                for p in r.predictions
            )
            or bullets(['No prediction: no published measurement or model applies.']),
        ),
        *_commands(r),
        titled(
            'To apply it one OSD at a time, with verification (--dry-run shows the plan)',
            shell_command(f'{COMMAND} apply {r.recommendation_id}'),
        )
        if r.change is not None
        else '',
    )


def _commands(r: Advice) -> tuple[str, str]:
    """Not indented, so that commands with continuation lines can be pasted."""
    return (
        titled('Commands', joined(*map(shell_command, r.commands))),
        titled('Undo', joined(*map(shell_command, r.undo_commands))),
    )


def candidates(snapshot: Snapshot) -> str:
    """The candidates of each group, and why one was chosen."""
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return f'No candidates in mode {snapshot.mode.value}; see "{COMMAND} mode recommend".'
    if not snapshot.assessments:
        return nothing_known(snapshot.mode)
    return sections(*(_group(assessment) for assessment in snapshot.assessments))


def _group(assessment: Assessment) -> str:
    weighing = assessment.weighing
    conclusion = decision_text(assessment.conclusion, paragraph(assessment.who))
    if weighing is None:
        return sections(conclusion, 'No candidates were compared.')
    bars, goal = weighing.bars, weighing.shown_resource
    others = [w for w in weighing.weighed if w.origin is not Origin.RUNNING]
    columns: Sequence[Column[Weighed]] = (
        Column('CANDIDATE', 'name'),
        Column('GAIN', lambda w: _gain(w, goal), 'r'),
        Column('WORST LOSS', lambda w: _worst(w, goal, bars)[0], 'r'),
        Column('OF', lambda w: _worst(w, goal, bars)[1]),
    )
    return sections(
        conclusion,
        paragraph(
            f'Goal: save at least {bars.min_gain:.0%} of a resource, at the cost of at most '
            f'{bars.max_loss:.0%} of any other (80% intervals). GAIN is on the {RESOURCES[goal]}.'
        ),
        table(columns, [w for w in others if not w.infeasible]),
        titled(
            'Not chosen',
            bullets(
                f'{w.name}: {reason}'
                for w in others
                for reason in w.infeasible or filter(None, (w.short,))
            ),
        ),
    )


def _gain(weighed: Weighed, resource: Resource) -> Optional[str]:
    ratio = weighed.of(resource)
    ends = (ratio.value, ratio.high, ratio.low) if ratio else ()
    return format_effect(*(100 * (1 - end) for end in ends)) if ends else None


def _worst(weighed: Weighed, resource: Resource, bars: Bars) -> tuple[str, str]:
    others = [u for u in weighed.usages if u.resource not in {resource, *bars.plenty}]
    worst = max(others, key=lambda u: u.at_most, default=None)
    return (UNKNOWN, '') if worst is None else (worst.effect, worst.resource.value)


def _compared_with(batch: PlannedBatch) -> Optional[str]:
    if batch.judged:
        return format_ids(batch.controls)
    return 'none, watched for crashes only' if batch.watched_for_crashes else None


_BATCHES: Sequence[Column[PlannedBatch]] = (
    Column('BATCH', lambda b: b.number + 1, 'r'),
    Column('FAILURE DOMAIN', 'domain', omit=1),
    Column('OSDS IN ORDER', lambda b: ','.join(map(str, b.osds))),
    Column('COMPARED WITH', _compared_with, omit=2),
)


def plan(answer: Plan) -> str:
    """The steps of `apply`, in order."""
    r, batches, later = answer.recommendation, answer.batches, answer.soak.soak.batches
    least, most = map(
        format_duration, (answer.expected_duration_s, answer.expected_duration_most_s)
    )
    orchestrated = any(command.startswith('ceph orch ') for command in r.commands)
    by_you = (
        'yours where no orchestrator makes them, with the command that "operation status" names; '
        '"doctor" shows why'
    )
    each = None
    if later is not None and len(batches) > 1 and batches[0].watched:
        each = f'each soaks for {times_of(later)}; if inconclusive: {later.inconclusive.value}'
    return sections(
        fields(
            ('Dry run', 'no changes were made'),
            ('Recommendation', f'{r.recommendation_id} ({r.kind.value})'),
            ('Who', r.who),
            ('Purpose', PURPOSES[answer.change.purpose]),
            ('Risk', r.risk.value),
            ('Option', r.option),
            ('OSDs', f'{len(r.osds)}, one at a time, in batches of at most one failure domain'),
            ('Restarts', None if orchestrated or not r.restart_required else by_you),
            ('Canary', _canary(answer)),
            ('Batches', each),
            ('Duration', f'about {least if least == most else f"{least} to {most}"}'),
        ),
        table(_BATCHES, batches, limit=ROWS, rest='--format json-pretty'),
        titled('Before each restart', bullets(GATES if r.restart_required else ())),
        *_commands(r),
    )


def _canary(answer: Plan) -> str:
    soak, order = answer.soak.soak, answer.change.order
    canary, undecided = f'osd.{order[0]}', f'if inconclusive: {soak.inconclusive.value}'
    if not answer.recommendation.restart_required:
        return 'none: no OSD restarts'
    if soak.most_s <= 0:
        return 'none: soak_max is 0, so there is no verdict'
    if answer.batches[0].watched_for_crashes:
        return f'{canary}, watched for crashes only, for {format_duration(soak.least_s)}'
    if not answer.judged:
        return f'{canary}, without a verdict: too few OSDs to compare it with; {undecided}'
    fill_s, flushes = answer.soak.fill_s, ''
    if fill_s is not None:
        flushes = f' (memtables take {format_duration(fill_s)} to fill)'
    return (
        f'{canary}, measured before the change and for {times_of(soak)} after it{flushes}, '
        f'compared with osd.{format_ids(answer.controls)}; {undecided}; if neither better nor '
        f'worse: {answer.soak.no_benefit.value}'
    )

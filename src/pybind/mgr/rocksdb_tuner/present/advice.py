"""Findings, recommendations with the plans to apply them, and the candidates behind them."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.records import (
    Decision,
    Finding,
    Kind,
    Prediction,
    Reason,
    Resource,
    Severity,
)
from ..advise.records import Recommendation as Advice
from ..advise.usage import at_most
from ..advise.weighing import RESOURCES, Assessment, Bars, Origin, Weighed, Weighing, effect_of
from ..judge.records import SoakPlan, contradiction
from ..mgr.records import FailureDomain
from ..notes import Amount, InPlace, Named, OsdId
from ..operations.gates import GATES
from ..options.grammar import OptionDifference, difference
from ..options.verdict import BadQuestionError
from ..plan.batches import PlannedBatch, planned_batches, soak_for
from ..plan.commands import expected_duration_s
from ..plan.records import ChangeRequest
from ..snapshot import Mode, Snapshot
from ..units import (
    UNKNOWN,
    format_change,
    format_change_range,
    format_duration,
    format_effect,
    format_ids,
    format_plural,
)
from .decisions import decisions_of
from .layout import ROWS, Column, fields, more, paragraph, shell_command, table
from .operations import CanarySoak, canary_soak
from .phrases import (
    COMMAND,
    UNNAMED_OPTIONS,
    bullets,
    changes_table,
    decision_text,
    finding_text,
    flushes_in,
    nothing_known,
    osd_names,
    purpose,
    sections,
    severity_mark,
    titled,
    worst_first,
)


@dataclass(frozen=True)
class Candidate:
    """A candidate option string."""

    weighed: Annotated[Weighed, InPlace()]
    chosen: Annotated[bool, 'Whether it was chosen for the group.']


@dataclass(frozen=True)
class Considered:
    """Candidates of one group, and the choice."""

    who: Annotated[str, 'Config mask of the group.']
    resource: Annotated[
        Optional[Resource],
        'Limiting resource, or else that of the largest saving; null: no candidates were compared.',
    ]
    decision: Annotated[Decision, 'The change of options that was chosen, or why none was.']
    min_gain_percent: Annotated[float, 'Minimum saving of a resource, with 80% probability.']
    max_loss_percent: Annotated[
        float, 'Maximum additional use of any other resource, with 80% probability.'
    ]
    unconstrained: Annotated[
        tuple[Resource, ...],
        'Resources that the OSDs have plenty of, exempt from max_loss_percent.',
    ]
    candidates: Annotated[tuple[Candidate, ...], 'Candidates that were compared.']


@dataclass(frozen=True)
class Recommendation:
    """A recommendation, with the candidates considered."""

    recommendation: Annotated[Advice, InPlace()]
    candidates: Annotated[
        Optional[tuple[Candidate, ...]],
        'Candidates considered, as in "recommend --all"; null if none were compared.',
    ]


@dataclass(frozen=True)
class Steps:
    """The plan to apply a recommendation."""

    change: Annotated[ChangeRequest, InPlace('purpose')]
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
    def controls(
        self,
    ) -> Annotated[tuple[OsdId, ...], 'Ids of the control OSDs of the canary.']:
        return self.change.controls if self.judged else ()

    @property
    def gates(
        self,
    ) -> Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']:
        return GATES


@dataclass(frozen=True)
class Plan:
    """Preview of `apply`."""

    recommendation: Annotated[
        Advice,
        InPlace('kind', 'who', 'profile', 'risk', 'options_to', 'commands', 'undo_commands'),
    ]
    steps: Annotated[Steps, InPlace()]

    @property
    def recommendation_id(
        self,
    ) -> Annotated[str, Named('recommendation'), 'Id of the recommendation.']:
        return self.recommendation.recommendation_id


@dataclass(frozen=True)
class Target:
    """Target option string of an OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    options: Annotated[str, 'Option string after the change.']
    failure_domain: Annotated[Optional[FailureDomain], 'Failure domain of the OSD; null: unknown.']


@dataclass(frozen=True)
class FinalEntry:
    """An entry of the config store."""

    who: Annotated[str, 'Config mask of the entry.']
    value: Annotated[Optional[str], 'Value of the entry; null: the entry is removed.']


@dataclass(frozen=True)
class RecommendationInFull:
    """A recommendation, with the plan to apply it."""

    recommendation: Annotated[Advice, InPlace()]
    targets: Annotated[tuple[Target, ...], 'Target option string of each OSD.']
    final_entries: Annotated[tuple[FinalEntry, ...], 'Entries of the config store at the end.']
    difference: Annotated[
        Optional[tuple[OptionDifference, ...]],
        'Changed options; null if one of the option strings cannot be parsed.',
    ]
    plan: Annotated[Optional[Steps], 'Plan of the rollout; null if no rollout applies it.']


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return tuple(worst_first(snapshot.findings))


def considered_of(snapshot: Snapshot) -> tuple[Considered, ...]:
    return tuple(map(_considered, snapshot.assessments))


def recommendations_of(snapshot: Snapshot) -> tuple[Recommendation, ...]:
    """Empty if nothing needs to change."""
    return tuple(
        # Candidates were compared for the first one only.
        Recommendation(r, _candidates(a.weighing) if number == 0 and a.weighing else None)
        for a in snapshot.assessments
        for number, r in enumerate(a.recommendations)
    )


def in_full(recommendation: Advice, soak: Optional[SoakPlan]) -> RecommendationInFull:
    """``soak``: None if nothing can be applied here; then there is no plan."""
    r = recommendation
    domains = {osd_id: place.domain for osd_id, place in r.places}
    return RecommendationInFull(
        recommendation=r,
        targets=tuple(Target(osd_id, text, domains.get(osd_id)) for osd_id, text in r.targets),
        final_entries=tuple(FinalEntry(who, value) for who, value in r.final_entries),
        difference=difference(r.options_from, r.options_to),
        plan=None if r.change is None or soak is None else _steps(r.change, soak),
    )


def plan_of(recommendation: Advice, soak: SoakPlan) -> Plan:
    """Raises BadQuestionError (EINVAL) if no rollout can apply it, or none can be judged."""
    impossible = contradiction(soak)
    if impossible is not None:
        raise BadQuestionError(errno.EINVAL, impossible)
    name = recommendation.recommendation_id
    if recommendation.change is None:
        raise BadQuestionError(
            errno.EINVAL,
            f'{name} ({recommendation.kind.value}) cannot be applied by a rollout; apply it '
            f'manually, see "ceph rocksdb-tuner recommend {name}"',
        )
    return Plan(recommendation, _steps(recommendation.change, soak))


def _steps(change: ChangeRequest, soak: SoakPlan) -> Steps:
    return Steps(
        change,
        planned_batches(change, soak),
        canary_soak(change, soak_for(change, soak)),
        *expected_duration_s(change, soak),
    )


def _considered(assessment: Assessment) -> Considered:
    weighing = assessment.weighing
    bars = Bars() if weighing is None else weighing.bars
    return Considered(
        who=assessment.who,
        resource=None if weighing is None else weighing.shown_resource,
        decision=assessment.conclusion,
        min_gain_percent=bars.min_gain * 100,
        max_loss_percent=bars.max_loss * 100,
        unconstrained=tuple(sorted(bars.plenty, key=lambda resource: resource.value)),
        candidates=() if weighing is None else _candidates(weighing),
    )


def _candidates(weighing: Weighing) -> tuple[Candidate, ...]:
    return tuple(Candidate(w, w == weighing.chosen) for w in weighing.weighed)


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


def show(answer: RecommendationInFull) -> str:
    """A recommendation in full: reasons, prediction, plan, commands and undo."""
    r = answer.recommendation
    head = fields(
        [
            ('Kind', r.kind.value),
            ('Priority', r.priority.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            *_option_field(r),
            ('Current options', r.options_from or '(empty)'),
            ('New options', r.options_to or '(empty)'),
            *_annex(r),
        ]
    )
    return sections(
        decision_text(r.decision, r.recommendation_id),
        head,
        _difference(answer.difference),
        titled('Why', _reasons(r.reasons)),
        titled('Expected', _predictions(r.predictions)),
        *(() if answer.plan is None else _how(r, answer.plan)),
        titled('Commands', _command_lines(r.commands)),
        titled('Undo', _command_lines(r.undo_commands)),
        titled(
            'To apply it one OSD at a time, with verification',
            _command_lines((f'{COMMAND} apply {r.recommendation_id}',)),
        ),
    )


def _annex(recommendation: Advice) -> list[tuple[str, str]]:
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
        return sections(conclusion, paragraph('No candidates were compared.'))
    bars = weighing.bars
    head = paragraph(
        f'Goal: save at least {bars.min_gain:.0%} of a resource, at the cost of at most '
        f'{bars.max_loss:.0%} of any other (80% intervals). GAIN is on the '
        f'{RESOURCES[weighing.shown_resource]}.'
    )
    others = [w for w in weighing.weighed if w.candidate.origin is not Origin.RUNNING]
    feasible = [w for w in others if not w.infeasible]
    why_not = (
        (w.candidate.name, reason)
        for w in others
        for reason in w.infeasible or filter(None, (w.short,))
    )
    return sections(
        conclusion,
        head,
        _table(weighing, feasible),
        _unconstrained(feasible, bars),
        titled('Not chosen', bullets(f'{name}: {reason}' for name, reason in why_not)),
    )


def _unconstrained(feasible: Sequence[Weighed], bars: Bars) -> str:
    """Use of resources that does not count as a loss."""
    costs = {
        resource: [
            f'{w.candidate.name} {format_change(100 * (ratio.value - 1))}'
            for w in feasible
            for ratio in [w.of(resource)]
            if ratio is not None and at_most(ratio) > 1 + bars.max_loss
        ]
        for resource in sorted(bars.plenty)
    }
    return '\n'.join(
        paragraph(
            f'{_PLENTY[resource]}, so more of it does not rule out a candidate: {", ".join(names)}.'
        )
        for resource, names in costs.items()
        if names
    )


#: Why the use of a resource does not count as a loss.
_PLENTY = {
    Resource.CORES: 'Nothing is known of a lack of CPU time',
    Resource.DB_SPACE: 'RocksDB takes little space of its devices',
}


def _table(weighing: Weighing, feasible: Iterable[Weighed]) -> str:
    return table(
        (
            Column('CANDIDATE'),
            Column('GAIN', 'r'),
            Column('WORST LOSS', 'r'),
            Column('OF'),
        ),
        (
            (
                w.candidate.name,
                _gain(w, weighing.shown_resource),
                *_worst(w, weighing.shown_resource, weighing.bars),
            )
            for w in feasible
        ),
    )


def _gain(weighed: Weighed, resource: Resource) -> str:
    ratio = weighed.of(resource)
    if ratio is None:
        return UNKNOWN
    value, low, high = (100 * (1 - end) for end in (ratio.value, ratio.high, ratio.low))
    return format_effect(value, low, high)


def _worst(weighed: Weighed, resource: Resource, bars: Bars) -> tuple[str, str]:
    others = [u for u in weighed.usages if u.resource not in {resource, *bars.plenty}]
    if not others:
        return UNKNOWN, ''
    worst = max(others, key=lambda u: at_most(u.ratio))
    return effect_of(worst.ratio), worst.resource.value


def _option_field(recommendation: Advice) -> list[tuple[str, str]]:
    """The config option that changes; none for a compaction."""
    written = recommendation.kind in {Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE}
    return [('Option', recommendation.option)] if written else []


def plan(answer: Plan) -> str:
    """The steps of `apply`, in order."""
    r = answer.recommendation
    pairs = [
        ('Dry run', 'no changes were made'),
        ('Recommendation', f'{r.recommendation_id} ({r.kind.value})'),
        ('Who', r.who),
        ('Profile', r.profile or f'{UNNAMED_OPTIONS} (no known profile)'),
        ('Purpose', purpose(answer.steps.change.purpose)),
        ('Risk', r.risk.value),
        *_option_field(r),
    ]
    return sections(
        fields(pairs),
        *_how(r, answer.steps),
        titled('Commands', _command_lines(r.commands)),
        titled('Undo', _command_lines(r.undo_commands)),
    )


def _how(r: Advice, planned: Steps) -> Iterable[str]:
    """The procedure: order, soak, gates, duration."""
    least, most = planned.expected_duration_s, planned.expected_duration_most_s
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
        ('Canary', _watch(r, planned)),
        *_watch_of_batches(planned),
        ('Duration', f'about {duration} without waiting'),
    ]
    by_hand = not any(command.startswith('ceph orch ') for command in r.commands)
    steps = [
        'Set the option for this OSD only, then wait until you restart it with the command named '
        'by "operation status": "ceph rocksdb-tuner doctor" shows why no orchestrator does it.'
        if by_hand
        else 'Set the option for this OSD only, and restart it.',
        'Continue once it is up with the new value and all placement groups are clean.',
    ]
    yield titled('Procedure', fields(pairs))
    yield _batches(planned)
    if r.restart_required:
        yield titled('Before each restart', bullets(GATES))
        yield titled('For each OSD', bullets(steps))


def _watch(r: Advice, planned: Steps) -> str:
    soak = planned.soak.soak
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
        f'{planned.soak.no_benefit.value}'
    )


def _watch_of_batches(planned: Steps) -> Iterable[tuple[str, str]]:
    soak = planned.soak.soak.batches
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


def _batches(planned: Steps) -> str:
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


def _domain_kinds(planned: Steps) -> str:
    kinds = {'unknown' if b.domain is None else b.domain.kind for b in planned.batches}
    return ', '.join(sorted(kinds))


def _compared_with(batch: PlannedBatch) -> str:
    if batch.judged:
        return format_ids(batch.controls)
    return 'none, watched for crashes only' if batch.watched_for_crashes else UNKNOWN


def _ids_in_order(osd_ids: Sequence[int]) -> str:
    return ','.join(map(str, osd_ids))


def _command_lines(commands: Sequence[str]) -> str:
    """Not indented, so that commands with continuation lines can be pasted."""
    return '\n'.join(shell_command(command) for command in commands)


def findings_named(snapshot: Snapshot, finding_id: str) -> tuple[Finding, ...]:
    """The findings with one id, worst first; raises BadQuestionError (ENOENT) if there are none."""
    found = tuple(f for f in worst_first(snapshot.findings) if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise BadQuestionError(
            errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}'
        )
    return found

"""Findings, recommendations with the plan of `apply`, and the candidates behind them."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.records import Decision, Finding, Kind, Resource, Severity
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
from .operations import CanarySoak, canary_soak
from .phrases import (
    COMMAND,
    PURPOSES,
    changes_table,
    decision_text,
    finding_text,
    flushes_in,
    nothing_known,
    options_or_empty,
    osd_names,
    profile_or_none,
    severity_mark,
    times_of,
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
    def controls(self) -> Annotated[tuple[OsdId, ...], 'Ids of the control OSDs of the canary.']:
        return self.change.controls if self.judged else ()

    @property
    def gates(self) -> Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']:
        return GATES


@dataclass(frozen=True)
class Plan:
    """Preview of `apply`."""

    recommendation: Annotated[
        Advice, InPlace('kind', 'who', 'profile', 'risk', 'options_to', 'commands', 'undo_commands')
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


def findings_named(snapshot: Snapshot, finding_id: str) -> tuple[Finding, ...]:
    """The findings with one id, worst first; raises BadQuestionError (ENOENT) without any."""
    found = tuple(f for f in worst_first(snapshot.findings) if f.finding_id == finding_id)
    if not found:
        known = ', '.join(sorted({f.finding_id for f in snapshot.findings})) or 'none at present'
        raise BadQuestionError(
            errno.ENOENT, f'there is no finding "{finding_id}"; findings: {known}'
        )
    return found


def findings(snapshot: Snapshot) -> str:
    """Findings, worst first."""
    if not snapshot.osds and not snapshot.findings:
        return nothing_known(snapshot.mode)
    if not snapshot.findings:
        unread = [f.info.osd_id for f in snapshot.osds if f.options is None]
        if unread:
            return paragraph(f'No findings so far; the options of {osd_names(unread)} are unknown.')
        return 'No findings.'
    by_id: dict[tuple[str, Severity], list[Finding]] = {}
    for one in worst_first(snapshot.findings):
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


def finding(found: Sequence[Finding]) -> str:
    """All findings with one id, in full."""
    return sections(*map(finding_text, found))


_RECOMMENDED: Sequence[Column[Advice]] = (
    # An argument of `apply`, so never shortened.
    Column('ID', 'recommendation_id'),
    Column('KIND', 'kind'),
    Column('PRIORITY', 'priority'),
    Column('RESTART', lambda r: 'yes' if r.restart_required else 'no'),
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


def show(answer: RecommendationInFull) -> str:
    """A recommendation in full: reasons, prediction, plan, commands and undo."""
    r, changes = answer.recommendation, answer.difference
    annex = 'Removed annex' if r.kind is Kind.REMOVE_OVERRIDE else 'Including annex'
    return sections(
        decision_text(r.decision, r.recommendation_id),
        fields(
            ('Kind', r.kind.value),
            ('Priority', r.priority.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            ('Option', _option(r)),
            ('Current options', options_or_empty(r.options_from)),
            ('New options', options_or_empty(r.options_to)),
            (annex, r.annex),
        ),
        'Cannot compare the options: one of the strings is invalid.'
        if changes is None
        else changes_table(changes, 'CURRENT', 'NEW') or 'No option values change.',
        titled('Why', bullets(f'{reason.statement} [{reason.source}]' for reason in r.reasons)),
        titled('Expected', _predictions(r)),
        *(() if answer.plan is None else _procedure(r, answer.plan)),
        *_commands(r),
        titled(
            'To apply it one OSD at a time, with verification',
            shell_command(f'{COMMAND} apply {r.recommendation_id}'),
        ),
    )


def _option(r: Advice) -> Optional[str]:
    """The config option that changes; None for a compaction."""
    return r.option if r.kind in {Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE} else None


def _predictions(r: Advice) -> str:
    if not r.predictions:
        return bullets(['No prediction: no published measurement or model applies.'])
    changes = ((p, format_change_range(p.low_percent, p.high_percent)) for p in r.predictions)
    return joined(
        *(
            joined(paragraph(f'{p.metric}: {change}', 4, '  - '), paragraph(f'Basis: {p.basis}', 4))
            for p, change in changes
        )
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


#: Why the use of a resource does not count as a loss.
_PLENTY = {
    Resource.CORES: 'Nothing is known of a lack of CPU time',
    Resource.DB_SPACE: 'RocksDB takes little space of its devices',
}


def _group(assessment: Assessment) -> str:
    weighing = assessment.weighing
    conclusion = decision_text(assessment.conclusion, paragraph(assessment.who))
    if weighing is None:
        return sections(conclusion, 'No candidates were compared.')
    bars, goal = weighing.bars, weighing.shown_resource
    others = [w for w in weighing.weighed if w.origin is not Origin.RUNNING]
    feasible = [w for w in others if not w.infeasible]
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
        table(columns, feasible),
        joined(*map(paragraph, _unconstrained(feasible, bars))),
        titled(
            'Not chosen',
            bullets(
                f'{w.name}: {reason}'
                for w in others
                for reason in w.infeasible or filter(None, (w.short,))
            ),
        ),
    )


def _unconstrained(feasible: Sequence[Weighed], bars: Bars) -> Iterable[str]:
    """Use of resources that does not count as a loss."""
    for resource in sorted(bars.plenty):
        costs = ', '.join(
            f'{w.name} {format_change(100 * (ratio.value - 1))}'
            for w in feasible
            for ratio in [w.of(resource)]
            if ratio is not None and at_most(ratio) > 1 + bars.max_loss
        )
        if costs:
            yield f'{_PLENTY[resource]}, so more of it does not rule out a candidate: {costs}.'


def _gain(weighed: Weighed, resource: Resource) -> Optional[str]:
    ratio = weighed.of(resource)
    ends = (ratio.value, ratio.high, ratio.low) if ratio else ()
    return format_effect(*(100 * (1 - end) for end in ends)) if ends else None


def _worst(weighed: Weighed, resource: Resource, bars: Bars) -> tuple[str, str]:
    others = [u for u in weighed.usages if u.resource not in {resource, *bars.plenty}]
    worst = max(others, key=lambda u: at_most(u.ratio), default=None)
    return (UNKNOWN, '') if worst is None else (effect_of(worst.ratio), worst.resource.value)


def plan(answer: Plan) -> str:
    """The steps of `apply`, in order."""
    r = answer.recommendation
    return sections(
        fields(
            ('Dry run', 'no changes were made'),
            ('Recommendation', f'{r.recommendation_id} ({r.kind.value})'),
            ('Who', r.who),
            ('Profile', profile_or_none(r.profile)),
            ('Purpose', PURPOSES[answer.steps.change.purpose]),
            ('Risk', r.risk.value),
            ('Option', _option(r)),
        ),
        *_procedure(r, answer.steps),
        *_commands(r),
    )


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


def _procedure(r: Advice, planned: Steps) -> Iterable[str]:
    """Order, soak, gates, duration."""
    batches, soak, each = planned.batches, planned.soak.soak.batches, None
    least, most = planned.expected_duration_s, planned.expected_duration_most_s
    duration = format_duration(least) + (f' to {format_duration(most)}' if most > least else '')
    kinds = ', '.join(sorted({b.domain.kind if b.domain else 'unknown' for b in batches}))
    number = format_plural(len(batches), 'batch', 'batches')
    whole = f'{format_plural(len(r.osds), "OSD")}, one at a time, in {number} of at most one'
    if soak is not None and len(batches) > 1 and batches[0].watched:
        each = (
            f'each soaks for {times_of(soak)} and is compared with OSDs that are not changed yet; '
            f'if inconclusive: {soak.inconclusive.value}'
        )
    yield titled(
        'Procedure',
        fields(
            ('OSDs', f'{whole} failure domain ({kinds})'),
            ('Canary', _canary(r, planned)),
            ('Batches', each),
            ('Duration', f'about {duration} without waiting'),
        ),
    )
    yield table(_BATCHES, batches, limit=ROWS, rest='--format json-pretty')
    if r.restart_required:
        yield titled('Before each restart', bullets(GATES))
        orchestrated = any(command.startswith('ceph orch ') for command in r.commands)
        yield titled('For each OSD', bullets((_RESTARTS[orchestrated], _CONTINUES)))


#: Whether an orchestrator restarts the OSDs.
_RESTARTS = {
    True: 'Set the option for this OSD only, and restart it.',
    False: (
        'Set the option for this OSD only, then wait until you restart it with the command named '
        'by "operation status": "ceph rocksdb-tuner doctor" shows why no orchestrator does it.'
    ),
}
_CONTINUES = 'Continue once it is up with the new value and all placement groups are clean.'


def _canary(r: Advice, planned: Steps) -> str:
    soak, canary = planned.soak.soak, f'osd.{r.osds[0]}' if r.osds else ''
    if not r.restart_required or not r.osds:
        return 'none: no OSD restarts'
    if soak.most_s <= 0:
        return 'none: soak_max is 0, so there is no verdict'
    if planned.batches[0].watched_for_crashes:
        return (
            f'{canary}, watched for crashes only, for {format_duration(soak.least_s)}: it is the '
            'only OSD, without controls, so the rollout ends as done, "not judged"'
        )
    if not planned.judged:
        return (
            f'{canary}, but there are too few OSDs to compare it with: soak_inconclusive applies '
            f'({soak.inconclusive.value})'
        )
    controls = ', '.join(f'osd.{osd_id}' for osd_id in planned.change.controls)
    return (
        f'{canary}, measured before the change and for {times_of(soak)} after it'
        f'{flushes_in(soak, planned.change.fill_s)}, compared with {controls}; if inconclusive: '
        f'{soak.inconclusive.value}; if neither better nor worse: {planned.soak.no_benefit.value}'
    )

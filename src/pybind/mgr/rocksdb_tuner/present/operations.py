"""Operations under way or ended, the history, and the plan of `compact`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from ..judge.arms import Answer, Conclusion
from ..judge.predictions import Comparison, PredictionResult
from ..judge.records import Inconclusive, SignalVerdict, SoakPlan, Verdict
from ..judge.verdict import in_words
from ..notes import Among, Amount, Count, InPlace, OsdId, Unbounded
from ..operations.compaction.announce import change_percent
from ..operations.compaction.announce import in_words as campaign_in_words
from ..operations.compaction.machine import SLOW_WRITES
from ..operations.compaction.plan import CampaignPlan, Guard, PlannedOsd
from ..operations.compaction.records import CampaignState, OsdCompaction
from ..operations.experiment.announce import why_failed as why_experiment_failed
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.gates import NOT_ALLOWED, remedy_for
from ..operations.history import HistoryRecord, compared, reliability, track_record
from ..operations.phases import Outcome, Phase
from ..operations.rollout.admission import describe_left_behind
from ..operations.rollout.announce import why_failed
from ..operations.rollout.records import (
    Batch,
    Direction,
    OsdProgress,
    RolloutState,
    batches,
    unmeasured_batch,
    watched_batch,
)
from ..operations.rollout.soak import undecided
from ..options.grammar import difference
from ..plan.batches import PlannedBatch, domain_of, planned_batch, soak_for, without_gain
from ..plan.experiment_design import ExperimentPlan
from ..plan.records import ANNEX, ChangeRequest
from ..snapshot import Snapshot, State
from ..units import (
    UNKNOWN,
    format_bytes,
    format_change,
    format_duration,
    format_ids,
    format_ms,
    format_plural,
    format_time,
)
from .experiment import Experiment, experiment, experiment_of
from .layout import Column, fields, joined, paragraph, sections, table, titled
from .phrases import (
    COMMAND,
    PURPOSES,
    flushes_in,
    ids_if_short,
    option_value,
    options_or_empty,
    osds_finished,
    phase_of,
    progress_of,
    times_of,
    track_record_line,
)


@dataclass(frozen=True)
class Judged:
    """The verdict, as pass or fail and in detail."""

    verdict: Annotated[
        Optional[Annotated[str, Among(('pass', 'fail', 'inconclusive', 'no-data'))]],
        'Verdict; null: none, or not yet.',
    ]
    judged: Annotated[
        Optional[Verdict],
        'Detailed verdict: "better": the predicted signal improved; "no-worse": no signal got '
        'worse; null: as for verdict.',
    ]


def judged_of(verdict: Optional[Verdict]) -> Judged:
    return Judged(None if verdict is None else verdict.pass_or_fail, verdict)


@dataclass(frozen=True)
class CanarySoak:
    """Soak time of the canary; most_s 0: no soak."""

    soak: Annotated[SoakPlan, InPlace()]
    fill_s: Annotated[
        Optional[Amount],
        'Modeled time between two memtable flushes under the current load, with the slower of the '
        'two option strings; null: unknown.',
    ]
    no_benefit: Annotated[
        Inconclusive,
        Among((Inconclusive.PROMOTE, Inconclusive.ROLLBACK)),
        'Action if the canary is neither better nor worse.',
    ]


def canary_soak(request: ChangeRequest, soak: SoakPlan) -> CanarySoak:
    """``soak``: as it applies to the request."""
    return CanarySoak(soak, request.fill_s, without_gain(request))


@dataclass(frozen=True)
class Watch:
    """Soak times, planned and elapsed."""

    soak: Annotated[CanarySoak, InPlace()]
    baseline_s: Annotated[
        Amount,
        Unbounded(),
        'Baseline time of the canary and its controls before the change, as measured by this mgr; '
        '0 after a failover.',
    ]
    baseline_least_s: Annotated[
        Amount, Unbounded(), 'Minimum baseline time in seconds; 0: no baseline.'
    ]
    soaked_s: Annotated[
        Amount, Unbounded(), 'Elapsed soak time of the canary, without interruptions.'
    ]
    batch_soaked_s: Annotated[Amount, Unbounded(), 'Elapsed soak time of the current batch.']
    controls: Annotated[tuple[OsdId, ...], 'Ids of the control OSDs.']


@dataclass(frozen=True)
class RolloutBatch:
    """A batch of OSDs, changed before the next batch."""

    batch: Annotated[Batch, InPlace()]
    judged: Annotated[Judged, InPlace()]


@dataclass(frozen=True)
class RolloutOsd:
    """Progress of one OSD."""

    progress: Annotated[OsdProgress, InPlace()]
    from_: Annotated[Optional[str], 'Option string before the change.']
    to: Annotated[Optional[str], 'Option string after the change.']


@dataclass(frozen=True)
class Rollout:
    """A rollout, under way or the last one."""

    kind: Annotated[Literal['rollout'], 'Kind of operation.']
    state: Annotated[RolloutState, InPlace()]
    osds_total: Annotated[Count, 'Number of OSDs in the rollout.']
    osds_finished: Annotated[Count, 'Number of finished OSDs.']
    judged: Annotated[Judged, InPlace()]
    batches: Annotated[
        tuple[RolloutBatch, ...],
        'OSDs in the order of the changes, in batches, each with a soak before the next.',
    ]
    soak: Annotated[Watch, 'Soak time of the canary; most_s 0: no soak.']
    osds: Annotated[tuple[RolloutOsd, ...], 'Progress of each OSD.']


def rollout_of(state: RolloutState) -> Rollout:
    before = {osd.osd_id: osd.value for osd in state.before.osds}
    request, targets = state.request, state.request.target_by_osd
    return Rollout(
        kind='rollout',
        state=state,
        osds_total=len(state.osds),
        osds_finished=osds_finished(state),
        judged=judged_of(state.verdict),
        batches=tuple(RolloutBatch(batch, judged_of(batch.verdict)) for batch in batches(state)),
        soak=Watch(
            soak=canary_soak(request, soak_for(request, state.soak)),
            baseline_s=state.baseline_s,
            baseline_least_s=planned_batch(request, state.soak, 0).baseline_s,
            soaked_s=state.soaked_s,
            batch_soaked_s=state.batch_soaked_s,
            controls=state.controls,
        ),
        osds=tuple(
            RolloutOsd(osd, before.get(osd.osd_id), targets.get(osd.osd_id)) for osd in state.osds
        ),
    )


@dataclass(frozen=True)
class Campaign:
    """A compaction campaign, which applies a change to existing data."""

    kind: Annotated[Literal['compaction'], 'Kind of operation.']
    state: Annotated[CampaignState, InPlace()]
    waits_for: Annotated[
        Optional[str],
        'OSD that the campaign is waiting for, because it compacts or does not answer, and for how '
        'long; null: none.',
    ]
    used_before_bytes: Annotated[
        Optional[Count], 'Space used before compaction, over OSDs with both measurements.'
    ]
    used_after_bytes: Annotated[Optional[Count], 'Space used after compaction by the same OSDs.']


Operation = Union[Rollout, Campaign, Experiment]


@dataclass(frozen=True)
class OperationSummary:
    """The operation under way, or the last one."""

    id: Annotated[str, 'Id of the operation, as in history.']
    kind: Annotated[str, Among(('rollout', 'compaction', 'experiment')), 'Kind of operation.']
    phase: Annotated[str, 'Current phase.']
    who: Annotated[str, 'Config mask.']
    osds_total: Annotated[Count, 'Number of OSDs in the operation.']
    osds_finished: Annotated[Count, 'Number of finished OSDs.']
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']


def operation_of(snapshot: Snapshot) -> Optional[Operation]:
    """None before the first operation."""
    state = snapshot.operation
    if state is None:
        return None
    if isinstance(state, RolloutState):
        return rollout_of(state)
    if isinstance(state, CampaignState):
        before, after = state.used_bytes or (None, None)
        waits_for = None if state.ended else snapshot.campaign_waits_for
        return Campaign('compaction', state, waits_for, before, after)
    return experiment_of(state)


_KINDS = {RolloutState: 'rollout', CampaignState: 'compaction', ExperimentState: 'experiment'}


def operation_summary_of(state: Optional[State]) -> Optional[OperationSummary]:
    """None before the first operation."""
    if state is None:
        return None
    if isinstance(state, ExperimentState):
        finished = len(state.osds) if state.ended else 0
    else:
        finished = osds_finished(state) if isinstance(state, RolloutState) else state.finished
    return OperationSummary(
        id=state.operation_id,
        kind=_KINDS[type(state)],
        phase=state.phase.value,
        who=state.request.who,
        osds_total=len(state.osds),
        osds_finished=finished,
        paused_reason=state.paused_reason,
        outcome=state.outcome,
        failure=state.failure,
    )


@dataclass(frozen=True)
class TriedOptions:
    """One arm of an experiment."""

    name: Annotated[str, 'Name of the arm: the profile that it tried.']
    options: Annotated[str, 'Option string of the arm.']
    change_percent: Annotated[
        Optional[float], 'Change of the signal against unchanged OSDs; null: unknown.'
    ]
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']
    dropped: Annotated[Optional[str], 'Why it ended early; null if it did not.']


@dataclass(frozen=True)
class ExperimentOutcome:
    """Result of an experiment."""

    signal: Annotated[str, 'The judged signal that arms were expected to improve.']
    min_effect_percent: Annotated[Amount, 'Smaller differences counted as none.']
    conclusion: Annotated[Optional[Answer], 'Result; null: it ended before.']
    winner: Annotated[Optional[str], 'Best arm; null: none.']
    arms: Annotated[tuple[TriedOptions, ...], 'The arms.']


@dataclass(frozen=True)
class Change:
    """A change with its actor and outcome."""

    record: Annotated[HistoryRecord, InPlace()]
    judged: Annotated[Judged, InPlace()]
    measured_effects: Annotated[
        tuple[SignalVerdict, ...], 'Change of the first OSD relative to its controls.'
    ]
    comparison: Annotated[
        Optional[Comparison], 'Comparison of prediction and measurement; null if one is missing.'
    ]
    experiment: Annotated[
        Optional[ExperimentOutcome],
        'Result of an experiment, which leaves all options as they were; null: a change.',
    ]


def history_of(records: Sequence[HistoryRecord]) -> tuple[Change, ...]:
    """Oldest first."""
    return tuple(map(_change, records))


def _change(record: HistoryRecord) -> Change:
    judgement = record.judgement
    return Change(
        record,
        judged_of(None if judgement is None else judgement.verdict),
        () if judgement is None else judgement.signals,
        compared(record),
        None if record.experiment is None else _experiment(record.experiment, record.conclusion),
    )


def _experiment(tried: ExperimentPlan, found: Optional[Conclusion]) -> ExperimentOutcome:
    return ExperimentOutcome(
        signal=tried.objective,
        min_effect_percent=tried.min_effect * 100,
        conclusion=None if found is None else found.answer,
        winner=None if found is None else found.winner,
        arms=tuple(
            TriedOptions(
                arm.name, arm.options, *arm.percents, arm.why_dropped if arm.dropped else None
            )
            for arm in tried.arms
        ),
    )


_RESUME = f'"{COMMAND} operation resume"'
_ABORT = f'"{COMMAND} operation abort"'


def next_step(snapshot: Snapshot) -> Optional[str]:
    """A phrase without a full stop; None if no operation is in progress."""
    state, rollout, tried = snapshot.operation, snapshot.rollout, snapshot.experiment
    if state is not None and not state.ended:
        return next_step_of(state, snapshot.campaign_waits_for)
    failed = rollout and why_failed(rollout) and not snapshot.rollout_acknowledged
    if failed or (tried and why_experiment_failed(tried) and not tried.acknowledged):
        return f'see why with "{COMMAND} operation status", then acknowledge with {_RESUME}'
    return None


def next_step_of(state: State, waits_for: Optional[str] = None) -> Optional[str]:
    """None if it has ended; ``waits_for``: OSDs that a campaign waits for."""
    leg = state.leg if isinstance(state, ExperimentState) else state
    recovering = isinstance(leg, RolloutState) and leg.direction is Direction.RECOVER
    if state.ended:
        found = state.conclusion if isinstance(state, ExperimentState) else None
        won = found is not None and found.winner is not None
        return f'see the recommendation with "{COMMAND} recommend"' if won else None
    if state.paused_by is not None and not recovering:
        return f'{_RESUME} continues it, {_ABORT} ends it'
    if isinstance(state, RolloutState) and undecided(state):
        return f'{_RESUME} changes the other OSDs, "{COMMAND} rollback" restores the old one'
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    if isinstance(state, CampaignState):
        if waits_for is not None:
            return f'wait: {waits_for}'
        busy = 'the next OSD' if state.in_flight is None else f'osd.{state.in_flight.osd_id}'
        return f'wait for {busy} to be compacted'
    return f'wait for {_step_of(state)}'


def _step_of(state: Union[RolloutState, ExperimentState]) -> str:
    """What the operation is doing."""
    if isinstance(state, ExperimentState):
        if state.stage is Stage.RESTORING:
            return 'every OSD to be restored'
        if state.leg is not None:
            return _step_of(state.leg)
        measured = 'arms' if state.stage is Stage.MEASURING else 'baseline'
        return f'block {state.blocks + 1} of {state.request.blocks} of the {measured}'
    at_work, watched, unmeasured = state.in_flight, watched_batch(state), unmeasured_batch(state)
    if state.direction is not Direction.FORWARD:
        return 'the rollback' if at_work is None else f'osd.{at_work.osd_id} to be restored'
    if at_work is not None:
        return f'osd.{at_work.osd_id} to restart and become clean'
    if watched is not None:
        return f'the verdict on batch {watched.number + 1}, {_soaked(state, watched)}'
    if unmeasured is not None:
        measured, needed = map(format_duration, (state.baseline_s, unmeasured.baseline_s))
        return f'the baseline of osd.{format_ids(unmeasured.osds)}, after {measured} of {needed}'
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return f'osd.{state.request.order[0]} to be changed'
    if state.stage is Phase.COLLAPSING:
        return 'the settings of single OSDs to be merged'
    return 'the next OSD'


def _soaked(state: RolloutState, batch: PlannedBatch) -> str:
    soaked_s = state.batch_soaked_s if batch.number else state.soaked_s
    return f'after {format_duration(soaked_s)} of {times_of(batch.soak, batch.judged)}'


def _waiting(reason: str) -> str:
    """What ends a wait that requires no operator action."""
    hint = f'{remedy_for(reason) or "it continues by itself after that"};'
    if reason == NOT_ALLOWED:
        hint = f'"{COMMAND} mode recommend" continues it,'
    if reason.startswith(SLOW_WRITES):
        hint = f'{_RESUME} accepts the current latency,'
    return f'{hint} {_ABORT} ends it'


def operation(snapshot: Snapshot) -> str:
    """The current or last operation, with the next step."""
    state, waits_for = snapshot.operation, snapshot.campaign_waits_for
    if state is None:
        return 'No operations yet.'
    if isinstance(state, RolloutState):
        text = _rollout(state)
    elif isinstance(state, ExperimentState):
        text = experiment(state)
    else:
        text = _campaign(state, waits_for)
    following = next_step_of(state, waits_for)
    return sections(text, following and paragraph(following, 4, 'Next step: '))


def _rollout(state: RolloutState) -> str:
    """Batches are grouped by progress, so that a hundred pending ones take one line."""
    request, under_way = state.request, not state.ended
    steps = {osd.osd_id: osd.step.value for osd in state.osds}
    alike: dict[tuple[Phase, Optional[Verdict]], list[tuple[int, Batch]]] = {}
    for number, batch in enumerate(batches(state), 1):
        alike.setdefault((batch.phase, batch.verdict), []).append((number, batch))
    rows = [
        (phase, verdict, [number for number, _ in found], [n for _, b in found for n in b.osds])
        for (phase, verdict), found in alike.items()
    ]
    columns: Sequence[Column[tuple[Phase, Optional[Verdict], list[int], list[int]]]] = (
        Column('BATCH', lambda row: ids_if_short(row[2])),
        Column('PHASE', lambda row: row[0].value),
        Column('VERDICT', lambda row: row[1] and row[1].words),
        Column('OSDS', lambda row: len(row[3]), 'r'),
        Column('IDS', lambda row: ids_if_short(row[3])),
        Column('STEP', lambda row: ', '.join(sorted({steps[n] for n in row[3] if n in steps}))),
    )
    return sections(
        fields(
            ('Rollout', state.rollout_id),
            ('Recommendation', f'{request.recommendation_id} ({request.kind.value})'),
            ('Who', request.who),
            ('Option', request.option),
            ('Started by', request.actor),
            ('Purpose', PURPOSES[request.purpose]),
            ('Phase', phase_of(state)),
            ('Paused', state.paused_reason),
            ('Failure', state.failure),
            ('Not restored', describe_left_behind(state) if under_way else None),
            ('Last error', state.last_error if under_way else None),
            *_verdicts(state),
            *_times(state),
            ('Progress', progress_of(state)),
        ),
        table(columns, rows),
    )


def _times(state: Union[RolloutState, CampaignState]) -> Sequence[tuple[str, str]]:
    return (
        ('Started', format_time(state.started_s) or UNKNOWN),
        ('Updated', format_time(state.updated_s) or UNKNOWN),
    )


def _verdicts(state: RolloutState) -> Iterable[tuple[str, Optional[str]]]:
    """The verdict on the canary with what it lacked, and that on the batch that soaks."""
    watched, number = watched_batch(state), len(state.verdicts)
    none_yet = None
    if watched is not None:
        flushes = '' if watched.number else flushes_in(watched.soak, state.request.fill_s)
        none_yet = f'none yet, {_soaked(state, watched)}{flushes}'
    judgement, told = state.judgement, state.paused_reason or state.failure
    yield 'Verdict', in_words(judgement) if judgement else none_yet or _no_verdict(state)
    missing = judgement is not None and told is None and '; '.join(judgement.missing)
    yield '  missing', missing or None
    latest = none_yet if watched is not None and watched.number else None
    if state.batch_judgement is not None:
        latest = in_words(state.batch_judgement)
    if latest is not None:
        domain = domain_of(state.request, number)
        yield f'Batch {number + 1}' + ('' if domain is None else f' ({domain})'), latest


def _no_verdict(state: RolloutState) -> str:
    """Before the canary soaks."""
    canary, planned = f'osd.{state.request.order[0]}', planned_batch(state.request, state.soak, 0)
    if state.stage is Phase.PREFLIGHT and planned.baseline_s:
        measured = f'{format_duration(state.baseline_s)} of {format_duration(planned.baseline_s)}'
        return f'none yet; measuring the baseline of {canary}, {measured}'
    if state.stage is Phase.CANARY and planned.judged:
        return f'none yet; {canary} is being changed'
    return 'not judged'


_RESULT_TEXTS = {
    PredictionResult.RIGHT: 'came true',
    PredictionResult.DIRECTION: 'right direction, wrong size',
    PredictionResult.WRONG: 'did not come true',
}


#: Without a verdict.
_UNMEASURED = {
    Outcome.WAITING: 'nothing yet',
    Outcome.DONE: 'nothing: there was no soak with a verdict',
}


def history(records: Sequence[HistoryRecord]) -> str:
    """Every change, newest first."""
    if not records:
        return 'No changes yet.'
    return sections(
        paragraph(f'Track record: {track_record_line(track_record(records))}.'),
        table(
            (
                Column('PREDICTED SIGNAL', lambda row: row[0]),
                Column('COMPARED', lambda row: row[1], 'r'),
                Column('IN 80% INTERVAL', lambda row: row[2], 'r'),
            ),
            reliability(records),
        ),
        *map(_history_record, reversed(records)),
    )


def _history_record(record: HistoryRecord) -> str:
    tried, comparison = record.experiment, compared(record)
    unmeasured = _UNMEASURED if record.kind == 'rollout' else {}
    pairs: Sequence[tuple[str, Optional[str]]] = (
        ('Change', _change_line(record)),
        ('Predicted', record.prediction or 'nothing'),
        ('Measured', record.measured or unmeasured.get(record.outcome, 'nothing')),
        ('Compared', _RESULT_TEXTS[comparison.result] if comparison else None),
    )
    if tried is not None:
        pairs = (
            ('Arms', ', '.join(arm.name for arm in tried.arms)),
            ('Measured', record.measured or 'nothing'),
            *(('Dropped', f'{a.name}: {a.why_dropped}') for a in tried.arms if a.dropped),
        )
    return joined(
        paragraph(
            f'{format_time(record.time_s) or UNKNOWN} {record.rollout_id} {record.who} '
            f'{record.outcome.value}, started by {record.actor}'
        ),
        fields(*pairs, ('Reason', record.reason), indent=4),
    )


def _change_line(record: HistoryRecord) -> str:
    before, after = record.options_from, record.options_to
    changes = difference(before, after)
    text = 'no option values, only their source'
    if changes is None:
        text = f'from {options_or_empty(before)} to {options_or_empty(after)}'
    elif changes:
        values = ((c.option, option_value(c.value_from), option_value(c.value_to)) for c in changes)
        text = ', '.join(f'{option}={old}->{new}' for option, old, new in values)
    return f'{text}, in {ANNEX}' if record.option == ANNEX else text


def _change_of_size(osd: OsdCompaction) -> Optional[str]:
    before, after = osd.used_before_bytes, osd.used_after_bytes
    percent = None if before is None or after is None else change_percent(before, after)
    return None if percent is None else format_change(percent)


_COMPACTED: Sequence[Column[OsdCompaction]] = (
    Column('OSD', 'osd_id', 'r'),
    Column('HOST', 'host'),
    Column('FAILURE DOMAIN', 'domain'),
    Column('STEP', 'step'),
    Column('DB BEFORE', 'used_before_bytes', 'r'),
    Column('AFTER', 'used_after_bytes', 'r'),
    Column('CHANGE', _change_of_size, 'r'),
    Column('LATENCY', 'latency_ms', 'r'),
)


def _campaign(state: CampaignState, waits_for: Optional[str]) -> str:
    """The current or last campaign."""
    return sections(
        fields(
            ('Campaign', f'{state.campaign_id} (compact)'),
            ('Recommendation', state.request.recommendation_id or 'none, on demand'),
            ('Who', state.request.who),
            ('Phase', phase_of(state)),
            ('Paused', state.paused_reason),
            ('Waiting for', None if state.ended else waits_for),
            ('Last error', None if state.ended else state.last_error),
            ('Result' if state.ended else 'Progress', campaign_in_words(state)),
            ('Latency before', format_ms(state.baseline_ms)),
            *_times(state),
        ),
        table(_COMPACTED, state.osds),
    )


#: The plan shows this many OSDs, so that it fits a screen.
OSDS_SHOWN = 10
_TO_COMPACT: Sequence[Column[PlannedOsd]] = (
    Column('OSD', 'osd_id', 'r'),
    Column('HOST', 'host', omit=1),
    Column('DB USED', 'bytes', 'r'),
    Column('FREE', 'free_bytes', 'r'),
    Column('SKIPPED', lambda o: o.skipped or ''),
)


def campaign_plan(planned: CampaignPlan) -> str:
    """What a campaign would take, within one screen."""
    request, duration = planned.request, planned.duration_s
    skipped = sum(osd.skipped is not None for osd in planned.osds)
    count = format_plural(len(planned.osds), 'OSD')
    if len(planned.osds) > 1:
        count += ', one at a time'
    size = UNKNOWN if planned.bytes is None else f'at most {format_bytes(planned.bytes)}'
    took = UNKNOWN
    if duration is not None:
        took = f'about {" to ".join(map(format_duration, duration))} without waiting'
    # What is skipped is worth reading first, then what takes longest
    worst = sorted(planned.osds, key=lambda o: (o.skipped is None, -(o.bytes or 0)))
    more = len(worst) - OSDS_SHOWN
    room = 'each OSD needs as much free space as its DB uses, until old files are removed'
    return sections(
        fields(
            ('Dry run', 'no changes were made'),
            ('Recommendation', request.recommendation_id or None),
            ('Who', request.who),
            ('OSDs', f'{count}; {skipped} of them skipped' if skipped else count),
            ('Reads', size),
            ('Writes', size),
            ('Room', room),
            ('Duration', took),
        ),
        table(_TO_COMPACT, worst[:OSDS_SHOWN]),
        f'{more} more OSDs: use --format json' if more > 0 else '',
        titled('Guards', joined(*_guards(planned.guards))),
    )


def _guards(guards: Sequence[Guard]) -> Iterable[str]:
    for guard in guards:
        if guard.reason is not None:
            state = 'at start' if guard.open is None else 'CLOSED'
            yield paragraph(f'{guard.name}: {guard.reason}', 12, f'  {state:<8}  ')
    yield paragraph(', '.join(guard.name for guard in guards if guard.open), 12, '  open      ')

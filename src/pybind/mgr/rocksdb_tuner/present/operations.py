"""Operations under way or ended, the history, and the plan of `compact`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

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
from ..plan.batches import planned_batch, soak_for, without_gain
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
from .experiment import (
    Experiment,
    ExperimentOutcome,
    experiment_fields,
    experiment_of,
    experiment_tables,
    outcome_of,
)
from .layout import Column, fields, joined, paragraph, sections, table, titled
from .phrases import (
    COMMAND,
    PURPOSES,
    ids_if_short,
    option_value,
    options_or_empty,
    osds_finished,
    times_of,
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
    return CanarySoak(soak_for(request, soak), request.fill_s, without_gain(request))


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
    controls: Annotated[tuple[OsdId, ...], 'Ids of the control OSDs.']


@dataclass(frozen=True)
class RolloutBatch:
    """A batch of OSDs, changed before the next batch."""

    batch: Annotated[Batch, InPlace()]
    judged: Annotated[Judged, InPlace()]


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
    osds: Annotated[tuple[OsdProgress, ...], 'Progress of each OSD.']


def _rollout_of(state: RolloutState) -> Rollout:
    request = state.request
    return Rollout(
        'rollout',
        state,
        len(state.osds),
        osds_finished(state),
        judged_of(state.verdict),
        tuple(RolloutBatch(batch, judged_of(batch.verdict)) for batch in batches(state)),
        Watch(
            canary_soak(request, state.soak),
            state.baseline_s,
            planned_batch(request, state.soak, 0).baseline_s,
            state.soaked_s,
            request.controls,
        ),
        state.osds,
    )


@dataclass(frozen=True)
class Campaign:
    """A compaction campaign, which applies a change to existing data."""

    kind: Annotated[Literal['compaction'], 'Kind of operation.']
    state: Annotated[CampaignState, InPlace()]
    used_before_bytes: Annotated[
        Optional[Count], 'Space used before compaction, over OSDs with both measurements.'
    ]
    used_after_bytes: Annotated[Optional[Count], 'Space used after compaction by the same OSDs.']


Operation = Union[Rollout, Campaign, Experiment]


def operation_of(snapshot: Snapshot) -> Optional[Operation]:
    """None before the first operation."""
    state = snapshot.operation
    if isinstance(state, RolloutState):
        return _rollout_of(state)
    if isinstance(state, CampaignState):
        before, after = state.used_bytes or (None, None)
        return Campaign('compaction', state, before, after)
    return None if state is None else experiment_of(state)


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

    @property
    def progress(self) -> str:
        return f'{self.osds_finished} of {format_plural(self.osds_total, "OSD")} finished'


_KINDS = {RolloutState: 'rollout', CampaignState: 'compaction', ExperimentState: 'experiment'}


def operation_summary_of(state: State) -> OperationSummary:
    if isinstance(state, ExperimentState):
        finished = len(state.osds) if state.ended else 0
    else:
        finished = osds_finished(state) if isinstance(state, RolloutState) else state.finished
    return OperationSummary(
        state.operation_id,
        _KINDS[type(state)],
        state.phase.value,
        state.request.who,
        len(state.osds),
        finished,
        state.paused_reason,
        state.outcome,
        state.failure,
    )


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
    return tuple(
        Change(
            record,
            judged_of(None if record.judgement is None else record.judgement.verdict),
            () if record.judgement is None else record.judgement.signals,
            compared(record),
            outcome_of(record.experiment, record.conclusion) if record.experiment else None,
        )
        for record in records
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
        won = isinstance(state, ExperimentState) and state.best is not None
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
        soaked = format_duration(state.batch_soaked_s if watched.number else state.soaked_s)
        times = times_of(watched.soak, watched.judged)
        return f'the verdict on batch {watched.number + 1}, after {soaked} of {times}'
    if unmeasured is not None:
        measured, needed = map(format_duration, (state.baseline_s, unmeasured.baseline_s))
        return f'the baseline of osd.{format_ids(unmeasured.osds)}, after {measured} of {needed}'
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return f'osd.{state.request.order[0]} to be changed'
    if state.stage is Phase.COLLAPSING:
        return 'the settings of single OSDs to be merged'
    return 'the next OSD'


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
    brief = operation_summary_of(state)
    if isinstance(state, RolloutState):
        special, tables = tuple(_rollout_fields(state)), _batches(state)
    elif isinstance(state, ExperimentState):
        special, tables = tuple(experiment_fields(state)), experiment_tables(state)
    else:
        special, tables = tuple(_campaign_fields(state)), table(_COMPACTED, state.osds)
    phase = f'{brief.phase} (in {state.stage.value})' if brief.paused_reason else brief.phase
    if brief.outcome is not None and brief.outcome.value != brief.phase:
        phase += f' ({brief.outcome.value})'
    following = next_step_of(state, waits_for)
    actor = state.actor if isinstance(state, ExperimentState) else state.request.actor
    return sections(
        fields(
            ('Operation', f'{brief.id} ({brief.kind})'),
            ('Who', brief.who),
            ('Started by', actor),
            ('Phase', phase),
            ('Paused', brief.paused_reason),
            ('Failure', brief.failure),
            *special,
            ('Started', format_time(state.started_s) or UNKNOWN),
            ('Updated', format_time(state.updated_s) or UNKNOWN),
        ),
        tables,
        following and paragraph(following, 4, 'Next step: '),
    )


def _rollout_fields(state: RolloutState) -> Iterable[tuple[str, Optional[str]]]:
    request, judgement, latest = state.request, state.judgement, state.batch_judgement
    yield 'Recommendation', f'{request.recommendation_id} ({request.kind.value})'
    yield 'Option', request.option
    yield 'Purpose', PURPOSES[request.purpose]
    if not state.ended:
        yield 'Not restored', describe_left_behind(state)
        yield 'Last error', state.last_error
    yield 'Verdict', in_words(judgement) if judgement else 'none'
    yield '  missing', '; '.join(judgement.missing) or None if judgement else None
    yield f'Batch {len(state.verdicts) + 1}', in_words(latest) if latest else None
    yield 'Progress', operation_summary_of(state).progress


def _batches(state: RolloutState) -> str:
    """Batches are grouped by progress, so that a hundred pending ones take one line."""
    steps = {osd.osd_id: osd.step.value for osd in state.osds}
    alike: dict[tuple[Phase, Optional[Verdict]], tuple[list[int], list[int]]] = {}
    for number, batch in enumerate(batches(state), 1):
        numbers, osds = alike.setdefault((batch.phase, batch.verdict), ([], []))
        numbers.append(number)
        osds += batch.osds
    rows = [(*progress, *members) for progress, members in alike.items()]
    columns: Sequence[Column[tuple[Phase, Optional[Verdict], list[int], list[int]]]] = (
        Column('BATCH', lambda row: ids_if_short(row[2])),
        Column('PHASE', lambda row: row[0].value),
        Column('VERDICT', lambda row: row[1] and row[1].words),
        Column('OSDS', lambda row: len(row[3]), 'r'),
        Column('IDS', lambda row: ids_if_short(row[3])),
        Column('STEP', lambda row: ', '.join(sorted({steps[n] for n in row[3] if n in steps}))),
    )
    return table(columns, rows)


_RESULT_TEXTS = {
    PredictionResult.RIGHT: 'came true',
    PredictionResult.DIRECTION: 'right direction, wrong size',
    PredictionResult.WRONG: 'did not come true',
}


def history(records: Sequence[HistoryRecord]) -> str:
    """Every change, newest first."""
    if not records:
        return 'No changes yet.'
    found = track_record(records)
    return sections(
        paragraph(
            f'Track record: {format_plural(found.changes, "change")}; of '
            f'{format_plural(found.compared, "prediction")} {found.right} right, '
            f'{found.direction} in direction only, {found.wrong} wrong.'
        ),
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
    return joined(
        paragraph(
            f'{format_time(record.time_s) or UNKNOWN} {record.rollout_id} {record.who} '
            f'{record.outcome.value}, started by {record.actor}'
        ),
        fields(
            ('Arms', ', '.join(arm.name for arm in tried.arms) if tried else None),
            ('Change', None if tried else _change_line(record)),
            ('Predicted', None if tried else record.prediction or 'nothing'),
            ('Measured', record.measured or 'nothing'),
            ('Compared', _RESULT_TEXTS[comparison.result] if comparison else None),
            ('Reason', record.reason),
            indent=4,
        ),
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
    Column('STEP', 'step'),
    Column('DB BEFORE', 'used_before_bytes', 'r'),
    Column('AFTER', 'used_after_bytes', 'r'),
    Column('CHANGE', _change_of_size, 'r'),
    Column('LATENCY', 'latency_ms', 'r'),
)


def _campaign_fields(state: CampaignState) -> Iterable[tuple[str, Optional[str]]]:
    yield 'Recommendation', state.request.recommendation_id or 'none, on demand'
    yield 'Last error', None if state.ended else state.last_error
    yield 'Result' if state.ended else 'Progress', campaign_in_words(state)
    yield 'Latency before', format_ms(state.baseline_ms)


_TO_COMPACT: Sequence[Column[PlannedOsd]] = (
    Column('OSD', 'osd_id', 'r'),
    Column('HOST', 'host', omit=1),
    Column('DB USED', 'bytes', 'r'),
    Column('FREE', 'free_bytes', 'r'),
    Column('SKIPPED', lambda osd: osd.skipped or ''),
)


def campaign_plan(planned: CampaignPlan) -> str:
    """What a campaign would take, within one screen."""
    return sections(
        fields(
            ('Dry run', 'no changes were made'),
            ('Recommendation', planned.request.recommendation_id),
            ('Who', planned.request.who),
            ('OSDs', str(len(planned.osds))),
            ('Reads', f'at most {format_bytes(planned.bytes)}, and writes as much'),
            ('Duration', ' to '.join(map(format_duration, planned.duration_s or ())) or UNKNOWN),
        ),
        # Skipped OSDs are worth reading first.
        table(
            _TO_COMPACT,
            sorted(planned.osds, key=lambda osd: osd.skipped is None),
            limit=10,
            rest='--format json',
        ),
        titled('Guards', joined(*_guards(planned.guards))),
    )


def _guards(guards: Sequence[Guard]) -> Iterable[str]:
    for guard in guards:
        if guard.reason is not None:
            state = 'at start' if guard.open is None else 'CLOSED'
            yield paragraph(f'{guard.name}: {guard.reason}', 12, f'  {state}')
    yield paragraph(', '.join(guard.name for guard in guards if guard.open), 12, '  open')

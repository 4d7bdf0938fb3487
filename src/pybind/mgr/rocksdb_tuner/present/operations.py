"""Operations under way or ended, and the history: rollouts, compaction campaigns, experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from ..judge.arms import Answer
from ..judge.predictions import Comparison, PredictionResult
from ..judge.records import Inconclusive, SignalVerdict, SoakPlan, Verdict
from ..judge.verdict import in_words
from ..notes import Among, Amount, Count, InPlace, OsdId, Unbounded
from ..operations.compaction.announce import change_percent
from ..operations.compaction.announce import in_words as campaign_in_words
from ..operations.compaction.plan import CampaignPlan, Guard
from ..operations.compaction.records import CampaignState, OsdCompaction
from ..operations.compaction.rules import SLOW_WRITES
from ..operations.experiment.announce import why_failed as why_experiment_failed
from ..operations.experiment.records import ExperimentState, Stage
from ..operations.gates import NOT_ALLOWED, remedy_for
from ..operations.history import ExperimentResult, HistoryRecord
from ..operations.phases import Outcome, Phase
from ..operations.rollout.admission import describe_left_behind
from ..operations.rollout.announce import why_failed
from ..operations.rollout.history import compared, track_record
from ..operations.rollout.records import (
    Batch,
    Direction,
    OsdProgress,
    RolloutState,
    batches,
    in_flight,
    unmeasured_batch,
    watched_batch,
)
from ..operations.rollout.soak import undecided
from ..options.grammar import difference
from ..plan.batches import PlannedBatch, domain_of, planned_batch, soak_for, without_gain
from ..plan.records import ANNEX, ChangeRequest
from ..snapshot import Snapshot
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
from .experiment import phase_of as experiment_phase
from .layout import Column, fields, paragraph, table
from .phrases import (
    COMMAND,
    flushes_in,
    ids_if_short,
    option_value,
    osds_finished,
    phase_of,
    progress_of,
    purpose,
    sections,
    titled,
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
class LastOperations:
    """The last operation of each kind."""

    rollout: Optional[RolloutState]
    campaign: Optional[CampaignState]
    #: What the campaign is waiting for, unless it is paused.
    campaign_waits_for: Optional[str] = None
    experiment: Optional[ExperimentState] = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> LastOperations:
        waits_for = snapshot.campaign_waits_for
        return cls(snapshot.rollout, snapshot.campaign, waits_for, snapshot.experiment)

    @property
    def in_view(self) -> Optional[Union[RolloutState, CampaignState, ExperimentState]]:
        """The operation under way, or else the last one."""
        found = [
            state for state in (self.rollout, self.experiment, self.campaign) if state is not None
        ]
        # While a campaign ends for a rollback, an operator asks about the rollback.
        under_way = next((state for state in found if not state.ended), None)
        return under_way or max(found, key=lambda state: state.started_s, default=None)


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


def operation_of(last: LastOperations) -> Optional[Operation]:
    """None before the first operation."""
    state = last.in_view
    if state is None:
        return None
    if isinstance(state, RolloutState):
        return rollout_of(state)
    if isinstance(state, CampaignState):
        before, after = state.used_bytes or (None, None)
        waits_for = None if state.ended else last.campaign_waits_for
        return Campaign('compaction', state, waits_for, before, after)
    return experiment_of(state)


def operation_summary_of(last: LastOperations) -> Optional[OperationSummary]:
    """None before the first operation."""
    state = last.in_view
    if state is None:
        return None
    if isinstance(state, RolloutState):
        kind, phase, finished = 'rollout', state.phase.value, osds_finished(state)
    elif isinstance(state, CampaignState):
        kind, phase, finished = 'compaction', state.phase.value, state.finished
    else:
        kind, phase = 'experiment', experiment_phase(state).value
        finished = len(state.osds) if state.ended else 0
    return OperationSummary(
        id=state.operation_id,
        kind=kind,
        phase=phase,
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
        tuple[SignalVerdict, ...],
        'Change of the first OSD relative to its controls.',
    ]
    comparison: Annotated[
        Optional[Comparison],
        'Comparison of prediction and measurement; null if one is missing.',
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
        None if record.experiment is None else _experiment(record.experiment),
    )


def _experiment(found: ExperimentResult) -> ExperimentOutcome:
    effects = {effect.name: effect for effect in found.effects}
    dropped = dict(found.dropped)
    return ExperimentOutcome(
        signal=found.objective,
        min_effect_percent=found.min_effect * 100,
        conclusion=found.answer,
        winner=found.winner,
        arms=tuple(
            TriedOptions(
                name=name,
                options=options,
                change_percent=effects[name].change_percent if name in effects else None,
                low_percent=effects[name].low_percent if name in effects else None,
                high_percent=effects[name].high_percent if name in effects else None,
                dropped=dropped.get(name),
            )
            for name, options in found.arms
        ),
    )


_RESUME = f'"{COMMAND} operation resume"'
_ABORT = f'"{COMMAND} operation abort"'


def next_step(snapshot: Snapshot) -> Optional[str]:
    """A phrase without a full stop; None if no operation is in progress."""
    rollout, campaign, experiment = snapshot.rollout, snapshot.campaign, snapshot.experiment
    if rollout is not None and not rollout.ended:
        return next_step_of_rollout(rollout)
    if experiment is not None and not experiment.ended:
        return next_step_of_experiment(experiment)
    if campaign is not None and not campaign.ended:
        return next_step_of_campaign(campaign, snapshot.campaign_waits_for)
    failed = rollout is not None and why_failed(rollout) and not snapshot.rollout_acknowledged
    if failed or (
        experiment is not None and why_experiment_failed(experiment) and not experiment.acknowledged
    ):
        return (
            f'see why with "{COMMAND} operation status", then acknowledge with '
            f'"{COMMAND} operation resume"'
        )
    return None


def next_step_of_rollout(state: RolloutState) -> Optional[str]:
    """None if it has ended."""
    if state.ended:
        return None
    recovering = state.direction is Direction.RECOVER
    if state.paused_by is not None and not recovering:
        return _paused()
    if undecided(state):
        return f'{_RESUME} changes the other OSDs, "{COMMAND} rollback" restores the old one'
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    return f'wait for {_step_of(state)}'


def _step_of(state: RolloutState) -> str:
    """What the rollout is doing."""
    at_work = in_flight(state)
    if state.direction is not Direction.FORWARD:
        return 'the rollback' if at_work is None else f'osd.{at_work.osd_id} to be restored'
    if at_work is not None:
        return f'osd.{at_work.osd_id} to restart and become clean'
    watched = watched_batch(state)
    if watched is not None:
        soaked_s = state.batch_soaked_s if watched.number else state.soaked_s
        least, most = (format_duration(s) for s in (watched.soak.least_s, watched.soak.most_s))
        times = f'{least} to {most}' if watched.judged else least
        return (
            f'the verdict on batch {watched.number + 1}, after {format_duration(soaked_s)} of '
            f'{times}'
        )
    unmeasured = unmeasured_batch(state)
    if unmeasured is not None:
        return (
            f'the baseline of osd.{format_ids(unmeasured.osds)}, after '
            f'{format_duration(state.baseline_s)} of {format_duration(unmeasured.baseline_s)}'
        )
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return f'osd.{state.request.order[0]} to be changed'
    if state.stage is Phase.COLLAPSING:
        return 'the settings of single OSDs to be merged'
    return 'the next OSD'


def next_step_of_experiment(state: ExperimentState) -> Optional[str]:
    """None if it has ended without a winner."""
    leg = state.leg
    if state.ended:
        won = state.conclusion is not None and state.conclusion.winner is not None
        return f'see the recommendation with "{COMMAND} recommend"' if won else None
    recovering = leg is not None and leg.direction is Direction.RECOVER
    if state.paused_by is not None and not recovering:
        return _paused()
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    if state.stage is Stage.RESTORING:
        return 'wait for every OSD to be restored'
    if leg is not None:
        return f'wait for {_step_of(leg)}'
    measured = 'arms' if state.stage is Stage.MEASURING else 'baseline'
    return f'wait for block {state.blocks + 1} of {state.request.plan.blocks} of the {measured}'


def next_step_of_campaign(state: CampaignState, waits_for: Optional[str]) -> Optional[str]:
    """None if it has ended."""
    if state.ended:
        return None
    if state.paused_by is not None:
        return _paused()
    if state.paused_reason is not None:
        return _waiting(state.paused_reason)
    if waits_for is not None:
        return f'wait: {waits_for}'
    busy = ', '.join(f'osd.{osd.osd_id}' for osd in state.in_flight)
    return f'wait for {busy or "the next OSD"} to be compacted'


def _paused() -> str:
    return f'{_RESUME} continues it, {_ABORT} ends it'


def _waiting(reason: str) -> str:
    """What ends a wait that requires no operator action."""
    if reason == NOT_ALLOWED:
        return f'"{COMMAND} mode recommend" continues it, {_ABORT} ends it'
    if reason.startswith(SLOW_WRITES):
        return f'{_RESUME} accepts the current latency, {_ABORT} ends it'
    opened_by = remedy_for(reason)
    hint = 'it continues by itself after that' if opened_by is None else opened_by
    return f'{hint}; {_ABORT} ends it'


_RESULT_TEXTS = {
    PredictionResult.RIGHT: 'came true',
    PredictionResult.DIRECTION: 'right direction, wrong size',
    PredictionResult.WRONG: 'did not come true',
}


def operation(last: LastOperations) -> str:
    """The current or last operation, with the next step."""
    state = last.in_view
    if state is None:
        return 'No operations yet.'
    if isinstance(state, RolloutState):
        text, following = _rollout(state), next_step_of_rollout(state)
    elif isinstance(state, ExperimentState):
        text, following = experiment(state), next_step_of_experiment(state)
    else:
        waits_for = last.campaign_waits_for
        text, following = campaign(state, waits_for), next_step_of_campaign(state, waits_for)
    return sections(text, '' if following is None else paragraph(following, 4, 'Next step: '))


def _rollout(state: RolloutState) -> str:
    request = state.request
    pairs = [
        ('Rollout', state.rollout_id),
        ('Recommendation', f'{request.recommendation_id} ({request.kind.value})'),
        ('Who', request.who),
        ('Option', request.option),
        ('Started by', request.actor),
        ('Purpose', purpose(request.purpose)),
        ('Phase', phase_of(state)),
    ]
    if state.paused_reason is not None:
        pairs.append(('Paused', state.paused_reason))
    if state.failure is not None:
        pairs.append(('Failure', state.failure))
    left = describe_left_behind(state)
    if left is not None and not state.ended:
        pairs.append(('Not restored', left))
    if state.last_error is not None and not state.ended:
        pairs.append(('Last error', state.last_error))
    pairs += [
        ('Verdict', _verdict(state)),
        *_missing(state),
        *_batch(state),
        ('Started', format_time(state.started_s) or UNKNOWN),
        ('Updated', format_time(state.updated_s) or UNKNOWN),
        ('Progress', progress_of(state)),
    ]
    return sections(fields(pairs), _rollout_osds(state))


def _verdict(state: RolloutState) -> str:
    """The verdict on the canary."""
    if state.judgement is not None:
        return in_words(state.judgement)
    watched = watched_batch(state)
    if watched is not None:
        return _not_yet(state, watched)
    canary, planned = f'osd.{state.request.order[0]}', planned_batch(state.request, state.soak, 0)
    if state.stage is Phase.PREFLIGHT and planned.baseline_s:
        measured = f'{format_duration(state.baseline_s)} of {format_duration(planned.baseline_s)}'
        return f'none yet; measuring the baseline of {canary}, {measured}'
    if state.stage is Phase.CANARY and planned.judged:
        return f'none yet; {canary} is being changed'
    return 'not judged'


def _missing(state: RolloutState) -> list[tuple[str, str]]:
    """What the verdict on the canary lacked, unless the rollout waits or failed and says so."""
    judgement, said = state.judgement, state.paused_reason or state.failure
    if judgement is None or not judgement.missing or said is not None:
        return []
    return [('  missing', '; '.join(judgement.missing))]


def _batch(state: RolloutState) -> list[tuple[str, str]]:
    """The verdict on the batch that soaks."""
    number = len(state.verdicts)
    if state.batch_judgement is not None:
        return [(_name_of(state, number), in_words(state.batch_judgement))]
    watched = watched_batch(state)
    if watched is None or watched.number == 0:
        return []
    return [(_name_of(state, number), _not_yet(state, watched))]


def _name_of(state: RolloutState, number: int) -> str:
    domain = domain_of(state.request, number)
    return f'Batch {number + 1}' + (f' ({domain})' if domain is not None else '')


def _not_yet(state: RolloutState, batch: PlannedBatch) -> str:
    least, most = format_duration(batch.soak.least_s), format_duration(batch.soak.most_s)
    times = f'{least} to {most}' if batch.judged else least
    if batch.number > 0:
        return f'none yet, after {format_duration(state.batch_soaked_s)} of {times}'
    flushes = flushes_in(batch.soak, state.request.fill_s)
    return f'none yet, after {format_duration(state.soaked_s)} of {times}{flushes}'


def history(records: Sequence[HistoryRecord]) -> str:
    """Every change, newest first."""
    if not records:
        return 'No changes yet.'
    return sections(
        paragraph(f'Track record: {track_record_line(track_record(records))}.'),
        *map(_history_record, reversed(records)),
    )


def _rollout_osds(state: RolloutState) -> str:
    """Batches grouped by progress, so that a hundred pending ones take one line."""
    steps = {osd.osd_id: osd.step.value for osd in state.osds}
    alike: dict[tuple[Phase, Optional[Verdict]], list[tuple[int, Batch]]] = {}
    for number, batch in enumerate(batches(state), 1):
        alike.setdefault((batch.phase, batch.verdict), []).append((number, batch))
    rows = [
        (
            ids_if_short([number for number, _ in found]),
            phase.value,
            UNKNOWN if verdict is None else verdict.words,
            str(sum(len(batch.osds) for _, batch in found)),
            ids_if_short([n for _, batch in found for n in batch.osds]),
            ', '.join(sorted({steps[n] for _, batch in found for n in batch.osds if n in steps})),
        )
        for (phase, verdict), found in alike.items()
    ]
    return table(
        (
            Column('BATCH'),
            Column('PHASE'),
            Column('VERDICT'),
            Column('OSDS', 'r'),
            Column('IDS'),
            Column('STEP'),
        ),
        rows,
    )


def _history_record(record: HistoryRecord) -> str:
    when = format_time(record.time_s) or UNKNOWN
    head = paragraph(
        f'{when} {record.rollout_id} {record.who} {record.outcome.value}, started by {record.actor}'
    )
    if record.experiment is not None:
        pairs = [
            ('Arms', ', '.join(name for name, _ in record.experiment.arms)),
            ('Measured', record.measured or 'nothing'),
            *(('Dropped', f'{name}: {why}') for name, why in record.experiment.dropped),
        ]
        if record.reason is not None:
            pairs.append(('Reason', record.reason))
        return f'{head}\n{fields(pairs, indent=4)}'
    pairs = [
        ('Change', _change_line(record)),
        ('Predicted', record.prediction or 'nothing'),
        ('Measured', record.measured or 'nothing'),
    ]
    comparison = compared(record)
    if comparison is not None:
        pairs.append(('Compared', _RESULT_TEXTS[comparison.result]))
    if record.reason is not None:
        pairs.append(('Reason', record.reason))
    return f'{head}\n{fields(pairs, indent=4)}'


def _change_line(record: HistoryRecord) -> str:
    change = _difference_line(record.options_from, record.options_to)
    return f'{change}, in {ANNEX}' if record.option == ANNEX else change


def _difference_line(before: str, after: str) -> str:
    changes = difference(before, after)
    if changes is None:
        return f'from {before or "(empty)"} to {after or "(empty)"}'
    if not changes:
        return 'no option values, only their source'
    return ', '.join(
        f'{c.option}={option_value(c.value_from)}->{option_value(c.value_to)}' for c in changes
    )


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
        ('Progress' if not state.ended else 'Result', campaign_in_words(state)),
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

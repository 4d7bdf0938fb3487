"""Operations under way or ended, and the history: rollouts, compaction campaigns, experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from ...judge.arms import Answer
from ...judge.predictions import Comparison
from ...judge.records import Inconclusive, SignalVerdict, SoakPlan, Verdict
from ...notes import Among, Amount, Count, InPlace, OsdId, Unbounded
from ...operations.compaction.records import CampaignState
from ...operations.experiment.records import ExperimentState
from ...operations.history import ExperimentResult, HistoryRecord
from ...operations.phases import Outcome
from ...operations.rollout.history import compared
from ...operations.rollout.records import Batch, OsdProgress, RolloutState, batches
from ...plan.batches import planned_batch, soak_for, without_gain
from ...plan.records import ChangeRequest
from ...snapshot import Snapshot
from ..experiments import phase_of as experiment_phase
from ..summaries import osds_finished
from .experiment import Experiment, experiment_of


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

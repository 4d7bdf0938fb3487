"""Immutable state of a rollout: everything that is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Annotated, Optional

from ...judge.records import Judgement, SoakPlan, Verdict
from ...mgr.records import FailureDomain
from ...notes import AsTime, Count, InPlace, Named, OsdId
from ...plan.batches import PlannedBatch, count, planned_batch, planned_batches
from ...plan.records import ChangeRequest, end_value
from ...store.codec import NOT_STORED
from .. import phases
from ..phases import FINAL_PHASES, Outcome, Phase, clip


class Direction(str, Enum):
    FORWARD = 'forward'
    #: One OSD failed: it alone is restored, then the rollout ends.
    RECOVER = 'recover'
    #: Everything that was changed is rolled back.
    BACK = 'back'


class OsdStep(str, Enum):
    """Progress of one OSD. Stored before the step's action is executed."""

    #: Not changed yet.
    PENDING = 'pending'
    #: Its own entry is being written.
    SETTING = 'setting'
    #: The config store is updated; the restart has not been requested yet.
    RESTART_DUE = 'restart-due'
    #: The restart was requested; the new process is not up yet.
    RESTARTING = 'restarting'
    #: A new process is up; its running options are being read.
    CHECKING = 'checking'
    #: It runs the right options; placement groups are not all clean yet.
    SETTLING = 'settling'
    #: It runs the target by its own entry.
    VERIFIED = 'verified'
    #: Its own entry is being removed, so that the shared entry applies, or written again, since the
    #: shared entry must not apply.
    COLLAPSING = 'collapsing'
    #: It gets the target from the shared entry.
    COLLAPSED = 'collapsed'
    #: Its own entry is being restored.
    RESTORING = 'restoring'
    #: Config store and process are restored.
    RESTORED = 'restored'
    #: The rollout continues without it: it is gone, or not the planned OSD.
    LEFT_BEHIND = 'left-behind'


RESTARTING = frozenset({OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING})
_CHANGING = frozenset({OsdStep.SETTING, OsdStep.RESTORING, OsdStep.RESTART_DUE, OsdStep.COLLAPSING})


@dataclass(frozen=True)
class OsdBefore:
    """Running options and identity of one OSD before the rollout."""

    osd_id: int
    value: str
    source: str
    release: Optional[str]
    #: None in all three: unknown. First digits of the uuid: see `identity`.
    uuid_head: Optional[str] = None
    device_class: Optional[str] = None
    objectstore: Optional[str] = None


@dataclass(frozen=True)
class Before:
    """The previous state, recorded before anything is changed.

    ``entries`` are all entries of the option except those of single OSDs outside the request, as
    (who, value); any other `who` had no entry.
    """

    entries: tuple[tuple[str, str], ...]
    osds: tuple[OsdBefore, ...]
    #: The same for `ChangeRequest.other_option`; None: unknown.
    other_entries: Optional[tuple[tuple[str, str], ...]] = None

    @cached_property
    def value_by_who(self) -> Mapping[str, str]:
        return dict(self.entries)

    @cached_property
    def by_id(self) -> Mapping[int, OsdBefore]:
        return {osd.osd_id: osd for osd in self.osds}

    def entry(self, who: str) -> Optional[str]:
        return self.value_by_who.get(who)


@dataclass(frozen=True)
class OsdProgress:
    """Progress of one OSD, and the process it refers to.

    A nonce identifies a process: a restart is done when the OSD map shows a new one.
    """

    osd_id: Annotated[OsdId, Named('osd'), 'Id of the OSD.']
    step: Annotated[OsdStep, 'Current step.'] = OsdStep.PENDING
    #: The process to be replaced.
    nonce_before: Optional[int] = None
    #: The new process.
    nonce_after: Optional[int] = None
    restarts_asked: Annotated[Count, 'Number of requested restarts.'] = 0
    flaps: Annotated[Count, 'How often it went down again after coming up.'] = 0
    #: In a rollback: its process may run the wrong options.
    restart_needed: bool = False
    #: In a rollback: the next process to come up may have started before the entries were restored.
    doubtful: bool = False
    left_reason: Annotated[Optional[str], 'Why the rollout skips the OSD; null if it does not.'] = (
        None
    )


@dataclass(frozen=True)
class AskedRestart:
    """A restart requested from the orchestrator that may still be outstanding."""

    osd_id: int
    #: The orchestrator's events for this OSD and the start of its process, as reported at the time
    #: of the request: see `OrchestratedDaemon`.
    executed: tuple[str, ...] = ()
    stored_started: Optional[str] = None
    #: The orchestrator refused.
    refused: bool = False


@dataclass(frozen=True)
class Ending:
    """How the rollout will end once the OSD in flight is safe."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class RolloutState:
    """State of one rollout: all that a standby mgr needs to continue it.

    Times are seconds since the epoch, for display: no decision is made from them.
    """

    rollout_id: Annotated[str, Named('id'), 'Id of the rollout.']
    request: Annotated[ChangeRequest, InPlace()]
    before: Before
    #: In the order of the request.
    osds: tuple[OsdProgress, ...]
    started_s: Annotated[float, Named('started'), AsTime(), 'Start time. ISO 8601, UTC.']
    updated_s: Annotated[
        float, Named('updated'), AsTime(), 'Time of the last change. ISO 8601, UTC.'
    ]
    #: The phase to continue with; never WAITING.
    stage: Phase = Phase.PLANNED
    direction: Annotated[
        Direction,
        'Direction; "recover": one OSD failed and is restored; "back": everything is rolled back.',
    ] = Direction.FORWARD
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.'] = (
        None
    )
    paused_by: Annotated[Optional[str], 'Client that requested the pause.'] = None
    ending: Optional[Ending] = None
    #: Shared entries may have been written.
    shared_touched: bool = False
    #: In a rollback: each `who` whose entry is restored, in this order.
    restoring: tuple[str, ...] = ()
    #: How many of those (or, going forward, of the shared entries) are confirmed.
    entries_done: int = 0
    #: Consecutive failed actions, and the last error.
    errors: int = 0
    last_error: Annotated[Optional[str], 'Error of the last failed action.'] = None
    #: The last restart requested by this or an earlier rollout, while it may still happen.
    asked: Optional[AskedRestart] = None
    #: A conflicting change seen once; acted on once confirmed. The stored name is the first
    #: format's.
    pending_conflict: Optional[str] = None
    #: Why the entries of single OSDs are kept instead of the planned shared entry.
    own_entries_stay: Optional[str] = None
    soak: SoakPlan = field(default_factory=SoakPlan)
    #: How long the baseline of canary and controls has been measured. Not stored: it follows from
    #: the stored evidence.
    baseline_s: float = field(default=0.0, metadata=NOT_STORED)
    #: Soak time of the canary so far, without interruptions.
    soaked_s: float = 0.0
    #: The same for the batch that is soaking, after the canary.
    batch_soaked_s: float = 0.0
    judgement: Annotated[Optional[Judgement], 'Basis of the verdict; null: no verdict.'] = None
    batch_judgement: Annotated[
        Optional[Judgement], 'Basis of the verdict on the current batch; null: no verdict yet.'
    ] = None
    #: Of each promoted batch, from the canary on, including batches promoted without a clear
    #: verdict.
    verdicts: tuple[Verdict, ...] = ()
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.'] = None
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.'] = None
    #: Whether an operator acknowledged that it failed.
    acknowledged: bool = False

    @property
    def operation_id(self) -> str:
        return self.rollout_id

    @cached_property
    def by_id(self) -> Mapping[int, OsdProgress]:
        return {osd.osd_id: osd for osd in self.osds}

    @cached_property
    def left_behind(self) -> frozenset[int]:
        return frozenset(osd.osd_id for osd in self.osds if osd.step is OsdStep.LEFT_BEHIND)

    @cached_property
    def in_flight(self) -> Optional[OsdProgress]:
        """The one OSD being changed; one that is restarting comes first."""
        steps = (RESTARTING, _CHANGING)
        return next((osd for any_of in steps for osd in self.osds if osd.step in any_of), None)

    @property
    def promoted(self) -> bool:
        """Whether the canary was promoted, by its verdict or by an operator."""
        return bool(self.verdicts)

    @property
    def verdict(self) -> Optional[Verdict]:
        return None if self.judgement is None else self.judgement.verdict

    @property
    def phase(self) -> Annotated[Phase, 'Current phase.']:
        return self.stage if self.paused_reason is None else Phase.WAITING

    @property
    def ended(self) -> bool:
        return self.stage in FINAL_PHASES


def wrong_request(request: ChangeRequest) -> Iterator[str]:
    """Contradictions within a request, which each of its fields does not show."""
    ids, batches = request.order, request.batches
    scattered = () in batches or tuple(chain.from_iterable(batches)) != ids
    wrong = {
        '"request.order" is empty or names an OSD twice': not ids or len(set(ids)) != len(ids),
        '"request.targets" does not match "request.order"': sorted(n for n, _ in request.targets)
        != sorted(ids),
        '"request.batches" does not match "request.order"': bool(batches) and scattered,
        '"request.batches" has more than the canary first': any(len(b) > 1 for b in batches[:1]),
        '"request.domains" does not match "request.batches"': bool(request.domains)
        and len(request.domains) != len(batches),
        '"request.controls" names the canary, or an OSD outside the request': not set(ids[1:])
        >= set(request.controls),
        '"request.final_entries" names an entry twice': len(request.final_by_who)
        != len(request.final_entries),
    }
    yield from (text for text, is_wrong in wrong.items() if is_wrong)
    for osd_id, value in request.targets:
        if end_value(request, osd_id) not in {None, value}:
            yield f'"request.final_entries" has another value for osd.{osd_id} than its target'


#: Steps of an OSD that is not changed, or no longer.
UNCHANGED = frozenset({OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND})


def others_changed(state: RolloutState, osd_id: Optional[int] = None) -> bool:
    """Whether any OSD other than this one is changed."""
    return any(osd.step not in UNCHANGED for osd in state.osds if osd.osd_id != osd_id)


def recovery_ending(state: RolloutState) -> Ending:
    """The ending of a recovery, which always has one."""
    assert state.ending is not None
    return state.ending


def with_osd(state: RolloutState, osd: OsdProgress, errors: int = 0) -> RolloutState:
    """The state with one OSD advanced, which also resets the error count."""
    return replace(
        state,
        osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds),
        errors=errors,
        last_error=state.last_error if errors else None,
    )


def waiting(state: RolloutState, reason: str) -> RolloutState:
    return replace(state, paused_reason=clip(reason))


def ended(state: RolloutState, ending: Ending) -> RolloutState:
    """The premature end; `conflicts.describe_leftovers` adds the remaining changes."""
    failure = f'{state.failure}; {ending.reason}' if state.failure else ending.reason
    return replace(finished(state, Phase.FAILED, ending.outcome), failure=clip(failure))


def finished(state: RolloutState, stage: Phase, outcome: Outcome) -> RolloutState:
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        ending=None,
        pending_conflict=None,
        paused_by=None,
        paused_reason=None,
    )


def stamped(old: RolloutState, new: RolloutState, now_s: float) -> RolloutState:
    # The recovery of an OSD continues in spite of a pause, with its own reason to wait.
    held = not new.ended and new.direction is not Direction.RECOVER
    return phases.stamped(old, new, now_s, held=held)


def watched_batch(state: RolloutState) -> Optional[PlannedBatch]:
    """The changed batch that is soaking; None if there is none."""
    number = len(state.verdicts)
    if state.direction is not Direction.FORWARD or number >= count(state.request):
        return None
    batch = batch_of(state, number)
    changed = all(_step(state, osd_id) is OsdStep.VERIFIED for osd_id in batch.osds)
    return batch if batch.watched and batch.osds and changed else None


def batch_of(state: RolloutState, number: int) -> PlannedBatch:
    """A planned batch without the OSDs that were left behind."""
    batch = planned_batch(state.request, state.soak, number)
    left = state.left_behind
    if not left:
        return batch
    osds, compared, controls = (
        tuple(n for n in ids if n not in left)
        for ids in (batch.osds, batch.compared, batch.controls)
    )
    # If no compared OSD is left, all remaining ones are compared.
    return replace(batch, osds=osds, compared=compared or osds, controls=controls)


def batch_in_view(state: RolloutState) -> PlannedBatch:
    """The batch being changed or soaking, or the last one."""
    return batch_of(state, min(len(state.verdicts), count(state.request) - 1))


def is_unchanged(state: RolloutState, batch: PlannedBatch) -> bool:
    return bool(batch.osds) and all(_step(state, n) is OsdStep.PENDING for n in batch.osds)


def unmeasured_batch(state: RolloutState) -> Optional[PlannedBatch]:
    """The batch in view as long as its baseline is being measured."""
    batch = batch_in_view(state)
    measuring = is_unchanged(state, batch) and state.baseline_s < batch.baseline_s
    return batch if measuring else None


def compared_osds(state: RolloutState) -> tuple[int, ...]:
    """OSDs that need current samples before another OSD starts.

    The canary, all OSDs of passed batches and of the one that is soaking, and the controls of the
    next verdict.
    """
    request = state.request
    batch = planned_batch(request, state.soak, min(len(state.verdicts), count(request) - 1))
    soaks = watched_batch(state) is not None
    up_to = request.position[batch.osds[-1]] + 1 if soaks else request.position[batch.osds[0]]
    controls = (n for n in batch.controls if _step(state, n) is OsdStep.PENDING)
    compared = (*request.order[: max(up_to, 1)], *controls)
    return tuple(n for n in compared if n not in state.left_behind)


@dataclass(frozen=True)
class Batch:
    """One batch and its progress."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    domain: Annotated[
        Optional[FailureDomain],
        Named('failure_domain'),
        'Failure domain of all of these OSDs; null: unknown.',
    ]
    phase: Annotated[Phase, 'Current phase.']
    #: None: no soak, or no verdict yet.
    verdict: Optional[Verdict]
    controls: Annotated[
        tuple[OsdId, ...],
        'Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected.',
    ]


def batches(state: RolloutState) -> tuple[Batch, ...]:
    """All batches of a rollout, in order."""
    watched = watched_batch(state)
    return tuple(
        Batch(
            osds=batch.osds,
            domain=batch.domain,
            phase=Phase.SOAKING
            if watched is not None and watched.number == batch.number
            else _phase(state, batch),
            verdict=_verdict(state, batch.number),
            controls=batch.controls if batch.judged else (),
        )
        for batch in planned_batches(state.request, state.soak)
    )


_PHASES = {
    OsdStep.PENDING: Phase.PLANNED,
    OsdStep.LEFT_BEHIND: Phase.PLANNED,
    OsdStep.VERIFIED: Phase.DONE,
    OsdStep.COLLAPSED: Phase.DONE,
    OsdStep.RESTORED: Phase.ROLLED_BACK,
    OsdStep.RESTORING: Phase.ROLLING_BACK,
    OsdStep.COLLAPSING: Phase.COLLAPSING,
}


def _step(state: RolloutState, osd_id: int) -> OsdStep:
    osd = state.by_id.get(osd_id)
    return OsdStep.PENDING if osd is None else osd.step


def _phase(state: RolloutState, batch: PlannedBatch) -> Phase:
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return Phase.PLANNED
    under_way = Phase.CANARY if batch.number == 0 else Phase.PROMOTING
    if state.direction is not Direction.FORWARD:
        under_way = Phase.ROLLING_BACK
    if state.ended:
        under_way = Phase.FAILED
    found = {_PHASES.get(_step(state, n), under_way) for n in batch.osds}
    if len(found) == 1:
        return found.pop()
    # In a batch that was only started, untouched OSDs do not determine the phase.
    found.discard(Phase.PLANNED)
    if found == {Phase.ROLLED_BACK} and state.ended:
        return Phase.ROLLED_BACK
    return Phase.COLLAPSING if Phase.COLLAPSING in found else under_way


def _verdict(state: RolloutState, number: int) -> Optional[Verdict]:
    if number != len(state.verdicts):
        return state.verdicts[number] if number < len(state.verdicts) else None
    judgement = judgement_in_view(state)
    return None if judgement is None else judgement.verdict


def judgement_in_view(state: RolloutState) -> Optional[Judgement]:
    """The verdict so far on the batch that is soaking."""
    return state.batch_judgement if state.verdicts else state.judgement

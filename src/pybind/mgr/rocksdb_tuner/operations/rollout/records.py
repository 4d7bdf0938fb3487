"""Immutable state of a rollout: everything that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Optional

from ...judge.records import Judgement, SoakPlan, Verdict
from ...plan.records import ChangeRequest
from ...store.codec import NOT_STORED
from ..phases import FINAL_PHASES, Outcome, Phase


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
    #: Its own entry is being removed, so that the shared entry applies.
    COLLAPSING = 'collapsing'
    #: Its own entry is being written again, since the shared entry must not or does not apply.
    #: The value is stored and published.
    REPINNING = 'repinning'
    #: It gets the target from the shared entry.
    COLLAPSED = 'collapsed'
    #: Its own entry is being restored.
    RESTORING = 'restoring'
    #: Config store and process are restored.
    RESTORED = 'restored'
    #: The rollout continues without it: it is gone, or not the planned OSD.
    LEFT_BEHIND = 'left-behind'


_RESTARTING = frozenset({OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING})
_CHANGING = frozenset(
    {
        OsdStep.SETTING,
        OsdStep.RESTORING,
        OsdStep.RESTART_DUE,
        OsdStep.COLLAPSING,
        OsdStep.REPINNING,
    }
)


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

    osd_id: int
    step: OsdStep = OsdStep.PENDING
    #: The process to be replaced.
    nonce_before: Optional[int] = None
    #: The new process.
    nonce_after: Optional[int] = None
    restarts_asked: int = 0
    #: How often it went down again after coming up.
    flaps: int = 0
    #: In a rollback: its process may run the wrong options.
    restart_needed: bool = False
    #: In a rollback: the next process to come up may have started before the entries were restored.
    doubtful: bool = False
    #: Why it was left behind.
    left_reason: Optional[str] = None


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

    rollout_id: str
    request: ChangeRequest
    before: Before
    #: In the order of the request.
    osds: tuple[OsdProgress, ...]
    started_s: float
    updated_s: float
    #: The phase to continue with; never WAITING.
    stage: Phase = Phase.PLANNED
    direction: Direction = Direction.FORWARD
    #: Why it waits; None while it does not.
    paused_reason: Optional[str] = None
    #: Who paused it.
    paused_by: Optional[str] = None
    ending: Optional[Ending] = None
    #: Shared entries may have been written.
    shared_touched: bool = False
    #: In a rollback: each `who` whose entry is restored, in this order.
    restoring: tuple[str, ...] = ()
    #: How many of those (or, going forward, of the shared entries) are confirmed.
    entries_done: int = 0
    #: The longest time an OSD of this rollout was down before it came up.
    longest_boot_s: float = 0.0
    #: Consecutive failed actions, and the last error.
    errors: int = 0
    last_error: Optional[str] = None
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
    #: Of the canary; None: no verdict.
    judgement: Optional[Judgement] = None
    #: Of the batch that is soaking, after the canary; None: no verdict.
    batch_judgement: Optional[Judgement] = None
    #: Of each promoted batch, from the canary on, including batches promoted without a clear
    #: verdict.
    verdicts: tuple[Verdict, ...] = ()
    #: None until it ended.
    outcome: Optional[Outcome] = None
    #: Why it did not go as planned.
    failure: Optional[str] = None

    @property
    def operation_id(self) -> str:
        return self.rollout_id

    @property
    def controls(self) -> tuple[int, ...]:
        return self.request.controls

    @cached_property
    def by_id(self) -> Mapping[int, OsdProgress]:
        return {osd.osd_id: osd for osd in self.osds}

    @cached_property
    def left_behind(self) -> frozenset[int]:
        return frozenset(osd.osd_id for osd in self.osds if osd.step is OsdStep.LEFT_BEHIND)

    @cached_property
    def in_flight(self) -> Optional[OsdProgress]:
        """The one OSD being changed; one that is restarting comes first."""
        for steps in (_RESTARTING, _CHANGING):
            for osd in self.osds:
                if osd.step in steps:
                    return osd
        return None

    @property
    def promoted(self) -> bool:
        """Whether the canary was promoted, by its verdict or by an operator."""
        return bool(self.verdicts)

    @property
    def verdict(self) -> Optional[Verdict]:
        return None if self.judgement is None else self.judgement.verdict

    @property
    def phase(self) -> Phase:
        return self.stage if self.paused_reason is None else Phase.WAITING

    @property
    def ended(self) -> bool:
        return self.stage in FINAL_PHASES

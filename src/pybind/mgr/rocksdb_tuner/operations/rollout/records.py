"""How far a rollout is: immutable, everything that is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from ...judge.records import Judgement, SoakPlan, Verdict
from ...plan.records import ChangeRequest
from ...store.codec import NOT_STORED
from ..phases import FINAL_PHASES, Outcome, Phase


class Direction(str, Enum):
    FORWARD = 'forward'
    #: One OSD failed: it alone is brought back to what it had, then the rollout ends.
    RECOVER = 'recover'
    #: Everything that was changed goes back.
    BACK = 'back'


class OsdStep(str, Enum):
    """How far one OSD is. Saved before the step's action is carried out."""

    #: Nothing was done to it.
    PENDING = 'pending'
    #: Its own entry is being written.
    SETTING = 'setting'
    #: The config store is as it shall be; the restart was not asked for yet.
    RESTART_DUE = 'restart-due'
    #: The restart was asked for; the new process is not there yet.
    RESTARTING = 'restarting'
    #: A new process is up; what it runs is being read.
    CHECKING = 'checking'
    #: It runs what it shall; the placement groups are not all clean yet.
    SETTLING = 'settling'
    #: It runs the target, by its own entry.
    VERIFIED = 'verified'
    #: Its own entry is being removed, so that the mask decides.
    COLLAPSING = 'collapsing'
    #: Without its own entry it would get something else: the entry is being written again.
    SHIELDING = 'shielding'
    #: The mask gives it the target.
    COLLAPSED = 'collapsed'
    #: Its own entry is being put back to what it was.
    RESTORING = 'restoring'
    #: Config store and process are as they were before.
    RESTORED = 'restored'
    #: The rollout goes on without it: it is gone, or not the OSD that was planned for.
    LEFT_BEHIND = 'left-behind'


@dataclass(frozen=True)
class OsdBefore:
    """What one OSD ran before the rollout touched anything."""

    osd_id: int
    value: str
    source: str
    release: Optional[str]
    #: None in all three: not known, as in what an older version of the module stored. The uuid by
    #: its first digits: see `identity`.
    uuid_head: Optional[str] = None
    device_class: Optional[str] = None
    objectstore: Optional[str] = None


@dataclass(frozen=True)
class Before:
    """What was there before, recorded before anything is changed.

    ``entries`` are all entries of the option but those of single OSDs outside the request, as
    (who, value); a `who` that is not among them had no entry.
    """

    entries: tuple[tuple[str, str], ...]
    osds: tuple[OsdBefore, ...]
    #: The same of `ChangeRequest.other_option`; None: not known, as in what an older version of
    #: the module stored.
    other_entries: Optional[tuple[tuple[str, str], ...]] = None

    def entry(self, who: str) -> Optional[str]:
        return dict(self.entries).get(who)


@dataclass(frozen=True)
class OsdProgress:
    """How far one OSD is, and by which process that is known.

    A nonce stands for a process: a restart is over when the OSD map shows another one.
    """

    osd_id: int
    step: OsdStep = OsdStep.PENDING
    #: The process that must give way.
    nonce_before: Optional[int] = None
    #: The process that was found up after that.
    nonce_after: Optional[int] = None
    restarts_asked: int = 0
    #: How often it went down again after it had come up.
    flaps: int = 0
    #: On the way back: its process may run what it shall not.
    restart_needed: bool = False
    #: On the way back: the process that comes up next may have started before the entries were
    #: put back.
    doubtful: bool = False
    #: Why it was left behind.
    left_reason: Optional[str] = None


@dataclass(frozen=True)
class AskedRestart:
    """A restart that the orchestrator was asked for, and may not have carried out yet."""

    osd_id: int
    #: When it had carried out something on this OSD until then, and when the process began, in the
    #: orchestrator's own words: see `OrchestratedDaemon`.
    carried_out: tuple[str, ...] = ()
    stored_started: Optional[str] = None
    #: It answered that it would not.
    refused: bool = False


@dataclass(frozen=True)
class Ending:
    """How the rollout will end once the OSD in flight is safe."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class RolloutState:
    """One rollout at one time: all that a standby mgr needs to go on with it.

    Times are seconds since the epoch, for display: no decision is made from them.
    """

    rollout_id: str
    request: ChangeRequest
    before: Before
    #: In the order of the request.
    osds: tuple[OsdProgress, ...]
    started_s: float
    updated_s: float
    #: The phase to go on with; never WAITING.
    stage: Phase = Phase.PLANNED
    direction: Direction = Direction.FORWARD
    #: Why it waits; None while it does not.
    paused_reason: Optional[str] = None
    #: Who asked for a pause.
    paused_by: Optional[str] = None
    ending: Optional[Ending] = None
    #: The entries of masks and sections may have been written.
    shared_touched: bool = False
    #: On the way back: every `who` whose entry is restored, in this order.
    restoring: tuple[str, ...] = ()
    #: How many of those (or of the shared entries, going forward) were seen in place.
    entries_done: int = 0
    #: The longest time that an OSD of this rollout was seen down before it came up.
    longest_boot_s: float = 0.0
    #: Actions that failed in a row, and what the last one answered.
    errors: int = 0
    last_error: Optional[str] = None
    #: The restart that was asked for last, by this rollout or one before it, as long as it may
    #: still happen.
    asked: Optional[AskedRestart] = None
    #: A change by somebody else that was seen once; acted on when it is seen again.
    suspicion: Optional[str] = None
    #: Why the entries of single OSDs stay, in place of the one that the plan named.
    own_entries_stay: Optional[str] = None
    soak: SoakPlan = field(default_factory=SoakPlan)
    #: How long canary and controls were measured so far before the canary is changed. Not stored:
    #: it is read off what was recorded, which is.
    baseline_s: float = field(default=0.0, metadata=NOT_STORED)
    #: How long the canary was watched so far, without interruptions.
    soaked_s: float = 0.0
    #: The same of the batch that is watched, after the canary.
    batch_soaked_s: float = 0.0
    #: Of the canary; None: nothing was judged.
    judgement: Optional[Judgement] = None
    #: Of the batch that is watched, after the canary; None: nothing was judged.
    batch_judgement: Optional[Judgement] = None
    #: Of each batch that was watched and others may follow, from the canary on: also where it was
    #: decided without a clear one.
    verdicts: tuple[Verdict, ...] = ()
    #: None until it ended.
    outcome: Optional[Outcome] = None
    #: What happened, where it did not go as planned.
    failure: Optional[str] = None

    @property
    def operation_id(self) -> str:
        return self.rollout_id

    @property
    def controls(self) -> tuple[int, ...]:
        return self.request.controls

    @property
    def promoted(self) -> bool:
        """Whether the canary was judged, or somebody decided without a verdict."""
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

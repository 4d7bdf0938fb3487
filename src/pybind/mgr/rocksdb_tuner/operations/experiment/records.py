"""Immutable state of an experiment: everything that is stored.

Times are seconds since the epoch, for display only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from ...judge.arms import ArmResult, Conclusion
from ...judge.records import Predicted, SignalVerdict
from ...plan.experiment_design import ExperimentPlan
from ..phases import Outcome, Phase
from ..rollout.records import AskedRestart, Before, RolloutState

#: Ids of experiments begin with this letter.
EXPERIMENT = 'E'


@dataclass(frozen=True)
class ExperimentArm:
    """One option string."""

    #: Name of its profile; unique within the experiment.
    name: str
    #: The whole ``bluestore_rocksdb_options``. A release default is spelled out.
    options: str
    #: Predicted effect on the objective at the start; None: none.
    predicted: Optional[Predicted] = None


@dataclass(frozen=True)
class ExperimentRequest:
    #: The mask of the group, "osd/class:ssd" or "osd".
    who: str
    #: The requester as in the audit log ("client.admin").
    actor: str
    arms: tuple[ExperimentArm, ...]
    plan: ExperimentPlan
    #: The judged signal that arms are expected to improve.
    objective: str
    #: Smaller differences, as a share, count as none.
    min_effect: float
    #: Measuring ends after this time; the OSDs are restored after that.
    max_duration_s: float
    #: Continue with a rollout of the winner.
    adopt: bool
    #: What the group runs now.
    from_options: str
    #: Time between memtable flushes with the slowest of the option strings; None: unknown.
    fill_s: Optional[float] = None
    #: Release, workload and hardware of the group, by name; None: unknown.
    release: Optional[str] = None
    workload: Optional[str] = None
    hardware: Optional[str] = None

    def options(self, arm: str) -> str:
        return next(one.options for one in self.arms if one.name == arm)


class Stage(str, Enum):
    PLANNED = 'planned'
    #: Nothing is changed yet: OSDs are measured with their old option string.
    BASELINE = 'baseline'
    #: OSDs get the option strings of their arms, one OSD at a time.
    CHANGING = 'changing'
    MEASURING = 'measuring'
    #: Every OSD is restored to its old option string, one OSD at a time.
    RESTORING = 'restoring'
    DONE = 'done'
    #: Ended without a result: an OSD crashed, or the plan no longer matches the cluster.
    FAILED = 'failed'
    #: Ended by an operator.
    ABORTED = 'aborted'


FINAL_STAGES = frozenset({Stage.DONE, Stage.FAILED, Stage.ABORTED})

#: Stages as phases common to all operations.
PHASES = {
    Stage.PLANNED: Phase.PLANNED,
    Stage.BASELINE: Phase.PREFLIGHT,
    Stage.CHANGING: Phase.PROMOTING,
    Stage.MEASURING: Phase.SOAKING,
    Stage.RESTORING: Phase.ROLLING_BACK,
    Stage.DONE: Phase.DONE,
    Stage.FAILED: Phase.FAILED,
    Stage.ABORTED: Phase.ROLLED_BACK,
}


class LegKind(str, Enum):
    #: OSDs get the option string of their arm.
    CHANGE = 'change'
    #: Some OSDs are restored, the experiment continues.
    DROP = 'drop'
    #: All OSDs are restored, then the experiment ends.
    RESTORE = 'restore'


@dataclass(frozen=True)
class ExperimentOsd:
    """One OSD of an arm."""

    osd_id: int
    arm: str
    #: Whether its own entry has the option string of the arm.
    changed: bool = False
    #: The process that was found to run that; None: not known.
    nonce: Optional[int] = None
    #: Its own entry was changed externally and is kept.
    left_alone: bool = False


@dataclass(frozen=True)
class DroppedArm:
    """An arm that ended early."""

    name: str
    reason: str
    #: Signals that were worse; empty if it ended for another reason.
    signals: tuple[SignalVerdict, ...]
    #: Measured blocks after the change until then.
    block: int


@dataclass(frozen=True)
class ExperimentEnding:
    """How the experiment ends once every OSD is restored."""

    outcome: Outcome
    #: None: it ended as planned.
    reason: Optional[str] = None


@dataclass(frozen=True)
class ExperimentState:
    experiment_id: str
    request: ExperimentRequest
    #: Entries and options of every OSD of the experiment, controls included.
    before: Before
    #: The OSDs of the arms, in the order in which they are changed.
    osds: tuple[ExperimentOsd, ...]
    started_s: float
    updated_s: float
    ended_s: Optional[float] = None
    stage: Stage = Stage.PLANNED
    #: Measured blocks of the baseline or, once it is complete, after the change.
    blocks: int = 0
    #: The change of OSDs under way, and how many there were.
    leg: Optional[RolloutState] = None
    leg_kind: Optional[LegKind] = None
    legs: int = 0
    #: The last requested restart, as long as it may still happen.
    asked: Optional[AskedRestart] = None
    #: How long managers had been active when it started: see `operations.stopwatch`.
    started_steady_s: float = 0.0
    dropped: tuple[DroppedArm, ...] = ()
    #: Arms with an OSD that crashed or did not start.
    crashed: tuple[str, ...] = ()
    #: The last comparison; empty before the first.
    results: tuple[ArmResult, ...] = ()
    conclusion: Optional[Conclusion] = None
    #: An external change seen once; it counts when seen again.
    pending_conflict: Optional[str] = None
    ending: Optional[ExperimentEnding] = None
    paused_by: Optional[str] = None
    #: Why it waits; None: it does not wait.
    paused_reason: Optional[str] = None
    outcome: Optional[Outcome] = None
    #: What did not go as planned.
    failure: Optional[str] = None
    #: An operator has acknowledged how it ended.
    acknowledged: bool = False
    #: Its end is in the history.
    recorded: bool = False

    @property
    def operation_id(self) -> str:
        return self.experiment_id

    @property
    def phase(self) -> Phase:
        return PHASES[self.stage] if self.paused_reason is None else Phase.WAITING

    @property
    def ended(self) -> bool:
        return self.stage in FINAL_STAGES

    @property
    def measured_blocks(self) -> int:
        """Of the baseline and after the change."""
        return self.blocks + (self.request.plan.blocks if self.legs else 0)

    @property
    def remaining(self) -> tuple[str, ...]:
        """Arms that were not dropped."""
        dropped = {arm.name for arm in self.dropped}
        return tuple(arm.name for arm in self.request.arms if arm.name not in dropped)

    @property
    def off(self) -> frozenset[int]:
        """OSDs that may not run their old option string, or may not start with it."""
        changed = {osd.osd_id for osd in self.osds if osd.changed}
        return frozenset(changed | set(() if self.leg is None else self.leg.request.order))

    def osd(self, osd_id: int) -> ExperimentOsd:
        return next(osd for osd in self.osds if osd.osd_id == osd_id)

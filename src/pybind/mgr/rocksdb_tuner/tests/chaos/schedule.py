"""A schedule: a cluster, a change of it, and events at certain moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    OsdStep,
    RolloutState,
    watched_batch,
)
from rocksdb_tuner.operations.rollout.soak import undecided
from rocksdb_tuner.plan.records import OPTION, Purpose

from .events import ChaosEvent
from .topology import Topology


class Moment(str, Enum):
    """The state of a rollout between two of its effects: faults are aimed at these."""

    IDLE = 'before the first'
    PREFLIGHT = 'preflight'
    BETWEEN = 'between two OSDs'
    SETTING = 'setting'
    RESTART_DUE = 'restart due'
    RESTARTING = 'restarting'
    CHECKING = 'checking'
    SETTLING = 'settling'
    SOAKING = 'soaking'
    JUDGING = 'judging'
    COLLAPSING = 'collapsing'
    COLLAPSING_OSD = 'collapsing an OSD'
    REPINNING = 'repinning'
    LEAVING = 'leaving an OSD behind'
    AWAY = 'waiting for one that is away'
    RECOVER_RESTORING = 'recover: restoring'
    RECOVER_RESTART_DUE = 'recover: restart due'
    RECOVER_RESTARTING = 'recover: restarting'
    RECOVER_CHECKING = 'recover: checking'
    BACK_ENTRIES = 'rolling back: entries'
    BACK_RESTART_DUE = 'rolling back: restart due'
    BACK_RESTARTING = 'rolling back: restarting'
    BACK_CHECKING = 'rolling back: checking'
    BACK_SETTLING = 'rolling back: settling'
    ENDED = 'ended'


_FORWARD = {
    OsdStep.SETTING: Moment.SETTING,
    OsdStep.RESTART_DUE: Moment.RESTART_DUE,
    OsdStep.RESTARTING: Moment.RESTARTING,
    OsdStep.CHECKING: Moment.CHECKING,
    OsdStep.SETTLING: Moment.SETTLING,
    OsdStep.COLLAPSING: Moment.COLLAPSING_OSD,
    OsdStep.RESTORING: Moment.LEAVING,
}
_RECOVER = {
    OsdStep.RESTORING: Moment.RECOVER_RESTORING,
    OsdStep.RESTART_DUE: Moment.RECOVER_RESTART_DUE,
    OsdStep.RESTARTING: Moment.RECOVER_RESTARTING,
    OsdStep.CHECKING: Moment.RECOVER_CHECKING,
}
_BACK = {
    OsdStep.RESTART_DUE: Moment.BACK_RESTART_DUE,
    OsdStep.RESTARTING: Moment.BACK_RESTARTING,
    OsdStep.CHECKING: Moment.BACK_CHECKING,
    OsdStep.SETTLING: Moment.BACK_SETTLING,
}


#: What a rollout waits with before it goes on without an OSD that nothing was changed of.
_WAITS_FOR_ONE_AWAY = 'it will be left behind unless it returns'


def moment_of(state: Optional[RolloutState]) -> Moment:
    """The moment of a rollout; None: there was none yet."""
    if state is None:
        return Moment.IDLE
    if state.ended:
        return Moment.ENDED
    flying = state.in_flight
    step = None if flying is None else flying.step
    if state.direction is Direction.RECOVER:
        return Moment.RECOVER_RESTORING if step is None else _RECOVER[step]
    if state.direction is Direction.BACK:
        entries = step is None or state.entries_done < len(state.restoring)
        return Moment.BACK_ENTRIES if entries else _BACK.get(step, Moment.BACK_ENTRIES)  # type: ignore[arg-type]
    if step is not None:
        written_again = step is OsdStep.COLLAPSING and state.own_entries_stay is not None
        return Moment.REPINNING if written_again else _FORWARD[step]
    if _WAITS_FOR_ONE_AWAY in (state.paused_reason or ''):
        return Moment.AWAY
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return Moment.PREFLIGHT
    if state.stage is Phase.COLLAPSING:
        return Moment.COLLAPSING
    if watched_batch(state) is not None:
        return Moment.JUDGING if undecided(state) else Moment.SOAKING
    return Moment.BETWEEN


class Planned(NamedTuple):
    """One event: what happens, when, and to which OSD.

    With a ``moment`` it happens when the rollout has been seen there ``after`` times; without one,
    after so many samples, counted from the start or from the previous event.
    """

    event: ChaosEvent
    after: int
    moment: Optional[Moment] = None
    #: The n-th OSD of the cluster; None: the one in flight, or the canary.
    osd: Optional[int] = None
    #: It waits for the act before it.
    follows: bool = False

    def __str__(self) -> str:
        target = 'the OSD in flight' if self.osd is None else f'OSD number {self.osd}'
        if self.moment is None:
            since = ' after that' if self.follows else ''
            return f'{self.after} samples{since}: {self.event.name} ({target})'
        return f'at "{self.moment.value}", {self.after} samples in: {self.event.name} ({target})'


class Change(str, Enum):
    """The change of the rollout, and the previous state."""

    ALL = 'the same string for all OSDs'
    ALL_OVER_ENTRY = 'another string in the entry for all OSDs'
    ALL_OVER_OWN = 'one entry for all instead of those of single OSDs'
    ALL_OVER_MASKED = 'one entry for all, with a masked one that has the string already'
    REACHES_OTHERS = 'one entry for all, though one device class is to change: to be refused'
    CLASS = 'one device class of several'
    REMOVE = 'no entry any more'
    REMOVE_ALIKE = 'removal of entries that are all equal'
    REMOVE_EQUAL = 'no entry any more, which equals the default: nothing restarts'


class Loop(str, Enum):
    """The driver of the rollout."""

    DRIVER = 'the driver alone'
    TUNER = 'the whole loop: sampling, advice, requests'
    AUTO_APPLY = 'the whole loop, which begins by itself'


@dataclass(frozen=True)
class Delays:
    """The delays of events and reports, in seconds."""

    report_s: float = 3.0
    pg_report_s: float = 3.0
    boot_s: float = 5.0
    recover_s: float = 12.0
    orchestrator_s: float = 1.0


@dataclass(frozen=True)
class Schedule:
    seed: str
    topology: Topology
    change: Change
    value: str
    soak: SoakPlan
    sample_every_s: float
    delays: Delays
    loop: Loop
    #: What the orchestrator has accepted ends with the manager in which it runs.
    orchestrator_forgets: bool
    #: Samples after which the operator ends the rollout, or repairs everything.
    max_samples: int
    events: tuple[Planned, ...]
    #: A rollout of any size is not ended before, and not changed afterwards.
    runs_to_completion: bool = False
    #: The option that it changes.
    option: str = OPTION
    #: Whether a gain is promised, and whether there is one.
    purpose: Purpose = Purpose.SAFETY
    gains: bool = False

    def lines(self) -> Iterator[str]:
        """The schedule, for people."""
        soak = 'nothing is watched'
        if self.soak.most_s:
            batches = self.soak.batches
            then = 'not watched' if batches is None else batches.inconclusive.value
            soak = f'soak up to {self.soak.most_s:.0f} s, {self.soak.inconclusive.value}'
            soak += f', batches {then}, for {self.purpose.value}, which comes: {self.gains}'
        yield f'seed {self.seed}: {self.topology}'
        samples = f'a sample every {self.sample_every_s:g} s'
        yield f'{self.option}: {self.change.value}, {self.loop.value}, {soak}, {samples}'
        yield f'{self.delays}, orchestrator_forgets={self.orchestrator_forgets}'
        if 'foo' in self.value:
            yield 'with the new string no OSD starts'
        for planned in self.events:
            yield f'  {planned}'


def nothing_planned(topology: Topology, *, forgets: bool = False) -> Schedule:
    """The part of a schedule that a world reads, for what is not a schedule of rollouts."""
    return Schedule(
        seed='',
        topology=topology,
        change=Change.ALL,
        value='',
        soak=SoakPlan(),
        sample_every_s=2.0,
        delays=Delays(),
        loop=Loop.DRIVER,
        orchestrator_forgets=forgets,
        max_samples=0,
        events=(),
    )

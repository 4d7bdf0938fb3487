"""The schedule of a seed: a cluster, a campaign over it, and faults aimed at its moments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Optional

from rocksdb_tuner.operations.compaction.records import CampaignState, CompactionStep
from rocksdb_tuner.operations.phases import Phase


class ChaosEvent(Enum):
    # -- managers
    FAIL_OVER = auto()
    KILLED_BEFORE_A_WRITE = auto()
    KILLED_AFTER_A_WRITE = auto()
    MANAGER_STALLS = auto()
    # -- operators
    PAUSE = auto()
    RESUME = auto()
    ABORT = auto()
    START_ANOTHER = auto()
    MODE_OFF = auto()
    MODE_OFF_IN_A_WRITE = auto()
    MODE_ON = auto()
    WINDOW_CLOSES = auto()
    WINDOW_OPENS = auto()
    OTHERS_COMPACT = auto()
    # -- OSDs
    RESTARTED_BY_HAND = auto()
    OSD_DIES = auto()
    OSD_STARTS = auto()
    DIES_AND_IS_OUT = auto()
    PURGED = auto()
    REPLACED = auto()
    MOVED = auto()
    STOPS_ANSWERING = auto()
    ANSWERS = auto()
    LOSES_COMMANDS = auto()
    REFUSES_COMMANDS = auto()
    TAKES_COMMANDS = auto()
    DB_IS_FULL = auto()
    # -- monitors
    WRITE_REFUSED = auto()
    WRITE_ANSWER_LOST = auto()
    COMMAND_LOST = auto()
    WRITE_DELAYED = auto()
    STORE_REFUSES = auto()
    STORE_BACK = auto()
    REFUSES_VERSIONS = auto()
    REFUSES_OK_TO_STOP = auto()
    MONITORS_BACK = auto()
    # -- the cluster as a whole
    FLAG = auto()
    NO_FLAG = auto()
    UNHEALTHY = auto()
    HEALTHY = auto()
    UPGRADE_BEGINS = auto()
    UPGRADE_ENDS = auto()
    CLOCK_FORWARD = auto()
    CLOCK_BACK = auto()
    CLIENTS_SLOW = auto()
    CLIENTS_FAST = auto()
    CLIENTS_STOP = auto()
    REPORTS_STOP = auto()
    REPORTS_COME = auto()
    OSD_NOT_SAMPLED = auto()
    WRITES_NOT_SAMPLED = auto()
    ALL_SAMPLED = auto()


#: These happen between two samples of the manager; all others may happen within one.
BETWEEN_SAMPLES = frozenset(
    {
        ChaosEvent.FAIL_OVER,
        ChaosEvent.MANAGER_STALLS,
        ChaosEvent.PAUSE,
        ChaosEvent.RESUME,
        ChaosEvent.ABORT,
        ChaosEvent.START_ANOTHER,
        # Read once a tick.
        ChaosEvent.MODE_OFF,
        ChaosEvent.MODE_ON,
        ChaosEvent.WINDOW_CLOSES,
        ChaosEvent.WINDOW_OPENS,
        ChaosEvent.CLIENTS_SLOW,
        ChaosEvent.CLIENTS_FAST,
        ChaosEvent.CLIENTS_STOP,
        ChaosEvent.DB_IS_FULL,
        ChaosEvent.REPORTS_STOP,
        ChaosEvent.REPORTS_COME,
        ChaosEvent.OSD_NOT_SAMPLED,
        ChaosEvent.WRITES_NOT_SAMPLED,
        ChaosEvent.ALL_SAMPLED,
    }
)

#: Lasting events, and the events that end them.
ENDS_WITH = {
    ChaosEvent.PAUSE: ChaosEvent.RESUME,
    ChaosEvent.MODE_OFF: ChaosEvent.MODE_ON,
    ChaosEvent.MODE_OFF_IN_A_WRITE: ChaosEvent.MODE_ON,
    ChaosEvent.WINDOW_CLOSES: ChaosEvent.WINDOW_OPENS,
    ChaosEvent.OSD_DIES: ChaosEvent.OSD_STARTS,
    ChaosEvent.STOPS_ANSWERING: ChaosEvent.ANSWERS,
    ChaosEvent.LOSES_COMMANDS: ChaosEvent.TAKES_COMMANDS,
    ChaosEvent.REFUSES_COMMANDS: ChaosEvent.TAKES_COMMANDS,
    ChaosEvent.STORE_REFUSES: ChaosEvent.STORE_BACK,
    ChaosEvent.REFUSES_VERSIONS: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_OK_TO_STOP: ChaosEvent.MONITORS_BACK,
    ChaosEvent.FLAG: ChaosEvent.NO_FLAG,
    ChaosEvent.UNHEALTHY: ChaosEvent.HEALTHY,
    ChaosEvent.UPGRADE_BEGINS: ChaosEvent.UPGRADE_ENDS,
    ChaosEvent.CLIENTS_SLOW: ChaosEvent.CLIENTS_FAST,
    ChaosEvent.REPORTS_STOP: ChaosEvent.REPORTS_COME,
    ChaosEvent.OSD_NOT_SAMPLED: ChaosEvent.ALL_SAMPLED,
    ChaosEvent.WRITES_NOT_SAMPLED: ChaosEvent.ALL_SAMPLED,
}


class Moment(str, Enum):
    """The state of a campaign."""

    BASELINE = 'before the first'
    BETWEEN = 'between two OSDs'
    COMPACTING = 'compacting'
    SETTLING = 'settling'
    ENDING = 'aborted, and still compacting'
    ENDED = 'ended'


def moment_of(state: CampaignState) -> Moment:
    if state.ended:
        return Moment.ENDED
    if state.ending is not None:
        return Moment.ENDING
    steps = {osd.step for osd in state.in_flight}
    if CompactionStep.COMPACTING in steps:
        return Moment.COMPACTING
    if steps:
        return Moment.SETTLING
    return Moment.BASELINE if state.stage is Phase.PREFLIGHT else Moment.BETWEEN


class Planned(NamedTuple):
    """One event: at a moment seen ``after`` times before, or so many samples after another."""

    event: ChaosEvent
    after: int
    moment: Optional[Moment] = None
    #: None: the OSD in flight, or the next one.
    osd: Optional[int] = None

    def __str__(self) -> str:
        when = (
            f'{self.after} samples after that'
            if self.moment is None
            else f'{self.after} samples in'
        )
        where = '' if self.moment is None else f'at "{self.moment.value}", '
        target = 'the OSD in flight' if self.osd is None else f'osd.{self.osd}'
        return f'{where}{when}: {self.event.name} ({target})'


@dataclass(frozen=True)
class Schedule:
    seed: str
    release: str
    osds: int
    per_host: int
    #: The type of the failure domain.
    kind: str
    parallel: int
    #: How long a compaction takes.
    takes_s: float
    sample_every_s: float
    #: Each with its follow-up some samples later, if any.
    events: tuple[tuple[Planned, ...], ...]

    def lines(self) -> Iterator[str]:
        """The schedule, for people."""
        yield (
            f'seed {self.seed}: {self.osds} OSDs of {self.release}, {self.per_host} on a host, by '
            f'{self.kind}; up to {self.parallel} at once, {self.takes_s:.0f} s each, '
            f'a sample every {self.sample_every_s:g} s'
        )
        for planned in self.events:
            yield '  ' + ', '.join(map(str, planned))


_MOMENTS = (
    Moment.BASELINE,
    *(Moment.BETWEEN,) * 3,
    *(Moment.COMPACTING,) * 4,
    *(Moment.SETTLING,) * 2,
    Moment.ENDING,
    Moment.ENDED,
)


#: Rare events. If a manager is killed, the OSD's number selects the write.
_SELDOM = (
    (Planned(ChaosEvent.ABORT, 2, Moment.COMPACTING),),
    # During an OSD that is done, and before the next one is started.
    (Planned(ChaosEvent.KILLED_AFTER_A_WRITE, 1, Moment.SETTLING, 0),),
    (Planned(ChaosEvent.KILLED_AFTER_A_WRITE, 9, Moment.SETTLING, 0),),
    # A manager that has not sampled for long.
    (
        Planned(ChaosEvent.FAIL_OVER, 1, Moment.BETWEEN),
        Planned(ChaosEvent.CLOCK_FORWARD, 3, Moment.BETWEEN, 0),
    ),
    # Ended, and not recorded yet.
    (
        Planned(ChaosEvent.KILLED_BEFORE_A_WRITE, 0, Moment.BASELINE, 1),
        Planned(ChaosEvent.ABORT, 1, Moment.BASELINE),
    ),
    (Planned(ChaosEvent.LOSES_COMMANDS, 0, Moment.BASELINE),),
    (Planned(ChaosEvent.REFUSES_COMMANDS, 0, Moment.SETTLING, 1),),
)


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    dice = random.Random(seed)
    osds = dice.choice((3, 4, 4, 6, 8))
    return Schedule(
        seed=seed,
        release=dice.choice(('pacific', 'reef')),
        osds=osds,
        per_host=dice.choice((1, 2, 2, 3)),
        kind=dice.choice(('host', 'host', 'rack', 'osd')),
        parallel=dice.choice((1, 1, 2, 2, 3)),
        takes_s=dice.choice((4.0, 30.0, 120.0)),
        sample_every_s=dice.choice((1.0, 2.0, 5.0)),
        events=tuple(_acts(dice, osds)),
    )


def _acts(dice: random.Random, osds: int) -> Iterator[tuple[Planned, ...]]:
    if dice.randrange(2):
        for planned in dice.choice(_SELDOM):
            yield (planned,)
    for _ in range(dice.choice((0, 1, 2, 3, 4, 5, 7))):
        event = dice.choice(tuple(ChaosEvent))
        if event is ChaosEvent.ABORT and dice.randrange(3):
            event = dice.choice(tuple(ChaosEvent))
        osd = None if dice.random() < 0.6 else dice.randrange(osds)
        first = Planned(event, int(dice.expovariate(1 / 3)), dice.choice(_MOMENTS), osd)
        if event in ENDS_WITH and dice.random() < 0.7:
            yield first, Planned(ENDS_WITH[event], 1 + int(dice.expovariate(1 / 12)), None, osd)
        else:
            yield (first,)

"""A schedule: a cluster, an experiment on it, and events at certain moments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Optional

from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.plan.experiment_design import ExperimentPlan
from rocksdb_tuner.tests.chaos.events import ENDS_WITH, OF_THE_LOOP, ChaosEvent, named
from rocksdb_tuner.tests.chaos.schedule import Moment as OfLeg
from rocksdb_tuner.tests.chaos.schedule import moment_of
from rocksdb_tuner.tests.chaos.topology import Shape, Spot, Topology, _groups, _pools
from rocksdb_tuner.tests.operations.experiment.conftest import plan

#: Of rollouts alone, or of the loop above them.
_NOT_HERE = OF_THE_LOOP | named(
    'MODULE_RELOADED ROLLBACK ROLLBACK_UNKNOWN APPLY_ANOTHER NEW_IS_SLOW'
)
ACTS = tuple(event for event in ChaosEvent if event not in _NOT_HERE)

#: These do not end by themselves here.
_NOT_ENDED = named('REFUSES_GET REPORTS_ARE_RARE')
#: They end most experiments: they are drawn less often.
_FINAL = named(
    'ABORT SETS_ALL SETS_OSD SETS_OSD_MASKED SETS_CLASS SETS_GLOBAL SETS_HOST SETS_OTHER_STRING '
    'OF_ANOTHER_RELEASE OSD_DIES CRASHES RESTARTED_BY_HAND'
)


class Moment(str, Enum):
    """The state of an experiment: faults are aimed at these."""

    BASELINE = 'baseline'
    BETWEEN = 'between two changes'
    MEASURING = 'measuring'
    BEGINNING = 'an OSD is about to be changed'
    SETTING = 'setting'
    RESTART_DUE = 'restart due'
    RESTARTING = 'restarting'
    CHECKING = 'checking'
    SETTLING = 'settling'
    RECOVERING = 'an OSD that failed is restored'
    DROPPING = 'some OSDs are restored'
    RESTORING_ENTRIES = 'all are restored: entries'
    RESTORING = 'all are restored: restarts'
    ENDED = 'ended'


_OF_CHANGE = {
    OfLeg.SETTING: Moment.SETTING,
    OfLeg.RESTART_DUE: Moment.RESTART_DUE,
    OfLeg.RESTARTING: Moment.RESTARTING,
    OfLeg.CHECKING: Moment.CHECKING,
    OfLeg.SETTLING: Moment.SETTLING,
}


def moment_in(state: ExperimentState) -> Moment:
    leg = state.leg
    if state.ended:
        return Moment.ENDED
    if leg is not None:
        found = moment_of(leg)
        if found.value.startswith('recover'):
            return Moment.RECOVERING
        if state.stage is Stage.RESTORING:
            entries = found is OfLeg.BACK_ENTRIES
            return Moment.RESTORING_ENTRIES if entries else Moment.RESTORING
        if found.value.startswith('rolling back'):
            return Moment.DROPPING
        return _OF_CHANGE.get(found, Moment.BEGINNING)
    if state.stage is Stage.MEASURING:
        return Moment.MEASURING
    return Moment.BETWEEN if state.stage is Stage.CHANGING else Moment.BASELINE


class Planned(NamedTuple):
    """One event: what happens, when, and to which OSD.

    It happens when the experiment was seen at ``moment`` ``after`` times; None: after so many
    samples.
    """

    event: ChaosEvent
    after: int
    moment: Optional[Moment]
    #: None: the OSD in flight, or the first of the arms.
    osd: Optional[int]

    def __str__(self) -> str:
        target = 'the OSD in flight' if self.osd is None else f'osd.{self.osd}'
        where = 'looks' if self.moment is None else f'samples at "{self.moment.value}"'
        return f'{self.after} {where}: {self.event.name} ({target})'


@dataclass(frozen=True)
class Schedule:
    seed: str
    topology: Topology
    request: ExperimentPlan
    #: OSDs with an entry of their own before, and whether there is one for all of them.
    own: tuple[int, ...]
    shared: bool
    sample_every_s: float
    recover_s: float
    forgets: bool
    #: With the string of this arm no OSD starts; None: with all of them OSDs do.
    bad: Optional[str]
    events: tuple[tuple[Planned, ...], ...]

    def lines(self) -> Iterator[str]:
        """The schedule, for people."""
        yield f'seed {self.seed}: {self.topology}; own entries {self.own}, shared {self.shared}'
        arms = {arm.name: arm.osds for arm in self.request.arms}
        yield f'arms {arms}, controls {self.request.controls}'
        yield f'bad arm {self.bad}, sampled every {self.sample_every_s:g} s, forgets={self.forgets}'
        for chain in self.events:
            yield '  ' + '; then '.join(map(str, chain))


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    dice = random.Random(seed)
    topology = _topology(dice)
    osds = list(range(len(topology.spots)))
    arms = dice.choice((('fast',), ('fast', 'slow'), ('slow', 'same'), ('fast', 'slow', 'same')))
    changed = sorted(dice.sample(osds, 2 * len(arms)))
    columns = tuple((changed[number], changed[number + len(arms)]) for number in range(len(arms)))
    controls = tuple(n for n in osds if n not in changed)[:4]
    planned = plan(
        arms,
        columns=columns,
        controls=controls,
        blocks=dice.choice((1, 2, 3)),
        settle_blocks=dice.choice((0, 1)),
        min_effect=dice.choice((0.1, 0.0001)),
    )
    return Schedule(
        seed=seed,
        topology=topology,
        request=planned,
        own=tuple(n for n in osds if dice.random() < 0.3) if dice.random() < 0.4 else (),
        shared=dice.random() < 0.3,
        sample_every_s=dice.choice((3.0, 6.0, 13.0)),
        recover_s=dice.choice((4.0, 12.0, 40.0)),
        forgets=dice.random() < 0.3,
        bad=dice.choice(arms) if dice.random() < 0.12 else None,
        events=tuple(_chain(dice, osds) for _ in range(dice.choice((1, 2, 3, 5, 8)))),
    )


def _chain(dice: random.Random, osds: list[int]) -> tuple[Planned, ...]:
    event = dice.choice(ACTS)
    if event in _FINAL and dice.random() < 0.5:
        event = dice.choice(ACTS)
    moment = (
        None if dice.random() < 0.15 else dice.choice([m for m in Moment if m.value != 'ended'])
    )
    after = dice.randrange(60) if moment is None else dice.choice((0, 0, 1, 2, 5))
    osd = None if dice.random() < 0.4 else dice.choice(osds)
    first = Planned(event, after, moment, osd)
    if event is ChaosEvent.ORCHESTRATOR_LATE:
        # The request is executed after an operator has restarted the OSD.
        return first, Planned(ChaosEvent.RESTARTED_BY_HAND, 0, Moment.RESTARTING, None)
    if event not in ENDS_WITH or event in _NOT_ENDED:
        return (first,)
    return first, Planned(ENDS_WITH[event], dice.choice((0, 2, 10, 40)), None, osd)


def _topology(dice: random.Random) -> Topology:
    hosts, per_host = dice.choice(((3, 3), (3, 4), (4, 3), (5, 2)))
    spots = tuple(
        Spot(f'node{host}', FailureDomain('host', f'node{host}'), 'ssd', 'default')
        for host in range(hosts)
        for _ in range(per_host)
    )
    pools = tuple(_pools(dice, Shape.FLAT, spots))
    return Topology(Shape.FLAT, spots, pools, tuple(_groups(dice, spots, pools)))

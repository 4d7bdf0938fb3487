"""The schedule of a seed: a cluster, a change of it, and faults aimed at where they are rare.

Most schedules have a theatre: a part of a rollout that they provoke, and whose moments most of
their faults are aimed at. A fault that waits for a moment that never comes does not happen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rocksdb_tuner.judge.records import Inconclusive, NoBenefit, SoakPlan
from rocksdb_tuner.plan.records import ANNEX, OPTION, Purpose
from rocksdb_tuner.tests.operations.rollout.conftest import NEW

from .acts import OF_THE_LOOP, Act
from .schedule import Change, Delays, Loop, Moment, Planned, Schedule
from .topology import Shape, drawn, large

BAD = 'write_buffer_size=foo'

_POLICIES = tuple(Inconclusive)
_CHANGES = (
    (Change.ALL,) * 3
    + (Change.ALL_OVER_ENTRY, Change.CLASS, Change.ALL_OVER_OWN) * 2
    + (
        Change.REACHES_OTHERS,
        Change.ALL_OVER_MASKED,
        Change.REMOVE,
        Change.REMOVE_ALIKE,
        Change.REMOVE_EQUAL,
    )
)
_TWO_CLASSES = {Change.CLASS, Change.REACHES_OTHERS}
_ON_THE_WAY = (
    Moment.BETWEEN,
    Moment.RESTARTING,
    Moment.CHECKING,
    Moment.SETTLING,
    Moment.COLLAPSING,
    Moment.SOAKING,
)


class _Theatre(NamedTuple):
    """A part of a rollout: what brings it about, and its moments."""

    moments: tuple[Moment, ...]
    #: Any one of them.
    provoked_by: tuple[tuple[Planned, ...], ...] = ((),)
    soaks: bool = False
    value: str = NEW
    #: Whether the cluster goes on without an OSD, in looks that do not take all of them to wait.
    spare: bool = False


def _aimed(act: Act, moment: Moment, after: int = 0) -> Planned:
    return Planned(act, after, moment)


_FAILURES = (
    (_aimed(Act.BREAKS, Moment.RESTARTING), _aimed(Act.OSD_HEALED, Moment.RECOVER_RESTART_DUE)),
    (_aimed(Act.STUBBORN, Moment.RESTARTING), _aimed(Act.OSD_HEALED, Moment.RECOVER_RESTORING)),
    (_aimed(Act.OVERRULED, Moment.RESTART_DUE), _aimed(Act.OSD_HEALED, Moment.RECOVER_RESTORING)),
    (_aimed(Act.CRASHES, Moment.RESTARTING), _aimed(Act.OSD_HEALED, Moment.RECOVER_RESTARTING)),
    (_aimed(Act.ABORT, Moment.CHECKING), _aimed(Act.SILENT, Moment.CHECKING)),
    (_aimed(Act.ABORT, Moment.RESTARTING), _aimed(Act.ORCHESTRATOR_IDLE, Moment.RESTART_DUE)),
    (_aimed(Act.SETS_ALL, Moment.RESTARTING), _aimed(Act.BREAKS, Moment.RESTARTING)),
    (_aimed(Act.PAUSE, Moment.RESTARTING), _aimed(Act.BREAKS, Moment.RESTARTING)),
    (_aimed(Act.PAUSE, Moment.CHECKING), _aimed(Act.STUBBORN, Moment.RESTARTING)),
)
_LATE = (
    Planned(Act.ORCHESTRATOR_LATE, 0, None, 1),
    _aimed(Act.RESTARTED_BY_HAND, Moment.RESTARTING),
)
_BACK = (
    Moment.BACK_ENTRIES,
    Moment.BACK_RESTART_DUE,
    Moment.BACK_RESTARTING,
    Moment.BACK_CHECKING,
    Moment.BACK_SETTLING,
)
_RECOVER = (
    Moment.RECOVER_RESTORING,
    Moment.RECOVER_RESTART_DUE,
    Moment.RECOVER_RESTARTING,
    Moment.RECOVER_CHECKING,
)
_FORWARD = (
    Moment.PREFLIGHT,
    Moment.BETWEEN,
    Moment.SETTING,
    Moment.RESTART_DUE,
    Moment.RESTARTING,
    Moment.CHECKING,
    Moment.SETTLING,
)
_SOAK = (Moment.SOAKING, Moment.JUDGING, Moment.SOAKING, Moment.BETWEEN)
_RESTARTED = (
    (),
    (),
    (_aimed(Act.RESTARTED_BY_HAND, Moment.CHECKING),),
    (_aimed(Act.RESTARTED_BY_HAND, Moment.SETTLING),),
)
#: OSDs that go away, or are others by now, at each place where a rollout may meet that. Number 2 is
#: in every cluster, and never the canary.
_LOST = (Act.PURGED, Act.REPLACED, Act.REPLACED_BY_ANOTHER_CLASS)
_IN_FLIGHT = (
    Moment.SETTING,
    Moment.RESTART_DUE,
    Moment.RESTARTING,
    Moment.CHECKING,
    Moment.SETTLING,
)
_LOST_IN_FLIGHT = tuple(
    (_aimed(act, moment, after),)
    for act in _LOST
    for moment in _IN_FLIGHT
    # At once it is the canary, and all ends; each of these is seen in another number of looks.
    for after in ((0, 1) if moment in {Moment.SETTING, Moment.RESTART_DUE} else (1, 8))
)
_LOST_PENDING = tuple(
    (Planned(act, 0, moment, 2),)
    for act in (*_LOST, *(Act.DIES_AND_IS_OUT,) * 6)
    for moment in (Moment.PREFLIGHT, Moment.SETTING, Moment.BETWEEN)
)
_LOST_AFTERWARDS = tuple(
    (Planned(act, after, moment, osd),)
    for act in _LOST
    for moment, after in ((Moment.COLLAPSING, 0), (Moment.COLLAPSING, 2), (Moment.BETWEEN, 1))
    for osd in (0, 2)
)
_LOST_ON_THE_WAY_BACK = (
    *(
        (_aimed(Act.ROLLBACK, begun), _aimed(act, moment))
        for begun in (Moment.COLLAPSING, Moment.ENDED)
        for act in _LOST
        for moment in (Moment.BACK_ENTRIES, Moment.BACK_RESTART_DUE, Moment.BACK_RESTARTING)
    ),
    *(
        (_aimed(Act.ROLLBACK, begun), Planned(Act.DIES_AND_IS_OUT, 0, moment, 2))
        for begun in (Moment.COLLAPSING, Moment.ENDED) * 3
        for moment in (Moment.BACK_ENTRIES, Moment.BACK_RESTART_DUE, Moment.BACK_RESTARTING)
    ),
    *(
        (_aimed(Act.BREAKS, Moment.RESTARTING, 5), _aimed(act, Moment.RECOVER_RESTART_DUE))
        for act in (Act.PURGED, Act.DIES_AND_IS_OUT)
    ),
)
_COLLAPSE = (Moment.COLLAPSING, Moment.COLLAPSING_OSD, Moment.REPINNING)
#: Over within a look, unless something stands in the way.
_PASSED_AT_ONCE = {Moment.LEAVING, Moment.REPINNING}
_THEATRES = (
    *(_Theatre(_FORWARD, _RESTARTED),) * 3,
    *(_Theatre(_SOAK, ((), (_aimed(Act.RESTARTED_BY_HAND, Moment.SOAKING, 1),)), soaks=True),) * 3,
    # Nothing to measure: a soak that ends without a verdict.
    _Theatre((Moment.JUDGING, Moment.BETWEEN), ((Planned(Act.CLIENTS_STOP, 0),),), soaks=True),
    *(_Theatre(_COLLAPSE),) * 3,
    _Theatre(_RECOVER, value=BAD),
    *(_Theatre(_RECOVER, _FAILURES),) * 2,
    *(
        _Theatre(
            _BACK, tuple((_aimed(Act.ROLLBACK, moment),) for moment in (*_ON_THE_WAY, Moment.ENDED))
        ),
    )
    * 3,
    _Theatre(_FORWARD, (_LATE,)),
    _Theatre(_BACK, ((Planned(Act.NEW_IS_SLOW, 0),),), soaks=True),
    _Theatre((*_RECOVER, *_BACK), ((_aimed(Act.BREAKS, Moment.RESTARTING, 9),),)),
    _Theatre((Moment.ENDED, *_BACK), ((_aimed(Act.ROLLBACK, Moment.ENDED),),)),
    _Theatre((Moment.LEAVING,), _LOST_IN_FLIGHT),
    _Theatre((Moment.LEAVING, Moment.LEAVING, Moment.COLLAPSING), _LOST_AFTERWARDS),
    *(_Theatre((Moment.AWAY, Moment.BETWEEN, Moment.COLLAPSING), _LOST_PENDING, spare=True),) * 2,
    _Theatre(_BACK, _LOST_ON_THE_WAY_BACK, spare=True),
)

#: Where only entries change.
_WITHOUT_RESTARTS = (
    _Theatre(_COLLAPSE),
    _Theatre((Moment.ENDED, Moment.BACK_ENTRIES), ((_aimed(Act.ROLLBACK, Moment.ENDED),),)),
)

#: What goes on until something ends it, and what ends it.
_ENDS_WITH = {
    Act.PAUSE: Act.RESUME,
    Act.OTHER_OPERATOR_PAUSES: Act.RESUME,
    Act.MODE_OFF: Act.MODE_ON,
    Act.MODE_OFF_IN_A_WRITE: Act.MODE_ON,
    Act.WINDOW_CLOSES: Act.WINDOW_OPENS,
    Act.OSD_DIES: Act.OSD_STARTS,
    Act.HOST_DIES: Act.HOST_STARTS,
    Act.MARKED_OUT: Act.MARKED_IN,
    Act.ORCHESTRATOR_GONE: Act.ORCHESTRATOR_BACK,
    Act.ORCHESTRATOR_IDLE: Act.ORCHESTRATOR_BACK,
    Act.ORCHESTRATOR_REFUSES: Act.ORCHESTRATOR_BACK,
    Act.REFUSES_SET: Act.MONITORS_BACK,
    Act.REFUSES_RM: Act.MONITORS_BACK,
    Act.REFUSES_DUMP: Act.MONITORS_BACK,
    Act.REFUSES_GET: Act.MONITORS_BACK,
    Act.REFUSES_OK_TO_STOP: Act.MONITORS_BACK,
    Act.REFUSES_VERSIONS: Act.MONITORS_BACK,
    Act.MONITORS_SLOW: Act.MONITORS_BACK,
    Act.STORE_REFUSES: Act.STORE_BACK,
    Act.FLAG: Act.NO_FLAG,
    Act.NEARFULL: Act.NO_NEARFULL,
    Act.SCRUB_FINDS_DAMAGE: Act.DAMAGE_REPAIRED,
    Act.UPGRADE_BEGINS: Act.UPGRADE_ENDS,
    Act.REPORTS_STOP: Act.REPORTS_COME,
    Act.CLIENTS_STOP: Act.CLIENTS_COME,
    Act.ADVICE_RAISES: Act.ADVICE_WORKS,
    Act.SAMPLING_RAISES: Act.SAMPLING_WORKS,
}
#: They end most rollouts: one in so many is drawn.
_FINAL = {Act.ABORT, Act.SETS_ALL, Act.SETS_OSD, Act.SETS_CLASS, Act.SETS_GLOBAL, Act.ROLLBACK}


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    dice = random.Random(seed)
    loop = dice.choices((Loop.DRIVER, Loop.TUNER, Loop.AUTO_APPLY), (8, 2, 1))[0]
    change = Change.REMOVE_EQUAL if loop is Loop.AUTO_APPLY else dice.choice(_CHANGES)
    theatre = dice.choice(_THEATRES if change is not Change.REMOVE_EQUAL else _WITHOUT_RESTARTS)
    topology = drawn(dice, two_classes=change in _TWO_CLASSES, spare=theatre.spare)
    soaks = theatre.soaks or dice.random() < 0.15
    large = topology.shape is Shape.LARGE
    # Dice of their own: what was drawn before there were two options stays what it was.
    of_strings = random.Random(f'{seed}:strings')
    of_annex = not change.name.startswith('REMOVE') and of_strings.random() < 0.3
    of_purpose = random.Random(f'{seed}:purpose')
    soak = _soak(dice) if soaks and not large else SoakPlan()
    loop = Loop.DRIVER if large and loop is Loop.TUNER else loop
    return Schedule(
        seed=seed,
        topology=topology,
        change=change,
        value=theatre.value if not change.name.startswith('REMOVE') else NEW,
        soak=replace(soak, no_benefit=of_purpose.choice(tuple(NoBenefit))),
        purpose=of_purpose.choice(tuple(Purpose)),
        gains=of_purpose.random() < 0.5,
        look_every_s=dice.choice((10.0, 20.0) if theatre.spare else (2.0, 5.0, 10.0)),
        delays=_delays(dice),
        loop=loop,
        orchestrator_forgets=dice.random() < 0.5,
        most_looks=60 if large else dice.choice((120, 250)),
        acts=(
            *_acts(dice, theatre, len(topology.spots), loop),
            *_other_string(of_strings, theatre),
        ),
        option=ANNEX if of_annex else OPTION,
    )


def _other_string(dice: random.Random, theatre: _Theatre) -> Iterator[Planned]:
    if dice.random() < 0.05:
        moment = dice.choice((*theatre.moments, *_ON_THE_WAY))
        yield _aimed(Act.SETS_OTHER_STRING, moment, int(dice.expovariate(1 / 1.5)))


def _soak(dice: random.Random) -> SoakPlan:
    batches = dice.choice(
        (None, SoakPlan(), *(SoakPlan(0.0, 240.0, policy) for policy in _POLICIES))
    )
    return SoakPlan(0.0, 240.0, dice.choice(_POLICIES), batches)


def _delays(dice: random.Random) -> Delays:
    """Within what the product is told to expect (`rollout.rules.Limits`)."""
    return Delays(
        report_s=dice.choice((0.0, 3.0, 4.0)),
        pg_report_s=dice.choice((1.0, 3.0, 4.0)),
        boot_s=dice.choice((1.0, 5.0, 5.0, 25.0)),
        recover_s=dice.choice((4.0, 12.0, 12.0, 40.0)),
        orchestrator_s=dice.choice((0.0, 1.0, 1.0, 8.0)),
    )


def _acts(dice: random.Random, theatre: _Theatre, osds: int, loop: Loop) -> Iterator[Planned]:
    if dice.random() < 0.2:
        yield Planned(Act.DAILY_LIMIT, 0, None, dice.randrange(osds))
    yield from dice.choice(theatre.provoked_by)
    possible = [
        act
        for act in Act
        if act is not Act.SETS_OTHER_STRING and (loop is not Loop.DRIVER or act not in OF_THE_LOOP)
    ]
    for _ in range(dice.choice((0, 1, 2, 3, 4, 5, 6, 8))):
        act = dice.choice(possible)
        if act in _FINAL and dice.randrange(3):
            act = dice.choice(possible)
        moments: Sequence[Moment] = theatre.moments
        if dice.random() < 0.2:
            moments = _ON_THE_WAY
        after = int(dice.expovariate(1 / 1.5))
        target = None if dice.random() < 0.5 else dice.randrange(osds)
        aimed = dice.random() < 0.85
        moment = dice.choice(moments) if aimed else None
        if moment in _PASSED_AT_ONCE:
            after = 0
        yield Planned(act, after if aimed else int(dice.expovariate(1 / 12)), moment, target)
        if act in _ENDS_WITH and dice.random() < 0.7:
            # After so many looks more, wherever that is.
            looks = 1 + int(dice.expovariate(1 / 10))
            yield Planned(_ENDS_WITH[act], looks, None, target, follows=True)


def whole_rollout(osds: int) -> Schedule:
    """A rollout of many OSDs, of one device class, that runs to its end beside a few faults."""
    dice = random.Random(f'whole:{osds}')
    quarter = osds // 4
    return Schedule(
        seed=f'whole:{osds}',
        topology=large(osds, dice),
        change=Change.CLASS,
        value=NEW,
        soak=SoakPlan(),
        look_every_s=10.0,
        # As little as may be: each second of a large cluster costs.
        delays=Delays(report_s=0.0, pg_report_s=1.0, boot_s=1.0, recover_s=4.0),
        loop=Loop.DRIVER,
        orchestrator_forgets=True,
        most_looks=40 * osds,
        runs_whole=True,
        acts=(
            _aimed(Act.FAIL_OVER, Moment.RESTARTING, quarter),
            _aimed(Act.KILLED_AFTER_A_WRITE, Moment.BETWEEN, quarter),
            Planned(Act.PURGED, quarter, Moment.RESTARTING, osds - 7),
            Planned(Act.REPLACED, quarter // 2, Moment.RESTARTING, osds - 2),
            _aimed(Act.WRITE_REFUSED, Moment.RESTARTING, quarter // 2),
            Planned(Act.JOINS, quarter // 3, Moment.RESTARTING, 1),
            _aimed(Act.PAUSE, Moment.RESTARTING, quarter // 4),
            Planned(Act.RESUME, 5, None, None, follows=True),
        ),
    )

"""The schedule of a seed: a cluster, a change of it, and faults aimed at rare moments.

Most schedules have a focus: a part of a rollout that they provoke, and whose moments most of their
faults are aimed at. A fault whose moment never comes does not happen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.plan.records import ANNEX, OPTION, Purpose
from rocksdb_tuner.tests.operations.rollout.conftest import NEW

from .chaos_events import OF_THE_LOOP, ChaosEvent
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


class _Focus(NamedTuple):
    """A part of a rollout: the events that provoke it, and its moments."""

    moments: tuple[Moment, ...]
    #: Any one of them.
    provoked_by: tuple[tuple[Planned, ...], ...] = ((),)
    soaks: bool = False
    value: str = NEW
    #: Whether the cluster continues without an OSD, within fewer samples than the maximum.
    spare: bool = False


def _aimed(event: ChaosEvent, moment: Moment, after: int = 0) -> Planned:
    return Planned(event, after, moment)


_FAILURES = (
    (
        _aimed(ChaosEvent.BREAKS, Moment.RESTARTING),
        _aimed(ChaosEvent.OSD_HEALED, Moment.RECOVER_RESTART_DUE),
    ),
    (
        _aimed(ChaosEvent.STUBBORN, Moment.RESTARTING),
        _aimed(ChaosEvent.OSD_HEALED, Moment.RECOVER_RESTORING),
    ),
    (
        _aimed(ChaosEvent.OVERRULED, Moment.RESTART_DUE),
        _aimed(ChaosEvent.OSD_HEALED, Moment.RECOVER_RESTORING),
    ),
    (
        _aimed(ChaosEvent.CRASHES, Moment.RESTARTING),
        _aimed(ChaosEvent.OSD_HEALED, Moment.RECOVER_RESTARTING),
    ),
    (_aimed(ChaosEvent.ABORT, Moment.CHECKING), _aimed(ChaosEvent.SILENT, Moment.CHECKING)),
    (
        _aimed(ChaosEvent.ABORT, Moment.RESTARTING),
        _aimed(ChaosEvent.ORCHESTRATOR_IDLE, Moment.RESTART_DUE),
    ),
    (_aimed(ChaosEvent.SETS_ALL, Moment.RESTARTING), _aimed(ChaosEvent.BREAKS, Moment.RESTARTING)),
    (_aimed(ChaosEvent.PAUSE, Moment.RESTARTING), _aimed(ChaosEvent.BREAKS, Moment.RESTARTING)),
    (_aimed(ChaosEvent.PAUSE, Moment.CHECKING), _aimed(ChaosEvent.STUBBORN, Moment.RESTARTING)),
)
_LATE = (
    Planned(ChaosEvent.ORCHESTRATOR_LATE, 0, None, 1),
    _aimed(ChaosEvent.RESTARTED_BY_HAND, Moment.RESTARTING),
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
    (_aimed(ChaosEvent.RESTARTED_BY_HAND, Moment.CHECKING),),
    (_aimed(ChaosEvent.RESTARTED_BY_HAND, Moment.SETTLING),),
)
#: OSDs that go away, or are others by now, at each place where a rollout may meet that. Number 2 is
#: in every cluster, and never the canary.
_LOST = (ChaosEvent.PURGED, ChaosEvent.REPLACED, ChaosEvent.REPLACED_BY_ANOTHER_CLASS)
_IN_FLIGHT = (
    Moment.SETTING,
    Moment.RESTART_DUE,
    Moment.RESTARTING,
    Moment.CHECKING,
    Moment.SETTLING,
)
_LOST_IN_FLIGHT = tuple(
    (_aimed(event, moment, after),)
    for event in _LOST
    for moment in _IN_FLIGHT
    # At once it is the canary, and everything ends; each of these is noticed in a different number
    # of samples.
    for after in ((0, 1) if moment in {Moment.SETTING, Moment.RESTART_DUE} else (1, 8))
)
_LOST_PENDING = tuple(
    (Planned(event, 0, moment, 2),)
    for event in (*_LOST, *(ChaosEvent.DIES_AND_IS_OUT,) * 6)
    for moment in (Moment.PREFLIGHT, Moment.SETTING, Moment.BETWEEN)
)
_LOST_AFTERWARDS = tuple(
    (Planned(event, after, moment, osd),)
    for event in _LOST
    for moment, after in ((Moment.COLLAPSING, 0), (Moment.COLLAPSING, 2), (Moment.BETWEEN, 1))
    for osd in (0, 2)
)
_LOST_IN_ROLLBACK = (
    *(
        (_aimed(ChaosEvent.ROLLBACK, started), _aimed(event, moment))
        for started in (Moment.COLLAPSING, Moment.ENDED)
        for event in _LOST
        for moment in (Moment.BACK_ENTRIES, Moment.BACK_RESTART_DUE, Moment.BACK_RESTARTING)
    ),
    *(
        (_aimed(ChaosEvent.ROLLBACK, started), Planned(ChaosEvent.DIES_AND_IS_OUT, 0, moment, 2))
        for started in (Moment.COLLAPSING, Moment.ENDED) * 3
        for moment in (Moment.BACK_ENTRIES, Moment.BACK_RESTART_DUE, Moment.BACK_RESTARTING)
    ),
    *(
        (_aimed(ChaosEvent.BREAKS, Moment.RESTARTING, 5), _aimed(event, Moment.RECOVER_RESTART_DUE))
        for event in (ChaosEvent.PURGED, ChaosEvent.DIES_AND_IS_OUT)
    ),
)
#: An OSD does not start, and it is hard to restore it: the monitors refuse to store, or to remove
#: its entry, and operators or other managers come in between.
_HARD_TO_RESTORE = (
    *(
        (_aimed(ChaosEvent.STORE_REFUSES, moment, after),)
        for moment in (Moment.RESTARTING, Moment.RECOVER_RESTORING, Moment.RECOVER_RESTARTING)
        for after in (0, 1)
    ),
    (
        _aimed(ChaosEvent.STORE_REFUSES, Moment.RESTARTING),
        _aimed(ChaosEvent.FAIL_OVER, Moment.RECOVER_RESTARTING),
    ),
    (
        _aimed(ChaosEvent.STORE_REFUSES, Moment.RESTARTING),
        _aimed(ChaosEvent.FAIL_OVER, Moment.RESTARTING, 3),
    ),
    *(
        (
            _aimed(ChaosEvent.REFUSES_RM, Moment.RESTARTING),
            *(_aimed(ChaosEvent.ABORT, Moment.RECOVER_RESTORING, n) for n in range(aborts)),
            Planned(ChaosEvent.MONITORS_BACK, 5, None, None, follows=True),
        )
        for aborts in (1, 2)
    ),
    (_aimed(ChaosEvent.ABORT, Moment.RECOVER_RESTARTING),),
    (
        _aimed(ChaosEvent.ROLLBACK, Moment.RESTARTING, 2),
        _aimed(ChaosEvent.ABORT, Moment.BACK_ENTRIES),
    ),
    (
        _aimed(ChaosEvent.ROLLBACK, Moment.RESTARTING, 2),
        _aimed(ChaosEvent.ABORT, Moment.BACK_RESTARTING),
    ),
)
_COLLAPSE = (Moment.COLLAPSING, Moment.COLLAPSING_OSD, Moment.REPINNING)
#: Over within a sample, unless something blocks it.
_PASSED_AT_ONCE = {Moment.LEAVING, Moment.REPINNING}
_FOCI = (
    *(_Focus(_FORWARD, _RESTARTED),) * 3,
    *(_Focus(_SOAK, ((), (_aimed(ChaosEvent.RESTARTED_BY_HAND, Moment.SOAKING, 1),)), soaks=True),)
    * 3,
    # Nothing to measure: a soak that ends without a verdict.
    _Focus((Moment.JUDGING, Moment.BETWEEN), ((Planned(ChaosEvent.CLIENTS_STOP, 0),),), soaks=True),
    *(_Focus(_COLLAPSE),) * 3,
    _Focus(_RECOVER, value=BAD),
    *(_Focus(_RECOVER, _FAILURES),) * 2,
    *(
        _Focus(
            _BACK,
            tuple(
                (_aimed(ChaosEvent.ROLLBACK, moment),) for moment in (*_ON_THE_WAY, Moment.ENDED)
            ),
        ),
    )
    * 3,
    _Focus(_FORWARD, (_LATE,)),
    _Focus(_BACK, ((Planned(ChaosEvent.NEW_IS_SLOW, 0),),), soaks=True),
    _Focus((*_RECOVER, *_BACK), ((_aimed(ChaosEvent.BREAKS, Moment.RESTARTING, 9),),)),
    _Focus((Moment.ENDED, *_BACK), ((_aimed(ChaosEvent.ROLLBACK, Moment.ENDED),),)),
    _Focus((Moment.LEAVING,), _LOST_IN_FLIGHT),
    _Focus((Moment.LEAVING, Moment.LEAVING, Moment.COLLAPSING), _LOST_AFTERWARDS),
    *(_Focus((Moment.AWAY, Moment.BETWEEN, Moment.COLLAPSING), _LOST_PENDING, spare=True),) * 2,
    _Focus(_BACK, _LOST_IN_ROLLBACK, spare=True),
    *(_Focus(_RECOVER, _HARD_TO_RESTORE, value=BAD),) * 2,
)

#: Without restarts.
_WITHOUT_RESTARTS = (
    _Focus(_COLLAPSE),
    _Focus((Moment.ENDED, Moment.BACK_ENTRIES), ((_aimed(ChaosEvent.ROLLBACK, Moment.ENDED),),)),
)

#: Lasting events, and the events that end them.
_ENDS_WITH = {
    ChaosEvent.PAUSE: ChaosEvent.RESUME,
    ChaosEvent.OTHER_OPERATOR_PAUSES: ChaosEvent.RESUME,
    ChaosEvent.MODE_OFF: ChaosEvent.MODE_ON,
    ChaosEvent.MODE_OFF_IN_A_WRITE: ChaosEvent.MODE_ON,
    ChaosEvent.WINDOW_CLOSES: ChaosEvent.WINDOW_OPENS,
    ChaosEvent.OSD_DIES: ChaosEvent.OSD_STARTS,
    ChaosEvent.HOST_DIES: ChaosEvent.HOST_STARTS,
    ChaosEvent.MARKED_OUT: ChaosEvent.MARKED_IN,
    ChaosEvent.ORCHESTRATOR_GONE: ChaosEvent.ORCHESTRATOR_BACK,
    ChaosEvent.ORCHESTRATOR_IDLE: ChaosEvent.ORCHESTRATOR_BACK,
    ChaosEvent.ORCHESTRATOR_REFUSES: ChaosEvent.ORCHESTRATOR_BACK,
    ChaosEvent.REFUSES_SET: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_RM: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_DUMP: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_GET: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_OK_TO_STOP: ChaosEvent.MONITORS_BACK,
    ChaosEvent.REFUSES_VERSIONS: ChaosEvent.MONITORS_BACK,
    ChaosEvent.MONITORS_SLOW: ChaosEvent.MONITORS_BACK,
    ChaosEvent.STORE_REFUSES: ChaosEvent.STORE_BACK,
    ChaosEvent.FLAG: ChaosEvent.NO_FLAG,
    ChaosEvent.NEARFULL: ChaosEvent.NO_NEARFULL,
    ChaosEvent.SCRUB_FINDS_DAMAGE: ChaosEvent.DAMAGE_REPAIRED,
    ChaosEvent.UPGRADE_BEGINS: ChaosEvent.UPGRADE_ENDS,
    ChaosEvent.REPORTS_STOP: ChaosEvent.REPORTS_COME,
    ChaosEvent.REPORTS_ARE_RARE: ChaosEvent.REPORTS_ARE_FREQUENT,
    ChaosEvent.CLIENTS_STOP: ChaosEvent.CLIENTS_COME,
    ChaosEvent.ADVICE_RAISES: ChaosEvent.ADVICE_WORKS,
    ChaosEvent.SAMPLING_RAISES: ChaosEvent.SAMPLING_WORKS,
}
#: By dice of their own: what was drawn before there were these stays what it was.
_DRAWN_APART = {
    ChaosEvent.SETS_OTHER_STRING,
    ChaosEvent.SAMPLES_STOP,
    ChaosEvent.SAMPLES_COME,
}
#: They end most rollouts: one in so many is drawn.
_FINAL = {
    ChaosEvent.ABORT,
    ChaosEvent.SETS_ALL,
    ChaosEvent.SETS_OSD,
    ChaosEvent.SETS_CLASS,
    ChaosEvent.SETS_GLOBAL,
    ChaosEvent.ROLLBACK,
}


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    dice = random.Random(seed)
    loop = dice.choices((Loop.DRIVER, Loop.TUNER, Loop.AUTO_APPLY), (8, 2, 1))[0]
    change = Change.REMOVE_EQUAL if loop is Loop.AUTO_APPLY else dice.choice(_CHANGES)
    focus = dice.choice(_FOCI if change is not Change.REMOVE_EQUAL else _WITHOUT_RESTARTS)
    topology = drawn(dice, two_classes=change in _TWO_CLASSES, spare=focus.spare)
    soaks = focus.soaks or dice.random() < 0.15
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
        value=focus.value if not change.name.startswith('REMOVE') else NEW,
        soak=soak,
        purpose=of_purpose.choice(tuple(Purpose)),
        gains=of_purpose.random() < 0.5,
        sample_every_s=dice.choice((10.0, 20.0) if focus.spare else (2.0, 5.0, 10.0)),
        delays=_delays(dice),
        loop=loop,
        orchestrator_forgets=dice.random() < 0.5,
        max_samples=60 if large else dice.choice((120, 250)),
        events=(
            *_acts(dice, focus, len(topology.spots), loop),
            *_other_string(of_strings, focus),
            *_silence(random.Random(f'{seed}:samples'), len(topology.spots)),
        ),
        option=ANNEX if of_annex else OPTION,
    )


def _other_string(dice: random.Random, focus: _Focus) -> Iterator[Planned]:
    if dice.random() < 0.05:
        moment = dice.choice((*focus.moments, *_ON_THE_WAY))
        yield _aimed(ChaosEvent.SETS_OTHER_STRING, moment, int(dice.expovariate(1 / 1.5)))


def _silence(dice: random.Random, osds: int) -> Iterator[Planned]:
    """The canary or another OSD reports no more, and mostly long enough to be missed."""
    if dice.random() < 0.1:
        moment = dice.choice((Moment.PREFLIGHT, Moment.BETWEEN, Moment.SOAKING, Moment.SETTLING))
        osd = dice.choice((None, dice.randrange(osds)))
        yield Planned(ChaosEvent.SAMPLES_STOP, 0, moment, osd)
        if dice.random() < 0.7:
            samples = 1 + int(dice.expovariate(1 / 40))
            yield Planned(ChaosEvent.SAMPLES_COME, samples, None, osd, follows=True)


def _soak(dice: random.Random) -> SoakPlan:
    batches = dice.choice(
        (None, SoakPlan(), *(SoakPlan(0.0, 240.0, policy) for policy in _POLICIES))
    )
    return SoakPlan(0.0, 240.0, dice.choice(_POLICIES), batches)


def _delays(dice: random.Random) -> Delays:
    """Within the configured limits of the product (`rollout.rules.Limits`)."""
    return Delays(
        report_s=dice.choice((0.0, 3.0, 4.0)),
        pg_report_s=dice.choice((1.0, 4.0, 5.0, 5.0, 5.0, dice.uniform(5.0, 75.0))),
        boot_s=dice.choice((1.0, 5.0, 5.0, 25.0)),
        recover_s=dice.choice((4.0, 12.0, 12.0, 40.0)),
        orchestrator_s=dice.choice((0.0, 1.0, 1.0, 8.0)),
    )


def _acts(dice: random.Random, focus: _Focus, osds: int, loop: Loop) -> Iterator[Planned]:
    if dice.random() < 0.2:
        yield Planned(ChaosEvent.DAILY_LIMIT, 0, None, dice.randrange(osds))
    yield from dice.choice(focus.provoked_by)
    possible = [
        event
        for event in ChaosEvent
        if event not in _DRAWN_APART and (loop is not Loop.DRIVER or event not in OF_THE_LOOP)
    ]
    for _ in range(dice.choice((0, 1, 2, 3, 4, 5, 6, 8))):
        event = dice.choice(possible)
        if event in _FINAL and dice.randrange(3):
            event = dice.choice(possible)
        moments: Sequence[Moment] = focus.moments
        if dice.random() < 0.2:
            moments = _ON_THE_WAY
        after = int(dice.expovariate(1 / 1.5))
        target = None if dice.random() < 0.5 else dice.randrange(osds)
        aimed = dice.random() < 0.85
        moment = dice.choice(moments) if aimed else None
        if moment in _PASSED_AT_ONCE:
            after = 0
        yield Planned(event, after if aimed else int(dice.expovariate(1 / 12)), moment, target)
        if event in _ENDS_WITH and dice.random() < 0.7:
            # After this many more samples, at any moment.
            samples = 1 + int(dice.expovariate(1 / 10))
            yield Planned(_ENDS_WITH[event], samples, None, target, follows=True)


def complete_rollout(osds: int) -> Schedule:
    """A complete rollout of many OSDs, of one device class, with a few faults."""
    dice = random.Random(f'whole:{osds}')
    quarter = osds // 4
    return Schedule(
        seed=f'whole:{osds}',
        topology=large(osds, dice),
        change=Change.CLASS,
        value=NEW,
        soak=SoakPlan(),
        sample_every_s=10.0,
        # As little as may be: each second of a large cluster costs.
        delays=Delays(report_s=0.0, pg_report_s=1.0, boot_s=1.0, recover_s=4.0),
        loop=Loop.DRIVER,
        orchestrator_forgets=True,
        max_samples=40 * osds,
        runs_to_completion=True,
        events=(
            _aimed(ChaosEvent.FAIL_OVER, Moment.RESTARTING, quarter),
            _aimed(ChaosEvent.KILLED_AFTER_A_WRITE, Moment.BETWEEN, quarter),
            Planned(ChaosEvent.PURGED, quarter, Moment.RESTARTING, osds - 7),
            Planned(ChaosEvent.REPLACED, quarter // 2, Moment.RESTARTING, osds - 2),
            _aimed(ChaosEvent.WRITE_REFUSED, Moment.RESTARTING, quarter // 2),
            Planned(ChaosEvent.JOINS, quarter // 3, Moment.RESTARTING, 1),
            _aimed(ChaosEvent.PAUSE, Moment.RESTARTING, quarter // 4),
            Planned(ChaosEvent.RESUME, 5, None, None, follows=True),
        ),
    )

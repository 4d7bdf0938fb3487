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

from .events import ENDS_WITH, OF_THE_LOOP, ChaosEvent, named
from .schedule import Change, Delays, Loop, Moment, Planned, Schedule
from .topology import Shape, drawn, large

BAD = 'write_buffer_size=foo'

_POLICIES = tuple(Inconclusive)
_CHANGES = (
    *(Change.ALL,) * 3,
    *(Change.ALL_OVER_ENTRY, Change.CLASS, Change.ALL_OVER_OWN) * 2,
    *(Change.REACHES_OTHERS, Change.ALL_OVER_MASKED),
    *(Change.REMOVE, Change.REMOVE_ALIKE, Change.REMOVE_EQUAL),
)
_TWO_CLASSES = {Change.CLASS, Change.REACHES_OTHERS}


def _moments(names: str) -> tuple[Moment, ...]:
    return tuple(Moment[name] for name in names.split())


def _event(text: str) -> Planned:
    """As in "BREAKS RESTARTING 5 #2": the sixth time it is seen there, the OSD number 2.

    Without a moment, after so many samples; "then": after the event before it.
    """
    name, *words = text.split()
    moment = next((Moment[word] for word in words if word in Moment.__members__), None)
    after = next((int(word) for word in words if word.isdigit()), 0)
    osd = next((int(word[1:]) for word in words if word.startswith('#')), None)
    return Planned(ChaosEvent[name], after, moment, osd, follows='then' in words)


def _plans(*lines: str) -> tuple[tuple[Planned, ...], ...]:
    """In each line events of one schedule, separated by commas."""
    return tuple(tuple(map(_event, filter(None, line.split(', ')))) for line in lines)


class _Focus(NamedTuple):
    """A part of a rollout: the events that provoke it, and its moments."""

    moments: tuple[Moment, ...]
    #: Any one of them.
    provoked_by: tuple[tuple[Planned, ...], ...] = ((),)
    soaks: bool = False
    value: str = NEW
    #: Whether the cluster continues without an OSD, within fewer samples than the maximum.
    spare: bool = False


_ON_THE_WAY = _moments('BETWEEN RESTARTING CHECKING SETTLING COLLAPSING SOAKING')
_BACK = _moments('BACK_ENTRIES BACK_RESTART_DUE BACK_RESTARTING BACK_CHECKING BACK_SETTLING')
_RECOVER = _moments('RECOVER_RESTORING RECOVER_RESTART_DUE RECOVER_RESTARTING RECOVER_CHECKING')
_FORWARD = _moments('PREFLIGHT BETWEEN SETTING RESTART_DUE RESTARTING CHECKING SETTLING')
_SOAK = _moments('SOAKING JUDGING SOAKING BETWEEN')
_COLLAPSE = _moments('COLLAPSING COLLAPSING_OSD REPINNING')
#: Over within a sample, unless something blocks it.
_PASSED_AT_ONCE = {Moment.LEAVING, Moment.REPINNING}
_FAILURES = _plans(
    'BREAKS RESTARTING, OSD_HEALED RECOVER_RESTART_DUE',
    'STUBBORN RESTARTING, OSD_HEALED RECOVER_RESTORING',
    'OVERRULED RESTART_DUE, OSD_HEALED RECOVER_RESTORING',
    'CRASHES RESTARTING, OSD_HEALED RECOVER_RESTARTING',
    'ABORT CHECKING, SILENT CHECKING',
    'ABORT RESTARTING, ORCHESTRATOR_IDLE RESTART_DUE',
    'SETS_ALL RESTARTING, BREAKS RESTARTING',
    'PAUSE RESTARTING, BREAKS RESTARTING',
    'PAUSE CHECKING, STUBBORN RESTARTING',
)
#: OSDs that go away, or are others by now, at each place where a rollout may meet that. Number 2 is
#: in every cluster, and never the canary.
_LOST = ('PURGED', 'REPLACED', 'REPLACED_BY_ANOTHER_CLASS')
_LOST_IN_FLIGHT = _plans(
    *(
        # At once it is the canary, and everything ends; each of these is noticed in a different
        # number of samples.
        f'{event} {at}'
        for event in _LOST
        for at in (
            *('SETTING 0', 'SETTING 1', 'RESTART_DUE 0', 'RESTART_DUE 1', 'RESTARTING 1'),
            *('RESTARTING 8', 'CHECKING 1', 'CHECKING 8', 'SETTLING 1', 'SETTLING 8'),
        )
    )
)
_LOST_PENDING = _plans(
    *(
        f'{event} {moment} #2'
        for event in (*_LOST, *('DIES_AND_IS_OUT',) * 6)
        for moment in ('PREFLIGHT', 'SETTING', 'BETWEEN')
    )
)
_LOST_AFTERWARDS = _plans(
    *(
        f'{event} {at} #{osd}'
        for event in _LOST
        for at in ('COLLAPSING 0', 'COLLAPSING 2', 'BETWEEN 1')
        for osd in (0, 2)
    )
)
_LOST_IN_ROLLBACK = _plans(
    *(
        f'ROLLBACK {started}, {event} {moment}'
        for started in ('COLLAPSING', 'ENDED')
        for event in _LOST
        for moment in ('BACK_ENTRIES', 'BACK_RESTART_DUE', 'BACK_RESTARTING')
    ),
    *(
        f'ROLLBACK {started}, DIES_AND_IS_OUT {moment} #2'
        for started in ('COLLAPSING', 'ENDED') * 3
        for moment in ('BACK_ENTRIES', 'BACK_RESTART_DUE', 'BACK_RESTARTING')
    ),
    'BREAKS RESTARTING 5, PURGED RECOVER_RESTART_DUE',
    'BREAKS RESTARTING 5, DIES_AND_IS_OUT RECOVER_RESTART_DUE',
)
#: An OSD does not start, and it is hard to restore it: the monitors refuse to store, or to remove
#: its entry, and operators or other managers come in between.
_HARD_TO_RESTORE = _plans(
    *(
        f'STORE_REFUSES {moment} {after}'
        for moment in ('RESTARTING', 'RECOVER_RESTORING', 'RECOVER_RESTARTING')
        for after in (0, 1)
    ),
    'STORE_REFUSES RESTARTING, FAIL_OVER RECOVER_RESTARTING',
    'STORE_REFUSES RESTARTING, FAIL_OVER RESTARTING 3',
    'REFUSES_RM RESTARTING, ABORT RECOVER_RESTORING, MONITORS_BACK 5 then',
    'REFUSES_RM RESTARTING, ABORT RECOVER_RESTORING, ABORT RECOVER_RESTORING 1, '
    'MONITORS_BACK 5 then',
    'ABORT RECOVER_RESTARTING',
    'ROLLBACK RESTARTING 2, ABORT BACK_ENTRIES',
    'ROLLBACK RESTARTING 2, ABORT BACK_RESTARTING',
)
_RESTARTED = _plans('', '', 'RESTARTED_BY_HAND CHECKING', 'RESTARTED_BY_HAND SETTLING')
_ROLLED_BACK = _plans(*(f'ROLLBACK {moment.name}' for moment in (*_ON_THE_WAY, Moment.ENDED)))
_FOCI = (
    *(_Focus(_FORWARD, _RESTARTED),) * 3,
    *(_Focus(_SOAK, _plans('', 'RESTARTED_BY_HAND SOAKING 1'), soaks=True),) * 3,
    # Nothing to measure: a soak that ends without a verdict.
    _Focus(_moments('JUDGING BETWEEN'), _plans('CLIENTS_STOP'), soaks=True),
    *(_Focus(_COLLAPSE),) * 3,
    _Focus(_RECOVER, value=BAD),
    *(_Focus(_RECOVER, _FAILURES),) * 2,
    *(_Focus(_BACK, _ROLLED_BACK),) * 3,
    _Focus(_FORWARD, _plans('ORCHESTRATOR_LATE #1, RESTARTED_BY_HAND RESTARTING')),
    _Focus(_BACK, _plans('NEW_IS_SLOW'), soaks=True),
    _Focus((*_RECOVER, *_BACK), _plans('BREAKS RESTARTING 9')),
    _Focus((Moment.ENDED, *_BACK), _plans('ROLLBACK ENDED')),
    _Focus((Moment.LEAVING,), _LOST_IN_FLIGHT),
    _Focus(_moments('LEAVING LEAVING COLLAPSING'), _LOST_AFTERWARDS),
    *(_Focus(_moments('AWAY BETWEEN COLLAPSING'), _LOST_PENDING, spare=True),) * 2,
    _Focus(_BACK, _LOST_IN_ROLLBACK, spare=True),
    *(_Focus(_RECOVER, _HARD_TO_RESTORE, value=BAD),) * 2,
)

#: Without restarts.
_WITHOUT_RESTARTS = (
    _Focus(_COLLAPSE),
    _Focus(_moments('ENDED BACK_ENTRIES'), _plans('ROLLBACK ENDED')),
)
#: By dice of their own: what was drawn before there were these stays what it was.
_DRAWN_APART = named('SETS_OTHER_STRING SAMPLES_STOP SAMPLES_COME')
#: They end most rollouts: one in so many is drawn.
_FINAL = named('ABORT SETS_ALL SETS_OSD SETS_CLASS SETS_GLOBAL ROLLBACK')


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
        yield Planned(ChaosEvent.SETS_OTHER_STRING, int(dice.expovariate(1 / 1.5)), moment)


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
        lasts = event in ENDS_WITH and event is not ChaosEvent.DAILY_LIMIT
        if lasts and dice.random() < 0.7:
            # After this many more samples, at any moment.
            samples = 1 + int(dice.expovariate(1 / 10))
            yield Planned(ENDS_WITH[event], samples, None, target, follows=True)


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
        events=_plans(
            f'FAIL_OVER RESTARTING {quarter}, KILLED_AFTER_A_WRITE BETWEEN {quarter}, '
            f'PURGED RESTARTING {quarter} #{osds - 7}, '
            f'REPLACED RESTARTING {quarter // 2} #{osds - 2}, '
            f'WRITE_REFUSED RESTARTING {quarter // 2}, JOINS RESTARTING {quarter // 3} #1, '
            f'PAUSE RESTARTING {quarter // 4}, RESUME 5 then'
        )[0],
    )

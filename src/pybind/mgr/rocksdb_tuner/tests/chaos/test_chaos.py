"""Random faults and operator actions, in any order: the invariants hold and every path ends.

A new seed every time, printed; ``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run, and the
``<seed>:<number>`` that a failure names repeats that one schedule alone. How many there are is
``ROCKSDB_TUNER_CHAOS_SCHEDULES``; ``make check`` runs 600.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Optional

import pytest

from .events import ChaosEvent
from .generator import complete_rollout, schedule
from .invariants import (
    ANOTHER,
    AT_COLLAPSE,
    GONE,
    IN_ROLLBACK,
    IN_THE_MIDDLE,
    OUT,
    PENDING,
    Left,
)
from .rules import Rule
from .schedule import Moment, Schedule
from .schedule_run import Happened, ScheduleRun, carried_out
from .shrink import shrunk
from .topology import Shape

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = int(os.environ.get('ROCKSDB_TUNER_CHAOS_SCHEDULES', '100'))

#: By default as many as take less than 40 s of CPU; twice as many take more than three times that.
WHOLE_OSDS = int(os.environ.get('ROCKSDB_TUNER_CHAOS_OSDS', '300'))


class Outcome(NamedTuple):
    seed: str
    #: The phase in which it ended; None: nothing started.
    phase: Optional[str]
    broken: Optional[str]
    happened: Counter[Happened]
    left: Counter[Left]
    planned: int
    shape: Shape


def _outcome(seed: str) -> Outcome:
    planned = schedule(seed)
    schedule_run, violation = carried_out(planned)
    return Outcome(
        seed,
        schedule_run.ended,
        None if violation is None else str(violation),
        schedule_run.happened,
        schedule_run.watch.left,
        len(planned.events),
        planned.topology.shape,
    )


def _broken(planned: Schedule) -> Optional[Rule]:
    violation = carried_out(planned)[1]
    return None if violation is None else violation.rule


def _text(seed: str, broken: str) -> str:
    """A schedule that failed, as short as it fails."""
    planned = schedule(seed)
    rule = _broken(planned)
    assert rule is not None, f'{seed} fails only sometimes: {broken}'
    shortest = shrunk(planned, lambda simpler: _broken(simpler) is rule)
    lines = '\n'.join(shortest.lines())
    return f'ROCKSDB_TUNER_CHAOS_SEED={seed}: {broken}\n\nas short as it fails:\n{lines}'


def _seeds() -> list[str]:
    return [SEED] if ':' in SEED else [f'{SEED}:{number}' for number in range(SCHEDULES)]


def test_any_schedule_keeps_the_invariants_and_ends() -> None:
    seeds = _seeds()
    # Shown by pytest on a failure; the failure has the name of a schedule, too.
    sys.stdout.write(f'ROCKSDB_TUNER_CHAOS_SEED={SEED}, {len(seeds)} schedules\n')
    ended: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    happened: Counter[Happened] = Counter()
    left: Counter[Left] = Counter()
    planned = 0
    with multiprocessing.get_context('fork').Pool(os.cpu_count()) as pool:
        for outcome in pool.imap(_outcome, seeds, chunksize=5):
            if outcome.broken is not None:
                pytest.fail(_text(outcome.seed, outcome.broken))
            ended[outcome.phase or 'nothing started'] += 1
            shapes[outcome.shape.value] += 1
            happened += outcome.happened
            left += outcome.left
            planned += outcome.planned
    sys.stdout.write(f'ended: {dict(ended)}\nclusters: {dict(shapes)}\n')
    for line in _summary(happened, planned, left):
        sys.stdout.write(f'{line}\n')
    # Schedules that all end alike would prove little.
    assert len(seeds) < 300 or min(ended[p] for p in ('done', 'rolled-back', 'failed')) > 10
    if len(seeds) >= 600:
        assert {pair.moment for pair in happened} >= set(Moment) - _SELDOM
        _enough_were_left(left, happened)


def _summary(happened: Counter[Happened], planned: int, left: Counter[Left]) -> Iterator[str]:
    """What schedules tried, and what they never did."""
    yield f'{planned} acts planned, {sum(happened.values())} happened'
    for moment in Moment:
        times = {pair.event: n for pair, n in happened.items() if pair.moment is moment}
        yield f'  {moment.value:30} {sum(times.values()):6} times, {len(times):3} acts'
    never = sorted({event.name for event in ChaosEvent} - {pair.event.name for pair in happened})
    yield f'never: {", ".join(never) or "-"}; {sum(left.values())} OSDs left behind:'
    for found, times_left in sorted(left.items()):
        yield f'  {found.where:30} {times_left:6} times: {found.how}'


def _enough_were_left(left: Counter[Left], happened: Counter[Happened]) -> None:
    """OSDs were removed or replaced at every moment where a rollout may be affected."""
    for where in (PENDING, IN_THE_MIDDLE, AT_COLLAPSE, IN_ROLLBACK):
        assert sum(times for found, times in left.items() if found.where == where) > 1
    for how in (GONE, OUT, ANOTHER):
        assert sum(times for found, times in left.items() if found.how == how) > 1
    for moment in (Moment.LEAVING, Moment.AWAY):
        assert sum(times for pair, times in happened.items() if pair.moment is moment) > 1


#: Moments that a thousand schedules may miss.
_SELDOM = {Moment.REPINNING, Moment.JUDGING, Moment.IDLE}


@pytest.mark.parametrize('number', range(4))
def test_seed_gives_the_same_schedule_and_course(number: int) -> None:
    seed = f'repeated:{number}'
    assert schedule(seed) == schedule(seed)
    schedule_runs = []
    for _ in range(2):
        schedule_run = ScheduleRun(schedule(seed))
        schedule_run.execute()
        schedule_runs.append((schedule_run.cluster.commands, schedule_run.world.known))
    assert schedule_runs[0] == schedule_runs[1]


def test_rollout_of_many_osds_completes() -> None:
    """Others are ended early: the cost of a sample and their number grow with the OSDs."""
    schedule_run, broken = carried_out(complete_rollout(WHOLE_OSDS))
    assert broken is None, str(broken)
    assert schedule_run.ended == 'done'
    assert len(schedule_run.happened) == len(schedule_run.planned.events)
    assert {found.how for found in schedule_run.watch.left} == {GONE, ANOTHER}


def test_every_action_can_be_drawn_and_executed() -> None:
    drawn = {planned.event for n in range(1000) for planned in schedule(f'acts:{n}').events}
    assert drawn == set(ChaosEvent)


def test_every_shape_of_cluster_can_be_drawn() -> None:
    drawn = [schedule(f'shapes:{n}').topology for n in range(3000)]
    assert {topology.shape for topology in drawn} == set(Shape)
    assert max(len(topology.spots) for topology in drawn) == 1000
    assert any(pool.erasure_coded for topology in drawn for pool in topology.pools)

"""Random faults and acts of operators over an experiment: the invariants hold, and it ends.

``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run; ``<seed>:<number>``, which a failure names, that
one schedule alone. How many there are is ``ROCKSDB_TUNER_CHAOS_EXPERIMENTS``; of those here alone
few, ``make chaos`` carries out 300.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
from collections import Counter
from typing import NamedTuple, Optional

import pytest

from rocksdb_tuner.tests.chaos.mutants import Patch

from .chaos.course import Course, Happened, carried_out
from .chaos.mutants import MUTANTS, Mutant
from .chaos.rules import Rule
from .chaos.schedule import ACTS, Moment, schedule

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = int(os.environ.get('ROCKSDB_TUNER_CHAOS_EXPERIMENTS', '24'))
#: Schedules that are drawn for a mutant, and those of them that are carried out.
MOST_DRAWN = 3000
MOST_TRIED = 60
#: Whatever raises is one, and would be planted anywhere.
UNPROVEN = {Rule.NO_TRACEBACK}


class Outcome(NamedTuple):
    seed: str
    ended: str
    broken: Optional[str]
    happened: Counter[Happened]


def _outcome(seed: str) -> Outcome:
    course, violation = carried_out(schedule(seed))
    state = course.world.experiment.state
    broken = None if violation is None else str(violation)
    return Outcome(seed, '' if state is None else state.stage.value, broken, course.happened)


def test_any_schedule_keeps_the_invariants_and_ends() -> None:
    seeds = [SEED] if ':' in SEED else [f'{SEED}:{number}' for number in range(SCHEDULES)]
    sys.stdout.write(f'ROCKSDB_TUNER_CHAOS_SEED={SEED}, {len(seeds)} schedules\n')
    happened: Counter[Happened] = Counter()
    ended: Counter[str] = Counter()
    with multiprocessing.get_context('fork').Pool(os.cpu_count()) as pool:
        for outcome in pool.imap(_outcome, seeds, chunksize=2):
            if outcome.broken is not None:
                lines = '\n'.join(schedule(outcome.seed).lines())
                pytest.fail(f'ROCKSDB_TUNER_CHAOS_SEED={outcome.seed}: {outcome.broken}\n{lines}')
            happened += outcome.happened
            ended[outcome.ended] += 1
    sys.stdout.write(f'ended: {dict(ended)}\n')
    if len(seeds) < 200:
        return
    # Schedules that all end alike, or in which little happens, would prove little.
    assert min(ended[stage] for stage in ('done', 'failed', 'aborted')) > 5, ended
    assert {pair.moment for pair in happened} >= set(Moment) - {Moment.ENDED}
    assert len({pair.act for pair in happened}) > 0.9 * len(ACTS)


def test_seed_gives_the_same_schedule_and_course() -> None:
    told = []
    for _ in range(2):
        course = Course(schedule('repeated:1'))
        course.execute()
        told.append((course.cluster.commands, course.world.now))
    assert told[0] == told[1]


def test_every_action_can_be_drawn() -> None:
    drawn = {p.act for n in range(1500) for chain in schedule(f'acts:{n}').acts for p in chain}
    assert drawn >= set(ACTS)


@pytest.mark.parametrize('mutant', MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_is_caught_by_the_rule_it_breaks(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All see the schedules of one fixed seed, but for those that cannot show them."""
    mutant.plant(Patch(monkeypatch))
    tried = 0
    for drawn in range(MOST_DRAWN):
        planned = schedule(f'mutants:{drawn}')
        if not mutant.may_show(planned):
            continue
        tried += 1
        broken = carried_out(planned, mutant.rule)[1]
        if broken is not None and broken.rule is mutant.rule:
            return
        if tried == MOST_TRIED:
            break
    pytest.fail(f'{mutant.rule.name} does not catch it in {tried} schedules')


def test_every_rule_catches_two_mutants() -> None:
    biting = Counter(mutant.rule for mutant in MUTANTS)
    assert {rule for rule in Rule if biting[rule] < 2} <= UNPROVEN
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)

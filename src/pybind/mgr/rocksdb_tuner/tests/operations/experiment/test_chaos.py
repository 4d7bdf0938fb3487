"""Random faults and operator actions during an experiment: the invariants hold, and it ends.

``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run; ``<seed>:<number>``, which a failure names, that
one schedule alone. How many there are is ``ROCKSDB_TUNER_CHAOS_EXPERIMENTS``; of those here alone
few, ``make chaos`` runs 300.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
from collections import Counter
from typing import NamedTuple, Optional

import pytest

from rocksdb_tuner.tests.chaos.checks import hunted, unproven
from rocksdb_tuner.tests.chaos.mutants import Patch

from .chaos.mutants import MUTANTS, Mutant
from .chaos.schedule import ACTS, Moment, schedule
from .chaos.schedule_run import Happened, ScheduleRun, carried_out
from .chaos.watch import Rule

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = int(os.environ.get('ROCKSDB_TUNER_CHAOS_EXPERIMENTS', '24'))
#: Schedules drawn for a mutant, and those of them that are run.
MOST_DRAWN = 3000
MOST_TRIED = 60


class Outcome(NamedTuple):
    seed: str
    ended: str
    broken: Optional[str]
    happened: Counter[Happened]


def _outcome(seed: str) -> Outcome:
    schedule_run, violation = carried_out(schedule(seed))
    state = schedule_run.world.experiment.state
    broken = None if violation is None else str(violation)
    return Outcome(seed, '' if state is None else state.stage.value, broken, schedule_run.happened)


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
    assert len({pair.event for pair in happened}) > 0.9 * len(ACTS)


def test_seed_gives_the_same_schedule_and_course() -> None:
    reported = []
    for _ in range(2):
        schedule_run = ScheduleRun(schedule('repeated:1'))
        schedule_run.execute()
        reported.append((schedule_run.cluster.commands, schedule_run.world.now))
    assert reported[0] == reported[1]


def test_every_action_can_be_drawn() -> None:
    drawn = {p.event for n in range(1500) for chain in schedule(f'acts:{n}').events for p in chain}
    assert drawn >= set(ACTS)


@pytest.mark.parametrize('mutant', MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_is_caught_by_the_rule_it_breaks(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All use the schedules of one fixed seed, except those that cannot reveal them."""
    mutant.plant(Patch(monkeypatch))
    caught = hunted(mutant, schedule, lambda *run: carried_out(*run)[1], MOST_DRAWN, MOST_TRIED)
    assert caught.after is not None, (
        f'{mutant.rule.name} does not catch it in {caught.tried} schedules'
    )


def test_every_rule_catches_two_mutants() -> None:
    """Except the one against any exception, which could be planted anywhere."""
    assert unproven(MUTANTS, Rule) <= {'NO_TRACEBACK'}

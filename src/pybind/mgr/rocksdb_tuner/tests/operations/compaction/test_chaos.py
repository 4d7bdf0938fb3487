"""Random faults and acts of operators over a compaction campaign: the invariants hold, and it ends.

``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run; ``<seed>:<number>``, which a failure names, that
one schedule alone.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections import Counter
from unittest.mock import Mock

import pytest

from rocksdb_tuner.operations.compaction.driver import CampaignDriver
from rocksdb_tuner.operations.phases import OperationRefused
from rocksdb_tuner.tests.chaos.checks import hunted, unproven
from rocksdb_tuner.tests.chaos.mutants import Patch

from .chaos.mutants import MUTANTS, Mutant
from .chaos.watch import Happened, Rule, ScheduleRun, carried_out
from .chaos.world import EVENTS, Moment, schedule

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = 120
#: Schedules drawn for a mutant, and those of them that are run.
MOST_DRAWN = 3000
MOST_TRIED = 60


def test_any_schedule_keeps_the_invariants_and_ends() -> None:
    seeds = [SEED] if ':' in SEED else [f'{SEED}:{number}' for number in range(SCHEDULES)]
    happened: Counter[Happened] = Counter()
    ended: Counter[str] = Counter()
    for seed in seeds:
        planned = schedule(seed)
        schedule_run, broken = carried_out(planned)
        assert broken is None, f'ROCKSDB_TUNER_CHAOS_SEED={seed}: {broken}\n{planned}'
        happened += schedule_run.happened
        ended[schedule_run.world.state.stage.value] += 1
    if len(seeds) < SCHEDULES:
        return
    # Schedules that all end alike, or in which little happens, would prove little.
    assert min(ended['done'], ended['failed']) > 5, ended
    # An abort in the middle of a compaction is seldom drawn.
    assert {pair.moment for pair in happened} >= set(Moment) - {Moment.ENDING}
    assert len({pair.event for pair in happened}) > 0.9 * len(EVENTS)


def test_seed_gives_the_same_schedule_and_course() -> None:
    found = []
    for _ in range(2):
        schedule_run = ScheduleRun(schedule('repeated:1'))
        schedule_run.execute()
        world = schedule_run.world
        found.append((world.cluster.compactions.requested, world.state))
    assert found[0] == found[1]


def test_refusal_that_nobody_expects_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of the first campaign, which nothing is in the way of."""
    refusal = OperationRefused(errno.EBUSY, 'a rollout is under way')
    monkeypatch.setattr(CampaignDriver, 'start', Mock(side_effect=refusal))
    broken = carried_out(schedule('refused:1'))[1]
    assert broken is not None
    assert broken.rule is Rule.NO_TRACEBACK
    assert 'a rollout is under way' in str(broken)


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

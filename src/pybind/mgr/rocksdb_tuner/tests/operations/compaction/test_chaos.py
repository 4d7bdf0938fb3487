"""Random faults and acts of operators over a compaction campaign: the invariants hold, and it ends.

``ROCKSDB_TUNER_CHAOS_SEED=<seed>`` repeats a run; ``<seed>:<number>``, which a failure names, that
one schedule alone.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter

import pytest

from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.tests.chaos.checks import hunted
from rocksdb_tuner.tests.chaos.mutants import Patch

from .chaos.mutants import MUTANTS, Mutant
from .chaos.schedule import ChaosEvent, Moment, Schedule, schedule
from .chaos.schedule_run import _EFFECTS, Happened, ScheduleRun, carried_out
from .chaos.watch import Rule
from .conftest import Run

SEED = os.environ.get('ROCKSDB_TUNER_CHAOS_SEED') or secrets.token_hex(4)
SCHEDULES = 200
#: Schedules drawn for a mutant, and those of them that are run.
MOST_DRAWN = 3000
MOST_TRIED = 60
#: Any exception counts, and could be planted anywhere.
UNPROVEN = {Rule.NO_TRACEBACK}


def _lines(planned: Schedule) -> str:
    return '\n'.join(planned.lines())


def test_any_schedule_keeps_the_invariants_and_ends() -> None:
    seeds = [SEED] if ':' in SEED else [f'{SEED}:{number}' for number in range(SCHEDULES)]
    happened: Counter[Happened] = Counter()
    ended: Counter[str] = Counter()
    for seed in seeds:
        planned = schedule(seed)
        schedule_run, broken = carried_out(planned)
        assert broken is None, f'ROCKSDB_TUNER_CHAOS_SEED={seed}: {broken}\n{_lines(planned)}'
        happened += schedule_run.happened
        ended[schedule_run.world.state.stage.value] += 1
    if len(seeds) < SCHEDULES:
        return
    # Schedules that all end alike, or in which little happens, would prove little.
    assert min(ended['done'], ended['failed']) > 5, ended
    assert {pair.moment for pair in happened} == set(Moment)
    assert len({pair.event for pair in happened}) > 0.9 * len(ChaosEvent)


def test_seed_gives_the_same_schedule_and_course() -> None:
    reported = []
    for _ in range(2):
        schedule_run = ScheduleRun(schedule('repeated:1'))
        schedule_run.execute()
        reported.append(
            (schedule_run.world.cluster.compactions.requested, schedule_run.world.state)
        )
    assert reported[0] == reported[1]


def test_every_action_can_be_drawn_and_executed() -> None:
    assert set(_EFFECTS) == set(ChaosEvent)
    drawn = {p.event for n in range(600) for chain in schedule(f'acts:{n}').events for p in chain}
    assert drawn == set(ChaosEvent)


@pytest.mark.parametrize('mutant', MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_is_caught_by_the_rule_it_breaks(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All use the schedules of one fixed seed, except those that cannot reveal them."""
    mutant.plant(Patch(monkeypatch))
    caught = hunted(
        (schedule(f'mutants:{number}') for number in range(MOST_DRAWN)),
        mutant.may_show,
        lambda planned: carried_out(planned, mutant.rule)[1],
        mutant.rule,
        MOST_TRIED,
    )
    assert caught.after is not None, (
        f'{mutant.rule.name} does not catch it in {caught.tried} schedules'
    )


def test_every_rule_catches_two_mutants() -> None:
    biting = Counter(mutant.rule for mutant in MUTANTS)
    assert {rule for rule in Rule if biting[rule] < 2} <= UNPROVEN
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


# -- single faults that broke an invariant once


def test_osds_moved_since_the_plan_do_not_compact_together() -> None:
    """Two at once are of one failure domain, also where one was moved or replaced meanwhile."""
    run = Run(osds=6, per_host=3)
    run.cluster.compactions.takes_s = 60.0
    run.start(parallel=2)
    # Before the second and the third are started together.
    run.until(lambda state: state.osds[0].step is CompactionStep.SETTLING)
    run.cluster.osds[2].host = 'elsewhere'
    while not run.state.ended:
        run.tick()
        running = run.cluster.compactions.running()
        assert len({run.cluster.osds[n].failure_domain for n in running}) <= 1, running
    assert run.cluster.compactions.most_at_once == 2


def test_manager_samples_before_it_acts_despite_clock_jumps() -> None:
    run = Run()
    run.start()
    run.until(lambda state: state.osds[0].step is CompactionStep.SETTLING)
    # Nothing starts now, so that the manager taking over has an OSD to start with.
    run.cluster.flags.add('noout')
    run.until(lambda state: not state.in_flight)
    run.cluster.flags.discard('noout')
    reported = len(run.cluster.compactions.requested)
    run.fail_over()
    for _ in range(2):
        run.tick()
    run.offset_s += 40.0
    run.tick()
    run.tick()
    assert len(run.cluster.compactions.requested) == reported


@pytest.mark.parametrize('pending', [False, True])
def test_campaign_ends_without_an_osd_that_is_down_and_out(*, pending: bool) -> None:
    """An OSD in flight is not even ended by an abort, and neither a rollout nor a campaign can
    start.
    """
    run = Run()
    run.start()
    run.until(lambda state: bool(state.in_flight))
    run.cluster.mark_out(3 if pending else 0)
    if not pending:
        run.driver.abort('client.a', run.cluster.now_s)
    for _ in range(2000):
        run.tick()
    assert run.state.ended, run.state.paused_reason
    left = 3 if pending else 0
    assert run.state.osds[left].reason == 'it is down and out'
    assert f'osd.{left}: it is down and out' in (run.state.failure or '')
    assert run.start()

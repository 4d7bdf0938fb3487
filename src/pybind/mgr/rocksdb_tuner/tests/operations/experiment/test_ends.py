"""How experiments end: by what they find, by failures, and by OSDs that leave or are overruled."""

from __future__ import annotations

from typing import Callable

import pytest

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster

from .conftest import (
    SLOW,
    ExperimentRun,
    at_step,
    changing,
    crashed,
    dropped,
    dropping,
    measuring,
    plan,
    restored,
    restoring,
)

OPERATORS = 'write_buffer_size=33554432'
#: The last OSD to be restored.
LAST = 6


# -- what it finds


def test_better_string_is_found_and_everything_restored(run: ExperimentRun) -> None:
    """The worse arm ends early, the better one wins, and no entry is left."""
    run.begin()
    state = run.finish()
    assert state.outcome is Outcome.DONE
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.conclusion.winner) == (Answer.WINNER, 'fast')
    assert dropped(state) == ['slow']
    assert run.cluster.entries_of() == {}
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {DEFAULTS['pacific']}
    run.tick()
    assert [found.experiment_id for found in run.winners] == ['E1']
    assert [record.rollout_id for record in run.driver.history] == ['E1']


def test_inconclusive_result_is_unclear(run: ExperimentRun) -> None:
    """No client writes: nothing is measured, and the plan is followed to its end."""
    run.clients.writes_per_s = 0
    run.begin(plan(blocks=1))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.outcome) == (Answer.UNCLEAR, Outcome.DONE)
    assert restored(run)


def test_timeout_before_any_change_ends_the_experiment_at_once(run: ExperimentRun) -> None:
    run.begin(plan(blocks=50, max_duration_s=120.0))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.legs) == (Answer.UNCLEAR, 0)


def test_timeout_while_no_osd_may_be_changed_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin(plan(max_duration_s=900.0))
    run.come_to(changing)
    run.outside_window = 'outside the maintenance window'
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.UNCLEAR
    assert restored(run)


def test_worse_arm_is_restored_while_the_others_are_measured(
    run: ExperimentRun,
) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(plan(blocks=12, min_effect=0.001))
    run.come_to(lambda state: bool(dropped(state)))
    (slow,) = [arm for arm in run.now.arms if arm.dropped]
    assert slow.name == 'slow'
    assert str(slow.why_dropped).startswith('worse: ')
    run.come_to(dropping)
    state = run.come_to(lambda state: state.leg is None)
    assert measuring(state)
    assert state.changed == {0, 3, 2, 6}
    assert {run.cluster.runs(n) for n in (1, 4)} == {DEFAULTS['pacific']}
    run.finish()
    assert restored(run)


def test_experiment_ends_once_every_arm_was_dropped(run: ExperimentRun) -> None:
    """In the first block, which concludes nothing else."""
    run.clients.factors = {SLOW: 3.0}
    controls = (0, 2, 3, 5, 7, 8)
    run.begin(plan(('slow',), columns=((1, 4),), controls=controls, blocks=12))
    state = run.finish()
    assert (dropped(state), state.arms[0].dropped_after) == (['slow'], 1)
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.outcome) == (Answer.NO_GAIN, Outcome.DONE)
    assert restored(run)


# -- failures


def two_changed(state: ExperimentState) -> bool:
    steps = () if state.leg is None else [osd.step for osd in state.leg.osds]
    return changing(state) and steps.count(OsdStep.VERIFIED) == 2


def third_settles(state: ExperimentState) -> bool:
    return two_changed(state) and at_step(state, OsdStep.SETTLING)


def measured_once(state: ExperimentState) -> bool:
    return measuring(state) and state.blocks > 0


def by_hand(*osd_ids: int) -> Callable[[FakeCluster], None]:
    def restarted(cluster: FakeCluster) -> None:
        for n in osd_ids:
            cluster.restart_by_hand(n)

    return restarted


CRASH = 'the process of osd.0 exited unexpectedly'
PURGED = '{} was removed from the cluster'


@pytest.mark.parametrize(
    ('when', 'what', 'failure', 'arms', 'away'),
    [
        # While others are changed, while arms are measured, and while one is dropped.
        *(
            (when, lambda cluster: cluster.stop_osd(0), CRASH, ['fast'], ())
            for when in (two_changed, measuring, dropping)
        ),
        # All OSDs of the arm together, but none outside of it: no host was rebooted.
        (
            measuring,
            by_hand(0, 3),
            'the process of osd.0, osd.3 exited unexpectedly',
            ['fast'],
            (),
        ),
        # The reboot of a host; while others are changed, osd.0 has its arm and osd.2 settles.
        (measured_once, by_hand(3, 4, 5), 'osd.3 restarted together with other OSDs', [], ()),
        (third_settles, by_hand(0, 1, 2, 7, 8), 'osd.0', [], ()),
        # An OSD of an arm as well as a control: the plan no longer matches the cluster.
        (measuring, lambda cluster: cluster.purge(3), PURGED.format('osd.3'), [], ()),
        (measuring, lambda cluster: cluster.purge(7), PURGED.format('osd.7'), [], ()),
        (
            measuring,
            lambda cluster: cluster.recreate(3),
            'osd.3 was removed and recreated',
            [],
            (3,),
        ),
        # Awaited first.
        (measuring, lambda cluster: cluster.mark_out(7), 'osd.7 is down and out', [], (7,)),
    ],
)
def test_what_happens_to_an_osd_ends_the_experiment(
    run: ExperimentRun,
    when: Callable[[ExperimentState], bool],
    what: Callable[[FakeCluster], None],
    failure: str,
    arms: list[str],
    away: tuple[int, ...],
) -> None:
    """A crash is told from a reboot and from an OSD that left; the others are restored."""
    if when is dropping:
        run.clients.factors = {SLOW: 3.0}
    run.begin(plan(blocks=12, min_effect=0.0001))
    run.come_to(when)
    run.tick()
    what(run.cluster)
    state = run.finish()
    assert (state.outcome, crashed(state)) == (Outcome.FAILED, arms)
    assert (state.failure or '').startswith(failure)
    found = state.conclusion
    assert (found is not None and found.answer is Answer.FAILED) == bool(arms)
    assert found is None or found.winner is None
    assert run.cluster.entries_of() == {}
    assert restored(run, *away)


def test_osd_that_does_not_start_ends_arm_and_experiment(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == SLOW
    run.begin()
    state = run.finish()
    assert (state.stage, state.outcome, crashed(state)) == (Stage.FAILED, Outcome.FAILED, ['slow'])
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.FAILED
    assert 'did not come back up' in (state.failure or '')
    assert restored(run)


def test_osd_without_effect_ends_the_experiment_and_is_no_crash(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.cluster.osds[0].stubborn = RunningOption(DEFAULTS['pacific'], 'mon', ignores_mon=False)
    state = run.come_to(lambda state: state.ending is not None or state.ended)
    run.cluster.osds[0].stubborn = None
    state = run.finish()
    assert (state.outcome, crashed(state)) == (Outcome.FAILED, [])
    assert 'without effect' in (state.failure or '')


def test_upgrade_during_an_experiment_ends_it(run: ExperimentRun) -> None:
    run.begin(plan(blocks=9))
    run.come_to(measuring)
    run.cluster.osds[8].release = 'reef'
    state = run.come_to(lambda state: state.ending is not None)
    assert state.ending is not None
    assert 'osd.8 now runs reef' in (state.ending.reason or '')
    run.cluster.osds[8].release = 'pacific'
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)


def test_osd_upgraded_before_its_change_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(changing)
    run.outside_window = 'closed'
    run.come_to(lambda state: state.paused_reason == 'closed')
    run.cluster.osds[6].release = 'reef'
    # Nothing is restarted while an upgrade is under way.
    run.come_to(lambda state: state.stage is Stage.RESTORING or state.ended)
    run.cluster.osds[6].release = 'pacific'
    state = run.finish()
    assert state.outcome is Outcome.FAILED
    assert 'osd.6 now runs reef' in (state.failure or '')


def test_osd_with_options_from_another_source_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.SETTLING))
    leg = run.now.leg
    assert leg is not None
    second = leg.request.order[1]
    messages = RunningOption(OPERATORS, 'file', ignores_mon=True)
    run.cluster.osds[second].shown[OPTION] = run.cluster.osds[second].reported[OPTION] = messages
    state = run.finish()
    assert state.outcome is Outcome.FAILED
    assert f'osd.{second} comes from its ceph.conf' in (state.failure or '')


def test_nothing_is_measured_while_an_osd_is_down_from_the_first_sample_on(
    run: ExperimentRun,
) -> None:
    """Before placement groups are reported as degraded, in the baseline as later."""
    run.begin(plan(blocks=9))
    for stage in (Stage.BASELINE, Stage.MEASURING):
        run.come_to(lambda state, stage=stage: state.stage is stage)  # type: ignore[misc]
        run.cluster.stop_osd(7)
        run.tick()
        assert run.now.paused_reason == 'osd.7 is down'
        run.cluster.start_osd(7)
        run.come_to(lambda state: state.paused_reason is None)


# -- OSDs that their ceph.conf overrules


def overrule(run: ExperimentRun, osd_id: int) -> None:
    """From its next start on."""
    run.cluster.osds[osd_id].conf_file[OPTION] = OPERATORS


def restarts(run: ExperimentRun, osd_id: int) -> int:
    return run.cluster.commands.count(f'ceph orch daemon restart osd.{osd_id}')


def test_an_overruled_osd_is_restarted_once_on_the_way_back(run: ExperimentRun) -> None:
    """Another restart would change nothing; the experiment fails and says what the OSD runs."""
    run.begin(plan(blocks=9))
    run.come_to(measuring)
    overrule(run, LAST)
    before = restarts(run, LAST)
    run.experiment.abort('client.a', run.cluster.now_s)
    state = run.finish()
    assert restarts(run, LAST) == before + 1
    assert state.outcome is Outcome.ABORTED
    told = f'osd.{LAST} was restarted during the rollback, but it runs {OPERATORS} (source file)'
    assert told in why(state)
    assert restored(run, LAST)
    assert f'osd.{LAST}' not in run.cluster.entries_of()


def test_an_osd_that_did_not_come_back_and_is_overruled_ends_the_experiment(
    run: ExperimentRun,
) -> None:
    """Its recovery restarts it once; why its arm failed stands first."""
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.SETTLING))
    leg = run.now.leg
    assert leg is not None
    first = leg.request.order[0]
    overrule(run, first)
    run.cluster.osds[first].broken = True
    run.cluster.stop_osd(first)
    run.come_to(lambda state: state.leg is not None and state.leg.direction is Direction.RECOVER)
    run.cluster.osds[first].broken = False
    state = run.finish()
    assert (state.outcome, crashed(state)) == (Outcome.FAILED, ['fast'])
    cause, then = why(state).split('; ', 1)
    assert cause.startswith(f'osd.{first} did not come back up')
    assert then.startswith(f'osd.{first} was restarted during the rollback')
    assert state.legs == 1
    assert restored(run, first)


def test_an_overruled_osd_of_a_dropped_arm_fails_the_experiment(run: ExperimentRun) -> None:
    """The last of the arm is overruled: the others of the experiment are restored too."""
    run.clients.factors = {SLOW: 3.0}
    run.begin(plan(blocks=12, min_effect=0.001))
    run.come_to(dropping)
    leg = run.now.leg
    assert leg is not None
    last = leg.request.order[-1]
    overrule(run, last)
    state = run.finish()
    assert state.outcome is Outcome.FAILED
    assert f'osd.{last} was restarted during the rollback' in why(state)
    assert restored(run, last)


def test_an_experiment_with_a_winner_fails_if_an_osd_does_not_run_its_old_options(
    run: ExperimentRun,
) -> None:
    """What was measured is kept."""
    run.begin()
    run.come_to(lambda state: state.ending is not None or restoring(state))
    overrule(run, LAST)
    state = run.finish()
    assert state.conclusion is not None
    assert (state.outcome, state.conclusion.winner) == (Outcome.FAILED, 'fast')
    assert why(state).startswith(f'osd.{LAST} was restarted during the rollback')


def test_an_osd_that_is_checked_for_its_arm_is_restored_after_an_operator_s_change(
    run: ExperimentRun,
) -> None:
    """It has the entry of its arm: nothing was restored yet."""
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.CHECKING))
    leg = run.now.leg
    assert leg is not None
    first = leg.request.order[0]
    run.cluster.operator_sets(f'osd.{first}/class:ssd', OPERATORS)
    assert run.finish().outcome is Outcome.ABORTED
    assert f'osd.{first}' not in run.cluster.entries_of()


def test_others_wait_until_the_operator_corrects_an_overruled_osd(run: ExperimentRun) -> None:
    """Restoring goes on by itself afterwards."""
    run.begin(plan(blocks=9))
    run.come_to(measuring)
    overrule(run, 0)
    run.experiment.abort('client.a', run.cluster.now_s)
    run.come_to(lambda state: 'correct it and restart the OSD' in (state.paused_reason or ''))
    assert restarts(run, 0) == 2
    del run.cluster.osds[0].conf_file[OPTION]
    run.cluster.restart_by_hand(0)
    assert run.finish().outcome is Outcome.ABORTED
    assert restored(run)


def why(state: ExperimentState) -> str:
    assert state.failure is not None
    return state.failure

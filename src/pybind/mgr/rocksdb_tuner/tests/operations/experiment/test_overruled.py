"""An OSD whose ceph.conf overrules the config store while an experiment restores it."""

from __future__ import annotations

from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.fake_cluster import OPTION

from .conftest import SLOW, ExperimentRun, at_step, measuring, plan, request, restored

OPERATORS = 'write_buffer_size=33554432'
#: The last OSD to be restored.
LAST = 6


def overrule(run: ExperimentRun, osd_id: int) -> None:
    """From its next start on."""
    run.cluster.osds[osd_id].conf_file[OPTION] = OPERATORS


def restarts(run: ExperimentRun, osd_id: int) -> int:
    return run.cluster.commands.count(f'ceph orch daemon restart osd.{osd_id}')


def test_an_overruled_osd_is_restarted_once_on_the_way_back(run: ExperimentRun) -> None:
    """Another restart would change nothing; the experiment fails and says what the OSD runs."""
    run.begin(request(plan(blocks=9)))
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
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    cause, then = why(state).split('; ', 1)
    assert cause.startswith(f'osd.{first} did not come back up')
    assert then.startswith(f'osd.{first} was restarted during the rollback')
    assert state.legs == 1
    assert restored(run, first)


def test_an_overruled_osd_of_a_dropped_arm_fails_the_experiment(run: ExperimentRun) -> None:
    """The last of the arm is overruled: the others of the experiment are restored too."""
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: state.leg_kind is LegKind.DROP)
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
    run.come_to(lambda state: state.ending is not None or state.leg_kind is LegKind.RESTORE)
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
    run.begin(request(plan(blocks=9)))
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

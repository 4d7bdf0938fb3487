"""How experiments end: by what they find, and by failures."""

from __future__ import annotations

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.experiment.records import LegKind, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION

from .conftest import (
    SLOW,
    ExperimentRun,
    at_step,
    measuring,
    plan,
    request,
    restored,
)

OPERATORS = 'write_buffer_size=33554432'


# -- what it finds


def test_arms_with_small_differences_end_as_no_difference(run: ExperimentRun) -> None:
    run.clients.factors = {}
    run.begin(
        request(
            plan(('same',), columns=((0, 3, 6),), controls=(4, 5, 7, 8), blocks=8), min_effect=0.5
        )
    )
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.NO_DIFFERENCE


def test_inconclusive_result_is_unclear(run: ExperimentRun) -> None:
    """No client writes: nothing is measured, and the plan is followed to its end."""
    run.clients.writes_per_s = 0
    run.begin(request(plan(blocks=1)))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.outcome) == (Answer.UNCLEAR, Outcome.DONE)
    assert restored(run)


def test_timeout_ends_the_experiment_with_the_known_results(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=50), max_duration_s=1500.0))
    state = run.finish()
    assert state.conclusion is not None
    assert state.stage is Stage.DONE
    assert restored(run)


def test_timeout_before_any_change_ends_the_experiment_at_once(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=50), max_duration_s=120.0))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.legs) == (Answer.UNCLEAR, 0)


def test_timeout_while_no_osd_may_be_changed_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin(request(max_duration_s=900.0))
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.outside_window = 'outside the maintenance window'
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.UNCLEAR
    assert restored(run)


def test_worse_arm_is_restored_while_the_others_are_measured(
    run: ExperimentRun,
) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: bool(state.dropped))
    (dropped,) = run.now.dropped
    assert dropped.name == 'slow'
    assert dropped.reason.startswith('worse: ')
    run.come_to(lambda state: state.leg_kind is LegKind.DROP)
    state = run.come_to(lambda state: state.leg is None)
    assert measuring(state)
    assert {osd.osd_id for osd in state.osds if osd.changed} == {0, 3, 2, 6}
    assert {run.cluster.runs(n) for n in (1, 4)} == {DEFAULTS['pacific']}
    run.finish()
    assert restored(run)


# -- failures


def test_osd_that_does_not_start_ends_arm_and_experiment(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == SLOW
    run.begin()
    state = run.finish()
    assert (state.stage, state.outcome, state.crashed) == (Stage.FAILED, Outcome.FAILED, ('slow',))
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.FAILED
    assert 'did not come back up' in (state.failure or '')
    assert restored(run)


def test_osd_crash_during_measurement_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.tick()
    run.cluster.stop_osd(3)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert state.failure == 'the process of osd.3 exited unexpectedly'
    assert restored(run)


def test_arm_whose_osds_all_crash_at_once_does_not_win(run: ExperimentRun) -> None:
    """They restarted together, but with no OSD outside their arm: no host was rebooted."""
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.tick()
    arm = [osd.osd_id for osd in run.now.osds if osd.arm == 'fast']
    assert len(arm) == 2
    for n in arm:
        run.cluster.restart_by_hand(n)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.conclusion.winner) == (Answer.FAILED, None)
    assert restored(run)


def test_osd_crash_during_changes_of_others_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(
        lambda state: (
            state.leg is not None and [o.step for o in state.leg.osds].count(OsdStep.VERIFIED) == 2
        )
    )
    first = run.now.leg
    assert first is not None
    run.cluster.stop_osd(first.request.order[0])
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert restored(run)


def test_osd_crash_while_an_arm_is_dropped_ends_the_experiment(run: ExperimentRun) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: state.leg_kind is LegKind.DROP)
    run.cluster.stop_osd(0)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert restored(run)


def test_osd_without_effect_ends_the_experiment_and_is_no_crash(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.cluster.osds[0].stubborn = RunningOption(DEFAULTS['pacific'], 'mon', ignores_mon=False)
    state = run.come_to(lambda state: state.ending is not None or state.ended)
    run.cluster.osds[0].stubborn = None
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert 'without effect' in (state.failure or '')


def test_host_reboot_ends_the_experiment_and_is_no_crash(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=6), min_effect=0.0001))
    run.come_to(lambda state: measuring(state) and state.blocks > 0)
    for n in (3, 4, 5):
        run.cluster.restart_by_hand(n)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert state.failure == 'osd.3 restarted together with other OSDs'
    assert restored(run)


def test_host_reboot_during_changes_of_others_is_no_crash(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=2), min_effect=0.0001))
    run.come_to(
        lambda state: (
            state.leg is not None
            and [o.step for o in state.leg.osds].count(OsdStep.VERIFIED) == 2
            and at_step(state, OsdStep.SETTLING)
        )
    )
    # osd.0 has its arm already, osd.2 settles.
    for n in (0, 1, 2, 7, 8):
        run.cluster.restart_by_hand(n)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert restored(run)


def test_upgrade_during_an_experiment_ends_it(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
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
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
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

"""Admission, announcements and storage of experiments, and when one needs the operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import OrchestratedDaemon, RunningOption
from rocksdb_tuner.operations.experiment.announce import why_failed, why_waiting
from rocksdb_tuner.operations.experiment.measuring import BLOCKS, CURRENT
from rocksdb_tuner.operations.experiment.records import Stage
from rocksdb_tuner.operations.phases import OperationRefused, Outcome
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    OsdStep,
)
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION
from rocksdb_tuner.tests.operations.rollout.conftest import refused, set_profile

from .conftest import (
    STRINGS,
    ExperimentRun,
    at_step,
    changing,
    dropping,
    measuring,
    plan,
)


def test_group_that_runs_other_options_than_planned_is_refused(run: ExperimentRun) -> None:
    with pytest.raises(OperationRefused, match='runs another option string'):
        run.begin(plan(from_options='write_buffer_size=1'))
    assert run.experiment.state is None
    assert run.cluster.commands == []


def test_osd_with_a_pending_restart_is_refused(run: ExperimentRun) -> None:
    """Its running options could not be restored."""
    run.cluster.operator_sets('osd', 'write_buffer_size=1')
    messages = RunningOption(DEFAULTS['pacific'], 'mon', ignores_mon=False)
    for osd in run.cluster.osds.values():
        osd.shown[OPTION] = osd.reported[OPTION] = messages
    with pytest.raises(OperationRefused, match='does not run the entry of'):
        run.begin()


def test_nothing_starts_while_measurements_of_another_cannot_be_removed(
    run: ExperimentRun,
) -> None:
    def refuse(key: str) -> None:
        if key == BLOCKS:
            raise CommandError(5, 'no space')

    run.store.on_set = refuse
    with refused(5, 'cannot store the request: no space'):
        run.begin()
    assert run.experiment.state is None
    assert CURRENT not in run.store.values


def test_measurements_of_a_lost_experiment_decide_nothing(run: ExperimentRun) -> None:
    """Its state is unreadable, so the next one gets the same number."""
    run.begun(lambda state: measuring(state) and state.blocks == 2, min_effect=0.0001)
    run.store.values[CURRENT] = 'damaged'
    run.fail_over()
    for n in run.cluster.osds:
        run.cluster.operator_removes(f'osd.{n}')
        run.cluster.restart_by_hand(n)
    run.ticks(60)
    run.begin()
    for _ in range(2):
        run.ticks(12)
        assert (run.now.stage, run.now.blocks) == (Stage.BASELINE, 0)
        # Nor does a manager that takes over know them.
        run.fail_over()


def test_id_of_an_end_without_a_record_is_not_given_again(run: ExperimentRun) -> None:
    def refuse(key: str) -> None:
        if key.startswith('history/'):
            raise CommandError(5, 'no space')

    run.begin()
    run.store.on_set = refuse
    run.abort_it()
    run.come_to(lambda state: state.ended)
    run.tick()
    assert run.driver.history == ()
    assert run.driver.next_number() == '2'


def test_actor_is_stored_once_known(run: ExperimentRun) -> None:
    run.experiment.name_actor('E1', 'client.a')
    run.begin()
    with pytest.raises(OperationRefused, match='experiment E1 is under way'):
        run.begin()
    run.experiment.name_actor('E7', 'client.a')
    assert run.now.actor == 'client.admin'
    run.experiment.name_actor('E1', 'client.a')
    assert run.now.actor == 'client.a'


def test_failed_experiment_is_acknowledged_once(run: ExperimentRun) -> None:
    assert not run.experiment.acknowledge(1.0)
    run.cluster.refuses_to_start = lambda value: 'Snappy' in value
    run.begin()
    run.finish()
    run.tick()
    assert run.experiment.acknowledge(1.0)
    assert not run.experiment.acknowledge(1.0)
    run.fail_over()
    assert run.now.acknowledged


def test_manager_taking_over_continues_with_the_stored_measurements(run: ExperimentRun) -> None:
    run.clients.factors = {}
    run.begun(
        lambda state: state.stage is Stage.MEASURING and state.blocks == 2,
        blocks=6,
        min_effect=0.0001,
    )
    run.fail_over()
    run.tick()
    assert run.now.paused_reason == 'this manager has just become active and samples first'
    run.ticks(10)
    assert (run.now.stage, run.now.blocks) == (Stage.MEASURING, 2)
    assert run.finish().outcome is Outcome.DONE


def test_end_is_stored_and_delivered_also_by_the_next_manager(run: ExperimentRun) -> None:
    """History first; both again where the manager dies in between, and never after that."""

    def refuse(_: object) -> None:
        raise CommandError(5, 'read-only')

    run.begin()
    run.experiment._on_end = refuse
    run.finish()
    run.tick()
    assert 'cannot continue: read-only' in run.experiment.problems[0]
    run.fail_over()
    run.ticks(10)
    assert [found.experiment_id for found in run.winners] == ['E1']
    assert [found.rollout_id for found in run.driver.history] == ['E1']
    assert run.now.recorded
    run.fail_over()
    run.ticks(10)
    assert len(run.winners) == 1


def test_rollout_tracks_a_restart_requested_by_an_experiment(run: ExperimentRun) -> None:
    run.begin()
    run.cluster.orchestrator_delay_s = 200.0
    run.come_to(lambda state: state.leg is not None and state.leg.asked is not None)
    asked = run.now.asked
    assert isinstance(asked, AskedRestart)
    run.abort_it()
    run.abort_it()
    run.tick()
    run.abort_it()
    state = run.driver.start(
        set_profile(run.cluster), run.cluster.now_s, elsewhere=run.experiment.outstanding
    )
    assert state.asked == asked
    # As its own: Pacific stores a request late, and one of another manager is lost then
    unstored = OrchestratedDaemon(running=True, scheduled=False)
    assert not run.driver.observer.requested.is_settled(asked, unstored, run.cluster.now_s, 1e9)
    run.driver.abort('client.a', run.cluster.now_s)
    run.come_to(lambda _: run.driver.state is not None and run.driver.state.ended)
    run.experiment._state = replace(run.now, asked=None)
    run.cluster.operator_removes('osd.0')


def test_experiment_tracks_a_restart_requested_by_a_rollout(run: ExperimentRun) -> None:
    run.start(set_profile(run.cluster, DEFAULTS['pacific']))
    run.run_to_end()
    assert run.driver.state is not None
    asked = AskedRestart(7)
    run.driver._state = replace(run.driver.state, asked=asked)
    for n in run.cluster.osds:
        run.cluster.operator_removes('osd')
        run.cluster.osds[n].shown.clear()
        run.cluster.osds[n].reported.clear()
    assert run.begin().asked == asked


@pytest.mark.parametrize('faults', [False, True])
def test_request_of_an_ended_rollout_does_not_hide_that_of_a_later_experiment(
    run: ExperimentRun, faults: bool
) -> None:
    """Also if the store refuses at first, and managers change: two OSDs were down at once."""
    cluster = run.cluster
    cluster.orchestrator_delay_s = 200.0
    run.start(set_profile(cluster))
    run.until(lambda state: state.osds[0].step is OsdStep.RESTARTING)
    cluster.restart_by_hand(0)
    run.until(lambda state: state.osds[0].step is OsdStep.SETTLING)
    run.driver.abort('client.a', cluster.now_s)
    old = run.run_to_end().asked
    cluster.operator_removes('osd.0')
    cluster.advance(400)
    cluster.restart_by_hand(0)
    run.ticks(60)
    assert run.begin().asked == old == AskedRestart(0)
    if faults:
        run.store.error = CommandError(5, 'read-only')
        run.tick()
        run.store.error = None
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    asked = run.now.asked
    if faults:
        run.fail_over()
        run.ticks(10)
    for _ in range(2):
        run.abort_it()
    run.tick()
    run.abort_it()
    assert asked is not None
    assert cluster.osds[asked.osd_id].requested_at_s is not None
    for who in cluster.entries_of():
        cluster.operator_removes(who)
    others = tuple(n for n in cluster.osds if n != asked.osd_id)
    request = set_profile(cluster, order=(*others, asked.osd_id), controls=())
    elsewhere = run.experiment.outstanding
    assert run.driver.start(request, cluster.now_s, elsewhere=elsewhere).asked == asked
    run.to_a_wait(f'the orchestrator may still restart osd.{asked.osd_id}')


def test_cluster_log_has_the_transitions(run: ExperimentRun) -> None:
    run.clients.factors = {STRINGS['slow']: 3.0}
    run.begun(changing, blocks=12, min_effect=0.001)
    run.fail_over()
    run.come_to(dropping)
    run.finish()
    run.tick()
    messages = [line for line, _ in run.cluster.logged if line.startswith('experiment E1: ')]
    text = '\n'.join(messages)
    for words in (
        'client.admin compares fast, slow, same on 6 OSD(s) of osd with 3 unchanged OSD(s)',
        'OSD(s) 0-4,6 get the option strings of their arms',
        'osd.0 gets its new options',
        'the arms are being measured',
        'slow ends early: worse: ',
        'waiting: this manager has just become active',
        'continues',
        'get their old option string back, one OSD at a time, and the experiment ends',
        'done',
    ):
        assert words in text, words
    assert run.cluster.progress_ended[-1] == ('rocksdb_tuner-E1', None)
    run.fail_over()
    assert run.cluster.progress_ended[-1] == ('rocksdb_tuner-E1', None)


def test_block_that_cannot_be_stored_is_still_measured(run: ExperimentRun) -> None:
    run.begun(lambda state: state.stage is Stage.BASELINE, blocks=2)
    run.store.error = CommandError(5, 'no space')
    run.ticks(60)
    run.store.error = None
    assert run.finish().outcome is Outcome.DONE


def test_nothing_is_measured_while_results_cannot_be_stored(run: ExperimentRun) -> None:
    """The stored state does not know of the OSD that died; a block of that time counts nothing."""
    run.begun(lambda state: state.stage is Stage.BASELINE, blocks=6)
    run.store.error = CommandError(5, 'read-only')
    run.cluster.stop_osd(0)
    run.ticks(30)
    assert run.now.paused_reason is None
    assert run.experiment.problems
    run.store.error = None
    run.cluster.start_osd(0)
    run.tick()
    run.come_to(lambda state: state.paused_reason is None)
    run.tick()
    assert run.now.blocks == 0


# -- when it needs the operator

GATE_S = 1800.0


def test_experiment_that_waits_raises_an_alarm_if_its_operator_is_needed(
    run: ExperimentRun,
) -> None:
    """An OSD in the middle of its change after ten minutes, a gate after half an hour."""
    run.begin()
    state = run.come_to(lambda state: state.leg is not None and state.leg.in_flight is not None)
    down = replace(state, paused_reason='osd.0 is down')
    leg = down.leg
    assert leg is not None
    pending = replace(leg, osds=tuple(replace(osd, step=OsdStep.PENDING) for osd in leg.osds))
    before = replace(down, leg=pending)
    paused = replace(down, paused_by='client.a')
    recovering = replace(paused, leg=replace(leg, direction=Direction.RECOVER))
    may_abort = '"ceph rocksdb-tuner operation abort" ends the experiment'
    for waiting, silent_s, after_s, aborts in (
        (replace(down, paused_reason=None), 1e6, None, False),
        (down, 599.0, 600.0, False),
        # Its actions fail.
        (replace(down, leg=replace(leg, errors=1)), None, 0.0, False),
        (paused, 1e6, None, False),
        (recovering, 599.0, 600.0, False),
        (before, GATE_S - 1, GATE_S, True),
        (replace(before, leg=None), GATE_S - 1, GATE_S, True),
        (replace(before, stage=Stage.RESTORING), GATE_S - 1, GATE_S, False),
    ):
        assert silent_s is None or why_waiting(waiting, silent_s) is None
        if after_s is not None:
            alarm = why_waiting(waiting, after_s) or ''
            assert alarm.startswith('osd.0 is down')
            assert (may_abort in alarm) is aborts


def test_failed_experiment_raises_an_alarm_and_a_finished_one_does_not(run: ExperimentRun) -> None:
    run.begin()
    state = replace(run.now, stage=Stage.FAILED)
    assert why_failed(state) == 'no reason was recorded'
    assert why_failed(replace(state, failure='osd.3 crashed')) == 'osd.3 crashed'
    assert why_failed(replace(state, stage=Stage.ABORTED)) is None
    assert why_waiting(replace(state, paused_reason='x'), 1e6) is None

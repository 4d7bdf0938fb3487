"""Rollouts with a failing OSD, orchestrator or monitor, or a conflicting operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Permission, Phase
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.osd_step import manual_restart
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, batches
from rocksdb_tuner.operations.rollout.rules import Needs, Observation, Step
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import (
    ALL,
    CLASS,
    NEW,
    OLD,
    Run,
    overridden,
    remove_override,
    same_meaning,
    set_profile,
)

BAD = 'write_buffer_size=foo'
DEFAULT = DEFAULTS['pacific']


# -- an OSD


def test_osd_that_does_not_start_loses_the_entry_and_is_started_again(run: Run) -> None:
    run.start(set_profile(run.cluster, BAD))
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert state.failure == 'osd.0 did not come back up within 300 s'
    assert run.cluster.entries_of() == {}
    assert not run.cluster.down
    assert [osd.boots for osd in run.cluster.osds.values()] == [2, 1, 1]
    assert [osd.step for osd in state.osds] == [
        OsdStep.RESTORED,
        OsdStep.PENDING,
        OsdStep.PENDING,
    ]


def test_previous_entry_of_an_osd_that_does_not_start_is_restored() -> None:
    cluster = overridden('osd.0')
    run = Run(cluster)
    run.start(set_profile(cluster, BAD, final_entries=(('osd.0', None), (ALL, BAD))))
    assert run.run_to_end().phase is Phase.FAILED
    assert cluster.entries_of() == {'osd.0': OLD}
    assert cluster.runs(0) == OLD


def test_later_osd_that_does_not_start_rolls_back_everything(run: Run) -> None:
    """No part of the cluster is left with options with which an OSD did not start."""
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.osds[1].broken = True
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.osds[1].broken = False
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    assert run.cluster.entries_of() == {}
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3
    assert state.failure == (
        'osd.1 did not come back up within 300 s; rolled back by the module on all OSDs'
    )
    # It was started again once, with what it had, and not once more for the others' sake.
    assert [osd.boots for osd in run.cluster.osds.values()] == [3, 2, 1]


def test_later_osd_without_a_restart_requires_operator_action(run: Run) -> None:
    """That the orchestrator does nothing is no reason to restart all others once more."""
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.orchestrator_idle = True
    run.to_a_wait('systemctl restart ceph-osd@1')
    assert run.state.osds[1].restarts_asked == 3
    run.cluster.orchestrator_idle = False
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().phase is Phase.DONE


def test_osd_only_stopped_under_the_previous_manager_is_started(run: Run) -> None:
    """A restart ends half-way with the manager that it ran in: no fault of the new entry."""
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.stop_osd(0)
    run.fail_over()
    run.cluster.orchestrator_idle = False
    state = run.run_to_end()
    assert (state.phase, run.cluster.runs(0)) == (Phase.DONE, NEW)


@pytest.mark.parametrize('hold', ['kill switch', 'abort', 'pause'])
def test_osd_left_down_is_recovered_after_a_failover_when_nothing_new_may_start(
    run: Run, hold: str
) -> None:
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.stop_osd(0)
    run.fail_over()
    run.cluster.orchestrator_idle = False
    if hold == 'abort':
        run.driver.abort('client.ann', run.cluster.now_s)
    elif hold == 'pause':
        run.driver.pause('client.ann', run.cluster.now_s)
    run.may_act = hold != 'kill switch'
    state = run.run_to_end()
    assert (state.phase, run.cluster.runs(0)) == (Phase.FAILED, DEFAULT)
    assert run.cluster.entries_of() == {}


def test_osd_that_does_not_start_costs_at_most_one_more_start_per_failover(
    run: Run,
) -> None:
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.tick()
    run.fail_over()
    asked = run.until(lambda s: s.direction is Direction.RECOVER).osds[0].restarts_asked
    assert asked <= 2
    assert run.run_to_end().failure == 'osd.0 did not come back up within 300 s'
    assert run.cluster.runs(0) == DEFAULT


def test_broken_osd_is_restored_in_mode_off(run: Run) -> None:
    """Safety rule 4: what keeps an OSD from starting is taken away, and the OSD is started."""
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.may_act = False
    assert run.run_to_end().phase is Phase.FAILED
    assert not run.cluster.down
    assert run.cluster.entries_of() == {}


def test_operator_is_asked_to_start_an_osd_without_an_orchestrator() -> None:
    run = Run()
    run.cluster.orchestrator_reason = 'No orchestrator configured'
    run.start(set_profile(run.cluster, BAD))
    run.to_a_wait('restart osd.0 next')
    run.cluster.restart_by_hand(0)
    state = run.to_a_wait('start osd.0 next: "systemctl start ceph-osd@0" on node0')
    assert state.stage is Phase.ROLLING_BACK
    assert run.cluster.entries_of() == {}
    run.cluster.start_osd(0)
    assert run.run_to_end().failure == 'osd.0 did not come back up within 300 s'
    assert run.cluster.runs(0) == DEFAULT


def test_permanently_dead_osd_is_awaited_until_abort(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].broken = True
    asked: list[float] = []
    run.cluster.on_command = lambda command: (
        asked.append(run.cluster.now_s) if 'orch' in command else None
    )
    state = run.to_a_wait('start osd.0 next')
    assert state.osds[0].restarts_asked == 3
    assert [later - earlier >= 300.0 for earlier, later in zip(asked, asked[1:])] == [True, True]
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.driver.abort('client.ann', run.cluster.now_s)
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert 'aborted again by client.ann before osd.0 was seen restored' in (state.failure or '')
    assert run.cluster.entries_of() == {}


def test_osd_down_before_its_restart_that_stays_down_is_restored(run: Run) -> None:
    """With its entry in place, what keeps it down may be the entry."""
    run.cluster.orchestrator_reason = 'no orchestrator'
    run.start(set_profile(run.cluster, BAD))
    run.to_a_wait('restart osd.0 next')
    run.cluster.flags.add('noout')
    run.cluster.orchestrator_reason = None
    run.cluster.restart_by_hand(0)
    run.to_a_wait('osd.0 is down')
    assert run.run_to_end().phase is Phase.FAILED
    assert not run.cluster.down


def test_osd_that_restarts_without_the_value_is_restored(run: Run) -> None:
    run.start()
    run.cluster.osds[0].stubborn = RunningOption('write_buffer_size=1', 'mon', ignores_mon=False)
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.osds[0].stubborn = None
    state = run.run_to_end()
    assert state.phase is Phase.FAILED
    assert state.failure == (
        'osd.0 was restarted without effect: it runs write_buffer_size=1 (source mon)'
    )
    assert run.cluster.entries_of() == {}
    assert run.cluster.runs(0) == DEFAULT


def test_missing_effect_after_a_restart_is_no_reason_for_another(run: Run) -> None:
    run.start()
    run.cluster.osds[0].stubborn = RunningOption(DEFAULT, 'default', ignores_mon=False)
    state = run.run_to_end()
    assert 'without effect' in (state.failure or '')
    assert [c for c in run.cluster.commands if 'orch' in c] == [
        'ceph orch daemon restart osd.0',
    ]


def test_overriding_ceph_conf_is_reported_and_left_alone(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].conf_file[OPTION] = DEFAULT
    state = run.run_to_end()
    assert 'of osd.0 comes from its ceph.conf' in (state.failure or '')
    assert run.cluster.entries_of() == {}
    assert run.cluster.osds[0].boots == 2


def test_ceph_conf_with_the_same_value_still_overrides(run: Run) -> None:
    """Its verification does not depend on the config store."""
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].conf_file[OPTION] = NEW
    state = run.run_to_end()
    assert 'of osd.0 comes from its ceph.conf' in (state.failure or '')


def test_report_of_the_previous_process_is_not_trusted_for_the_new_one() -> None:
    """The target has the meaning that the OSD ran before; now it runs something else."""
    run = Run(overridden(ALL))
    run.start(set_profile(run.cluster, ';'.join(OLD.split(','))))
    run.cluster.osds[0].stubborn = RunningOption('write_buffer_size=1', 'mon', ignores_mon=False)
    state = run.run_to_end()
    assert 'osd.0 was restarted without effect: it runs write_buffer_size=1' in (
        state.failure or ''
    )


def test_ceph_conf_that_appears_before_the_change_is_awaited(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[1].shown[OPTION] = RunningOption(OLD, 'file', ignores_mon=False)
    state = run.to_a_wait('of osd.1 comes from its ceph.conf')
    assert '"ceph rocksdb-tuner rollback"' in (state.paused_reason or '')
    assert 'osd.1' not in run.cluster.entries_of()
    del run.cluster.osds[1].shown[OPTION]
    run.cluster.advance(10)
    run.cluster.osds[1].reported = dict(run.cluster.osds[1].shown)
    assert run.run_to_end().phase is Phase.DONE


def test_osd_without_reported_options_is_restored(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].silent = True
    run.until(lambda s: s.direction is Direction.RECOVER)
    state = run.run_to_end()
    assert 'osd.0 was restarted, but its running options cannot be read' in (state.failure or '')
    assert 'osd.0 was restarted during the rollback, but its running options cannot be read' in (
        state.failure or ''
    )
    assert run.cluster.runs(0) == DEFAULT


def test_osd_in_a_crash_loop_is_restored(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.osds[0].crashes_after_s = 8.0
    state = run.run_to_end()
    assert 'osd.0 came up and went down again 3 times' in (state.failure or '')
    assert run.cluster.runs(0) == DEFAULT


def test_osd_wrongly_marked_down_keeps_its_process_and_its_turn(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.mark_down(0)
    run.tick()
    run.tick()
    assert run.state.osds[0].step is OsdStep.RESTARTING
    run.cluster.mark_down(0, up=True)
    state = run.run_to_end()
    assert (state.phase, state.osds[0].flaps) == (Phase.DONE, 1)
    assert run.cluster.osds[0].boots == 2


# -- the orchestrator


def test_idle_orchestrator_is_asked_twice_and_then_given_up(run: Run) -> None:
    run.cluster.orchestrator_idle = True
    run.start()
    state = run.run_to_end()
    assert state.failure == 'osd.0 did not restart after 2 requests'
    assert [c for c in run.cluster.commands if 'orch' in c] == [
        'ceph orch daemon restart osd.0'
    ] * 2
    assert run.cluster.entries_of() == {}
    assert run.cluster.osds[0].boots == 1


def test_second_request_waits_for_the_gates_like_the_first(run: Run) -> None:
    run.cluster.orchestrator_restarts = 2
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.orchestrator_restarts = None
    run.cluster.flags.add('noout')
    run.to_a_wait('noout', within_s=1000)
    assert [c for c in run.cluster.commands if 'orch' in c] == ['ceph orch daemon restart osd.0']
    run.cluster.flags.clear()
    assert run.run_to_end().phase is Phase.DONE


def test_refusing_orchestrator_is_retried_and_the_reason_reported(run: Run) -> None:
    run.cluster.errors['orch daemon'] = run.refusal
    run.start()
    state = run.to_a_wait('systemctl restart ceph-osd@0')
    assert 'attempts failed, retrying: read-only file system' in state.paused_reason  # type: ignore[operator]
    asked = len(run.cluster.commands)
    for _ in range(60):
        run.tick()
    # Not at every tick: some 120 s at 30 s each.
    assert len(run.cluster.commands) - asked <= 5
    del run.cluster.errors['orch daemon']
    state = run.run_to_end()
    assert (state.phase, state.errors, state.last_error) == (Phase.DONE, 0, None)


def test_refused_but_executed_orchestrator_request_is_noticed(run: Run) -> None:
    run.cluster.errors['orch daemon'] = run.refusal
    run.start()
    run.until(lambda s: s.errors == 1)
    run.cluster.restart_by_hand(0)
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    assert run.cluster.osds[0].boots == 2


def test_resume_retries_at_once_after_an_orchestrator_refusal(run: Run) -> None:
    run.cluster.errors['orch daemon'] = run.refusal
    run.start()
    run.to_a_wait('attempts failed')
    del run.cluster.errors['orch daemon']
    run.driver.resume(run.cluster.now_s)
    run.tick()
    assert run.state.osds[0].step is OsdStep.RESTARTING


def test_orchestrator_lost_after_the_request_requires_operator_action() -> None:
    run = Run()
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.orchestrator_reason = 'No orchestrator configured'
    run.to_a_wait('systemctl restart ceph-osd@0')
    run.cluster.restart_by_hand(0)
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)


def test_refused_second_request_counts(run: Run) -> None:
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.errors['orch daemon'] = run.refusal
    state = run.run_to_end()
    assert state.failure == 'osd.0 did not restart after 2 requests'


def test_idle_orchestrator_is_asked_at_most_three_times_during_rollback() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    run.cluster.orchestrator_idle = True
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.to_a_wait('osd.0 did not restart when requested')
    assert state.osds[0].restarts_asked == 3
    run.cluster.orchestrator_idle = False
    with pytest.raises(OperationRefused):
        run.driver.start(set_profile(run.cluster), run.cluster.now_s)
    state = run.driver.resume(run.cluster.now_s)
    assert (state.osds[0].step, state.paused_reason) == (OsdStep.RESTART_DUE, None)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_pause_also_holds_further_requests_during_rollback() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    run.cluster.osds[0].broken = True
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.driver.pause('client.ann', run.cluster.now_s)
    asked = len(run.cluster.commands)
    for _ in range(400):
        run.tick()
    assert len(run.cluster.commands) == asked
    assert run.state.paused_reason == 'paused by client.ann'


# -- monitors


@pytest.mark.parametrize('prefix', ['config set', 'config rm'])
def test_refusing_monitor_is_retried_and_named(run: Run, prefix: str) -> None:
    run.cluster.errors[prefix] = run.refusal
    run.start()
    state = run.to_a_wait('retrying: read-only file system')
    assert state.phase is Phase.WAITING
    del run.cluster.errors[prefix]
    assert run.run_to_end().phase is Phase.DONE


def test_unreadable_config_store_stops_everything_until_readable(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.errors['config dump'] = run.refusal
    done = len(run.cluster.commands)
    for _ in range(60):
        run.tick()
    assert len(run.cluster.commands) == done
    assert run.driver.problems == ('the rollout cannot continue: read-only file system',)
    run.cluster.errors.clear()
    assert run.run_to_end().phase is Phase.DONE
    assert not run.driver.problems


def test_state_that_cannot_be_stored_is_not_acted_on(run: Run) -> None:
    """Another manager would not know what was done."""
    run.start()
    run.store.error = run.refusal
    for _ in range(30):
        run.tick()
    assert run.cluster.commands == []
    assert run.driver.problems == ('the rollout cannot continue: read-only file system',)
    run.store.error = None
    assert run.run_to_end().phase is Phase.DONE


def test_value_not_resolved_by_the_monitor_is_awaited(run: Run) -> None:
    run.start()
    run.cluster.errors['config get'] = run.refusal
    run.to_a_wait('cannot read the configuration of osd.0 from the monitor')
    run.cluster.errors.clear()
    assert run.run_to_end().phase is Phase.DONE


@pytest.mark.parametrize('jump_s', [-86400.0, 86400.0])
def test_clock_change_neither_fails_nor_stops_a_rollout(run: Run, jump_s: float) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    clock = run.cluster.now_s + jump_s
    for _ in range(150):
        run.driver.tick(clock, Permission(has_sample=lambda _: True), run.cluster.now_s)
        run.cluster.advance(2.0)
        clock += 2.0
    assert run.state.phase is Phase.DONE


# -- foreign changes


@pytest.mark.parametrize('who', ['osd.1', 'osd.1/class:ssd', CLASS, 'osd/host:node2', 'osd'])
def test_operator_change_stops_the_rollout_and_is_left_alone(run: Run, who: str) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.cluster.operator_sets(who, OLD)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert f'{OPTION} of {who} was changed outside this rollout' in (state.failure or '')
    assert run.cluster.entries_of()[who] == OLD
    assert run.cluster.entries_of()['osd.0'] == NEW


def test_osd_in_flight_is_finished_when_another_entry_changes(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.operator_sets(ALL, OLD)
    state = run.run_to_end()
    assert (state.outcome, state.osds[0].step) == (Outcome.ABORTED, OsdStep.VERIFIED)
    assert run.cluster.entries_of() == {'osd.0': NEW, ALL: OLD}


def test_osd_in_flight_changed_by_an_operator_is_left_to_the_operator(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.operator_sets('osd.0', OLD)
    done = len(run.cluster.commands)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert len(run.cluster.commands) == done
    assert run.cluster.entries_of() == {'osd.0': OLD}


def test_no_rollback_is_offered_that_a_operator_change_would_refuse(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.operator_sets('osd.1', OLD)
    failure = run.run_to_end().failure or ''
    assert 'the change stays on osd.0, osd.1' in failure
    assert 'refuses to revert it, because osd.1 has been changed outside this rollout' in failure
    assert failure.count('outside this rollout') == 2
    with pytest.raises(OperationRefused, match='has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    run.cluster.operator_sets('osd.1', NEW)
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_rollback_is_offered_despite_an_unrelated_change(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.operator_sets(CLASS, OLD)
    failure = run.run_to_end().failure or ''
    assert f'{OPTION} of {CLASS} was changed outside this rollout; the change stays on' in failure
    assert 'rollback r1" reverts it' in failure
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    run.run_to_end()
    assert run.cluster.entries_of() == {CLASS: OLD}


def test_abort_offers_no_rollback_that_a_recent_change_conflicts_with(run: Run) -> None:
    run.start(soak=SoakPlan(300.0, 600.0))
    run.until(lambda s: s.stage is Phase.SOAKING)
    run.cluster.operator_sets('osd.0', OLD)
    state = run.driver.abort('client.a', run.cluster.now_s)
    assert 'refuses to revert it, because osd.0' in (state.failure or '')


def test_removal_of_a_rollout_entry_by_an_operator_stops_it(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.operator_removes('osd.0')
    assert run.run_to_end().outcome is Outcome.ABORTED
    assert 'osd.0' not in run.cluster.entries_of()


def test_removal_of_a_previous_entry_by_an_operator_stops_the_rollout() -> None:
    run = Run(overridden('global'))
    run.start(set_profile(run.cluster))
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.cluster.operator_removes('global')
    state = run.run_to_end()
    assert f'{OPTION} of global was changed' in (state.failure or '')


def test_unrelated_entries_do_not_stop_the_rollout() -> None:
    cluster = FakeCluster(osds=4)
    cluster.osds[3].device_class = 'hdd'
    run = Run(cluster)
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    for who in ('osd/class:hdd', 'osd.3', 'osd/host:node3', 'mon', 'client.admin', 'osd.x'):
        cluster.operator_sets(who, OLD)
    cluster.operator_sets('osd', '5', 'osd_max_backfills')
    assert run.run_to_end().phase is Phase.DONE


def test_entry_seen_only_once_is_not_a_change(run: Run) -> None:
    """A monitor may answer from just before the last change."""
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    value = run.cluster.store.pop(('osd.0', OPTION))
    run.driver.tick(run.cluster.now_s, run.allowed(), run.cluster.now_s)
    assert run.state.pending_conflict is not None
    run.cluster.store['osd.0', OPTION] = value
    state = run.run_to_end()
    assert (state.phase, state.pending_conflict) == (Phase.DONE, None)


def test_operator_change_to_an_osd_under_recovery_ends_it(run: Run) -> None:
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.errors['config rm'] = run.refusal
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.operator_sets('osd.0', OLD)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert 'did not come back up within 300 s' in (state.failure or '')
    assert 'changed outside this rollout' in (state.failure or '')
    assert run.cluster.entries_of() == {'osd.0': OLD}


def test_unrelated_operator_change_does_not_prevent_recovery(run: Run) -> None:
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.operator_sets(ALL, OLD)
    run.run_to_end()
    assert not run.cluster.down
    assert run.cluster.entries_of() == {ALL: OLD}


def test_operator_change_during_rollback_stops_it(one_step_a_tick: None, run: Run) -> None:
    run.start()
    run.until(lambda s: s.stage is Phase.COLLAPSING)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.cluster.operator_sets('osd.2', OLD)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert run.cluster.entries_of()['osd.2'] == OLD


def test_reverting_a_rollback_by_an_operator_stops_it(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.operator_sets(ALL, NEW)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert run.cluster.entries_of() == {ALL: NEW}


def test_removal_of_the_new_mask_by_an_operator_stops_the_rollout(
    one_step_a_tick: None, run: Run
) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.COLLAPSED)
    run.cluster.operator_removes(ALL)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert f'{OPTION} of {ALL} was changed outside this rollout' in (state.failure or '')
    assert ALL not in run.cluster.entries_of()


def test_rollback_skips_osds_the_rollout_did_not_reach(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.driver.abort('client.ann', run.cluster.now_s)
    run.run_to_end()
    run.cluster.operator_sets(ALL, OLD)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.entries_of() == {ALL: OLD}


def test_rollback_that_would_undo_a_operator_change_is_refused(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.cluster.operator_sets(ALL, OLD)
    with pytest.raises(OperationRefused, match='of osd has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert run.state.phase is Phase.DONE
    assert run.cluster.entries_of() == {ALL: OLD}


# -- collapsing


def test_osd_decided_by_another_source_keeps_its_own_entry(run: Run) -> None:
    """A mask that only the monitor can evaluate, there from the beginning."""
    run.cluster.operator_sets('osd/rack:r1', OLD)
    run.cluster.resolves['osd/rack:r1'] = {1}
    run.start()
    state = run.run_to_end()
    assert state.phase is Phase.FAILED
    assert run.cluster.entries_of()['osd.1'] == NEW
    assert {run.cluster.resolved(n, OPTION) for n in range(3)} == {NEW}


def test_entry_protecting_an_osd_is_written_until_confirmed(run: Run) -> None:
    run.cluster.operator_sets('osd/rack:r1', OLD)
    run.cluster.resolves['osd/rack:r1'] = {0}
    run.start()
    run.until(lambda s: s.osds[2].step is OsdStep.SETTLING)
    run.until(lambda s: s.osds[0].step is OsdStep.COLLAPSING)
    run.cluster.errors['config set'] = run.refusal
    run.to_a_wait('attempts failed')
    run.cluster.errors.clear()
    assert run.run_to_end().phase is Phase.FAILED
    assert run.cluster.entries_of()['osd.0'] == NEW


# -- changes without restarts


def test_entries_without_effect_are_removed_without_a_restart() -> None:
    run = Run()
    run.cluster.operator_sets('osd', OLD)
    request = replace(remove_override(run.cluster), restart=False)
    run.start(request)
    state = run.run_to_end()
    assert state.phase is Phase.DONE
    assert run.cluster.entries_of() == {}
    assert run.cluster.commands == [f'ceph config rm osd {OPTION}']
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.entries_of() == {'osd': OLD}
    assert not [c for c in run.cluster.commands if 'orch' in c]


def test_own_entries_can_be_removed_without_a_restart_too() -> None:
    run = Run()
    run.cluster.operator_sets('osd.1', OLD)
    request = replace(remove_override(run.cluster, 'osd.1'), restart=False)
    run.start(request)
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.commands == [f'ceph config rm osd.1 {OPTION}']


def test_change_without_restarts_is_refused_if_an_osd_runs_other_options() -> None:
    run = Run(overridden('osd'))
    request = replace(remove_override(run.cluster), restart=False)
    with pytest.raises(OperationRefused, match=r'osd\.0 must be restarted first'):
        run.start(request)


# -- words


def test_command_for_the_operator_names_verb_and_host_if_known() -> None:
    cluster = FakeCluster(1)
    info = cluster.cluster_map().osds[0]
    assert manual_restart(0, info, 'why').startswith(
        'restart osd.0 next: "systemctl restart ceph-osd@0" on node0;'
    )
    assert manual_restart(0, None, 'why').startswith(
        'restart osd.0 next: "systemctl restart ceph-osd@0";'
    )


def test_unknown_source_is_still_described(run: Run) -> None:
    run.cluster.osds[0].reported[OPTION] = RunningOption(OLD, 'override', ignores_mon=False)
    with pytest.raises(OperationRefused, match='a value set in the running daemon'):
        run.start()


def test_long_external_texts_are_truncated(run: Run) -> None:
    run.cluster.errors['config set'] = type(run.refusal)(5, 'x' * 5000)
    run.start()
    state = run.to_a_wait('attempts failed')
    assert len(state.paused_reason or '') <= 600
    assert len(state.last_error or '') <= 600


def test_abort_after_a_foreign_restart_does_not_trust_an_old_report() -> None:
    """The new process runs the new value, and the manager still shows the old one."""
    run = Run()
    run.cluster.orchestrator_reason = 'no orchestrator'
    run.start()
    run.to_a_wait('restart osd.0 next')
    run.cluster.report_s = 20.0
    run.cluster.restart_by_hand(0)
    run.cluster.advance(10)
    run.cluster.orchestrator_reason = None
    assert run.cluster.runs(0) == NEW
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert state.osds[0].step is OsdStep.RESTORED
    assert run.cluster.runs(0) == DEFAULT


def test_abort_whose_osd_does_not_restart_reports_both(run: Run) -> None:
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert state.outcome is Outcome.FAILED
    assert state.failure == 'aborted by client.ann; osd.0 did not come back up within 300 s'
    assert run.cluster.entries_of() == {}


def test_osd_left_to_the_operator_is_shown_as_failed(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.cluster.operator_sets('osd.0', OLD)
    state = run.run_to_end()
    assert [b.phase for b in batches(state)] == [Phase.FAILED, Phase.PLANNED, Phase.PLANNED]


@pytest.mark.parametrize('value', [NEW, BAD])
def test_ended_rollout_takes_no_action(run: Run, value: str) -> None:
    run.start(set_profile(run.cluster, value))
    state = run.run_to_end()
    assert Machine(same_meaning).needs(state, 1e6) == Needs()
    run.cluster.stop_osd(1)
    seen = Observation(
        cluster=run.cluster.cluster_map(),
        pgs=run.cluster.pg_summary(),
        health=frozenset(run.cluster.health_codes()),
        entries={'osd.1': OLD},
        watched_s=1e6,
    )
    assert Machine(same_meaning).step(state, seen, 0.0) == Step(state)

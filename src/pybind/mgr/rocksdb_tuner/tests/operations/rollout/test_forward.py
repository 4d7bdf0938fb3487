"""Rollouts without failures, or with small ones."""

from __future__ import annotations

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState, batches
from rocksdb_tuner.plan.commands import commands, forward_actions, undo_actions
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, overridden, remove_override, set_profile


def test_rollout_ends_with_the_mask_and_every_osd_on_the_new_value(run: Run) -> None:
    run.start()
    state = run.run_to_end()
    assert (state.phase, state.outcome, state.failure) == (Phase.DONE, Outcome.DONE, None)
    assert run.cluster.entries_of() == {ALL: NEW}
    assert [run.cluster.runs(n) for n in range(3)] == [NEW] * 3


def test_no_verdict_without_a_judge(run: Run) -> None:
    run.start()
    assert run.run_to_end().verdict is None


def test_removal_of_an_override_leaves_no_entry_and_the_release_default() -> None:
    run = Run(overridden('osd'))
    run.start(remove_override(run.cluster))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {}
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_removal_of_an_override_ends_on_osds_older_than_their_monitor() -> None:
    """The monitor's default is then another one than that of the OSDs."""
    cluster = overridden('osd')
    cluster.mon_defaults[OPTION] = DEFAULTS['reef']
    run = Run(cluster)
    run.start(remove_override(cluster))
    assert run.run_to_end().phase is Phase.DONE


def test_own_entry_stays_on_request() -> None:
    run = Run(FakeCluster(osds=2))
    run.start(
        set_profile(
            run.cluster,
            who='osd.1',
            targets=((1, NEW),),
            order=(1,),
            final_entries=(('osd.1', NEW),),
        )
    )
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {'osd.1': NEW}
    assert run.cluster.runs(0) == DEFAULTS['pacific']


def test_osds_follow_one_by_one_once_the_last_is_clean(run: Run) -> None:
    dirty_restarts = []
    run.cluster.on_command = lambda command: (
        None if run.cluster.clean or 'orch' not in command else dirty_restarts.append(command)
    )
    run.start()
    run.run_to_end()
    assert dirty_restarts == []
    assert [c for c in run.cluster.commands if 'orch' in c] == [
        f'ceph orch daemon restart osd.{n}' for n in range(3)
    ]


def test_first_osd_is_the_canary_and_the_mask_comes_last(run: Run) -> None:
    run.start()
    phases: list[Phase] = []
    while not run.state.ended:
        run.tick()
        if run.state.phase not in phases[-1:]:
            phases.append(run.state.phase)
    assert [p for p in phases if p is not Phase.WAITING] == [
        Phase.CANARY,
        Phase.PROMOTING,
        Phase.COLLAPSING,
        Phase.DONE,
    ]


def test_batches_list_each_osd_in_order(run: Run) -> None:
    state = run.start()
    assert [(b.osds, b.phase) for b in batches(state)] == [((n,), Phase.PLANNED) for n in range(3)]
    state = run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    assert [b.phase for b in batches(state)] == [Phase.DONE, Phase.PROMOTING, Phase.PLANNED]
    assert {b.phase for b in batches(run.run_to_end())} == {Phase.DONE}


def test_batches_mark_the_canary_and_a_rollback(run: Run) -> None:
    run.start()
    state = run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    assert batches(state)[0].phase is Phase.CANARY
    run.driver.rollback(None, 'client.admin', run.cluster.now_s)
    state = run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    assert batches(state)[0].phase is Phase.ROLLING_BACK


def test_rollout_is_applied_as_shown(run: Run) -> None:
    request = set_profile(run.cluster)
    shown = [c for c in commands(forward_actions(request)) if 'config show' not in c]
    run.start(request)
    run.run_to_end()
    assert run.cluster.commands == shown


def test_rollback_is_applied_as_shown() -> None:
    cluster = overridden('osd')
    run = Run(cluster)
    request = remove_override(cluster)
    shown = commands(undo_actions(request, cluster.entries_of()))
    run.start(request)
    run.run_to_end()
    cluster.commands.clear()
    run.driver.rollback(None, 'client.admin', cluster.now_s)
    run.run_to_end()
    assert cluster.commands == [c for c in shown if 'config show' not in c]


def test_removal_of_an_override_is_applied_as_shown() -> None:
    cluster = overridden('osd')
    run = Run(cluster)
    request = remove_override(cluster)
    run.start(request)
    run.run_to_end()
    shown = commands(forward_actions(request))
    assert cluster.commands == [c for c in shown if 'config show' not in c]


def test_new_active_manager_observes_before_it_acts(run: Run) -> None:
    run.start()
    run.fail_over()
    run.tick()
    assert run.state.phase is Phase.WAITING
    assert 'samples first' in (run.state.paused_reason or '')
    assert run.cluster.commands == []
    assert run.run_to_end().phase is Phase.DONE


def test_unchanged_cluster_costs_no_sample(run: Run) -> None:
    run.cluster.errors['config dump'] = run.cluster.errors['config get'] = ZeroDivisionError()  # type: ignore[assignment]
    run.tick()
    assert run.driver.state is None


def test_osd_restarted_by_an_operator_in_time_is_not_restarted_again(run: Run) -> None:
    """With its entry in place, any new process will do."""
    run.start()
    run.cluster.orchestrator_reason = 'no orchestrator'
    run.until(lambda s: s.osds[0].step is OsdStep.RESTART_DUE)
    run.cluster.orchestrator_reason = None
    run.cluster.restart_by_hand(0)
    run.cluster.advance(20)
    run.run_to_end()
    assert 'ceph orch daemon restart osd.0' not in run.cluster.commands
    assert run.cluster.osds[0].boots == 2


# -- without an orchestrator


def test_restarts_are_requested_one_by_one_without_an_orchestrator(run: Run) -> None:
    run.cluster.orchestrator_reason = 'No orchestrator configured (try `ceph orch set backend`)'
    run.start()
    for n in range(3):
        state = run.to_a_wait(f'"systemctl restart ceph-osd@{n}" on node{n}')
        assert state.phase is Phase.WAITING
        assert 'No orchestrator configured' in (state.paused_reason or '')
        assert run.cluster.entries_of()[f'osd.{n}'] == NEW
        run.cluster.restart_by_hand(n)
    assert run.run_to_end().phase is Phase.DONE
    assert not [c for c in run.cluster.commands if 'orch' in c]


def test_closed_gate_is_named_first_without_an_orchestrator(run: Run) -> None:
    run.cluster.orchestrator_reason = 'No orchestrator configured'
    run.start()
    run.to_a_wait('osd.0 next')
    run.cluster.flags.add('noout')
    state = run.to_a_wait('noout')
    assert 'systemctl' not in (state.paused_reason or '')


# -- gates


@pytest.mark.parametrize(
    'flag',
    [
        'noup',
        'nodown',
        'noin',
        'noout',
        'nobackfill',
        'norecover',
        'norebalance',
        'pauserd',
        'pausewr',
    ],
)
def test_cluster_flag_holds_the_rollout_until_cleared(run: Run, flag: str) -> None:
    run.cluster.flags.add(flag)
    run.start()
    state = run.to_a_wait(flag)
    assert (state.phase, state.stage) == (Phase.WAITING, Phase.PREFLIGHT)
    for _ in range(300):
        run.tick()
    assert run.cluster.commands == []
    run.cluster.flags.discard(flag)
    assert run.run_to_end().phase is Phase.DONE


@pytest.mark.parametrize(
    'code', ['MON_DOWN', 'OSD_NEARFULL', 'OSD_FULL', 'POOL_NEARFULL', 'OSD_FLAGS', 'PG_DAMAGED']
)
def test_health_check_holds_the_rollout_until_cleared(run: Run, code: str) -> None:
    run.start()
    run.until(lambda s: s.stage is Phase.PROMOTING)
    run.cluster.health[code] = 'HEALTH_WARN'
    state = run.to_a_wait(code)
    assert state.stage is Phase.PROMOTING
    done = list(run.cluster.commands)
    for _ in range(300):
        run.tick()
    assert [c for c in run.cluster.commands if c not in done] == []
    run.cluster.health.clear()
    assert run.run_to_end().phase is Phase.DONE


def test_irrelevant_health_checks_hold_nothing(run: Run) -> None:
    """A cluster is seldom HEALTH_OK: clock skew or an insecure setting is no reason to wait."""
    run.cluster.health.update({'MON_DISK_LOW': 'HEALTH_WARN', 'POOL_NO_REDUNDANCY': 'HEALTH_WARN'})
    run.cluster.flags.add('noscrub')
    run.start()
    assert run.run_to_end(within_s=300).phase is Phase.DONE


def test_other_osd_going_down_holds_the_rollout_without_failing_it(
    one_step_a_tick: None, run: Run
) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.cluster.stop_osd(2)
    state = run.to_a_wait('osd.2 is down')
    assert state.failure is None
    run.cluster.start_osd(2)
    assert run.run_to_end().phase is Phase.DONE


def test_osd_down_and_out_does_not_hold_the_others(run: Run) -> None:
    """A disk that waits for its replacement is no reason never to change anything."""
    run.cluster.osds[2].in_cluster = False
    run.cluster.osds[2].device_class = 'hdd'
    run.cluster.stop_osd(2)
    run.start()
    assert run.run_to_end().phase is Phase.DONE


def test_mode_off_holds_the_rollout_within_one_tick(run: Run) -> None:
    run.start()
    run.until(lambda s: s.stage is Phase.PROMOTING)
    run.may_act = False
    done = len(run.cluster.commands)
    for _ in range(200):
        run.tick()
    assert len(run.cluster.commands) == done
    assert 'mode' in (run.state.paused_reason or '')
    run.may_act = True
    assert run.run_to_end().phase is Phase.DONE


def test_osds_of_different_versions_wait_for_the_end_of_the_upgrade(run: Run) -> None:
    run.start()
    run.cluster.osds[2].release = 'reef'
    state = run.to_a_wait('different versions')
    assert 'osd 16.2.15 and 18.2.7' in (state.paused_reason or '')
    run.cluster.osds[2].release = 'pacific'
    assert run.run_to_end().phase is Phase.DONE


def test_upgrade_started_halfway_is_awaited_between_two_osds(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.RESTARTING)
    run.cluster.upgrades_to = 'example/ceph:v16.2.15'
    state = run.to_a_wait('being upgraded')
    assert [osd.step.value for osd in state.osds] == ['verified', 'pending', 'pending']
    run.cluster.upgrades_to = None
    assert run.run_to_end().phase is Phase.DONE


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        ('versions', 'daemon versions are not known'),
        ('orch upgrade status', 'its state is unknown (read-only file system)'),
    ],
)
def test_possible_upgrade_holds_the_rollout(run: Run, command: str, message: str) -> None:
    run.start()
    run.cluster.errors[command] = run.refusal
    run.to_a_wait(message)
    del run.cluster.errors[command]
    assert run.run_to_end().phase is Phase.DONE


def test_osds_upgraded_meanwhile_do_not_get_the_old_plan(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    for osd in run.cluster.osds.values():
        osd.release = 'reef'
    run.cluster.release = 'reef'
    run.cluster.flags.clear()
    state = run.run_to_end()
    assert state.phase is Phase.FAILED
    assert 'osd.0 now runs reef: the plan was made for pacific' in (state.failure or '')
    assert run.cluster.commands == []


def test_unreadable_value_holds_the_rollout(run: Run) -> None:
    run.start()
    run.cluster.osds[0].silent = True
    run.to_a_wait('cannot read the running options of osd.0')
    run.cluster.osds[0].silent = False
    assert run.run_to_end().phase is Phase.DONE


def test_missing_ok_to_stop_answer_holds_the_rollout(run: Run) -> None:
    run.start()
    run.cluster.errors['osd ok-to-stop'] = run.refusal
    run.to_a_wait('no ok-to-stop answer for osd.0')
    del run.cluster.errors['osd ok-to-stop']
    assert run.run_to_end().phase is Phase.DONE


def test_long_recovery_is_named_and_awaited(run: Run) -> None:
    run.cluster.recover_s = 1000.0
    run.start()
    state = run.to_a_wait('not all active+clean')
    assert state.osds[0].step is OsdStep.SETTLING
    assert 'active+undersized+degraded' in (state.paused_reason or '')
    run.cluster.recover_s = 10.0
    assert run.run_to_end().phase is Phase.DONE


# -- the operator


def test_pause_starts_nothing_more_and_resume_continues(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    state = run.driver.pause('client.ann', run.cluster.now_s)
    assert (state.phase, state.paused_reason) == (Phase.WAITING, 'paused by client.ann')
    # The OSD in flight is watched to its end all the same.
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    for _ in range(100):
        run.tick()
    assert run.state.osds[1].step is OsdStep.PENDING
    assert run.state.paused_reason == 'paused by client.ann'
    assert run.driver.resume(run.cluster.now_s).paused_reason is None
    assert run.run_to_end().phase is Phase.DONE


def test_pause_survives_a_failover(run: Run) -> None:
    run.start()
    run.driver.pause('client.ann', run.cluster.now_s)
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.state.paused_reason == 'paused by client.ann'
    assert run.cluster.commands == []


def test_abort_before_any_change_ends_at_once(run: Run) -> None:
    run.start()
    state = run.driver.abort('client.ann', run.cluster.now_s)
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert state.failure == 'aborted by client.ann'


@pytest.mark.parametrize('step', [OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING])
def test_abort_lets_a_restarting_osd_finish_and_starts_no_other(run: Run, step: OsdStep) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is step)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.outcome, state.osds[0].step) == (Outcome.ABORTED, OsdStep.VERIFIED)
    assert run.cluster.runs(0) == NEW
    assert run.cluster.entries_of() == {'osd.0': NEW}
    assert 'the change stays on osd.0: "ceph rocksdb-tuner rollback r1"' in (state.failure or '')


def test_abort_removes_an_entry_whose_restart_was_not_requested(run: Run) -> None:
    run.cluster.orchestrator_reason = 'no orchestrator'
    run.start()
    run.to_a_wait('osd.0 next')
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.outcome, state.osds[0].step) == (Outcome.ABORTED, OsdStep.RESTORED)
    assert run.cluster.entries_of() == {}
    assert run.cluster.osds[0].boots == 1


def test_abort_removes_an_entry_whose_write_failed(run: Run) -> None:
    run.start()
    run.cluster.errors['config set'] = run.refusal
    run.until(lambda s: s.osds[0].step is OsdStep.SETTING)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.outcome, state.osds[0].step) == (Outcome.ABORTED, OsdStep.RESTORED)
    assert run.cluster.entries_of() == {}


def test_abort_of_a_missing_restart_removes_the_entry(run: Run) -> None:
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.outcome, state.osds[0].step) == (Outcome.ABORTED, OsdStep.RESTORED)
    assert run.cluster.entries_of() == {}


def test_abort_during_the_collapse_leaves_every_osd_with_the_same_value(run: Run) -> None:
    run.start()
    run.until(lambda s: s.stage is Phase.COLLAPSING)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert {run.cluster.resolved(n, OPTION) for n in range(3)} == {NEW}


# -- rollback


def to_rolled_back(run: Run) -> RolloutState:
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    return state


@pytest.mark.parametrize('who', ['osd', 'global'])
def test_rollback_after_the_end_restores_the_previous_entry(who: str) -> None:
    run = Run(overridden(who))
    run.start(set_profile(run.cluster, final_entries=((who, NEW),)))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {who: NEW}
    to_rolled_back(run)
    assert run.cluster.entries_of() == {who: OLD}
    assert {run.cluster.runs(n) for n in range(3)} == {OLD}


def test_rollback_restores_masks_and_expects_no_osd_to_start_with_them(run: Run) -> None:
    run.cluster.operator_sets(CLASS, OLD)
    run.start(set_profile(run.cluster, final_entries=((CLASS, None), (ALL, NEW))))
    assert run.run_to_end().phase is Phase.DONE
    assert run.cluster.entries_of() == {ALL: NEW}
    to_rolled_back(run)
    assert run.cluster.entries_of() == {CLASS: OLD}
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_rollback_restores_own_entries() -> None:
    cluster = overridden('osd.1')
    run = Run(cluster)
    final = (('osd.1', None), (ALL, NEW))
    run.start(set_profile(cluster, final_entries=final))
    assert run.run_to_end().phase is Phase.DONE
    assert cluster.entries_of() == {ALL: NEW}
    to_rolled_back(run)
    assert cluster.entries_of() == {'osd.1': OLD}
    assert [cluster.runs(n) for n in range(3)] == [DEFAULTS['pacific'], OLD, DEFAULTS['pacific']]


@pytest.mark.parametrize(
    ('step', 'restarts'),
    [
        (OsdStep.PENDING, [1, 0, 0]),
        (OsdStep.SETTING, [1, 0, 0]),
        (OsdStep.RESTART_DUE, [1, 0, 0]),
        # The one on its way up may have read the entry: it comes up, and is restarted once more.
        (OsdStep.RESTARTING, [1, 2, 0]),
        (OsdStep.CHECKING, [1, 1, 0]),
        (OsdStep.SETTLING, [1, 1, 0]),
        (OsdStep.VERIFIED, [1, 1, 0]),
        (OsdStep.COLLAPSING, [1, 1, 1]),
        (OsdStep.COLLAPSED, [1, 1, 1]),
    ],
)
def test_rollback_halfway_restarts_only_affected_osds(
    one_step_a_tick: None, run: Run, step: OsdStep, restarts: list[int]
) -> None:
    """``step`` is how far the second of three OSDs is."""
    cluster = run.cluster
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.until(lambda s: s.osds[1].step is step)
    boots = [osd.boots for osd in cluster.osds.values()]
    to_rolled_back(run)
    assert cluster.entries_of() == {}
    assert {cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}
    assert [osd.boots - boots[n] for n, osd in cluster.osds.items()] == restarts


def test_rollback_of_a_change_without_effect_restarts_nothing() -> None:
    """The entry had the same meaning before, in other words."""
    cluster = overridden(ALL)
    run = Run(cluster)
    same = ';'.join(reversed(OLD.split(',')))
    run.start(set_profile(cluster, same))
    assert run.run_to_end().phase is Phase.DONE
    cluster.commands.clear()
    to_rolled_back(run)
    assert [c for c in cluster.commands if 'orch' in c] == []
    assert cluster.entries_of() == {ALL: OLD}


def test_rollback_does_not_trust_config_show_of_an_older_process() -> None:
    """Once the mask is gone, `config show` reports the default though the new value still runs."""
    run = Run()
    run.start()
    run.run_to_end()
    run.cluster.operator_removes(ALL)
    run.cluster.advance(10)
    assert run.cluster.running(0, [OPTION])[OPTION].source == 'default'
    run.cluster.operator_sets(ALL, NEW)
    to_rolled_back(run)
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_rollback_skips_a_removed_osd() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    del run.cluster.osds[1]
    to_rolled_back(run)
    assert run.cluster.entries_of() == {}
    assert run.cluster.runs(2) == DEFAULTS['pacific']


def test_rollback_starts_a_down_osd_before_it_restarts_others() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    run.cluster.stop_osd(1)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda state: state.osds[1].step is OsdStep.RESTARTING)
    assert [run.state.osds[n].step for n in (0, 2)] == [OsdStep.RESTART_DUE] * 2
    state = run.run_to_end()
    assert state.phase is Phase.ROLLED_BACK
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_pause_and_mode_off_hold_a_rollback_too(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.driver.pause('client.ann', run.cluster.now_s)
    done = len(run.cluster.commands)
    for _ in range(30):
        run.tick()
    assert len(run.cluster.commands) == done
    run.driver.resume(run.cluster.now_s)
    run.may_act = False
    run.to_a_wait('mode')
    assert len(run.cluster.commands) == done
    run.may_act = True
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_abort_of_a_rollback_stops_it_with_a_message(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.cluster.flags.add('noout')
    run.to_a_wait('noout')
    state = run.driver.abort('client.bob', run.cluster.now_s)
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert state.failure == 'rolled back by client.ann; rollback aborted by client.bob'
    run.cluster.flags.clear()
    run.cluster.advance(60)
    # It can be taken up again, and then ends as it should.
    to_rolled_back(run)
    assert {run.cluster.runs(n) for n in range(3)} == {DEFAULTS['pacific']}


def test_rollback_of_an_overridden_osd_waits_with_a_reason(run: Run) -> None:
    """Ending there would leave the others as they are."""
    run.start()
    run.run_to_end()
    run.cluster.osds[0].conf_file[OPTION] = OLD
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.to_a_wait('osd.0 was restarted during the rollback, but it runs')
    assert '(source file)' in (state.paused_reason or '')
    assert state.direction is Direction.BACK
    run.cluster.osds[0].conf_file.clear()
    run.cluster.restart_by_hand(0)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_rollback_waits_for_an_osd_that_does_not_start_and_names_the_command() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    run.cluster.osds[0].broken = True
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.to_a_wait('start osd.0 next: "systemctl start ceph-osd@0" on node0', 6000)
    assert state.osds[0].restarts_asked == 3
    run.cluster.osds[0].broken = False
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_osd_starting_during_a_rollback_is_not_trusted_but_restarted_again() -> None:
    """It read the entry before that was removed, and `config show` will report the default."""
    run = Run()
    run.cluster.boot_s = 60.0
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    for _ in range(10):
        run.tick()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is OsdStep.RESTART_DUE)
    assert run.cluster.runs(0) == NEW
    assert run.cluster.osds[0].shown.get(OPTION) is None
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.runs(0) == DEFAULTS['pacific']
    assert run.cluster.osds[0].boots == 3


@pytest.mark.parametrize('step', [OsdStep.CHECKING, OsdStep.SETTLING])
def test_osd_that_goes_down_again_during_rollback_is_awaited(run: Run, step: OsdStep) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is step)
    run.cluster.stop_osd(0)
    run.until(lambda s: s.osds[0].flaps == 1)
    run.cluster.start_osd(0)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


def test_pause_holds_the_move_to_the_mask(one_step_a_tick: None, run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.COLLAPSED)
    run.driver.pause('client.ann', run.cluster.now_s)
    done = len(run.cluster.commands)
    for _ in range(30):
        run.tick()
    assert len(run.cluster.commands) == done
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().phase is Phase.DONE


def test_osd_restarted_by_an_operator_at_a_rollback_is_restarted_again(run: Run) -> None:
    """Its new process read the mask before that was removed."""
    run.start()
    run.run_to_end()
    run.cluster.boot_s = 60.0
    run.cluster.restart_by_hand(0)
    run.cluster.advance(10)
    assert 0 in run.cluster.down
    run.cluster.orchestrator_reason = 'no orchestrator'
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.to_a_wait('"systemctl start ceph-osd@0"')
    run.to_a_wait('"systemctl restart ceph-osd@0"')
    run.cluster.orchestrator_reason = None
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.runs(0) == DEFAULTS['pacific']


def test_pause_with_nothing_left_to_hold_ends_with_the_rollback(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[2].step is OsdStep.SETTLING)
    run.driver.pause('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.paused_by, state.paused_reason) == (Phase.ROLLED_BACK, None, None)


def test_delayed_placement_group_reports_are_awaited(run: Run) -> None:
    """An OSD that returns quickly: the manager does not know yet that anything was missing."""
    run.cluster.stop_s, run.cluster.boot_s, run.cluster.pg_report_s = 0.0, 1.0, 10.0
    run.cluster.recover_s = 20.0
    dirty_restarts = []
    run.cluster.on_command = lambda command: (
        None if run.cluster.clean or 'orch' not in command else dirty_restarts.append(command)
    )
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    assert dirty_restarts == []

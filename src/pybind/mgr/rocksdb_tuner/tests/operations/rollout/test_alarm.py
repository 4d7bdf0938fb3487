"""When a rollout needs the operator: raised then, not before, and gone when it is dealt with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import Inconclusive, Verdict
from rocksdb_tuner.operations.announce import ACTION_AFTER_S, GATE_ALARM_AFTER_S, with_remedy
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.announce import why_failed, why_waiting
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import NEW, Run, refusing, set_profile
from .test_soak import SOAK, soaking

LONG_S = 10 * ACTION_AFTER_S


def noted(run: Run) -> bool:
    return run.driver.acknowledged


def waits(run: Run, for_s: float) -> object:
    return why_waiting(run.state, for_s)


def test_successful_rollout_never_raises_an_alarm(run: Run) -> None:
    run.start(soak=SOAK)
    while not run.state.ended:
        assert why_failed(run.state) is None
        assert waits(run, 60.0) is None
        run.tick()
    assert why_failed(run.state) is None


def test_closed_gate_raises_no_alarm_for_half_an_hour(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    assert waits(run, GATE_ALARM_AFTER_S - 1) is None
    assert 'noout; "ceph osd unset <flag>"' in str(waits(run, GATE_ALARM_AFTER_S))


def watch(run: Run, for_s: float) -> object:
    """The alarm of a manager that has seen it for so long."""
    for _ in range(int(for_s / 2)):
        run.tick()
    return run.driver.why_waiting()


def test_alarm_uses_the_uptime_of_the_manager_and_not_the_clock(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    assert watch(run, 1700) is None
    run.cluster.now_s += 86400
    assert watch(run, 4) is None
    run.fail_over()
    assert watch(run, 1700) is None
    assert 'noout' in str(watch(run, 120))
    run.cluster.flags.discard('noout')
    assert watch(run, 4) is None


def test_alternating_reasons_are_one_wait(run: Run) -> None:
    run.start()
    for n in range(20):
        run.cluster.flags.discard('noout')
        run.cluster.health.clear()
        if n % 2:
            run.cluster.flags.add('noout')
        else:
            run.cluster.health['PG_DEGRADED'] = 'HEALTH_WARN'
        found = watch(run, 100)
    assert 'noout' in str(found)


def test_waits_chosen_by_the_operator_raise_no_alarm(run: Run) -> None:
    run.outside_window = 'outside the maintenance window'
    run.start()
    assert watch(run, 4000) is None
    run.outside_window = None
    run.may_act = False
    assert watch(run, 4000) is None


@pytest.mark.parametrize(
    ('reason', 'remedy'),
    [
        ('osd.7 is down', 'ceph osd out 7'),
        ('flags set on the cluster: noout', 'ceph osd unset'),
        ('cluster health: MON_DOWN', 'ceph health detail'),
        ('placement groups are not all active+clean', 'ceph pg dump_stuck'),
        ('Ceph is being upgraded: 18', 'ceph orch upgrade status'),
        ('daemons run different versions, as in', 'ceph versions'),
        ('osd.3 is not ok-to-stop: unsafe', 'ceph osd ok-to-stop'),
        ('anything else', 'operation abort'),
    ],
)
def test_each_gate_names_its_remedy(reason: str, remedy: str) -> None:
    found = with_remedy(reason, 'rollout')
    assert found.startswith(f'{reason}; ')
    assert remedy in found
    assert found.endswith('"ceph rocksdb-tuner operation abort" ends the rollout')


def test_osd_in_a_mixed_state_raises_an_alarm_after_a_while(run: Run) -> None:
    run.cluster.orchestrator_reason = 'No orchestrator configured'
    run.start()
    run.to_a_wait('systemctl')
    assert waits(run, ACTION_AFTER_S - 1) is None
    assert 'systemctl restart ceph-osd@0' in str(waits(run, ACTION_AFTER_S))
    run.cluster.restart_by_hand(0)
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    assert waits(run, 60.0) is None


def test_missing_verdict_raises_an_alarm_at_once_until_resume(run: Run) -> None:
    run.clients.writes_per_s = 0
    run.start(soak=SOAK)
    run.to_a_wait('the verdict on osd.0 is no-data')
    assert 'operation resume' in str(waits(run, 0.0))
    run.driver.resume(run.cluster.now_s)
    assert waits(run, 60.0) is None


def test_pause_by_the_operator_raises_no_alarm(run: Run) -> None:
    run.start()
    run.driver.pause('operator', run.cluster.now_s)
    run.tick()
    assert waits(run, LONG_S) is None


def test_refusing_config_store_raises_an_alarm(run: Run) -> None:
    run.cluster.errors['config set'] = refusing('read-only')
    run.start()
    run.to_a_wait('attempts failed')
    assert 'read-only' in str(waits(run, 0.0))


def test_rollback_by_verdict_is_a_failure_and_by_the_operator_is_not(run: Run) -> None:
    run.clients.factor = 1.3
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.WORSE)
    assert 'client write latency' in str(why_failed(state))
    run.clients.factor = 1.0
    run.start(soak=SOAK)
    run.run_to_end()
    run.driver.rollback(None, 'operator', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert why_failed(run.state) is None


def test_rollback_by_configured_policy_is_no_failure() -> None:
    run = Run(FakeCluster(osds=1))
    run.start(soak=replace(SOAK, inconclusive=Inconclusive.ROLLBACK))
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert why_failed(run.state) is None


def test_abort_is_a_failure_only_if_it_leaves_some_osds_changed(run: Run) -> None:
    run.start(soak=SOAK)
    run.driver.abort('operator', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.FAILED
    assert why_failed(run.state) is None
    run.start(soak=SOAK)
    run.until(soaking)
    run.driver.abort('operator', run.cluster.now_s)
    run.run_to_end()
    assert 'the change stays on osd.0' in str(why_failed(run.state))


def test_failure_is_acknowledged_until_the_next_rollout_and_across_managers(run: Run) -> None:
    assert not run.driver.acknowledge()
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    assert not run.driver.acknowledge()
    run.run_to_end()
    assert not noted(run)
    assert run.driver.acknowledge()
    assert not run.driver.acknowledge()
    run.fail_over()
    assert noted(run)
    for _ in range(10):
        run.tick()
    run.start(set_profile(run.cluster))
    assert not noted(run)
    run.run_to_end()
    assert not noted(run)

"""When a campaign requires operator action: raised then, not before, and gone with its cause."""

from __future__ import annotations

import pytest

from rocksdb_tuner.operations.announce import ACTION_AFTER_S, GATE_ALARM_AFTER_S

from .conftest import WAITING, Run


def watched(run: Run, for_s: float) -> bool:
    """Whether the health check is raised after so long."""
    for _ in range(int(for_s / 2)):
        run.tick()
    return WAITING in run.health()


def compacting(run: Run) -> Run:
    run.start()
    run.until(lambda state: bool(state.in_flight))
    return run


def test_campaign_that_requires_operator_action_raises_a_health_check() -> None:
    run = compacting(Run())
    run.latency_ms = 50.0
    run.to_a_wait('operation resume')
    assert not watched(run, ACTION_AFTER_S - 10)
    assert watched(run, 20)
    check = run.health()[WAITING]
    assert check['summary'] == (
        'rocksdb_tuner compaction campaign c1 of osd requires operator action'
    )
    assert 'operation resume' in str(check['detail'])
    assert '"ceph rocksdb-tuner operation abort" ends the campaign' in str(check['detail'])
    run.driver.resume(run.cluster.now_s)
    assert WAITING not in run.health()
    assert not watched(run, 20)


def test_osd_down_during_its_compaction_raises_an_alarm_also_after_an_abort() -> None:
    run = compacting(Run())
    run.cluster.stop_osd(0)
    run.to_a_wait('osd.0 is down')
    assert not watched(run, ACTION_AFTER_S - 10)
    assert watched(run, 20)
    assert 'osd.0 is down; start it' in str(run.health()[WAITING]['detail'])
    run.driver.abort('client.a', run.cluster.now_s)
    assert watched(run, 20)
    assert 'operation abort' not in str(run.health()[WAITING]['detail'])
    run.cluster.start_osd(0)
    assert not watched(run, 60)


def test_closed_gate_raises_an_alarm_only_after_half_an_hour() -> None:
    run = Run()
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    assert not watched(run, GATE_ALARM_AFTER_S - 20)
    assert watched(run, 40)
    assert 'ceph osd unset' in str(run.health()[WAITING]['detail'])
    run.fail_over()
    assert not watched(run, GATE_ALARM_AFTER_S - 20)
    run.cluster.flags.clear()
    assert not watched(run, 60)


@pytest.mark.parametrize('chosen', ['pause', 'mode', 'window'])
def test_waits_chosen_by_the_operator_raise_no_alarm(chosen: str) -> None:
    run = Run()
    run.start()
    if chosen == 'pause':
        run.driver.pause('client.a', run.cluster.now_s)
    run.may_act = chosen != 'mode'
    run.outside_window = 'outside the maintenance window' if chosen == 'window' else None
    assert not watched(run, 2 * GATE_ALARM_AFTER_S)
    assert run.state.paused_reason

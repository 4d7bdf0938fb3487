"""An OSD that starts slowly is left alone; one that is dead is recovered as fast as ever."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.observer import REFRESH_S, Liveness
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep

from .conftest import ALL, NEW, OLD, Run, overridden, set_profile
from .test_outstanding import Asked


def slow(boot_s: float, silent: bool = False) -> tuple[Run, Asked]:
    run = Run(overridden(ALL))
    run.cluster.boot_s = boot_s
    run.cluster.orchestrator_silent = silent
    return run, Asked(run)


def test_orchestrator_is_refreshed_each_minute() -> None:
    """Its own round takes several."""
    assert REFRESH_S == 60.0


def test_slow_boot_beyond_restart_timeout_is_awaited_on_every_osd() -> None:
    run, requests = slow(400.0)
    run.start(set_profile(run.cluster))
    run.to_a_wait('osd.0 is not up yet, but its process is running: waiting for it')
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]


def test_starting_process_is_not_killed_during_rollback() -> None:
    run, requests = slow(5.0)
    run.start(set_profile(run.cluster))
    run.run_to_end()
    run.cluster.boot_s = 700.0
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.ROLLED_BACK
    assert requests.osds[3:] == [0, 1, 2]
    assert [run.cluster.runs(n) for n in range(3)] == [OLD] * 3


def test_rollback_during_a_slow_boot_waits_for_it() -> None:
    run, requests = slow(400.0)
    run.start(set_profile(run.cluster))
    run.until(lambda state: not run.cluster.osds[0].up)
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.ROLLED_BACK
    # It came up with what it had read before the rollback: once more, with what it had.
    assert requests.osds == [0, 0]
    assert run.cluster.runs(0) == OLD


def test_dead_process_is_recovered_without_a_delay() -> None:
    run, _ = slow(5.0)
    run.start(set_profile(run.cluster))
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.until(lambda state: not run.cluster.osds[0].up)
    down_s = run.cluster.now_s
    run.until(lambda state: state.direction is Direction.RECOVER)
    assert run.cluster.now_s - down_s < 320.0
    run.run_to_end()
    assert run.cluster.osds[0].up
    assert run.cluster.now_s - down_s < 360.0


def test_crash_loop_is_not_mistaken_for_a_slow_start() -> None:
    signs = Liveness()
    for n in range(1, 20):
        reported = OrchestratedDaemon(running=True, started=f's{n}', refreshed=f'r{n}')
        assert signs.update('osd.0', reported) is None


def reported(running: Optional[bool], started: str, refreshed: Optional[str]) -> OrchestratedDaemon:
    return OrchestratedDaemon(running, started, refreshed)


def test_report_from_before_the_osd_went_down_is_no_sign_of_life() -> None:
    signs = Liveness()
    assert signs.update(1, reported(True, 's1', 'r1')) is None
    assert signs.update(1, reported(True, 's1', 'r1')) is None
    assert signs.update(1, reported(True, 's2', 'r2')) is None
    assert signs.update(1, reported(True, 's2', 'r2')) is None
    assert signs.update(1, reported(True, 's2', 'r3')) is True
    assert signs.update(1, reported(True, 's2', 'r3')) is True
    assert signs.update(1, reported(False, 's2', 'r4')) is False
    assert signs.update(1, reported(None, 's2', 'r5')) is None
    assert signs.update(1, None) is None
    # Another time that it is down.
    assert signs.update(2, reported(True, 's2', 'r5')) is None


def test_limit_without_signs_of_life_is_three_times_the_longest_boot() -> None:
    run, requests = slow(150.0, silent=True)
    run.start(set_profile(run.cluster))
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    assert 140.0 <= run.state.longest_boot_s <= 160.0
    run.cluster.boot_s = 400.0
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]


def test_slow_osd_without_signs_of_life_is_restored() -> None:
    run, _ = slow(700.0, silent=True)
    run.start(set_profile(run.cluster))
    run.until(lambda state: state.direction is Direction.RECOVER)
    assert run.state.ending is not None
    assert 'did not come back up within 300 s' in run.state.ending.reason


def test_hanging_process_requires_operator_action_after_an_hour() -> None:
    run, requests = slow(1e9)
    run.start(set_profile(run.cluster))
    run.to_a_wait('is not up after 60 minutes', within_s=4000)
    assert 'systemctl restart ceph-osd@0' in (run.state.paused_reason or '')
    assert requests.osds == [0]
    assert run.driver.why_waiting() is not None
    # An operator restarts it, and it continues by itself.
    run.cluster.boot_s = 5.0
    run.cluster.restart_by_hand(0)
    assert run.run_to_end().outcome is Outcome.DONE


def test_abort_ends_though_the_process_hangs() -> None:
    run, _ = slow(1e9)
    run.start(set_profile(run.cluster))
    run.to_a_wait('waiting for it')
    run.driver.abort('client.a', run.cluster.now_s)
    run.until(lambda state: state.direction is Direction.RECOVER, within_s=4000)
    assert run.cluster.entries_of() == {ALL: OLD}
    run.driver.abort('client.a', run.cluster.now_s)
    assert run.state.outcome is Outcome.ABORTED


@pytest.mark.parametrize('failovers', [1, 3])
def test_failover_during_a_slow_boot_kills_nothing(failovers: int) -> None:
    run, requests = slow(600.0)
    run.start(set_profile(run.cluster))
    run.until(lambda state: not run.cluster.osds[0].up)
    for _ in range(failovers):
        for _ in range(60):
            run.tick()
        run.fail_over()
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]

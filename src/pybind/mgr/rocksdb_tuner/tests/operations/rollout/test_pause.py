"""A pause holds in every direction, once the OSD in flight is safe."""

from __future__ import annotations

from typing import Callable

import pytest

from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_waiting
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.tests.fake_cluster import DEFAULTS
from rocksdb_tuner.tests.operations.rollout.conftest import NEW, Run

DEFAULT = DEFAULTS['pacific']


def failing_second(run: Run) -> None:
    """The canary is changed; the second OSD is restarted and does not come up with its entry."""
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)


def held(run: Run, seconds: float = 1200.0) -> RolloutState:
    """The state after ``seconds`` without a query of the cluster."""
    run.cluster.commands.clear()
    end_s = run.cluster.now_s + seconds
    while run.cluster.now_s < end_s:
        run.tick()
    assert run.cluster.commands == []
    return run.state


def pause(run: Run) -> None:
    run.driver.pause('client.ann', run.cluster.now_s)


def paused_and_safe(run: Run) -> None:
    """The second OSD runs again, and what was changed before it is held by the pause."""
    failing_second(run)
    pause(run)
    run.until(lambda s: s.direction is Direction.BACK)
    assert run.cluster.osds[1].up
    assert run.cluster.runs(1) == DEFAULT


@pytest.mark.parametrize('takeover', [False, True])
def test_pause_before_the_osd_in_flight_failed_holds_the_others(run: Run, takeover: bool) -> None:
    paused_and_safe(run)
    if takeover:
        run.fail_over()
    state = held(run)
    assert (state.phase, state.paused_reason) == (Phase.WAITING, 'paused by client.ann')
    assert state.osds[0].step is OsdStep.VERIFIED
    assert run.cluster.runs(0) == NEW
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3


def test_pause_during_recovery_holds_the_others(run: Run) -> None:
    failing_second(run)
    run.until(lambda s: s.direction is Direction.RECOVER)
    pause(run)
    run.until(lambda s: s.direction is Direction.BACK)
    assert held(run).paused_by == 'client.ann'
    assert run.cluster.runs(0) == NEW


def resume(run: Run) -> None:
    run.driver.resume(run.cluster.now_s)


def rollback(run: Run) -> None:
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)


@pytest.mark.parametrize('act', [resume, rollback])
def test_pause_during_recovery_ends_by_resume_or_rollback(
    run: Run, act: Callable[[Run], None]
) -> None:
    failing_second(run)
    pause(run)
    run.until(lambda s: s.direction is Direction.RECOVER)
    act(run)
    assert run.state.paused_by is None
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3


def test_abort_ends_a_paused_rollback(run: Run) -> None:
    paused_and_safe(run)
    run.driver.abort('client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert 'rollback aborted by client.ann' in (state.failure or '')
    held(run)
    assert run.cluster.runs(0) == NEW


def test_paused_rollout_reports_what_the_recovery_waits_for(run: Run) -> None:
    """It is not restarted, so an operator must: "paused" alone is not enough."""
    failing_second(run)
    pause(run)
    run.cluster.orchestrator_reason = 'no orchestrator'
    state = run.to_a_wait('start osd.1 next')
    assert why_waiting(state, state.updated_s + 1e6) == state.paused_reason
    run.cluster.start_osd(1)
    run.until(lambda s: s.direction is Direction.BACK)
    assert held(run).paused_reason == 'paused by client.ann'


def test_nothing_is_paused_without_further_steps(run: Run) -> None:
    """An OSD that failed alone is restored, and that is the end."""
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    pause(run)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert state.paused_by is None

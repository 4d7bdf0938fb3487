"""At most one restart request is pending, whatever the orchestrator does with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.osd_step import asked, is_settled
from rocksdb_tuner.operations.rollout.records import AskedRestart, OsdStep

from .conftest import NEW, Run, refusing, set_profile


class Asked:
    """Every requested restart, and the orchestrator's queue at that time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        #: OSD, when, and the OSDs that were still to be restarted.
        self.found: list[tuple[int, float, set[int]]] = []
        run.cluster.on_command = self._record_command

    def _record_command(self, command: str) -> None:
        if command.startswith('ceph orch daemon restart osd.'):
            osds = self.run.cluster.osds.values()
            held = {osd.osd_id for osd in osds if osd.requested_at_s is not None}
            self.found.append((int(command.rpartition('.')[2]), self.run.cluster.now_s, held))

    @property
    def osds(self) -> list[int]:
        return [n for n, _, _ in self.found]

    def held(self) -> set[int]:
        """Those that were not held when another was requested."""
        return {n for _, _, held in self.found for n in held}


def late(delay_s: float = 60.0, silent: bool = False) -> tuple[Run, Asked]:
    run = Run()
    run.cluster.orchestrator_delay_s = delay_s
    run.cluster.orchestrator_silent = silent
    return run, Asked(run)


def at_step(run: Run, osd_id: int, step: OsdStep) -> None:
    run.until(lambda state: state.osds[osd_id].step is step)


def count_down(run: Run) -> list[int]:
    """The number of down OSDs, at every sample from now on."""
    found: list[int] = []
    advance = run.cluster.advance

    def counting(seconds: float) -> None:
        for _ in range(int(seconds)):
            advance(1.0)
            found.append(len(run.cluster.down))

    run.cluster.advance = counting  # type: ignore[method-assign]
    return found


def test_manual_restart_does_not_release_the_next_osd_before_the_late_request() -> None:
    """A new nonce is not the end of a request: with two of them two OSDs were down at once."""
    run, requests = late()
    down = count_down(run)
    run.start()
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(0)
    run.to_a_wait('the orchestrator may still restart osd.0')
    assert run.state.phase is Phase.WAITING
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]
    assert requests.held() == set()
    assert max(down) == 1


def test_late_request_is_no_crash_of_a_checked_osd() -> None:
    run, _ = late(delay_s=40.0)
    run.start()
    for n in run.cluster.osds:
        at_step(run, n, OsdStep.RESTARTING)
        run.cluster.restart_by_hand(n)
    ended = run.run_to_end()
    assert ended.outcome is Outcome.DONE
    assert [osd.flaps for osd in ended.osds] == [0, 0, 0]


def test_crashes_during_the_wait_end_with_it() -> None:
    """An OSD that keeps crashing fails once nothing else can be why it goes down."""
    run, _ = late(delay_s=80.0)
    run.start()
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.osds[0].crashes_after_s = 10.0
    run.cluster.restart_by_hand(0)
    ended = run.run_to_end()
    assert ended.phase is Phase.FAILED
    assert 'came up and went down again 3 times' in (ended.failure or '')


def test_uninformative_orchestrator_is_awaited_for_restart_timeout() -> None:
    run, requests = late(silent=True)
    run.start()
    ended = run.run_to_end()
    assert ended.outcome is Outcome.DONE
    times = [at_s for _, at_s, _ in requests.found]
    assert all(300.0 <= b - a < 340.0 for a, b in zip(times, times[1:]))


def test_failover_does_not_shorten_the_wait() -> None:
    run, requests = late(silent=True)
    run.start()
    at_step(run, 0, OsdStep.RESTARTING)
    for _ in range(3):
        for _ in range(100):
            run.tick()
        run.fail_over()
    asked_s = requests.found[0][1]
    run.until(lambda state: len(requests.found) > 1)
    assert requests.found[1][1] - asked_s >= 600.0 + 300.0
    assert run.run_to_end().outcome is Outcome.DONE


def test_clock_set_ahead_does_not_shorten_the_wait() -> None:
    run, requests = late(silent=True)
    run.start()
    at_step(run, 0, OsdStep.SETTLING)
    run.cluster.now_s += 86400.0
    run.until(lambda state: len(requests.found) > 1)
    passed_s = requests.found[1][1] - requests.found[0][1] - 86400.0
    # One sample counts for at most 30 s.
    assert passed_s >= 300.0 - 30.0


def test_manager_taking_over_waits_for_the_request_of_the_previous_one() -> None:
    run, requests = late(delay_s=100.0)
    run.start()
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(0)
    run.fail_over()
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]
    assert requests.held() == set()


@pytest.mark.parametrize('failover', [False, True])
def test_next_rollout_waits_for_a_request_of_the_previous_one(failover: bool) -> None:
    run, requests = late(delay_s=200.0)
    run.start()
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(0)
    at_step(run, 0, OsdStep.SETTLING)
    run.driver.abort('client.a', run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.ABORTED
    run.cluster.operator_removes('osd.0')
    if failover:
        run.fail_over()
    run.start(set_profile(run.cluster, NEW + ',max_open_files=5', order=(1, 2, 0), controls=()))
    run.to_a_wait('the orchestrator may still restart osd.0')
    assert requests.osds == [0]
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.held() == set()


def test_rollback_waits_for_a_forward_request() -> None:
    run, requests = late(delay_s=200.0)
    run.start()
    at_step(run, 1, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(1)
    at_step(run, 1, OsdStep.SETTLING)
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.ROLLED_BACK
    assert requests.held() == set()
    assert requests.osds[:2] == [0, 1]


def test_rollback_of_an_older_rollout_waits_for_a_request_of_the_last_one() -> None:
    run, requests = late(delay_s=5.0)
    first = run.start()
    run.run_to_end()
    run.cluster.orchestrator_delay_s = 250.0
    run.start(set_profile(run.cluster, NEW + ',max_open_files=5'))
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(0)
    at_step(run, 0, OsdStep.SETTLING)
    run.driver.abort('client.a', run.cluster.now_s)
    run.run_to_end()
    run.cluster.operator_removes('osd.0')
    run.driver.rollback(first.rollout_id, 'client.a', run.cluster.now_s)
    run.to_a_wait('the orchestrator may still restart osd.0')
    assert run.run_to_end().outcome is Outcome.ROLLED_BACK
    assert requests.held() == set()


def test_paused_orchestrator_is_awaited_until_resumed() -> None:
    """`ceph orch pause`: requests are executed when it is resumed, however late."""
    run, requests = late(delay_s=1.0)
    down = count_down(run)
    run.start()
    run.cluster.orchestrator_paused = True
    at_step(run, 0, OsdStep.RESTARTING)
    run.cluster.restart_by_hand(0)
    for _ in range(1000):
        run.tick()
    assert requests.osds == [0]
    assert 'the orchestrator may still restart osd.0' in (run.state.paused_reason or '')
    run.cluster.orchestrator_paused = False
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.held() == set()
    assert max(down) == 1


def test_refused_request_is_retried_soon() -> None:
    run, requests = late(delay_s=1.0, silent=True)
    run.cluster.errors['orch daemon'] = refusing('host is offline')
    run.start()
    run.until(lambda state: state.errors > 0)
    run.cluster.errors.clear()
    run.until(lambda state: len(requests.found) > 1)
    assert requests.osds == [0, 0]
    assert requests.found[1][1] - requests.found[0][1] < 60.0


def test_informative_orchestrator_does_not_lengthen_a_rollout() -> None:
    run, _ = late(delay_s=1.0)
    run.start()
    begin_s = run.cluster.now_s
    run.run_to_end()
    assert run.cluster.now_s - begin_s < 120.0


TOLD = OrchestratedDaemon(running=True, started='s1', refreshed='r1', executed=('t1',))


@pytest.mark.parametrize(
    ('reported', 'by_this_manager', 'seen_scheduled', 'expected'),
    [
        # Nothing new is known.
        (TOLD, True, False, False),
        (None, True, False, False),
        # An event, also where the clock of the manager was set back since.
        (replace(TOLD, executed=('t1', 't2')), True, False, True),
        (replace(TOLD, executed=('t0',)), True, False, True),
        # Events went with the manager that held them.
        (replace(TOLD, executed=()), False, False, False),
        # cephadm has stored it, and then no more.
        (replace(TOLD, scheduled=True, stored_started='s1'), False, True, False),
        (replace(TOLD, scheduled=False, stored_started='s1'), True, True, True),
        # Pacific stores it late, and adds no event that it has already.
        (replace(TOLD, scheduled=False, stored_started='s1'), True, False, False),
        (replace(TOLD, scheduled=False, stored_started='s2'), True, False, True),
        (replace(TOLD, scheduled=True, stored_started='s2'), True, False, False),
        (replace(TOLD, scheduled=False), True, False, False),
        # Unstored state ended with its manager.
        (replace(TOLD, executed=(), scheduled=False, stored_started='s1'), False, False, True),
    ],
)
def test_state_of_the_orchestrator_decides(
    reported: Optional[OrchestratedDaemon],
    by_this_manager: bool,
    seen_scheduled: bool,
    expected: bool,
) -> None:
    request = asked(1, replace(TOLD, stored_started='s1'))
    found = is_settled(
        request,
        reported,
        by_this_manager=by_this_manager,
        seen_scheduled=seen_scheduled,
        watched_s=299.0,
        most_s=300.0,
    )
    assert found is expected


def test_scheduled_request_is_awaited_without_a_limit() -> None:
    def over(reported: Optional[OrchestratedDaemon]) -> bool:
        return is_settled(
            AskedRestart(1),
            reported,
            by_this_manager=True,
            seen_scheduled=True,
            watched_s=9999.0,
            most_s=300.0,
        )

    assert not over(replace(TOLD, executed=(), scheduled=True))
    assert over(replace(TOLD, executed=(), scheduled=None))
    assert over(None)


def test_same_request_again_may_happen_until_its_own_time_is_over(run: Run) -> None:
    """With an orchestrator that reports nothing, only time settles a request."""
    run.start()
    observer, request = run.driver.parts.observer, AskedRestart(0)
    state = replace(run.state, asked=request)
    observer.ask(state, 0)
    for seconds in range(0, 620, 20):
        observer.track_request(request, float(seconds))
    assert observer._restart_settled(request, {}, 620.0, most_s=600.0)
    observer.ask(state, 0)
    assert not observer._restart_settled(request, {}, 620.0, most_s=600.0)

"""At most one restart request is pending, whatever the orchestrator does with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.observer import RequestedRestart
from rocksdb_tuner.operations.rollout.records import AskedRestart, OsdStep

from .conftest import NEW, Run, set_profile
from .one_step import RESTARTING, SETTLING, rollout


class Asked:
    """Every requested restart, and the orchestrator's queue at that time."""

    def __init__(self, run: Run) -> None:
        self.cluster = run.cluster
        self.osds: list[int] = []
        #: OSDs that were still to be restarted when another restart was requested.
        self.held: set[int] = set()
        run.cluster.on_command = self._record_command

    def _record_command(self, command: str) -> None:
        if command.startswith('ceph orch daemon restart osd.'):
            osds = self.cluster.osds.values()
            self.held |= {osd.osd_id for osd in osds if osd.requested_at_s is not None}
            self.osds.append(int(command.rpartition('.')[2]))


def late(delay_s: float = 60.0) -> tuple[Run, Asked]:
    run = Run()
    run.cluster.orchestrator_delay_s = delay_s
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
    at_step(run, 0, RESTARTING)
    run.cluster.restart_by_hand(0)
    run.to_a_wait('the orchestrator may still restart osd.0')
    assert run.state.phase is Phase.WAITING
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 1, 2]
    assert requests.held == set()
    assert max(down) == 1


@pytest.mark.parametrize('failover', [False, True])
def test_next_rollout_waits_for_a_request_of_the_previous_one(failover: bool) -> None:
    run, requests = late(delay_s=200.0)
    run.start()
    at_step(run, 0, RESTARTING)
    run.cluster.restart_by_hand(0)
    at_step(run, 0, SETTLING)
    run.driver.abort('client.a', run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.ABORTED
    run.cluster.operator_removes('osd.0')
    if failover:
        run.fail_over()
    run.start(set_profile(run.cluster, NEW + ',max_open_files=5', order=(1, 2, 0), controls=()))
    run.to_a_wait('the orchestrator may still restart osd.0')
    assert requests.osds == [0]
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.held == set()


def test_paused_orchestrator_is_awaited_until_resumed() -> None:
    """`ceph orch pause`: requests are executed when it is resumed, however late."""
    run, requests = late(delay_s=1.0)
    down = count_down(run)
    run.start()
    run.cluster.orchestrator_paused = True
    at_step(run, 0, RESTARTING)
    run.cluster.restart_by_hand(0)
    run.ticks(1000)
    assert requests.osds == [0]
    assert 'the orchestrator may still restart osd.0' in (run.state.paused_reason or '')
    run.cluster.orchestrator_paused = False
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.held == set()
    assert max(down) == 1


def test_only_an_osd_of_an_unmanaged_service_is_restarted_by_the_operator() -> None:
    """cephadm would schedule its restart, and never carry it out."""
    run, requests = late(delay_s=1.0)
    run.cluster.unmanaged = {1}
    run.start()
    run.to_a_wait('restart osd.1 next: "systemctl restart ceph-osd@1"')
    assert 'its service is unmanaged' in (run.state.paused_reason or '')
    run.ticks(300)
    assert requests.osds == [0]
    assert run.cluster.runs(0) == NEW
    run.cluster.restart_by_hand(1)
    assert run.run_to_end().outcome is Outcome.DONE
    assert requests.osds == [0, 2]
    assert run.running == [NEW] * 3


TOLD = OrchestratedDaemon(running=True, started='s1', refreshed='r1', executed=('t1',))
ASKED = AskedRestart(1, TOLD.executed, 's1')


@pytest.mark.parametrize(
    ('reported', 'ours', 'seen_scheduled', 'expected'),
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
    reported: Optional[OrchestratedDaemon], ours: bool, seen_scheduled: bool, expected: bool
) -> None:
    requested = RequestedRestart()
    state = replace(rollout(), asked=ASKED)
    if ours:
        requested.send(state)
    if seen_scheduled:
        assert not requested.is_settled(ASKED, replace(TOLD, scheduled=True), 0.0, 300.0)
    # One that was refused all the same is the same request.
    request = replace(ASKED, refused=ours)
    request = ASKED if seen_scheduled else request
    assert requested.is_settled(request, reported, 0.0, 300.0) is expected


def test_same_request_again_may_happen_until_its_own_time_is_over() -> None:
    """With an orchestrator that reports nothing, only time settles a request."""
    requested, state = RequestedRestart(), replace(rollout(), asked=ASKED)
    requested.send(state)
    for seconds in range(0, 620, 20):
        requested.track(float(seconds))
    assert requested.is_settled(ASKED, None, 620.0, 600.0)
    # A paused orchestrator executes it once it is resumed: the whole time applies again.
    assert not requested.is_settled(ASKED, replace(TOLD, paused=True), 621.0, 600.0)
    assert not requested.is_settled(ASKED, None, 640.0, 600.0)
    requested.send(state)
    assert not requested.is_settled(ASKED, None, 641.0, 600.0)


def test_only_the_manager_that_asked_knows_the_request_of_this_osd_as_its_own() -> None:
    """The next one asks again; it does not take a missing restart for a refused one."""
    state = replace(rollout(RESTARTING), asked=AskedRestart(0))
    requested = RequestedRestart()
    assert not requested.is_of(state)
    requested.send(state)
    assert requested.is_of(state)
    assert not requested.is_of(replace(state, rollout_id='r9'))
    assert not requested.is_of(replace(state, osds=rollout().osds))

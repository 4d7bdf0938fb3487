"""Restarts on a real cluster that are late, slow, fail, or have no OSD left.

The tests share one cluster, which each of them finds as `FaultScenario.restore` makes it. No client
writes to it: clients under the same faults are covered by the tests marked `faults`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from announced import Announced
from fault_scenario import FaultScenario, Shape, cluster_of, eventually
from module_client import ALTERNATE_2019
from restart_requests import Requests, restarted

pytestmark = [pytest.mark.integration, pytest.mark.restarts]

#: One manager: its log has all requests and all executed restarts, in order.
SHAPE = Shape('restarts', mons=1, mgrs=1)
POOL = 'data'
ROLLOUT_WAITING = 'ROCKSDB_TUNER_ROLLOUT_WAITING'


@pytest.fixture(scope='module')
def shared(release: str) -> Iterator[FaultScenario]:
    with cluster_of(SHAPE, release) as scenario:
        ceph = scenario.cluster.ceph
        # Of two replicas: two OSDs of four may leave for good
        ceph('osd', 'pool', 'create', POOL, '16', '16')
        ceph('osd', 'pool', 'set', POOL, 'size', '2')
        ceph('osd', 'pool', 'set', POOL, 'min_size', '1')
        with tempfile.NamedTemporaryFile(dir=scenario.cluster.dir) as file:
            file.write(bytes(4096))
            file.flush()
            for n in range(32):
                scenario.cluster.client.run('rados', '-p', POOL, 'put', f'object{n}', file.name)
        yield scenario


@pytest.fixture
def scenario(shared: FaultScenario) -> FaultScenario:
    shared.restore()
    # Before that was seen, what is recommended is for those that the last test had not changed
    shared.recommendation(lambda found: sorted(found['osds']) == list(shared.members))
    return shared


def reported(scenario: FaultScenario) -> str:
    """The output of `operation status`, in one line."""
    return ' '.join(scenario.tuner.plain('operation', 'status').split())


def waiting_check(scenario: FaultScenario) -> str:
    """The line of `ceph health detail` about a waiting rollout; '' if nothing is raised."""
    checks = scenario.cluster.ceph_json('health', 'detail')['checks']
    detail = checks.get(ROLLOUT_WAITING, {}).get('detail', [])
    return '\n'.join(line['message'] for line in detail)


def step_of(state: Any, osd_id: int) -> str:
    return str(next(osd['step'] for osd in state['osds'] if osd['osd'] == osd_id))


def test_no_second_restart_while_a_late_request_is_pending(
    scenario: FaultScenario,
) -> None:
    """A new nonce does not end a request: with two of them two OSDs may be down at once."""
    requests, epoch = Requests(scenario), scenario.epoch()
    scenario.set_module_option('restart_timeout', '300')
    scenario.orchestrator(late=600.0)
    scenario.apply()
    canary, second = scenario.order[:2]
    eventually(scenario, lambda: requests.seen() == [('asked', canary)], 'the first request')
    scenario.cluster.restart_osd(canary)
    reason = f'the orchestrator may still restart osd.{canary}'
    state = scenario.wait_for_reason(reason)
    assert step_of(state, canary) == 'settling'
    assert reason in reported(scenario)
    # Long enough for the next request to be sent otherwise
    time.sleep(5)
    assert step_of(scenario.rollout(), second) == 'pending'
    assert requests.seen() == [('asked', canary)]
    # It comes at last, and is no crash
    scenario.orchestrator(late=0.0)
    scenario.wait_for_step(second, 'settling', 'verified')
    scenario.tuner.plain('operation', 'abort')
    state = scenario.wait_for_end('failed')
    assert state['outcome'] == 'aborted'
    assert requests.seen()[:4] == restarted(canary, second)
    # Once manually, once as requested
    assert [scenario.times_down(n, epoch) for n in (canary, second)] == [2, 1]
    assert scenario.most_down(epoch) == 1


def test_pause_while_the_osd_in_flight_fails_holds_all_others_until_resume(
    scenario: FaultScenario,
) -> None:
    """It is restored nevertheless: it is down."""
    requests = Requests(scenario)
    scenario.set_module_option('restart_timeout', '30')
    before = scenario.tuner.nonces()
    scenario.apply()
    canary, failing = scenario.order[:2]
    scenario.wait_for_step(canary, 'checking', 'settling')
    scenario.orchestrator(nostart='true')
    until_failure = [*restarted(canary), ('asked', failing), ('stopped', failing)]
    eventually(scenario, lambda: requests.seen() == until_failure, f'osd.{failing} stopped', 60)
    scenario.tuner.plain('operation', 'pause')
    scenario.orchestrator(nostart='false')
    eventually(
        scenario, lambda: step_of(scenario.rollout(), failing) == 'restored', 'it put back', 120
    )
    assert scenario.tuner.osd_up(failing)
    scenario.tuner.wait_for_clean()
    # Long enough for the canary to be restarted, were it not for the pause
    time.sleep(10)
    state = scenario.rollout()
    assert (state['phase'], step_of(state, canary)) == ('waiting', 'verified')
    assert 'paused by' in reported(scenario)
    assert requests.seen() == [*until_failure, *restarted(failing)]
    scenario.tuner.plain('operation', 'resume')
    state = scenario.wait_for_end('rolled-back')
    assert f'osd.{failing} did not come back up' in state['failure']
    assert requests.seen() == [*until_failure, *restarted(failing, canary)]
    scenario.assert_untouched(before, canary, failing)
    scenario.assert_restored()


def test_osd_starting_slower_than_restart_timeout_is_left_alone_and_starts_once(
    scenario: FaultScenario,
) -> None:
    requests, epoch = Requests(scenario), scenario.epoch()
    scenario.set_module_option('restart_timeout', '30')
    scenario.apply()
    canary = scenario.canary
    with scenario.held_start(canary):
        reason = f'osd.{canary} is not up yet, but its process is running: waiting for it'
        scenario.wait_for_reason(reason)
        assert reason in reported(scenario)
        # As long as the orchestrator would need to start it
        time.sleep(5)
    scenario.wait_for_step(canary, 'settling', 'verified')
    scenario.tuner.plain('operation', 'abort')
    scenario.wait_for_end('failed')
    assert scenario.times_down(canary, epoch) == 1
    assert requests.seen().count(('asked', canary)) == 1
    assert scenario.running()[canary] == scenario.wanted


def acting(scenario: FaultScenario) -> set[int]:
    """The OSDs with data, as known to the manager."""
    found = scenario.cluster.ceph_json('pg', 'dump', 'pgs')
    pgs = found['pg_stats'] if isinstance(found, dict) else found
    return {osd for pg in pgs for osd in pg['acting']}


def test_purged_and_dead_osds_are_left_behind_by_name_and_the_wait_raises_an_alarm(
    scenario: FaultScenario,
) -> None:
    """The alarm is raised after a long wait; it clears when its remedy was applied."""
    announced = Announced(scenario.cluster)
    for pool in scenario.cluster.ceph_json('osd', 'pool', 'ls', 'detail'):
        # Two OSDs are left in the end: the manager's own pool, from Reef on, has three replicas.
        if pool['size'] > 2:
            for name, value in (('size', '2'), ('min_size', '1')):
                scenario.cluster.ceph('osd', 'pool', 'set', pool['pool_name'], name, value)
    scenario.set_module_option('restart_timeout', '30')
    scenario.fault_injection.raise_gate_alarms_after(8)
    scenario.apply()
    canary, alive, dead, gone = scenario.order
    scenario.wait_for_step(canary, 'checking', 'settling')
    scenario.tuner.plain('operation', 'pause')
    scenario.wait_for_step(canary, 'verified')
    # Each has the only copy of something until the others have it, too
    scenario.tuner.wait_for_clean()
    scenario.purge_osd(gone)
    eventually(scenario, lambda: gone not in acting(scenario), 'its placement groups elsewhere')
    scenario.tuner.wait_for_clean()
    scenario.kill_osd(dead)
    assert waiting_check(scenario) == ''
    scenario.tuner.plain('operation', 'resume')
    scenario.wait_for_reason(f'osd.{dead} is down')
    alarm = eventually(scenario, lambda: waiting_check(scenario), 'the health check')
    assert f'osd.{dead} is down' in alarm
    assert step_of(scenario.rollout(), alive) == 'pending'
    remedy = f'ceph osd out {dead}'
    assert f'"{remedy}"' in alarm
    scenario.cluster.ceph(*remedy.split()[1:])
    scenario.wait_for_step(alive, 'restarting', 'checking', 'settling', 'verified')
    eventually(scenario, lambda: not waiting_check(scenario), 'the health check gone')
    state = scenario.wait_for_end('done')
    assert {n: step_of(state, n) for n in (dead, gone)} == {
        dead: 'left-behind',
        gone: 'left-behind',
    }
    named = (f'osd.{dead} is down and out', f'osd.{gone} was removed from the cluster')
    assert [name in reported(scenario) for name in named] == [True, True]

    def logged() -> bool:
        announced.look()
        reported = [f': osd.{n} is left behind' for n in (dead, gone)]
        return all(any(text in line for line in announced.lines) for text in reported)

    # A manager sends its log once a second
    eventually(scenario, logged, 'both in the cluster log')
    eventually(scenario, lambda: not waiting_check(scenario), 'no health check')
    # One that comes back starts with what it had
    scenario.start_osd(dead)
    assert scenario.running() == {
        canary: scenario.wanted,
        alive: scenario.wanted,
        dead: ALTERNATE_2019,
    }

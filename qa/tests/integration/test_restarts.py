"""Restarts on a real cluster that come late, take long, fail, or have nobody to come to.

The tests share one cluster, which each of them finds as `Scene.restore` makes it. Nobody writes to
it: how clients fare under the same faults is for the tests marked `faults`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from announced import Announced
from fault_scene import Scene, Shape, cluster_of, eventually
from module_client import ALTERNATE_2019
from restart_requests import Requests, restarted

pytestmark = [pytest.mark.integration, pytest.mark.restarts]

#: One manager: its log has all that was asked for, and all that was carried out, in order.
SHAPE = Shape('restarts', mons=1, mgrs=1)
POOL = 'data'
ROLLOUT_WAITING = 'ROCKSDB_TUNER_ROLLOUT_WAITING'


@pytest.fixture(scope='module')
def shared(release: str) -> Iterator[Scene]:
    with cluster_of(SHAPE, release) as scene:
        ceph = scene.cluster.ceph
        # Of two replicas: two OSDs of four may leave for good
        ceph('osd', 'pool', 'create', POOL, '16', '16')
        ceph('osd', 'pool', 'set', POOL, 'size', '2')
        ceph('osd', 'pool', 'set', POOL, 'min_size', '1')
        with tempfile.NamedTemporaryFile(dir=scene.cluster.dir) as file:
            file.write(bytes(4096))
            file.flush()
            for n in range(32):
                scene.cluster.client.run('rados', '-p', POOL, 'put', f'object{n}', file.name)
        yield scene


@pytest.fixture
def scene(shared: Scene) -> Scene:
    shared.restore()
    # Before that was seen, what is recommended is for those that the last test had not changed
    shared.recommendation(lambda found: sorted(found['osds']) == list(shared.members))
    return shared


def told(scene: Scene) -> str:
    """What `rollout status` says, in one line."""
    return ' '.join(scene.tuner.plain('rollout', 'status').split())


def waiting_check(scene: Scene) -> str:
    """What `ceph health detail` says of a rollout that waits; '' where nothing is raised."""
    checks = scene.cluster.ceph_json('health', 'detail')['checks']
    detail = checks.get(ROLLOUT_WAITING, {}).get('detail', [])
    return '\n'.join(line['message'] for line in detail)


def step_of(state: Any, osd_id: int) -> str:
    return str(next(osd['step'] for osd in state['osds'] if osd['osd'] == osd_id))


def test_no_second_restart_while_a_late_request_is_pending(
    scene: Scene,
) -> None:
    """A new nonce does not end a request: with two of them two OSDs may be down at once."""
    requests, epoch = Requests(scene), scene.epoch()
    scene.set_module_option('restart_timeout', '300')
    scene.orchestrator(late=600.0)
    scene.apply()
    canary, second = scene.order[:2]
    eventually(scene, lambda: requests.seen() == [('asked', canary)], 'the first request')
    scene.cluster.restart_osd(canary)
    reason = f'the orchestrator may still restart osd.{canary}'
    state = scene.wait_for_reason(reason)
    assert step_of(state, canary) == 'settling'
    assert reason in told(scene)
    # Long enough for the next one to be asked for, were it not for that
    time.sleep(5)
    assert step_of(scene.rollout(), second) == 'pending'
    assert requests.seen() == [('asked', canary)]
    # It comes at last, and is no crash
    scene.orchestrator(late=0.0)
    scene.wait_for_step(second, 'settling', 'verified')
    scene.tuner.plain('rollout', 'abort')
    state = scene.wait_for_end('failed')
    assert state['outcome'] == 'aborted'
    assert requests.seen()[:4] == restarted(canary, second)
    # Once by hand, once as it was asked to
    assert [scene.times_down(n, epoch) for n in (canary, second)] == [2, 1]
    assert scene.most_down(epoch) == 1


def test_pause_while_the_osd_in_flight_fails_holds_all_others_until_resume(scene: Scene) -> None:
    """That one is put back all the same: it is down."""
    requests = Requests(scene)
    scene.set_module_option('restart_timeout', '30')
    before = scene.tuner.nonces()
    scene.apply()
    canary, failing = scene.order[:2]
    scene.wait_for_step(canary, 'checking', 'settling')
    scene.orchestrator(nostart='true')
    until_failure = [*restarted(canary), ('asked', failing), ('stopped', failing)]
    eventually(scene, lambda: requests.seen() == until_failure, f'osd.{failing} stopped', 60)
    scene.tuner.plain('rollout', 'pause')
    scene.orchestrator(nostart='false')
    eventually(scene, lambda: step_of(scene.rollout(), failing) == 'restored', 'it put back', 120)
    assert scene.tuner.osd_up(failing)
    scene.tuner.wait_for_clean()
    # Long enough for the canary to be restarted, were it not for the pause
    time.sleep(10)
    state = scene.rollout()
    assert (state['phase'], step_of(state, canary)) == ('waiting', 'verified')
    assert 'paused by' in told(scene)
    assert requests.seen() == [*until_failure, *restarted(failing)]
    scene.tuner.plain('rollout', 'resume')
    state = scene.wait_for_end('rolled-back')
    assert f'osd.{failing} did not come back up' in state['failure']
    assert requests.seen() == [*until_failure, *restarted(failing, canary)]
    scene.assert_untouched(before, canary, failing)
    scene.assert_as_before()


def test_osd_starting_slower_than_restart_timeout_is_left_alone_and_starts_once(
    scene: Scene,
) -> None:
    requests, epoch = Requests(scene), scene.epoch()
    scene.set_module_option('restart_timeout', '30')
    scene.apply()
    canary = scene.canary
    with scene.held_start(canary):
        reason = f'osd.{canary} is not up yet, but its process is running: waiting for it'
        scene.wait_for_reason(reason)
        assert reason in told(scene)
        # As long as the orchestrator needed to start it, were it asked to
        time.sleep(5)
    scene.wait_for_step(canary, 'settling', 'verified')
    scene.tuner.plain('rollout', 'abort')
    scene.wait_for_end('failed')
    assert scene.times_down(canary, epoch) == 1
    assert requests.seen().count(('asked', canary)) == 1
    assert scene.running()[canary] == scene.wanted


def acting(scene: Scene) -> set[int]:
    """The OSDs that hold something, as the manager has heard."""
    found = scene.cluster.ceph_json('pg', 'dump', 'pgs')
    pgs = found['pg_stats'] if isinstance(found, dict) else found
    return {osd for pg in pgs for osd in pg['acting']}


def test_purged_and_dead_osds_are_left_behind_by_name_and_the_wait_raises_an_alarm(
    scene: Scene,
) -> None:
    """The alarm comes after `gate_alarm_after`; it goes when its remedy was carried out."""
    announced = Announced(scene.cluster)
    scene.set_module_option('restart_timeout', '30')
    scene.set_module_option('gate_alarm_after', '8')
    scene.apply()
    canary, alive, dead, gone = scene.order
    scene.wait_for_step(canary, 'checking', 'settling')
    scene.tuner.plain('rollout', 'pause')
    scene.wait_for_step(canary, 'verified')
    # Each has the only copy of something until the others have it, too
    scene.tuner.wait_for_clean()
    scene.purge_osd(gone)
    eventually(scene, lambda: gone not in acting(scene), 'its placement groups elsewhere')
    scene.tuner.wait_for_clean()
    scene.kill_osd(dead)
    assert waiting_check(scene) == ''
    scene.tuner.plain('rollout', 'resume')
    scene.wait_for_reason(f'osd.{dead} is down')
    alarm = eventually(scene, lambda: waiting_check(scene), 'the health check')
    assert f'osd.{dead} is down' in alarm
    assert step_of(scene.rollout(), alive) == 'pending'
    remedy = f'ceph osd out {dead}'
    assert f'"{remedy}"' in alarm
    scene.cluster.ceph(*remedy.split()[1:])
    scene.wait_for_step(alive, 'restarting', 'checking', 'settling', 'verified')
    eventually(scene, lambda: not waiting_check(scene), 'the health check gone')
    state = scene.wait_for_end('done')
    assert {n: step_of(state, n) for n in (dead, gone)} == {
        dead: 'left-behind',
        gone: 'left-behind',
    }
    named = (f'osd.{dead} is down and out', f'osd.{gone} was removed from the cluster')
    assert [name in told(scene) for name in named] == [True, True]

    def logged() -> bool:
        announced.look()
        told = [f': osd.{n} is left behind' for n in (dead, gone)]
        return all(any(text in line for line in announced.lines) for text in told)

    # A manager sends its log once a second
    eventually(scene, logged, 'both in the cluster log')
    eventually(scene, lambda: not waiting_check(scene), 'no health check')
    # One that comes back starts with what it had
    scene.start_osd(dead)
    assert scene.running() == {
        canary: scene.wanted,
        alive: scene.wanted,
        dead: ALTERNATE_2019,
    }

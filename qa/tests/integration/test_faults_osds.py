"""Rollouts whose OSDs leave, come, start slowly or die, and whose orchestrator is late."""

from __future__ import annotations

import contextlib
import time

import pytest

from fault_clusters import sets_profile, wide
from fault_scene import (
    DOWN_OUT_INTERVAL,
    NEVER_OUT_S,
    QUICK,
    REMOVE,
    UNSTARTABLE,
    WIDE,
    Scene,
    eventually,
    kill_manager,
)
from harness.errors import CommandError
from module_client import ALTERNATE_2019
from restart_requests import Requests, restarted

pytestmark = [pytest.mark.faults, pytest.mark.every_release]


def without(scene: Scene, osd_id: int) -> dict[int, str]:
    """What the rollout's other OSDs run."""
    return {n: found for n, found in scene.running().items() if n != osd_id}


def test_pending_osd_that_is_purged_or_replaced_is_left_behind_by_name(scene: Scene) -> None:
    """It is purged; then its id comes back on another disk, of another class."""
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
    gone = scene.order[-1]
    with scene.fault('pending OSD purged', 'canary') as event:
        scene.purge_osd(gone)
        scene.wait_for_step(scene.order[1], 'restarting', 'checking', 'settling', 'verified')
        event.happened = 'the others were changed'
    other = scene.order[-2]
    with scene.fault('pending OSD replaced under its id', 'promoting') as event:
        scene.make_osd(gone, 'hdd')
        state = scene.wait_for_end('done')
        assert f'osd.{gone}' in scene.tuner.plain('rollout', 'status')
        event.happened = 'the others were changed; this one was left behind, and named'
    assert {osd['osd']: osd['step'] for osd in state['osds']}[gone] == 'left-behind'
    assert scene.running()[other] == scene.wanted
    assert f'osd.{gone}' not in {section for section, _, _ in scene.tuner.entries()}
    scene.purge_osd(gone)
    scene.make_osd(gone)
    scene.rolled_back()


def test_pending_osd_with_a_dead_disk_is_left_behind_by_name(scene: Scene) -> None:
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
    dead = scene.order[-1]
    with scene.fault('pending OSD down and out for good', 'canary') as event:
        scene.cluster.ceph('config', 'set', 'mon', DOWN_OUT_INTERVAL, '5')
        scene.kill_osd(dead)
        eventually(scene, lambda: not scene.tuner.osd_in(dead), f'osd.{dead} marked out', 60)
        scene.wait_for_end('done')
        assert f'osd.{dead}' in scene.tuner.plain('rollout', 'status')
        event.happened = 'the others were changed; this one was left behind, and named'
    scene.cluster.ceph('config', 'set', 'mon', DOWN_OUT_INTERVAL, NEVER_OUT_S)
    scene.start_osd(dead)
    eventually(scene, lambda: scene.tuner.osd_in(dead), f'osd.{dead} in again', 60)
    scene.rolled_back()


def test_abort_ends_though_the_osd_in_flight_was_purged(scene: Scene) -> None:
    scene.orchestrator(delay=15.0)
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    eventually(scene, lambda: not scene.tuner.osd_up(scene.canary), 'the canary down', 60)
    with scene.fault('OSD in flight purged, operator aborts', 'canary') as event:
        scene.purge_osd(scene.canary)
        # Without its canary it ends by itself, perhaps before that
        with contextlib.suppress(CommandError):
            scene.tuner.plain('rollout', 'abort')
        state = scene.wait_for_end('failed', 180)
        event.happened = 'it ended, and said so'
    assert f'osd.{scene.canary}' not in {section for section, _, _ in scene.tuner.entries()}
    assert state['outcome'] in ('aborted', 'failed')
    # The orchestrator still tries to start it: not while it is made
    time.sleep(20)
    scene.orchestrator(delay=0.0)
    scene.make_osd(scene.canary)


def test_osd_that_starts_slower_than_the_limit_is_not_killed(scene: Scene) -> None:
    """Its process lives, and is not up for twice as long as `restart_timeout`."""
    scene.set_module_option('restart_timeout', '30')
    scene.apply()
    with scene.fault('OSD starts for 60 s', 'canary') as event:
        scene.slow_start(scene.canary, 60)
        eventually(scene, lambda: scene.tuner.osd_up(scene.canary), 'the canary up', 60)
        event.happened = 'its process was left alone until it was up'
    scene.set_module_option('restart_timeout', QUICK['restart_timeout'])
    state = scene.tuner.wait_for_phase('done', 'failed', timeout_s=400)
    if state['phase'] == 'done':
        scene.assert_done()
    else:
        scene.assert_as_before()


def test_slow_osd_start_during_rollback_is_not_killed(scene: Scene) -> None:
    scene.set_module_option('restart_timeout', '30')
    scene.begin_rollback()
    with scene.fault('OSD starts for 60 s', 'rolling-back') as event:
        restarted = scene.wait_for_restart('restarting')
        scene.slow_start(restarted, 60)
        eventually(scene, lambda: scene.tuner.osd_up(restarted), f'osd.{restarted} up', 60)
        event.happened = 'its process was left alone until it was up'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_late_orchestrator_never_has_two_osds_down(scene: Scene) -> None:
    """Requests are carried out long after a second one could have been made."""
    scene.set_module_option('restart_timeout', '30')
    scene.orchestrator(late=45.0)
    scene.apply()
    with scene.fault('orchestrator 45 s late', 'canary') as event:
        scene.wait_for_step(scene.canary, 'verified', timeout_s=400)
        event.happened = 'no other restart was asked for until this one had been carried out'
    with scene.fault('orchestrator 45 s late', 'promoting') as event:
        scene.orchestrator(late=5.0)
        state = scene.tuner.wait_for_phase('done', 'failed', timeout_s=400)
        event.happened = f'it ended as {state["phase"]}; never more than one OSD was down'
    if state['phase'] == 'done':
        scene.assert_done()
    else:
        scene.rolled_back()


def test_late_and_silent_orchestrator_is_awaited_up_to_the_limit(
    scene: Scene,
) -> None:
    """The canary is restarted by hand meanwhile: its new nonce is not the end of the request."""
    requests = Requests(scene)
    scene.set_module_option('restart_timeout', '45')
    scene.orchestrator(silent='true', late=30.0)
    scene.apply()
    with scene.fault('orchestrator 30 s late, and silent', 'canary') as event:
        scene.wait_for_step(scene.canary, 'restarting')
        scene.cluster.restart_osd(scene.canary)
        scene.wait_for_reason(f'the orchestrator may still restart osd.{scene.canary}')
        scene.wait_for_step(scene.order[1], 'restarting')
        assert requests.seen() == [*restarted(scene.canary), ('asked', scene.order[1])]
        event.happened = 'no other was asked for until this one could not come any more'
    scene.orchestrator(silent='false', late=0.0)
    scene.wait_for_end('done')
    scene.assert_done()
    assert requests.seen() == restarted(*scene.order)


def test_orchestrator_that_stops_and_never_starts_is_awaited(scene: Scene) -> None:
    scene.orchestrator(nostart='true')
    before = scene.tuner.nonces()
    with scene.fault('orchestrator stops and never starts', 'canary') as event:
        scene.apply()
        eventually(scene, lambda: not scene.tuner.osd_up(scene.canary), 'the canary down', 120)
        time.sleep(60)
        assert sum(not scene.tuner.osd_up(n) for n in before) == 1
        scene.orchestrator(nostart='false')
        state = scene.tuner.wait_for_phase('done', 'failed', timeout_s=400)
        event.happened = f'no other OSD was touched meanwhile; it ended as {state["phase"]}'
    if state['phase'] == 'done':
        scene.assert_done()
    else:
        scene.assert_untouched(before, scene.canary)
        scene.assert_as_before()


@sets_profile
def test_profile_that_keeps_the_canary_from_starting_is_rolled_back(scene: Scene) -> None:
    before = scene.tuner.nonces()
    scene.recommendation()
    scene.laboratory.set_unchecked_options(UNSTARTABLE)
    with scene.fault('OSD does not start with the options', 'canary') as event:
        scene.apply()
        state = scene.wait_for_end('failed')
        event.happened = 'its entry was taken back, it was started again, no other was touched'
    assert f'osd.{scene.canary} did not come back up' in state['failure']
    scene.assert_untouched(before, scene.canary)
    scene.assert_as_before()


# -- racks, device classes, an erasure-coded pool


@wide
def test_killed_manager_and_osd_lose_nothing_with_erasure_coding_in_racks(scene: Scene) -> None:
    """Six OSDs of one class, by entries of their own; those of the other class keep out of it."""
    others = {n: nonce for n, nonce in scene.tuner.nonces().items() if n not in WIDE.members}
    scene.apply()
    assert scene.kind == REMOVE
    assert sorted(scene.order) == list(WIDE.members)
    scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
    kill_manager(scene, 'canary, restarting')
    scene.wait_for_step(scene.order[2], 'verified', timeout_s=400)
    victim = scene.order[-1]
    with scene.fault('pending OSD killed', 'promoting') as event:
        scene.kill_osd(victim)
        # That it is down, or its placement groups, whichever it is asked for first
        eventually(scene, lambda: scene.rollout()['paused_reason'], 'it waits', 120)
        scene.start_osd(victim)
        event.happened = 'no other was begun until it was up and placement groups were clean'
    scene.wait_for_end('done', 600)
    scene.assert_done()
    assert {n: scene.tuner.nonces()[n] for n in others} == others


@wide
@sets_profile
def test_profile_for_a_device_class_is_set_per_osd_and_rolled_back(
    scene: Scene,
) -> None:
    others = {n: nonce for n, nonce in scene.tuner.nonces().items() if n not in WIDE.members}
    scene.soak()
    scene.apply()
    assert sorted(scene.order) == list(WIDE.members)
    scene.wait_for_phase('soaking')
    with scene.fault('OSD of another class killed', 'soaking') as event:
        other = min(others)
        scene.kill_osd(other)
        time.sleep(5)
        scene.start_osd(other)
        event.happened = 'it waited for clean placement groups, and went on'
    scene.wait_for_step(scene.order[1], 'restarting', 'checking', 'settling', timeout_s=400)
    with scene.fault('one of three monitors down', 'promoting') as event:
        scene.cluster.stop_daemon('mon.c')
        scene.wait_for_reason('MON_DOWN')
        scene.cluster.start_daemon('mon.c')
        event.happened = 'no other was begun until the monitor was back'
    scene.set_module_option('batch_soak_max', '0')
    scene.wait_for_end('done', 900)
    scene.assert_done()
    scene.tuner.plain('rollback')
    with scene.fault('manager killed', 'rolling-back') as event:
        scene.kill_active_manager()
        scene.wait_for_end('rolled-back', 600)
        event.happened = 'the standby finished the rollback'
    scene.assert_as_before()


@wide
@sets_profile
def test_canary_that_dies_under_a_profile_is_rolled_back_in_its_class(scene: Scene) -> None:
    before = scene.tuner.nonces()
    scene.soak()
    scene.apply()
    scene.wait_for_phase('soaking')
    with scene.fault('canary killed', 'soaking') as event:
        scene.kill_osd(scene.canary)
        state = scene.wait_for_end('rolled-back')
        event.happened = 'the verdict was fail; rolled back, and the OSD was started'
    assert state['verdict'] == 'fail'
    scene.assert_untouched(before, scene.canary)
    scene.assert_as_before()


@wide
def test_replaced_osd_of_the_class_is_left_behind_and_rollback_skips_it(scene: Scene) -> None:
    """A new disk under a pending id, of the same class, on the same host: it is not that OSD."""
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
    gone = scene.order[-1]
    with scene.fault('pending OSD replaced under its id', 'canary') as event:
        scene.purge_osd(gone)
        # The entry of an OSD that is purged stays, as on any cluster
        assert (f'osd.{gone}', '', ALTERNATE_2019) in scene.tuner.entries()
        scene.make_osd(gone)
        nonce = scene.tuner.nonces()[gone]
        scene.wait_for_step(scene.order[2], 'verified', timeout_s=400)
        scene.tuner.plain('rollback')
        scene.wait_for_end('rolled-back', 600)
        assert scene.tuner.nonces()[gone] == nonce
        event.happened = 'others were changed, then rolled back; the new OSD was left alone'
    assert {found for n, found in without(scene, gone).items() if n in WIDE.members} == {
        scene.old_value
    }

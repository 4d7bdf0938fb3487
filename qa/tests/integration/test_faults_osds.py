"""Rollouts whose OSDs leave, come, start slowly or die, and whose orchestrator is late."""

from __future__ import annotations

import contextlib
import time

import pytest

from fault_clusters import sets_profile, wide
from fault_scenario import (
    DOWN_OUT_INTERVAL,
    NEVER_OUT_S,
    QUICK,
    REMOVE,
    UNSTARTABLE,
    WIDE,
    FaultScenario,
    eventually,
    kill_manager,
)
from harness.errors import CommandError
from module_client import ALTERNATE_2019
from restart_requests import Requests, restarted

pytestmark = [pytest.mark.faults, pytest.mark.every_release]


def without(scenario: FaultScenario, osd_id: int) -> dict[int, str]:
    """The options of the rollout's other OSDs."""
    return {n: found for n, found in scenario.running().items() if n != osd_id}


def test_pending_osd_that_is_purged_or_replaced_is_left_behind_by_name(
    scenario: FaultScenario,
) -> None:
    """It is purged; then its id comes back on another disk, of another class."""
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
    gone = scenario.order[-1]
    with scenario.fault('pending OSD purged', 'canary') as event:
        scenario.purge_osd(gone)
        scenario.wait_for_step(scenario.order[1], 'restarting', 'checking', 'settling', 'verified')
        event.happened = 'the others were changed'
    other = scenario.order[-2]
    with scenario.fault('pending OSD replaced under its id', 'promoting') as event:
        scenario.make_osd(gone, 'hdd')
        state = scenario.wait_for_end('done')
        assert f'osd.{gone}' in scenario.tuner.plain('operation', 'status')
        event.happened = 'the others were changed; this one was left behind, and named'
    assert {osd['osd']: osd['step'] for osd in state['osds']}[gone] == 'left-behind'
    assert scenario.running()[other] == scenario.wanted
    assert f'osd.{gone}' not in {section for section, _, _ in scenario.tuner.entries()}
    scenario.purge_osd(gone)
    scenario.make_osd(gone)
    scenario.rolled_back()


def test_pending_osd_with_a_dead_disk_is_left_behind_by_name(scenario: FaultScenario) -> None:
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
    dead = scenario.order[-1]
    with scenario.fault('pending OSD down and out for good', 'canary') as event:
        scenario.cluster.ceph('config', 'set', 'mon', DOWN_OUT_INTERVAL, '5')
        scenario.kill_osd(dead)
        eventually(scenario, lambda: not scenario.tuner.osd_in(dead), f'osd.{dead} marked out', 60)
        scenario.wait_for_end('done')
        assert f'osd.{dead}' in scenario.tuner.plain('operation', 'status')
        event.happened = 'the others were changed; this one was left behind, and named'
    scenario.cluster.ceph('config', 'set', 'mon', DOWN_OUT_INTERVAL, NEVER_OUT_S)
    scenario.start_osd(dead)
    eventually(scenario, lambda: scenario.tuner.osd_in(dead), f'osd.{dead} in again', 60)
    scenario.rolled_back()


def test_abort_ends_though_the_osd_in_flight_was_purged(scenario: FaultScenario) -> None:
    scenario.orchestrator(delay=15.0)
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    eventually(scenario, lambda: not scenario.tuner.osd_up(scenario.canary), 'the canary down', 60)
    with scenario.fault('OSD in flight purged, operator aborts', 'canary') as event:
        scenario.purge_osd(scenario.canary)
        # Without its canary it ends by itself, perhaps before that
        with contextlib.suppress(CommandError):
            scenario.tuner.plain('operation', 'abort')
        state = scenario.wait_for_end('failed', 180)
        event.happened = 'it ended with a message'
    assert f'osd.{scenario.canary}' not in {section for section, _, _ in scenario.tuner.entries()}
    assert state['outcome'] in ('aborted', 'failed')
    # The orchestrator still tries to start it: not while it is made
    time.sleep(20)
    scenario.orchestrator(delay=0.0)
    scenario.make_osd(scenario.canary)


def test_osd_that_starts_slower_than_the_limit_is_not_killed(scenario: FaultScenario) -> None:
    """Its process lives, and is not up for twice as long as `restart_timeout`."""
    scenario.set_module_option('restart_timeout', '30')
    scenario.apply()
    with scenario.fault('OSD starts for 60 s', 'canary') as event:
        scenario.slow_start(scenario.canary, 60)
        eventually(scenario, lambda: scenario.tuner.osd_up(scenario.canary), 'the canary up', 180)
        event.happened = 'its process was left alone until it was up'
    scenario.set_module_option('restart_timeout', QUICK['restart_timeout'])
    state = scenario.tuner.wait_for_phase('done', 'failed', timeout_s=400)
    if state['phase'] == 'done':
        scenario.assert_done()
    else:
        scenario.assert_restored()


def test_late_orchestrator_never_has_two_osds_down(scenario: FaultScenario) -> None:
    """Requests are executed long after a second one could have been made."""
    scenario.set_module_option('restart_timeout', '30')
    scenario.orchestrator(late=45.0)
    scenario.apply()
    with scenario.fault('orchestrator 45 s late', 'canary') as event:
        scenario.wait_for_step(scenario.canary, 'verified', timeout_s=400)
        event.happened = 'no other restart was requested until this one had been executed'
    with scenario.fault('orchestrator 45 s late', 'promoting') as event:
        scenario.orchestrator(late=5.0)
        state = scenario.tuner.wait_for_phase('done', 'failed', timeout_s=400)
        event.happened = f'it ended as {state["phase"]}; never more than one OSD was down'
    if state['phase'] == 'done':
        scenario.assert_done()
    else:
        scenario.rolled_back()


def test_late_and_silent_orchestrator_is_awaited_up_to_the_limit(
    scenario: FaultScenario,
) -> None:
    """The canary is restarted by hand meanwhile: its new nonce is not the end of the request."""
    requests = Requests(scenario)
    scenario.set_module_option('restart_timeout', '45')
    scenario.orchestrator(silent='true', late=30.0)
    scenario.apply()
    with scenario.fault('orchestrator 30 s late, and silent', 'canary') as event:
        scenario.wait_for_step(scenario.canary, 'restarting')
        scenario.cluster.restart_osd(scenario.canary)
        scenario.wait_for_reason(f'the orchestrator may still restart osd.{scenario.canary}')
        scenario.wait_for_step(scenario.order[1], 'restarting')
        assert requests.seen() == [*restarted(scenario.canary), ('asked', scenario.order[1])]
        event.happened = 'no other was requested until this one could no longer happen'
    scenario.orchestrator(silent='false', late=0.0)
    scenario.wait_for_end('done')
    scenario.assert_done()
    assert requests.seen() == restarted(*scenario.order)


def test_orchestrator_that_stops_and_never_starts_is_awaited(scenario: FaultScenario) -> None:
    scenario.orchestrator(nostart='true')
    before = scenario.tuner.nonces()
    with scenario.fault('orchestrator stops and never starts', 'canary') as event:
        scenario.apply()
        eventually(
            scenario, lambda: not scenario.tuner.osd_up(scenario.canary), 'the canary down', 120
        )
        time.sleep(60)
        assert sum(not scenario.tuner.osd_up(n) for n in before) == 1
        scenario.orchestrator(nostart='false')
        state = scenario.tuner.wait_for_phase('done', 'failed', timeout_s=400)
        event.happened = f'no other OSD was touched meanwhile; it ended as {state["phase"]}'
    if state['phase'] == 'done':
        scenario.assert_done()
    else:
        scenario.assert_untouched(before, scenario.canary)
        scenario.assert_restored()


@sets_profile
def test_profile_that_keeps_the_canary_from_starting_is_rolled_back(
    scenario: FaultScenario,
) -> None:
    before = scenario.tuner.nonces()
    scenario.recommendation()
    scenario.fault_injection.set_unchecked_options(UNSTARTABLE)
    with scenario.fault('OSD does not start with the options', 'canary') as event:
        scenario.apply()
        state = scenario.wait_for_end('failed')
        event.happened = 'its entry was removed, it was started again, no other was touched'
    assert f'osd.{scenario.canary} did not come back up' in state['failure']
    scenario.assert_untouched(before, scenario.canary)
    scenario.assert_restored()


# -- racks, device classes, an erasure-coded pool


@wide
def test_killed_manager_and_osd_lose_nothing_with_erasure_coding_in_racks(
    scenario: FaultScenario,
) -> None:
    """Six OSDs of one class, by entries of their own; those of the other class keep out of it."""
    others = {n: nonce for n, nonce in scenario.tuner.nonces().items() if n not in WIDE.members}
    scenario.apply()
    assert scenario.kind == REMOVE
    assert sorted(scenario.order) == list(WIDE.members)
    scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
    kill_manager(scenario, 'canary, restarting')
    scenario.wait_for_step(scenario.order[2], 'verified', timeout_s=400)
    victim = scenario.order[-1]
    with scenario.fault('pending OSD killed', 'promoting') as event:
        scenario.kill_osd(victim)
        # Because it is down, or because of its placement groups, whichever is checked first
        eventually(scenario, lambda: scenario.rollout()['paused_reason'], 'it waits', 120)
        scenario.start_osd(victim)
        event.happened = 'no other was started until it was up and placement groups were clean'
    scenario.wait_for_end('done', 600)
    scenario.assert_done()
    assert {n: scenario.tuner.nonces()[n] for n in others} == others


@wide
@sets_profile
def test_profile_for_a_device_class_is_set_per_osd_and_rolled_back(
    scenario: FaultScenario,
) -> None:
    others = {n: nonce for n, nonce in scenario.tuner.nonces().items() if n not in WIDE.members}
    scenario.soak()
    scenario.apply()
    assert sorted(scenario.order) == list(WIDE.members)
    scenario.wait_for_phase('soaking')
    with scenario.fault('OSD of another class killed', 'soaking') as event:
        other = min(others)
        scenario.kill_osd(other)
        time.sleep(5)
        scenario.start_osd(other)
        event.happened = 'it waited for clean placement groups, and went on'
    scenario.wait_for_step(scenario.order[1], 'restarting', 'checking', 'settling', timeout_s=400)
    with scenario.fault('one of three monitors down', 'promoting') as event:
        scenario.cluster.stop_daemon('mon.c')
        scenario.wait_for_reason('MON_DOWN')
        scenario.cluster.start_daemon('mon.c')
        event.happened = 'no other was started until the monitor was back'
    scenario.wait_for_end('done', 900)
    scenario.assert_done()
    scenario.tuner.plain('rollback')
    with scenario.fault('manager killed', 'rolling-back') as event:
        scenario.kill_active_manager()
        scenario.wait_for_end('rolled-back', 600)
        event.happened = 'the standby finished the rollback'
    scenario.assert_restored()


@wide
def test_replaced_osd_of_the_class_is_left_behind_and_rollback_skips_it(
    scenario: FaultScenario,
) -> None:
    """A new disk under a pending id, of the same class, on the same host: it is not that OSD."""
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
    gone = scenario.order[-1]
    with scenario.fault('pending OSD replaced under its id', 'canary') as event:
        scenario.purge_osd(gone)
        # The entry of an OSD that is purged stays, as on any cluster
        assert (f'osd.{gone}', '', ALTERNATE_2019) in scenario.tuner.entries()
        scenario.make_osd(gone)
        nonce = scenario.tuner.nonces()[gone]
        scenario.wait_for_step(scenario.order[2], 'verified', timeout_s=400)
        scenario.tuner.plain('rollback')
        scenario.wait_for_end('rolled-back', 600)
        assert scenario.tuner.nonces()[gone] == nonce
        event.happened = 'others were changed, then rolled back; the new OSD was left alone'
    assert {found for n, found in without(scenario, gone).items() if n in WIDE.members} == {
        scenario.old_value
    }

"""Rollouts whose OSDs leave, come, start slowly or die, and whose orchestrator is late."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fault_clusters import sets_profile, wide
from fault_scenario import PLAIN, QUICK, REMOVE, WIDE, FaultScenario, eventually, kill_manager
from module_client import ALTERNATE_2019, OPTION

pytestmark = pytest.mark.faults


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


def test_osd_that_starts_slower_than_the_limit_is_not_killed(scenario: FaultScenario) -> None:
    """Its process lives, and is not up for twice as long as `restart_timeout`."""
    scenario.set_module_option('restart_timeout', '30')
    scenario.apply()
    with scenario.fault('OSD starts for 60 s', 'canary') as event:
        with scenario.held_start(scenario.canary):
            time.sleep(60)
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


@sets_profile
def test_osd_of_another_class_that_joins_gets_nothing_from_the_collapse(
    scenario: FaultScenario,
) -> None:
    """The options were not checked for it: no entry may apply at its next start."""
    scenario.apply()
    scenario.wait_for_step(scenario.order[1], 'restarting', 'checking', 'settling', 'verified')
    new = PLAIN.spec.osds
    with scenario.fault('OSD of another class joins', 'promoting') as event:
        scenario.make_osd(new, 'hdd')
        state = scenario.tuner.wait_for_phase('done', 'failed', 'waiting', timeout_s=300)
        if state['phase'] == 'waiting':
            # Its placement groups are not clean at once
            state = scenario.tuner.wait_for_phase('done', 'failed', timeout_s=300)
        sections = {section for section, _, _ in scenario.tuner.entries()}
        assert not {'osd', 'global', f'osd.{new}'} & sections, scenario.tuner.entries()
        scenario.cluster.restart_osd(new)
        eventually(scenario, lambda: scenario.tuner.osd_up(new), f'osd.{new} up again')
        assert scenario.running()[new] == scenario.default
        event.happened = f'it ended as {state["phase"]}; no entry decides for the new OSD'
    scenario.purge_osd(new)
    scenario.rolled_back()


def test_rollback_reaches_every_osd_though_a_mask_has_the_new_string(
    scenario: FaultScenario,
) -> None:
    """No OSD starts with an entry for its device class; the monitor shows it all the same."""
    mask = ('osd', 'class:ssd', scenario.default)
    scenario.cluster.ceph('config', 'set', 'osd/class:ssd', OPTION, scenario.default)
    scenario.recommendation(lambda found: found['kind'] == 'remove-override')
    before = scenario.tuner.entries()
    assert mask in before
    with scenario.fault('mask with the new string', 'rolling-back') as event:
        scenario.apply()
        scenario.wait_for_step(scenario.order[1], 'verified')
        scenario.tuner.plain('rollback')
        scenario.wait_for_end('rolled-back')
        event.happened = 'every OSD was restarted and runs the old string again'
    assert set(scenario.running().values()) == {ALTERNATE_2019}
    assert sorted(scenario.tuner.entries()) == sorted(before)
    scenario.cluster.ceph('config', 'rm', 'osd/class:ssd', OPTION)


# -- racks, device classes, an erasure-coded pool


@wide
def test_killed_manager_and_osd_lose_nothing_with_erasure_coding_in_racks(
    scenario: FaultScenario,
) -> None:
    """Six OSDs of one class, by entries of their own; those of the other class keep out of it.

    Batches stay within one rack, by the rules of the pools.
    """
    spec, advice = scenario.cluster.record.spec, scenario.recommendation()['id']

    def racks() -> Any:
        plan = scenario.tuner.json('apply', advice, '--dry-run', schema='plan')
        found = [(batch['osds'], batch['failure_domain']) for batch in plan['batches']]
        return found if all(domain for _, domain in found) else None

    for osds, domain in scenario.tuner.wait_for(racks, 60, 'batches by rack'):
        assert {('rack', spec.rack_of_osd(n)) for n in osds} == {(domain['type'], domain['name'])}
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

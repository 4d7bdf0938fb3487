"""Faults while a rollout is rolled back, and while its entries collapse."""

from __future__ import annotations

import re
import time

import pytest

from fault_clusters import sets_profile
from fault_scenario import PLAIN, FaultScenario, eventually, kill_manager
from module_client import OPTION

pytestmark = [pytest.mark.faults, pytest.mark.every_release]

OTHER = 'compression=kLZ4Compression'


def steps(scenario: FaultScenario) -> dict[int, str]:
    """How far each OSD is."""
    return {osd['osd']: osd['step'] for osd in scenario.rollout()['osds']}


def changed_everywhere(scenario: FaultScenario) -> None:
    """A rollout all of whose OSDs are changed, about to collapse."""
    # Else all of it is a matter of a moment
    scenario.fault_injection.set_late_removals(5.0)
    scenario.apply()
    scenario.wait_for_phase('collapsing', timeout_s=420)


# -- rolling back


def test_pause_holds_a_rollback_and_an_osd_that_dies_in_it_is_started(
    scenario: FaultScenario,
) -> None:
    scenario.begin_rollback()
    with scenario.fault('operator pauses and resumes', 'rolling-back') as event:
        scenario.tuner.plain('operation', 'pause')
        # The OSD in flight may still come up
        time.sleep(15)
        still, entries = scenario.tuner.nonces(), scenario.tuner.entries()
        assert all(scenario.tuner.osd_up(n) for n in still)
        time.sleep(8)
        assert (scenario.tuner.nonces(), scenario.tuner.entries()) == (still, entries)
        assert 'paused' in scenario.rollout()['paused_reason']
        event.happened = 'the OSD in flight came up, no other was restarted until resume'
    victim = scenario.order[0]
    with scenario.fault('OSD killed', 'rolling-back') as event:
        scenario.kill_osd(victim)
        scenario.tuner.plain('operation', 'resume')
        eventually(scenario, lambda: scenario.tuner.osd_up(victim), f'osd.{victim} started', 180)
        event.happened = 'it was started with what it had, then the others were restored'
    scenario.wait_for_end('rolled-back')
    scenario.assert_restored()


def test_operator_entry_ends_a_rollback_and_is_kept(scenario: FaultScenario) -> None:
    ceph, canary = scenario.cluster.ceph, f'osd.{scenario.recommendation()["osds"][0]}'
    scenario.begin_rollback()
    with scenario.fault('operator sets an OSD that is restored', 'rolling-back') as event:
        ceph('config', 'set', canary, OPTION, OTHER)
        state = scenario.wait_for_end('failed')
        event.happened = 'it stopped with a message; the value stayed as the operator set it'
    assert 'outside this rollout' in state['failure']
    assert (canary, '', OTHER) in scenario.tuner.entries()
    ceph('config', 'rm', canary, OPTION)
    scenario.rolled_back()


def test_flags_hold_a_rollback_and_a_purged_osd_does_not(scenario: FaultScenario) -> None:
    """An OSD that is gone for good cannot be restored: the rollback ends without it."""
    ceph = scenario.cluster.ceph
    scenario.begin_rollback()
    with scenario.fault('noout set by others', 'rolling-back') as event:
        ceph('osd', 'set', 'noout')
        time.sleep(15)
        before = scenario.tuner.nonces()
        time.sleep(8)
        assert scenario.tuner.nonces() == before
        event.happened = (
            'the OSD in flight was finished; no other was started while the flag was set'
        )
    gone = next(n for n, step in steps(scenario).items() if step not in ('pending', 'restored'))
    with scenario.fault('OSD purged', 'rolling-back') as event:
        scenario.purge_osd(gone)
        ceph('osd', 'unset', 'noout')
        scenario.wait_for_end('rolled-back')
        event.happened = 'the others were restored, and it ended'
    assert (f'osd.{gone}', '') not in {entry[:2] for entry in scenario.tuner.entries()}
    scenario.make_osd(gone)
    scenario.assert_restored()


# -- collapsing


@sets_profile
def test_profile_is_set_though_the_manager_is_killed_during_the_collapse(
    scenario: FaultScenario,
) -> None:
    changed_everywhere(scenario)
    kill_manager(scenario, 'collapsing')
    scenario.fault_injection.set_late_removals(0.0)
    scenario.wait_for_end('done')
    scenario.assert_done()
    with scenario.fault('operator rolls back', 'done') as event:
        scenario.rolled_back()
        event.happened = 'all entries and processes as before'


@sets_profile
def test_operator_mask_stops_a_collapse_and_abort_and_rollback_restore_all(
    scenario: FaultScenario,
) -> None:
    ceph = scenario.cluster.ceph
    changed_everywhere(scenario)
    with scenario.fault('operator sets a mask', 'collapsing') as event:
        ceph('config', 'set', 'osd/class:ssd', OPTION, OTHER)
        try:
            state = scenario.wait_for_end('failed')
            event.happened = 'it stopped with the name of the entry'
            # The second where the own entry of an OSD was just removed: it is set again.
            assert re.search('outside this rollout|would get .* set again', state['failure'])
            assert ('osd', 'class:ssd', OTHER) in scenario.tuner.entries()
            assert {*scenario.running().values()} == {scenario.wanted}
        finally:
            ceph('config', 'rm', 'osd/class:ssd', OPTION)
    scenario.fault_injection.set_late_removals(0.0)
    with scenario.fault('operator rolls back', 'collapsing') as event:
        scenario.rolled_back()
        event.happened = 'all entries and processes as before'


@sets_profile
def test_osd_of_another_class_that_joins_gets_nothing_from_the_collapse(
    scenario: FaultScenario,
) -> None:
    """The options were not checked for it: no entry may apply at its next start."""
    scenario.apply()
    scenario.wait_for_step(scenario.order[1], 'restarting', 'checking', 'settling', 'verified')
    new = PLAIN.osds
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

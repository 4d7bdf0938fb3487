"""Rollouts on real clusters with injected faults, under clients with verified data.

Every test begins with all OSDs on an old option string by one entry, and a rollout that is to
remove it. No write of the client may fail or be lost (`under_clients`), and at the end either all
OSDs run what was promised, or all run what they had, by exactly the entries that go with it.
"""

from __future__ import annotations

import errno
import time

import pytest

from fault_scenario import (
    UNSTARTABLE,
    FaultScenario,
    eventually,
    kill_manager,
    s3_clients,
)
from module_client import OPTION

pytestmark = pytest.mark.faults

OTHER = 'compression=kLZ4Compression'


# -- the manager


def test_rollout_finishes_though_its_manager_is_killed_during_restarts_and_the_collapse(
    scenario: FaultScenario,
) -> None:
    before = scenario.tuner.nonces()
    scenario.apply()
    with s3_clients(scenario, 90):
        scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
        kill_manager(scenario, 'canary, restarting')
        second = scenario.order[1]
        eventually(scenario, lambda: not scenario.tuner.osd_up(second), f'osd.{second} down', 180)
        kill_manager(scenario, 'promoting')
        scenario.hold_collapse()
        assert 'collapsed' not in kill_manager(scenario, 'collapsing').values()
        scenario.fault_injection.hold_removals(hold=False)
        scenario.wait_for_end('done')
    scenario.assert_done()
    after = scenario.tuner.nonces()
    assert all(after[n] != before[n] for n in before)


def test_rollout_resumes_after_disabling_and_enabling_the_module(scenario: FaultScenario) -> None:
    scenario.soak()
    scenario.apply()

    def off_and_on(phase: str) -> dict[int, str]:
        with scenario.fault('module disabled for 10 s', phase) as event:
            steps = scenario.disable_module_for(10)
            event.happened = 'nothing was started meanwhile; enabled again, it resumed'
        return steps

    scenario.wait_for_step(scenario.canary, 'restarting')
    off_and_on('canary')
    scenario.wait_for_phase('soaking')
    off_and_on('soaking')
    scenario.wait_for_step(scenario.order[1], 'restarting')
    off_and_on('promoting')
    scenario.hold_collapse()
    assert {'verified', 'collapsing'} & set(off_and_on('collapsing').values())
    scenario.fault_injection.hold_removals(hold=False)
    scenario.wait_for_end('done')
    scenario.assert_done()


# -- OSDs


@pytest.mark.integration
def test_canary_that_cannot_start_with_its_options_gets_the_old_ones_back(
    scenario: FaultScenario,
) -> None:
    before = scenario.tuner.nonces()
    scenario.fault_injection.set_unchecked_options(UNSTARTABLE)
    with scenario.fault('OSD does not start with the options', 'canary') as event:
        scenario.apply()
        eventually(
            scenario,
            lambda: (f'osd.{scenario.canary}', '', UNSTARTABLE) in scenario.tuner.entries(),
            'the bad options set',
        )
        state = scenario.wait_for_end('failed')
        event.happened = 'its entry was removed, it was started again, no other was touched'
    assert f'osd.{scenario.canary} did not come back up' in state['failure']
    scenario.assert_untouched(before, scenario.canary)
    scenario.assert_restored()


def down_with_bad_options(scenario: FaultScenario) -> float:
    """Apply options with which no OSD starts; when the canary went down."""
    scenario.fault_injection.set_unchecked_options(UNSTARTABLE)
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    eventually(scenario, lambda: not scenario.tuner.osd_up(scenario.canary), 'the canary down')
    assert (f'osd.{scenario.canary}', '', UNSTARTABLE) in scenario.tuner.entries()
    return time.monotonic()


def test_osd_that_cannot_start_is_restored_though_monitors_refuse_to_store(
    scenario: FaultScenario,
) -> None:
    ceph, limit = scenario.cluster.ceph, ('mon', 'mon_config_key_max_entry_size')
    before = scenario.tuner.nonces()
    with scenario.fault('OSD does not start, monitors refuse to store', 'canary') as event:
        down_s = down_with_bad_options(scenario)
        ceph('config', 'set', *limit, '16')
        try:
            eventually(
                scenario,
                lambda: f'ceph config rm osd.{scenario.canary}' in str(ceph('health', 'detail')),
                'the OSD and the command in the health check',
            )
            eventually(
                scenario, lambda: scenario.tuner.osd_up(scenario.canary), 'the canary up', 300
            )
            event.happened = f'restored and up after {time.monotonic() - down_s:.0f} s'
            assert scenario.tuner.entries() == scenario.old
        finally:
            ceph('config', 'rm', *limit)
    state = scenario.wait_for_end('failed')
    assert f'osd.{scenario.canary} did not come back up' in state['failure']
    scenario.assert_untouched(before, scenario.canary)
    scenario.assert_restored()


def test_canary_that_dies_in_the_soak_fails_the_verdict(scenario: FaultScenario) -> None:
    scenario.soak()
    before = scenario.tuner.nonces()
    scenario.apply()
    scenario.wait_for_phase('soaking')
    with scenario.fault('canary killed', 'soaking') as event:
        scenario.kill_osd(scenario.canary)
        state = scenario.wait_for_end('rolled-back')
        event.happened = 'the verdict was fail; rolled back, and the OSD was started'
    assert state['verdict'] == 'fail'
    assert state['judgement']['cause'] is not None
    scenario.assert_untouched(before, scenario.canary)
    scenario.assert_restored()


def test_osd_of_a_later_batch_that_dies_in_the_soak_rolls_back_all(scenario: FaultScenario) -> None:
    scenario.soak(batches=True)
    scenario.apply()
    second = scenario.order[1]
    eventually(
        scenario,
        lambda: scenario.rollout()['batches'][1]['phase'] == 'soaking',
        f'the batch of osd.{second} watched',
        240,
    )
    with scenario.fault('OSD of a later batch killed', 'promoting') as event:
        scenario.kill_osd(second)
        state = scenario.wait_for_end('rolled-back')
        event.happened = 'the verdict on its batch was fail; all was rolled back'
    assert state['batches'][1]['verdict'] == 'fail'
    scenario.assert_restored()


# -- the operator


def test_other_options_are_ignored_and_a_new_masked_entry_stops_the_rollout(
    scenario: FaultScenario,
) -> None:
    ceph = scenario.cluster.ceph
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    with scenario.fault('operator sets another option', 'canary') as event:
        # Not one of those that mClock resets, from Reef on
        ceph('config', 'set', 'osd', 'osd_deep_scrub_stride', '1048576')
        scenario.wait_for_step(scenario.order[1], 'restarting')
        event.happened = 'nothing: the rollout went on, the option stayed'
    try:
        assert ceph('config', 'get', 'osd.0', 'osd_deep_scrub_stride').strip() == '1048576'
        with scenario.fault('operator sets a mask', 'promoting') as event:
            ceph('config', 'set', 'osd/class:ssd', OPTION, OTHER)
            state = scenario.wait_for_end('failed')
            event.happened = 'the OSD in flight was made safe, then it stopped'
        assert 'outside this rollout' in state['failure']
        assert ('osd', 'class:ssd', OTHER) in scenario.tuner.entries()
    finally:
        ceph('config', 'rm', 'osd', 'osd_deep_scrub_stride')
        ceph('config', 'rm', 'osd/class:ssd', OPTION)
    scenario.rolled_back()


def test_operator_value_for_the_osd_in_flight_is_kept(scenario: FaultScenario) -> None:
    ceph = scenario.cluster.ceph
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting', 'checking', 'settling')
    canary = f'osd.{scenario.canary}'
    with scenario.fault('operator sets the OSD in flight', 'canary') as event:
        ceph('config', 'set', canary, OPTION, OTHER)
        state = scenario.wait_for_end('failed')
        event.happened = 'it stopped at once; the value stayed as the operator set it'
    assert 'outside this rollout' in state['failure']
    assert (canary, '', OTHER) in scenario.tuner.entries()
    code, text = scenario.tuner.refused('rollback')
    assert (code, canary in text) == (errno.EBUSY, True), text
    ceph('config', 'rm', canary, OPTION)
    scenario.rolled_back()


def processes_once_quiet(scenario: FaultScenario, seconds: float) -> dict[int, int]:
    """The nonce of each OSD once none has changed for so long."""
    known, since_s = scenario.tuner.nonces(), time.monotonic()

    def quiet() -> bool:
        nonlocal known, since_s
        found = scenario.tuner.nonces()
        if found != known:
            known, since_s = found, time.monotonic()
        return time.monotonic() - since_s >= seconds

    eventually(scenario, quiet, f'no OSD to start for {seconds:g} s', 120)
    return known


def test_pause_holds_the_rollout_in_any_phase_and_resume_continues(scenario: FaultScenario) -> None:
    scenario.soak()
    scenario.apply()

    def pause(phase: str) -> None:
        with scenario.fault('operator pauses and resumes', phase) as event:
            scenario.tuner.plain('operation', 'pause')
            scenario.wait_for_reason('paused')
            # The OSD in flight may still come up
            still = processes_once_quiet(scenario, 12)
            time.sleep(6)
            assert scenario.tuner.nonces() == still
            scenario.tuner.plain('operation', 'resume')
            event.happened = 'no OSD was started until resume'

    scenario.wait_for_step(scenario.canary, 'restarting')
    pause('canary')
    scenario.wait_for_phase('soaking')
    pause('soaking')
    scenario.wait_for_step(scenario.order[1], 'restarting')
    pause('promoting')
    scenario.wait_for_end('done')
    scenario.assert_done()


def test_abort_makes_the_osd_in_flight_safe_and_rollback_restores_all(
    scenario: FaultScenario,
) -> None:
    before = scenario.tuner.nonces()
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    with scenario.fault('operator aborts', 'canary') as event:
        scenario.tuner.plain('operation', 'abort')
        state = scenario.wait_for_end('failed')
        event.happened = 'the OSD in flight came up, then it ended; the change stayed on it'
    assert state['outcome'] == 'aborted'
    scenario.assert_untouched(before, scenario.canary)
    scenario.rolled_back()
    scenario.soak()
    before = scenario.tuner.nonces()
    scenario.apply()
    scenario.wait_for_phase('soaking')
    with scenario.fault('operator aborts', 'soaking') as event:
        scenario.tuner.plain('operation', 'abort')
        state = scenario.wait_for_end('failed')
        event.happened = 'it ended; the change stayed on the canary'
    assert state['outcome'] == 'aborted'
    scenario.assert_untouched(before, scenario.canary)
    scenario.rolled_back()


def test_rollback_restores_the_exact_state_from_soak_and_from_collapse(
    scenario: FaultScenario,
) -> None:

    def roll_back(phase: str) -> None:
        with scenario.fault('operator rolls back', phase) as event:
            scenario.rolled_back()
            event.happened = 'all entries and processes as before'

    scenario.soak()
    scenario.apply()
    scenario.wait_for_phase('soaking')
    roll_back('soaking')
    scenario.set_module_option('soak_max', '0')
    with scenario.fault('none', 'all') as event:
        scenario.apply()
        scenario.hold_collapse()
        event.happened = 'every OSD was restarted, one after the other'
    scenario.fault_injection.hold_removals(hold=False)
    roll_back('collapsing')


# -- the orchestrator


def test_refusing_or_missing_orchestrator_only_delays_the_rollout(scenario: FaultScenario) -> None:
    scenario.orchestrator(refuse='true')
    before = scenario.tuner.nonces()
    scenario.apply()
    with scenario.fault('orchestrator refuses', 'canary') as event:
        scenario.wait_for_step(scenario.canary, 'restart-due', 'restarting')
        time.sleep(10)
        assert scenario.tuner.operation()['last_error'] is not None
        assert scenario.tuner.nonces() == before
        scenario.orchestrator(refuse='false')
        scenario.wait_for_step(scenario.canary, 'settling', 'verified')
        event.happened = 'it retried after 30 s, and continued'
    scenario.wait_for_step(scenario.canary, 'verified')
    with scenario.fault('orchestrator gone', 'promoting') as event:
        scenario.cluster.ceph('orch', 'set', 'backend', '')
        try:
            state = scenario.wait_for_reason('systemctl restart')
            reason = state['paused_reason']
            hand = next(n for n in scenario.order if f'restart osd.{n} next' in reason)
            scenario.cluster.restart_osd(hand)
            scenario.wait_for_step(hand, 'settling', 'verified')
        finally:
            scenario.cluster.ceph('orch', 'set', 'backend', 'test_orchestrator')
        event.happened = 'it named the OSD to restart by hand, and went on when that was done'
    scenario.wait_for_end('done')
    scenario.assert_done()


def test_restart_of_the_wrong_osd_is_noticed(scenario: FaultScenario) -> None:
    before = scenario.tuner.nonces()
    wrong = scenario.recommendation()['osds'][-1]
    scenario.orchestrator(instead=wrong)
    with scenario.fault('orchestrator restarts another OSD', 'canary') as event:
        scenario.apply()
        state = scenario.wait_for_end('failed')
        event.happened = 'it asked twice, then removed the entry; the other OSD was unaffected'
    assert 'did not restart after 2 requests' in state['failure']
    scenario.assert_untouched(before, wrong)
    assert scenario.tuner.nonces()[wrong] != before[wrong]
    scenario.assert_restored()


def test_hanging_orchestrator_only_delays_the_rollout(scenario: FaultScenario) -> None:
    scenario.orchestrator(hang=40.0)
    with scenario.fault('orchestrator hangs for 40 s', 'canary') as event:
        scenario.apply()
        scenario.wait_for_step(scenario.canary, 'restarting')
        scenario.orchestrator(hang=0.0)
        scenario.wait_for_step(scenario.canary, 'settling', 'verified')
        event.happened = 'the manager and its module answered meanwhile; it went on'
    scenario.tuner.plain('operation', 'abort')
    scenario.wait_for_end('failed')
    scenario.rolled_back()


# -- monitors, space, flags


def test_rollout_waits_for_a_lost_monitor_and_a_lost_quorum(scenario: FaultScenario) -> None:
    cluster = scenario.cluster
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    with scenario.fault('one of three monitors down', 'canary') as event:
        cluster.stop_daemon('mon.c')
        scenario.wait_for_step(scenario.canary, 'verified')
        scenario.wait_for_reason('MON_DOWN')
        cluster.start_daemon('mon.c')
        event.happened = 'the canary was finished; no other was started until the monitor was back'
    scenario.wait_for_step(scenario.order[1], 'restarting')
    with s3_clients(scenario, 45), scenario.fault('no quorum for 20 s', 'promoting') as event:
        cluster.stop_daemon('mon.c', kill=True)
        cluster.stop_daemon('mon.b', kill=True)
        time.sleep(20)
        cluster.start_daemon('mon.b')
        cluster.start_daemon('mon.c')
        scenario.wait_until_answered()
        scenario.wait_for_step(scenario.order[1], 'verified')
        event.happened = 'everything paused; with the quorum it resumed by itself'
    scenario.wait_for_end('done')
    scenario.assert_done()


def test_nothing_starts_that_the_monitors_refuse_to_store(scenario: FaultScenario) -> None:
    """Each step is stored before its action: where the one is refused, the other is not done."""
    ceph, limit = scenario.cluster.ceph, ('mon', 'mon_config_key_max_entry_size')
    before = scenario.tuner.nonces()
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    with scenario.fault('monitors refuse to store', 'canary') as event:
        ceph('config', 'set', *limit, '16')
        try:
            eventually(
                scenario,
                lambda: '": error: entry size' in str(scenario.tuner.status()['notices']),
                'the refusal reported',
            )
            stored, entries = scenario.stored(), scenario.tuner.entries()
            scenario.kill_active_manager()
            scenario.wait_until_answered()
            # Long enough for the next OSD to start otherwise
            time.sleep(30)
            assert (scenario.stored(), scenario.tuner.entries()) == (stored, entries)
            scenario.assert_untouched(before, scenario.canary)
        finally:
            ceph('config', 'rm', *limit)
        scenario.wait_for_step(scenario.order[1], 'restarting')
        event.happened = (
            'no other OSD was started, also by the standby when the manager was killed; it resumed '
            'when they stored again'
        )
    scenario.wait_for_end('done')
    scenario.assert_done()


def test_foreign_flags_and_nearfull_hold_the_next_osd_until_cleared(
    scenario: FaultScenario,
) -> None:
    ceph = scenario.cluster.ceph
    scenario.apply()
    scenario.wait_for_step(scenario.canary, 'restarting')
    before = scenario.tuner.nonces()
    with scenario.fault('noout set by others', 'canary') as event:
        ceph('osd', 'set', 'noout')
        scenario.wait_for_reason('noout')
        scenario.assert_untouched(before, scenario.canary)
        ceph('osd', 'unset', 'noout')
        scenario.wait_for_step(scenario.order[1], 'restarting')
        event.happened = 'the canary was finished; no other was started while the flag was set'
    before = scenario.tuner.nonces()
    with scenario.fault('nearfull', 'promoting') as event:
        ceph('osd', 'set-nearfull-ratio', '0.0001')
        scenario.wait_for_reason('NEARFULL')
        scenario.assert_untouched(before, scenario.order[1])
        ceph('osd', 'set-nearfull-ratio', '0.85')
        scenario.wait_for_step(scenario.order[2], 'restarting')
        event.happened = 'no other OSD was started until there was space'
    scenario.wait_for_end('done')
    scenario.assert_done()


# -- where OSDs are

"""Rollouts on real clusters while something goes wrong, under clients whose data are checked.

Every test begins with all OSDs on an old option string by one entry, and a rollout that is to
remove it. No write of the client may fail or be lost (`under_clients`), and at the end either all
OSDs run what was promised, or all run what they had, by exactly the entries that go with it.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fault_scene import (
    PLAIN,
    STATE_KEY,
    UNSTARTABLE,
    Scene,
    eventually,
    kill_manager,
    s3_clients,
)
from harness import Cluster, HarnessError
from module_client import ALTERNATE_2019, OPTION
from rocksdb_tuner.tests.operations.rollout import format_1

pytestmark = pytest.mark.faults

OTHER = 'compression=kLZ4Compression'


# -- the manager


@pytest.mark.integration
@pytest.mark.every_release
def test_rollout_finishes_though_its_manager_is_killed_during_restarts_and_the_collapse(
    scene: Scene,
) -> None:
    before = scene.tuner.nonces()
    scene.apply()
    with s3_clients(scene, 90):
        scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
        kill_manager(scene, 'canary, restarting')
        second = scene.order[1]
        eventually(scene, lambda: not scene.tuner.osd_up(second), f'osd.{second} down', 180)
        kill_manager(scene, 'promoting')
        # Else all of it is a matter of a moment
        scene.laboratory.set_late_removals(5.0)
        scene.wait_for_action("RemoveEntry(who='osd'")
        assert 'collapsed' not in kill_manager(scene, 'collapsing').values()
        scene.laboratory.set_late_removals(0.0)
        scene.wait_for_end('done')
    scene.assert_done()
    after = scene.tuner.nonces()
    assert all(after[n] != before[n] for n in before)


@pytest.mark.every_release
def test_rollout_finishes_though_its_manager_is_killed_before_a_restart_and_in_a_soak(
    scene: Scene,
) -> None:
    scene.soak(batches=True)
    scene.apply()
    scene.wait_for_phase('preflight')
    kill_manager(scene, 'preflight')
    scene.wait_for_action(f"SetEntry(who='osd.{scene.canary}'")
    kill_manager(scene, 'canary, its entry being written')
    scene.wait_for_phase('soaking')
    kill_manager(scene, 'soaking')
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_rollback_finishes_after_its_manager_is_killed(scene: Scene) -> None:
    scene.begin_rollback()
    with scene.fault('manager killed', 'rolling-back') as event:
        scene.kill_active_manager()
        scene.wait_for_end('rolled-back')
        event.happened = 'the standby finished the rollback'
    scene.assert_as_before()


@pytest.mark.every_release
def test_rollout_resumes_after_disabling_and_enabling_the_module(scene: Scene) -> None:
    scene.soak()
    scene.apply()

    def off_and_on(phase: str) -> dict[int, str]:
        with scene.fault('module disabled for 10 s', phase) as event:
            steps = scene.disable_module_for(10)
            event.happened = 'nothing was begun meanwhile; enabled again, it went on'
        return steps

    scene.wait_for_step(scene.canary, 'restarting')
    off_and_on('canary')
    scene.wait_for_phase('soaking')
    off_and_on('soaking')
    scene.wait_for_step(scene.order[1], 'restarting')
    off_and_on('promoting')
    # Else all of it is a matter of a moment
    scene.laboratory.set_late_removals(5.0)
    scene.wait_for_action("RemoveEntry(who='osd'")
    assert {'verified', 'collapsing'} & set(off_and_on('collapsing').values())
    scene.laboratory.set_late_removals(0.0)
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_rollback_resumes_after_disabling_and_enabling_the_module(scene: Scene) -> None:
    scene.begin_rollback()
    with scene.fault('module disabled for 10 s', 'rolling-back') as event:
        scene.disable_module_for(10)
        event.happened = 'nothing was begun meanwhile; enabled again, it went on'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


# -- OSDs


@pytest.mark.integration
@pytest.mark.every_release
def test_canary_that_cannot_start_with_its_options_gets_the_old_ones_back(scene: Scene) -> None:
    before = scene.tuner.nonces()
    scene.laboratory.set_unchecked_options(UNSTARTABLE)
    with scene.fault('OSD does not start with the options', 'canary') as event:
        scene.apply()
        eventually(
            scene,
            lambda: (f'osd.{scene.canary}', '', UNSTARTABLE) in scene.tuner.entries(),
            'the bad options set',
        )
        state = scene.wait_for_end('failed')
        event.happened = 'its entry was taken back, it was started again, no other was touched'
    assert f'osd.{scene.canary} did not come back up' in state['failure']
    scene.assert_untouched(before, scene.canary)
    scene.assert_as_before()


@pytest.mark.integration
@pytest.mark.every_release
def test_canary_that_dies_in_the_soak_fails_the_verdict(scene: Scene) -> None:
    scene.soak()
    before = scene.tuner.nonces()
    scene.apply()
    scene.wait_for_phase('soaking')
    with scene.fault('canary killed', 'soaking') as event:
        scene.kill_osd(scene.canary)
        state = scene.wait_for_end('rolled-back')
        event.happened = 'the verdict was fail; rolled back, and the OSD was started'
    assert state['verdict'] == 'fail'
    assert state['judgement']['cause'] is not None
    scene.assert_untouched(before, scene.canary)
    scene.assert_as_before()


@contextlib.contextmanager
def flushing(scene: Scene) -> Iterator[None]:
    """The canary flushes its memtables now and then: by itself none is full that soon.

    More often, and a slow disk's few writes are each charged with many compactions.
    """
    over = threading.Event()

    def flush() -> None:
        while not over.wait(10.0):
            # While it restarts it does not answer
            with contextlib.suppress(HarnessError):
                scene.cluster.ceph('tell', f'osd.{scene.canary}', 'compact')

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(flush)
        try:
            yield
        finally:
            over.set()
    done.result()


@pytest.mark.integration
@pytest.mark.parametrize(
    ('policy', 'end'), [('auto', 'rolled-back'), ('promote', 'done')], ids=['auto', 'promote']
)
def test_change_without_the_expected_gain_does_not_spread_by_itself(
    scene: Scene, policy: str, end: str
) -> None:
    """No fault at all: the tolerances of the laboratory are so wide that nothing gets better."""
    scene.laboratory.promise_gain()
    scene.soak()
    # A block counts only when each of the OSDs had writes as the primary: a third of them do
    scene.set_module_option('soak_max', '30')
    scene.set_module_option('soak_no_benefit', policy)
    before = scene.tuner.nonces()
    # Beside the client whose data are checked, which writes to few of the OSDs as their primary;
    # past the soak, for without it nothing is measured
    with s3_clients(scene, 270):
        # Four blocks of 2 s before the change: OSDs may have restarted only now
        time.sleep(15)
        scene.apply()
        state = scene.wait_for_phase('soaking')
        assert (state['purpose'], state['soak']['no_benefit']) == (
            'gain',
            'rollback' if policy == 'auto' else policy,
        )
        with flushing(scene):
            state = scene.wait_for_end(end)
    assert (state['verdict'], state['judged']) == ('pass', 'no-worse')
    if end == 'done':
        scene.assert_done()
        return
    assert 'soak_no_benefit' in state['failure']
    assert 'no gain was measured' in state['failure']
    scene.assert_untouched(before, scene.canary)
    scene.assert_as_before()


@pytest.mark.every_release
def test_osd_of_a_later_batch_that_dies_in_the_soak_rolls_back_all(scene: Scene) -> None:
    scene.soak(batches=True)
    scene.apply()
    second = scene.order[1]
    eventually(
        scene,
        lambda: scene.rollout()['batches'][1]['phase'] == 'soaking',
        f'the batch of osd.{second} watched',
        240,
    )
    with scene.fault('OSD of a later batch killed', 'promoting') as event:
        scene.kill_osd(second)
        state = scene.wait_for_end('rolled-back')
        event.happened = 'the verdict on its batch was fail; all was rolled back'
    assert state['batches'][1]['verdict'] == 'fail'
    scene.assert_as_before()


def test_control_that_dies_only_delays_the_rollout(scene: Scene) -> None:
    scene.soak()
    scene.apply()
    scene.wait_for_phase('soaking')
    control = scene.tuner.rollout()['soak']['controls'][0]
    with scene.fault('control killed', 'soaking') as event:
        scene.kill_osd(control)
        scene.wait_for_reason('placement groups')
        scene.start_osd(control)
        event.happened = 'it waited for clean placement groups, and went on'
    scene.wait_for_end('done')
    scene.assert_done()


# -- the operator


@pytest.mark.every_release
def test_other_options_are_ignored_and_a_new_masked_entry_stops_the_rollout(
    scene: Scene,
) -> None:
    ceph = scene.cluster.ceph
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    with scene.fault('operator sets another option', 'canary') as event:
        # Not one of those that mClock resets, from Reef on
        ceph('config', 'set', 'osd', 'osd_deep_scrub_stride', '1048576')
        scene.wait_for_step(scene.order[1], 'restarting')
        event.happened = 'nothing: the rollout went on, the option stayed'
    try:
        assert ceph('config', 'get', 'osd.0', 'osd_deep_scrub_stride').strip() == '1048576'
        with scene.fault('operator sets a mask', 'promoting') as event:
            ceph('config', 'set', 'osd/class:ssd', OPTION, OTHER)
            state = scene.wait_for_end('failed')
            event.happened = 'the OSD in flight was brought to safety, then it stopped'
        assert 'somebody else' in state['failure']
        assert ('osd', 'class:ssd', OTHER) in scene.tuner.entries()
    finally:
        ceph('config', 'rm', 'osd', 'osd_deep_scrub_stride')
        ceph('config', 'rm', 'osd/class:ssd', OPTION)
    scene.rolled_back()


@pytest.mark.every_release
def test_operator_value_for_the_osd_in_flight_is_kept(scene: Scene) -> None:
    ceph = scene.cluster.ceph
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting', 'checking', 'settling')
    canary = f'osd.{scene.canary}'
    with scene.fault('operator sets the OSD in flight', 'canary') as event:
        ceph('config', 'set', canary, OPTION, OTHER)
        state = scene.wait_for_end('failed')
        event.happened = 'it stopped at once; the value stayed as the operator set it'
    assert 'somebody else' in state['failure']
    assert (canary, '', OTHER) in scene.tuner.entries()
    code, text = scene.tuner.refused('rollback')
    assert (code, canary in text) == (errno.EBUSY, True), text
    ceph('config', 'rm', canary, OPTION)
    scene.rolled_back()


def test_operator_value_for_all_osds_is_kept(scene: Scene) -> None:
    ceph = scene.cluster.ceph
    scene.apply()
    scene.wait_for_step(scene.order[1], 'restarting')
    with scene.fault('operator changes the common entry', 'promoting') as event:
        ceph('config', 'set', 'osd', OPTION, OTHER)
        state = scene.wait_for_end('failed')
        event.happened = 'the OSD in flight was brought to safety, then it stopped'
    assert 'somebody else' in state['failure']
    assert ('osd', '', OTHER) in scene.tuner.entries()
    ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
    scene.rolled_back()


@pytest.mark.every_release
def test_pause_holds_the_rollout_in_any_phase_and_resume_continues(scene: Scene) -> None:
    scene.soak()
    scene.apply()

    def pause(phase: str) -> None:
        with scene.fault('operator pauses and resumes', phase) as event:
            scene.tuner.plain('rollout', 'pause')
            scene.wait_for_reason('paused')
            # Whoever is in flight may still come up
            time.sleep(12)
            still = scene.tuner.nonces()
            time.sleep(6)
            assert scene.tuner.nonces() == still
            scene.tuner.plain('rollout', 'resume')
            event.happened = 'no OSD was begun until resume'

    scene.wait_for_step(scene.canary, 'restarting')
    pause('canary')
    scene.wait_for_phase('soaking')
    pause('soaking')
    scene.wait_for_step(scene.order[1], 'restarting')
    pause('promoting')
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_abort_makes_the_osd_in_flight_safe_and_rollback_restores_all(scene: Scene) -> None:
    before = scene.tuner.nonces()
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    with scene.fault('operator aborts', 'canary') as event:
        scene.tuner.plain('rollout', 'abort')
        state = scene.wait_for_end('failed')
        event.happened = 'the OSD in flight came up, then it ended; the change stayed on it'
    assert state['outcome'] == 'aborted'
    scene.assert_untouched(before, scene.canary)
    scene.rolled_back()
    scene.soak()
    before = scene.tuner.nonces()
    scene.apply()
    scene.wait_for_phase('soaking')
    with scene.fault('operator aborts', 'soaking') as event:
        scene.tuner.plain('rollout', 'abort')
        state = scene.wait_for_end('failed')
        event.happened = 'it ended; the change stayed on the canary'
    assert state['outcome'] == 'aborted'
    scene.assert_untouched(before, scene.canary)
    scene.rolled_back()


@pytest.mark.every_release
def test_rollback_restores_the_exact_state_from_soak_and_from_collapse(
    scene: Scene,
) -> None:

    def roll_back(phase: str) -> None:
        with scene.fault('operator rolls back', phase) as event:
            scene.rolled_back()
            event.happened = 'all entries and processes as before'

    scene.soak()
    scene.apply()
    scene.wait_for_phase('soaking')
    roll_back('soaking')
    scene.set_module_option('soak_max', '0')
    with scene.fault('none', 'all') as event:
        scene.apply()
        scene.wait_for_action("RemoveEntry(who='osd'")
        event.happened = 'every OSD was restarted, one after the other'
    roll_back('collapsing')


def test_only_one_of_several_changes_of_the_same_osds_is_applied(scene: Scene) -> None:
    """Two operators apply at once, and one applies what stood before for the same OSDs."""
    ceph, every = scene.cluster.ceph, range(PLAIN.osds)
    before = scene.tuner.nonces()
    # The same options by entries of single OSDs: another recommendation, for the same OSDs
    for n in every:
        ceph('config', 'set', f'osd.{n}', OPTION, ALTERNATE_2019)
    ceph('config', 'rm', 'osd', OPTION)
    earlier = scene.recommendation(lambda r: r['who'] != 'osd' and len(r['osds']) == PLAIN.osds)
    ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
    for n in every:
        ceph('config', 'rm', f'osd.{n}', OPTION)
    later = scene.recommendation(lambda r: r['who'] == 'osd' and len(r['osds']) == PLAIN.osds)

    with scene.fault('two operators apply at once', 'preflight') as event:
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(scene.tuner.answer, [('apply', later['id'])] * 2))
        rollout = scene.rollout()
        assert sorted(code for code, _ in answers) == [0, errno.EBUSY], answers
        refusal = next(text for code, text in answers if code)
        assert f'rollout {rollout["id"]} is running' in refusal
        event.happened = 'one began; the other was refused, and told which rollout is running'
    scene.order = tuple(osd['osd'] for osd in rollout['osds'])
    scene.wait_for_step(scene.canary, 'restarting')
    with scene.fault('another recommendation for the same OSDs is applied', 'canary') as event:
        code, text = scene.tuner.refused('apply', earlier['id'])
        assert (code, earlier['id'] in text) == (errno.ENOENT, True), text
        event.happened = 'it was refused, for it stands no longer'
    scene.tuner.plain('rollout', 'abort')
    state = scene.wait_for_end('failed')
    assert state['id'] == rollout['id']
    scene.assert_untouched(before, scene.canary)
    scene.rolled_back()


# -- the orchestrator


@pytest.mark.every_release
def test_refusing_or_missing_orchestrator_only_delays_the_rollout(scene: Scene) -> None:
    scene.orchestrator(refuse='true')
    before = scene.tuner.nonces()
    scene.apply()
    with scene.fault('orchestrator refuses', 'canary') as event:
        scene.wait_for_step(scene.canary, 'restart-due', 'restarting')
        time.sleep(10)
        assert scene.tuner.rollout()['last_error'] is not None
        assert scene.tuner.nonces() == before
        scene.orchestrator(refuse='false')
        scene.wait_for_step(scene.canary, 'settling', 'verified')
        event.happened = 'it asked again after 30 s, and went on'
    scene.wait_for_step(scene.canary, 'verified')
    with scene.fault('orchestrator gone', 'promoting') as event:
        scene.cluster.ceph('orch', 'set', 'backend', '')
        try:
            state = scene.wait_for_reason('systemctl restart')
            reason = state['paused_reason']
            hand = next(n for n in scene.order if f'restart osd.{n} next' in reason)
            scene.cluster.restart_osd(hand)
            scene.wait_for_step(hand, 'settling', 'verified')
        finally:
            scene.cluster.ceph('orch', 'set', 'backend', 'test_orchestrator')
        event.happened = 'it named the OSD to restart by hand, and went on when that was done'
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_idle_orchestrator_ends_the_rollout_without_changes(
    scene: Scene,
) -> None:
    scene.orchestrator(ignore='true')
    before = scene.tuner.nonces()
    with scene.fault('orchestrator accepts and does nothing', 'canary') as event:
        scene.apply()
        state = scene.wait_for_end('failed')
        event.happened = 'it asked twice, then took the entry back; no OSD was restarted'
    assert 'and did not' in state['failure']
    scene.assert_untouched(before)
    scene.assert_as_before()


@pytest.mark.every_release
def test_restart_of_the_wrong_osd_is_noticed(scene: Scene) -> None:
    before = scene.tuner.nonces()
    wrong = scene.recommendation()['osds'][-1]
    scene.orchestrator(instead=wrong)
    with scene.fault('orchestrator restarts another OSD', 'canary') as event:
        scene.apply()
        state = scene.wait_for_end('failed')
        event.happened = 'it asked twice, then took the entry back; the other OSD ran as before'
    assert 'and did not' in state['failure']
    scene.assert_untouched(before, wrong)
    assert scene.tuner.nonces()[wrong] != before[wrong]
    scene.assert_as_before()


@pytest.mark.every_release
def test_hanging_orchestrator_only_delays_the_rollout(scene: Scene) -> None:
    scene.orchestrator(hang=40.0)
    with scene.fault('orchestrator hangs for 40 s', 'canary') as event:
        scene.apply()
        scene.wait_for_step(scene.canary, 'restarting')
        scene.orchestrator(hang=0.0)
        scene.wait_for_step(scene.canary, 'settling', 'verified')
        event.happened = 'the manager and its module answered meanwhile; it went on'
    scene.tuner.plain('rollout', 'abort')
    scene.wait_for_end('failed')
    scene.rolled_back()


# -- monitors, space, flags


@pytest.mark.integration
@pytest.mark.every_release
def test_rollout_waits_for_a_lost_monitor_and_a_lost_quorum(scene: Scene) -> None:
    cluster = scene.cluster
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    with scene.fault('one of three monitors down', 'canary') as event:
        cluster.stop_daemon('mon.c')
        scene.wait_for_step(scene.canary, 'verified')
        scene.wait_for_reason('MON_DOWN')
        cluster.start_daemon('mon.c')
        event.happened = 'the canary was finished; no other was begun until the monitor was back'
    scene.wait_for_step(scene.order[1], 'restarting')
    with s3_clients(scene, 45), scene.fault('no quorum for 20 s', 'promoting') as event:
        cluster.stop_daemon('mon.c', kill=True)
        cluster.stop_daemon('mon.b', kill=True)
        time.sleep(20)
        cluster.start_daemon('mon.b')
        cluster.start_daemon('mon.c')
        scene.wait_until_answered()
        scene.wait_for_step(scene.order[1], 'verified')
        event.happened = 'everything stood still; with the quorum it went on by itself'
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_nothing_starts_that_the_monitors_refuse_to_store(scene: Scene) -> None:
    """Each step is stored before its action: where the one is refused, the other is not done."""
    ceph, limit = scene.cluster.ceph, ('mon', 'mon_config_key_max_entry_size')
    before = scene.tuner.nonces()
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    with scene.fault('monitors refuse to store', 'canary') as event:
        ceph('config', 'set', *limit, '16')
        try:
            eventually(
                scene,
                lambda: 'is not stored: error: entry size' in str(scene.tuner.status()['notices']),
                'the refusal told',
            )
            stored, entries = scene.stored(), scene.tuner.entries()
            scene.kill_active_manager()
            scene.wait_until_answered()
            # Long enough for the next OSD to be begun, were it not for that
            time.sleep(30)
            assert (scene.stored(), scene.tuner.entries()) == (stored, entries)
            scene.assert_untouched(before, scene.canary)
        finally:
            ceph('config', 'rm', *limit)
        scene.wait_for_step(scene.order[1], 'restarting')
        event.happened = (
            'no other OSD was begun, also by the standby when the manager was killed; it went on '
            'when they stored again'
        )
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_foreign_flags_and_nearfull_hold_the_next_osd_until_cleared(scene: Scene) -> None:
    ceph = scene.cluster.ceph
    scene.apply()
    scene.wait_for_step(scene.canary, 'restarting')
    before = scene.tuner.nonces()
    with scene.fault('noout set by others', 'canary') as event:
        ceph('osd', 'set', 'noout')
        scene.wait_for_reason('noout')
        scene.assert_untouched(before, scene.canary)
        ceph('osd', 'unset', 'noout')
        scene.wait_for_step(scene.order[1], 'restarting')
        event.happened = 'the canary was finished; no other was begun while the flag was set'
    before = scene.tuner.nonces()
    with scene.fault('nearfull', 'promoting') as event:
        ceph('osd', 'set-nearfull-ratio', '0.0001')
        scene.wait_for_reason('NEARFULL')
        scene.assert_untouched(before, scene.order[1])
        ceph('osd', 'set-nearfull-ratio', '0.85')
        scene.wait_for_step(scene.order[2], 'restarting')
        event.happened = 'no other OSD was begun until there was room'
    scene.wait_for_end('done')
    scene.assert_done()


# -- the clock and the store


def test_clock_jump_neither_hurries_nor_stops_a_rollout(scene: Scene) -> None:
    scene.soak()
    scene.apply()

    def jump(phase: str, offset_s: float) -> None:
        with scene.fault(f"the module's clock jumps to {offset_s / 3600:+.0f} h", phase) as event:
            scene.laboratory.set_clock_offset(offset_s)
            time.sleep(10)
            assert scene.tuner.rollout()['phase'] != 'failed'
            event.happened = 'nothing: waits are counted, not read from the clock'

    scene.wait_for_step(scene.canary, 'restarting')
    jump('canary', 7200.0)
    scene.wait_for_phase('soaking')
    jump('soaking', -7200.0)
    scene.wait_for_step(scene.order[1], 'restarting')
    jump('promoting', 86400.0)
    scene.wait_for_end('done')
    scene.assert_done()


def test_state_stored_by_an_older_version_is_resumed(scene: Scene) -> None:
    """A rollout under way survives the upgrade of the module."""
    scene.apply()
    scene.wait_for_step(scene.order[1], 'restarting', 'checking', 'settling')
    with scene.fault('store of an older version', 'promoting') as event:
        with scene.without_managers():
            # As the version before had it: all of it under one key
            old = format_1.encode_state(scene.stored_state())
            for key in scene.cluster.ceph_json('config-key', 'ls'):
                if key.startswith('mgr/rocksdb_tuner/rollout/parts/'):
                    scene.cluster.ceph('config-key', 'rm', key)
            scene.cluster.ceph('config-key', 'set', STATE_KEY, '-i', '-', stdin=old)
        event.happened = 'the new manager read it, and went on'
    scene.wait_for_end('done')
    scene.assert_done()


@pytest.mark.every_release
def test_corrupted_store_stops_all_actions_and_repaired_store_resumes(
    scene: Scene,
) -> None:
    cluster = scene.cluster
    scene.apply()
    scene.wait_for_step(scene.canary, 'verified')
    scene.tuner.plain('rollout', 'pause')
    eventually(
        scene,
        lambda: not {'restarting', 'checking', 'settling'} & {*scene.stored_steps().values()},
        'no OSD in flight',
    )
    with scene.fault('corrupted store', 'promoting') as event:
        with scene.without_managers():
            whole = cluster.ceph('config-key', 'get', STATE_KEY)
            half = whole[: len(whole) // 2]
            cluster.ceph('config-key', 'set', STATE_KEY, '-i', '-', stdin=half)
        entries, nonces = scene.tuner.entries(), scene.tuner.nonces()
        eventually(
            scene,
            lambda: 'ROCKSDB_TUNER_STATE_BROKEN' in cluster.ceph_json('health')['checks'],
            'the health check',
            90,
        )
        assert scene.tuner.rollout() is None
        assert (scene.tuner.entries(), scene.tuner.nonces()) == (entries, nonces)
        aside = 'mgr/rocksdb_tuner/broken/rollout/current'
        cluster.ceph('config-key', 'set', aside, '-i', '-', stdin=whole)
        scene.wait_for_standby()
        cluster.ceph('mgr', 'fail', scene.active_manager())
        scene.wait_until_answered()
        state = scene.wait_for_reason('paused')
        assert state['phase'] == 'waiting'
        event.happened = 'nothing was done but a health check; once repaired, resume went on'
        scene.tuner.plain('rollout', 'resume')
    scene.wait_for_end('done')
    scene.assert_done()


# -- where OSDs are

#: Of each host, where a test has racks.
RACKS = {f'host{n}': f'rack{n // 2}' for n in range(PLAIN.osds)}


@contextlib.contextmanager
def racks(cluster: Cluster) -> Iterator[list[str]]:
    """Racks of two hosts each, and a rule by racks and one by OSDs, for the pools of these names.

    No data are where these rules would have them: that takes three racks, and is nothing to plans.
    """
    crush = ('osd', 'crush')
    pools = {
        pool: cluster.ceph_json('osd', 'pool', 'get', pool, 'crush_rule')['crush_rule']
        for pool in cluster.ceph_json('osd', 'pool', 'ls')
    }
    try:
        for rack in sorted(set(RACKS.values())):
            cluster.ceph(*crush, 'add-bucket', rack, 'rack', 'root=default')
        for host, rack in RACKS.items():
            cluster.ceph(*crush, 'move', host, f'rack={rack}')
        for kind in ('rack', 'osd'):
            cluster.ceph(*crush, 'rule', 'create-replicated', f'by_{kind}', 'default', kind)
        yield list(pools)
    finally:
        for pool, rule in pools.items():
            cluster.ceph('osd', 'pool', 'set', pool, 'crush_rule', rule)
        for host in RACKS:
            cluster.ceph(*crush, 'move', host, 'root=default')
        for rack in set(RACKS.values()):
            cluster.ceph(*crush, 'rm', rack)
        for kind in ('rack', 'osd'):
            cluster.ceph(*crush, 'rule', 'rm', f'by_{kind}')


def batches_by(kind: str, scene: Scene) -> list[tuple[list[int], str]]:
    """The planned batches and their failure domains, once all of these are of this type."""
    advice = scene.recommendation()['id']

    def batches() -> Any:
        plan = scene.tuner.json('apply', advice, '--dry-run', schema='plan')
        found = [(batch['osds'], batch['failure_domain']) for batch in plan['batches']]
        alike = all(domain and domain['type'] == kind for _, domain in found)
        return [(osds, domain['name']) for osds, domain in found] if alike else None

    found: list[tuple[list[int], str]] = scene.tuner.wait_for(batches, 40, f'batches by {kind}')
    assert sorted(n for osds, _ in found for n in osds) == list(range(PLAIN.osds))
    return found


@pytest.mark.integration
@pytest.mark.every_release
def test_batches_stay_within_one_failure_domain_of_the_pool_rules(
    shared_scene: Scene,
) -> None:
    """Hosts; then racks, by the rule of all pools; then every OSD by itself, by that of one."""
    scene, cluster = shared_scene, shared_scene.cluster
    scene.restore()
    assert all(name == f'host{osds[0]}' for osds, name in batches_by('host', scene))
    with racks(cluster) as pools:
        for pool in pools:
            cluster.ceph('osd', 'pool', 'set', pool, 'crush_rule', 'by_rack')
        in_racks = batches_by('rack', scene)
        # The canary, the other host of its rack, and both of the other rack together.
        assert [len(osds) for osds, _ in in_racks] == [1, 1, 2]
        assert all(name == RACKS[f'host{n}'] for osds, name in in_racks for n in osds)
        canary, rack = in_racks[0]
        assert f'rack {rack}' in scene.tuner.plain('show', scene.recommendation()['id'])
        assert f'rack {rack}' in scene.tuner.plain('osd', str(canary[0]))

        cluster.ceph('osd', 'pool', 'set', pools[0], 'crush_rule', 'by_osd')
        alone = batches_by('osd', scene)
        assert [(len(osds), name) for osds, name in alone] == [
            (1, f'osd.{osds[0]}') for osds, _ in alone
        ]
    scene.tuner.wait_for_clean()

"""Faults while a rollout is rolled back, and while its entries collapse."""

from __future__ import annotations

import re
import time

import pytest

from fault_clusters import sets_profile
from fault_scene import PLAIN, STATE_KEY, Scene, eventually, kill_manager
from module_client import OPTION

pytestmark = [pytest.mark.faults, pytest.mark.every_release]

OTHER = 'compression=kLZ4Compression'


def steps(scene: Scene) -> dict[int, str]:
    """How far each OSD is."""
    return {osd['osd']: osd['step'] for osd in scene.rollout()['osds']}


def wait_for_restored(scene: Scene, count: int) -> None:
    """So many OSDs run what they ran before."""
    eventually(
        scene,
        lambda: list(steps(scene).values()).count('restored') >= count,
        f'{count} OSDs restored',
        300,
    )


def changed_everywhere(scene: Scene) -> None:
    """A rollout all of whose OSDs are changed, about to collapse."""
    # Else all of it is a matter of a moment
    scene.laboratory.set_late_removals(5.0)
    scene.apply()
    scene.wait_for_phase('collapsing', timeout_s=420)


# -- rolling back


def test_pause_holds_a_rollback_and_an_osd_that_dies_in_it_is_started(scene: Scene) -> None:
    scene.begin_rollback()
    with scene.fault('operator pauses and resumes', 'rolling-back') as event:
        scene.tuner.plain('rollout', 'pause')
        # Whoever is in flight may still come up
        time.sleep(15)
        still, entries = scene.tuner.nonces(), scene.tuner.entries()
        assert all(scene.tuner.osd_up(n) for n in still)
        time.sleep(8)
        assert (scene.tuner.nonces(), scene.tuner.entries()) == (still, entries)
        assert 'paused' in scene.rollout()['paused_reason']
        event.happened = 'the OSD in flight came up, no other was restarted until resume'
    victim = scene.order[0]
    with scene.fault('OSD killed', 'rolling-back') as event:
        scene.kill_osd(victim)
        scene.tuner.plain('rollout', 'resume')
        eventually(scene, lambda: scene.tuner.osd_up(victim), f'osd.{victim} started', 180)
        event.happened = 'it was started with what it had, then the others were restored'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_rollback_waits_for_lost_monitors_and_continues(scene: Scene) -> None:
    cluster = scene.cluster
    scene.begin_rollback()
    with scene.fault('no quorum for 15 s', 'rolling-back') as event:
        cluster.stop_daemon('mon.c', kill=True)
        cluster.stop_daemon('mon.b', kill=True)
        time.sleep(15)
        cluster.start_daemon('mon.b')
        cluster.start_daemon('mon.c')
        scene.wait_until_answered()
        event.happened = 'everything stood still; with the quorum it went on by itself'
    with scene.fault('one of three monitors down', 'rolling-back') as event:
        cluster.stop_daemon('mon.c')
        before = scene.tuner.nonces()
        time.sleep(10)
        after = scene.tuner.nonces()
        assert sum(before[n] != after[n] for n in before) <= 1
        cluster.start_daemon('mon.c')
        event.happened = 'the OSD in flight was finished; it went on when the monitor was back'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_rollback_waits_while_the_monitors_refuse_to_store(
    scene: Scene,
) -> None:
    ceph, limit = scene.cluster.ceph, ('mon', 'mon_config_key_max_entry_size')
    scene.begin_rollback()
    with scene.fault('monitors refuse to store', 'rolling-back') as event:
        ceph('config', 'set', *limit, '16')
        try:
            eventually(
                scene,
                lambda: 'is not stored: error: entry size' in str(scene.tuner.status()['notices']),
                'the refusal told',
                120,
            )
            # An OSD whose restart was asked for before may still come up
            time.sleep(10)
            stored, before = scene.stored(), scene.tuner.nonces()
            time.sleep(10)
            assert (scene.stored(), scene.tuner.nonces()) == (stored, before)
        finally:
            ceph('config', 'rm', *limit)
        event.happened = 'nothing went on that was not stored; it went on when they stored again'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_refusing_late_or_slow_orchestrator_only_delays_a_rollback(scene: Scene) -> None:
    scene.begin_rollback()
    with scene.fault('orchestrator refuses', 'rolling-back') as event:
        scene.orchestrator(refuse='true')
        eventually(scene, lambda: scene.rollout()['last_error'], 'the refusal', 120)
        scene.orchestrator(refuse='false')
        event.happened = 'it asked again'
    with scene.fault('orchestrator 20 s late', 'rolling-back') as event:
        scene.orchestrator(late=20.0)
        wait_for_restored(scene, 1)
        event.happened = 'it waited for each OSD'
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_rollback_resumes_from_a_repaired_store(scene: Scene) -> None:
    cluster = scene.cluster
    scene.begin_rollback()
    scene.tuner.plain('rollout', 'pause')
    # Whoever is in flight may still come up
    time.sleep(20)
    assert all(scene.tuner.osd_up(n) for n in scene.order)
    with scene.fault('corrupted store', 'rolling-back') as event:
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
        assert (scene.tuner.entries(), scene.tuner.nonces()) == (entries, nonces)
        with scene.without_managers():
            cluster.ceph('config-key', 'set', STATE_KEY, '-i', '-', stdin=whole)
            cluster.ceph('config-key', 'rm', 'mgr/rocksdb_tuner/broken/rollout/current')
        scene.wait_for_reason('paused')
        event.happened = 'nothing was done but a health check; once repaired, resume went on'
    scene.tuner.plain('rollout', 'resume')
    scene.wait_for_end('rolled-back')
    scene.assert_as_before()


def test_operator_entry_ends_a_rollback_and_is_kept(scene: Scene) -> None:
    ceph, canary = scene.cluster.ceph, f'osd.{scene.recommendation()["osds"][0]}'
    scene.begin_rollback()
    with scene.fault('operator sets an OSD that is restored', 'rolling-back') as event:
        ceph('config', 'set', canary, OPTION, OTHER)
        state = scene.wait_for_end('failed')
        event.happened = 'it stopped, and said so; the value stayed as the operator set it'
    assert 'somebody else' in state['failure']
    assert (canary, '', OTHER) in scene.tuner.entries()
    ceph('config', 'rm', canary, OPTION)
    scene.rolled_back()


def test_flags_hold_a_rollback_and_a_purged_osd_does_not(scene: Scene) -> None:
    """An OSD that is gone for good cannot be restored: the rollback ends without it."""
    ceph = scene.cluster.ceph
    scene.begin_rollback()
    with scene.fault('noout set by others', 'rolling-back') as event:
        ceph('osd', 'set', 'noout')
        time.sleep(15)
        before = scene.tuner.nonces()
        time.sleep(8)
        assert scene.tuner.nonces() == before
        event.happened = 'the OSD in flight was finished; no other was begun while the flag was set'
    gone = next(n for n, step in steps(scene).items() if step not in ('pending', 'restored'))
    with scene.fault('OSD purged', 'rolling-back') as event:
        scene.purge_osd(gone)
        ceph('osd', 'unset', 'noout')
        scene.wait_for_end('rolled-back')
        event.happened = 'the others were restored, and it ended'
    assert (f'osd.{gone}', '') not in {entry[:2] for entry in scene.tuner.entries()}
    scene.make_osd(gone)
    scene.assert_as_before()


# -- collapsing


@sets_profile
def test_profile_is_set_though_the_manager_is_killed_during_the_collapse(scene: Scene) -> None:
    changed_everywhere(scene)
    kill_manager(scene, 'collapsing')
    scene.laboratory.set_late_removals(0.0)
    scene.wait_for_end('done')
    scene.assert_done()
    with scene.fault('operator rolls back', 'done') as event:
        scene.rolled_back()
        event.happened = 'all entries and processes as before'


def test_collapse_resumes_after_losing_an_osd_a_monitor_and_the_quorum(scene: Scene) -> None:
    cluster = scene.cluster
    changed_everywhere(scene)
    victim = scene.order[-1]
    with scene.fault('OSD killed', 'collapsing') as event:
        scene.kill_osd(victim)
        scene.start_osd(victim)
        event.happened = 'it came up with its entry, or with what all have by then'
    with scene.fault('no quorum for 15 s', 'collapsing') as event:
        cluster.stop_daemon('mon.c', kill=True)
        cluster.stop_daemon('mon.b', kill=True)
        time.sleep(15)
        cluster.start_daemon('mon.b')
        cluster.start_daemon('mon.c')
        scene.wait_until_answered()
        event.happened = 'everything stood still; with the quorum it went on by itself'
    scene.laboratory.set_late_removals(0.0)
    scene.wait_for_end('done')
    scene.assert_done()


@sets_profile
def test_collapse_waits_while_monitors_refuse_and_while_paused(scene: Scene) -> None:
    ceph, limit = scene.cluster.ceph, ('mon', 'mon_config_key_max_entry_size')
    changed_everywhere(scene)
    with scene.fault('operator pauses and resumes', 'collapsing') as event:
        scene.tuner.plain('rollout', 'pause')
        time.sleep(7)
        entries = scene.tuner.entries()
        time.sleep(7)
        assert scene.tuner.entries() == entries
        scene.tuner.plain('rollout', 'resume')
        event.happened = 'no entry was removed until resume'
    with scene.fault('monitors refuse to store', 'collapsing') as event:
        ceph('config', 'set', *limit, '16')
        try:
            time.sleep(7)
            entries = scene.tuner.entries()
            time.sleep(7)
            assert scene.tuner.entries() == entries
        finally:
            ceph('config', 'rm', *limit)
        event.happened = 'no entry was removed until they stored again'
    scene.laboratory.set_late_removals(0.0)
    scene.wait_for_end('done')
    scene.assert_done()


@sets_profile
def test_operator_mask_stops_a_collapse_and_abort_and_rollback_restore_all(
    scene: Scene,
) -> None:
    ceph = scene.cluster.ceph
    changed_everywhere(scene)
    with scene.fault('operator sets a mask', 'collapsing') as event:
        ceph('config', 'set', 'osd/class:ssd', OPTION, OTHER)
        try:
            state = scene.wait_for_end('failed')
            event.happened = 'it stopped, and said whose entry that is'
            # The second where the own entry of an OSD was just removed: it is set again.
            assert re.search('somebody else|would get .* set again', state['failure'])
            assert ('osd', 'class:ssd', OTHER) in scene.tuner.entries()
            assert {*scene.running().values()} == {scene.wanted}
        finally:
            ceph('config', 'rm', 'osd/class:ssd', OPTION)
    scene.laboratory.set_late_removals(0.0)
    with scene.fault('operator rolls back', 'collapsing') as event:
        scene.rolled_back()
        event.happened = 'all entries and processes as before'


@sets_profile
def test_osd_of_another_class_that_joins_gets_nothing_from_the_collapse(scene: Scene) -> None:
    """Nobody checked the options for it: no entry may decide for it at its next start."""
    scene.apply()
    scene.wait_for_step(scene.order[1], 'restarting', 'checking', 'settling', 'verified')
    new = PLAIN.osds
    with scene.fault('OSD of another class joins', 'promoting') as event:
        scene.make_osd(new, 'hdd')
        state = scene.tuner.wait_for_phase('done', 'failed', 'waiting', timeout_s=300)
        if state['phase'] == 'waiting':
            # Its placement groups are not clean at once
            state = scene.tuner.wait_for_phase('done', 'failed', timeout_s=300)
        sections = {section for section, _, _ in scene.tuner.entries()}
        assert not {'osd', 'global', f'osd.{new}'} & sections, scene.tuner.entries()
        scene.cluster.restart_osd(new)
        eventually(scene, lambda: scene.tuner.osd_up(new), f'osd.{new} up again')
        assert scene.running()[new] == scene.default
        event.happened = f'it ended as {state["phase"]}; no entry decides for the new OSD'
    scene.purge_osd(new)
    scene.rolled_back()

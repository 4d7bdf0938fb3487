"""The plan that is shown."""

from __future__ import annotations

from dataclasses import replace

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import Daemon
from rocksdb_tuner.observe.report_interval import ReportInterval
from rocksdb_tuner.plan.commands import (
    commands,
    expected_duration_s,
    forward_actions,
    undo_actions,
)
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import (
    ALL,
    NEW,
    OLD,
    remove_override,
    set_profile,
)


def test_plan_lists_every_command_in_order() -> None:
    request = set_profile(FakeCluster(osds=2))
    assert commands(forward_actions(request)) == (
        f"ceph config set osd.0 {OPTION} '{NEW}'",
        'ceph orch daemon restart osd.0',
        f'ceph config show osd.0 {OPTION}',
        f"ceph config set osd.1 {OPTION} '{NEW}'",
        'ceph orch daemon restart osd.1',
        f'ceph config show osd.1 {OPTION}',
        f"ceph config set {ALL} {OPTION} '{NEW}'",
        f'ceph config rm osd.0 {OPTION}',
        f'ceph config rm osd.1 {OPTION}',
    )


def test_plan_without_an_orchestrator_names_the_host_of_each_restart() -> None:
    lines = commands(
        forward_actions(set_profile(FakeCluster(osds=2))),
        orchestrated=False,
        daemons={0: Daemon('node7')},
    )
    assert 'systemctl restart ceph-osd@0  # on node7' in lines
    assert 'systemctl restart ceph-osd@1' in lines


def test_undo_restores_masks_before_restarts() -> None:
    request = set_profile(FakeCluster(osds=1))
    assert commands(undo_actions(request, {ALL: OLD})) == (
        f"ceph config set {ALL} {OPTION} '{OLD}'",
        'ceph orch daemon restart osd.0',
        f'ceph config show osd.0 {OPTION}',
    )
    assert commands(undo_actions(request, {}))[0] == f'ceph config rm {ALL} {OPTION}'


def test_undo_sets_an_own_entry_again() -> None:
    request = set_profile(FakeCluster(osds=1), final_entries=(('osd.0', None), (ALL, NEW)))
    assert commands(undo_actions(request, {'osd.0': OLD}))[:2] == (
        f'ceph config rm {ALL} {OPTION}',
        f"ceph config set osd.0 {OPTION} '{OLD}'",
    )


def test_change_without_restarts_shows_none() -> None:
    request = replace(remove_override(FakeCluster()), restart=False)
    assert commands(forward_actions(request)) == (f'ceph config rm osd {OPTION}',)
    assert commands(undo_actions(request, {'osd': OLD})) == (
        f"ceph config set osd {OPTION} '{OLD}'",
    )
    assert expected_duration_s(request, SoakPlan(60.0, 60.0)) == (0.0, 0.0)


def test_expected_duration_includes_the_soak() -> None:
    request = set_profile(FakeCluster(osds=3))
    # Before, a minute to warm up, and after; then the restarts.
    assert expected_duration_s(request, SoakPlan(600.0, 3600.0)) == (1395.0, 4395.0)
    # Eight blocks of two reports are the least.
    assert expected_duration_s(request, SoakPlan(0.0, 10.0)) == (355.0, 355.0)
    # Blocks of two reports are longer where OSDs report each minute.
    rare = ReportInterval(60.0)
    assert expected_duration_s(request, SoakPlan(0.0, 10.0), rare)[0] > 2 * 8 * 110.0
    assert expected_duration_s(request, SoakPlan(3600.0, 3600.0), rare)[1] < 2 * 3800.0
    # A canary without controls warms up and is watched for crashes, unless it is rolled back at
    # once.
    alone = set_profile(FakeCluster(osds=1))
    assert expected_duration_s(alone, SoakPlan(600.0, 3600.0)) == (705.0, 705.0)
    assert expected_duration_s(alone, SoakPlan(1.0, 3600.0)) == (106.0, 106.0)
    assert expected_duration_s(alone, SoakPlan(0.0, 3600.0)) == (45.0, 45.0)
    reverted = SoakPlan(600.0, 3600.0, Inconclusive.ROLLBACK)
    assert expected_duration_s(alone, reverted) == (45.0, 45.0)

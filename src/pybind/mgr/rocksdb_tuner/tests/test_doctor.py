"""`doctor`: each check passes, fails with a remedy, or is unknown."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest

from rocksdb_tuner.advise.records import Setting
from rocksdb_tuner.doctor import STATISTICS, DoctorCheck, Environment, examine
from rocksdb_tuner.mgr.host import TAB_FILES, manager_host
from rocksdb_tuner.mgr.records import ManagerHost, ManagerInfo
from rocksdb_tuner.present.status import doctor as table
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.steps import StepFailure

from .present.samples import all_snapshots, facts, info, options, small_cluster

HOST = ManagerHost((3, 11), dashboard_enabled=True, tab_installed=True)
HEALTHY = Environment(
    host=HOST,
    orchestrated=True,
    orchestrator_reason=None,
    tab_unplaced=False,
    metrics_url='http://192.0.2.1:9789/metrics',
    metrics_enabled=True,
)
IDS = {
    'mode',
    'manager-files',
    'release',
    'sampling',
    'module',
    'stored-data',
    'options',
    'statistics',
    'python',
    'orchestrator',
    'dashboard',
    'metrics',
}


def healthy() -> Snapshot:
    snapshot = small_cluster()
    on = {name: Setting('true', 'osd') for name in STATISTICS}
    return replace(
        snapshot,
        release='pacific',
        osds=tuple(facts(n)._replace(settings=on) for n in range(3)),
        managers=(ManagerInfo('x', 'node0', active=True, has_module=True),),
        notices=(),
        failing=(),
        sampling=replace(snapshot.sampling, interval_s=10.0, last_sample_age_s=4.0),
    )


def found(
    check_id: str, snapshot: Optional[Snapshot] = None, environment: Environment = HEALTHY
) -> DoctorCheck:
    checks = examine(snapshot or healthy(), environment)
    return next(check for check in checks if check.check_id == check_id)


def test_healthy_cluster_passes_every_check() -> None:
    checks = examine(healthy(), HEALTHY)
    assert {check.check_id for check in checks} == IDS
    assert [(c.check_id, c.summary) for c in checks if c.ok is not True or c.remedy] == []


@pytest.mark.parametrize('name', all_snapshots())
def test_failed_check_has_a_remedy_in_every_state(name: str) -> None:
    for check in examine(all_snapshots()[name], HEALTHY):
        assert check.ok is not False or check.remedy
        assert check.summary


def test_mode_off_fails() -> None:
    check = found('mode', replace(healthy(), mode=Mode.OFF))
    assert check.ok is False
    assert check.remedy == '"ceph rocksdb-tuner mode recommend"'


def test_standby_without_the_files_is_named_with_its_host() -> None:
    standby = ManagerInfo('y', 'node1', active=False, has_module=False)
    check = found('manager-files', replace(healthy(), managers=(*healthy().managers, standby)))
    assert check.ok is False
    assert 'mgr.y on node1' in check.summary
    assert 'mgr.x' not in check.summary
    assert 'systemctl restart ceph-mgr.target' in str(check.remedy)


def test_manager_of_unknown_host_is_named_without_it() -> None:
    standby = ManagerInfo('y', None, active=False, has_module=False)
    check = found('manager-files', replace(healthy(), managers=(standby,)))
    assert 'in mgr.y:' in check.summary


def test_unread_managers_are_unknown() -> None:
    assert found('manager-files', replace(healthy(), managers=())).ok is None


def test_unknown_release_of_the_manager_fails() -> None:
    assert found('release', replace(healthy(), release=None)).ok is False


def test_two_releases_of_osds_fail_and_are_named() -> None:
    newer = facts(3)._replace(info=replace(info(3), release='reef'))
    check = found('release', replace(healthy(), osds=(*healthy().osds, newer)))
    assert check.ok is False
    assert 'pacific, reef' in check.summary


def test_osds_without_options_make_the_release_unknown() -> None:
    silent = facts(3)._replace(options=None)
    check = found('release', replace(healthy(), osds=(*healthy().osds, silent)))
    assert (check.ok, check.summary) == (None, 'no options reported yet by osd.3')


def test_late_sample_fails_after_three_intervals() -> None:
    def aged(age_s: Optional[float]) -> DoctorCheck:
        sampling = replace(healthy().sampling, last_sample_age_s=age_s)
        return found('sampling', replace(healthy(), sampling=sampling))

    assert aged(30.0).ok is True
    assert aged(30.1).ok is False
    assert aged(None).ok is None


def test_osd_that_is_up_without_a_sample_is_named() -> None:
    silent = facts(7)._replace(signals=None)
    check = found('sampling', replace(healthy(), osds=(*healthy().osds, silent)))
    assert check.ok is False
    assert 'osd.7' in check.summary
    assert 'mgr_stats_threshold' in str(check.remedy)


def test_down_osd_needs_no_sample() -> None:
    down = facts(7)._replace(signals=None, info=replace(info(7), up=False))
    assert found('sampling', replace(healthy(), osds=(*healthy().osds, down))).ok is True
    assert found('sampling', replace(healthy(), osds=(down,))).ok is None


def test_nothing_is_sampled_in_mode_off() -> None:
    assert found('sampling', replace(healthy(), mode=Mode.OFF)).ok is None


def test_failing_parts_notices_and_conflicting_options_fail() -> None:
    failure = StepFailure('sampling', 'no counters', 0.0)
    assert found('module', replace(healthy(), failing=(failure,))).ok is False
    assert found('stored-data', replace(healthy(), notices=('A key is quarantined.',))).ok is False
    assert found('options', replace(healthy(), impossible='soak_min is above soak_max')).ok is False


def test_statistics_need_both_options_on_every_osd() -> None:
    one = {STATISTICS[0]: Setting('true', 'osd'), STATISTICS[1]: Setting('false', 'osd')}
    without = facts(7)._replace(settings=one)
    check = found('statistics', replace(healthy(), osds=(*healthy().osds, without)))
    assert (check.ok, check.optional) == (False, True)
    assert '1 OSD' in check.summary
    assert all(name in str(check.remedy) for name in STATISTICS)


def test_no_restart_for_statistics_where_osds_would_not_start() -> None:
    unstartable = replace(options(8), starts=False)
    osds = (facts(7)._replace(settings={}), facts(8)._replace(settings={}, options=unstartable))
    remedy = str(found('statistics', replace(healthy(), osds=osds)).remedy)
    assert 'osd deep' in remedy
    assert 'restart' not in remedy


def test_statistics_are_unknown_before_osds_report_options() -> None:
    unread = facts(0)._replace(settings=None)
    assert found('statistics', replace(healthy(), osds=(unread,))).ok is None


@pytest.mark.parametrize(('version', 'ok'), [((3, 8), False), ((3, 9), True), ((4, 0), True)])
def test_python_must_be_new_enough(version: tuple[int, int], *, ok: bool) -> None:
    environment = replace(HEALTHY, host=replace(HOST, python=version))
    assert found('python', environment=environment).ok is ok


def test_orchestrator_is_optional_with_a_reason() -> None:
    reason = 'Module not found'
    environment = replace(HEALTHY, orchestrated=False, orchestrator_reason=reason)
    check = found('orchestrator', environment=environment)
    assert (check.ok, check.optional) == (False, True)
    assert reason in check.summary
    assert found('orchestrator', environment=replace(HEALTHY, orchestrated=None)).ok is None


def test_the_dashboard_is_checked_step_by_step() -> None:
    def of(host: Optional[ManagerHost], *, unplaced: bool = False) -> DoctorCheck:
        return found('dashboard', environment=replace(HEALTHY, host=host, tab_unplaced=unplaced))

    assert 'ceph mgr module enable dashboard' in str(
        of(replace(HOST, dashboard_enabled=False, tab_installed=False)).remedy
    )
    assert 'package of the tab' in str(of(replace(HOST, tab_installed=False)).remedy)
    assert 'command line' in str(of(HOST, unplaced=True).remedy)
    assert of(HOST).ok is True
    assert of(None).ok is None


def test_metrics_are_off_or_enabled_but_not_served() -> None:
    off = replace(HEALTHY, metrics_url=None, metrics_enabled=False)
    assert 'metrics true' in str(found('metrics', environment=off).remedy)
    broken = replace(HEALTHY, metrics_url=None)
    assert 'ceph health detail' in str(found('metrics', environment=broken).remedy)


def test_manager_host_is_read_from_its_files(tmp_path: Path) -> None:
    bare = manager_host({'modules': []}, tmp_path)
    assert bare == ManagerHost(sys.version_info[:2], dashboard_enabled=False, tab_installed=False)
    for name in TAB_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('')
    modules = {'modules': ['dashboard', 'rocksdb_tuner']}
    whole = manager_host(modules, tmp_path)
    assert (whole.dashboard_enabled, whole.tab_installed) == (True, True)
    for name in TAB_FILES:
        (tmp_path / name).rename(tmp_path / 'elsewhere')
        assert not manager_host(modules, tmp_path).tab_installed
        (tmp_path / 'elsewhere').rename(tmp_path / name)


def test_lines_fit_the_screen_and_have_remedies() -> None:
    standby = ManagerInfo('y', 'node1', active=False, has_module=False)
    checks = examine(
        replace(healthy(), managers=(standby,)),
        replace(HEALTHY, metrics_url=None, metrics_enabled=False),
    )
    lines = table(checks).splitlines()
    assert max(map(len, lines)) <= 80
    failed = [line for line in lines if line.startswith(('FAILED ', 'off '))]
    assert [line.split()[1] for line in failed] == ['manager-files:', 'metrics:']
    assert sum(line.startswith('         remedy: ') for line in lines) == 2

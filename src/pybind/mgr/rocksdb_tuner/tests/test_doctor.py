"""`doctor`: each check passes, fails with a remedy, or is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.doctor import STATISTICS, DoctorCheck, Environment, examine
from rocksdb_tuner.mgr.adapter import TAB_FILES, manager_host
from rocksdb_tuner.mgr.records import ManagerHost, ManagerInfo
from rocksdb_tuner.snapshot import Mode, Sampling, Snapshot
from rocksdb_tuner.steps import StepFailure

from .present.samples import all_snapshots, facts, info, options, small_cluster

HOST = ManagerHost(dashboard_enabled=True, tab_installed=True)
HEALTHY = Environment(
    host=HOST,
    orchestrated=True,
    orchestrator_reason=None,
    tab_unplaced=False,
    metrics_url='http://192.0.2.1:9789/metrics',
    metrics_enabled=True,
)


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
    assert len({check.check_id for check in checks}) == 11
    assert [(c.check_id, c.summary) for c in checks if c.ok is not True or c.remedy] == []


@pytest.mark.parametrize('name', all_snapshots())
def test_failed_check_has_a_remedy_in_every_state(name: str) -> None:
    for check in examine(all_snapshots()[name], HEALTHY):
        assert check.ok is not False or check.remedy
        assert check.summary


STANDBY = ManagerInfo('y', 'node1', active=False, has_module=False)
DOWN = replace(info(7), up=False)
NO_START = replace(options(8), starts=False)
STATISTICS_OFF = {STATISTICS[0]: Setting('true', 'osd'), STATISTICS[1]: Setting('false', 'osd')}


def osds(*more: OsdFacts) -> tuple[OsdFacts, ...]:
    return (*healthy().osds, *more)


def sampled(age_s: Optional[float]) -> Sampling:
    return replace(healthy().sampling, last_sample_age_s=age_s)


@pytest.mark.parametrize(
    ('check_id', 'changes', 'ok', 'texts'),
    [
        ('mode', {'mode': Mode.OFF}, False, ['ceph rocksdb-tuner mode recommend']),
        (
            'manager-files',
            {'managers': (*healthy().managers, STANDBY)},
            False,
            ['available in mgr.y on node1:', 'systemctl restart ceph-mgr.target'],
        ),
        ('manager-files', {'managers': (replace(STANDBY, host=None),)}, False, ['in mgr.y:']),
        ('manager-files', {'managers': ()}, None, []),
        ('release', {'release': None}, False, []),
        (
            'release',
            {'osds': osds(facts(3)._replace(info=replace(info(3), release='reef')))},
            False,
            ['pacific, reef'],
        ),
        ('release', {'osds': osds(facts(3)._replace(options=None))}, None, ['by osd.3']),
        # Late after three intervals.
        ('sampling', {'sampling': sampled(30.0)}, True, []),
        ('sampling', {'sampling': sampled(30.1)}, False, []),
        ('sampling', {'sampling': sampled(None)}, None, []),
        (
            'sampling',
            {'osds': osds(facts(7)._replace(signals=None))},
            False,
            ['osd.7', 'mgr_stats_threshold'],
        ),
        ('sampling', {'osds': osds(facts(7)._replace(signals=None, info=DOWN))}, True, []),
        ('sampling', {'osds': (facts(7)._replace(signals=None, info=DOWN),)}, None, []),
        ('sampling', {'mode': Mode.OFF}, None, []),
        ('module', {'failing': (StepFailure('sampling', 'no counters', 0.0),)}, False, []),
        ('stored-data', {'notices': ('A key is quarantined.',)}, False, []),
        ('options', {'impossible': 'soak_min is above soak_max'}, False, []),
        (
            'statistics',
            {'osds': osds(facts(7)._replace(settings=STATISTICS_OFF))},
            False,
            ['1 OSD', *STATISTICS, 'restart the OSDs'],
        ),
        # An OSD would not start again.
        (
            'statistics',
            {'osds': osds(facts(8)._replace(settings={}, options=NO_START))},
            False,
            ['osd deep ID" for a single OSD'],
        ),
        ('statistics', {'osds': (facts(0)._replace(settings=None),)}, None, []),
    ],
)
def test_state_of_the_module_is_checked(
    check_id: str, changes: dict[str, Any], ok: Optional[bool], texts: list[str]
) -> None:
    check = found(check_id, replace(healthy(), **changes))
    assert check.ok is ok
    assert [text for text in texts if text not in f'{check.summary} {check.remedy}'] == []


@pytest.mark.parametrize(
    ('check_id', 'changes', 'ok', 'text'),
    [
        (
            'orchestrator',
            {'orchestrated': False, 'orchestrator_reason': 'Module not found'},
            False,
            'Module not found',
        ),
        ('orchestrator', {'orchestrated': None}, None, ''),
        ('metrics', {'metrics_url': None, 'metrics_enabled': False}, False, 'metrics true'),
        ('metrics', {'metrics_url': None}, False, 'ceph health detail'),
    ],
)
def test_environment_is_checked(
    check_id: str, changes: dict[str, Any], ok: Optional[bool], text: str
) -> None:
    check = found(check_id, environment=replace(HEALTHY, **changes))
    assert (check.ok, check.optional) == (ok, True)
    assert text in f'{check.summary} {check.remedy}'


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


def test_manager_host_is_read_from_its_files(tmp_path: Path) -> None:
    bare = manager_host({'modules': []}, tmp_path)
    assert bare == ManagerHost(dashboard_enabled=False, tab_installed=False)
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

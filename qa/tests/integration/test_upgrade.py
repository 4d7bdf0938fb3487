"""The module in clusters whose daemons run different releases, and through upgrades of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared_cluster import new_cluster

from harness import ClusterSpec
from harness.errors import CommandError
from harness.fault_injection import copy_module
from harness.releases import RELEASES, get_release
from module_client import ALTERNATE_2019, OPTION, ModuleClient

pytestmark = pytest.mark.integration

OLDEST = 'pacific'


def manager_files(tuner: ModuleClient) -> Any:
    """The check of `doctor` that names managers without the module."""
    return next(c for c in tuner.json('doctor', schema='doctor') if c['id'] == 'manager-files')


@pytest.fixture
def mixed() -> Iterator[ModuleClient]:
    """One OSD of each release under the monitors and managers of the oldest."""
    spec = ClusterSpec(release=OLDEST, osd_releases=tuple(RELEASES), mgrs=2)
    # Without clients there would be nothing to judge by.
    with new_cluster(spec, soak_max='0') as client:
        yield client


@pytest.mark.mixed
def test_each_osd_has_its_own_release_defaults_during_an_upgrade(
    mixed: ModuleClient,
) -> None:
    """Seen by a manager of the oldest release, then by one of the next; never advised on alike."""
    for manager in ('pacific', 'reef'):
        if manager != OLDEST:
            mixed.cluster.upgrade(get_release(manager), ['mon', 'mgr'])
        mixed.wait_for(
            lambda release=manager: (
                (s := mixed.status())['release'] == release  # type: ignore[misc]
                and s['sampling']['osds'] == 3
            ),
            60,
            f'all three measured by {manager}',
        )
        mixed.wait_for(
            lambda: all(o['options']['profile'] for o in mixed.osds()), 40, 'what each runs'
        )
        osds = mixed.osds()
        assert [o['options']['profile'] for o in osds] == [
            'bluestore-default-pacific', 'lz4-2025', 'lz4-2025',
        ]  # fmt: skip
        assert [o['options']['pending_restart'] for o in osds] == [False] * 3
        assert mixed.recommendations() == []
        assert 'different releases' in ' '.join(mixed.plain('recommend').split())
        mixed.restart_all()
    versions = mixed.cluster.ceph_json('osd', 'versions')
    assert len(versions) == 3, 'each was restarted as what it is'


@pytest.fixture
def own_module(release: str) -> Iterator[tuple[ModuleClient, Path]]:
    """A cluster with a copy of the module, which the test may change."""
    copy = copy_module(Path(tempfile.mkdtemp(prefix='tuner-module-')))
    try:
        spec = ClusterSpec(release=release, osds=3, mgrs=2, module=str(copy))
        # Nothing writes here that a verdict could be made of.
        with new_cluster(spec, soak_max='0') as client:
            yield client, copy
    finally:
        shutil.rmtree(copy.parent)


@pytest.mark.packaging
def test_module_survives_replacement_removal_and_return_of_its_files(
    own_module: tuple[ModuleClient, Path], release: str
) -> None:
    tuner, files = own_module
    cluster = tuner.cluster
    tuner.wait_for(lambda: tuner.status()['sampling']['osds'] == 3, 40, 'samples')
    cluster.ceph('config', 'set', 'osd.0', OPTION, ALTERNATE_2019)
    tuner.restart(0)
    kind = 'set-profile' if release == 'pacific' else 'remove-override'
    advice = tuner.wait_for_recommendation(kind)['id']
    tuner.plain('apply', advice)
    tuner.wait_for_phase('done')
    history = tuner.json('history', schema='history')

    # All files gone under the running manager: what it loaded goes on.
    aside = files.with_suffix('.aside')
    files.rename(aside)
    for words in ('status', 'osd', 'workload', 'findings', 'recommend', 'history'):
        assert tuner.plain(words)
    standby = cluster.ceph_json('mgr', 'dump')['standbys'][0]['name']
    cluster.stop_daemon(f'mgr.{standby}')
    cluster.start_daemon(f'mgr.{standby}')
    tuner.wait_for(
        lambda: not manager_files(tuner)['ok'],
        120,
        'the standby without the files to be found',
    )
    assert f'mgr.{standby}' in tuner.plain('status')

    # Back, and the other manager takes over: nothing that was stored is lost.
    aside.rename(files)
    cluster.stop_daemon(f'mgr.{standby}')
    cluster.start_daemon(f'mgr.{standby}')
    tuner.wait_for(lambda: manager_files(tuner)['ok'] is True, 120, 'both have it')
    cluster.ceph('mgr', 'module', 'disable', 'rocksdb_tuner')
    cluster.ceph('mgr', 'module', 'enable', 'rocksdb_tuner')

    def answers() -> bool:
        # A command sent to respawning managers may never be answered
        try:
            cluster.ceph('rocksdb-tuner', 'status', timeout_s=15)
        except CommandError:
            return False
        return True

    assert tuner.wait_for(answers, 120, 'an answer after disable and enable')
    assert tuner.wait_for(lambda: tuner.json('history', schema='history'), 30, 'history') == history


@pytest.mark.packaging
def test_state_of_a_newer_version_is_kept_and_not_acted_on(
    own_module: tuple[ModuleClient, Path],
) -> None:
    """After a downgrade the state of a newer module is quarantined as a whole and reported."""
    tuner, _ = own_module
    cluster = tuner.cluster
    newer = '{"version": 999, "made_by": "a later module"}'
    cluster.ceph('config-key', 'set', 'mgr/rocksdb_tuner/rollout/current', newer)
    cluster.ceph('mgr', 'fail', tuner.active_manager())
    tuner.wait_for(
        lambda: 'ROCKSDB_TUNER_STATE_BROKEN' in cluster.ceph_json('health')['checks'],
        90,
        'the health check',
    )
    kept = [
        cluster.ceph('config-key', 'get', key).strip()
        for key in cluster.ceph_json('config-key', 'ls')
        if key.startswith('mgr/rocksdb_tuner/')
    ]
    assert newer in kept
    assert tuner.status()['operation'] is None

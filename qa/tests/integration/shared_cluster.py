"""One cluster of three OSDs and two managers, for all files of tests that leave it usable.

Each file finds it as a new one: what others have set is removed, what they have stopped is started,
and a manager takes over that knows nothing of them. What they have written to pools stays.
`new_cluster` is for files with needs of their own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import Cluster, ClusterSpec, Progress
from harness.client import wait_until
from harness.fault_injection import copy_module_with_hold
from module_client import OPTION, ModuleClient

MODULE_OPTIONS = 'mgr/rocksdb_tuner/'


@contextmanager
def new_cluster(
    spec: ClusterSpec, *, often: bool = False, **module_options: str
) -> Iterator[ModuleClient]:
    """A cluster of this specification, and options of the module, which samples every 5 s.

    ``often``: OSDs report every second, and are sampled every other: rollouts wait for both.
    """
    # Not pytest's own folder for files: other runs of pytest clean that up
    with Cluster.up(spec, tempfile.mkdtemp(prefix='tuner-'), Progress()) as made:
        if often:
            made.ceph('config', 'set', 'mgr', 'mgr_stats_period', '1')
        options = {'sample_interval': '2' if often else '5', **module_options}
        for name, value in options.items():
            made.ceph('config', 'set', 'mgr', f'{MODULE_OPTIONS}{name}', value)
        yield ModuleClient(made)


@pytest.fixture(scope='session')
def shared_cluster(release: str) -> Iterator[Cluster]:
    copy = copy_module_with_hold(Path(tempfile.mkdtemp(prefix='tuner-module-')))
    try:
        spec = ClusterSpec(release=release, osds=3, mgrs=2, module=str(copy))
        # Without options: the first file finds nothing to remove
        with Cluster.up(spec, tempfile.mkdtemp(prefix='tuner-shared-'), Progress()) as made:
            yield made
    finally:
        shutil.rmtree(copy.parent)


@pytest.fixture(scope='module')
def cluster(shared_cluster: Cluster) -> Cluster:
    """Files with a need of their own have a fixture of this name."""
    _reset(shared_cluster)
    shared_cluster.ceph('config', 'set', 'mgr', f'{MODULE_OPTIONS}sample_interval', '5')
    return shared_cluster


@pytest.fixture(scope='module')
def tuner(cluster: Cluster) -> ModuleClient:
    """When the module has sampled all OSDs."""
    client = ModuleClient(cluster)
    count = cluster.record.spec.osds
    client.wait_for(lambda: client.status()['sampling']['osds'] == count, 60, 'samples of all OSDs')
    return client


def _reset(cluster: Cluster) -> None:
    used = [
        entry
        for entry in cluster.ceph_json('config', 'dump')
        if entry['name'].startswith((MODULE_OPTIONS, OPTION))
    ]
    for entry in used:
        who = '/'.join(filter(None, (entry['section'], entry['mask'])))
        cluster.ceph('config', 'rm', who, entry['name'])
    for daemon in cluster.status().daemons:
        if not daemon.up:
            cluster.start_daemon(daemon.name)
    if used:
        # It would know of the files before
        cluster.ceph('mgr', 'fail')
        wait_until(lambda: _has_standby(cluster), 60, 'both managers are there again')


def _has_standby(cluster: Cluster) -> bool:
    managers = cluster.ceph_json('mgr', 'dump')
    return bool(managers['available'] and managers['standbys'])

"""Experiments by their commands on a real cluster: plan, refusals, start, pause and abort.

The module is a copy that is content with less data, so that a plan is possible within minutes. Its
commands are the module's own. OSDs have small memtables, since a block covers three flushes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import Cluster, ClusterSpec, Progress
from harness.layout import CHECKOUT
from harness.workloads.rbd import POOL
from module_client import OPTION, ModuleClient
from real_workload import run_workload

pytestmark = [pytest.mark.integration, pytest.mark.experiment]

GROUP = 'osd/class:ssd'
#: Blocks that a plan needs, and an unsafe share that is detected on a machine of any load.
LEAST_HISTORY_BLOCKS, UNSAFE = 4, 1e6
SMALL = (
    'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
    'write_buffer_size=1048576,writable_file_max_buffer_size=0,compaction_readahead_size=2097152,'
    'max_background_jobs=2,max_total_wal_size=1073741824'
)
#: By profile. Both fill their memtables within seconds.
ARMS = {
    'packed': SMALL.replace('kNoCompression', 'kLZ4Compression'),
    'wider': SMALL.replace('write_buffer_size=1048576', 'write_buffer_size=2097152'),
}
MODULE_OPTIONS = {'sample_interval': '5', 'soak_min': '30'}
#: Bytes are less noisy than times.
SIGNAL, SIGNAL_TITLE = 'db_bytes_per_txn', 'DB bytes written per write'
PLAN_ARGS = ('--arms', 'packed', '--signal', SIGNAL, '--min-effect', '50')


def impatient_module(folder: Path) -> Path:
    """The module with other data in `knowledge/experiments.json`."""
    module = folder / 'rocksdb_tuner'
    shutil.copytree(
        CHECKOUT / 'src/pybind/mgr/rocksdb_tuner',
        module,
        ignore=shutil.ignore_patterns('tests', '__pycache__'),
    )
    path = module / 'knowledge/experiments.json'
    document = json.loads(path.read_text())
    changes = {'least_history_blocks': LEAST_HISTORY_BLOCKS, 'unsafe': UNSAFE}
    for entry in document['experiments']:
        entry['value'] = changes.get(entry['name'], entry['value'])
    path.write_text(json.dumps(document))
    return module


def spread_evenly(cluster: Cluster) -> None:
    """Many placement groups: OSDs of a plan must be under similar load."""
    cluster.ceph('osd', 'pool', 'create', POOL, '256', '256')
    cluster.ceph('osd', 'pool', 'application', 'enable', POOL, 'rbd')


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    """Eight OSDs that run small memtables, and two custom profiles."""
    with tempfile.TemporaryDirectory(prefix='tuner-experiment-') as directory:
        module = impatient_module(Path(directory))
        spec = ClusterSpec(release=release, osds=8, mgrs=1, module=str(module))
        with Cluster.up(spec, str(Path(directory) / 'cluster'), Progress()) as cluster:
            for option, value in MODULE_OPTIONS.items():
                cluster.ceph('config', 'set', 'mgr', f'mgr/rocksdb_tuner/{option}', value)
            cluster.ceph('config', 'set', 'osd', OPTION, SMALL)
            spread_evenly(cluster)
            found = ModuleClient(cluster)
            found.restart_all()
            for name, options in ARMS.items():
                document = {
                    'name': name,
                    'title': f'Small memtables, {name}',
                    'options': options,
                    'releases': [release],
                    'source': 'this test',
                }
                add = ('rocksdb-tuner', 'profile', 'add', '-i', '-')
                cluster.ceph(*add, stdin=json.dumps(document))
            yield found


@contextlib.contextmanager
def steady_writes(cluster: Cluster) -> Iterator[None]:
    """Writes to all OSDs alike, with cores left for the OSDs."""
    running = run_workload(cluster, 'rbd-randwrite', 1500, '--rate-iops', '300')
    try:
        yield
    finally:
        running.terminate()
        running.wait(60)


@pytest.fixture(scope='module')
def client(tuner: ModuleClient) -> Iterator[None]:
    with steady_writes(tuner.cluster):
        yield


def plan(tuner: ModuleClient, *arguments: str) -> Any:
    return tuner.json('experiment', 'plan', *arguments, schema='experiment-plan')


def possible_plan(tuner: ModuleClient) -> Any:
    """None while the history is too short or no plan is possible."""
    if tuner.answer(('experiment', 'plan', *PLAN_ARGS))[0]:
        return None
    found = plan(tuner, *PLAN_ARGS)
    return found if found['refusal'] is None else None


def status(tuner: ModuleClient) -> Any:
    return tuner.json('operation', 'status', schema='operation')


def test_impossible_plans_are_refused_by_name(tuner: ModuleClient) -> None:
    """Each error has the invalid value, and the valid form."""
    assert status(tuner) is None
    for arguments, code, text in (
        (('--arms', 'nonesuch'), errno.ENOENT, 'unknown profile "nonesuch" in --arms'),
        (('--who', 'osd/class:hdd'), errno.ENOENT, f'no group "osd/class:hdd"; groups: {GROUP}'),
        (('--min-effect', 'much'), errno.EINVAL, 'invalid --min-effect "much"'),
        (('--max-duration', '3w'), errno.EINVAL, 'invalid --max-duration "3w"'),
        (('--arms', 'packed', '--signal', 'slow_ops'), errno.EINVAL, 'signals: op_w_latency_ms'),
        (('--arms', 'packed,packed'), errno.EINVAL, 'it is equivalent to "packed"'),
    ):
        found, error = tuner.refused('experiment', 'plan', *arguments)
        assert found == code, error
        assert text in error
    for command in ('pause', 'resume', 'abort'):
        assert 'under way' in tuner.refused('operation', command)[1]


@pytest.mark.usefixtures('client')
def test_experiment_is_planned_started_paused_and_aborted(tuner: ModuleClient) -> None:
    """Nothing is changed by a dry run, and nothing is left by an abort."""
    code, error = tuner.answer(('experiment', 'plan', *PLAN_ARGS))
    if code:
        assert code == errno.EAGAIN, error
        assert 'try again in' in error
    # OSDs that just started are too noisy at first.
    planned = tuner.wait_for(lambda: possible_plan(tuner), 900, 'a plan', every_s=10)
    assert len(planned['arms'][0]['osds']) == 2
    assert len(planned['controls']) >= 2
    assert planned['restarts'] == 4
    # Larger memtables need longer blocks, and so a longer history
    refused = tuner.wait_for(
        lambda: (
            None
            if tuner.answer(('experiment', 'plan', '--arms', 'packed,wider'))[0] == errno.EAGAIN
            else plan(tuner, '--arms', 'packed,wider')
        ),
        900,
        'a history for longer blocks',
        every_s=10,
    )
    assert refused['refusal']['osds'] == 16
    start = ('experiment', 'start', '--arms', 'packed,wider')
    assert 'not possible here' in tuner.refused(*start)[1]
    before = tuner.entries(), tuner.nonces()
    dry = tuner.json('experiment', 'start', *PLAN_ARGS, '--dry-run', schema='experiment-plan')
    assert dry['phase'] == 'planned'
    assert status(tuner) is None
    started = tuner.json('experiment', 'start', *PLAN_ARGS, schema='operation')
    assert started['id'].startswith('E')
    assert 'under way' in tuner.refused('experiment', 'start', *PLAN_ARGS)[1]
    tuner.wait_for(lambda: status(tuner)['phase'] == 'baseline', 60, 'the baseline')
    paused = tuner.json('operation', 'pause', schema='operation')
    assert paused['phase'] == 'waiting'
    assert tuner.json('operation', 'resume', schema='operation')['phase'] != 'waiting'
    tuner.json('operation', 'abort', schema='operation')
    ended = tuner.wait_for(
        lambda: (found := status(tuner))['outcome'] and found, 120, 'the end of the experiment'
    )
    assert (ended['phase'], ended['outcome'], ended['winner']) == ('aborted', 'aborted', None)
    assert (tuner.entries(), tuner.nonces()) == before
    assert status(tuner) == ended
    record = tuner.json('history', schema='history')[-1]
    assert (record['id'], record['outcome']) == (started['id'], 'aborted')
    assert 'Experiment' in tuner.plain('operation', 'status')

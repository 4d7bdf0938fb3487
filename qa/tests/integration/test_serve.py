"""The serve thread of a real manager: readers do not block it, and a change names its actor."""

from __future__ import annotations

import errno
import tempfile
import threading
import time
from collections.abc import Iterator

import pytest

from harness import Cluster, ClusterSpec, Progress
from module_client import OPTION, ModuleClient

pytestmark = pytest.mark.integration

READERS = 4


@pytest.fixture(scope='module')
def cluster(release: str) -> Iterator[Cluster]:
    directory = tempfile.mkdtemp(prefix='tuner-serve-')
    with Cluster.up(ClusterSpec(release=release, osds=1), directory, Progress()) as cluster:
        cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', '5')
        cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/soak_max', '0')
        yield cluster


@pytest.fixture(scope='module')
def tuner(cluster: Cluster) -> ModuleClient:
    return ModuleClient(cluster)


def test_slow_report_readers_block_neither_samples_nor_changes(tuner: ModuleClient) -> None:
    tuner.wait_for(lambda: tuner.status()['sampling']['osds'] == 1, 60, 'a sample')
    stop = threading.Event()
    read = [0] * READERS

    def loop(number: int) -> None:
        while not stop.is_set():
            assert tuner.answer(('report',))[0] == 0
            read[number] += 1

    threads = [threading.Thread(target=loop, args=(n,)) for n in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        until_s = time.monotonic() + 20
        while time.monotonic() < until_s:
            assert tuner.status()['sampling']['last_sample_age_s'] < 15
            assert tuner.answer(('operation', 'pause'))[0] == errno.ENOENT
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert min(read) >= 1


def test_history_names_the_client_that_sent_apply(tuner: ModuleClient) -> None:
    cluster = tuner.cluster
    keyring = cluster.layout.run_dir / 'alice.keyring'
    caps = ('mon', 'allow r', 'mgr', 'allow rw')
    keyring.write_text(cluster.ceph('auth', 'get-or-create', 'client.alice', *caps) + '\n')
    cluster.ceph('config', 'set', 'osd', OPTION, tuner.running(0)[0])
    recommendation = tuner.wait_for_recommendation('remove-override')
    who = ('ceph', '-n', 'client.alice', '-k', str(keyring), 'rocksdb-tuner')
    cluster.client.run(*who, 'apply', recommendation['id'])
    tuner.wait_for(
        lambda: (h := tuner.json('history', schema='history')) and h[0]['actor'] == 'client.alice',
        60,
        'the name of the client',
    )
    assert tuner.wait_for_phase('done', 'failed')['phase'] == 'done'
    assert tuner.json('history', schema='history')[0]['actor'] == 'client.alice'

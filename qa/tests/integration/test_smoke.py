"""The main job in short: start, measure, recognize, apply to one OSD, verify, undo."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shared_cluster import new_cluster

from announced import assert_announced, watched_rollout
from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from real_workload import recognized_during

pytestmark = [pytest.mark.integration, pytest.mark.smoke]


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    spec = ClusterSpec(release=release, osds=3, osd_conf=DEFAULT_MEMORY)
    # Without clients there would be nothing to judge by.
    with new_cluster(spec, often=True, soak_max='0') as client:
        yield client


def test_module_samples_and_names_its_release(tuner: ModuleClient, release: str) -> None:
    status = tuner.wait_for(
        lambda: (s := tuner.status())['sampling']['osds'] == 3 and s, 60, 'samples of all OSDs'
    )
    assert status['release'] == release
    assert status['findings'] == {'error': 0, 'warning': 0, 'info': 0}


def test_strings_are_checked_for_the_rocksdb_of_the_osds(tuner: ModuleClient, release: str) -> None:
    """With the words as an operator types them, equals signs, commas and all."""
    fine = tuner.json('check', 'compression=kLZ4Compression,max_total_wal_size=1G', schema='check')
    assert (fine['accepted'], fine['release']) == (True, release)
    assert fine['effective']['max_total_wal_size'] == str(1 << 30)
    doomed = tuner.json('check', 'compression=kZSTD', '--release', 'reef', schema='check')
    assert (doomed['accepted'], doomed['release']) == (False, 'reef')
    assert 'NO' in tuner.plain('check', 'no_such_option=1')
    assert tuner.json('explain', 'write_buffer_size', schema='explain')['unit'] == 'bytes'
    code, text = tuner.refused('explain', 'no_such_option')
    assert (code, 'no_such_option' in text) == (2, True)


def test_stale_override_of_one_osd_is_replaced_and_restored(tuner: ModuleClient) -> None:
    assert tuner.running(1)[1] == 'default'
    tuner.cluster.ceph('config', 'set', 'osd.1', OPTION, ALTERNATE_2019)
    tuner.restart(1)
    tuner.wait_for_clean()
    recommendation, wanted = tuner.wait_for_successor(1, timeout_s=90)
    assert recommendation['who'] == 'osd.1'
    nonces = tuner.nonces()
    tuner.plain('apply', recommendation['id'])
    state, announced = watched_rollout(tuner)
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    assert_announced(tuner, state, announced)
    assert tuner.entries() == wanted
    assert tuner.running(1)[0] == recommendation['options_to']
    assert {i for i, nonce in tuner.nonces().items() if nonce != nonces[i]} == {1}
    tuner.plain('rollback')
    assert tuner.wait_for_phase('rolled-back', 'failed')['phase'] == 'rolled-back'
    assert tuner.entries() == [('osd.1', '', ALTERNATE_2019)]
    assert tuner.running(1) == (ALTERNATE_2019, 'mon')
    tuner.remove_entries()


def test_rbd_writes_are_classified_and_measured(tuner: ModuleClient) -> None:
    for osd in recognized_during(tuner, 'rbd-randwrite', 'rbd-small-write', 50):
        assert osd['kv_sync_ms'] > 0
        assert osd['wal_bytes_per_s'] > 0
        assert osd['db_used_bytes'] > 0

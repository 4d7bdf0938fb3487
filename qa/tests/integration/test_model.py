"""`model` and `profile derive` on a real cluster agree with the behavior of an OSD."""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Iterator

import pytest

from harness import Cluster, ClusterSpec, Progress
from harness.services import make_pools
from module_client import OPTION, ModuleClient

pytestmark = [pytest.mark.integration]

DB_SIZE_BYTES = 4 << 30
#: No limit of the WAL, and memtables that are met within seconds.
RUNNING = 'compression=kNoCompression,write_buffer_size=262144,max_write_buffer_number=2'
LZ4_2025 = (
    'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6,'
    'write_buffer_size=16777216,max_background_jobs=4,level0_file_num_compaction_trigger=8,'
    'max_bytes_for_level_base=1073741824,max_bytes_for_level_multiplier=8,'
    'max_total_wal_size=1073741824'
)
#: Its onode keeps the oldest WAL file, and fills no memtable. Python of the machine, with rados.
KEYS_OF_ONE_OBJECT = """
import os, rados, time
with rados.Rados(conffile=os.environ['CEPH_CONF']) as cluster, cluster.open_ioctx('load') as ioctx:
    until_s, pending = time.monotonic() + 8, []
    while time.monotonic() < until_s:
        keys = tuple(os.urandom(20).hex() for _ in range(1000))
        with rados.WriteOpCtx() as operation:
            ioctx.set_omap(operation, keys, tuple(os.urandom(150) for _ in keys))
            pending.append(ioctx.operate_aio_write_op(operation, 'index'))
        if len(pending) > 4:
            pending.pop(0).wait_for_complete()
    for completion in pending:
        completion.wait_for_complete()
"""


@pytest.fixture(scope='module')
def cluster(release: str) -> Iterator[Cluster]:
    directory = tempfile.mkdtemp(prefix='tuner-model-')
    spec = ClusterSpec(release=release, osds=1, db_size_bytes=DB_SIZE_BYTES, few_mgr_modules=True)
    with Cluster.up(spec, directory, Progress()) as cluster:
        cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', '5')
        cluster.ceph('config', 'set', 'osd', OPTION, RUNNING)
        cluster.ceph('orch', 'daemon', 'restart', 'osd.0')
        tuner = ModuleClient(cluster)
        tuner.wait_for(lambda: tuner.running(0)[0] == RUNNING, 60, 'the OSD with its options')
        tuner.wait_for(tuner.osds, 60, 'the OSD to be known')
        yield cluster


@pytest.fixture(scope='module')
def tuner(cluster: Cluster) -> ModuleClient:
    return ModuleClient(cluster)


def test_osd_is_modeled_with_its_release_devices_and_memory(
    tuner: ModuleClient, release: str
) -> None:
    found = tuner.json('model', LZ4_2025, '--osd', 'osd.0', schema='model')
    assert (found['osd'], found['release']) == (0, release)
    assert found['inputs']['dedicated_db'] is True
    assert found['inputs']['db_device_bytes'] == pytest.approx(DB_SIZE_BYTES, rel=0.01)
    # Level 0 and level 1 of 1 GiB fit into 95% of it, level 2 of 8 GiB does not.
    assert found['db_device']['last_level'] == 1
    assert found['wal']['limit_bytes'] == 1 << 30
    text = tuner.plain('model', LZ4_2025, '--osd', '0')
    assert re.search(r'Last level: +1\n +Levels: +2 GiB\n', text)


def test_imagined_osd_uses_the_overrides_of_the_operator(tuner: ModuleClient) -> None:
    words = (
        '--release', 'reef', '--workload', 'rgw-metadata', '--cores', '4', '--db-size', '60G',
        '--wal-size', '2G', '--memory', '8G', '--data', '40G', '--ingest', '20M',
        '--key-size', '250', '--cfs', 'm(3) O(3,0-13)=block_cache={type=binned_lru} P',
    )  # fmt: skip
    found = tuner.json('model', LZ4_2025, *words, schema='model')
    assert (found['osd'], found['release']) == (None, 'reef')
    assert [c['column'] for c in found['column_families']] == ['default', 'm', 'O', 'P']
    assert found['memtables']['memory_target_bytes'] == 8 << 30
    assert found['wal']['device_total_bytes'] == 2 << 30
    assert found['wal']['fits_device'] is True
    write = found['write_amplification']
    assert 1 < write['low'] <= write['value'] <= write['high']
    assert 'Write amplification:' in tuner.plain('model', LZ4_2025, *words, '--all')


def test_empty_string_gets_the_defaults_of_rocksdb(tuner: ModuleClient) -> None:
    found = tuner.json('model', '', schema='model')
    assert found['profile'] == 'rocksdb-default'
    assert found['wal']['limited_by'] == 'memtables'


@pytest.mark.parametrize(
    ('words', 'code', 'named'),
    [
        (('model', 'no_such_option=1'), errno.EINVAL, 'no_such_option'),
        (
            ('model', 'compaction_style=kCompactionStyleUniversal'),
            errno.EINVAL,
            'CompactionStyleLevel',
        ),
        (('model', LZ4_2025, '--osd', '9'), errno.ENOENT, 'osd.9 does not exist'),
        (('model', LZ4_2025, '--osd', 'x'), errno.EINVAL, 'invalid OSD id "x"'),
        (('model', LZ4_2025, '--db-size', '60x'), errno.EINVAL, 'db-size: "60x" is not a size'),
        (('model', LZ4_2025, '--cfs', 'm(0'), errno.EINVAL, 'cfs: at character 3'),
        (('model', LZ4_2025, '--format', 'xml'), errno.EINVAL, 'invalid format "xml"'),
        (('profile', 'derive', '--memory', '4'), errno.EINVAL, 'memory must be 896M'),
        (('profile', 'derive', '--workload', 'x'), errno.EINVAL, 'x not in idle|rbd-small-write'),
        (('profile', 'derive', '--release', 'x'), errno.EINVAL, 'unknown release "x"'),
        (('profile', 'derive', '--cores', '0'), errno.EINVAL, 'cores must be 1 to 1024'),
    ],
)
def test_bad_input_is_refused_by_name(
    tuner: ModuleClient, words: tuple[str, ...], code: int, named: str
) -> None:
    found, text = tuner.refused(*words)
    assert (found, named in text) == (code, True), text


def test_rocksdb_without_a_wal_limit_uses_the_modeled_one(
    cluster: Cluster, tuner: ModuleClient
) -> None:
    """RocksDB names its limit in its log when the WAL meets it: 8 x 12 x 2 x 256 KiB."""
    expected = tuner.json('model', RUNNING, '--osd', '0', schema='model')['wal']['limit_bytes']
    assert expected == 8 * 12 * 2 * 262144
    make_pools(cluster.client, cluster.record.spec, ('load',), 'rbd', pg_num=8)
    log = cluster.host.outside(cluster.layout.log('osd.0'))

    def limits() -> list[int]:
        found = re.findall(r'while max_total_wal_size is (\d+)', log.read_text(errors='replace'))
        return [int(number) for number in found]

    def loaded() -> list[int]:
        cluster.client.run('/usr/bin/python3', '-B', '-', stdin=KEYS_OF_ONE_OBJECT, timeout_s=60)
        return limits()

    assert set(tuner.wait_for(loaded, 40, 'the WAL to meet its limit')) == {expected}


def test_osd_runs_with_its_derived_options(cluster: Cluster, tuner: ModuleClient) -> None:
    derived = tuner.json('profile', 'derive', '--osd', '0', schema='profile-derive')
    options = derived['options']
    assert [c['option'] for c in derived['choices']] == [
        pair.partition('=')[0] for pair in options.split(',')
    ]
    assert tuner.json('check', options, schema='check')['accepted'] is True
    # What is derived is modeled to fit the device that it was derived for.
    modeled = tuner.json('model', options, '--osd', '0', schema='model')
    assert modeled['wal']['fits_device'] is True
    # The rules of check have nothing against the later default on this device.
    assert derived['equals'] == 'lz4-2025'
    assert 'Choices:' in tuner.plain('profile', 'derive', '--osd', '0')
    cluster.ceph('config', 'set', 'osd', OPTION, options)
    cluster.ceph('orch', 'daemon', 'restart', 'osd.0')
    tuner.wait_for(lambda: tuner.running(0)[0] == options, 60, 'the OSD with the derived options')

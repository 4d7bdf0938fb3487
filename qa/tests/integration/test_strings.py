"""What one OSD makes of option strings, and what the module says of them before.

`model` and `profile derive` agree with the OSD; then it is stopped and started with string after
string, of which its log has the result. The tests share the OSD and run in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from shared_cluster import new_cluster

from harness import Cluster, ClusterSpec, HarnessError
from harness.services import make_pools
from module_client import OPTION, ModuleClient
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.syntax import combine

pytestmark = pytest.mark.integration

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
ANNEX = f'{OPTION}_annex'
VERSIONS = {'pacific': '6.8', 'reef': '7.9', 'tentacle': '7.9'}
PUBLISHED = (
    'compression=kNoCompression,max_write_buffer_number=128,min_write_buffer_number_to_merge=16,'
    'write_buffer_size=8388608,max_background_jobs=4,level0_file_num_compaction_trigger=8,'
    'max_bytes_for_level_base=1073741824,max_total_wal_size=1073741824'
)
OPENED = re.compile(r'_open_db opened rocksdb path \S+ options (.*)')
FAILED = re.compile(r'osd init failed|unable to mount object store|FAILED ceph_assert')
EFFECTIVE = re.compile(r'rocksdb:\s+Options\.([a-z0-9_]+)\s*: ?(.*)')

#: Option string, annex; the module predicts whether the OSD starts.
STARTS = [
    (PUBLISHED, ''),
    ('max_write_buffer_number=4,min_write_buffer_number_to_merge=16,write_buffer_size=4.5G', ''),
    ('write_buffer_size=1M,ttl=60', 'ttl=7,max_write_buffer_number=5'),
    ('write_buffer_size=1M,', 'ttl=7'),
    ('write_buffer_size=1M;', 'ttl=7'),
    ('write_buffer_size=1M', ',ttl=7'),
    ('write_buffer_size=1M,,', ''),
    ('compaction_style=kCompactionStyleFIFO', ''),
    ('compression=kZSTD', ''),
    ('disable_auto_compactions=true', 'disable_auto_compactions=false'),
]


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    spec = ClusterSpec(release=release, osds=1, db_size_bytes=DB_SIZE_BYTES, few_mgr_modules=True)
    with new_cluster(spec) as client:
        client.cluster.ceph('config', 'set', 'osd', OPTION, RUNNING)
        client.cluster.ceph('orch', 'daemon', 'restart', 'osd.0')
        client.wait_for(lambda: client.running(0)[0] == RUNNING, 60, 'the OSD with its options')
        client.wait_for(client.osds, 60, 'the OSD to be known')
        yield client


def log_of(cluster: Cluster) -> str:
    return cluster.host.outside(cluster.layout.log('osd.0')).read_text(errors='replace')


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


def test_rocksdb_without_a_wal_limit_uses_the_modeled_one(tuner: ModuleClient) -> None:
    """RocksDB names its limit in its log when the WAL meets it: 8 x 12 x 2 x 256 KiB."""
    cluster = tuner.cluster
    expected = tuner.json('model', RUNNING, '--osd', '0', schema='model')['wal']['limit_bytes']
    assert expected == 8 * 12 * 2 * 262144
    make_pools(cluster.client, cluster.record.spec, ('load',), 'rbd', pg_num=8)

    def loaded() -> list[int]:
        cluster.client.run('/usr/bin/python3', '-B', '-', stdin=KEYS_OF_ONE_OBJECT, timeout_s=60)
        found = re.findall(r'while max_total_wal_size is (\d+)', log_of(cluster))
        return [int(number) for number in found]

    assert set(tuner.wait_for(loaded, 40, 'the WAL to meet its limit')) == {expected}


def test_osd_runs_with_its_derived_options(tuner: ModuleClient) -> None:
    ceph = tuner.cluster.ceph
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
    ceph('config', 'set', 'osd', OPTION, options)
    ceph('orch', 'daemon', 'restart', 'osd.0')
    tuner.wait_for(lambda: tuner.running(0)[0] == options, 60, 'the OSD with the derived options')


def start_with(tuner: ModuleClient, main: str, annex: str) -> tuple[bool, str]:
    """Whether osd.0 starts with the two, and the log of that start."""
    cluster = tuner.cluster
    if any(d.up for d in cluster.status().daemons if d.name == 'osd.0'):
        cluster.stop_daemon('osd.0')
    seen = len(log_of(cluster))
    for name, value in ((OPTION, main), (ANNEX, annex)):
        cluster.ceph('config', 'set', 'osd.0', name, value)
    try:
        cluster.start_daemon('osd.0')
    except HarnessError:
        return False, log_of(cluster)[seen:]
    found = tuner.wait_for(
        lambda: FAILED.search(log_of(cluster)[seen:]) or OPENED.search(log_of(cluster)[seen:]),
        60,
        'osd.0 opened its database or gave up',
    )
    return found.re is OPENED, log_of(cluster)[seen:]


@pytest.mark.parametrize(('main', 'annex'), STARTS)
def test_osds_start_and_run_as_check_predicts(
    tuner: ModuleClient, release: str, main: str, annex: str
) -> None:
    """Also each value that the OSD prints of its column family "default"."""
    text = combine(main, annex)
    predicted = check(text, VERSIONS[release])
    started, log = start_with(tuner, main, annex)
    assert started is predicted.accepted
    if not started:
        return
    opened = OPENED.search(log)
    assert opened is not None
    assert opened[1] == text
    printed: dict[str, str] = {}
    for name, value in EFFECTIVE.findall(log):
        printed.setdefault(name, value.strip())
    numbers = {
        name: value
        for name, value in predicted.effective.items()
        # BlueStore sets these three itself; other forms are the oracle's affair.
        if value.isdigit() and name in printed
    }
    assert len(numbers) > 40
    assert {name: printed[name] for name in numbers} == numbers


def test_check_includes_the_annex_of_the_osd(tuner: ModuleClient) -> None:
    started, _ = start_with(tuner, PUBLISHED, 'ttl=7')
    assert started
    tuner.wait_for(lambda: tuner.osd_up(0), 60, 'osd.0 up')

    def judged() -> Any:
        answer = tuner.json('check', 'ttl=60', '--osd', '0', schema='check')
        return answer if answer['releases'][0]['annex'] == 'ttl=7' else None

    found = tuner.wait_for(judged, 60, 'the annex known')
    assert found['effective']['ttl'] == '7'
    assert found['releases'][0]['osds'] == [0]
    assert 'column families' in ' '.join(found['assumptions'])


def test_custom_profile_is_stored_compared_and_removed(tuner: ModuleClient) -> None:
    cluster = tuner.cluster
    document = {
        'name': 'ours',
        'title': 'Ours',
        'options': 'write_buffer_size=16MB,max_total_wal_size=1G',
        'releases': ['pacific', 'reef'],
        'source': 'A test',
    }
    cluster.ceph('rocksdb-tuner', 'profile', 'add', '-i', '-', stdin=json.dumps(document))
    listed = tuner.json('profile', 'ls', schema='profile-ls')
    assert [p['name'] for p in listed if p['own']] == ['ours']
    # The OSD may have been restarted just now.

    def runs() -> bool:
        running = tuner.json('osd', '0', schema='osd-detail')['options']['running']
        return 'write_buffer_size=8388608' in (running or '')

    tuner.wait_for(runs, 60, 'what osd.0 runs')
    changes = tuner.json('profile', 'diff', 'ours', '--osd', '0', schema='profile-diff')['changes']
    of_buffers = next(c for c in changes if c['option'] == 'write_buffer_size')
    assert (of_buffers['effective_from'], of_buffers['effective_to']) == ('8388608', '16777216')
    assert of_buffers['meaning']
    assert 'compression' in tuner.plain('profile', 'diff', 'ours', 'lz4-2025', '--all')
    code, message = tuner.refused('profile', 'rm', 'lz4-2025')
    assert (code, 'built-in' in message) == (1, True)
    # A manager that takes over has it.
    cluster.ceph('mgr', 'fail')
    tuner.wait_for(
        lambda: 'ours' in tuner.plain('profile', 'ls'), 60, 'the profile after a failover'
    )
    cluster.ceph('rocksdb-tuner', 'profile', 'rm', 'ours')
    assert not [p for p in tuner.json('profile', 'ls', schema='profile-ls') if p['own']]

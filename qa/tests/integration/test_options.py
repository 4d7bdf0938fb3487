"""Effects of option strings that need an OSD with data, compared with the module's answers.

One OSD is stopped and started with string after string; its log has the result of each. The tests
share it and run in order.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from harness import Cluster, ClusterSpec, HarnessError, Progress
from module_client import OPTION, ModuleClient
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.syntax import combine

pytestmark = pytest.mark.integration

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
def cluster(release: str) -> Iterator[Cluster]:
    # Not pytest's own folder for files: other runs of pytest clean that up.
    directory = tempfile.mkdtemp(prefix='tuner-')
    spec = ClusterSpec(release=release, osds=1, few_mgr_modules=True)
    with Cluster.up(spec, directory, Progress()) as cluster:
        cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', '5')
        yield cluster


@pytest.fixture(scope='module')
def tuner(cluster: Cluster) -> ModuleClient:
    return ModuleClient(cluster)


def log_of(cluster: Cluster) -> str:
    return cluster.host.outside(cluster.layout.log('osd.0')).read_text(errors='replace')


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

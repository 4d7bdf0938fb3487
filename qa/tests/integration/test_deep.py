"""RocksDB's own statistics of a real OSD on request; the settings for it are restored."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import struct
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness import Cluster
from harness.fault_injection import held
from module_client import ModuleClient

pytestmark = pytest.mark.integration

OPTIONS = (
    'rocksdb_perf',
    'rocksdb_collect_compaction_stats',
    'rocksdb_collect_extended_stats',
    'rocksdb_collect_memory_stats',
)
NOTES = 'mgr/rocksdb_tuner/deep/osd.'
STATS_COMMAND = 'dump_objectstore_kv_stats'


def ask(cluster: Cluster, osd: int, **command: object) -> Any:
    """One command through the OSD's admin socket, in a millisecond."""
    with socket.socket(socket.AF_UNIX) as asok:
        asok.connect(str(cluster.layout.run_dir / f'osd.{osd}.asok'))
        asok.sendall(json.dumps({**command, 'format': 'json'}).encode() + b'\0')
        (length,) = struct.unpack('>I', read(asok, 4))
        return json.loads(read(asok, length))


def read(asok: socket.socket, length: int) -> bytes:
    found = b''
    while len(found) < length:
        part = asok.recv(length - len(found))
        assert part, 'the OSD closed its admin socket'
        found += part
    return found


def overrides(cluster: Cluster, osd: int) -> dict[str, bool]:
    """The settings in the process of the OSD itself."""
    changed = ask(cluster, osd, prefix='config diff')['diff']
    return {n: changed[n]['override'] for n in OPTIONS if 'override' in changed.get(n, {})}


def notes(cluster: Cluster) -> list[str]:
    return [key for key in cluster.ceph_json('config-key', 'ls') if key.startswith(NOTES)]


def looked(tuner: ModuleClient, osd: int, *words: str) -> tuple[int, str]:
    """The answer to a deep query, as soon as the rate limit allows another one.

    Each test queries an OSD of its own: one may be queried every 30 s.
    """

    def answered() -> tuple[int, str] | None:
        found = tuner.answer(('osd', 'deep', str(osd), *words))
        if found[0] == errno.EAGAIN:
            assert 'retry in' in found[1]
            return None
        return found

    found: tuple[int, str] = tuner.wait_for(answered, 90, 'another deep query')
    return found


def look(tuner: ModuleClient, osd: int) -> Any:
    code, text = looked(tuner, osd, '--format', 'json')
    assert code == 0, text
    return json.loads(text)['deep']


def test_next_manager_restores_settings_after_a_crash(tuner: ModuleClient) -> None:
    """The active manager is killed while it is held between enabling the options and reading."""
    cluster = tuner.cluster
    active = tuner.active_manager()
    pid = cluster.status().pid(f'mgr.{active}')
    module = cluster.record.spec.module
    assert pid is not None
    assert module is not None
    # It may be answered by the next manager, or not at all: both are fine here.
    query_command = Thread(
        target=lambda: cluster.client.run(
            'ceph', 'rocksdb-tuner', 'osd', 'deep', '0', check=False, timeout_s=90
        )
    )
    try:
        with held(Path(module), STATS_COMMAND):
            query_command.start()
            tuner.wait_for(
                lambda: overrides(cluster, 0) == dict.fromkeys(OPTIONS, True), 60, 'all options on'
            )
            assert notes(cluster) == [f'{NOTES}0']
            os.kill(pid, signal.SIGKILL)
        tuner.wait_for_takeover(active)
        tuner.wait_for(lambda: not notes(cluster), 60, 'the note gone')
    finally:
        query_command.join()
    tuner.wait_for(lambda: overrides(cluster, 0) == {}, 30, 'the options as they were')


def test_deep_query_shows_levels_and_leaves_the_osd_unchanged(
    tuner: ModuleClient, release: str
) -> None:
    cluster = tuner.cluster
    tuner.wait_for(lambda: len(tuner.osds()) == 3, 40, 'the OSDs known')
    assert tuner.json('osd', '1', schema='osd-detail')['deep'] is None
    deep = look(tuner, 1)
    assert deep['switched_on'] == list(OPTIONS)
    assert deep['not_put_back'] == []
    assert deep['uptime_s'] > 0
    assert deep['memtable_bytes'] is not None
    names = [family['name'] for family in deep['column_families']]
    assert ('default' in names, len(names) > 5) == (True, release == 'tentacle')
    assert deep['totals'] is None
    assert overrides(cluster, 1) == {}
    assert notes(cluster) == []
    code, text = tuner.refused('osd', 'deep', '1')
    assert (code, 'retry in' in text) == (errno.EAGAIN, True)


def test_setting_of_an_operator_in_the_osd_is_preserved(tuner: ModuleClient, release: str) -> None:
    cluster = tuner.cluster
    cluster.ceph('tell', 'osd.2', 'config', 'set', 'rocksdb_perf', 'false')
    cluster.ceph('tell', 'osd.2', 'config', 'set', 'rocksdb_collect_memory_stats', 'true')
    before = overrides(cluster, 2)
    assert before == {'rocksdb_perf': False, 'rocksdb_collect_memory_stats': True}
    code, text = looked(tuner, 2)
    assert (code, 'COLUMN FAMILY' in text) == (0, True), text
    assert ('reports only the column family "default"' in text) == (release != 'tentacle')
    assert overrides(cluster, 2) == before
    for name in before:
        cluster.ceph('tell', 'osd.2', 'config', 'unset', name)
    assert overrides(cluster, 2) == {}


def test_deep_query_of_a_missing_osd_is_refused(tuner: ModuleClient) -> None:
    returned, text = tuner.refused('osd', 'deep', '9')
    assert (returned, 'osd.9' in text) == (errno.ENOENT, True), text


def test_read_only_user_changes_no_osd(tuner: ModuleClient) -> None:
    cluster = tuner.cluster
    keyring = cluster.layout.run_dir / 'reader.keyring'
    caps = ('mon', 'allow r', 'mgr', 'allow r')
    keyring.write_text(cluster.ceph('auth', 'get-or-create', 'client.reader', *caps) + '\n')
    who = ('ceph', '-n', 'client.reader', '-k', str(keyring), 'rocksdb-tuner')
    assert cluster.client.run(*who, 'osd', '0', check=False).returncode == 0
    assert cluster.client.run(*who, 'osd', 'deep', '0', check=False).returncode == errno.EACCES
    assert overrides(cluster, 0) == {}


def test_hanging_osd_delays_no_other(tuner: ModuleClient) -> None:
    """The command returns, others are answered meanwhile, and the settings are restored."""
    cluster = tuner.cluster
    pid = cluster.status().pid('osd.0')
    assert pid is not None
    # Its neighbors would report it, and the module would not ask it
    cluster.ceph('osd', 'set', 'nodown')
    os.kill(pid, signal.SIGSTOP)
    try:
        code, text = looked(tuner, 0)
        assert code == errno.ETIMEDOUT, text
        for _ in range(5):
            started_s = time.monotonic()
            assert tuner.answer(('operation', 'pause'))[0] == errno.ENOENT
            assert time.monotonic() - started_s < 15
    finally:
        os.kill(pid, signal.SIGCONT)
        cluster.ceph('osd', 'unset', 'nodown')
    tuner.wait_for(
        lambda: not notes(cluster) and not overrides(cluster, 0), 90, 'all settings restored'
    )

"""LZ4 alone, by `bluestore_rocksdb_options_annex`: applied, verified, upgraded, rolled back.

On Pacific the best known set differs from the default in more than an annex is used for. So the
module runs from a copy that compares the default with nothing but itself with LZ4, for the space
that it saves, however little: in a new cluster the WAL is most of the DB.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared_cluster import new_cluster

from harness import ClusterSpec
from harness.fault_injection import copy_module
from harness.layout import DEFAULT_MEMORY
from harness.releases import get_release
from module_client import OPTION, ModuleClient
from real_workload import run_workload

pytestmark = [pytest.mark.integration, pytest.mark.advice, pytest.mark.from_pacific]

ANNEX = f'{OPTION}_annex'
LZ4 = 'compression=kLZ4Compression'
OPENED = re.compile(r'_open_db opened rocksdb path \S+ options (.*)')


@pytest.fixture(scope='module')
def files() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix='tuner-module-'))
    yield copy_with_lz4_alone(folder)
    shutil.rmtree(folder)


def copy_with_lz4_alone(folder: Path) -> Path:
    """The module, which knows nothing better for metadata than the default with LZ4."""
    copy = copy_module(folder)
    profiles = copy / 'knowledge/profiles.json'
    document = json.loads(profiles.read_text())
    known = {profile['name']: profile for profile in document['profiles']}
    default = known['bluestore-default-pacific']['options']
    known['lz4-2025']['options'] = default.replace('compression=kNoCompression', LZ4)
    profiles.write_text(json.dumps(document))
    candidates = copy / 'advise/candidates.py'
    edit(
        candidates,
        'for p in profiles() if p.options',
        "for p in profiles() if p.name == 'lz4-2025'",
    )
    edit(candidates, '[successor_of(release)]', '[]')
    edit(candidates, '[derive(case.situation).options]', '[]')
    set_threshold(copy / 'knowledge/choice.json', 'min_gain', 0.02)
    # The limit is neither the kv_sync thread, which gains nothing by LZ4, nor the device.
    limits = copy / 'knowledge/limits.json'
    for name, value in (('kv_sync_idle', 1.0), ('kv_sync_bound', 1.0), ('slow_round_ms', 1e6)):
        set_threshold(limits, name, value)
    return copy


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def set_threshold(path: Path, name: str, value: float) -> None:
    document = json.loads(path.read_text())
    document['thresholds'][name]['value'] = value
    path.write_text(json.dumps(document))


@pytest.fixture(scope='module')
def tuner(files: Path) -> Iterator[ModuleClient]:
    spec = ClusterSpec(
        release='pacific', osds=3, rgw=True, osd_conf=DEFAULT_MEMORY, module=str(files)
    )
    with new_cluster(spec, soak_max='0') as client:
        yield client


def entries(tuner: ModuleClient) -> list[tuple[str, str, str]]:
    """Entries of the annex."""
    return sorted(
        (e['section'], e['mask'], e['value'])
        for e in tuner.cluster.ceph_json('config', 'dump')
        if e['name'] == ANNEX
    )


def opened_with(tuner: ModuleClient, osd_id: int) -> str:
    """The options that the running process of an OSD passed to RocksDB, by its log."""
    log = tuner.cluster.host.outside(tuner.cluster.layout.log(f'osd.{osd_id}'))
    opened: str = OPENED.findall(log.read_text(errors='replace'))[-1]
    return opened


def shown(tuner: ModuleClient, osd_id: int) -> Any:
    return tuner.json('osd', str(osd_id), schema='osd-detail')['options']


def test_lz4_alone_is_set_by_the_annex_and_runs_in_every_osd(tuner: ModuleClient) -> None:
    default = tuner.running(0)[0]
    client = run_workload(tuner.cluster, 's3-put', 240)
    try:
        # On a busy machine it takes a while until it is known as surely as advice needs it.
        advice = tuner.wait_for_recommendation('set-profile', timeout_s=230)
    finally:
        client.terminate()
        client.wait(60)
    assert (advice['option'], advice['who']) == (ANNEX, 'osd')
    set_for_all = f"ceph config set osd {ANNEX} '{LZ4}'"
    assert set_for_all in advice['commands']
    assert f'ceph config rm osd {ANNEX}' in advice['undo_commands']
    assert set_for_all in tuner.plain('apply', advice['id'], '--dry-run')
    before = tuner.nonces()
    tuner.plain('apply', advice['id'])
    state = tuner.wait_for_phase('done', 'failed', 'waiting', timeout_s=420)
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    assert state['option'] == ANNEX
    assert entries(tuner) == [('osd', '', LZ4)]
    assert tuner.entries() == [], 'the string itself stays the default of the release'
    for osd_id, nonce in tuner.nonces().items():
        assert nonce != before[osd_id]
        assert opened_with(tuner, osd_id) == f'{default},{LZ4}'
        options = shown(tuner, osd_id)
        assert (options['annex'], options['pending_restart']) == (LZ4, False)
    record = tuner.json('history', schema='history')[-1]
    assert (record['option'], record['outcome']) == (ANNEX, 'done')
    assert record['from'] == default
    assert record['to'].endswith(LZ4)


def test_running_annex_raises_no_finding_and_no_other_advice(
    tuner: ModuleClient,
) -> None:
    found = tuner.json('findings', schema='findings')
    assert not [f for f in found if f['severity'] != 'info'], found
    assert not [r for r in tuner.recommendations() if r['kind'] != 'compact']


def test_upgrade_keeps_the_annex_with_the_next_default(tuner: ModuleClient) -> None:
    before = tuner.running(0)[0]
    tuner.cluster.upgrade(get_release('reef'), ['mon', 'mgr', 'osd'])
    tuner.wait_for(
        lambda: (s := tuner.status())['release'] == 'reef' and s['sampling']['osds'] == 3,
        90,
        'all three measured by Reef',
    )
    assert (entries(tuner), tuner.entries()) == ([('osd', '', LZ4)], [])
    for osd_id in range(3):
        default, source = tuner.running(osd_id)
        assert (source, default != before) == ('default', True)
        assert opened_with(tuner, osd_id) == f'{default},{LZ4}'
        options = tuner.wait_for(lambda n=osd_id: shown(tuner, n), 60, 'what it runs')  # type: ignore[misc]
        assert (options['annex'], options['pending_restart']) == (LZ4, False)
    found = tuner.json('findings', schema='findings')
    assert not [f for f in found if f['severity'] != 'info'], found


def test_redundant_annex_after_the_upgrade_is_removed_on_advice_and_restored(
    tuner: ModuleClient,
) -> None:
    """The next release compresses by default: the entry goes, and no OSD is restarted for that."""
    set_by = tuner.operation()['id']
    advice = tuner.wait_for_recommendation('remove-override', timeout_s=120)
    assert (advice['option'], advice['who'], advice['risk']) == (ANNEX, 'osd', 'low')
    assert advice['restart_required'] is False
    assert advice['commands'] == [f'ceph config rm osd {ANNEX}']
    assert advice['undo_commands'] == [f"ceph config set osd {ANNEX} '{LZ4}'"]
    assert 'silently override the better default' in advice['reasons'][0]['statement']
    assert f'Removed annex:    {LZ4}' in tuner.plain('recommend', advice['id'], '--all')
    found = {f['id']: f for f in tuner.json('findings', schema='findings')}
    assert found['redundant-override']['commands'] == advice['commands']
    assert found['redundant-override']['osds'] == [0, 1, 2]

    nonces = tuner.nonces()
    tuner.plain('apply', advice['id'])
    state = tuner.wait_for_phase('done', 'failed', 'waiting', timeout_s=120)
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    assert entries(tuner) == tuner.entries() == []
    tuner.wait_for(
        lambda: all((o := shown(tuner, n)) and not o['pending_restart'] for n in range(3)),
        60,
        'options that need no restart without the annex',
    )
    assert advice['id'] not in [r['id'] for r in tuner.recommendations()]

    tuner.plain('rollback')
    state = tuner.wait_for_phase('rolled-back', 'failed', 'waiting', timeout_s=120)
    assert state['phase'] == 'rolled-back', tuner.plain('operation', 'status')
    assert entries(tuner) == [('osd', '', LZ4)]
    assert tuner.nonces() == nonces
    # The rollout that set it can still be rolled back, see below.
    assert set_by in [record['id'] for record in tuner.json('history', schema='history')]


def test_a_rollback_leaves_every_osd_with_the_default_and_no_entry(tuner: ModuleClient) -> None:
    before = tuner.nonces()
    first = tuner.json('history', schema='history')[0]['id']
    tuner.plain('rollback', first)
    state = tuner.wait_for_phase('rolled-back', 'failed', 'waiting', timeout_s=420)
    assert state['phase'] == 'rolled-back', tuner.plain('operation', 'status')
    assert entries(tuner) == tuner.entries() == []
    for osd_id, nonce in tuner.nonces().items():
        default, source = tuner.running(osd_id)
        assert nonce != before[osd_id]
        assert (source, opened_with(tuner, osd_id)) == ('default', default)

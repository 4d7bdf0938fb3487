"""A compaction campaign on a real cluster: old data get the compression that only new files had.

Its manager fails in the middle.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from shared_cluster import new_cluster

from announced import Announced, lines_of_finished
from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from omap_data import KEYS, POOL, fill, leave_old_data, remove_objects
from real_workload import recognized_during

pytestmark = [pytest.mark.integration, pytest.mark.campaign]


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    # On Pacific the change of compression is one for object gateways.
    rgw = release == 'pacific'
    spec = ClusterSpec(release=release, osds=3, mgrs=2, rgw=rgw, osd_conf=DEFAULT_MEMORY)
    with new_cluster(spec, soak_max='0') as client:
        client.cluster.ceph('osd', 'pool', 'create', POOL, '16')
        yield client


def used_bytes(tuner: ModuleClient) -> dict[int, int]:
    return {osd['osd']: osd['db_used_bytes'] for osd in tuner.osds()}


def uncompressed(tuner: ModuleClient, release: str) -> None:
    """Every OSD writes its files without compression: by default on Pacific, by hand later."""
    if release != 'pacific':
        tuner.cluster.ceph('config', 'set', 'osd', OPTION, ALTERNATE_2019)
        tuner.restart_all()
    leave_old_data(tuner, KEYS)


def compressed(tuner: ModuleClient, release: str) -> Any:
    """Apply the module's own recommendation."""
    if release == 'pacific':
        recognized_during(tuner, 's3-put', 'rgw-metadata', 60)
    kind = 'set-profile' if release == 'pacific' else 'remove-override'
    recommendation = tuner.wait_for_recommendation(kind, timeout_s=120)
    tuner.plain('apply', recommendation['id'])
    state = tuner.wait_for_phase('done', 'failed', timeout_s=420)
    assert state['phase'] == 'done', tuner.plain('operation', 'status')
    return recommendation


def campaign(tuner: ModuleClient) -> Any:
    found = tuner.operation()
    return found if found is not None and found['kind'] == 'compaction' else None


def test_old_data_is_compacted_one_osd_at_a_time_and_freed_space_is_reported(
    tuner: ModuleClient, release: str
) -> None:
    uncompressed(tuner, release)
    assert not [r for r in tuner.recommendations() if r['kind'] == 'compact']
    compressed(tuner, release)
    offer = tuner.wait_for_recommendation('compact')
    before = used_bytes(tuner)
    shown = tuner.json('recommend', offer['id'], schema='recommend-detail')
    assert shown['commands'] == ['ceph rocksdb-tuner compact osd/class:ssd']
    plan = tuner.json('apply', offer['id'], '--dry-run', schema='compact-plan')
    assert (plan['recommendation'], plan['who']) == (offer['id'], 'osd/class:ssd')
    assert plan['bytes'] == sum(osd['bytes'] for osd in plan['osds']) > 3 * 300e6
    assert not [guard for guard in plan['guards'] if guard['open'] is False]
    assert campaign(tuner) is None
    tuner.plain('apply', offer['id'])

    most = 0
    slowest_s = 0.0
    failed_over = False
    announced = Announced(tuner.cluster)
    deadline_s = time.monotonic() + 600
    while (state := campaign(tuner))['outcome'] is None:
        assert time.monotonic() < deadline_s, json.dumps(state)
        busy = [osd for osd in state['osds'] if osd['phase'] in ('compacting', 'settling')]
        most = max(most, len(busy))
        first = state['osds'][0]
        asked = f': osd.{first["osd"]} starts compacting'
        logged = any(line.endswith(asked) for line in announced.lines)
        if not failed_over and first['phase'] in ('compacting', 'settling') and logged:
            # The requesting manager ends; the next one only watches. Monitors do not receive what a
            # manager logged less than a second before its end.
            tuner.cluster.ceph('mgr', 'fail')
            failed_over = True
        begin_s = time.monotonic()
        tuner.status()
        slowest_s = max(slowest_s, time.monotonic() - begin_s)
        announced.look()
        time.sleep(0.5)
    print(tuner.plain('operation', 'status'))
    assert (state['phase'], state['outcome'], state['failure']) == ('done', 'done', None)
    assert most == 1
    assert failed_over
    assert [osd['phase'] for osd in state['osds']] == ['done'] * 3
    reported = before.values(), (state['used_before_bytes'], state['used_after_bytes'])
    print(
        f'{release}: used {sum(reported[0])}, reported {reported[1]}, '
        f'answers within {slowest_s:.1f} s'
    )
    # 720 MB of values that LZ4 makes a twentieth of: four files of each of three column families
    # become one, of which BlueFS keeps the 70 MB that RocksDB reserved.
    assert state['used_before_bytes'] - state['used_after_bytes'] > 3 * 300e6
    assert sum(used_bytes(tuner).values()) < sum(before.values()) - 3 * 300e6
    record = tuner.json('history', schema='history')[-1]
    assert (record['recommendation'], record['outcome']) == (offer['id'], 'done')
    assert record['measured_effects'][0]['effect'] == 'better'
    assert not [r for r in tuner.recommendations() if r['kind'] == 'compact']
    assert_announced(tuner, state, announced)


def assert_announced(tuner: ModuleClient, state: Any, announced: Announced) -> None:
    """It was in `ceph -s` until it ended, and the cluster log has every OSD and the end."""
    lines = lines_of_finished(
        tuner,
        announced,
        f'compaction campaign {state["id"]}',
        'Compacting RocksDB of ',
        lambda own: bool(own) and own[-1].startswith('3 of 3 OSD(s) compacted, DB '),
    )
    for osd in state['osds']:
        assert f'osd.{osd["osd"]} starts compacting' in lines
        assert any(line.startswith(f'osd.{osd["osd"]} is done: DB ') for line in lines), lines


def test_every_osd_is_compacted_once_across_failovers(tuner: ModuleClient) -> None:
    """By the counters of the OSDs, which were reset when they restarted with the change."""
    for osd_id in tuner.nonces():
        counters = json.loads(
            tuner.cluster.ceph('tell', f'osd.{osd_id}', 'perf', 'dump', 'rocksdb')
        )
        assert counters['rocksdb']['compact'] == 1


def test_tombstones_of_one_osd_are_compacted_on_demand(tuner: ModuleClient) -> None:
    fill(tuner, KEYS)
    remove_objects(tuner)
    time.sleep(15)
    for who in ('osd.9', 'osd/class:hdd', 'all'):
        assert f'no OSD matches "{who}"; groups: ' in tuner.refused('compact', who)[1]
    before = tuner.operation()
    tuner.cluster.ceph('osd', 'set', 'noout')
    plan = tuner.json('compact', 'osd.1', '--dry-run', schema='compact-plan')
    tuner.cluster.ceph('osd', 'unset', 'noout')
    (planned,) = plan['osds']
    assert [g['guard'] for g in plan['guards'] if g['open'] is False] == ['flags and health']
    assert planned['free_bytes'] > planned['bytes'] > 0
    assert planned['skipped'] is None
    assert tuner.operation() == before
    print(tuner.plain('compact', 'osd.1', '--dry-run'))
    tuner.plain('compact', 'osd.1')
    assert tuner.refused('compact', 'osd.1')[0] == errno.EBUSY
    state = tuner.wait_for_phase('done', 'failed', timeout_s=300)
    print(tuner.plain('operation', 'status'))
    (osd,) = state['osds']
    assert (state['who'], state['recommendation'], state['outcome']) == ('osd.1', None, 'done')
    assert osd['after_bytes'] < osd['before_bytes'] <= planned['bytes'] * 1.2

"""Conditions provoked on a real cluster: reported, raised as health checks, and cleared.

The tests share one cluster of OSDs with bad layouts, and run in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from shared_cluster import new_cluster

from harness import ClusterSpec
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from real_workload import ended, run_workload

pytestmark = pytest.mark.integration

#: What the OSDs of this cluster are built with, and the findings to which that leads.
BUILT_WITH = {
    'bluestore_rocksdb_cf': 'false',
    'bluestore_debug_legacy_omap': 'true',
    'bluestore_min_alloc_size': '65536',
}
DB_DEVICE_BYTES = 128 << 20
OF_THE_BUILD = {
    'legacy-omap',
    'spillover',
    'unsharded',
    'large-min-alloc-size',
    'wal-device-small',
    'memory-target-small',
}


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    spec = ClusterSpec(
        release=release, osds=3, db_size_bytes=DB_DEVICE_BYTES, osd_conf=tuple(BUILT_WITH.items())
    )
    with new_cluster(spec, often=True) as client:
        yield client


def found(tuner: ModuleClient) -> dict[str, Any]:
    return {f['id']: f for f in tuner.json('findings', schema='findings')}


def wait_for_findings(tuner: ModuleClient, wanted: dict[str, set[int]], timeout_s: float) -> Any:
    """All findings, once those of ``wanted`` are among them with exactly their OSDs."""

    def there() -> Any:
        now = found(tuner)
        seen = {name: set(now[name]['osds']) for name in wanted if name in now}
        return now if seen == wanted else None

    try:
        return tuner.wait_for(there, timeout_s, f'findings {sorted(wanted)}')
    except AssertionError as error:
        names = {name: f['osds'] for name, f in found(tuner).items()}
        raise AssertionError(f'{error}; there are {names}') from None


def wait_until_cleared(tuner: ModuleClient, names: set[str], timeout_s: float) -> None:
    tuner.wait_for(lambda: not names & set(found(tuner)), timeout_s, f'{sorted(names)} gone')


def test_osds_with_bad_layouts_are_found(tuner: ModuleClient) -> None:
    every = {0, 1, 2}
    # Small writes fill the WAL, which lies on the DB device, beyond its size.
    report = ended(run_workload(tuner.cluster, 'rbd-randwrite', 25))
    assert report['errors'] == 0
    osds: dict[str, set[int]] = dict.fromkeys(OF_THE_BUILD - {'legacy-omap'}, every)
    findings = wait_for_findings(tuner, {**osds, 'legacy-omap': set()}, 90)
    # Worst first, and nothing is an error: they all run.
    severities = [f['severity'] for f in findings.values()]
    assert severities == sorted(severities, key=['error', 'warning', 'info'].index)
    assert 'error' not in severities
    plain = tuner.plain('findings', '--all')
    assert all(name in plain for name in findings)


def test_alerts_raised_by_ceph_are_explained_and_not_duplicated(tuner: ModuleClient) -> None:
    checks = tuner.cluster.ceph_json('health')['checks']
    assert {'BLUEFS_SPILLOVER', 'BLUESTORE_NO_PER_POOL_OMAP'} <= set(checks)
    assert 'bluefs-bdev-expand' in tuner.plain('findings', 'spillover')
    ours = {c for c in tuner.cluster.ceph_json('health')['checks'] if 'ROCKSDB_TUNER' in c}
    assert not {'ROCKSDB_TUNER_SPILLOVER', 'ROCKSDB_TUNER_LEGACY_OMAP'} & ours


def test_entries_are_checked_before_any_osd_starts_with_them(tuner: ModuleClient) -> None:
    ceph = tuner.cluster.ceph
    default = tuner.running(0)[0]
    ceph('config', 'set', 'osd', OPTION, default)
    ceph('config', 'set', 'osd.0', OPTION, f'{default},foo=1')
    ceph('config', 'set', 'osd/class:ssd', OPTION, ALTERNATE_2019)
    ceph('config', 'set', 'osd', 'bluefs_buffered_io', 'false')
    wanted = {
        'unstartable-options': {0},
        'own-entry-shadows': {0},
        'redundant-override': {1, 2},
        'class-entry-without-effect': {0, 1, 2},
        'buffered-io-off': {0, 1, 2},
    }
    findings = wait_for_findings(tuner, wanted, 60)
    assert findings['unstartable-options']['severity'] == 'error'
    # osd.0 would not come back.
    assert 'restart-pending' not in findings
    assert findings['unstartable-options']['commands'] == [f'ceph config rm osd.0 {OPTION}']
    check = tuner.wait_for(
        lambda: tuner.cluster.ceph_json('health')['checks'].get(
            'ROCKSDB_TUNER_UNSTARTABLE_OPTIONS'
        ),
        60,
        'the health check of a string with which an OSD would not start',
    )
    assert check['severity'] == 'HEALTH_ERR'
    # Each is cleared once its own remedy was applied.
    for name in set(wanted) - {'own-entry-shadows', 'buffered-io-off'}:
        for command in findings[name]['commands']:
            ceph(*command.split()[1:])
    ceph('config', 'rm', 'osd', 'bluefs_buffered_io')
    wait_until_cleared(tuner, set(wanted), 60)
    tuner.wait_for(
        lambda: (
            'ROCKSDB_TUNER_UNSTARTABLE_OPTIONS' not in tuner.cluster.ceph_json('health')['checks']
        ),
        30,
        'the health check gone',
    )


#: Related options: a bad value, and the section it is set for.
RELATED_OPTIONS = {
    'iterator-bounds-off': ('osd', 'osd_rocksdb_iterator_bounds_enabled', 'false'),
    'compact-on-start': ('osd.0', 'osd_compact_on_start', 'true'),
    'short-pg-log': ('osd.1', 'osd_min_pg_log_entries', '10'),
    'cache-autotune-off': ('osd.2', 'bluestore_cache_autotune', 'false'),
    'cache-ratios': ('osd.1', 'bluestore_cache_kv_ratio', '0.6'),
}


def test_options_beside_the_string_are_found_when_set_and_cleared_when_removed(
    tuner: ModuleClient,
) -> None:
    """No OSD is restarted with any of them."""
    ceph = tuner.cluster.ceph
    for who, name, value in RELATED_OPTIONS.values():
        ceph('config', 'set', who, name, value)
    wanted = {
        condition: {0, 1, 2} if who == 'osd' else {int(who.removeprefix('osd.'))}
        for condition, (who, _, _) in RELATED_OPTIONS.items()
    }
    findings = wait_for_findings(tuner, wanted, 60)
    assert findings['cache-ratios']['severity'] == 'error'
    for condition in wanted:
        for command in findings[condition]['commands']:
            ceph(*command.split()[1:])
    wait_until_cleared(tuner, set(wanted), 60)
    names = {name for _, name, _ in RELATED_OPTIONS.values()}
    left = [e for e in tuner.cluster.ceph_json('config', 'dump') if e['name'] in names]
    assert left == []


def test_time_an_osd_was_down_is_known(tuner: ModuleClient) -> None:
    """Of three OSDs on one host; its downtime is compared with the clock of the test."""
    cluster = tuner.cluster

    def last_start() -> Any:
        return tuner.json('osd', '1', schema='osd-detail')['last_start']

    began_s = time.monotonic()
    cluster.stop_daemon('osd.1')
    tuner.wait_for(lambda: not tuner.osd_up(1), 60, 'osd.1 down', every_s=0.2)
    down_s = time.monotonic()
    time.sleep(20)
    before, start_s = last_start(), time.monotonic()
    cluster.start_daemon('osd.1')
    tuner.wait_for(lambda: tuner.osd_up(1), 60, 'osd.1 up', every_s=0.2)
    up_s = time.monotonic()
    tuner.wait_for(lambda: last_start() != before, 60, 'the start')
    start = last_start()
    assert 10 <= start['away_s'] <= up_s - began_s
    assert start_s - down_s <= start['away_most_s']
    assert start['host_away'] is False
    assert 'was down' in tuner.plain('osd', '1')
    tuner.wait_for_clean()


def test_ceph_conf_overrides_are_reported_and_not_fought(tuner: ModuleClient) -> None:
    conf = tuner.cluster.dir / 'ceph.conf'
    before = conf.read_text()
    # In place: the harness knows daemons by this very file.
    with conf.open('a') as file:
        file.write(f'\n[osd.2]\n{OPTION} = {tuner.running(2)[0]},max_open_files=1000\n')
    tuner.cluster.ceph('config', 'set', 'osd.2', OPTION, 'write_buffer_size=16777216')
    tuner.restart(2)
    wait_for_findings(tuner, {'options-outside-config-store': {2}}, 60)
    # Worse than a mere place, once the entry that it makes void was read as well.
    tuner.wait_for(
        lambda: found(tuner)['options-outside-config-store']['severity'] == 'warning',
        60,
        'the entry without effect',
    )
    # Their DB devices are too small for any default: what is recommended leaves this OSD out.
    assert all(2 not in advice['osds'] for advice in tuner.recommendations())
    conf.write_text(before)
    tuner.cluster.ceph('config', 'rm', 'osd.2', OPTION)
    tuner.restart(2)
    wait_until_cleared(tuner, {'options-outside-config-store'}, 60)

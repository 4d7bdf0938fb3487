"""The mgr API as it really answers, turned into records, from maps of three releases."""

import errno
import json
from pathlib import Path
from typing import Any, Optional

import pytest
from mgr_module import MgrModule

from rocksdb_tuner.mgr.adapter import MgrCluster, MgrStore, counter_point
from rocksdb_tuner.mgr.parse import (
    parse_alerting_osds,
    parse_cluster_map,
    parse_managers,
    parse_orchestrated,
    parse_pg_status,
)
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import (
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    FailureDomain,
    ManagerInfo,
    OrchestratedDaemon,
    RunningOption,
)

DATA = Path(__file__).parent / 'data'
RELEASES = {'pacific': '16.2.15', 'reef': '18.2.7', 'tentacle': '20.2.4'}
OPTION = 'bluestore_rocksdb_options'


def recorded(release: str, name: str) -> Any:
    return json.loads((DATA / release / f'{name}.json').read_text())


@pytest.fixture
def module() -> Any:
    return MgrModule('', None, None)


@pytest.mark.parametrize('release', RELEASES)
def test_recorded_maps_give_the_recorded_osd(release: str) -> None:
    cluster_map = parse_cluster_map(
        recorded(release, 'osd_map'),
        recorded(release, 'osd_map_crush'),
        recorded(release, 'osd_metadata'),
    )
    (osd,) = cluster_map.osds
    assert (osd.osd_id, osd.up, osd.in_cluster) == (0, True, True)
    assert (osd.release, osd.version) == (release, RELEASES[release])
    assert osd.nonce is not None
    assert osd.up_from is not None
    assert osd.host == 'vm'
    # The rule chooses OSDs of any hosts.
    assert osd.failure_domain == FailureDomain('osd', 'osd.0')
    assert osd.device_class == 'hdd'
    assert (osd.dedicated_db, osd.dedicated_wal, osd.db_device_bytes) == (False, False, None)
    assert osd.objectstore == 'bluestore'
    assert (osd.main_rotational, osd.db_rotational) == (True, True)
    assert (osd.main_device_bytes, osd.wal_device_bytes) == (10 << 30, None)
    assert osd.min_alloc_size_bytes == 4096
    assert osd.created_version == osd.version
    assert osd.distribution == 'debian'
    assert 'noout' not in cluster_map.flags


def test_osd_that_never_booted_is_unknown_and_not_shared() -> None:
    cluster_map = parse_cluster_map(
        {
            'epoch': 3,
            'flags': 'noout,sortbitwise',
            'osds': [{'osd': 4, 'up': 0, 'in': 0, 'public_addrs': {'addrvec': []}}],
            'pools': [],
        },
        {},
        {},
    )
    (osd,) = cluster_map.osds
    assert osd.nonce is None
    assert osd.release is None
    assert osd.dedicated_db is None
    assert osd.main_rotational is None
    assert osd.min_alloc_size_bytes is None
    assert osd.created_version is None
    assert osd.device_class is None
    assert cluster_map.flags == {'noout', 'sortbitwise'}


def test_progress_events_are_shown_and_completed(module: Any) -> None:
    cluster = MgrCluster(module)
    cluster.show_progress('r1', 'Changing', 0.5)
    cluster.end_progress('r1', None)
    cluster.end_progress('r2', 'no reason')
    assert module.remote_calls == [
        ('progress', 'update', ('r1', 'Changing', 0.5, ['rocksdb_tuner']), {'add_to_ceph_s': True}),
        ('progress', 'complete', ('r1',), {}),
        ('progress', 'fail', ('r2', 'no reason'), {}),
    ]


def test_nothing_fails_without_the_progress_module(module: Any) -> None:
    module.other_modules.clear()
    MgrCluster(module).show_progress('r1', 'Changing', 0.5)
    MgrCluster(module).end_progress('r1', None)
    assert module.remote_calls == []


def test_cluster_log_names_the_module(module: Any) -> None:
    module.module_name = 'rocksdb_tuner'
    MgrCluster(module).log('rollout r1: done', warning=False)
    MgrCluster(module).log('rollout r1: failed', warning=True)
    info, warn = module.ClusterLogPrio.INFO, module.ClusterLogPrio.WARN
    assert module.logged == [
        ('cluster', info, 'rocksdb_tuner: rollout r1: done'),
        ('cluster', warn, 'rocksdb_tuner: rollout r1: failed'),
    ]


def test_slow_requests_are_counted_per_osd_without_those_of_monitors(module: Any) -> None:
    module.daemon_health_metrics = {
        'osd.0': [{'type': 'SLOW_OPS', 'value': 0}, {'type': 'PENDING_CREATING_PGS', 'value': 4}],
        'osd.12': [{'type': 'SLOW_OPS', 'value': 7}],
        'osd.3': [{'type': 'PENDING_CREATING_PGS', 'value': 1}],
        'mon.a': [{'type': 'SLOW_OPS', 'value': 9}],
    }
    assert MgrCluster(module).slow_ops() == {0: 0, 12: 7}


def test_pool_gets_the_device_class_of_its_rule() -> None:
    pool = {
        'pool': 2,
        'pool_name': 'fast',
        'size': 3,
        'min_size': 2,
        'crush_rule': 1,
        'application_metadata': {'cephfs': {'metadata': 'fs'}},
    }
    rule = {
        'rule_id': 1,
        'steps': [{'op': 'take', 'item': -2, 'item_name': 'default~ssd'}, {'op': 'emit'}],
    }
    cluster_map = parse_cluster_map(
        {'epoch': 1, 'flags': '', 'osds': [], 'pools': [pool]}, {'rules': [rule]}, {}
    )
    (parsed,) = cluster_map.pools
    assert parsed.device_classes == ('ssd',)
    assert parsed.applications == ('cephfs',)
    assert parsed.cephfs_metadata


def test_scrubbing_pgs_are_clean_and_undersized_ones_are_not() -> None:
    summary = parse_pg_status(
        {
            'num_pgs': 10,
            'pgs_by_state': [
                {'state_name': 'active+clean', 'count': 6},
                {'state_name': 'active+clean+scrubbing+deep', 'count': 1},
                {'state_name': 'active+undersized+degraded', 'count': 3},
            ],
        }
    )
    assert (summary.total, summary.active_clean) == (10, 7)


def test_unreported_counter_is_unknown(module: Any) -> None:
    module.counters['0', 'osd.op_w'] = (17.5, 42)
    module.counters['0', 'bluestore.kv_sync_lat'] = (17.5, 9000, 3)
    cluster = MgrCluster(module)
    assert cluster.latest(0, ['osd.op_w', 'rocksdb.compact', 'bluestore.kv_sync_lat']) == [
        CounterPoint(17.5, 42, None),
        None,
        CounterPoint(17.5, 9000, 3),
    ]
    assert cluster.latest(1, ['osd.op_w']) == [None]


def test_config_entries_carry_section_and_mask(module: Any) -> None:
    dump = [
        {'section': 'osd', 'mask': 'class:ssd', 'name': OPTION, 'value': 'a=1'},
        {'section': 'osd.0', 'mask': '', 'name': OPTION, 'value': 'a=2'},
        {'section': 'osd', 'mask': '', 'name': 'osd_memory_target', 'value': '1'},
        {'section': 'osd', 'mask': 'host:vm/class:hdd', 'name': OPTION, 'value': 'a=3'},
    ]
    module.mon_answers = [(0, json.dumps(dump), '')]
    assert MgrCluster(module).entries([OPTION]) == (
        ConfigEntry('osd/class:ssd', OPTION, 'a=1'),
        ConfigEntry('osd.0', OPTION, 'a=2'),
        ConfigEntry('osd/host:vm/class:hdd', OPTION, 'a=3'),
    )


def test_unlisted_option_has_the_default_of_the_osd(module: Any) -> None:
    shown = [{'name': OPTION, 'value': 'a=1', 'source': 'file', 'ignores': 'mon'}]
    module.mon_answers = [(0, json.dumps(shown), ''), (0, '\n', '')]
    running = MgrCluster(module).running(0, [OPTION, f'{OPTION}_annex'])
    assert running == {
        OPTION: RunningOption('a=1', 'file', ignores_mon=True),
        f'{OPTION}_annex': RunningOption('', 'default', ignores_mon=False),
    }


def test_option_requested_if_set_costs_no_additional_command(module: Any) -> None:
    shown = [
        {'name': OPTION, 'value': 'a=1', 'source': 'mon'},
        {'name': 'bluefs_buffered_io', 'value': 'false', 'source': 'file'},
    ]
    module.mon_answers = [(0, json.dumps(shown), '')]
    running = MgrCluster(module).running(0, [OPTION], ['bluefs_buffered_io', 'rocksdb_perf'])
    assert running == {
        OPTION: RunningOption('a=1', 'mon', ignores_mon=False),
        'bluefs_buffered_io': RunningOption('false', 'file', ignores_mon=False),
    }


def test_empty_answer_is_an_error_of_the_cluster_and_not_of_the_module(module: Any) -> None:
    """As 16.2.15 answers, with success, just after a failover."""
    module.mon_answers = [(0, '\n', '')]
    with pytest.raises(CommandError, match='"config show" has no answer yet') as raised:
        MgrCluster(module).running(0, (OPTION,))
    assert raised.value.errno == errno.EAGAIN


def test_failed_mon_command_raises_with_the_text_of_ceph(module: Any) -> None:
    module.mon_answers = [(-errno.ENOENT, '', 'no config state for daemon osd.77')]
    with pytest.raises(CommandError, match=r'no config state for daemon osd\.77') as raised:
        MgrCluster(module).running(77, [OPTION])
    assert raised.value.errno == errno.ENOENT


@pytest.mark.parametrize(
    ('answer', 'expected'),
    [
        ((0, '{"available": true, "backend": "cephadm"}', ''), None),
        ((0, '{"available": false, "reason": "no ssh"}', ''), 'no ssh'),
        ((-2, '', 'No orchestrator configured'), 'No orchestrator configured'),
    ],
)
def test_orchestrator_without_restart_has_a_reason(module: Any, answer: Any, expected: Any) -> None:
    module.mon_answers = [answer]
    cluster = MgrCluster(module)
    assert cluster.unavailable_reason() == expected
    # A second question so soon is answered from memory: no more answers are prepared.
    assert cluster.unavailable_reason() == expected


ABLE = {'daemon_action': {'available': True}}
#: As in Rook's orchestrator: it inherits methods without an effect.
UNABLE = {'daemon_action': {'available': False}}


@pytest.mark.parametrize(
    ('features', 'expected'),
    [
        (ABLE, None),
        (UNABLE, 'the orchestrator backend rook cannot restart daemons'),
        ({}, 'the orchestrator backend rook does not report its features'),
        (None, 'the orchestrator backend rook does not report its features'),
    ],
)
def test_backend_reports_whether_it_can_restart_daemons(
    module: Any, features: Any, expected: Optional[str]
) -> None:
    """Availability does not imply that."""
    module.mon_answers = [(0, '{"available": true, "backend": "rook"}', '')]
    module.features = features
    reason = MgrCluster(module).unavailable_reason()
    assert (reason is None) is (expected is None)
    assert (reason or '').startswith(expected or '')


def service(name: str = 'osd.disks', **fields: object) -> dict[str, object]:
    """A service as `orch ls` of 20.2.4 shows it."""
    status = {'created': '2026-01-01T00:00:00.000000Z', 'running': 3, 'size': 3}
    found = {'service_name': name, 'service_type': 'osd', 'status': status, 'unmanaged': True}
    return {**found, **fields}


@pytest.mark.parametrize(
    ('services', 'left_alone'),
    [
        ([service()], 'osd.disks'),
        ([service('osd.a', unmanaged=False), service('osd.b')], 'osd.b'),
        ([service(unmanaged=False)], None),
        # Without a specification
        ([service('osd', status={'running': 3, 'size': 0})], None),
        ([service(status={'created': '2026-01-01T00:00:00.000000Z', 'running': 0})], None),
        ([], None),
        ('no list', None),
    ],
)
def test_restarts_of_an_unmanaged_service_are_left_to_the_operator(
    module: Any, services: object, left_alone: Optional[str]
) -> None:
    """cephadm would schedule them for good, and answer that it did."""
    module.features = {**ABLE, 'describe_service': {'available': True}}
    module.mon_answers = [
        (0, '{"available": true, "backend": "cephadm"}', ''),
        (0, json.dumps(services), ''),
    ]
    reason = MgrCluster(module).unavailable_reason()
    assert (reason is None) is (left_alone is None)
    assert f'"ceph orch set-managed {left_alone}"' in (reason or f'"ceph orch set-managed {None}"')


@pytest.mark.parametrize(
    ('daemons', 'left_alone'),
    [
        ([{'service_name': 'osd.a'}], False),
        ([{'service_name': 'osd.b'}], True),
        # Unknown: as if all were.
        ([{}], True),
        ('no list', True),
    ],
)
def test_only_osds_of_an_unmanaged_service_are_left_to_the_operator(
    module: Any, daemons: object, *, left_alone: bool
) -> None:
    module.features = {**ABLE, 'describe_service': {'available': True}}
    module.mon_answers = [
        (0, '{"available": true, "backend": "cephadm"}', ''),
        (0, json.dumps([service('osd.a', unmanaged=False), service('osd.b')]), ''),
        (0, json.dumps(daemons), ''),
    ]
    assert (MgrCluster(module).unavailable_reason(3) is not None) is left_alone
    assert module.mon_commands[-1]['daemon_id'] == '3'


def event(text: str, level: str = 'INFO', at: str = '01') -> str:
    """As cephadm prints one: OrchestratorEvent.to_json."""
    return f'2026-01-01T00:00:{at}.000000Z daemon:osd.3 [{level}] "{text}"'


def listed(*events: object, **fields: object) -> dict[str, object]:
    """The output of `orch ps` for an OSD."""
    daemon = {'daemon_type': 'osd', 'daemon_id': '3', 'hostname': 'vm', 'status': 1, **fields}
    return {**daemon, 'events': list(events)} if events else daemon


@pytest.mark.parametrize(
    ('given', 'executed'),
    [
        (event("restart osd.3 from host 'vm'"), True),
        (event("Reconfigured osd.3 on host 'vm'"), True),
        (event("Deployed osd.3 on host 'vm'"), True),
        (event("stop osd.3 from host 'vm'"), True),
        # It stays scheduled, and is tried again.
        (event('Failed to connect to vm:\nno route', 'ERROR'), False),
        (event("Removed duplicated daemon on host 'vm'"), False),
        ('an event of another form', False),
        (
            {
                'created': '2026-01-01T00:00:01.000000Z',
                'subject': 'daemon:osd.3',
                'level': 'INFO',
                'message': "restart osd.3 from host 'vm'",
            },
            True,
        ),
    ],
)
def test_an_event_tells_that_a_request_was_executed(given: object, executed: bool) -> None:
    found = parse_orchestrated(3, [listed(given)], None)
    assert found is not None
    assert found.executed == (('2026-01-01T00:00:01.000000Z',) if executed else ())


@pytest.mark.parametrize(
    ('status', 'running'), [(1, True), (2, True), (0, False), (-1, False), (-2, None), (None, None)]
)
def test_running_state_of_a_process_is_that_of_the_orchestrator(
    status: Optional[int], running: Optional[bool]
) -> None:
    times = {'started': '2026-01-01T00:00:02.000000Z', 'last_refresh': '2026-01-01T00:01'}
    found = parse_orchestrated(3, [listed(status=status, **times)], None)
    assert found == OrchestratedDaemon(running, times['started'], times['last_refresh'])


def test_schedule_is_read_from_the_host_cache_of_cephadm(module: Any) -> None:
    host = {
        'daemons': {'osd.3': {'started': 's1'}, 'osd.4': {}},
        'scheduled_daemon_actions': {'osd.4': 'restart'},
    }
    module.mon_answers = [
        (0, '{"available": true, "backend": "cephadm"}', ''),
        (0, json.dumps([listed()]), ''),
        (0, json.dumps(host), ''),
        (0, json.dumps([listed(daemon_id='4')]), ''),
        (0, json.dumps(host), ''),
    ]
    cluster = MgrCluster(module)
    cluster.unavailable_reason()
    third, fourth = cluster.describe_osd(3, False), cluster.describe_osd(4, False)
    assert third is not None
    assert fourth is not None
    assert (third.scheduled, third.stored_started) == (False, 's1')
    assert (fourth.scheduled, fourth.stored_started) == (True, None)
    keys = [c['key'] for c in module.mon_commands if c['prefix'] == 'config-key get']
    assert keys == ['mgr/cephadm/host.vm'] * 2


def test_paused_orchestrator_still_has_pending_requests(module: Any) -> None:
    host = {'daemons': {'osd.3': {'started': 's1'}}}
    module.mon_answers = [
        (0, '{"available": true, "backend": "cephadm", "paused": true}', ''),
        (0, json.dumps([listed()]), ''),
        (0, json.dumps(host), ''),
    ]
    cluster = MgrCluster(module)
    cluster.unavailable_reason()
    found = cluster.describe_osd(3, False)
    assert found is not None
    assert found.paused


def test_orchestrator_without_stored_hosts_gives_no_schedule(module: Any) -> None:
    module.mon_answers = [
        (0, '{"available": true, "backend": "rook"}', ''),
        (0, json.dumps([listed()]), ''),
        (-errno.ENOENT, '', "obtained 'ENOENT'"),
        (0, '[]', ''),
    ]
    cluster = MgrCluster(module)
    cluster.unavailable_reason()
    found = cluster.describe_osd(3, False)
    assert found is not None
    assert found.scheduled is None
    assert cluster.describe_osd(5, False) is None


def test_only_the_host_of_an_osd_is_refreshed(module: Any) -> None:
    module.mon_answers = [(0, json.dumps([listed()]), ''), (0, '[]', '')]
    MgrCluster(module).describe_osd(3, True)
    assert module.mon_commands[-1] == {
        'prefix': 'orch ps',
        'daemon_type': 'osd',
        'daemon_id': '3',
        'format': 'json',
        'hostname': 'vm',
        'refresh': True,
    }


def test_tell_treats_an_error_text_with_code_0_as_an_error(module: Any) -> None:
    def send(result: Any, *_: Any) -> None:
        result.complete(0, '', 'unknown command prefix nosuch')

    module.send_command = send
    with pytest.raises(CommandError, match=r'osd\.0: unknown command prefix nosuch'):
        MgrCluster(module).tell(0, 'nosuch', {})


def test_ok_to_stop_has_the_reason_of_a_refusal(module: Any) -> None:
    module.mon_answers = [(-errno.EBUSY, '{"ok_to_stop":false}', 'unsafe to stop'), (0, '{}', '')]
    cluster = MgrCluster(module)
    assert cluster.ok_to_stop([0]) == 'unsafe to stop'
    assert cluster.ok_to_stop([1]) is None


def test_stored_texts_are_read_and_removed(module: Any) -> None:
    store = MgrStore(module)
    store.set('history/2', 'b')
    store.set('history/1', 'a')
    store.set('rollout', 'x')
    assert store.get('history/1') == 'a'
    assert list(store.keys('history/')) == ['history/1', 'history/2']
    store.set('history/1', None)
    assert list(store.keys('history/')) == ['history/2']


def test_text_refused_by_the_monitors_is_not_considered_stored(module: Any) -> None:
    """`MgrModule.set_store` only logs that: a rollout would act on what no other manager knows."""
    module.module_name = 'rocksdb_tuner'
    store = MgrStore(module)
    store.set('rollout/current', 'old')
    refusal = 'error: entry size limited to 10 bytes.'
    module.mon_answers = [(-errno.EFBIG, '', refusal), (-errno.EACCES, '', 'access denied')]
    with pytest.raises(CommandError, match=refusal) as refused:
        store.set('rollout/current', 'much longer than that')
    assert refused.value.errno == errno.EFBIG
    with pytest.raises(CommandError, match='access denied'):
        store.set('rollout/current', None)
    assert store.get('rollout/current') == 'old'
    assert {c['key'] for c in module.mon_commands} == {'mgr/rocksdb_tuner/rollout/current'}


def test_managers_and_those_without_the_module_are_listed() -> None:
    modules = [{'name': 'status'}, {'name': 'rocksdb_tuner'}]
    mgr_map = {
        'active_name': 'x',
        'available_modules': modules,
        'standbys': [
            {'name': 'y', 'available_modules': modules[:1]},
            {'name': 'z', 'available_modules': modules},
            # As with an older Python: listed with the reason, and not run.
            {'name': 'w', 'available_modules': [{'name': 'rocksdb_tuner', 'can_run': False}]},
        ],
    }
    hosts = {'x': {'hostname': 'node1'}, 'y': {'hostname': 'node2'}}
    assert parse_managers(mgr_map, 'rocksdb_tuner', lambda name: hosts.get(name, {})) == (
        ManagerInfo('x', 'node1', active=True, has_module=True),
        ManagerInfo('y', 'node2', active=False, has_module=False),
        ManagerInfo('z', None, active=False, has_module=True),
        ManagerInfo('w', None, active=False, has_module=False),
    )


def test_between_two_active_managers_the_name_is_none() -> None:
    mgr_map = {'active_name': '', 'available_modules': [], 'standbys': []}
    assert parse_managers(mgr_map, 'rocksdb_tuner', lambda _: {}) == ()


@pytest.mark.parametrize(
    ('answer', 'expected'),
    [
        ((0, '{"in_progress": true, "target_image": "c:v18", "is_paused": true}', ''), 'c:v18'),
        ((0, '{"in_progress": true, "target_image": null}', ''), 'an unnamed image'),
        ((0, '{"in_progress": false, "target_image": null}', ''), None),
        # Tentacle
        ((0, 'There are no upgrades in progress currently.', ''), None),
        ((-2, '', 'No orchestrator configured (try `ceph orch set backend`)'), None),
        ((-2, '', 'This Orchestrator does not support `orch upgrade status`'), None),
    ],
)
def test_orchestrator_upgrade_is_detected_also_while_paused(
    module: Any, answer: Any, expected: Any
) -> None:
    module.mon_answers = [answer, (0, '{"available": true, "backend": "rook"}', '')]
    assert MgrCluster(module).orchestrated_upgrade() == expected


def test_backend_without_upgrade_is_queried_once_until_replaced(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each time the orchestrator writes a traceback to the log of the manager."""
    asked: list[str] = []
    backend = 'rook'
    now_s = 1000.0

    def mon_command(command: Any, inbuf: Any = None) -> Any:
        asked.append(command['prefix'])
        if command['prefix'] == 'orch status':
            return 0, json.dumps({'available': True, 'backend': backend}), ''
        if backend == 'rook':
            return -2, '', 'This Orchestrator does not support `orch upgrade status`'
        return 0, '{"in_progress": true, "target_image": "c:v18"}', ''

    monkeypatch.setattr(module, 'mon_command', mon_command)
    monkeypatch.setattr('rocksdb_tuner.mgr.adapter.time.monotonic', lambda: now_s)
    cluster = MgrCluster(module)
    for _ in range(100):
        assert cluster.orchestrated_upgrade() is None
        now_s += 2.0
    assert asked.count('orch upgrade status') == 1
    backend = 'cephadm'
    now_s += 16.0
    assert cluster.orchestrated_upgrade() == 'c:v18'


def test_failing_orchestrator_is_retried_later(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    monkeypatch.setattr('rocksdb_tuner.mgr.adapter.time.monotonic', lambda: now_s)
    module.mon_answers = [(-errno.EIO, '', 'ssh failed'), (0, '{"in_progress": false}', '')]
    cluster = MgrCluster(module)
    for _ in range(5):
        with pytest.raises(CommandError, match='ssh failed'):
            cluster.orchestrated_upgrade()
        now_s += 2.0
    assert len(module.mon_commands) == 1
    now_s += 10.0
    assert cluster.orchestrated_upgrade() is None


def test_versions_are_listed_per_daemon_type(module: Any) -> None:
    text = 'ceph version {} (618f440892089921c3e944a991122ddc44e60516) {} (stable)'
    old, new = text.format('16.2.15', 'pacific'), text.format('18.2.7', 'reef')
    answer = {'mon': {new: 3}, 'mgr': {new: 1, old: 1}, 'mds': {}, 'overall': {new: 4, old: 1}}
    module.mon_answers = [(0, json.dumps(answer), '')]
    assert MgrCluster(module).daemon_versions() == (
        DaemonVersions('mgr', ('16.2.15', '18.2.7')),
        DaemonVersions('mon', ('18.2.7',)),
    )


def _plainly(point: Any) -> Optional[CounterPoint]:
    """Two or three numbers of 64 bits, the last of which is a whole one or None."""
    if not isinstance(point, (list, tuple)) or len(point) not in (2, 3):
        return None
    time_s, value, count = (*point, None)[:3]
    for number in (time_s, value):
        if type(number) not in (int, float) or not 0 <= number < 1 << 64:
            return None
    if count is not None and (type(count) is not int or not 0 <= count < 1 << 64):
        return None
    return CounterPoint(time_s, int(value), count)


def test_a_counter_is_parsed_as_by_its_plain_definition() -> None:
    """Points of any length and kind, with numbers at and beyond their bounds."""
    numbers = [0, 7, 7.9, -1, -0.5, (1 << 64) - 1, 1 << 64, float('inf'), float('nan')]
    parts = [*numbers, True, None, 'a', [1]]
    shapes: list[Any] = [None, 5, 'ab', 'abc', {1: 2, 3: 4}, {1, 2}, [], [1.0], (1.0, 2, 3, 4)]
    shapes += [[a, b] for a in parts for b in parts]
    shapes += [(a, b, c) for a in parts for b in parts for c in parts]
    shapes += [CounterPoint(1.5, 2, 3), CounterPoint(1.5, 2)]
    found = [counter_point(shape) for shape in shapes]
    assert found == [_plainly(shape) for shape in shapes]
    assert {type(point) for point in found} == {CounterPoint, type(None)}
    assert all(type(point.value) is int for point in found if point is not None)


def test_an_osd_that_did_not_change_stays_the_same_object(module: Any) -> None:
    """After a change of the map only the OSD that changed is another object."""
    for name in ('osd_map', 'osd_map_crush', 'osd_metadata'):
        module.data[name] = recorded('pacific', name)
    (osd,) = module.data['osd_map']['osds']
    module.data['osd_map']['osds'] = [osd, {**osd, 'osd': 1}]
    cluster = MgrCluster(module)
    before = cluster.cluster_map()
    module.data['osd_map'] = {
        **module.data['osd_map'],
        'epoch': before.epoch + 1,
        'osds': [dict(osd), {**osd, 'osd': 1, 'up': 0}],
    }
    cluster.invalidate_map()
    after = cluster.cluster_map()
    assert after.epoch == before.epoch + 1
    assert after.osds[0] is before.osds[0]
    assert (before.osds[1].up, after.osds[1].up) == (True, False)
    assert after == parse_cluster_map(
        module.data['osd_map'], module.data['osd_map_crush'], module.data['osd_metadata']
    )


def test_times_of_reports_are_those_of_the_counter_that_each_report_has(module: Any) -> None:
    cluster = MgrCluster(module)
    module.counters = {('3', 'osd.op_w'): [100.5, 7]}
    assert list(cluster.report_times(3)) == [100.5]
    assert cluster.last_report_s(3) == 100.5
    assert list(cluster.report_times(4)) == []
    assert cluster.last_report_s(4) is None
    module.get_counter = lambda *_: {'osd.op_w': [[1.0, 7], [6.0, 7], 'no', [11.0, 9]]}
    assert list(MgrCluster(module).report_times(3)) == [1.0, 6.0, 11.0]
    module.get_counter = lambda *_: {'osd.op_w': None}
    assert list(MgrCluster(module).report_times(3)) == []


def test_osds_named_by_a_health_check_are_found() -> None:
    """Messages as 20.2.4 writes them; other messages and checks name none."""
    messages = (
        'osd.3 observed slow operation indications in BlueStore',
        ' osd.12 observed slow operation indications in BlueStore',
        'mon.a is low on available space',
    )
    check = {'severity': 'HEALTH_WARN', 'detail': [{'message': text} for text in messages]}
    health = {'checks': {'BLUESTORE_SLOW_OP_ALERT': check, 'OTHER': {}}}
    assert parse_alerting_osds(health, 'BLUESTORE_SLOW_OP_ALERT') == {3, 12}
    assert parse_alerting_osds(health, 'OTHER') == frozenset()
    assert parse_alerting_osds({}, 'OTHER') == frozenset()

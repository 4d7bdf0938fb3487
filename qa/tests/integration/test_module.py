"""The module in the mgr of a real cluster: measure, recognize, recommend, apply, undo.

The tests share one cluster and run in order; each leaves it as the next one finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import pytest
from shared_cluster import new_cluster

from announced import assert_announced, watched_rollout
from harness import ClusterSpec
from harness.layout import DEFAULT_MEMORY
from module_client import ALTERNATE_2019, OPTION, ModuleClient
from real_workload import recognized_during

pytestmark = [pytest.mark.integration, pytest.mark.rollouts]

GROUP = 'osd/class:ssd'
#: No OSD starts with an entry for its class, so the setting of a whole cluster goes here.
ALL = 'osd'


@dataclass(frozen=True)
class Change:
    """The recommended state of all OSDs, as (entries, (value, source) of every OSD)."""

    kind: str
    before: tuple[list[tuple[str, str, str]], tuple[str, str]]
    after: tuple[list[tuple[str, str, str]], tuple[str, str]]


@pytest.fixture(scope='module')
def tuner(release: str) -> Iterator[ModuleClient]:
    spec = ClusterSpec(release=release, osds=3, mgrs=2, rgw=True, osd_conf=DEFAULT_MEMORY)
    # Most of these rollouts run without clients: there would be nothing to judge by.
    with new_cluster(spec, often=True, restart_timeout='30', soak_max='0') as client:
        yield client


def for_all(tuner: ModuleClient, kind: str) -> Any:
    """A recommendation; that for some of them comes before the module has seen all restarts."""
    return tuner.wait_for_recommendation(
        kind, 120, lambda found: sorted(found['osds']) == [0, 1, 2]
    )


@pytest.fixture(scope='module')
def change(tuner: ModuleClient, release: str) -> Change:
    """What replaces a superseded string: a profile on Pacific, else the default."""
    tuner.cluster.ceph('config', 'set', ALL, OPTION, ALTERNATE_2019)
    tuner.restart_all()
    kind = 'set-profile' if release == 'pacific' else 'remove-override'
    wanted = for_all(tuner, kind)['options_to']
    before = ([(ALL, '', ALTERNATE_2019)], (ALTERNATE_2019, 'mon'))
    removed = kind == 'remove-override'
    after = ([], (wanted, 'default')) if removed else ([(ALL, '', wanted)], (wanted, 'mon'))
    return Change(kind, before, after)


def test_status_answers_and_names_unknown_values(tuner: ModuleClient, release: str) -> None:
    status = tuner.wait_for(
        lambda: (s := tuner.status())['sampling']['osds'] == 3 and s, 40, 'samples of all OSDs'
    )
    assert status['mode'] == 'recommend'
    assert status['release'] == release
    assert status['operation'] is None
    assert status['sampling']['tick_ms'] > 0
    assert [g['who'] for g in status['groups']] == [GROUP]
    assert 'ssd' in tuner.plain('status')


def test_doctor_names_missing_parts_with_the_fixing_command(tuner: ModuleClient) -> None:
    checks = tuner.wait_for(lambda: _checks_or_none(tuner), 90, 'an answer to every check')
    failed = {name for name, check in checks.items() if check['ok'] is False}
    # A fresh cluster serves no metrics and collects no statistics; the harness has no dashboard.
    assert failed == {'statistics', 'dashboard', 'metrics'}
    for name in failed:
        assert checks[name]['optional'] is True
        assert '"ceph ' in checks[name]['remedy']
    assert 'mgr.x' in checks['manager-files']['summary']
    assert 'mgr.y' in checks['manager-files']['summary']


def _checks(tuner: ModuleClient) -> dict[str, Any]:
    return {check['id']: check for check in tuner.json('doctor', schema='doctor')}


def _checks_or_none(tuner: ModuleClient) -> Optional[dict[str, Any]]:
    """None while a check has no answer, or others have not started: the orchestrator, a standby."""
    checks = _checks(tuner)
    started = checks['orchestrator']['ok'] and 'mgr.x' in str(checks) and 'mgr.y' in str(checks)
    unknown = [check for check in checks.values() if check['ok'] is None]
    return checks if started and not unknown else None


def test_fresh_cluster_needs_no_change(tuner: ModuleClient) -> None:
    assert tuner.wait_for(
        lambda: (w := tuner.group_workload()) and w['class'] == 'idle', 60, 'idle recognized'
    )
    assert tuner.recommendations() == []
    assert 'nothing to change' in ' '.join(tuner.plain('recommend').lower().split())
    assert tuner.status()['findings'] == {'error': 0, 'warning': 0, 'info': 0}


def test_s3_puts_are_classified_as_rgw_metadata(tuner: ModuleClient) -> None:
    recognized_during(tuner, 's3-put', 'rgw-metadata', 45)


def test_rbd_writes_are_classified_and_measured(tuner: ModuleClient, release: str) -> None:
    """Meanwhile the unsuitable default of Pacific is found, and no fault of others."""

    def advised() -> None:
        if release == 'pacific':
            assert tuner.wait_for_recommendation('set-profile', timeout_s=60)['who'] == ALL
        else:
            assert tuner.recommendations() == []

    osds = recognized_during(tuner, 'rbd-randwrite', 'rbd-small-write', 90, advised)
    assert len(osds) == 3
    for osd in osds:
        assert osd['up'] is True
        assert osd['device_class'] == 'ssd'
        assert osd['kv_sync_ms'] > 0
        assert 0 < osd['kv_sync_busy'] <= 1
        assert osd['wal_bytes_per_s'] > 0
        # The DB shares the OSD's only device, so there is no limit to show.
        assert osd['db_total_bytes'] is None
        assert osd['db_used_bytes'] > 0
    assert any(3000 < (o['write_bytes_avg'] or 0) < 6000 for o in osds)


def test_recommendation_shows_all_parts(tuner: ModuleClient, change: Change) -> None:
    (recommendation,) = tuner.recommendations()
    assert (recommendation['kind'], recommendation['who']) == (change.kind, ALL)
    assert recommendation['reasons']
    shown = tuner.json('recommend', recommendation['id'], schema='recommend-detail')
    assert shown['commands'][-3:] == [
        f'ceph config rm osd.{i} {OPTION}'
        for i in [int(c.split()[3][4:]) for c in shown['commands'][-3:]]
    ]
    # Long commands are broken as a shell lets one break them.
    text = re.sub(r"'\\\n'|(?<= )\\\n", '', tuner.plain('recommend', recommendation['id'], '--all'))
    for command in recommendation['commands'] + recommendation['undo_commands']:
        assert command in text


def test_dry_run_changes_nothing(tuner: ModuleClient, change: Change) -> None:
    (recommendation,) = tuner.recommendations()
    assert ALL in tuner.plain('apply', recommendation['id'], '--dry-run')
    assert tuner.operation() is None
    assert tuner.entries() == change.before[0]


def test_apply_changes_one_osd_at_a_time_and_ends_in_one_entry(
    tuner: ModuleClient, change: Change
) -> None:
    (recommendation,) = tuner.recommendations()
    before = tuner.nonces()
    tuner.plain('apply', recommendation['id'])
    _, text = tuner.refused('apply', recommendation['id'])
    # Advice may have changed in between.
    assert 'rollout' in text or 'does not exist' in text
    state, announced = watched_rollout(tuner)
    assert state['phase'] == 'done', '\n'.join(f'{k}: {v!r}' for k, v in state.items())
    assert announced.most_down <= 1
    assert_announced(tuner, state, announced)
    after = tuner.nonces()
    assert all(after[i] != before[i] for i in before)
    assert tuner.entries() == change.after[0]
    # Not the source: until its next restart a process of Reef names the entry it started with.
    assert [tuner.running(i)[0] for i in before] == [change.after[1][0]] * 3
    (record,) = tuner.json('history', schema='history')
    assert (record['outcome'], record['who'], record['to']) == ('done', ALL, change.after[1][0])


def test_rollback_restores_the_exact_previous_state(tuner: ModuleClient, change: Change) -> None:
    tuner.plain('rollback')
    assert tuner.wait_for_phase('rolled-back', 'failed')['phase'] == 'rolled-back'
    assert tuner.entries() == change.before[0]
    assert [tuner.running(i) for i in range(3)] == [change.before[1]] * 3
    assert tuner.json('history', schema='history')[0]['outcome'] == 'rolled-back'
    tuner.remove_entries()


def forget_clients(tuner: ModuleClient) -> None:
    """On Pacific there is a better set than the default for what they wrote."""
    tuner.cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/workload_memory', '0')


def test_override_equal_to_the_default_is_removed_without_a_restart(
    tuner: ModuleClient,
) -> None:
    """And the history names the client that sent `apply`."""
    cluster = tuner.cluster
    forget_clients(tuner)
    default, _ = tuner.running(0)
    cluster.ceph('config', 'set', ALL, OPTION, default)
    recommendation = tuner.wait_for_recommendation('remove-override')
    assert recommendation['restart_required'] is False
    nonces = tuner.nonces()
    keyring = cluster.layout.run_dir / 'alice.keyring'
    caps = ('mon', 'allow r', 'mgr', 'allow rw')
    keyring.write_text(cluster.ceph('auth', 'get-or-create', 'client.alice', *caps) + '\n')
    who = ('ceph', '-n', 'client.alice', '-k', str(keyring), 'rocksdb-tuner')
    cluster.client.run(*who, 'apply', recommendation['id'])
    assert tuner.wait_for_phase('done', 'failed')['phase'] == 'done'
    assert tuner.entries() == []
    assert tuner.nonces() == nonces
    assert tuner.json('history', schema='history')[-1]['actor'] == 'client.alice'


@pytest.mark.parametrize(
    ('words', 'code', 'named'),
    [
        (('recommend', 'nonsense'), 2, 'nonsense'),
        (('apply', 'nonsense'), 2, 'nonsense'),
        (('osd', '99'), 2, 'osd.99'),
        (('osd', 'x'), 22, '"x"'),
        (('mode', 'sometimes'), 22, 'auto-apply'),
        (('profile', 'show', 'nonsense'), 2, 'lz4-2025'),
        (('status', '--format', 'xml'), 22, 'xml'),
        (('rollback', 'nonsense'), 2, 'nonsense'),
        (('check', 'a=b', '--release', 'nonsense'), 22, 'nonsense'),
        (('explain', 'nonsense'), 2, 'nonsense'),
    ],
)
def test_bad_input_is_named_with_the_valid_form(
    tuner: ModuleClient, words: tuple[str, ...], code: int, named: str
) -> None:
    returned, text = tuner.refused(*words)
    assert returned == code, text
    assert named in text


@pytest.mark.parametrize(
    ('option', 'value'), [('mode', 'sometimes'), ('sample_interval', '-1'), ('mode', '')]
)
def test_monitor_refuses_a_module_option_out_of_range(
    tuner: ModuleClient, option: str, value: str
) -> None:
    ceph, name = tuner.cluster.ceph, f'mgr/rocksdb_tuner/{option}'
    before = ceph('config', 'get', 'mgr', name)
    with pytest.raises(Exception, match=r'EINVAL'):
        ceph('config', 'set', 'mgr', name, value)
    assert ceph('config', 'get', 'mgr', name) == before


def test_mode_off_reads_nothing_and_reports_that(tuner: ModuleClient) -> None:
    tuner.plain('mode', 'off')
    try:
        status = tuner.wait_for(
            lambda: (s := tuner.status())['mode'] == 'off' and s, 20, 'mode off'
        )
        assert status['sampling']['osds'] == 0
    finally:
        tuner.plain('mode', 'recommend')
    assert tuner.wait_for(lambda: tuner.status()['sampling']['osds'] == 3, 30, 'samples again')


def test_operator_change_during_a_rollout_wins(
    tuner: ModuleClient, superseded_override: None
) -> None:
    recommendation = for_all(tuner, 'remove-override')
    tuner.plain('apply', recommendation['id'])
    tuner.wait_for(lambda: len(tuner.entries()) > 1, 60, 'the first OSD being changed')
    tuner.cluster.ceph('config', 'set', 'osd.2', OPTION, 'compression=kLZ4Compression')
    try:
        tuner.wait_for_phase('failed', timeout_s=120)
        assert ('osd.2', '', 'compression=kLZ4Compression') in tuner.entries()
        assert 'outside this rollout' in ' '.join(tuner.plain('operation', 'status').split())
    finally:
        tuner.cluster.ceph('config', 'rm', 'osd.2', OPTION)
    tuner.plain('rollback')
    assert tuner.wait_for_phase('rolled-back', 'failed')['phase'] == 'rolled-back'


def test_rollout_without_an_orchestrator_names_the_osd_to_restart_and_outlives_its_manager(
    tuner: ModuleClient, superseded_override: None
) -> None:
    """The first OSD is restarted manually; the next manager has an orchestrator, and goes on."""
    cluster = tuner.cluster
    recommendation = for_all(tuner, 'remove-override')

    def wait_for(osd_id: int) -> None:
        text = f'restart osd.{osd_id} next'
        tuner.wait_for(
            lambda: (
                (state := tuner.operation())
                and state['phase'] == 'waiting'
                and text in (state['paused_reason'] or '')
            ),
            180,
            text,
        )

    cluster.ceph('orch', 'set', 'backend', '')
    try:
        tuner.wait_for(lambda: _checks(tuner)['orchestrator']['ok'] is False, 60, 'it unavailable')
        # The canary is chosen by what the OSDs do at this moment.
        started = tuner.json('apply', recommendation['id'], schema='operation')
        order = [n for batch in started['batches'] for n in batch['osds']]
        wait_for(order[0])
        cluster.restart_osd(order[0])
        # This state lasts: the manager is not caught between two others
        wait_for(order[1])
        active = tuner.active_manager()
        cluster.ceph('mgr', 'fail', active)
        tuner.wait_for_takeover(active)
    finally:
        cluster.ceph('orch', 'set', 'backend', 'test_orchestrator')
    state = tuner.wait_for_phase('done', 'failed', timeout_s=300)
    assert state['phase'] == 'done', '\n'.join(f'{k}: {v!r}' for k, v in state.items())
    assert tuner.entries() == []
    default = tuner.json('history', schema='history')[-1]['to']
    assert {tuner.running(i)[0] for i in range(3)} == {default}


def test_broken_stored_state_is_quarantined_and_never_applied(
    tuner: ModuleClient,
) -> None:
    cluster = tuner.cluster
    keys = ['mgr/rocksdb_tuner/rollout/current']
    assert keys[0] in cluster.ceph_json('config-key', 'ls')
    cluster.ceph('config-key', 'set', keys[0], '{"version": 1, "trunca')
    entries = tuner.entries()
    cluster.ceph('mgr', 'fail', tuner.active_manager())
    tuner.wait_for(
        lambda: 'ROCKSDB_TUNER_STATE_BROKEN' in cluster.ceph_json('health')['checks'],
        90,
        'the health check',
    )
    assert tuner.status()['operation'] is None
    assert tuner.entries() == entries
    aside = [k for k in cluster.ceph_json('config-key', 'ls') if 'rocksdb_tuner/broken' in k]
    assert [cluster.ceph('config-key', 'get', k).strip() for k in aside] == [
        '{"version": 1, "trunca'
    ]


@pytest.fixture
def superseded_override(tuner: ModuleClient, release: str) -> None:
    """All OSDs run a string that the default should replace, by one entry."""
    forget_clients(tuner)
    stale = tuner.stale_override(release)
    tuner.cluster.ceph('config', 'set', ALL, OPTION, stale)
    assert tuner.entries() == [(ALL, '', stale)]
    tuner.restart(*(n for n in range(3) if tuner.running(n) != (stale, 'mon')))
    tuner.wait_for_clean()

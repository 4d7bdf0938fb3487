"""When an OSD may be restarted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.records import DaemonVersions, PgSummary
from rocksdb_tuner.operations.gates import (
    HOLDING_FLAGS,
    HOLDING_HEALTH,
    closed_gate,
    placement_groups,
)
from rocksdb_tuner.operations.rollout.rules import Observation
from rocksdb_tuner.tests.fake_cluster import FakeCluster


def seen(cluster: FakeCluster | None = None, **changes: object) -> Observation:
    cluster = cluster or FakeCluster()
    observation = Observation(
        cluster=cluster.cluster_map(),
        pgs=cluster.pg_summary(),
        health=frozenset(cluster.health_codes()),
        entries={},
        ok_to_stop={0: None},
        versions=cluster.daemon_versions(),
    )
    return replace(observation, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    'state',
    [
        'active+undersized+degraded',
        'active+recovering',
        'active+clean+inconsistent',
        'stale+active+clean',
        'peering',
        'active+remapped+backfilling',
        'unknown',
        'active+recovery_wait+degraded',
        'down',
        'active+clean+scrubbing+deep+repair',
    ],
)
def test_unclean_placement_group_closes_the_gate_by_name(state: str) -> None:
    pgs = PgSummary(33, 33, (('active+clean', 32), (state, 1)))
    assert state in (placement_groups(seen(pgs=pgs)) or '')


@pytest.mark.parametrize(
    'state',
    [
        'active+clean',
        'active+clean+scrubbing',
        'active+clean+scrubbing+deep',
        'active+clean+snaptrim',
    ],
)
def test_clean_placement_group_closes_nothing(state: str) -> None:
    pgs = PgSummary(33, 33, (('active+clean', 30), (state, 3)))
    assert placement_groups(seen(pgs=pgs)) is None


@pytest.mark.parametrize(
    'state',
    [
        'backfill_toofull',
        'backfill_unfound',
        'backfill_wait',
        'backfilling',
        'degraded',
        'down',
        'forced_backfill',
        'forced_recovery',
        'incomplete',
        'inconsistent',
        'peered',
        'peering',
        'recovering',
        'recovery_toofull',
        'recovery_unfound',
        'recovery_wait',
        'repair',
        'stale',
        'undersized',
        'unknown',
    ],
)
def test_busy_state_closes_the_gate_beside_active_and_clean_too(state: str) -> None:
    pgs = PgSummary(33, 33, (('active+clean', 32), (f'active+clean+{state}', 1)))
    assert state in (placement_groups(seen(pgs=pgs)) or '')


def test_first_four_states_are_named_in_alphabetical_order() -> None:
    """The text is stored when it changes, and must not change without need."""
    pgs = PgSummary(33, 20, tuple((state, 1) for state in ('peering', 'down', 'stale', 'a', 'b')))
    reported = 'placement groups are not all active+clean (a, b, down, peering)'
    assert placement_groups(seen(pgs=pgs)) == reported


def test_all_flags_and_health_checks_are_named_in_alphabetical_order() -> None:
    cluster = FakeCluster()
    cluster.flags |= HOLDING_FLAGS
    reported = closed_gate(seen(cluster), 0)
    assert reported == f'flags set on the cluster: {", ".join(sorted(HOLDING_FLAGS))}'
    reported = closed_gate(seen(health=HOLDING_HEALTH), 0)
    assert reported == f'cluster health: {", ".join(sorted(HOLDING_HEALTH))}'


@pytest.mark.parametrize(
    'code',
    [
        'DAEMON_OLD_VERSION',
        'MON_DOWN',
        'OSDMAP_FULL',
        'OSDMAP_NEARFULL',
        'OSD_BACKFILLFULL',
        'OSD_DOWN',
        'OSD_FLAGS',
        'OSD_FULL',
        'OSD_NEARFULL',
        'PG_AVAILABILITY',
        'PG_BACKFILL_FULL',
        'PG_DAMAGED',
        'PG_DEGRADED',
        'PG_RECOVERY_FULL',
        'POOL_BACKFILLFULL',
        'POOL_FULL',
        'POOL_NEARFULL',
    ],
)
def test_health_check_of_space_redundancy_or_quorum_closes_the_gate_by_name(code: str) -> None:
    closed = closed_gate(seen(health=frozenset({code, 'MON_CLOCK_SKEW'})), 0)
    assert closed == f'cluster health: {code}'


@pytest.mark.parametrize(
    'flag',
    [
        'full',
        'nearfull',
        'nobackfill',
        'nodown',
        'noin',
        'noout',
        'norebalance',
        'norecover',
        'noup',
        'pause',
        'pauserd',
        'pausewr',
    ],
)
def test_flag_closes_the_gate_by_name(flag: str) -> None:
    cluster = FakeCluster()
    cluster.flags |= {flag, 'noscrub', 'nodeep-scrub', 'notieragent', 'nosnaptrim'}
    assert closed_gate(seen(cluster), 0) == f'flags set on the cluster: {flag}'


def test_osd_that_is_down_is_not_restarted() -> None:
    cluster = seen().cluster
    osds = (replace(cluster.osds[0], up=False, in_cluster=False), *cluster.osds[1:])
    closed = closed_gate(replace(seen(), cluster=replace(cluster, osds=osds)), 0)
    assert closed == 'osd.0 is down'


def test_manager_without_placement_group_data_waits() -> None:
    empty = PgSummary(0, 0, ())
    assert 'not known yet' in (placement_groups(seen(pgs=empty)) or '')
    without_pools = replace(seen(pgs=empty), cluster=replace(seen().cluster, pools=()))
    assert placement_groups(without_pools) is None


def test_missing_osd_is_not_stopped_though_ok_to_stop() -> None:
    assert closed_gate(seen(ok_to_stop={9: None}), 9) == 'osd.9 is not in the OSD map'


def test_osd_without_an_address_cannot_be_tracked() -> None:
    cluster = seen().cluster
    osds = (replace(cluster.osds[0], nonce=None), *cluster.osds[1:])
    closed = closed_gate(replace(seen(), cluster=replace(cluster, osds=osds)), 0)
    assert closed == 'the address of osd.0 is not known'


def test_osd_without_metadata_is_awaited() -> None:
    cluster = seen().cluster
    osds = (replace(cluster.osds[0], version=None), *cluster.osds[1:])
    closed = closed_gate(replace(seen(), cluster=replace(cluster, osds=osds)), 0)
    assert closed == 'the version of osd.0 is not known yet'


@pytest.mark.parametrize('kind', ['mon', 'mgr', 'osd'])
def test_daemon_of_another_version_closes_the_gate(kind: str) -> None:
    """An upgrade reaches managers and monitors first, and OSDs outside the rollout before it."""
    others = tuple(
        replace(found, versions=('16.2.15', '18.2.7')) if found.kind == kind else found
        for found in FakeCluster().daemon_versions()
    )
    closed = closed_gate(seen(versions=others), 0)
    assert closed is not None
    assert 'as in an upgrade' in closed
    assert f'{kind} 16.2.15 and 18.2.7' in closed


def test_gateways_of_another_version_close_nothing() -> None:
    """They are upgraded last and by themselves, and hold no placement groups."""
    versions = (*FakeCluster().daemon_versions(), DaemonVersions('rgw', ('15.2.17',)))
    assert closed_gate(seen(versions=versions), 0) is None


def test_orchestrator_upgrade_closes_the_gate_before_any_daemon_changed() -> None:
    closed = closed_gate(seen(upgrade='example/ceph:v18.2.7'), 0)
    assert closed == 'Ceph is being upgraded: example/ceph:v18.2.7'
    # The orchestrator has answered, even without reports on running options.
    assert closed_gate(seen(upgrade='example/ceph:v18.2.7', versions=None), 0) == closed


@pytest.mark.parametrize(
    ('answers', 'message'),
    [
        ({}, 'no ok-to-stop answer for osd.0 yet'),
        ({0: '19 PGs would become offline'}, 'osd.0 is not ok-to-stop: 19 PGs'),
    ],
)
def test_only_an_explicit_yes_allows_a_stop(answers: dict[int, str], message: str) -> None:
    assert message in (closed_gate(seen(ok_to_stop=answers), 0) or '')


def test_mode_is_checked_first() -> None:
    cluster = FakeCluster()
    cluster.flags.add('noout')
    assert 'mode' in (closed_gate(seen(cluster, may_act=False), 0) or '')


def test_other_down_osd_closes_the_gate_by_name_unless_out() -> None:
    cluster = FakeCluster()
    cluster.stop_osd(2)
    assert closed_gate(seen(cluster), 0) == 'osd.2 is down'
    assert closed_gate(seen(cluster), 2) == 'osd.2 is down'
    cluster.osds[2].in_cluster = False
    cluster.advance(60)
    assert closed_gate(seen(cluster), 0) is None


def test_placement_groups_close_the_gate_even_if_the_osd_is_ok_to_stop() -> None:
    """`ok-to-stop` only considers min_size."""
    pgs = PgSummary(33, 32, (('active+clean', 32), ('active+undersized+degraded', 1)))
    assert 'degraded' in (closed_gate(seen(pgs=pgs), 0) or '')


def test_manager_without_osd_reports_restarts_none() -> None:
    closed = closed_gate(seen(no_reports_reason='no OSD reports to this manager'), 0)
    assert closed == 'no OSD reports to this manager'


def test_recently_changed_osd_closes_the_gate() -> None:
    """Its placement groups seem unchanged until the next report."""
    assert 'not every OSD has reported' in (closed_gate(seen(osds_moved=True), 0) or '')

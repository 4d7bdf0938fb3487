"""When an OSD may be restarted: each gate says by name what closes it, and how to open it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.mgr.records import DaemonVersions, PgSummary
from rocksdb_tuner.operations.announce import with_remedy
from rocksdb_tuner.operations.gates import (
    HOLDING_FLAGS,
    HOLDING_HEALTH,
    NOT_ALLOWED,
    closed_gate,
    placement_groups,
    upgrading,
)
from rocksdb_tuner.operations.rollout.rules import Observation
from rocksdb_tuner.tests.fake_cluster import FakeCluster

FLAGS = (
    'full nearfull nobackfill nodown noin noout norebalance norecover noup pause pauserd pausewr'
)
HEALTH = (
    'DAEMON_OLD_VERSION MON_DOWN OSDMAP_FULL OSDMAP_NEARFULL OSD_BACKFILLFULL OSD_DOWN OSD_FLAGS '
    'OSD_FULL OSD_NEARFULL PG_AVAILABILITY PG_BACKFILL_FULL PG_DAMAGED PG_DEGRADED '
    'PG_RECOVERY_FULL POOL_BACKFILLFULL POOL_FULL POOL_NEARFULL'
)
#: Of a placement group, beside active and clean.
BUSY = (
    'backfill_toofull backfill_unfound backfill_wait backfilling degraded down forced_backfill '
    'forced_recovery incomplete inconsistent peered peering recovering recovery_toofull '
    'recovery_unfound recovery_wait repair stale undersized unknown'
)
UNCLEAN = (
    'active+undersized+degraded active+recovering active+clean+inconsistent stale+active+clean '
    'peering active+remapped+backfilling unknown active+recovery_wait+degraded down '
    'active+clean+scrubbing+deep+repair'
)


def seen(**changes: Any) -> Observation:
    """``osd``: what differs of osd.0; ``flags``: more of them."""
    cluster = FakeCluster()
    seen_map = cluster.cluster_map()
    osds = (replace(seen_map.osds[0], **changes.pop('osd', {})), *seen_map.osds[1:])
    flags = seen_map.flags | changes.pop('flags', set())
    given = {
        'cluster': replace(seen_map, osds=osds, flags=flags),
        'pgs': cluster.pg_summary(),
        'health': frozenset(),
        'ok_to_stop': {0: None},
        'versions': cluster.daemon_versions(),
        **changes,
    }
    return Observation(**given)


def states(*others: str) -> PgSummary:
    return PgSummary(33, 33 - len(others), (('active+clean', 30), *((one, 1) for one in others)))


def mixed(kind: str) -> tuple[DaemonVersions, ...]:
    found = FakeCluster().daemon_versions()
    return tuple(
        replace(one, versions=('16.2.15', '18.2.7')) if one.kind == kind else one for one in found
    )


UPGRADE = {'upgrade': 'example/ceph:v18.2.7'}
UPGRADED = 'Ceph is being upgraded: example/ceph:v18.2.7'


@pytest.mark.parametrize(
    ('changes', 'closed'),
    [
        ({}, None),
        # The mode is checked first.
        ({'may_act': False, 'flags': {'noout'}}, NOT_ALLOWED),
        ({'no_reports_reason': 'no OSD reports'}, 'no OSD reports'),
        ({'osd': {'osd_id': 9}}, 'osd.0 is not in the OSD map'),
        ({'osd': {'up': False, 'in_cluster': False}}, 'osd.0 is down'),
        # It could not be tracked, or its release is not known.
        ({'osd': {'nonce': None}}, 'the address of osd.0 is not known'),
        ({'osd': {'version': None}}, 'the version of osd.0 is not known yet'),
        # Its placement groups seem unchanged until the next report.
        (
            {'osds_moved': True},
            'not every OSD has reported its placement groups since OSDs last changed',
        ),
        *(
            (
                {'flags': {flag, 'noscrub', 'nodeep-scrub', 'notieragent', 'nosnaptrim'}},
                f'flags set on the cluster: {flag}',
            )
            for flag in FLAGS.split()
        ),
        ({'flags': HOLDING_FLAGS}, f'flags set on the cluster: {", ".join(FLAGS.split())}'),
        *(
            ({'health': frozenset({code, 'MON_CLOCK_SKEW'})}, f'cluster health: {code}')
            for code in HEALTH.split()
        ),
        ({'health': HOLDING_HEALTH}, f'cluster health: {", ".join(HEALTH.split())}'),
        # `ok-to-stop` only considers min_size.
        (
            {'pgs': states('active+undersized+degraded')},
            'placement groups are not all active+clean (active+undersized+degraded)',
        ),
        ({'versions': None}, 'daemon versions are not known yet'),
        # An upgrade reaches managers and monitors first, and OSDs outside the rollout before it.
        *(
            (
                {'versions': mixed(kind)},
                'daemons run different versions, as in an upgrade: '
                + ', '.join(
                    f'{one} 16.2.15 and 18.2.7' if one == kind else f'{one} 16.2.15'
                    for one in ('mgr', 'mon', 'osd')
                ),
            )
            for kind in ('mgr', 'mon', 'osd')
        ),
        # Gateways are upgraded last and by themselves, and hold no placement groups.
        (
            {'versions': (*FakeCluster().daemon_versions(), DaemonVersions('rgw', ('15.2.17',)))},
            None,
        ),
        # The orchestrator has answered, even without reports on running versions.
        (UPGRADE, UPGRADED),
        ({**UPGRADE, 'versions': None}, UPGRADED),
        ({'ok_to_stop': {}}, 'no ok-to-stop answer for osd.0 yet'),
        ({'ok_to_stop': {0: '19 PGs'}}, 'osd.0 is not ok-to-stop: 19 PGs'),
    ],
)
def test_gate_is_closed_by_name(changes: Mapping[str, Any], closed: str | None) -> None:
    """The first in order; only an explicit yes opens the last one."""
    assert closed_gate(seen(**dict(changes)), 0) == closed


def test_other_down_osd_closes_the_gate_by_name_unless_out() -> None:
    assert closed_gate(seen(osd={'up': False}, ok_to_stop={1: None}), 1) == 'osd.0 is down'
    out = seen(osd={'up': False, 'in_cluster': False}, ok_to_stop={1: None})
    assert closed_gate(out, 1) is None


def test_unsettled_placement_groups_are_named() -> None:
    for state in (*UNCLEAN.split(), *(f'active+clean+{one}' for one in BUSY.split())):
        assert f'({state})' in (placement_groups(seen(pgs=states(state))) or ''), state
    for state in ('', '+scrubbing', '+scrubbing+deep', '+snaptrim'):
        pgs = PgSummary(33, 33, ((f'active+clean{state}', 33),))
        assert placement_groups(seen(pgs=pgs)) is None
    # The text is stored when it changes, and must not change without need.
    five = states('peering', 'down', 'stale', 'a', 'b')
    found = 'placement groups are not all active+clean (a, b, down, peering)'
    assert placement_groups(seen(pgs=five)) == found


def test_manager_without_placement_group_data_waits() -> None:
    empty = seen(pgs=PgSummary(0, 0, ()))
    assert placement_groups(empty) == 'placement group states are not known yet'
    assert placement_groups(replace(empty, cluster=replace(empty.cluster, pools=()))) is None
    # Counted before all of them were reported.
    counted = seen(pgs=PgSummary(33, 32, (('active+clean', 33),)))
    assert placement_groups(counted) == 'placement groups are not all active+clean'
    assert upgrading(seen(versions=None)) is None


@pytest.mark.parametrize(
    ('reason', 'remedy'),
    [
        ('osd.7 is down', 'ceph osd out 7'),
        ('flags set on the cluster: noout', 'ceph osd unset'),
        ('cluster health: MON_DOWN', 'ceph health detail'),
        ('placement groups are not all active+clean', 'ceph pg dump_stuck'),
        ('Ceph is being upgraded: 18', 'ceph orch upgrade status'),
        ('daemons run different versions, as in', 'ceph versions'),
        ('osd.3 is not ok-to-stop: unsafe', 'ceph osd ok-to-stop'),
        ('anything else', 'operation abort'),
    ],
)
def test_each_gate_names_its_remedy(reason: str, remedy: str) -> None:
    found = with_remedy(reason, 'rollout')
    assert found.startswith(f'{reason}; ')
    assert remedy in found
    assert found.endswith('"ceph rocksdb-tuner operation abort" ends the rollout')

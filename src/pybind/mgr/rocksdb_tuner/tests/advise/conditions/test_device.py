"""Conditions of devices: found beyond their thresholds, silent at them and without a figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.records import Severity
from rocksdb_tuner.observe.growth import Forecast, Outlook
from rocksdb_tuner.workload.records import WorkloadClass

from ...fake_cluster import DEFAULTS
from .scenes import GIB, found, seen

DEDICATED = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'main_device_bytes': 4000 * GIB}


def dedicated(osd_id: int = 0, info: Optional[dict[str, Any]] = None, **signals: Any) -> Any:
    values = {'db_used_bytes': 50 * GIB, 'db_total_bytes': 100 * GIB, 'slow_used_bytes': 0}
    return seen(osd_id, info={**DEDICATED, **(info or {})}, **{**values, **signals})


def test_a_healthy_db_device_is_nothing_to_point_out() -> None:
    assert found(dedicated()) == {}


def test_data_on_the_slow_device_is_pointed_out_only_where_the_db_has_its_own() -> None:
    finding = found(dedicated(slow_used_bytes=GIB, db_used_bytes=90 * GIB))['spillover']
    assert finding.osds == (0,)
    assert finding.severity is Severity.WARNING
    assert finding.commands[0] == 'ceph tell osd.0 compact'
    shared = {'dedicated_db': False}
    assert 'spillover' not in found(dedicated(info=shared, slow_used_bytes=GIB))
    assert 'spillover' not in found(dedicated(slow_used_bytes=None))
    assert 'spillover' not in found(dedicated(slow_used_bytes=0))


def test_a_spill_from_flash_to_flash_is_only_worth_knowing() -> None:
    osd = dedicated(info={'main_rotational': False}, slow_used_bytes=GIB, db_used_bytes=90 * GIB)
    assert found(osd)['spillover'].severity is Severity.INFO


def test_many_that_spilled_are_one_finding_and_the_worst_is_named() -> None:
    osds = [dedicated(i, slow_used_bytes=(i + 1) * GIB, db_used_bytes=90 * GIB) for i in range(30)]
    finding = found(*osds)['spillover']
    assert finding.osds[0] == 29
    assert len(finding.osds) == 30
    assert finding.evidence[0].value == 'osd.29'
    assert finding.evidence[1].value == 30 * GIB
    assert len(finding.summary) < 200


@pytest.mark.parametrize(('used_gib', 'fires'), [(69, True), (70, False), (90, False)])
def test_a_spill_with_room_left_names_the_level_that_does_not_fit(
    used_gib: int, fires: bool
) -> None:
    names = found(dedicated(slow_used_bytes=56 * GIB, db_used_bytes=used_gib * GIB))
    assert ('level-does-not-fit' in names) is fires
    if fires:
        # 256 MiB, 2.5 GiB, 25 GiB and 250 GiB: RocksDB's own base of Pacific's default.
        assert 'levels 1 to 3 fit, level 4 does not' in names['level-does-not-fit'].summary


def test_a_preallocated_wal_that_does_not_fit_is_no_level() -> None:
    """Seen on 16.2.15: a DB device of 128 MiB spills 282 MiB without any load."""
    mib = 1 << 20
    osd = dedicated(db_total_bytes=128 * mib, db_used_bytes=16 * mib, slow_used_bytes=282 * mib)
    assert 'not even level 1 fits' in found(osd)['level-does-not-fit'].summary


@pytest.mark.parametrize(
    ('does', 'db_gib', 'fires'),
    [
        (None, 39, True),
        (None, 40, False),
        (WorkloadClass.RBD_SMALL_WRITE, 40, False),
        (WorkloadClass.RGW_METADATA, 159, True),
        (WorkloadClass.RGW_METADATA, 160, False),
        (None, None, False),
    ],
)
def test_a_db_device_below_the_documented_share_is_worth_knowing(
    does: Optional[WorkloadClass], db_gib: Optional[int], fires: bool
) -> None:
    size = None if db_gib is None else db_gib * GIB
    names = found(seen(does=does, info={**DEDICATED, 'db_device_bytes': size}))
    assert ('db-device-small' in names) is fires
    if fires:
        assert names['db-device-small'].severity is Severity.INFO


@pytest.mark.parametrize(('used_gib', 'fires'), [(84, False), (85, True), (100, True)])
def test_a_nearly_full_db_device_is_pointed_out_before_it_spills(
    used_gib: int, fires: bool
) -> None:
    assert ('db-device-nearly-full' in found(dedicated(db_used_bytes=used_gib * GIB))) is fires
    spilled = dedicated(db_used_bytes=used_gib * GIB, slow_used_bytes=1)
    assert 'db-device-nearly-full' not in found(spilled)


def test_how_full_is_nearly_full_is_the_operators_to_say() -> None:
    names = found(dedicated(db_used_bytes=60 * GIB), limits={'db_used_limit': 0.6})
    assert 'db-device-nearly-full' in names


@pytest.mark.parametrize('missing', ['db_used_bytes', 'db_total_bytes'])
def test_a_size_that_is_not_known_gives_no_finding(missing: str) -> None:
    sizes: dict[str, Any] = {'db_used_bytes': 99 * GIB, missing: None}
    assert found(dedicated(**sizes)) == {}


def forecast(days: Optional[float], outlook: Outlook = Outlook.FILLING) -> Forecast:
    full_s = None if days is None else days * 86400
    return Forecast(outlook, 0.0, 86400.0, 49, 1.0, 0.5, 2.0, full_s, full_s, full_s)


@pytest.mark.parametrize(
    ('expected', 'fires'),
    [
        (forecast(13.9), True),
        (forecast(14.1), False),
        (forecast(None, Outlook.NOT_ENOUGH_HISTORY), False),
        (forecast(None, Outlook.NOT_GROWING), False),
        (forecast(None, Outlook.BEYOND_HORIZON), False),
        (forecast(None, Outlook.SPILLED), False),
        (None, False),
    ],
)
def test_a_db_device_that_will_be_full_within_two_weeks_is_pointed_out(
    expected: Optional[Forecast], fires: bool
) -> None:
    osd = seen(info=DEDICATED, more={'forecast': expected})
    assert ('db-device-filling' in found(osd)) is fires


def test_an_osd_that_is_not_seen_is_not_forecast() -> None:
    osd = seen(info=DEDICATED, more={'forecast': forecast(1.0)})
    assert 'db-device-filling' not in found(osd._replace(signals=None))


@pytest.mark.parametrize(
    ('used_gib', 'size_gib', 'fires'),
    [(50, 100, True), (49, 100, False), (9, 10, False), (10, 10, True), (None, 100, False)],
)
def test_an_osd_that_holds_mostly_metadata_is_pointed_out(
    used_gib: Optional[int], size_gib: int, fires: bool
) -> None:
    used = None if used_gib is None else used_gib * GIB
    osd = seen(info={'main_device_bytes': size_gib * GIB}, db_used_bytes=used)
    assert ('metadata-fills-device' in found(osd)) is fires


@pytest.mark.parametrize(
    ('wal_bytes', 'options', 'fires'),
    [
        # Its files take 1.65 times what is in them, and one is preallocated.
        (GIB, None, True),
        (2 * GIB, None, False),
        (100 << 20, 'max_total_wal_size=67108864,write_buffer_size=8M', True),
        (120 << 20, 'max_total_wal_size=67108864,write_buffer_size=8M', False),
        (20 * GIB, 'write_buffer_size=67108864', False),
        (19 * GIB, 'write_buffer_size=67108864', True),
        (None, None, False),
    ],
)
def test_a_wal_that_may_outgrow_its_device_is_pointed_out(
    wal_bytes: Optional[int], options: Optional[str], fires: bool
) -> None:
    info = {'dedicated_wal': True, 'wal_device_bytes': wal_bytes}
    assert ('wal-device-small' in found(seen(options=options, info=info))) is fires
    later = seen(0, 'later', 'max_total_wal_size=0', info=info)
    assert 'wal-device-small' not in found(later)


@pytest.mark.parametrize(('size', 'fires'), [(4096, False), (16384, True), (None, False)])
def test_allocation_units_of_old_osds_are_worth_knowing(size: Optional[int], fires: bool) -> None:
    names = found(seen(info={'min_alloc_size_bytes': size}))
    assert ('large-min-alloc-size' in names) is fires


def test_an_unsharded_rocksdb_gets_the_sharding_of_its_release() -> None:
    finding = found(seen(release='reef', options=DEFAULTS['reef'], more={'sharded': False}))[
        'unsharded'
    ]
    assert finding.commands[-1] == (
        'ceph-bluestore-tool --path /var/lib/ceph/osd/ceph-0 '
        "--sharding='m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} "
        "L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32' reshard"
    )
    assert 'Never interrupt' in (finding.do_not or '')
    assert 'unsharded' not in found(seen(more={'sharded': True}))
    assert 'unsharded' not in found(seen(more={'sharded': None}))


def made_by(
    version: Optional[str], release: str = 'reef', sharded: Optional[bool] = True, **info: Any
) -> Any:
    known = {'created_version': version, **info}
    return seen(release=release, options=DEFAULTS[release], info=known, more={'sharded': sharded})


def test_an_osd_upgraded_from_pacific_keeps_pacifics_column_families() -> None:
    finding = found(made_by('16.2.15'))['outdated-sharding']
    assert finding.severity is Severity.INFO
    evidence = {e.signal: e.value for e in finding.evidence}
    assert evidence['ceph_version_when_created'] == '16.2.15'
    # 6 memtables of 16 MiB, as the string says; 32 where P has an option of its own.
    assert evidence['flush of P'] == 6 * 16 << 20
    assert evidence['flush of P then'] == 32 * 16 << 20
    path = '--path /var/lib/ceph/osd/ceph-0'
    show = f'ceph-bluestore-tool {path} show-sharding'
    assert finding.commands == (
        'ceph osd ok-to-stop 0',
        'ceph osd set-group noout osd.0',
        'ceph orch daemon stop osd.0',
        show,
        f"ceph-bluestore-tool {path} --sharding='m(3) p(3,0-12) O(3,0-13)=block_cache={{type="
        'binned_lru} L=min_write_buffer_number_to_merge=32 '
        "P=min_write_buffer_number_to_merge=32' reshard",
        show,
        'ceph orch daemon start osd.0',
        'ceph osd unset-group noout osd.0',
    )


@pytest.mark.parametrize(
    'osd',
    [
        made_by('18.2.7'),
        # The definition did not change between these.
        made_by('18.2.0'),
        made_by('16.2.15', 'pacific'),
        made_by(None),
        made_by('15.2.17'),
        made_by('16.2.15', sharded=False),
        made_by('16.2.15', sharded=None),
        # It says itself that it was resharded.
        made_by(
            '16.2.15',
            sharding='m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} '
            'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32',
        ),
        made_by('16.2.15', sharding='not a definition ('),
    ],
)
def test_a_reshard_is_not_offered_where_it_changes_nothing_or_nobody_knows(osd: Any) -> None:
    assert 'outdated-sharding' not in found(osd)


def test_a_reported_definition_counts_more_than_the_release_that_made_the_osd() -> None:
    finding = found(made_by('18.2.7', sharding='m(3) P'))['outdated-sharding']
    assert finding.evidence[1].value == 'm(3) P'


def test_what_a_flush_of_the_pg_log_holds_is_not_known_of_a_string_that_cannot_be_read() -> None:
    osd = made_by('16.2.15')
    assert osd.options is not None
    for text in ('write_buffer_size', 'write_buffer_size=a lot', 'nobody_knows=1'):
        unread = osd._replace(options=replace(osd.options, running=text))
        evidence = found(unread)['outdated-sharding'].evidence
        assert [e.value for e in evidence if e.unit == 'bytes'] == [None, None], text

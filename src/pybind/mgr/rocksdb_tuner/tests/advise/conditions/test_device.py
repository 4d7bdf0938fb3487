"""Conditions of devices: found beyond their thresholds, silent at them and without a figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.facts import release_of_osd
from rocksdb_tuner.advise.records import Setting, Severity
from rocksdb_tuner.advise.strings import check
from rocksdb_tuner.advise.whatif.situation import situation_of_osd
from rocksdb_tuner.advise.whatif.tree import model_in
from rocksdb_tuner.lsm.levels import fitting_levels, tree_options
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.options.syntax import parse
from rocksdb_tuner.workload.records import WorkloadClass

from ...fake_cluster import DEFAULTS
from .builders import GIB, found, seen

DEDICATED = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'main_device_bytes': 4000 * GIB}


def dedicated(osd_id: int = 0, info: Optional[dict[str, Any]] = None, **signals: Any) -> Any:
    values = {'db_used_bytes': 50 * GIB, 'db_total_bytes': 100 * GIB, 'slow_used_bytes': 0}
    return seen(osd_id, info={**DEDICATED, **(info or {})}, **{**values, **signals})


def test_healthy_db_device_has_no_finding() -> None:
    assert found(dedicated()) == {}


def test_metadata_on_the_slow_device_is_reported_only_with_a_dedicated_db_device() -> None:
    finding = found(dedicated(slow_used_bytes=GIB, db_used_bytes=90 * GIB))['spillover']
    assert finding.osds == (0,)
    assert finding.severity is Severity.WARNING
    assert finding.commands[0] == 'ceph tell osd.0 compact'
    shared = {'dedicated_db': False}
    assert 'spillover' not in found(dedicated(info=shared, slow_used_bytes=GIB))
    assert 'spillover' not in found(dedicated(slow_used_bytes=None))
    assert 'spillover' not in found(dedicated(slow_used_bytes=0))


def test_spillover_from_flash_to_flash_is_informational() -> None:
    osd = dedicated(info={'main_rotational': False}, slow_used_bytes=GIB, db_used_bytes=90 * GIB)
    assert found(osd)['spillover'].severity is Severity.INFO


def test_many_spillovers_are_one_finding_with_the_worst_osd_named() -> None:
    osds = [dedicated(i, slow_used_bytes=(i + 1) * GIB, db_used_bytes=90 * GIB) for i in range(30)]
    finding = found(*osds)['spillover']
    assert finding.osds[0] == 29
    assert len(finding.osds) == 30
    assert finding.evidence[0].value == 'osd.29'
    assert finding.evidence[1].value == 30 * GIB
    assert len(finding.summary) < 200


@pytest.mark.parametrize(('used_gib', 'fires'), [(69, True), (70, False), (90, False)])
def test_spillover_with_free_space_names_the_level_that_does_not_fit(
    used_gib: int, fires: bool
) -> None:
    names = found(dedicated(slow_used_bytes=56 * GIB, db_used_bytes=used_gib * GIB))
    assert ('level-does-not-fit' in names) is fires
    if fires:
        # 256 MiB, 2.5 GiB, 25 GiB and 250 GiB: RocksDB's own base of Pacific's default.
        assert 'levels 1 to 3 fit, level 4 does not' in names['level-does-not-fit'].summary


def spilled(
    release: str = 'pacific', used_gib: float = 30, spilled_gib: float = 10, **more: Any
) -> Any:
    """On a DB device of 60 GiB: level 4 of Pacific's default would be 250 GiB."""
    sizes: dict[str, Any] = {
        'db_total_bytes': 60 * GIB,
        'db_used_bytes': int(used_gib * GIB),
        'slow_used_bytes': int(spilled_gib * GIB),
    }
    info: dict[str, Any] = {
        'dedicated_db': True,
        'db_device_bytes': 60 * GIB,
        'main_device_bytes': 4000 * GIB,
    }
    return seen(release=release, options=DEFAULTS[release], info=info, **sizes, **more)


def test_proposed_level_sizes_fit_by_the_model() -> None:
    finding = found(spilled(does=WorkloadClass.RGW_METADATA))['level-does-not-fit']
    evidence: dict[str, Any] = {e.signal: e.value for e in finding.evidence}
    base = evidence['max_bytes_for_level_base that fits']
    multiplier = evidence['max_bytes_for_level_multiplier that fits']
    text = f'max_bytes_for_level_base={base},max_bytes_for_level_multiplier={multiplier}'
    assert f'Put {text} into the option string' in finding.remedy
    osd = spilled(does=WorkloadClass.RGW_METADATA)
    release = release_of_osd(osd.info)
    assert release is not None
    situation = situation_of_osd(osd, release)
    before = model_in(situation, DEFAULTS['pacific'])
    after = model_in(situation, f'{DEFAULTS["pacific"]},{text}')
    assert before.db_device is not None
    assert after.db_device is not None
    assert before.db_device.levels_bytes < 40 * GIB <= after.db_device.levels_bytes - base
    assert after.db_device.levels_bytes <= after.db_device.usable_bytes == 57 * GIB
    assert before.amplification.write is not None
    assert after.amplification.write is not None
    assert evidence['write amplification'] == before.amplification.write.value
    assert evidence['new write amplification'] == after.amplification.write.value
    effect = f'{evidence["write amplification"]:.1f} to {evidence["new write amplification"]:.1f}'
    assert f'the predicted write amplification changes from {effect}' in finding.remedy
    # Nothing that `check` would then object to.
    rules = {p.rule for p in check(f'{DEFAULTS["pacific"]},{text}', '6.8').problems}
    assert 'level0-unlike-level1' not in rules


def test_level_sizes_follow_the_db_device_of_bluefs() -> None:
    """The metadata of the OSD may not have its size, or be of before it grew."""
    known = spilled(does=WorkloadClass.RGW_METADATA)
    remedy = found(known)['level-does-not-fit'].remedy
    assert 'Put max_bytes_for_level_base=' in remedy
    for size in (None, 6000 * GIB):
        changed = known._replace(info=replace(known.info, db_device_bytes=size))
        assert found(changed)['level-does-not-fit'].evidence == (
            found(known)['level-does-not-fit'].evidence
        )
        assert found(changed)['level-does-not-fit'].remedy == remedy


def test_effect_on_an_unmeasured_workload_is_unknown() -> None:
    finding = found(spilled(does=WorkloadClass.MIXED))['level-does-not-fit']
    assert 'is unknown for this workload' in finding.remedy
    assert [e.value for e in finding.evidence if 'amplification' in e.signal] == [None, None]


@pytest.mark.parametrize(
    ('osd', 'message'),
    [
        (spilled(used_gib=35, spilled_gib=30), 'No level sizes hold 65 GiB'),
        (spilled('reef', spilled_gib=12), 'Put max_bytes_for_level_base='),
        # Levels 0 to 2 take 1, 1 and 8 GiB.
        (spilled('reef', used_gib=4, spilled_gib=2), 'The current level sizes hold this data.'),
        (spilled()._replace(options=None), 'Choose max_bytes_for_level_base'),
        (
            spilled(
                more={
                    'settings': {'bluestore_volume_selection_policy': Setting('fit_to_fast', 'osd')}
                }
            ),
            'Choose max_bytes_for_level_base',
        ),
    ],
)
def test_ineffective_remedies_are_not_proposed(osd: Any, message: str) -> None:
    finding = found(osd)['level-does-not-fit']
    assert finding.remedy.startswith(message)
    assert (len([e for e in finding.evidence if 'that fits' in e.signal]) == 2) is (
        message[:3] == 'Put'
    )


@pytest.mark.parametrize('release', ['pacific', 'reef'])
@given(device_gib=st.integers(2, 4000), share=st.floats(0.01, 1.0))
def test_what_is_proposed_holds_the_data_on_any_device(
    release: str, device_gib: int, share: float
) -> None:
    options = tree_options(parse(DEFAULTS[release]), {'pacific': '6.8', 'reef': '7.9'}[release])
    usable_bytes, data_bytes = device_gib * GIB, share * device_gib * GIB
    fit = fitting_levels(options, usable_bytes, data_bytes)
    if fit is None:
        return
    base, multiplier = fit.level_base_bytes, fit.level_multiplier
    levels = [base, *(base * multiplier**n for n in range(fit.last_level))]
    assert sum(levels) == fit.taken_bytes <= usable_bytes
    assert sum(levels[1:]) >= data_bytes
    assert 0.5 < base / options.level0_bytes < 2


def test_preallocated_wal_that_does_not_fit_is_no_level() -> None:
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
def test_db_device_below_the_documented_share_is_informational(
    does: Optional[WorkloadClass], db_gib: Optional[int], fires: bool
) -> None:
    size = None if db_gib is None else db_gib * GIB
    names = found(seen(does=does, info={**DEDICATED, 'db_device_bytes': size}))
    assert ('db-device-small' in names) is fires
    if fires:
        assert names['db-device-small'].severity is Severity.INFO


@pytest.mark.parametrize(('used_gib', 'fires'), [(84, False), (85, True), (100, True)])
def test_nearly_full_db_device_is_reported_before_it_spills(used_gib: int, fires: bool) -> None:
    assert ('db-device-nearly-full' in found(dedicated(db_used_bytes=used_gib * GIB))) is fires
    spilled = dedicated(db_used_bytes=used_gib * GIB, slow_used_bytes=1)
    assert 'db-device-nearly-full' not in found(spilled)


@pytest.mark.parametrize('missing', ['db_used_bytes', 'db_total_bytes'])
def test_unknown_size_gives_no_finding(missing: str) -> None:
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
def test_db_device_full_within_two_weeks_is_reported(
    expected: Optional[Forecast], fires: bool
) -> None:
    osd = seen(info=DEDICATED, more={'forecast': expected})
    assert ('db-device-filling' in found(osd)) is fires


def test_osd_without_signals_has_no_forecast() -> None:
    osd = seen(info=DEDICATED, more={'forecast': forecast(1.0)})
    assert 'db-device-filling' not in found(osd._replace(signals=None))


@pytest.mark.parametrize(
    ('used_gib', 'size_gib', 'fires'),
    [(50, 100, True), (49, 100, False), (9, 10, False), (10, 10, True), (None, 100, False)],
)
def test_osd_with_mostly_metadata_is_reported(
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
def test_wal_that_may_outgrow_its_device_is_reported(
    wal_bytes: Optional[int], options: Optional[str], fires: bool
) -> None:
    info = {'dedicated_wal': True, 'wal_device_bytes': wal_bytes}
    assert ('wal-device-small' in found(seen(options=options, info=info))) is fires
    later = seen(0, 'later', 'max_total_wal_size=0', info=info)
    assert 'wal-device-small' not in found(later)


@pytest.mark.parametrize(('size', 'fires'), [(4096, False), (16384, True), (None, False)])
def test_allocation_units_of_old_osds_are_informational(size: Optional[int], fires: bool) -> None:
    names = found(seen(info={'min_alloc_size_bytes': size}))
    assert ('large-min-alloc-size' in names) is fires


def test_unsharded_rocksdb_is_offered_the_sharding_of_its_release() -> None:
    finding = found(seen(release='reef', options=DEFAULTS['reef'], more={'sharded': False}))[
        'unsharded'
    ]
    assert finding.commands[1:3] == (
        'ceph osd set-group noout osd.0',
        'ceph orch daemon stop osd.0',
    )
    assert finding.commands[3] == (
        'ceph-bluestore-tool --path /var/lib/ceph/osd/ceph-0 '
        "--sharding='m(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} "
        "L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32' reshard"
    )
    assert 'Never interrupt' in (finding.do_not or '')
    assert 'unsharded' not in found(seen(more={'sharded': True}))
    assert 'unsharded' not in found(seen(more={'sharded': None}))


REEF_SHARDING = (
    'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} '
    'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'
)


def made_by(
    version: Optional[str], release: str = 'reef', sharded: Optional[bool] = True, **info: Any
) -> Any:
    known = {'created_version': version, **info}
    return seen(release=release, options=DEFAULTS[release], info=known, more={'sharded': sharded})


def test_osd_upgraded_from_pacific_keeps_the_column_families_of_pacific() -> None:
    finding = found(made_by('16.2.15'))['outdated-sharding']
    assert finding.severity is Severity.INFO
    evidence = {e.signal: e.value for e in finding.evidence}
    assert evidence['ceph_version_when_created'] == '16.2.15'
    path = '--path /var/lib/ceph/osd/ceph-0'
    show = f'ceph-bluestore-tool {path} show-sharding'
    assert finding.commands == (
        'ceph osd ok-to-stop 0',
        'ceph osd set-group noout osd.0',
        'ceph orch daemon stop osd.0',
        show,
        f"ceph-bluestore-tool {path} --sharding='{REEF_SHARDING}' reshard",
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
        # It reports itself that it was resharded.
        made_by('16.2.15', sharding=REEF_SHARDING),
        made_by('16.2.15', sharding='not a definition ('),
    ],
)
def test_reshard_is_offered_only_for_a_known_change(osd: Any) -> None:
    assert 'outdated-sharding' not in found(osd)


def test_reported_sharding_takes_precedence_over_the_creating_release() -> None:
    finding = found(made_by('18.2.7', sharding='m(3) P'))['outdated-sharding']
    assert finding.evidence[1].value == 'm(3) P'


@pytest.mark.parametrize(('used_gib', 'small'), [(30, False), (299, True)])
def test_wal_that_continues_on_a_roomy_db_device_is_not_small(used_gib: int, small: bool) -> None:
    """BlueFS puts what outgrows the WAL device there, which costs nothing."""
    info = {
        'dedicated_db': True,
        'db_device_bytes': 300 * GIB,
        'dedicated_wal': True,
        'wal_device_bytes': GIB,
    }
    osd = seen(info=info, db_total_bytes=300 * GIB, db_used_bytes=used_gib * GIB)
    assert ('wal-device-small' in found(osd)) is small


def test_data_before_lz4_is_compacted_once() -> None:
    known = {'created_version': '16.2.15'}
    osd = seen(0, 'reef', DEFAULTS['reef'], info=known, db_used_bytes=40 * GIB)
    assert '40 GiB of osd.0 then take about 18 GiB' in found(osd)['uncompressed-old-data'].remedy


def test_finding_names_a_recommendation_only_where_there_is_one() -> None:
    osd = seen(0, options='max_total_wal_size=0,write_buffer_size=256M')
    texts = [found(osd, advised=ids)['unlimited-wal'] for ids in ({0}, {1})]
    assert [f.commands for f in texts] == [
        ('ceph rocksdb-tuner recommend',),
        ('ceph rocksdb-tuner recommend --all',),
    ]
    assert 'says why no change is recommended' in texts[1].remedy

"""Which config entry decides for an OSD."""

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.records import ConfigEntry, OsdInfo
from rocksdb_tuner.plan.entries import (
    UnknownMaskError,
    deciding_entry,
    entry_in_force,
    is_for_a_class,
    is_own_entry,
    reaches,
)

OSD = OsdInfo(
    osd_id=1,
    up=True,
    in_cluster=True,
    nonce=7,
    host='node1',
    device_class='ssd',
    version='16.2.15',
    release='pacific',
    dedicated_db=False,
    dedicated_wal=False,
    db_device_bytes=None,
    objectstore='bluestore',
)
#: From the least to the most specific, as OSDs of a 16.2.15 cluster started.
MEASURED_ORDER = ('global', 'osd', 'osd.1')


def entry(who: str) -> ConfigEntry:
    return ConfigEntry(who, 'bluestore_rocksdb_options', f'value of {who}')


@pytest.mark.parametrize('count', range(1, len(MEASURED_ORDER) + 1))
def test_most_specific_entry_applies(count: int) -> None:
    entries = [entry(who) for who in MEASURED_ORDER[:count]]
    for candidates in (entries, entries[::-1]):
        assert deciding_entry(candidates, OSD) == entry(MEASURED_ORDER[count - 1])


@pytest.mark.parametrize('who', ['osd.2', 'osd.11', 'osd/host:node2', 'mon'])
def test_entries_for_others_do_not_apply(who: str) -> None:
    assert deciding_entry([entry(who)], OSD) is None


@pytest.mark.parametrize(
    'who', ['osd/class:ssd', 'osd/host:node1/class:ssd', 'osd.1/class:ssd', 'osd/class:hdd']
)
def test_no_osd_starts_with_an_entry_for_its_class(who: str) -> None:
    assert deciding_entry([entry(who)], OSD) is None
    assert deciding_entry([entry('osd'), entry(who)], OSD) == entry('osd')
    assert is_for_a_class(who)


@pytest.mark.parametrize('who', ['osd/rack:r1', 'osd/host:node1', 'osd.1/host:node1'])
def test_mask_that_may_apply_is_an_error_and_not_ignored(who: str) -> None:
    with pytest.raises(UnknownMaskError, match=who):
        deciding_entry([entry('osd'), entry(who)], OSD)


def test_only_own_entries_override_one_for_all_osds() -> None:
    assert [who for who in MEASURED_ORDER if is_own_entry(who)] == ['osd.1']


@pytest.mark.parametrize(
    ('winner', 'loser'),
    [
        ('osd/host:node1', 'osd/class:ssd'),
        ('osd/class:ssd/host:node1', 'osd/host:node1'),
        ('osd/class:ssd', 'osd'),
        ('osd', 'global/host:node1'),
        ('osd.1', 'osd/class:ssd/host:node1'),
        ('osd.1/class:ssd', 'osd.1'),
    ],
)
def test_running_osd_prefers_the_entry_of_its_host_to_that_of_its_class(
    winner: str, loser: str
) -> None:
    for candidates in ([entry(winner), entry(loser)], [entry(loser), entry(winner)]):
        assert entry_in_force(candidates, OSD) == entry(winner)


@pytest.mark.parametrize(
    'who',
    [
        'osd.2',
        'osd/class:hdd',
        'osd/host:node2',
        'osd/rack:r1',
        'osd/class:ssd/host:node2',
        'osd/class:hdd/host:node1',
        'mon',
    ],
)
def test_entry_meant_for_others_reaches_no_running_osd(who: str) -> None:
    assert not reaches(who, OSD)
    assert entry_in_force([entry(who)], OSD) is None
    assert entry_in_force([entry(who), entry('global')], OSD) == entry('global')


@pytest.mark.parametrize('who', ['global', 'osd', 'osd.1', 'osd/class:ssd', 'osd.1/host:node1'])
def test_entry_with_a_matching_mask_is_meant_for_the_osd(who: str) -> None:
    assert reaches(who, OSD)


def test_unknown_host_leaves_the_startup_entry_open() -> None:
    with pytest.raises(UnknownMaskError):
        deciding_entry([entry('osd/host:node2')], replace(OSD, host=None))

"""Which config entry decides for an OSD."""

import pytest

from rocksdb_tuner.advise.precedence import (
    UnknownMaskError,
    deciding_entry,
    is_for_a_class,
    is_own_entry,
)
from rocksdb_tuner.mgr.records import ConfigEntry, OsdInfo

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
def test_the_most_specific_entry_decides(count: int) -> None:
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
def test_a_mask_that_may_or_may_not_apply_is_an_error_and_not_ignored(who: str) -> None:
    with pytest.raises(UnknownMaskError, match=who):
        deciding_entry([entry('osd'), entry(who)], OSD)


def test_only_entries_of_single_osds_beat_one_for_all_osds() -> None:
    assert [who for who in MEASURED_ORDER if is_own_entry(who)] == ['osd.1']

"""Which config entry decides for an OSD."""

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.precedence import UnknownMaskError, deciding_entry, is_shadowing
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
#: From the least to the most specific, as `config get` answered on a 16.2.15 cluster.
MEASURED_ORDER = (
    'global',
    'osd',
    'osd/class:ssd',
    'osd/host:node1',
    'osd/host:node1/class:ssd',
    'osd.1',
    'osd.1/class:ssd',
)


def entry(who: str) -> ConfigEntry:
    return ConfigEntry(who, 'bluestore_rocksdb_options', f'value of {who}')


@pytest.mark.parametrize('count', range(1, len(MEASURED_ORDER) + 1))
def test_the_most_specific_entry_decides(count: int) -> None:
    entries = [entry(who) for who in MEASURED_ORDER[:count]]
    for candidates in (entries, entries[::-1]):
        assert deciding_entry(candidates, OSD) == entry(MEASURED_ORDER[count - 1])


@pytest.mark.parametrize(
    'who', ['osd.2', 'osd.11', 'osd/class:hdd', 'osd/host:node2', 'mon', 'osd.1/class:hdd']
)
def test_entries_for_others_do_not_apply(who: str) -> None:
    assert deciding_entry([entry(who)], OSD) is None


def test_an_osd_without_class_or_host_matches_no_mask() -> None:
    bare = replace(OSD, host=None, device_class=None)
    assert deciding_entry([entry('osd/class:ssd'), entry('osd/host:node1')], bare) is None


def test_a_mask_that_cannot_be_evaluated_is_an_error_and_not_ignored() -> None:
    with pytest.raises(UnknownMaskError, match='osd/rack:r1'):
        deciding_entry([entry('osd'), entry('osd/rack:r1')], OSD)


def test_shadowing_entries_are_those_that_beat_a_class_mask() -> None:
    shadowing = [who for who in MEASURED_ORDER if is_shadowing(who)]
    assert shadowing == list(MEASURED_ORDER[3:])

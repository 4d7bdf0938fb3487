"""The inputs of the model of an OSD: overrides, known values, and assumptions."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any, Optional

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from rocksdb_tuner.advise.facts import RESERVED, RESERVED_FACTOR, SELECTION_POLICY
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.advise.whatif.situation import (
    DEFAULT_MEMORY_TARGET_BYTES,
    NO_OVERRIDES,
    Situation,
    find_situation,
    read_overrides,
    situation_of_osd,
)
from rocksdb_tuner.lsm.records import Devices, VolumeSelection
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import columns
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.workload.records import WorkloadClass

from ..builders import facts, model_in, osd_info, release, workload

GIB = 1 << 30
PACIFIC = release('16.2.15')

MEASURED = (
    'The shares of the column families and of lasting writes are as measured with omap-heavy.'
)


def known(**changes: Any) -> OsdFacts:
    """An OSD of which all is known; ``changes`` are of its info, or of the facts."""
    info = {
        'dedicated_db': True,
        'dedicated_wal': False,
        'db_device_bytes': 60 * GIB,
        'main_device_bytes': 4000 * GIB,
        **{name: value for name, value in changes.items() if name not in OsdFacts._fields},
    }
    of_facts = {name: value for name, value in changes.items() if name in OsdFacts._fields}
    return facts(osd_info(3, **info))._replace(
        **{
            'signals': Signals(
                osd_id=3, wal_bytes_per_s=2e6, db_used_bytes=20 * GIB, slow_used_bytes=GIB
            ),
            'workload': workload(WorkloadClass.RGW_METADATA),
            'details': Details(0.0, None, None, None, None, 6 * GIB),
            'sharded': True,
            **of_facts,
        }
    )


def situation(osd: OsdFacts, **message: Any) -> Situation:
    return situation_of_osd(osd, PACIFIC, read_overrides(**message))


def test_only_bluefs_usage_is_assumed_for_a_known_osd() -> None:
    found = situation(known(), cores=4)
    assert found.devices == Devices(True, False, 60 * GIB, None, 4000 * GIB)
    assert (found.osd_id, found.workload) == (3, WorkloadClass.RGW_METADATA)
    assert (found.memory_target_bytes, found.cores) == (6 * GIB, 4)
    load = found.load
    assert (load.workload, load.wal_bytes_per_s, load.data_bytes) == ('omap-heavy', 2e6, 21 * GIB)
    assert load.bytes_per_key is None
    assert found.assumptions.common == ()
    assert found.assumptions.derivation == ()
    assert [text.split(';')[0] for text in found.assumptions.model] == [
        'All that BlueFS uses is assumed to be SST files',
        (
            'The release that created it is unknown: its column families are assumed to be the '
            'default of Pacific (from 16.2.0).'
        ),
        MEASURED,
    ]


@pytest.mark.parametrize(
    ('mean', 'message', 'expected'),
    [
        (None, {}, None),
        (0.0, {}, None),
        (4096.0, {}, 4096.0),
        (17_000.0, {}, 16384.0),
        (17_000.0, {'workload': WorkloadClass.RGW_METADATA}, 16384.0),
        (17_000.0, {'workload': WorkloadClass.RBD_SMALL_WRITE}, None),
    ],
)
def test_writes_are_as_large_as_those_of_its_clients(
    mean: Optional[float], message: dict[str, str], expected: Optional[float]
) -> None:
    """How large onodes are depends on it; of other clients than its own nothing is known."""
    osd = known(signals=Signals(osd_id=3, write_bytes_avg=mean))
    assert situation(osd, **message).load.write_bytes == expected


@pytest.mark.parametrize(
    ('round_ms', 'waits'), [(None, False), (0.5, False), (4.9, False), (5.0, True), (12.0, True)]
)
def test_slow_kv_sync_rounds_wait_for_the_device(round_ms: Optional[float], waits: bool) -> None:
    osd = known(signals=Signals(osd_id=3, kv_sync_ms=round_ms))
    assert situation(osd).load.thread_waits is waits


@pytest.mark.parametrize(
    ('changes', 'data_bytes'),
    [
        ({'signals': None}, None),
        ({'signals': Signals(osd_id=3)}, None),
        ({'signals': Signals(osd_id=3, db_used_bytes=5, slow_used_bytes=None)}, 5),
        ({'signals': Signals(osd_id=3, db_used_bytes=5, slow_used_bytes=2)}, 7),
        ({'signals': Signals(osd_id=3, db_used_bytes=0)}, 0),
        ({'signals': Signals(osd_id=3, slow_used_bytes=2)}, None),
    ],
)
def test_data_size_is_the_bluefs_usage_of_both_devices(
    changes: dict[str, Any], data_bytes: Optional[int]
) -> None:
    found = situation(known(**changes))
    assert found.load.data_bytes == data_bytes
    message = any('BlueFS' in text for text in found.assumptions.model)
    assert message == (data_bytes is not None)


def test_unknown_values_of_an_osd_are_stated_assumptions() -> None:
    unknown = facts(osd_info(3, dedicated_db=None, dedicated_wal=None))._replace(signals=None)
    found = situation(unknown)
    assert found.devices == Devices()
    assert found.memory_target_bytes == DEFAULT_MEMORY_TARGET_BYTES == 4 * GIB
    assert found.assumptions.common == ()
    target, columns_of, workload_of = found.assumptions.model
    assert target == 'osd_memory_target is not known yet and assumed to be 4 GiB, its default.'
    assert columns_of == (
        'Neither its sharding nor the release that created it is known: its column families are '
        'assumed to be the default of Pacific (from 16.2.0).'
    )
    assert workload_of.startswith('The workload is unknown: results that depend on it are unknown.')
    assert 'rgw-metadata' in workload_of
    assert found.assumptions.derivation == (
        'The number of cores of the OSD is unknown; use --cores to set it.',
    )
    # An old sample with a smaller target does not count.
    no_target = situation(known(details=Details(0.0, None, None, None, None, None)))
    assert no_target.memory_target_bytes == DEFAULT_MEMORY_TARGET_BYTES
    assumed = 'osd_memory_target is not known yet'
    assert any(text.startswith(assumed) for text in no_target.assumptions.model)
    given = situation(known(details=None), memory='2G')
    assert not any(text.startswith(assumed) for text in given.assumptions.model)
    mixed = situation(known(workload=workload(WorkloadClass.MIXED)))
    assert 'mixed, which was not measured' in mixed.assumptions.model[-1]


REEF_CFS = 'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'


@pytest.mark.parametrize(
    ('changes', 'merged_by_p', 'message'),
    [
        (
            {'created_version': '16.2.15', 'sharded': True},
            6,
            'Pacific (from 16.2.0), which created',
        ),
        ({'created_version': '16.2.15', 'sharded': None}, 6, 'Its sharding is unknown'),
        (
            {'created_version': '18.2.7', 'sharded': True},
            32,
            'Reef (from 18.2.4), which created it',
        ),
        ({'created_version': None, 'sharded': True}, 32, 'The release that created it is unknown'),
        ({'created_version': None, 'sharded': None}, 32, 'Neither its sharding nor'),
        ({'created_version': '15.2.17', 'sharded': True}, 32, 'created by 15.2.17, whose default'),
        ({'created_version': '16.2.15', 'sharding': REEF_CFS, 'sharded': True}, 32, None),
        ({'created_version': '18.2.7', 'sharding': 'm P', 'sharded': True}, 6, None),
    ],
)
def test_model_uses_the_column_families_of_the_creating_release(
    changes: dict[str, Any], merged_by_p: int, message: Optional[str]
) -> None:
    reef = release('18.2.7')
    osd = known(release='reef', version='18.2.7', **changes)
    found = situation_of_osd(osd, reef, read_overrides())
    families = model_in(found, reef.default_options).column_families
    (p,) = [family for family in families if family.name == 'P']
    assert p.min_write_buffer_number_to_merge == merged_by_p
    about = [text for text in found.assumptions.model if 'column families are assumed' in text]
    assert len(about) == (0 if message is None else 1)
    assert message is None or message in about[0]
    # An override takes precedence over a known value.
    assert situation_of_osd(osd, reef, read_overrides(cfs='P')).columns == columns('P')


@pytest.mark.parametrize(
    ('info', 'message', 'devices'),
    [
        ({}, {'db_size': '0'}, (False, False, None, None)),
        ({}, {'db_size': '9G'}, (True, False, 9 * GIB, None)),
        ({}, {'db_size': '1'}, (True, False, 1, None)),
        ({}, {'wal_size': '1'}, (True, True, 60 * GIB, 1)),
        ({}, {'wal_size': '0'}, (True, False, 60 * GIB, None)),
        ({}, {'wal_size': '2G'}, (True, True, 60 * GIB, 2 * GIB)),
        ({'dedicated_wal': None}, {}, (True, None, 60 * GIB, None)),
        # A DB device without a WAL device means that there is none.
        ({'dedicated_wal': None}, {'db_size': '9G'}, (True, False, 9 * GIB, None)),
        (
            {'dedicated_wal': True, 'wal_device_bytes': GIB},
            {'db_size': '9G'},
            (True, True, 9 * GIB, GIB),
        ),
        ({'dedicated_wal': None}, {'wal_size': '2G'}, (True, True, 60 * GIB, 2 * GIB)),
    ],
)
def test_devices_come_from_the_override_or_the_osd(
    info: dict[str, Any],
    message: dict[str, Any],
    devices: tuple[Optional[bool], Optional[bool], Optional[int], Optional[int]],
) -> None:
    found = situation(known(**info), **message).devices
    assert (
        found.dedicated_db,
        found.dedicated_wal,
        found.db_bytes,
        found.wal_bytes,
    ) == devices
    assert found.main_bytes == 4000 * GIB


@pytest.mark.parametrize(
    ('settings', 'expected'),
    [
        ({}, VolumeSelection()),
        ({SELECTION_POLICY: 'rocksdb_original'}, VolumeSelection('rocksdb_original')),
        ({SELECTION_POLICY: ''}, VolumeSelection()),
        ({RESERVED_FACTOR: '0'}, VolumeSelection(reserved_factor=0.0)),
        ({RESERVED_FACTOR: '3.5'}, VolumeSelection(reserved_factor=3.5)),
        ({RESERVED_FACTOR: '1000000'}, VolumeSelection(reserved_factor=1e6)),
        ({RESERVED_FACTOR: '1000001'}, VolumeSelection()),
        ({RESERVED_FACTOR: '-0.1'}, VolumeSelection()),
        ({RESERVED_FACTOR: 'many'}, VolumeSelection()),
        ({RESERVED_FACTOR: ''}, VolumeSelection()),
        ({RESERVED: '7'}, VolumeSelection(reserved_bytes=7)),
        ({RESERVED: '0'}, VolumeSelection(reserved_bytes=0)),
        ({RESERVED: '-7'}, VolumeSelection()),
    ],
)
def test_volume_selection_is_the_configured_one_if_valid(
    settings: dict[str, str], expected: VolumeSelection
) -> None:
    osd = known(settings={name: Setting(value, 'osd') for name, value in settings.items()})
    assert situation(osd).selection == expected
    assert situation(known(settings=None)).selection == VolumeSelection()


def test_imagined_osd_has_the_overrides_and_stated_assumptions() -> None:
    found = situation_of_osd(None, PACIFIC)
    assert found.osd_id is None
    assert (found.devices, found.memory_target_bytes) == (Devices(), 4 * GIB)
    assert found.assumptions.common == (
        'No OSD was named: a hypothetical OSD of Pacific (from 16.2.0) is assumed.',
        'No DB or WAL device is known; use --db-size and --wal-size, or --osd.',
    )
    # What is derived is the same with any memory
    assert found.assumptions.model[-1] == (
        'osd_memory_target is assumed to be 4 GiB, its default; use --memory to set it.'
    )
    assert found.assumptions.model[0] == (
        'Its column families are assumed to be the default of Pacific (from 16.2.0).'
    )
    assert len(found.assumptions.derivation) == 1
    only_wal = situation_of_osd(None, PACIFIC, read_overrides(wal_size='1G'))
    assert len(only_wal.assumptions.common) == 1


def test_release_comes_from_the_override_the_osd_or_is_the_newest() -> None:
    osds = [facts(osd_info(0)), facts(osd_info(1, 'reef')), facts(osd_info(2, 'zebra'))]

    def asked(osd_id: Optional[int], release: Optional[str] = None) -> Situation:
        return find_situation(osds, osd_id, release, NO_OVERRIDES)

    assert asked(0).release.name == 'pacific'
    assert asked(0).osd_id == 0
    assert asked(1, 'tentacle').release.name == 'tentacle'
    assert asked(None).release.name == 'reef'
    assert asked(None, 'pacific').release.name == 'pacific'
    assert find_situation([], None, None, NO_OVERRIDES).release == known_releases()[-1]
    with pytest.raises(BadQuestionError) as unknown:
        asked(2)
    assert unknown.value.errno == errno.EINVAL
    assert str(unknown.value) == (
        'osd.2 runs a release that is unknown to this module: name one with --release'
    )
    with pytest.raises(BadQuestionError) as absent:
        asked(9)
    assert absent.value.errno == errno.ENOENT
    assert str(absent.value) == ('osd.9 does not exist; known OSDs: osd.0, osd.1, osd.2')
    with pytest.raises(BadQuestionError, match='known OSDs: none yet'):
        find_situation([], 0, None, NO_OVERRIDES)


# -- overrides of an operator


@pytest.mark.parametrize(
    ('text', 'size'),
    [
        ('60G', 60 << 30),
        ('60 GiB', 60 << 30),
        ('60gb', 60 << 30),
        ('1.5T', 3 << 39),
        ('512M', 512 << 20),
        ('1073741824', 1 << 30),
        ('0', 0),
    ],
)
def test_sizes_are_bytes_with_suffixes_of_ceph(text: str, size: int) -> None:
    assert read_overrides(db_size=text).db_bytes == size


@pytest.mark.parametrize(
    ('message', 'named'),
    [
        ({'db_size': '60 apples'}, 'db-size: "60 apples" is not a size'),
        ({'wal_size': '-1'}, 'wal-size: "-1" is not a size'),
        ({'wal_size': ''}, 'wal-size: "" is not a size'),
        ({'memory': '4'}, 'memory must be 896M to 1024P, not "4"'),
        ({'data': '0'}, 'data must be 1 to'),
        ({'ingest': '9999P'}, 'ingest must be 1 to'),
        ({'key_size': '0'}, 'key-size must be 1 to'),
        ({'cores': 0}, 'cores must be 1 to 1024 for one OSD, not 0'),
        ({'cfs': 'm(0)'}, 'cfs: at character 0, .*: expected a name and 1 to 1024 shards'),
        ({'cfs': 'm=x'}, 'cfs: '),
    ],
)
def test_invalid_override_is_named_with_the_valid_form(message: dict[str, Any], named: str) -> None:
    with pytest.raises(BadQuestionError, match=named) as refusal:
        read_overrides(**message)
    assert refusal.value.errno == errno.EINVAL


@for_any(st.text(max_size=40), st.sampled_from(['db_size', 'memory', 'ingest', 'cfs', 'workload']))
def test_any_text_is_parsed_or_refused(text: str, name: str) -> None:
    message: dict[str, Any] = {name: text}
    # Any other error would be shown to the operator as one of the module.
    with suppress(BadQuestionError):
        read_overrides(**message)

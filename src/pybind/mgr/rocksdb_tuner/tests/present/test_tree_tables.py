"""`model` and `profile derive` in plain: all that matters, in 80 columns, dashes for unknown."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import Profile, profiles
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.records import Devices, Load
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.present import views
from rocksdb_tuner.present.layout import WIDTH, display_width
from rocksdb_tuner.workload.records import WorkloadClass

GIB = 1 << 30
REEF = next(r for r in known_releases() if r.since == '18.2.4')
KNOWN = Situation(
    REEF,
    WorkloadClass.RGW_METADATA,
    Devices(dedicated_db=True, dedicated_wal=True, db_bytes=60 * GIB, wal_bytes=GIB),
    memory_target_bytes=4 * GIB,
    cores=6,
    load=Load('omap-heavy', wal_bytes_per_s=2e6, bytes_per_key=250.0, data_bytes=20.0 * GIB),
    osd_id=7,
)


def too_wide(text: str) -> list[str]:
    return [line for line in text.split('\n') if display_width(line) > WIDTH]


@pytest.mark.parametrize('shown', profiles(), ids=lambda p: p.name)
@pytest.mark.parametrize('situation', [KNOWN, Situation(REEF)], ids=['known', 'unknown'])
def test_every_profile_fits_the_terminal(shown: Profile, situation: Situation) -> None:
    options = shown.options
    assert check(options, '7.9').accepted
    assert not too_wide(views.show('model', tree(options, situation), 'plain'))


@given(st.integers(1 << 16, 1 << 63), st.integers(1, 1 << 63), st.integers(1, (1 << 31) - 1))
def test_any_number_fits_the_terminal(size: int, base: int, trigger: int) -> None:
    options = (
        f'write_buffer_size={size},max_bytes_for_level_base={base},'
        f'level0_file_num_compaction_trigger={trigger}'
    )
    assert not too_wide(views.show('model', tree(options, KNOWN), 'plain'))


def test_steps_and_device_are_shown() -> None:
    text = views.show('model', tree(REEF.default_options, KNOWN), 'plain')
    for expected in ('osd.7', '9 GiB', '73 GiB', '585 GiB', 'Last full level: ', 'level 2'):
        assert expected in text
    assert 'does NOT fit its 1 GiB' in ' '.join(text.split())


def test_cpu_is_shown_with_its_interval_and_parts() -> None:
    """The cost per KiB in the WAL and per write, and the share of compression."""
    text = ' '.join(views.show('model', tree(REEF.default_options, KNOWN), 'plain').split())
    line = text.partition('RocksDB CPU:')[2].split('Space amplification')[0]
    assert ' us (' in line
    assert 'per KiB in the WAL (kv_sync ' in line
    assert 'compression ' in line
    assert line.endswith('per write ')
    plain = views.show(
        'model', tree(f'{REEF.default_options},compression=kNoCompression', KNOWN), 'plain'
    )
    cpu = plain.partition('RocksDB CPU')[2].split('Space')[0]
    assert cpu
    assert 'compression' not in cpu


def test_unmeasured_cpu_is_null_and_a_dash() -> None:
    """An unmeasured compression is not a free one."""
    answer = tree(f'{REEF.default_options},compression=kZlibCompression', KNOWN)
    assert json.loads(views.show('model', answer))['cpu'] is None
    text = views.show('model', answer, 'plain')
    assert re.search(r'RocksDB CPU: +-\n', text)


def test_unknown_is_a_dash() -> None:
    text = views.show('model', tree(REEF.default_options, Situation(REEF)), 'plain')
    lines = dict(
        line.split(':', 1) for line in text.split('\n') if line[:1].isalpha() and ':' in line
    )
    assert lines['Write amplification'].strip() == '-'
    assert lines['Workload'].strip() == '-'
    assert 'DB device' not in lines


def test_default_wal_limit_is_marked() -> None:
    text = views.show('model', tree('', Situation(REEF)), 'plain')
    assert 'WAL:                  not limited, 8 x all memtables = 12 GiB' in text


def test_unmeasured_flushes_of_a_workload_are_marked() -> None:
    text = ' '.join(views.show('model', tree(REEF.default_options, KNOWN), 'plain').split())
    held = calibration().quantities['early_flush_bytes']
    assert f'flushes by the WAL {held.low:.2f} to {held.high:.2f}' in text
    assert 'EXPECTED' not in views.show(
        'model', tree(REEF.default_options, Situation(REEF)), 'plain'
    )


def test_derived_set_shows_each_reason_and_its_identity() -> None:
    text = views.show('profile-derive', derive(KNOWN), 'plain')
    assert 'lz4-2025' in text
    assert not too_wide(text)
    for choice in derive(KNOWN).choices:
        assert f'- {choice.option}={choice.value}' in text


def test_derived_set_shows_its_difference_from_published_ones() -> None:
    text = views.show('profile-derive', derive(replace(KNOWN, cores=2)), 'plain')
    assert 'no known profile' in text
    assert 'write_buffer_size' in text.split('Choices:')[0]

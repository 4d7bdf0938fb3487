"""The worked examples that were published come out of the model."""

from __future__ import annotations

import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.levels import level_targets
from rocksdb_tuner.lsm.records import Load, VolumeSelection

from .samples import GIB, MIB, REEF_CFS, options_of, tree_of, with_db

OLD = 'max_bytes_for_level_base=268435456,max_bytes_for_level_multiplier=10'
NEW = profile('lz4-2025').options


@pytest.mark.parametrize(
    ('name', 'flush_mib', 'level0_mib'),
    [
        ('bluestore-default-pacific', 256, 1024),
        ('alternate-2019', 128, 1024),
        ('variant-2022-a', 128, 1024),
        ('variant-2022-b', 128, 1024),
        ('variant-2022-c', 128, 1024),
        ('variant-2022-d', 128, 1024),
        ('lz4-2025', 96, 768),
        ('rocksdb-default', 64, 256),
    ],
)
def test_level0_is_memtable_times_merge_times_trigger(
    name: str, flush_mib: int, level0_mib: int
) -> None:
    """The RocksDB Tuning Guide's formula: 128 MiB x 8 = 1 GiB."""
    options = options_of(profile(name).options, '6.8')
    assert options.flush_bytes == flush_mib * MIB
    assert options.level0_bytes == level0_mib * MIB


def test_steps_of_the_old_defaults() -> None:
    """256 MiB, 2.56 GB, 25.6 GB, 256 GB: DB devices of 3, 30 and 300 GB."""
    tree = tree_of(OLD)
    assert [level.target_bytes for level in tree.levels.levels[:4]] == [
        256 * MIB,
        2560 * MIB,
        25600 * MIB,
        256000 * MIB,
    ]
    with_level0 = [level.cumulative_with_level0_bytes / GIB for level in tree.levels.levels[:4]]
    assert with_level0 == pytest.approx([0.5, 3, 28, 278])


def test_steps_of_the_new_default() -> None:
    """1, 9, 73 and 585 GiB."""
    tree = tree_of(NEW)
    assert [level.cumulative_bytes // GIB for level in tree.levels.levels[:4]] == [1, 9, 73, 585]


@pytest.mark.parametrize(
    ('options', 'device_gib', 'last_level'),
    [
        (OLD, 3, 1),
        (OLD, 4, 2),
        (OLD, 29, 2),
        (OLD, 30, 3),
        (OLD, 290, 3),
        (OLD, 300, 4),
        (NEW, 2, 0),
        (NEW, 3, 1),
        (NEW, 11, 2),
        (NEW, 78, 3),
        (NEW, 617, 4),
    ],
)
def test_db_device_ends_between_steps(options: str, device_gib: int, last_level: int) -> None:
    """Only levels that fit whole into 95% of the device, level 0 counted as one of level 1."""
    device = tree_of(options, devices=with_db(device_gib * GIB)).db_device
    assert device is not None
    assert device.last_level == last_level
    assert device.levels_bytes + device.extra_bytes + device.unused_bytes == device.usable_bytes


def test_spillover_with_a_half_empty_device() -> None:
    """24 of 50 GiB used and 102 GiB spilled: two levels fit, the third does not by a little."""
    options = 'max_bytes_for_level_base=536870912,max_bytes_for_level_multiplier=10'
    tree = tree_of(
        options,
        devices=with_db(50 * GIB),
        cfs='',
        selection=VolumeSelection(policy='rocksdb_original'),
    )
    assert tree.db_device is not None
    assert tree.db_device.last_level == 2
    assert tree.db_device.unused_bytes > 40 * GIB


def test_use_some_extra_is_the_device_minus_twice_the_last_level() -> None:
    """60 GB for the old defaults: level 3 fits, and what its double leaves is open to level 4."""
    tree = tree_of(OLD, devices=with_db(60 * GIB))
    assert tree.db_device is not None
    assert tree.db_device.last_level == 3
    reserved = GIB + 256 * MIB + 2560 * MIB + 2 * 25600 * MIB
    assert tree.db_device.extra_bytes == tree.db_device.usable_bytes - reserved


def test_reserve_in_bytes_overrides_the_factor() -> None:
    tree = tree_of(
        OLD, devices=with_db(60 * GIB), selection=VolumeSelection(reserved_bytes=50 * GIB)
    )
    assert tree.db_device is not None
    assert tree.db_device.extra_bytes == tree.db_device.usable_bytes - 50 * GIB


def test_fit_to_fast_uses_all_fitting_levels() -> None:
    tree = tree_of(
        f'{OLD},level_compaction_dynamic_level_bytes=true',
        devices=with_db(10 * GIB),
        selection=VolumeSelection(policy='fit_to_fast'),
    )
    assert tree.db_device is not None
    assert tree.db_device.extra_bytes == tree.db_device.usable_bytes == 10 * GIB
    assert tree.levels.dynamic_why is None


def test_dynamic_level_bytes_are_off_with_the_two_paths_of_bluestore() -> None:
    """Seen on 16.2.15: with the option true, the OSD's RocksDB prints 0."""
    tree = tree_of('level_compaction_dynamic_level_bytes=true')
    assert tree.levels.dynamic_why is not None


def test_default_wal_limit_is_four_times_all_memtables_counted_twice() -> None:
    """ "Default value (0) caused rocksdb to set maximum of 16GB for WALs" (ceph/ceph#35277).

    That is four times the memtables of four column families. RocksDB counts them twice when it
    opens a database: an OSD of 16.2.15 with twelve of 2 x 256 KiB logged "max_total_wal_size is
    50331648", and one with 2 x 4 MiB let the WAL grow to 768 MiB.
    """
    old = 'write_buffer_size=268435456,max_write_buffer_number=4'
    four_families = tree_of(old, cfs='m p O')
    assert four_families.wal.limit_bytes == 2 * 16 * GIB
    seen = 'write_buffer_size=262144,max_write_buffer_number=2'
    assert tree_of(seen, '6.8').wal.limit_bytes == 50331648
    assert four_families.wal.limited_by == 'memtables'
    limited = tree_of(f'{old},max_total_wal_size=1073741824', cfs='m p O')
    assert limited.wal.limit_bytes == GIB


def test_single_column_family_ignores_the_wal_limit() -> None:
    """Four memtables of 256 MiB: the 1 GiB that WAL devices were built for."""
    old = 'write_buffer_size=268435456,max_write_buffer_number=4,max_total_wal_size=1048576'
    assert tree_of(old, cfs='').wal.limit_bytes == GIB
    # The same number by chance, as in the defaults of all releases
    alike = old.replace('=1048576', '=1073741824')
    assert tree_of(alike, cfs='').wal.limited_by == 'memtables'


def test_memtable_limit_of_the_new_default() -> None:
    """12 column families x 64 x 16 MiB = 12 GiB, bounded by the WAL's 1 GiB."""
    memtables = tree_of(NEW, cfs=REEF_CFS, memory_target_bytes=4 * GIB).memtables
    assert memtables.ceiling_bytes == 12 * GIB
    assert memtables.bounded_by == 'wal'
    assert memtables.bounded_bytes.value < 1.2 * GIB
    assert memtables.share_of_memory_target is not None
    assert memtables.share_of_memory_target < 0.3


def test_wal_file_is_preallocated_with_a_tenth_on_top() -> None:
    """282 MiB of 256 MiB memtables, seen as a spillover on an empty DB device of 128 MiB."""
    wal = tree_of(profile('bluestore-default-pacific').options, '6.8').wal
    assert wal.file_bytes // MIB == 281


def test_column_families_have_their_own_options() -> None:
    tree = tree_of(NEW, cfs=REEF_CFS)
    merge = {c.name: c.min_write_buffer_number_to_merge for c in tree.column_families}
    assert merge == {'default': 6, 'm': 6, 'p': 6, 'O': 6, 'L': 32, 'P': 32}


@pytest.mark.parametrize(
    ('options', 'flushes', 'compactions'),
    [
        ('max_background_jobs=4', 1, 3),
        ('max_background_jobs=8', 2, 6),
        ('', 1, 1),
        ('max_background_compactions=2', 1, 2),
        ('max_background_compactions=31,max_background_jobs=8', 1, 31),
    ],
)
def test_background_jobs_are_divided_as_in_rocksdb(
    options: str, flushes: int, compactions: int
) -> None:
    tree = tree_of(options)
    assert (tree.background_flushes, tree.background_compactions) == (flushes, compactions)


def test_levels_grow_by_the_multiplier_until_a_number_is_full() -> None:
    targets = level_targets(options_of('max_bytes_for_level_base=1T,num_levels=40'))
    assert all(target < 1 << 64 for target in targets)
    assert targets[-1] == targets[-2]


def test_unknown_database_size_is_assumed_and_reported() -> None:
    tree = tree_of(NEW, load=Load(workload='omap-heavy'))
    assert tree.amplification.write is not None
    assert any('assumed to fill' in text for text in tree.assumptions)


def test_family_with_few_writes_is_flushed_by_the_wal() -> None:
    """Seen on 16.2.15: onodes under an omap load are flushed long before a memtable is full."""
    tree = tree_of(
        profile('bluestore-default-pacific').options, '6.8', load=Load(workload='omap-heavy')
    )
    by = {c.name: c.flushed_by for c in tree.column_families}
    assert by['O'] == 'wal'
    assert by['p'] == 'memtables'


def test_total_memtable_limit_is_reported_as_not_included_in_flushes() -> None:
    tree = tree_of(f'{NEW},db_write_buffer_size=134217728')
    assert tree.memtables.bounded_by == 'db_write_buffer_size'
    assert tree.memtables.bounded_bytes.value == 128 * MIB
    assert any('db_write_buffer_size' in text for text in tree.assumptions)
    assert not any('db_write_buffer_size' in text for text in tree_of(NEW).assumptions)

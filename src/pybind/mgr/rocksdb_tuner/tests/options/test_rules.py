"""Each rule of `check`: a triggering string, or OSD, and one at its edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.problems import Hardware, Problem, problem, rules
from rocksdb_tuner.options.releases import KnownRelease, known_releases
from rocksdb_tuner.options.syntax import OptionSet
from rocksdb_tuner.options.wal import bound_bytes, full_bytes, limits

GIB = 1 << 30
#: A published tuning with nothing against it.
GOOD = (
    'compression=kNoCompression,max_write_buffer_number=128,min_write_buffer_number_to_merge=16,'
    'write_buffer_size=8388608,max_background_jobs=4,level0_file_num_compaction_trigger=8,'
    'compaction_readahead_size=2MB,writable_file_max_buffer_size=0,'
    'max_bytes_for_level_base=1073741824,max_total_wal_size=1073741824'
)
#: The default of Pacific, and the memtables that it was compared with.
PACIFIC = (
    'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
    'write_buffer_size=268435456,writable_file_max_buffer_size=0,'
    'compaction_readahead_size=2097152,max_background_compactions=2,max_total_wal_size=1073741824'
)
SMALL = 'max_write_buffer_number=16,write_buffer_size=67108864'
OF_2016 = 'max_write_buffer_number=32,write_buffer_size=32M'
#: Those of the alternate tuning.
LEVELS = 'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=536870912'
UNLIMITED = GOOD.replace(',max_total_wal_size=1073741824', '')
NOTHING = Hardware()


def fired(text: str, version: str, hardware: Hardware) -> set[tuple[str, Optional[str]]]:
    return {(p.rule, p.option) for p in check(text, version, hardware).problems}


def set_beside(name: str, value: str) -> Hardware:
    return Hardware(related_options=((name, value),))


#: (rule, option, triggering string, other string, version)
BY_STRING = [
    ('syntax', None, 'ttl=1,,', 'ttl=1,', '6.8'),
    ('unknown-option', 'wal_compression', *('wal_compression=kNoCompression',) * 2, '6.8'),
    ('unknown-option', 'Ttl', 'Ttl=1', 'ttl=1', '7.9'),
    ('refused-value', 'ttl', 'ttl=x', 'ttl=1', '7.9'),
    ('not-usable', 'compression', 'compression=kZSTD', 'compression=kZlibCompression', '9.10'),
    (
        'refused-combination',
        'unordered_write',
        'unordered_write=1,enable_pipelined_write=1',
        'unordered_write=1',
        '7.9',
    ),
    (
        'refused-combination',
        'unordered_write',
        'unordered_write=1,max_successive_merges=1',
        'unordered_write=1,max_successive_merges=0',
        '7.9',
    ),
    (
        'too-many-threads',
        'compaction_threads',
        'compaction_threads=64K',
        'compaction_threads=4',
        '7.9',
    ),
    (
        'not-judged',
        'memtable_factory',
        'memtable_factory={id=x;a=b}',
        'memtable_factory=skip_list',
        '7.9',
    ),
    (
        'ambiguous',
        'compression_opts',
        'compression_opts=1:2:3,compression_opts.level=5',
        'compression_opts=1:2:3',
        '7.9',
    ),
    ('ambiguous', 'ttl', '{ttl=1},ttl=2', 'ttl=1,ttl=2', '7.9'),
    ('forbidden', 'disableWAL', 'disableWAL=true', 'disableWAL=false', '7.9'),
    (
        'forbidden',
        'disable_auto_compactions',
        'disable_auto_compactions=1',
        'disable_auto_compactions=0',
        '6.8',
    ),
    (
        'forbidden',
        'compaction_style',
        'compaction_style=kCompactionStyleUniversal',
        'compaction_style=kCompactionStyleLevel',
        '6.8',
    ),
    (
        'forbidden',
        'wal_recovery_mode',
        'wal_recovery_mode=kSkipAnyCorruptedRecords',
        'wal_recovery_mode=kPointInTimeRecovery',
        '6.8',
    ),
    ('forbidden', 'compact_on_mount', 'compact_on_mount=true', 'compact_on_mount=false', '6.8'),
    ('out-of-range', 'write_buffer_size', 'write_buffer_size=1025M', 'write_buffer_size=1G', '6.8'),
    ('not-assessed', 'use_adaptive_mutex', 'use_adaptive_mutex=1', 'use_adaptive_mutex=0', '6.8'),
    ('empty', None, '', 'ttl=1', '7.9'),
    ('duplicate', 'ttl', 'ttl=1,ttl=2', 'ttl=1', '7.9'),
    ('clamped', 'write_buffer_size', 'write_buffer_size=64T', 'write_buffer_size=64M', '7.9'),
    (
        'clamped',
        'min_write_buffer_number_to_merge',
        'max_write_buffer_number=4,min_write_buffer_number_to_merge=4',
        'max_write_buffer_number=4,min_write_buffer_number_to_merge=3',
        '7.9',
    ),
    (
        'clamped',
        'level0_slowdown_writes_trigger',
        'level0_file_num_compaction_trigger=8,level0_slowdown_writes_trigger=4',
        'level0_file_num_compaction_trigger=8,level0_slowdown_writes_trigger=8',
        '6.8',
    ),
    (
        'lenient-number',
        'write_buffer_size',
        'write_buffer_size=4.5G',
        'write_buffer_size=4G',
        '7.9',
    ),
    (
        'lenient-number',
        'write_buffer_size',
        'write_buffer_size=64 MB',
        'write_buffer_size=64MB',
        '7.9',
    ),
    (
        'lenient-number',
        'max_bytes_for_level_multiplier',
        'max_bytes_for_level_multiplier=8k',
        'max_bytes_for_level_multiplier=8.5',
        '7.9',
    ),
    (
        'no-effect',
        'recycle_log_file_num',
        'recycle_log_file_num=4',
        'recycle_log_file_num=0',
        '7.9',
    ),
    ('removed-option', 'soft_rate_limit', 'soft_rate_limit=1', 'delayed_write_rate=1M', '7.9'),
    (
        'jobs-switched-off',
        'max_background_jobs',
        f'{GOOD},max_background_compactions=2',
        f'{GOOD},max_background_compactions=-1',
        '7.9',
    ),
    (
        'many-threads',
        'max_background_compactions',
        'max_background_compactions=31',
        'max_background_compactions=8',
        '6.8',
    ),
    ('no-wal-limit', 'max_total_wal_size', UNLIMITED, GOOD, '7.9'),
    (
        'few-memtables',
        'max_write_buffer_number',
        'max_write_buffer_number=7,min_write_buffer_number_to_merge=4',
        'max_write_buffer_number=8,min_write_buffer_number_to_merge=4',
        '7.9',
    ),
    # Pacific, 2022: 16 x 64 MiB wrote 17,215 MB to the DB, the default 4,652 MB.
    (
        'small-memtables',
        'min_write_buffer_number_to_merge',
        f'{PACIFIC},max_write_buffer_number=16,write_buffer_size=64M',
        PACIFIC,
        '6.8',
    ),
    # With merge 2 still 8,800 MB, and 4,303 MB with the level 0 and 1 of the alternate tuning.
    (
        'small-memtables',
        'level0_file_num_compaction_trigger',
        f'{PACIFIC},{SMALL},min_write_buffer_number_to_merge=2',
        f'{PACIFIC},{SMALL},min_write_buffer_number_to_merge=2,{LEVELS}',
        '6.8',
    ),
    # 2016: 32 x 32 MiB wrote 118,022 without merging, 51,569 with merge 8.
    (
        'small-memtables',
        'min_write_buffer_number_to_merge',
        f'{PACIFIC},{OF_2016}',
        f'{PACIFIC},{OF_2016},min_write_buffer_number_to_merge=8',
        '6.8',
    ),
    # One-hour runs with column families: 128 MiB cost 5% more, which is no objection.
    (
        'small-memtables',
        'min_write_buffer_number_to_merge',
        f'{PACIFIC},write_buffer_size=64M',
        f'{PACIFIC},write_buffer_size=128M',
        '6.8',
    ),
    (
        'no-readahead',
        'compaction_readahead_size',
        f'{GOOD},compaction_readahead_size=0',
        GOOD,
        '7.9',
    ),
    # RocksDB has had a readahead of its own since 8.7: an explicit 0 drops it.
    ('no-readahead', 'compaction_readahead_size', 'compaction_readahead_size=0', 'ttl=1', '9.10'),
    ('write-buffer-copy', 'writable_file_max_buffer_size', 'ttl=1', GOOD, '7.9'),
    (
        'slowdown-at-trigger',
        'level0_slowdown_writes_trigger',
        f'{GOOD},level0_slowdown_writes_trigger=8',
        f'{GOOD},level0_slowdown_writes_trigger=9',
        '7.9',
    ),
    ('periodic-rewrites', 'ttl', f'{GOOD},ttl=21600', f'{GOOD},ttl=2592000', '7.9'),
    (
        'periodic-rewrites',
        'periodic_compaction_seconds',
        f'{GOOD},periodic_compaction_seconds=86400',
        f'{GOOD},periodic_compaction_seconds=0',
        '7.9',
    ),
    (
        'level0-unlike-level1',
        'max_bytes_for_level_base',
        f'{GOOD},max_bytes_for_level_base=2G',
        GOOD,
        '6.8',
    ),
]

#: (rule, option, string, triggering OSD, other OSD)
BY_HARDWARE = [
    ('many-threads', 'max_background_jobs', GOOD, Hardware(cores=3), Hardware(cores=4)),
    (
        'many-threads',
        'max_background_compactions',
        'max_background_compactions=31',
        Hardware(cores=6),
        Hardware(cores=31),
    ),
    (
        'memtables-beyond-memory',
        'max_total_wal_size',
        f'{GOOD},max_total_wal_size=2G',
        Hardware(memory_target_bytes=(3 * GIB) - (128 << 20) - 1),
        Hardware(memory_target_bytes=(3 * GIB) - (128 << 20)),
    ),
    # With memtables of any default the target is to blame, and the string never.
    (
        'memory-target-small',
        'osd_memory_target',
        GOOD,
        Hardware(memory_target_bytes=(2 * GIB) - (128 << 20) - 1),
        Hardware(memory_target_bytes=(2 * GIB) - (128 << 20)),
    ),
    (
        'memory-target-small',
        'osd_memory_target',
        GOOD,
        Hardware(memory_target_bytes=GIB),
        Hardware(memory_target_bytes=2 * GIB),
    ),
    (
        'memtables-beyond-memory',
        'write_buffer_size',
        UNLIMITED,
        NOTHING,
        # One family of 128 memtables of 8 MiB.
        Hardware(families=(OptionSet(()),)),
    ),
    (
        'memtables-beyond-memory',
        'write_buffer_size',
        'write_buffer_size=64M,max_write_buffer_number=4',
        Hardware(families=(OptionSet((('max_write_buffer_number', '64'),)),)),
        Hardware(families=(OptionSet(()),)),
    ),
    # With one family RocksDB ignores the limit of the WAL, with two it does not.
    (
        'memtables-beyond-memory',
        'write_buffer_size',
        'write_buffer_size=64M,max_write_buffer_number=64,max_total_wal_size=1G',
        Hardware(families=(OptionSet(()),)),
        Hardware(families=(OptionSet(()), OptionSet(()))),
    ),
    # Files of 8.8 MiB for memtables of 8 MiB take 1.65 times what is in them.
    (
        'wal-beyond-device',
        'max_total_wal_size',
        GOOD,
        Hardware(wal_device_bytes=GIB),
        Hardware(wal_device_bytes=int(1.66 * GIB)),
    ),
    (
        'wal-beyond-device',
        'max_total_wal_size',
        UNLIMITED,
        Hardware(wal_device_bytes=96 * GIB),
        Hardware(wal_device_bytes=159 * GIB),
    ),
    # With one family RocksDB ignores the limit, and every file holds one memtable.
    (
        'wal-beyond-device',
        'max_total_wal_size',
        GOOD,
        Hardware(wal_device_bytes=GIB, families=(OptionSet(()),)),
        Hardware(wal_device_bytes=int(1.11 * GIB), families=(OptionSet(()),)),
    ),
    (
        'wal-beyond-device',
        'max_total_wal_size',
        GOOD,
        Hardware(db_device_bytes=GIB - 1),
        # A log with a device of its own is not on that of the DB.
        Hardware(wal_device_bytes=2 * GIB, db_device_bytes=GIB - 1),
    ),
    (
        'levels-beyond-device',
        'max_bytes_for_level_base',
        # Levels that size themselves from below, as by default from RocksDB 8.4, do not go by it.
        f'{GOOD},level_compaction_dynamic_level_bytes=false',
        Hardware(wal_device_bytes=2 * GIB, db_device_bytes=2 * GIB - 1),
        Hardware(wal_device_bytes=2 * GIB, db_device_bytes=2 * GIB),
    ),
    (
        'levels-beyond-device',
        'max_bytes_for_level_base',
        # WAL files of 1.7 GiB share the device.
        f'{GOOD},level_compaction_dynamic_level_bytes=false',
        Hardware(db_device_bytes=3 * GIB),
        Hardware(db_device_bytes=4 * GIB),
    ),
    (
        'short-pg-log',
        'osd_min_pg_log_entries',
        GOOD,
        set_beside('osd_min_pg_log_entries', '10'),
        set_beside('osd_min_pg_log_entries', '250'),
    ),
    (
        'short-pg-log',
        'osd_max_pg_log_entries',
        GOOD,
        set_beside('osd_max_pg_log_entries', '10'),
        set_beside('osd_max_pg_log_entries', '10000'),
    ),
    (
        'short-pg-log',
        'osd_pg_log_dups_tracked',
        GOOD,
        set_beside('osd_pg_log_dups_tracked', '10'),
        set_beside('osd_pg_log_dups_tracked', '3000'),
    ),
    (
        'cache-size-set',
        'bluestore_cache_size_ssd',
        GOOD,
        set_beside('bluestore_cache_size_ssd', '8589934592'),
        Hardware(
            related_options=(
                ('bluestore_cache_size_ssd', '8589934592'),
                ('bluestore_cache_autotune', 'false'),
            )
        ),
    ),
    (
        'cache-autotune-off',
        'bluestore_cache_autotune',
        GOOD,
        set_beside('bluestore_cache_autotune', 'false'),
        set_beside('bluestore_cache_autotune', 'true'),
    ),
    (
        'cache-ratio-set',
        'bluestore_cache_kv_ratio',
        GOOD,
        set_beside('bluestore_cache_kv_ratio', '0.2'),
        NOTHING,
    ),
    (
        'cache-ratio-set',
        'bluestore_cache_meta_ratio',
        GOOD,
        set_beside('bluestore_cache_meta_ratio', '0.8'),
        NOTHING,
    ),
]


@pytest.mark.parametrize(('rule', 'option', 'bad', 'good', 'version'), BY_STRING)
def test_rule_applies_to_one_string_and_not_the_other(
    rule: str, option: Optional[str], bad: str, good: str, version: str
) -> None:
    # The one name that only a later version knows.
    fine_on = '7.9' if bad == good else version
    assert (rule, option) in fired(bad, version, NOTHING)
    assert (rule, option) not in fired(good, fine_on, NOTHING)


@pytest.mark.parametrize(('rule', 'option', 'text', 'bad', 'good'), BY_HARDWARE)
def test_rule_applies_to_one_osd_and_not_the_other(
    rule: str, option: str, text: str, bad: Hardware, good: Hardware
) -> None:
    for version in ('6.8', '7.9', '9.10'):
        assert (rule, option) in fired(text, version, bad)
        assert (rule, option) not in fired(text, version, good)


def test_recycled_log_has_an_effect_again_since_rocksdb_9_1() -> None:
    assert ('no-effect', 'recycle_log_file_num') in fired('recycle_log_file_num=4', '7.9', NOTHING)
    values = check('recycle_log_file_num=4', '9.10').effective
    assert values['recycle_log_file_num'] == '4'
    assert ('no-effect', 'recycle_log_file_num') not in fired(
        'recycle_log_file_num=4', '9.10', NOTHING
    )


def test_unmeasured_version_is_reported() -> None:
    assert ('unknown-version', None) in fired(GOOD, '12.0', NOTHING)
    assert ('unknown-version', None) not in fired(GOOD, '9.10', NOTHING)


def test_short_ttl_is_no_warning_before_compaction_on_deletion() -> None:
    assert ('periodic-rewrites', 'ttl') not in fired(f'{GOOD},ttl=21600', '6.8', NOTHING)


@pytest.mark.parametrize('release', known_releases(), ids=lambda release: release.since)
def test_no_tuning_rule_fires_above_info_on_a_release_default(release: KnownRelease) -> None:
    """Pacific's recycle_log_file_num has no effect, and that is all."""
    for hardware in (NOTHING, Hardware(memory_target_bytes=GIB), Hardware(cores=1)):
        found = check(release.default_options, release.rocksdb_version, hardware).problems
        above = {p.rule for p in found if p.severity != 'info'}
        assert above <= {'no-effect'} | ({'many-threads'} if hardware.cores else set())


def test_two_background_jobs_are_never_too_many() -> None:
    few = f'{GOOD},max_background_jobs=2'
    assert ('many-threads', 'max_background_jobs') not in fired(few, '7.9', Hardware(cores=1))


def test_cautions_need_a_reason() -> None:
    cautious = {
        p.option for p in check('level_compaction_dynamic_level_bytes=true', '7.9').problems
    }
    assert 'level_compaction_dynamic_level_bytes' in cautious


def test_every_rule_is_tested_here() -> None:
    tried = {case[0] for case in (*BY_STRING, *BY_HARDWARE)} | {'unknown-version', 'caution'}
    assert tried == set(rules())


@pytest.mark.parametrize('version', ['6.8', '7.9', '9.10'])
def test_published_tuning_has_no_problems_on_its_hardware(version: str) -> None:
    hardware = Hardware(
        cores=8,
        memory_target_bytes=4 * GIB,
        wal_device_bytes=2 * GIB,
        db_device_bytes=60 * GIB,
        related_options=(('osd_max_pg_log_entries', '10000'), ('bluestore_cache_autotune', 'true')),
    )
    assert check(GOOD, version, hardware).problems == ()


def test_two_osds_are_combined_by_their_minimum() -> None:
    a = Hardware(
        cores=4,
        memory_target_bytes=8 * GIB,
        wal_device_bytes=3 * GIB,
        families=(OptionSet(()),),
        related_options=(('x', '1'), ('y', '1')),
    )
    b = Hardware(
        memory_target_bytes=4 * GIB,
        wal_device_bytes=2 * GIB,
        db_device_bytes=GIB,
        families=(OptionSet(()),) * 2,
        related_options=(('y', '1'), ('x', '2')),
    )
    least = Hardware(
        cores=4,
        memory_target_bytes=4 * GIB,
        wal_device_bytes=2 * GIB,
        db_device_bytes=GIB,
        families=(OptionSet(()),),
        related_options=(('x', '1'), ('y', '1'), ('x', '2')),
    )
    assert a.weakest(b) == least
    assert NOTHING.weakest(b).families == b.families
    assert NOTHING.weakest(NOTHING) == NOTHING


CORES = 'The number of cores per OSD is unknown and assumed to be 6 to 10.'
MEMORY = 'osd_memory_target is unknown and assumed to be 4 GiB, its default.'
FAMILIES = (
    'The column families are unknown and assumed to be 12, as in the default of all releases, '
    'without custom options.'
)
DEVICES = 'No WAL or DB device is known: it is not checked whether the options fit.'
KNOWN = Hardware(cores=4, memory_target_bytes=GIB, wal_device_bytes=GIB, families=(OptionSet(()),))


@pytest.mark.parametrize(
    ('hardware', 'assumed'),
    [
        (NOTHING, (CORES, MEMORY, FAMILIES, DEVICES)),
        (KNOWN, ()),
        (replace(KNOWN, cores=None), (CORES,)),
        (replace(KNOWN, memory_target_bytes=None), (MEMORY,)),
        (replace(KNOWN, families=None), (FAMILIES,)),
        (replace(KNOWN, wal_device_bytes=None), (DEVICES,)),
        (replace(KNOWN, wal_device_bytes=None, db_device_bytes=GIB), ()),
    ],
)
def test_answer_lists_exactly_its_assumptions(hardware: Hardware, assumed: tuple[str, ...]) -> None:
    assert hardware.assumptions == assumed


@pytest.mark.parametrize(
    ('device_bytes', 'fits'), [(8 << 20, False), (96 << 20, False), (128 << 20, True)]
)
def test_device_too_small_for_any_advised_limit_has_none(device_bytes: int, fits: bool) -> None:
    """A file for memtables of 8 MiB takes 8.8 MiB, and less than 64 MiB is never derived."""
    problems = check(GOOD, '7.9', Hardware(wal_device_bytes=device_bytes)).problems
    (reported,) = (p.message for p in problems if p.rule == 'wal-beyond-device')
    assert ('no limit fits' in reported, 'a limit of up to ' in reported) == (not fits, fits)


def test_full_parts_and_their_limits() -> None:
    values = {'write_buffer_size': '100', 'max_write_buffer_number': '3'}
    assert full_bytes(values) == 300
    assert limits(values, 2) == {}
    some = {'db_write_buffer_size': '7', 'max_total_wal_size': '5'}
    assert limits(some, 1) == {'db_write_buffer_size': 7}
    assert limits(some, 2) == {'db_write_buffer_size': 7, 'max_total_wal_size': 5}
    assert limits({**some, 'db_write_buffer_size': '0'}, 2) == {'max_total_wal_size': 5}
    assert limits({'db_write_buffer_size': '1'}, 1) == {'db_write_buffer_size': 1}
    assert bound_bytes(some, 300, 2) == 5
    assert bound_bytes(some, 300, 1) == 7
    assert bound_bytes(some, 4, 2) == 4
    with pytest.raises(KeyError):
        full_bytes({'write_buffer_size': '100'})


def test_rule_has_a_severity_a_meaning_and_a_source() -> None:
    assert all(rule.severity in {'error', 'warning', 'info'} for rule in rules().values())
    assert all(rule.meaning and rule.source for rule in rules().values())
    together = {name for rule in rules().values() for name in rule.weighs}
    assert together <= set(catalogue().options)
    assert rules()['clamped'].weighs == ()
    source = rules()['clamped'].source
    own = problem('clamped', 'ttl', 'Said.')
    assert own == Problem('warning', 'clamped', 'ttl', 'Said.', source)
    assert problem('clamped', 'ttl', 'Said.', 'closer').source == 'closer'

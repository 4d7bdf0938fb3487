"""The rules of `check`, beside the recorded answers at the edges of each (`golden`)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.problems import Hardware, Problem, problem, rules
from rocksdb_tuner.options.releases import KnownRelease, known_releases
from rocksdb_tuner.options.syntax import OptionSet

from .golden import recorded

GIB = 1 << 30
#: A published tuning with nothing against it.
GOOD = (
    'compression=kNoCompression,max_write_buffer_number=128,min_write_buffer_number_to_merge=16,'
    'write_buffer_size=8388608,max_background_jobs=4,level0_file_num_compaction_trigger=8,'
    'compaction_readahead_size=2MB,writable_file_max_buffer_size=0,'
    'max_bytes_for_level_base=1073741824,max_total_wal_size=1073741824'
)
NOTHING = Hardware()


def test_every_rule_applies_to_a_recorded_text() -> None:
    """Literally, and beside texts and OSDs at its edge to which it does not."""
    answers = [answer for group in recorded()['checks'].values() for answer in group.values()]
    assert {found[1] for answer in answers for found in answer['problems']} == set(rules())


@pytest.mark.parametrize('release', known_releases(), ids=lambda release: release.since)
def test_no_tuning_rule_fires_above_info_on_a_release_default(release: KnownRelease) -> None:
    """Pacific's recycle_log_file_num has no effect, and that is all."""
    for hardware in (NOTHING, Hardware(memory_target_bytes=GIB), Hardware(cores=1)):
        found = check(release.default_options, release.rocksdb_version, hardware).problems
        above = {p.rule for p in found if p.severity != 'info'}
        assert above <= {'no-effect'} | ({'many-threads'} if hardware.cores else set())


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

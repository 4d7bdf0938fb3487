"""The choice of an option set: by writer, publications, and the space of the smallest OSD.

``data/chosen.txt`` has the result of each branch of the choice where they differ. ``python -m
rocksdb_tuner.tests.advise.test_choice`` regenerates it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Mapping, Optional

import pytest

from rocksdb_tuner.advise.case import Case, fits
from rocksdb_tuner.advise.choice import (
    Target,
    best_profile,
    default_target,
    fitting,
    only_compressed,
    published_target,
    repaired,
    resized,
    score,
    target_for,
)
from rocksdb_tuner.advise.cohort import Cohort, group_cohort
from rocksdb_tuner.advise.objections import Name, Objection
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Limit, OsdFacts, Reason, Resource
from rocksdb_tuner.advise.strings import check
from rocksdb_tuner.lsm.model import TreeInputs
from rocksdb_tuner.lsm.working_set import Measured, WorkingSet, working_set
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.grammar import diff
from rocksdb_tuner.options.releases import KnownRelease, release_of
from rocksdb_tuner.options.syntax import parse
from rocksdb_tuner.plan.steps import ShownSteps
from rocksdb_tuner.workload.records import Workload, WorkloadClass
from rocksdb_tuner.workload.writer import Writer

from ..fake_cluster import DEFAULTS
from .builders import PACIFIC, entry, facts, group, osd_info, workload
from .golden_texts import kept, write
from .test_policy import GIB, MIB, Row

CHOSEN = Path(__file__).parent / 'data' / 'chosen.txt'
REEF = DEFAULTS['reef']
RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
D, LZ4 = profile('variant-2022-d'), profile('lz4-2025')
D_LZ4 = profile('variant-2022-d-lz4')


def osd(
    osd_id: int = 0,
    text: str = PACIFIC,
    release: str = 'pacific',
    memory_bytes: Optional[int] = 4 * GIB,
    signals: Optional[Mapping[str, Any]] = None,
    sharded: Optional[bool] = None,
    **info: Any,
) -> OsdFacts:
    found = facts(osd_info(osd_id, release, **info), text, 'mon', (entry('osd', text),))
    measured: dict[str, Any] = {'window_s': 30.0, 'db_used_bytes': 30 * GIB, **(signals or {})}
    return found._replace(
        signals=Signals(osd_id, **measured),
        details=None
        if memory_bytes is None
        else Details(0.0, None, None, None, None, memory_bytes),
        sharded=sharded,
    )


def case(
    *osds: OsdFacts,
    does: Optional[Workload] = None,
    cores: Optional[int] = None,
    limit: Optional[Limit] = None,
) -> Case:
    known = group(*osds, does=does)
    known = replace(known, cores=cores, limit=limit or known.limit)
    cohort = group_cohort(known, osds, True, ShownSteps())
    assert isinstance(cohort, Cohort)
    return Case(cohort)


def release(version: str) -> KnownRelease:
    found = release_of(version, None)
    assert found is not None
    return found


# -- the facts of a case about its OSDs


@pytest.mark.parametrize(
    ('does', 'writer'),
    [
        (workload(RBD, 0.8), Writer(RBD, 0.8)),
        (workload(RBD, 0.79), None),
        (workload(WorkloadClass.LARGE_WRITE), None),
        (None, None),
    ],
)
def test_writer_counts_from_the_minimum_confidence_on(
    does: Optional[Workload], writer: Optional[Writer]
) -> None:
    assert case(osd(), does=does).writer == writer


def test_given_limit_takes_precedence_over_a_computed_one() -> None:
    found = Limit(Resource.MEMORY, 0.9)
    assert case(osd(), does=workload(), limit=found).limit is found
    assert case(osd(), does=workload()).limit.resource is Resource.KV_SYNC


@pytest.mark.parametrize(
    'least',
    [
        {'memory_bytes': 2 * GIB},
        {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB},
        {'dedicated_db': True, 'db_device_bytes': 2 * GIB},
    ],
)
def test_chosen_set_must_fit_the_smallest_osd(least: dict[str, Any]) -> None:
    """Anywhere in the group; its devices count with its memory."""
    alike = osd(0), osd(1)
    small = osd(2, **least)
    for osds in ((*alike, small), (small, *alike)):
        found = case(*osds, does=workload()).situation
        assert found.osd_id == 2
        assert found.workload is RBD
        assert found.devices.dedicated_wal is small.info.dedicated_wal
        assert found.devices.wal_bytes == small.info.wal_device_bytes
        assert found.devices.db_bytes == small.info.db_device_bytes
        assert found.memory_target_bytes == least.get('memory_bytes', 4 * GIB)


def test_only_the_osd_with_the_relevant_load_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """For other kinds of OSDs the choice depends on their space, which needs no fit."""
    asked: list[TreeInputs] = []

    def counted(inputs: TreeInputs, measured: Optional[Measured]) -> Optional[WorkingSet]:
        asked.append(inputs)
        return working_set(inputs, measured)

    monkeypatch.setattr('rocksdb_tuner.advise.whatif.situation.working_set', counted)
    kinds = [
        osd(n, dedicated_db=True, db_device_bytes=(n + 1) * 100 * GIB)._replace(
            workload=workload(RBD)
        )
        for n in range(3)
    ]
    assert case(*kinds, does=workload(RBD)).situation.osd_id == 0
    assert len(asked) == 1


def test_first_kind_counts_for_osds_with_equal_space_and_cores_are_per_group() -> None:
    found = case(osd(0), osd(1, sharded=True), osd(2, sharded=False), cores=6).situation
    assert (found.osd_id, found.cores, found.workload) == (0, 6, None)
    # The memory of the second is unknown, and assumed to equal that of the others.
    unknown = case(osd(0), osd(1, memory_bytes=None)).situation
    assert (unknown.osd_id, unknown.memory_target_bytes) == (0, 4 * GIB)


@pytest.mark.parametrize(
    'other',
    [
        {'memory_bytes': None},
        {'memory_bytes': 3 * GIB},
        {'dedicated_db': True},
        {'dedicated_wal': True},
        {'db_device_bytes': GIB},
        {'wal_device_bytes': GIB},
        {'sharded': True},
    ],
)
def test_osds_that_differ_in_any_resource_are_checked_separately(other: dict[str, Any]) -> None:
    """And those that are alike only once, by the last of them."""
    found = case(osd(0), osd(1), osd(2, **other))._alike
    assert [o.info.osd_id for o in found] == [1, 2]


def test_set_too_large_for_one_osd_is_reported_once_as_a_misfit() -> None:
    small: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
    smaller: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 256 * MIB}
    assert case(osd(0), osd(1)).misfits(PACIFIC) == ()
    found = case(osd(0), osd(1, **small), osd(2, **smaller)).misfits(PACIFIC)
    assert [(o.name, o.option) for o in found] == [(Name.MISFIT, 'max_total_wal_size')]


@pytest.mark.parametrize(
    ('text', 'does', 'names'),
    [
        (PACIFIC, None, []),
        (PACIFIC, workload(RBD, busy=0.25), [Name.LARGE_MEMTABLES]),
        (PACIFIC, workload(RBD, busy=0.24), []),
        (PACIFIC, workload(RBD, busy=None), []),
        (PACIFIC, workload(RGW, busy=0.9), [Name.UNCOMPRESSED]),
        (REEF, workload(RGW, busy=0.9), []),
        (D.options, workload(RBD, busy=0.9), []),
    ],
)
def test_objections_depend_on_the_writer(
    text: str, does: Optional[Workload], names: list[Name]
) -> None:
    assert [o.name for o in case(osd(), does=does).under_workload(text)] == names


def test_string_that_prevents_an_osd_start_has_no_effect() -> None:
    assert case(osd()).effective('write_buffer_size=64M')['write_buffer_size'] == '67108864'
    assert case(osd()).effective('no_such_option=1') == {}


@pytest.mark.parametrize(
    ('found', 'message'),
    [
        (case(osd()), None),
        (case(osd(), cores=3), None),
        (case(osd(), cores=2), 'An OSD has 2 cores: with 2 cores all tuned profiles'),
        (case(osd(), cores=1), 'An OSD has 1 core: with 2 cores all tuned profiles'),
        (
            case(osd(device_class='hdd', main_rotational=True, db_rotational=True), cores=2),
            'Their RocksDB is on hard disks',
        ),
        (
            case(osd(distribution='debian', version='16.2.13', main_rotational=True)),
            'osd.0 run 16.2.13 from packages of their distribution',
        ),
    ],
)
def test_no_option_set_fixes_a_bad_build_a_slow_disk_or_few_cores(
    found: Case, message: Optional[str]
) -> None:
    why = found.why_no_tuning
    assert (why is None) is (message is None)
    if why is not None:
        assert why.statement.startswith(message or '-')


MEASURED: dict[str, Any] = {'dedicated_db': True, 'db_device_bytes': 100 * GIB}


@pytest.mark.parametrize(
    ('osds', 'message'),
    [
        ([osd(signals={'db_used_bytes': 70 * GIB, 'db_total_bytes': 100 * GIB}, **MEASURED)], 70),
        ([osd(signals={'db_used_bytes': 69 * GIB, 'db_total_bytes': 100 * GIB}, **MEASURED)], None),
        # There is always space with the data.
        ([osd(signals={'db_used_bytes': 99 * GIB, 'db_total_bytes': 100 * GIB})], None),
        ([osd(signals={'db_used_bytes': None, 'db_total_bytes': 100 * GIB}, **MEASURED)], None),
        ([osd(signals={'db_used_bytes': 99 * GIB, 'db_total_bytes': 0}, **MEASURED)], None),
        ([osd(signals={'db_used_bytes': 99 * GIB}, **MEASURED)], None),
        (
            [
                osd(n, signals={'db_used_bytes': n * GIB, 'db_total_bytes': 100 * GIB}, **MEASURED)
                for n in (71, 82, 73)
            ],
            82,
        ),
    ],
)
def test_space_is_short_if_a_full_compaction_would_nearly_fill_the_fullest_device(
    osds: list[OsdFacts], message: Optional[int]
) -> None:
    reported = None if message is None else f'The fullest DB device is {message}% full.'
    assert case(*osds).db_space_short == reported


def test_space_is_short_if_any_osd_spilled_over() -> None:
    """An OSD without signals contributes nothing, and hides nothing."""
    spilled: dict[str, Any] = {
        'db_used_bytes': 99 * GIB,
        'db_total_bytes': 100 * GIB,
        'slow_used_bytes': 1,
    }
    osds = (
        osd(0, **MEASURED)._replace(signals=None),
        osd(1, signals=spilled),
        osd(2, signals=spilled, **MEASURED),
        osd(3, signals={**spilled, 'slow_used_bytes': 0}, **MEASURED),
        osd(4, signals=spilled, **MEASURED),
    )
    message = 'RocksDB data of osd.2, osd.4 spilled over to the slow device.'
    assert case(*osds).db_space_short == message


# -- by what was published


def test_best_known_set_is_the_first_with_the_highest_score() -> None:
    pacific, reef = release('16.2.15'), release('18.2.7')
    assert best_profile(RBD, pacific) == (D, 0.8)
    assert best_profile(RGW, pacific) == (LZ4, 0.85)
    found, suits = best_profile(RGW, reef)
    assert (found and found.name, suits) == ('bluestore-default-reef', 0.9)
    assert score(LZ4, RGW, reef) == 0.9
    assert score(D, RGW, reef) == 0.0
    assert score(None, RGW, reef) == 0.0


def test_without_publications_no_set_is_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('rocksdb_tuner.advise.choice.profiles', lambda: (D,))
    assert best_profile(RBD, release('16.2.15')) == (D, 0.8)
    assert best_profile(RBD, release('18.2.7')) == (None, 0.0)
    monkeypatch.setattr('rocksdb_tuner.advise.choice.profiles', tuple)
    assert best_profile(RBD, release('16.2.15')) == (None, 0.0)


def by_publication(found: Case) -> Target:
    assert found.writer is not None
    return published_target(found, found.writer)


def test_default_stays_unless_another_set_suits_much_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a fifth of the scale: 0.8 for variant D on Pacific, 0.5 for its default."""
    found = case(osd(), does=workload(RBD))

    def least(gain: float) -> Target:
        monkeypatch.setattr('rocksdb_tuner.advise.choice.MIN_GAIN', gain)
        return by_publication(found)

    exactly = 0.8 - 0.5
    assert least(exactly).profile == D
    default = least(exactly + 0.001)
    assert default.options == PACIFIC
    assert default.profile is not None
    assert default.profile.name == 'bluestore-default-pacific'


def test_unknown_default_stays_without_a_better_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = case(osd(), does=workload(RBD))
    monkeypatch.setattr('rocksdb_tuner.advise.choice.profiles', tuple)
    monkeypatch.setattr('rocksdb_tuner.advise.choice.recognize', lambda *_: None)
    assert by_publication(found) == Target(PACIFIC, None, ())


def test_default_without_a_score_is_chosen_without_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = case(osd(), does=workload(RBD))
    monkeypatch.setattr('rocksdb_tuner.advise.choice.suits', lambda *_: None)
    chosen = by_publication(found)
    assert (chosen.options, chosen.reasons) == (PACIFIC, ())
    assert chosen.profile is not None


def test_space_changes_nothing_if_only_uncompressed_sets_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither does a compressed set that suits another work."""
    spilled: dict[str, Any] = {
        'slow_used_bytes': 1,
        'db_used_bytes': GIB,
        'db_total_bytes': 100 * GIB,
    }
    found = case(osd(signals=spilled, **MEASURED), does=workload(RBD))
    assert by_publication(found).profile == D_LZ4
    files = replace(LZ4, suitability=LZ4.suitability[-2:])
    assert {rule.workload for rule in files.suitability} == {WorkloadClass.CEPHFS_METADATA}
    monkeypatch.setattr('rocksdb_tuner.advise.choice.profiles', lambda: (D, files))
    assert by_publication(found).profile == D


def test_last_by_name_is_chosen_among_equally_suited_compressed_sets() -> None:
    """Both of 2022 and 2025 have 0.65 for small writes on Pacific: the same one each time."""
    spilled: dict[str, Any] = {
        'slow_used_bytes': 1,
        'db_used_bytes': GIB,
        'db_total_bytes': 100 * GIB,
    }
    found = case(osd(signals=spilled, **MEASURED), does=workload(RBD))
    chosen = by_publication(found)
    assert chosen.profile == D_LZ4
    assert chosen.reasons[0].statement == (
        'RocksDB data of osd.0 spilled over to the slow device. LZ4 keeps metadata small, so a '
        'compressed profile is chosen.'
    )
    assert len(chosen.reasons) > 1


# -- what fits


def test_default_fits_unless_checks_warn_and_other_sets_fit_by_their_wal() -> None:
    roomy = case(osd(), does=workload(RBD))
    assert fits(roomy, PACIFIC)
    assert fits(roomy, D.options)
    assert not fits(roomy, 'write_buffer_size=64M')
    assert not fits(roomy, f'{D.options},max_total_wal_size=1073741825')
    assert not fits(roomy, 'no_such_option=1')
    assert fits(roomy, f'{D.options},max_total_wal_size=1')
    small = case(osd(memory_bytes=2 * GIB), does=workload(RBD))
    # All OSDs run it, untuned.
    assert fits(small, PACIFIC)
    assert not fits(small, D.options)
    assert fits(
        small, D.options.replace('max_total_wal_size=1073741824', 'max_total_wal_size=512M')
    )


@pytest.mark.parametrize(
    ('room', 'fitting_default'),
    [
        ({'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}, False),
        ({'dedicated_wal': False, 'wal_device_bytes': 512 * MIB}, True),
        ({'dedicated_wal': True, 'wal_device_bytes': 4 * GIB}, True),
        ({'dedicated_db': True, 'db_device_bytes': 512 * MIB}, False),
        ({'dedicated_db': False, 'db_device_bytes': 512 * MIB}, True),
    ],
)
def test_default_fit_is_checked_only_for_existing_devices(
    room: dict[str, Any], fitting_default: bool
) -> None:
    assert fits(case(osd(**room)), PACIFIC) is fitting_default


def test_set_that_does_not_fit_is_replaced_by_a_fitting_one_or_none() -> None:
    small = case(osd(dedicated_wal=True, wal_device_bytes=512 * MIB), does=workload(RBD))
    fits_already = Target(
        REEF.replace('max_total_wal_size=1073741824', 'max_total_wal_size=256M'), None, ()
    )
    assert small.misfits(fits_already.options) == ()
    assert fitting(small, fits_already) is fits_already
    found = fitting(small, default_target(small))
    assert found is not None
    assert 'max_total_wal_size=268435456' in found.options
    assert small.misfits(found.options) == ()
    tiny = case(osd(dedicated_wal=True, wal_device_bytes=16 * MIB), does=workload(RBD))
    assert fitting(tiny, default_target(tiny)) is None


@pytest.mark.parametrize(
    ('wal', 'cores', 'found', 'text', 'compressed'),
    [
        ('small', None, D.options, PACIFIC, False),
        ('small', None, LZ4.options, PACIFIC, True),
        ('small', None, D.options, f'{PACIFIC},compression=kSnappyCompression', True),
        ('small', None, D.options, LZ4.options, True),
        # The work that can be left out, unless there is no room without.
        ('small', 2, LZ4.options, LZ4.options, False),
        ('small and spilled', 2, D.options, PACIFIC, True),
        ('small and spilled', None, D.options, PACIFIC, True),
    ],
)
def test_derived_set_is_compressed_if_metadata_would_grow_or_not_fit(
    wal: str, cores: Optional[int], found: str, text: str, compressed: bool
) -> None:
    room: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
    if 'spilled' in wal:
        room = {**room, **MEASURED, 'signals': {'slow_used_bytes': 1}}
    here = case(osd(text=text, **room), does=workload(RBD), cores=cores)
    derived = fitting(here, Target(found, None, ()))
    assert derived is not None
    assert ('compression=kLZ4Compression' in derived.options) is compressed
    assert derived.reasons[0].statement.startswith('The published profile would not fit these OSDs')


def test_set_that_may_not_be_applied_is_not_chosen_for_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
    small = case(osd(text=f'{PACIFIC},max_background_jobs=6', **room), does=workload(RBD))
    assert resized(small) is not None
    forbidden = check('disableWAL=true', '6.8').problems
    monkeypatch.setattr('rocksdb_tuner.advise.choice.safe_to_apply', lambda *_: forbidden)
    assert fitting(small, by_publication(small)) is None
    assert (resized(small), only_compressed(small)) == (None, None)
    assert repaired(small, [objection('ttl')]) is None


def test_set_that_prevents_an_osd_start_is_not_resized(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it would not start is reported, and outweighs that it is too large."""
    unknown = replace(D, options=f'{D.options},no_such_option=1')
    monkeypatch.setattr('rocksdb_tuner.advise.choice.profiles', lambda: (unknown,))
    assert by_publication(case(osd(), does=workload(RBD))).options == unknown.options


# -- what runs, with as little changed as possible


def objection(option: Optional[str], name: Name = Name.HARMFUL) -> Objection:
    return Objection(name, Reason('it harms', 'a test'), option)


@pytest.mark.parametrize(
    ('text', 'options', 'to'),
    [
        (f'{PACIFIC},ttl=60,max_background_jobs=6', ['ttl'], f'{PACIFIC},max_background_jobs=6'),
        # The default of the release.
        (
            f'{PACIFIC.replace("=268435456", "=8388608")},max_background_jobs=6',
            ['write_buffer_size'],
            f'{PACIFIC},max_background_jobs=6',
        ),
        (f'{PACIFIC},ttl=60', ['ttl'], PACIFIC),
        # Of the string as a whole, or of one that stays as bad as it was.
        (f'{PACIFIC},ttl=60', [None], None),
        (f'{PACIFIC},ttl=60', ['ttl', None], None),
        (f'{PACIFIC},ttl=60,disableWAL=true', ['ttl'], None),
        (f'{PACIFIC},ttl=60,compaction_readahead_size=0', ['ttl'], None),
        (f'{PACIFIC},ttl=60,max_total_wal_size=0', ['ttl'], None),
    ],
)
def test_warnings_are_fixed_with_the_values_of_the_release(
    text: str, options: list[Optional[str]], to: Optional[str]
) -> None:
    found = repaired(case(osd(text=text)), [objection(option) for option in options])
    assert (found and found.options) == to
    if found is not None and to != PACIFIC:
        assert found.profile is None
        assert [r.statement for r in found.reasons] == [
            "Only options with a warning change, to the release's values; all others stay."
        ]
    if to == PACIFIC:
        assert found == default_target(case(osd()))


#: What operators of hosts with little memory shrink.
SHRUNK = PACIFIC.replace('=268435456', '=1048576')


@pytest.mark.parametrize(
    ('text', 'to'),
    [
        # The warning is about merging, which is 1 in the default, too.
        (f'{SHRUNK},max_background_jobs=6', f'{PACIFIC},max_background_jobs=6'),
        (
            f'{SHRUNK},max_background_jobs=6,level0_file_num_compaction_trigger=2',
            f'{PACIFIC},max_background_jobs=6',
        ),
        (f'{SHRUNK},max_bytes_for_level_base=64M', PACIFIC),
        (SHRUNK, PACIFIC),
        # The warning is about the number of memtables, which is that of the default.
        (
            f'{PACIFIC},max_background_jobs=6,min_write_buffer_number_to_merge=3',
            f'{PACIFIC},max_background_jobs=6',
        ),
        # One named option suffices: the trigger stays.
        (
            f'{PACIFIC},level0_slowdown_writes_trigger=6,level0_file_num_compaction_trigger=8',
            f'{PACIFIC},level0_file_num_compaction_trigger=8',
        ),
        # It does not here: RocksDB's own slowdown is at 20 files.
        (
            f'{PACIFIC},level0_slowdown_writes_trigger=6,level0_file_num_compaction_trigger=24',
            PACIFIC,
        ),
        (f'{SHRUNK},allow_fallocate=false', None),
    ],
)
def test_options_that_cause_a_warning_together_are_fixed_together(
    text: str, to: Optional[str]
) -> None:
    here = case(osd(text=text))
    found = repaired(here, here.standing(text))
    assert (found is None) is (to is None)
    if found is None or to is None:
        return
    assert here.alike(found.options, to)
    assert here.standing(found.options) == ()
    if to != PACIFIC:
        named = 'with a warning' if 'trigger=8' in text else 'that cause the warnings'
        assert named in found.reasons[0].statement


def test_unreadable_string_is_not_repaired_resized_or_compressed() -> None:
    unread = Case(replace(case(osd()).cohort, running='write_buffer_size'))
    assert repaired(unread, [objection('ttl')]) is None
    assert resized(unread) is None
    assert only_compressed(unread) is None


@pytest.mark.parametrize(
    'more', ['compaction_readahead_size=0', 'max_background_compactions=31', 'disableWAL=true']
)
def test_sizes_alone_do_not_change_if_other_objections_exist(more: str) -> None:
    room: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
    assert resized(case(osd(text=f'{PACIFIC},ttl=60', **room))) is not None
    assert resized(case(osd(text=f'{PACIFIC},{more}', **room))) is None
    tiny: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 16 * MIB}
    assert resized(case(osd(text=f'{PACIFIC},ttl=60', **tiny))) is None


def test_only_compression_changes_if_that_may_be_applied() -> None:
    text = f'{PACIFIC},max_background_jobs=6'
    found = only_compressed(case(osd(text=text)))
    assert found is not None
    assert found.options == text.replace('kNoCompression', 'kLZ4Compression')
    assert (found.profile, [r.source for r in found.reasons]) == (None, ['rule of this module'])
    named = only_compressed(case(osd(text=D.options)))
    assert named is not None
    assert named.profile == D_LZ4
    unknown = replace(case(osd()).cohort, running=f'{PACIFIC},no_such_option=1')
    assert only_compressed(Case(unknown)) is None


def test_superseded_set_is_not_chosen_for_its_compression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stale = replace(D_LZ4, superseded='something better is known')
    monkeypatch.setattr('rocksdb_tuner.advise.choice.recognize', lambda *_: stale)
    assert only_compressed(case(osd(text=D.options))) is None


# -- all ways of choosing, where they differ


def changes(found: Target, case: Case) -> str:
    """From the default of the release."""
    default = case.release.default_options
    if case.effective(found.options) == {}:
        return 'what would not start'
    differences = diff(parse(default), parse(found.options))
    return ' '.join(f'{d.option}={d.value_to}' for d in differences) or 'the default'


def words(name: str, found: Optional[Target], case: Case) -> str:
    if found is None:
        return f'{name}: nothing'
    if found.profile is not None:
        return f'{name}: {found.profile.name}, {len(found.reasons)} reasons'
    return '\n'.join(
        (
            f'{name}: {changes(found, case)}',
            *(f'  because {r.statement[:60]}' for r in found.reasons),
        )
    )


def reported(row: Row) -> str:
    found = row.case(row.options)
    target = target_for(found)
    default = default_target(found)
    texts = (
        ('default', default.options),
        ('target', target.options),
        ('running', found.running),
    )
    return '\n'.join(
        (
            words('target', target, found),
            f'fits: {", ".join(name for name, text in texts if fits(found, text)) or "nothing"}',
            words('in place of a default that does not fit', fitting(found, default), found),
            words('resized', resized(found), found),
            words('compressed', only_compressed(found), found),
            words('repaired', repaired(found, found.standing(found.running)), found),
        )
    )


ROWS = (
    *(Row('pacific', 'default', work, 'flash') for work in ('idle', 'rbd busy 72%', 'rgw')),
    Row('pacific', 'default', 'cephfs', 'flash'),
    Row('quincy', 'jobs=6', 'rbd busy 72%', 'flash'),
    Row('reef-18.2.2', 'default', 'rbd busy 72%', 'flash'),
    Row('reef-18.2.2', 'jobs=6', 'rgw', 'flash'),
    Row('reef', 'alternate-2019', 'rbd busy 72%', 'flash'),
    Row('pacific', 'snappy', 'rbd busy 72%', 'flash'),
    Row('pacific', 'no-wal-limit', 'rbd busy 72%', 'flash'),
    Row('pacific', 'disableWAL', 'rgw', 'flash'),
    Row('pacific', 'not-judged', 'rgw', 'flash'),
    *(
        Row(release, running, work, hardware)
        for release, running in (('pacific', 'jobs=6'), ('reef', 'default'))
        for work in ('rbd busy 72%', 'rgw')
        for hardware in ('db 8 of 10 GiB', 'wal 512 MiB', 'memory 2 GiB', '2 cores')
    ),
    Row('pacific', 'lz4-2025', 'rbd busy 72%', 'wal 512 MiB'),
    Row('pacific', 'variant-d', 'rgw', 'wal 512 MiB'),
    Row('pacific', 'snappy', 'idle', 'wal 512 MiB'),
    Row('reef', 'jobs=6', 'rbd busy 72%', 'wal 512 MiB'),
)


def title(row: Row) -> str:
    return f'{row.release}, {row.running}, {row.workload}, {row.hardware}'


@pytest.mark.parametrize('row', ROWS, ids=title)
def test_each_branch_of_the_choice_gives_the_recorded_text(row: Row) -> None:
    assert reported(row) == kept(CHOSEN)[title(row)]


def test_no_recorded_text_is_unused() -> None:
    assert list(kept(CHOSEN)) == [title(row) for row in ROWS]


if __name__ == '__main__':
    write(CHOSEN, {title(row): reported(row) for row in ROWS})

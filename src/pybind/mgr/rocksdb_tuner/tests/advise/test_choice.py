"""The facts of a case, and what takes the place of a set with objections."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, Mapping, Optional

import pytest

from rocksdb_tuner.advise.candidates import weighing
from rocksdb_tuner.advise.case import Case, Circumstances, group_case
from rocksdb_tuner.advise.choice import default_target, fixed
from rocksdb_tuner.advise.objections import (
    Name,
    Objection,
    standing_objections,
    workload_objections,
)
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import Limit, OsdFacts, Reason, Resource
from rocksdb_tuner.lsm.model import Measured, TreeInputs, WorkingSet, working_set
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.classify import Writer
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from .builders import PACIFIC, entry, facts, group, osd_info, release, workload
from .test_policy import GIB, MIB

RBD, RGW = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.RGW_METADATA
D, LZ4 = profile('variant-2022-d'), profile('lz4-2025')


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
    limit: Optional[Limit] = None,
    **known: Any,
) -> Case:
    members = group(*osds, does=does)
    found = group_case(replace(members, limit=limit or members.limit), Circumstances(osds, **known))
    assert isinstance(found, Case)
    return found


# -- the facts of a case about its OSDs


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
        assert found.osd_id == 2 or 'memory_bytes' in least
        assert found.workload is RBD
        assert found.devices.dedicated_wal is small.info.dedicated_wal
        assert found.devices.wal_bytes == small.info.wal_device_bytes
        assert found.devices.db_bytes == small.info.db_device_bytes
        assert found.memory_target_bytes == least.get('memory_bytes', 4 * GIB)


def test_only_the_osd_with_the_relevant_load_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """For other kinds of OSDs the choice depends on their space, which needs no fit."""
    asked: list[TreeInputs] = []

    def counted(inputs: TreeInputs, measured: Measured) -> Optional[WorkingSet]:
        asked.append(inputs)
        return working_set(inputs, measured)

    monkeypatch.setattr('rocksdb_tuner.advise.whatif.situation.working_set', counted)
    seen = {'db_write_amp': 2.3, 'db_write_amp_window_s': 86400.0}
    kinds = [
        osd(n, signals=seen, dedicated_db=True, db_device_bytes=(n + 1) * 100 * GIB)._replace(
            workload=workload(RBD)
        )
        for n in range(3)
    ]
    assert case(*kinds, does=workload(RBD)).situation.osd_id == 0
    assert len(asked) == 1


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


@pytest.mark.parametrize(
    ('used', 'plentiful'),
    [((25, 10), True), ((26, 10), False), ((None, 10), False), ((), False)],
)
def test_more_space_is_no_loss_where_every_db_takes_little_of_its_device(
    used: tuple[Optional[int], ...], plentiful: bool
) -> None:
    osds = [
        osd(n, signals={'db_used_bytes': gib and gib * GIB, 'db_total_bytes': 100 * GIB})
        for n, gib in enumerate(used)
    ]
    found = case(*osds or [osd(0)._replace(signals=None)])
    assert found.db_space_plentiful == plentiful
    assert (Resource.DB_SPACE in weighing(found).bars.plenty) == plentiful


# -- in place of a set with objections


def objection(option: Optional[str], name: Name = Name.HARMFUL) -> Objection:
    return Objection(name, Reason('it harms', 'a test'), option)


SMALL_WAL_DEVICE: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 512 * MIB}
TINY_WAL_DEVICE: dict[str, Any] = {'dedicated_wal': True, 'wal_device_bytes': 16 * MIB}


def test_superseded_set_is_replaced_by_what_fits() -> None:
    text = profile('alternate-2019').options
    small = case(osd(text=text, **SMALL_WAL_DEVICE))
    found = fixed(small, small.objections)
    assert found is not None
    assert 'max_total_wal_size=268435456' in found.options
    assert small.misfits(found.options) == ()
    assert found.reasons[0].statement.startswith(f'{LZ4.title} would not')
    # If nothing fits, anything is better than no limit at all.
    tiny = case(osd(text=text, **TINY_WAL_DEVICE))
    found = fixed(tiny, tiny.objections)
    assert found is not None
    assert found.profile == LZ4


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
    """What cannot be fixed stays: what else is in it may be as good as any other."""
    found = fixed(case(osd(text=text)), [objection(option) for option in options])
    assert (found and found.options) == to
    if found is not None and to != PACIFIC:
        assert found.profile is None
        assert [r.statement for r in found.reasons] == [
            "Only the options with a warning change, to the release's values; all others stay."
        ]
    if to == PACIFIC:
        assert found == default_target(case(osd()))


def test_unreadable_string_stays() -> None:
    unread = replace(case(osd()), running='write_buffer_size')
    assert fixed(unread, [objection('ttl')]) is None


def test_dangerous_string_that_cannot_be_fixed_is_replaced() -> None:
    here = case(osd(text=f'{PACIFIC},ttl=60,disableWAL=true'))
    found = fixed(here, [objection('ttl', Name.UNSAFE)])
    assert found is not None
    assert found.profile == LZ4


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
    found = fixed(here, here.objections)
    if to is None:
        assert found is None or found.profile == LZ4
        return
    assert found is not None
    assert here.alike(found.options, to)
    assert here.standing(found.options) == ()
    if to != PACIFIC:
        named = 'with a warning' if 'trigger=8' in text else 'that cause the warnings'
        assert named in found.reasons[0].statement


@pytest.mark.parametrize(
    'more', ['compaction_readahead_size=0', 'max_background_compactions=31', 'disableWAL=true']
)
def test_sizes_alone_change_if_there_is_no_other_objection(more: str) -> None:
    jobs = case(osd(text=f'{PACIFIC},max_background_jobs=6', **SMALL_WAL_DEVICE))
    found = fixed(jobs, jobs.objections)
    assert found is not None
    assert 'max_background_jobs=6' in found.options
    assert found.reasons[0].statement.startswith('Only sizes change')
    other = case(osd(text=f'{PACIFIC},{more}', **SMALL_WAL_DEVICE))
    found = fixed(other, other.objections)
    assert found is not None
    assert more not in found.options
    tiny = case(osd(text=f'{PACIFIC},max_background_jobs=6', **TINY_WAL_DEVICE))
    assert fixed(tiny, tiny.objections) is None


# -- objections to a string

CEPHFS = WorkloadClass.CEPHFS_METADATA
ALTERNATE = profile('alternate-2019').options


def busy(share: float) -> Evidence:
    return Evidence('kv_sync_busy', share, 'ratio', 30.0, 'busy')


UNCOMPRESSED = {'write_buffer_size': str(64 * MIB), 'compression': 'kNoCompression'}


@pytest.mark.parametrize(
    ('effective', 'who', 'share', 'names'),
    [
        (UNCOMPRESSED, RBD, 0.25, [Name.LARGE_MEMTABLES]),
        (UNCOMPRESSED, RBD, 0.24, []),
        (UNCOMPRESSED, RBD, None, []),
        ({**UNCOMPRESSED, 'write_buffer_size': str(64 * MIB - 1)}, RBD, 0.9, []),
        (UNCOMPRESSED, RGW, 0.9, [Name.UNCOMPRESSED]),
        (UNCOMPRESSED, CEPHFS, None, [Name.UNCOMPRESSED]),
        ({**UNCOMPRESSED, 'compression': 'kLZ4Compression'}, RGW, 0.9, []),
        # What an OSD would not start with is not known to be uncompressed.
        ({}, RGW, 0.9, []),
        ({}, RBD, 0.9, []),
    ],
)
def test_large_memtables_hurt_busy_small_writes_and_no_compression_hurts_metadata(
    effective: dict[str, str], who: WorkloadClass, share: Optional[float], names: list[Name]
) -> None:
    measured = None if share is None else busy(share)
    found = workload_objections(effective, Writer(who, 0.9), measured)
    assert [o.name for o in found] == names


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        (PACIFIC, []),
        (profile('variant-2022-d').options, []),
        (f'{PACIFIC},ttl=60', []),
        (f'{PACIFIC},compaction_readahead_size=0', [(Name.HARMFUL, 'compaction_readahead_size')]),
        (f'{PACIFIC},disableWAL=true', [(Name.UNSAFE, 'disableWAL')]),
        (
            f'{PACIFIC},compaction_readahead_size=0,disableWAL=true',
            [(Name.UNSAFE, 'disableWAL'), (Name.HARMFUL, 'compaction_readahead_size')],
        ),
        (f'{PACIFIC},block_based_table_factory={{block_cache=1M}}', []),
        # Published as a whole: superseded, and none of what the checks warn of it.
        (ALTERNATE, [(Name.SUPERSEDED, None)]),
        (f'{ALTERNATE},disableWAL=true', [(Name.UNSAFE, 'disableWAL')]),
    ],
)
def test_objections_to_a_custom_string_are_ordered_worst_first(
    text: str, found: list[tuple[Name, Optional[str]]]
) -> None:
    reported = [(o.name, o.option) for o in standing_objections(text, release('16.2.15'))]
    assert reported[: len(found)] == found
    # In a string with an error the harm of its other values is reported after that.
    others = list(islice(reported, len(found), None))
    assert all(name is Name.HARMFUL for name, _ in others)
    assert others == [] or text.startswith(f'{ALTERNATE},')

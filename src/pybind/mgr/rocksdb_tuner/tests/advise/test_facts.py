"""The running and next options of OSDs, and which of them may be advised on together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Union

import pytest

from rocksdb_tuner.advise.case import Case, Circumstances, entry_cases, group_case
from rocksdb_tuner.advise.facts import (
    groups,
    osd_options,
    redundant_annex,
)
from rocksdb_tuner.advise.records import OsdFacts, OsdOptions
from rocksdb_tuner.mgr.records import ConfigEntry, RunningOption
from rocksdb_tuner.plan.records import ANNEX, OPTION

from .builders import PACIFIC, entry, facts, group, osd_info, running, workload

LZ4 = 'compression=kLZ4Compression'
OTHER = 'compression=kNoCompression'
MASKED = 'osd/host:node0'


def options(
    value: str = PACIFIC,
    source: str = 'default',
    annex: str = '',
    entries: tuple[ConfigEntry, ...] = (),
    release: Optional[str] = 'pacific',
) -> OsdOptions:
    return osd_options(osd_info(0, release), entries, running(value, source, annex))


# -- an annex that an entry alone sets


@pytest.mark.parametrize(
    ('annex', 'entries', 'only'),
    [
        (LZ4, (entry('osd', LZ4, ANNEX),), True),
        # Another one would decide without it.
        (LZ4, (entry('osd', LZ4, ANNEX), entry('global', OTHER, ANNEX)), False),
        (LZ4, (entry('osd', LZ4, ANNEX), entry('osd/rack:r1', OTHER, ANNEX)), False),
        # It was changed since, or is gone.
        (LZ4, (entry('osd', OTHER, ANNEX),), False),
        (LZ4, (), False),
        (LZ4, (entry('osd', LZ4),), False),
    ],
)
def test_annex_is_decided_by_one_entry_if_nothing_is_beneath(
    annex: str, entries: tuple[ConfigEntry, ...], only: bool
) -> None:
    assert options(annex=annex, entries=entries).annex_by_entry_only is only
    by_file = running(PACIFIC, 'default')
    by_file[ANNEX] = RunningOption(annex, 'file', ignores_mon=False)
    assert not osd_options(osd_info(0), entries, by_file).annex_by_entry_only


@pytest.mark.parametrize(
    ('changes', 'redundant'),
    [
        ({}, True),
        ({'annex_by_entry_only': False}, False),
        ({'overruled': True}, False),
        ({'deciding_who': 'osd'}, False),
        ({'next_start': None}, False),
        ({'next_start': f'{PACIFIC},ttl=60'}, False),
        ({'running': f'{PACIFIC},ttl=60'}, False),
        ({'running': 'no_such_option=1'}, False),
    ],
)
def test_annex_is_redundant_if_the_osd_starts_with_its_default_either_way(
    changes: dict[str, Any], redundant: bool
) -> None:
    same = 'compression=kNoCompression'
    found = facts(osd_info(0), annex=same, entries=(entry('osd', same, ANNEX),))
    assert found.options is not None
    known = found._replace(options=replace(found.options, **changes))
    assert redundant_annex(known) is redundant
    assert not redundant_annex(known._replace(options=None))
    assert not redundant_annex(known._replace(info=osd_info(0, 'zebra')))


# -- what would run next


@pytest.mark.parametrize(
    ('value', 'source', 'entries', 'next_start', 'who', 'pending'),
    [
        (PACIFIC, 'default', (), PACIFIC, None, False),
        (LZ4, 'mon', (entry('osd', LZ4),), LZ4, 'osd', False),
        (LZ4, 'mon', (entry('osd', OTHER),), OTHER, 'osd', True),
        (LZ4, 'mon', (entry('osd', LZ4), entry('osd.0', OTHER)), OTHER, 'osd.0', True),
        # Its entry is gone: the default of its release follows.
        (LZ4, 'mon', (), PACIFIC, None, True),
        (PACIFIC, 'mon', (), PACIFIC, None, False),
        # The same in other words needs no restart.
        (f'{LZ4},ttl=5', 'mon', (entry('osd', f'ttl=5;{LZ4}'),), f'ttl=5;{LZ4}', 'osd', False),
        # No OSD starts with an entry for its class.
        (PACIFIC, 'default', (entry('osd/class:ssd', LZ4),), PACIFIC, None, False),
        (PACIFIC, 'default', (entry(MASKED, LZ4),), None, None, False),
        # Entries of another option, and of other OSDs.
        (PACIFIC, 'default', (entry('osd', LZ4, 'x'), entry('osd.1', LZ4)), PACIFIC, None, False),
    ],
)
def test_next_options_follow_from_the_entry_or_the_default(
    value: str,
    source: str,
    entries: tuple[ConfigEntry, ...],
    next_start: Optional[str],
    who: Optional[str],
    pending: bool,
) -> None:
    found = options(value, source, entries=entries)
    assert (found.running, found.next_start, found.deciding_who, found.pending_restart) == (
        value,
        next_start,
        who,
        pending,
    )
    assert not found.overruled


@pytest.mark.parametrize('source', ['file', 'env', 'cmdline', 'override'])
def test_source_above_the_config_store_decides_the_next_options(source: str) -> None:
    found = options(LZ4, source, entries=(entry('osd', OTHER),))
    assert (found.overruled, found.next_start, found.pending_restart) == (True, LZ4, False)
    assert found.deciding_who == 'osd'


def test_removed_entry_of_an_unknown_release_leaves_the_next_options_open() -> None:
    gone = options(LZ4, 'mon', release=None)
    assert (gone.next_start, gone.pending_restart, gone.profile) == (None, False, None)


def test_annex_is_appended_to_running_and_next_options() -> None:
    set_now = (entry('osd', LZ4), entry('osd', 'ttl=9', ANNEX))
    found = options(LZ4, 'mon', 'ttl=5', set_now)
    assert (found.running, found.next_start, found.annex) == (
        f'{LZ4},ttl=5',
        f'{LZ4},ttl=9',
        'ttl=5',
    )
    assert found.pending_restart
    gone = options(LZ4, 'mon', 'ttl=5', set_now[:1])
    assert gone.next_start == LZ4
    in_file = {
        OPTION: RunningOption(LZ4, 'mon', ignores_mon=False),
        ANNEX: RunningOption('ttl=5', 'file', ignores_mon=False),
    }
    kept = osd_options(osd_info(0), set_now, in_file)
    assert (kept.next_start, kept.pending_restart) == (f'{LZ4},ttl=5', False)
    masked = options(LZ4, 'mon', 'ttl=5', (set_now[0], entry(MASKED, 'ttl=9', ANNEX)))
    assert masked.next_start is None


@pytest.mark.parametrize(
    ('entries', 'alone'),
    [
        ((entry('osd.0', LZ4),), True),
        ((entry('osd.0', LZ4), entry('osd', OTHER)), False),
        ((entry('osd.0', LZ4), entry('global', OTHER)), False),
        ((entry('osd.0', LZ4), entry('osd/class:ssd', OTHER)), True),
        ((entry('osd.0', LZ4), entry(MASKED, OTHER)), False),
        ((entry('osd.1', LZ4),), False),
        ((entry('osd', LZ4),), False),
        ((entry('osd.0', LZ4, 'x'),), False),
        ((), False),
    ],
)
def test_own_entry_is_decisive_if_nothing_is_beneath(
    entries: tuple[ConfigEntry, ...], alone: bool
) -> None:
    assert options(LZ4, 'mon', entries=entries).own_entry_only is alone


# -- groups


def test_osds_are_grouped_by_class_and_skipped_without_one() -> None:
    osds = [
        facts(osd_info(0, device_class='ssd')),
        facts(osd_info(1, device_class='hdd')),
        facts(osd_info(2, device_class=None)),
        facts(osd_info(3, device_class='ssd')),
    ]
    found = groups(osds, {'ssd': workload()})
    assert [(g.who, [o.info.osd_id for o in g.osds]) for g in found] == [
        ('osd/class:hdd', [1]),
        ('osd/class:ssd', [0, 3]),
    ]
    assert [g.workload is not None for g in found] == [False, True]


# -- whom one change can reach


def reachable(*osds: OsdFacts, among: tuple[OsdFacts, ...] = ()) -> Union[Case, str]:
    return group_case(group(*osds), Circumstances((*osds, *among)))


def plain(
    osd_id: int, value: str = PACIFIC, source: str = 'default', **changes: object
) -> OsdFacts:
    entries = changes.pop('entries', ())
    annex = changes.pop('annex', '')
    info = osd_info(osd_id, **changes)  # type: ignore[arg-type]
    return facts(info, value, source, entries, annex)  # type: ignore[arg-type]


def cohort(*osds: OsdFacts, among: tuple[OsdFacts, ...] = ()) -> Case:
    found = reachable(*osds, among=among)
    assert isinstance(found, Case)
    return found


def test_osds_not_reached_by_a_group_entry_are_named_and_skipped() -> None:
    in_file, own = plain(1, LZ4, 'file'), plain(2, LZ4, 'mon', entries=(entry('osd.2', LZ4),))
    found = cohort(plain(0), in_file, own)
    assert [o.info.osd_id for o in found.osds] == [0]
    assert found.remarks == (
        'ceph.conf, the environment or the command line overrides the config store for osd.1.',
        'Entries for single OSDs apply to osd.2.',
    )
    none = reachable(in_file, own)
    assert isinstance(none, str)
    assert none.startswith('No entry for the group would reach any of its OSDs. ceph.conf,')


# -- entries of single OSDs


def own(osd_id: int = 0, text: str = LZ4, **options: Any) -> OsdFacts:
    found = facts(osd_info(osd_id), text, 'mon', (entry(f'osd.{osd_id}', text),))
    assert found.options is not None
    return found._replace(options=replace(found.options, **options))


def found(*osds: OsdFacts) -> list[tuple[str, tuple[str, ...]]]:
    cohorts = list(entry_cases(group(*osds), Circumstances()))
    assert all(c.own_entries and c.annex is None and c.remarks == () for c in cohorts)
    return [(c.running, c.deciding_entries) for c in cohorts]


def test_osds_with_own_entries_are_grouped_by_running_options() -> None:
    assert found(own(0), own(1, 'ttl=1'), own(2)) == [
        (LZ4, ('osd.0', 'osd.2')),
        ('ttl=1', ('osd.1',)),
    ]


@pytest.mark.parametrize(
    'options',
    [
        {'own_entry_only': False},
        {'overruled': True},
        {'annex': 'ttl=1'},
        {'annex_who': 'osd'},
        {'pending_restart': True},
    ],
)
def test_own_entry_that_is_not_decisive_is_skipped(options: dict[str, Any]) -> None:
    assert found(own(0, **options)) == []


def test_down_or_unknown_osd_is_skipped() -> None:
    down = own(0)._replace(info=osd_info(0, up=False))
    unknown = own(1)._replace(info=osd_info(1, 'zebra'))
    assert found(down, unknown, own(2)._replace(options=None)) == []

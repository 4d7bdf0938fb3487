"""Which entries of single OSDs are considered, and which OSDs are advised on together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.advise.case import Circumstances, entry_cases
from rocksdb_tuner.advise.records import OsdFacts

from .builders import entry, facts, group, osd_info

LZ4 = 'compression=kLZ4Compression'


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

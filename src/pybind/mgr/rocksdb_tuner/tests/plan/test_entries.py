"""The coverage of entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.plan.entries import Scope, as_mapping, decided_by, masked_for, starts_with
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import (
    NEW,
    OLD,
)


@pytest.mark.parametrize(
    ('winner', 'loser'),
    [
        ('osd.0/class:ssd', 'osd.0'),
        ('osd/class:ssd/host:node0', 'osd/host:node0'),
        ('osd.0', 'osd/host:node0'),
        ('osd/host:node0', 'osd/class:ssd'),
        ('osd/class:ssd', 'osd'),
        ('osd', 'global'),
        ('osd', 'global/class:ssd'),
    ],
)
def test_precedence_is_that_of_the_monitor(winner: str, loser: str) -> None:
    osd = FakeCluster(1).cluster_map().osds[0]
    entries = as_mapping(
        [ConfigEntry(loser, OPTION, OLD), ConfigEntry(winner, OPTION, NEW)], OPTION
    )
    assert decided_by(entries, osd) == (winner, NEW)


@pytest.mark.parametrize(
    'who',
    ['osd.1', 'osd/class:hdd', 'osd/host:node1', 'osd/rack:r1', 'mon', 'osd/class:ssd/rack:r'],
)
def test_entry_that_does_not_apply_is_not_decisive(who: str) -> None:
    assert decided_by({who: OLD}, FakeCluster(1).cluster_map().osds[0]) is None


@pytest.mark.parametrize(
    ('who', 'covers'),
    [
        ('global', True),
        ('osd', True),
        ('osd/class:ssd', True),
        ('osd/class:hdd', False),
        ('osd/host:node0', True),
        ('osd/host:node2', False),
        ('osd/host:a-crush-bucket-of-another-name', True),
        ('osd/rack:r1', True),
        ('osd.0', True),
        ('osd.0/class:hdd', False),
        ('osd.2', False),
        ('osd.x', False),
        ('mds.0', False),
        ('osd/rack:node2', True),
        ('osd.', False),
        ('mon', False),
        ('client.admin', False),
    ],
)
def test_entries_that_may_apply_to_some_osds_are_distinguished_from_those_that_cannot(
    who: str, covers: bool
) -> None:
    cluster = FakeCluster(3)
    cluster.osds[2].device_class = 'hdd'
    assert Scope.of(cluster.cluster_map(), (0, 1)).may_cover(who) is covers


def test_masks_that_may_match_an_osd_are_distinguished_from_those_that_cannot() -> None:
    cluster = FakeCluster(2)
    entries = {
        'osd': 'a',
        'osd/class:ssd': 'b',
        'osd/class:hdd': 'c',
        'osd.0': 'd',
        'osd/host:node0': 'e',
        'osd/host:node1': 'f',
        'osd.0/class:ssd': 'g',
        'osd.1/class:ssd': 'h',
        'global/class:ssd': 'i',
    }
    assert masked_for(cluster.cluster_map(), entries, 0) == ('b', 'e', 'g', 'i')
    assert masked_for(cluster.cluster_map(), entries, 1) == ('b', 'f', 'h', 'i')


def test_uncertain_entry_may_apply() -> None:
    cluster = FakeCluster(2).cluster_map()
    unknown = replace(
        cluster,
        osds=(replace(cluster.osds[0], host=None, device_class=None), cluster.osds[1]),
    )
    scope = Scope.of(unknown, (0,))
    assert scope.may_cover('osd/class:hdd')
    assert scope.may_cover('osd/host:node1')


@pytest.mark.parametrize(
    ('entries', 'decides'),
    [
        ({'osd.0': 'a', 'osd': 'b', 'global': 'c', 'osd/class:ssd': 'd'}, ('osd.0', 'a')),
        ({'osd.1': 'a', 'osd': 'b', 'global': 'c'}, ('osd', 'b')),
        ({'osd/class:ssd': 'd', 'global': 'c'}, ('global', 'c')),
        ({'osd.0/class:ssd': 'a', 'osd/host:node0': 'd', 'mon': 'e'}, None),
    ],
)
def test_osd_starts_with_its_own_entry_or_an_unmasked_shared_one(
    entries: dict[str, str], decides: Optional[tuple[str, str]]
) -> None:
    """It fetches its options before it sends its location."""
    assert starts_with(entries, 0) == decides

"""No name of a host and no address is left, and what depends on hosts stays as it was."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.collection.anonymous import anonymous
from rocksdb_tuner.collection.records import Collection
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.mgr.crush import failure_domains
from rocksdb_tuner.mgr.records import ClusterMap, ConfigEntry, PoolInfo

from .samples import ADDRESSES, HOSTS, collections

_WORDS = ('on', 'compression=kLZ4Compression,', 'osd.3', '', ':', '(', '_', '/', '16.2.15')


@st.composite
def with_names_in_texts(draw: st.DrawFn) -> tuple[Collection, list[str], list[str]]:
    """A collection whose texts are full of hosts and addresses; the hosts, and the addresses."""
    hosts = draw(st.lists(HOSTS, min_size=1, max_size=3, unique=True))
    addresses = draw(st.lists(ADDRESSES, min_size=1, max_size=3))
    short = [host.split('.')[0].upper() for host in hosts]
    parts = st.sampled_from([*_WORDS, *addresses, *hosts, *short])
    texts = st.lists(parts, max_size=5).map(' '.join)
    collection = draw(collections(st.lists(texts, min_size=1, max_size=4), st.just(hosts)))
    # That a text names a host is known of hosts of the cluster.
    entries = (ConfigEntry(f'osd/host:{host}', 'bluestore_rocksdb_options', host) for host in hosts)
    return replace(collection, entries=(*(collection.entries or ()), *entries)), hosts, addresses


@given(with_names_in_texts())
@settings(max_examples=200)
def test_no_host_and_no_address_survives(
    drawn: tuple[Collection, list[str], list[str]],
) -> None:
    collection, hosts, addresses = drawn
    text = report(collection, anonymous=True).lower()
    for host in hosts:
        first = re.escape(host.partition('.')[0])
        assert not re.search(rf'(?<![0-9a-z]){first}(?![0-9a-z])', text), host
    for address in addresses:
        bare = re.sub(r'^(v2:)?\[|\]?:[0-9]+/[0-9]+$', '', address)
        assert bare not in text, address


@given(collections())
@settings(max_examples=100)
def test_osds_of_one_host_still_are_and_those_of_others_are_not(collection: Collection) -> None:
    """Failure domains, and the order in which hosts come."""
    before = [osd.host for osd in collection.cluster_map.osds]
    after = [osd.host for osd in anonymous(collection).cluster_map.osds]
    for a, new_a in zip(before, after):
        for b, new_b in zip(before, after):
            assert (a is None) == (new_a is None)
            if a is not None and b is not None:
                assert new_a is not None
                assert new_b is not None
                assert (a < b, a == b) == (new_a < new_b, new_a == new_b)


@given(collections())
@settings(max_examples=100)
def test_counters_sizes_and_classes_stay(collection: Collection) -> None:
    hidden = anonymous(collection)
    assert {i: o.dumps for i, o in hidden.osds.items()} == {
        i: o.dumps for i, o in collection.osds.items()
    }
    for a, b in zip(hidden.cluster_map.osds, collection.cluster_map.osds):
        hidden_places = {'host': None, 'failure_domain': None}
        assert {**vars(a), **hidden_places} == {**vars(b), **hidden_places}


@given(collections())
@settings(max_examples=100)
def test_failure_domains_are_told_apart_as_before_and_follow_from_the_renamed_tree(
    collection: Collection,
) -> None:
    hidden = anonymous(collection).cluster_map
    old = [osd.failure_domain for osd in collection.cluster_map.osds]
    new = [osd.failure_domain for osd in hidden.osds]
    assert [[a == b for b in old] for a in old] == [[a == b for b in new] for a in new]
    rules = [pool.crush_rule for pool in hidden.pools]
    hosts = {osd.osd_id: osd.host for osd in hidden.osds}
    assert list(failure_domains(hidden.crush, rules, hosts).values()) == new
    assert 'zqrack' not in repr(hidden)


def _with_text(text: str, *hosts: str) -> str:
    """What becomes of a text in a cluster with these hosts."""
    collection = Collection(
        ClusterMap(
            1,
            frozenset(),
            None,
            (),
            (PoolInfo(1, text, (), 3, 2, (), cephfs_metadata=False, crush_rule=0),),
        ),
        entries=tuple(ConfigEntry(f'osd/host:{host}', 'x', '') for host in hosts),
    )
    return anonymous(collection).cluster_map.pools[0].name


@pytest.mark.parametrize(
    ('text', 'hosts', 'shown'),
    [
        ('index_of_node7', ('node7',), 'index_of_host-1'),
        ('on node7.example.com now', ('node7.example.com',), 'on host-1 now'),
        ('on NODE7 now', ('node7.example.com',), 'on host-1 now'),
        ('node10 is another', ('node1',), 'node10 is another'),
        ('node1 and node1-b', ('node1', 'node1-b'), 'host-1 and host-2'),
        ('write_buffer_number=4', ('4',), 'write_buffer_number=4'),
        ('from 10.1.2.3:6789/0 on', (), 'from address-1:6789/0 on'),
        ('from [v2:[fd00::7]:3300/0]', (), 'from [v2:[address-1]:3300/0]'),
        ('fd00::7 and fd00::7', (), 'address-1 and address-1'),
        ('version 16.2.15, at 12:30:59', (), 'version 16.2.15, at 12:30:59'),
        ('a:b:c', (), 'a:b:c'),
    ],
)
def test_texts_lose_names_and_addresses_and_nothing_else(
    text: str, hosts: tuple[str, ...], shown: str
) -> None:
    assert _with_text(text, *hosts) == shown


def test_entries_of_other_daemons_are_left_out_for_their_names() -> None:
    collection = Collection(
        ClusterMap(1, frozenset(), None, (), ()),
        entries=(
            ConfigEntry('mon.node7', 'x', ''),
            ConfigEntry('osd.3', 'x', ''),
            ConfigEntry('osd/rack:berlin-4', 'x', ''),
        ),
    )
    entries = anonymous(collection).entries
    assert entries is not None
    assert [e.who for e in entries] == ['osd.3', 'osd/rack:other-rack-1']
    assert 'berlin' not in json.dumps(report(collection, anonymous=True))

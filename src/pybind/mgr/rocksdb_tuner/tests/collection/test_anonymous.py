"""No name of a host and no address is left, and what depends on hosts stays as it was."""

from __future__ import annotations

import itertools
import json
import re
from collections import abc
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Callable, Union, get_args, get_origin, get_type_hints
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.collection.anonymous import Replacement, anonymous
from rocksdb_tuner.collection.records import (
    Collection,
)
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.collection.vocabulary import words
from rocksdb_tuner.mgr.crush import failure_domains
from rocksdb_tuner.mgr.records import (
    ClusterMap,
    ConfigEntry,
    PoolInfo,
)
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.plan.records import OPTION

from .samples import ADDRESSES, HOSTS, collections

_NAMES = ('on', 'compression=kLZ4Compression,', 'osd.3', '', ':', '(', '_', '/', '16.2.15')


@st.composite
def with_names_in_texts(draw: st.DrawFn) -> tuple[Collection, list[str], list[str]]:
    """A collection whose texts are full of hosts and addresses; the hosts, and the addresses."""
    hosts = draw(st.lists(HOSTS, min_size=1, max_size=3, unique=True))
    addresses = draw(st.lists(ADDRESSES, min_size=1, max_size=3))
    short = [host.split('.')[0].upper() for host in hosts]
    parts = st.sampled_from([*_NAMES, *addresses, *hosts, *short])
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
        # There is no release "zz".
        others = {'host': None, 'failure_domain': None, 'release': None, 'pod_namespace': None}
        assert {**vars(a), **others} == {**vars(b), **others}
        assert (a.release == b.release) == (b.release != 'zz')


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
    """The anonymized text in a cluster with these hosts, and a pool of Alice's."""
    pool = PoolInfo(1, 'alices.mail', (), 3, 2, (), cephfs_metadata=False, crush_rule=0)
    entries = tuple(ConfigEntry(f'osd/host:{host}', 'x', '') for host in hosts)
    collection = Collection(ClusterMap(1, frozenset(), None, (), (pool,)), entries=entries)
    return Replacement(collection).text(text)


@pytest.mark.parametrize(
    ('text', 'hosts', 'shown'),
    [
        ('on node7.example.com now', ('node7.example.com',), 'on host-1 now'),
        ('on NODE7 now', ('node7.example.com',), 'on host-1 now'),
        ('node10 is another', ('node1',), 'name1 is another'),
        ('node10 is node10', (), 'name1 is name1'),
        ('node1 and node1-b', ('node1', 'node1-b'), 'host-1 and host-2'),
        ('max_write_buffer_number=4', ('4',), 'max_write_buffer_number=4'),
        ('from 10.1.2.3:6789/0 on', (), 'from address-1:6789/0 on'),
        ('from [v2:[fd00::7]:3300/0]', (), 'from [v2:[address-1]:3300/0]'),
        ('fd00::7 and fd00::7', (), 'address-1 and address-1'),
        ('version 16.2.15, at 12:30:59', (), 'version 16.2.15, at 12:30:59'),
        ('in ALICES.MAIL and alices.mail', (), 'in pool-1 and pool-1'),
        ('at https://alice:secret@x.example/a?b=c now', (), 'at url-1 now'),
        ('by dashboard:alice@example.com', (), 'by dashboard:user-1'),
        ('osd.3 of mon.zeus, mgr.hera', (), 'osd.3 of mon.name1, mgr.name2'),
        ('at /dev/disk/by-id/ata-S4EW1', (), 'at path-1'),
        ('of 01234567-89AB-cdef-0123-456789abcdef', (), 'of uuid-1'),
        ('device S4EWNX0M', (), 'device name1'),
        ('compression=kLZ4Compression,ttl=64Mary', (), 'compression=kLZ4Compression,ttl=64Mname1'),
        (
            'bob_opt=eve;compression_opts={level=3;bob=1}',
            (),
            'name1=name2;compression_opts={level=3;name3=1}',
        ),
        ('Zo\u00eb%20Z\u00fcrich', (), 'name1'),
    ],
)
def test_texts_lose_only_names_and_addresses(text: str, hosts: tuple[str, ...], shown: str) -> None:
    assert _with_text(text, *hosts) == shown


@pytest.mark.parametrize(
    'text',
    sorted({*(r.default_options for r in known_releases()), *(p.options for p in profiles())}),
)
def test_published_option_strings_stay(text: str) -> None:
    assert _with_text(text) == text


def test_examples_of_names_in_the_code_are_no_words() -> None:
    """Its docstrings mention hosts that may be the operator's."""
    assert not {'node7', 'alice', 'r1', 'berlin'} & words()
    assert {'restart', 'osd', 'klz4compression', 'noout'} <= words()


def test_entries_of_other_daemons_are_dropped() -> None:
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


class Planter:
    """Makes a record of any type with something in each of its fields: a new name in each text."""

    def __init__(self, names: Callable[[], str], style: str) -> None:
        self._names, self._style = names, style
        self.planted: list[str] = []

    def make(self, kind: Any, place: str = '') -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if kind is str:
            return self._text(place)
        if origin is Union:
            return self.make(next(k for k in inner if k is not type(None)), place)
        if origin in {tuple, frozenset}:
            return origin(self.make(k, place) for k in inner if k is not Ellipsis)
        if origin in {dict, abc.Mapping}:
            return {self._key(inner[0], place): self.make(inner[1], place)}
        assert isinstance(kind, type), kind
        if issubclass(kind, Enum):
            return next(iter(kind))
        if issubclass(kind, (bool, int, float)):
            # One OSD under all its names.
            return kind(1)
        hints = get_type_hints(kind)
        if is_dataclass(kind):
            hints = {f.name: hints[f.name] for f in fields(kind) if f.init}
        # A plan of a plan of a plan.
        nested = {name for name, hint in hints.items() if kind in get_args(hint)}
        assert hints, kind
        return kind(
            **{
                name: None if name in nested else self.make(hint, f'{kind.__name__}.{name}')
                for name, hint in hints.items()
            }
        )

    def _name(self) -> str:
        self.planted.append(self._names())
        return self.planted[-1]

    def _key(self, kind: Any, place: str) -> Any:
        """Options and counters have no operator-defined names, and only known ones are kept."""
        if place == 'OsdCollection.running':
            return OPTION
        return 'bluestore.kv_sync_lat' if place == 'CounterDump.points' else self.make(kind, place)

    def _text(self, place: str) -> str:
        if place in {'ExperimentRequest.objective', 'Conclusion.unproven'}:
            # Looked up, and defined by the module.
            return 'kv_sync_ms_per_txn'
        if place.endswith('.who') or self._style == 'mask':
            return f'osd/host:{self._name()}/class:{self._name()}/{self._name()}:{self._name()}'
        if place == 'ConfigEntry.name':
            return OPTION
        if place.endswith('actor'):
            return f'dashboard:{self._name()}'
        if self._style == 'options':
            return f'ttl=1,{self._name()}={self._name()};wal_dir=/{self._name()}:64{self._name()}'
        if self._style == 'sentence':
            return f'osd.3 of {self._name()}: "{self._name()}", http://{self._name()}/?a={self._name()}.'
        return self._name()


_SUFFIXES = st.text(
    st.sampled_from('abcxyzABCXYZ0189') | st.characters(categories=['Ll', 'Lu', 'Lo', 'Nd', 'So']),
    min_size=3,
    max_size=8,
)


@given(
    _SUFFIXES,
    st.sampled_from(['{}', 'zq-{}', 'zq.{}.example', 'zq_{}', 'ZQ{}', 'zq{}@home', 'zq {} 7']),
    st.sampled_from(['name', 'options', 'sentence', 'mask']),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_name_in_any_text_of_any_record_is_nowhere_in_the_report(
    suffix: str, form: str, style: str
) -> None:
    """Neither as it is nor in other letters nor as a URL has it; new fields are found by type."""
    numbers = itertools.count(100)
    planter = Planter(lambda: form.format(f'zq{suffix}{next(numbers)}q'), style)
    collection = planter.make(Collection)
    assert len(planter.planted) > 50
    for pretty in (False, True):
        text = report(collection, anonymous=True, pretty=pretty)
        # As JSON has them, and as who reads JSON has them.
        shown = (text + ''.join(_strings(json.loads(text)))).casefold()
        for name in planter.planted:
            for seen in (name, quote(name), json.dumps(name)[1:-1]):
                assert seen.casefold() not in shown, seen


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def test_each_name_has_one_replacement_everywhere() -> None:
    """Equal names stay equal: hosts, users, classes in all places of a report."""
    whole: Collection = Planter(lambda: 'zq', 'name').make(Collection)
    alice = replace(whole.history[0], actor='dashboard:alice', reason='paused by alice on berlin-1')
    osds = (replace(whole.cluster_map.osds[0], host='berlin-1', device_class='gold'),)
    entry = ConfigEntry('osd/class:gold/host:berlin-1', OPTION, 'ttl=1')
    assert whole.rollout is not None
    shown = anonymous(
        replace(
            whole,
            history=(alice,),
            cluster_map=replace(whole.cluster_map, osds=osds),
            entries=(entry,),
            rollout=replace(whole.rollout, paused_by='dashboard:alice', failure='alice: berlin-1'),
        )
    )
    host, user = shown.cluster_map.osds[0].host, shown.history[0].actor.partition(':')[2]
    assert user.startswith('user-')
    assert shown.history[0].reason == f'paused by {user} on {host}'
    assert shown.entries is not None
    assert shown.entries[0].who == f'osd/class:{shown.cluster_map.osds[0].device_class}/host:{host}'
    assert shown.rollout is not None
    assert shown.rollout.paused_by == f'dashboard:{user}'
    assert shown.rollout.failure == f'{user}: {host}'


def test_record_of_unknown_kind_is_refused_instead_of_shown() -> None:
    with pytest.raises(TypeError, match='bytes'):
        Replacement(Collection(ClusterMap(1, frozenset(), None, (), ()))).of(b'node7')

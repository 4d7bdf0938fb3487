"""An anonymized report has no name that people chose, and leads to the same answers."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Callable
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.collection.anonymous import DEFINED, anonymous, ceph_words
from rocksdb_tuner.collection.records import Collection
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.mgr.records import ClusterMap, ConfigEntry, FailureDomain
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.plan.records import OPTION

from ..observe.samples import osd_info
from ..present import experiment_samples, samples
from .making import Maker
from .whole import whole

EMPTY = Collection(None, ClusterMap(1, frozenset(), None, (), ()))


class Planter:
    """Makes a collection with a new name in each text."""

    def __init__(self, names: Callable[[], str], style: str) -> None:
        self._names, self._style = names, style
        self.planted: list[str] = []

    def text(self, place: str) -> str:
        if place in DEFINED:
            return 'kv_sync_ms_per_txn'
        if place.endswith('.who') or self._style == 'mask':
            return f'osd/host:{self._name()}/class:{self._name()}/{self._name()}:{self._name()}'
        if place.endswith('actor'):
            return f'dashboard:{self._name()}'
        if self._style == 'options':
            return f'ttl=1,{self._name()}={self._name()};wal_dir=/{self._name()}:64{self._name()}'
        if self._style == 'sentence':
            return f'osd.3 of {self._name()}: "{self._name()}", http://{self._name()}/?a={self._name()}.'
        return self._name()

    def _name(self) -> str:
        self.planted.append(self._names())
        return self.planted[-1]


_SUFFIXES = st.text(
    st.sampled_from('abcxyzABCXYZ0189') | st.characters(categories=['Ll', 'Lu', 'Lo', 'Nd', 'So']),
    min_size=3,
    max_size=8,
)
#: As people name hosts, pools and networks.
_FORMS = (
    *('zq{}', 'zq-{}', 'zq.{}.example', 'zq_{}', 'ZQ{}', 'zq{}@home', 'zq {} 7', '10.20.30.4{}'),
    *('fd00::{}', '[2001:db8::{}]:6800/123'),
)


@given(
    _SUFFIXES,
    st.sampled_from(_FORMS),
    st.sampled_from(['name', 'options', 'sentence', 'mask']),
    st.none() | st.randoms(use_true_random=True),
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_a_name_in_any_text_of_any_record_is_nowhere_in_the_report(
    suffix: str, form: str, style: str, random: Random | None
) -> None:
    """Neither as it is nor in other letters nor as a URL has it; new fields are found by type."""
    numbers = itertools.count(100)
    planter = Planter(lambda: form.format(f'zq{suffix}{next(numbers)}q'), style)
    collection = Maker(planter.text, random).make(Collection)
    assert random is not None or len(planter.planted) > 50
    text = report(collection, anonymous=True)
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


@given(st.lists(st.text('abAB-\u00e4', min_size=1, max_size=4), min_size=2, max_size=12))
def test_equal_names_stay_equal_and_others_keep_their_order(hosts: list[str]) -> None:
    osds = tuple(
        replace(osd_info(i), host=host, failure_domain=FailureDomain('host', host))
        for i, host in enumerate(hosts)
    )
    shown = anonymous(replace(EMPTY, cluster_map=replace(EMPTY.cluster_map, osds=osds)))
    new = [str(osd.host) for osd in shown.cluster_map.osds]
    for (a, new_a), (b, new_b) in itertools.combinations(zip(hosts, new), 2):
        assert (a < b, a == b) == (new_a < new_b, new_a == new_b)
    assert [o.failure_domain for o in shown.cluster_map.osds] == [('host', n) for n in new]


def _shown(text: str) -> str:
    """The option string as in an anonymized report."""
    entries = anonymous(replace(EMPTY, entries=(ConfigEntry('osd', OPTION, text),))).entries
    assert entries is not None
    return entries[0].value


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('max_write_buffer_number=4', 'max_write_buffer_number=4'),
        ('compression=kLZ4Compression,ttl=64Mary', 'compression=kLZ4Compression,ttl=64Mname1'),
        (
            'bob=eve;compression_opts={level=3;bob=1}',
            'name1=name2;compression_opts={level=3;name1=1}',
        ),
        ('wal_dir=/mnt/bob-7', 'wal_dir=/name2/name1'),
        ('a=10.1.2.3:6789/0,b=fd00::7', 'a=name1:6789/0,b=name2::7'),
        ('ttl=-1,x=0.5,y=1e6,z=0x1F,u=64MB', 'ttl=-1,x=0.5,y=1e6,z=0x1F,u=64MB'),
        ('Zo\u00eb%20Z\u00fcrich', 'name1'),
        ('alices_profile', 'name1'),
    ],
)
def test_option_strings_lose_only_names(text: str, shown: str) -> None:
    assert _shown(text) == shown


@pytest.mark.parametrize(
    'text',
    sorted({*(r.default_options for r in known_releases()), *(p.options for p in profiles())}),
)
def test_published_option_strings_stay(text: str) -> None:
    assert _shown(text) == text


def test_words_of_ceph_stay_whatever_hosts_are_called() -> None:
    osd = replace(
        osd_info(0), host='ssd', device_class='ssd', version='18.2.7-alice', devices=('sda',)
    )
    cluster_map = replace(EMPTY.cluster_map, flags=frozenset({'noout'}), osds=(osd,))
    shown = anonymous(replace(EMPTY, cluster_map=cluster_map)).cluster_map
    (new,) = shown.osds
    assert (new.host, new.device_class, new.version, new.devices) == (
        *('host-1', 'ssd', '18.2.7', ('sda',)),
    )
    assert shown.flags == frozenset({'noout'})
    assert {'hdd', 'noout', 'write_buffer_size', 'pacific'} <= ceph_words()


@pytest.mark.parametrize(
    ('who', 'shown'),
    [
        ('osd.3', 'osd.3'),
        ('global', 'global'),
        ('osd/class:ssd', 'osd/class:ssd'),
        ('osd/host:zq/rack:zq2', 'osd/host:host-1/rack:bucket-1'),
        ('osd/closet:zq2', 'osd/type-1:bucket-1'),
        ('osd/odd', 'osd/type-1'),
        ('mon.zq', 'mon'),
    ],
)
def test_masks_are_anonymized(who: str, shown: str) -> None:
    cluster_map = replace(EMPTY.cluster_map, osds=(replace(osd_info(0), host='zq'),))
    entries = (ConfigEntry(who, OPTION, ''),)
    found = anonymous(replace(EMPTY, cluster_map=cluster_map, entries=entries)).entries
    assert found is not None
    assert found[0].who == shown


def test_each_name_has_one_replacement_everywhere() -> None:
    """Hosts, users and classes in all places of a report; free text is gone."""
    measuring = experiment_samples.measuring()
    state = replace(
        measuring,
        experiment_id='E7',
        request=replace(measuring.request, who='osd/class:gold'),
        actor='client.zqalice',
        paused_by='dashboard:alice',
        failure='alice: node8.example.com',
    )
    shown = anonymous(replace(whole(), experiment=state))
    assert shown.experiment is not None
    assert shown.module is not None
    assert shown.entries is not None
    assert shown.cluster_map.osds[1].device_class == 'class-1'
    assert list(shown.module.advised_on) == ['class-1', 'ssd']
    assert shown.experiment.request.who == shown.entries[1].who == 'osd/class:class-1'
    assert [(c.actor, c.recommendation_id, c.reason) for c in shown.history] == [
        ('operator', 'class-1-0a1b2c', None),
        (shown.experiment.paused_by, 'class-1-0a1b2c', None),
        ('user-2', 'host-2-0a1b2c', None),
        ('operator', '', None),
    ]
    assert (shown.experiment.failure, shown.experiment.experiment_id) == (None, 'E7')
    assert not re.search('alice|bob|node|berlin|cellar|closet|zq', repr(shown))


def test_batches_keep_the_place_of_their_failure_domain() -> None:
    """A request has one for each batch, null where it is unknown."""
    rollout = samples.rollout()
    request = replace(rollout.request, domains=(None, FailureDomain('rack', 'berlin-7')))
    shown = anonymous(replace(EMPTY, rollout=replace(rollout, request=request))).rollout
    assert shown is not None
    unknown, known = shown.request.domains
    assert unknown is None
    assert known is not None
    assert known.name != 'berlin-7'

"""Which failure domain an OSD is in follows from the rules of the pools on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.crush import Bucket, CrushMap, Draw, failure_domains, parse_crush
from rocksdb_tuner.mgr.records import FailureDomain

DATA = Path(__file__).parent / 'data'

#: A bucket ("rack r1") and what is in it.
Tree = Mapping[str, Union['Tree', Sequence[int]]]

TWO_RACKS: Tree = {
    'root default': {
        'rack r1': {'host a': [0, 1], 'host b': [2, 3]},
        'rack r2': {'host c': [4, 5]},
    }
}


def buckets_of(tree: Tree) -> tuple[Bucket, ...]:
    found: list[Bucket] = []

    def add(name: str, inside: Union[Tree, Sequence[int]]) -> int:
        items = (
            tuple(add(*item) for item in inside.items())
            if isinstance(inside, Mapping)
            else tuple(inside)
        )
        kind, _, called = name.partition(' ')
        found.append(Bucket(-1 - len(found), called, kind, items))
        return found[-1].bucket_id

    for item in tree.items():
        add(*item)
    return tuple(found)


def crush(tree: Tree, *rules: Sequence[str]) -> CrushMap:
    """Rules by number; each of draws such as "default: rack host"."""
    buckets = buckets_of(tree)
    ids = {bucket.name: bucket.bucket_id for bucket in buckets}

    def draw(text: str) -> Draw:
        root, _, kinds = text.partition(': ')
        return Draw(ids.get(root, 0), frozenset(kinds.split()))

    return CrushMap(buckets, {n: tuple(map(draw, rule)) for n, rule in enumerate(rules)})


def domains(
    crush_map: CrushMap, used: Iterable[int] = (0,), osds: Iterable[int] = range(6)
) -> dict[int, Optional[str]]:
    """By OSD, as shown; each OSD has reported the host "its-host"."""
    found = failure_domains(crush_map, used, dict.fromkeys(osds, 'its-host'))
    return {n: None if domain is None else str(domain) for n, domain in found.items()}


def by_itself(*osd_ids: int) -> dict[int, str]:
    return {n: f'osd.{n}' for n in osd_ids}


@pytest.mark.parametrize(
    ('kind', 'expected'),
    [
        ('osd', by_itself(*range(6))),
        ('host', dict(enumerate(['host a'] * 2 + ['host b'] * 2 + ['host c'] * 2))),
        ('rack', dict(enumerate(['rack r1'] * 4 + ['rack r2'] * 2))),
    ],
)
def test_chosen_type_of_the_rule_is_the_failure_domain(kind: str, expected: dict[int, str]) -> None:
    assert domains(crush(TWO_RACKS, [f'default: {kind}'])) == expected


@pytest.mark.parametrize(
    'rules', [[['default: rack'], ['default: host']], [['default: rack host']]]
)
def test_finest_of_several_types_counts(rules: list[list[str]]) -> None:
    """As with 2 copies in each of 2 racks; in any order of rules and steps."""
    hosts = dict(enumerate(['host a'] * 2 + ['host b'] * 2 + ['host c'] * 2))
    assert domains(crush(TWO_RACKS, *rules), (0, 1)) == hosts
    turned = [[' '.join(['default:', *d.split()[:0:-1]]) for d in rule] for rule in reversed(rules)]
    assert domains(crush(TWO_RACKS, *turned), (0, 1)) == hosts


def test_unused_rule_does_not_count() -> None:
    crush_map = crush(TWO_RACKS, ['default: rack'], ['default: osd'])
    assert set(domains(crush_map).values()) == {'rack r1', 'rack r2'}


def test_pools_without_data_on_the_osds_do_not_count() -> None:
    """Those of another device class, in whose shadow tree the OSDs are not, and of another root."""
    tree: Tree = {
        **TWO_RACKS,
        'root default~ssd': {'rack r1~ssd': {'host a~ssd': [0], 'host b~ssd': [2]}},
        'root archive': {'host z': [6, 7]},
    }
    crush_map = crush(tree, ['default~ssd: rack'], ['archive: osd'])
    assert domains(crush_map, (0, 1), (0, 2, 6, 7)) == {
        0: 'rack r1',
        2: 'rack r1',
        **by_itself(6, 7),
    }


@pytest.mark.parametrize(
    'used', [(), (7,)], ids=['there is no pool', 'nothing is known of its rule']
)
def test_host_is_the_failure_domain_without_a_rule(used: tuple[int, ...]) -> None:
    crush_map = crush(TWO_RACKS, ['default: rack'])
    assert set(domains(crush_map, used).values()) == {'host its-host'}
    assert failure_domains(crush_map, used, {0: None}) == {0: None}
    assert failure_domains(CrushMap(), (0,), {0: 'a'}) == {0: FailureDomain('host', 'a')}


def test_osd_outside_any_bucket_of_the_type_has_no_known_domain() -> None:
    tree: Tree = {'root default': {'rack r1': {'host a': [0]}, 'host b': [1]}}
    assert domains(crush(tree, ['default: rack']), osds=(0, 1)) == {0: 'rack r1', 1: None}
    both = crush(tree, ['default: rack'], ['default: host'])
    assert domains(both, (0, 1), (0, 1)) == {0: 'host a', 1: None}


def test_osds_at_different_depths_of_one_bucket_belong_to_it() -> None:
    tree: Tree = {'root default': {'datacenter d': {'rack r1': {'host a': [0]}, 'host b': [1]}}}
    found = domains(crush(tree, ['default: datacenter']), osds=(0, 1))
    assert found == {0: 'datacenter d', 1: 'datacenter d'}


def test_rule_that_chooses_twice_among_the_same_osds_isolates_each() -> None:
    """Both copies may be in one rack; where each draw has its own device class they are not."""
    assert domains(crush(TWO_RACKS, ['default: rack', 'r1: host'])) == {
        **by_itself(0, 1, 2, 3),
        4: 'rack r2',
        5: 'rack r2',
    }
    assert domains(crush(TWO_RACKS, ['r1: host', 'r2: host'])) == {
        0: 'host a', 1: 'host a', 2: 'host b', 3: 'host b', 4: 'host c', 5: 'host c',
    }  # fmt: skip


def test_osds_in_several_trees_are_isolated() -> None:
    """Buckets of two rules may overlap without nesting."""
    tree: Tree = {**TWO_RACKS, 'root power': {'pdu p1': [0, 2], 'pdu p2': [1, 3]}}
    found = domains(crush(tree, ['default: host'], ['power: pdu']), (0, 1))
    assert found == {**by_itself(0, 1, 2, 3), 4: 'host c', 5: 'host c'}


def test_rule_that_takes_an_osd_or_chooses_nothing_isolates_it() -> None:
    named = CrushMap((), {0: (Draw(0, frozenset()),)})
    assert domains(named, osds=(0, 1)) == {0: 'osd.0', 1: 'host its-host'}
    assert domains(crush(TWO_RACKS, ['default: ']), osds=(0,)) == {0: 'osd.0'}


def test_cyclic_or_doubly_linked_tree_terminates() -> None:
    """No cluster has such a tree; an edited file may."""
    rules = {0: (Draw(-1, frozenset({'host'})),)}
    loop = (Bucket(-1, 'default', 'root', (-2,)), Bucket(-2, 'a', 'host', (0, -1)))
    assert domains(CrushMap(loop, rules), osds=(0,)) == {0: 'osd.0'}
    # 2 ** 60 ways from the root to the OSD
    ladder = [Bucket(-n, f'b{n}', 'host', (-n - 1, -n - 1)) for n in range(1, 61)]
    ladder.append(Bucket(-61, 'b61', 'host', (0,)))
    assert domains(CrushMap(tuple(ladder), rules), osds=(0,)) == {0: 'osd.0'}
    chain = [Bucket(-n, f'b{n}', 'rack', (-n - 1,)) for n in range(1, 50_000)]
    chain.append(Bucket(-50_000, 'a', 'host', (0,)))
    assert domains(CrushMap(tuple(chain), rules), osds=(0,)) == {0: 'host a'}


def test_unknown_steps_do_not_hide_choose_steps() -> None:
    """A tunable of one rule is printed by its number; MSR rules have operations of their own."""
    document = {
        'rules': [
            {
                'rule_id': 0,
                'steps': [
                    {'opcode': 12, 'arg1': 1, 'arg2': 0},
                    {'op': 'set_chooseleaf_tries', 'num': 5},
                    {'op': 'take', 'item': -1, 'item_name': 'default'},
                    {'op': 'choosemsr', 'num': 4, 'type': 'host'},
                    {'op': 'choosemsr', 'num': 2, 'type': 'osd'},
                    {'op': 'emit'},
                ],
            }
        ]
    }
    assert parse_crush(document).rules == {0: (Draw(-1, frozenset({'host', 'osd'})),)}


# -- as three releases print it

HOST = {n: f'host host{n}' for n in range(4)}
RACK = {0: 'rack rack0', 1: 'rack rack0', 2: 'rack rack1', 3: 'rack rack1'}
#: osd.3 is of another device class than the others.
OTHER = {3: 'host its-host'}
EXPECTED = {
    'replicated_ssd': {**HOST, **OTHER},
    'by_rack': RACK,
    'by_osd': by_itself(0, 1, 2, 3),
    'by_rack_ssd': {**RACK, **OTHER},
    'ec_host': HOST,
    'ec_msr': by_itself(0, 1, 2, 3),
    'two_levels': {**HOST, **OTHER},
    'hybrid': {**RACK, 3: 'host host3'},
}


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
def test_every_rule_of_recorded_maps_has_failure_domains(release: str) -> None:
    """Four hosts in two racks; replicated rules and those of erasure codes, of two classes."""
    recorded = json.loads((DATA / release / 'osd_map_crush_racks.json').read_text())
    found = {
        rule['rule_name']: domains(parse_crush(recorded), [rule['rule_id']], range(4))
        for rule in recorded['rules']
        if rule['rule_name'] in EXPECTED
    }
    # Rules with several OSDs of one failure domain came with Squid.
    missing = set() if release == 'tentacle' else {'ec_msr'}
    assert found == {name: EXPECTED[name] for name in EXPECTED if name not in missing}
    rules = {rule['rule_name']: rule['rule_id'] for rule in recorded['rules']}
    both = [rules['by_rack'], rules['replicated_ssd']]
    assert domains(parse_crush(recorded), both, range(4)) == {**HOST, 3: 'rack rack1'}


# -- any map


@st.composite
def maps(draw: st.DrawFn) -> CrushMap:
    """Datacenters, racks and hosts, of which some levels are left out here and there."""
    above = ('datacenter dc0', 'datacenter dc1', 'rack r0', 'rack r1', 'rack r2')
    there = draw(st.sets(st.sampled_from(above)))
    tree: dict[str, Any] = {}
    for osd_id in range(draw(st.integers(1, 10))):
        host = draw(st.integers(0, 4))
        below = tree.setdefault('root default', {})
        for bucket in (f'datacenter dc{host // 4}', f'rack r{host // 2}'):
            if bucket in there:
                below = below.setdefault(bucket, {})
        below.setdefault(f'host h{host}', []).append(osd_id)
    kinds = st.lists(st.sampled_from(('osd', 'host', 'rack', 'datacenter')), min_size=1, max_size=2)
    rules = draw(st.lists(kinds, min_size=1, max_size=3))
    return crush(tree, *([f'default: {" ".join(rule)}'] for rule in rules))


def buckets_above(crush_map: CrushMap, item: int) -> Iterator[Bucket]:
    for bucket in crush_map.buckets:
        if item in bucket.items:
            yield bucket
            yield from buckets_above(crush_map, bucket.bucket_id)


@given(maps())
def test_osds_of_one_domain_share_a_bucket_for_every_rule_and_no_larger_one_would_do(
    crush_map: CrushMap,
) -> None:
    """The bucket by which a rule keeps copies apart: its lowest of a type that it chooses."""
    osd_ids = [item for bucket in crush_map.buckets for item in bucket.items if item >= 0]
    found = failure_domains(crush_map, crush_map.rules, dict.fromkeys(osd_ids, 'x'))
    assert sorted(found) == sorted(osd_ids)
    apart: dict[int, list[Optional[str]]] = {}
    for n in osd_ids:
        above = list(buckets_above(crush_map, n))
        for rule in crush_map.rules.values():
            kinds = {kind for draw in rule for kind in draw.kinds}
            lowest = next((bucket.name for bucket in above if bucket.kind in kinds), None)
            apart.setdefault(n, []).append(f'osd.{n}' if 'osd' in kinds else lowest)
    for a in osd_ids:
        assert (found[a] is None) == (None in apart[a])
        for b in osd_ids:
            known = found[a] is not None and found[b] is not None
            assert not known or (found[a] == found[b]) == (apart[a] == apart[b])

"""The order of a plan, its batches and its controls."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.plan.order import (
    canary_first,
    domains_of,
    in_batches,
    matched_controls,
    typical_of,
)


def on(*hosts: str) -> dict[int, Place]:
    """The OSDs 0, 1 and so on, each host being a failure domain."""
    return {n: Place(host, FailureDomain('host', host)) for n, host in enumerate(hosts)}


def test_canary_is_the_typical_osd_with_the_fewest_writes() -> None:
    loads = {0: 900.0, 1: 3.0, 2: 60.0, 3: 100.0, 4: 180.0}
    order = canary_first(on('a', 'b', 'c', 'd', 'e'), loads)
    assert order == (2, 1, 3, 4, 0)


def test_least_written_osd_is_the_canary_if_most_are_idle() -> None:
    assert canary_first(on('a', 'b', 'c'), {0: 50.0, 1: 0.0, 2: 0.0}) == (1, 2, 0)


def test_no_osds_give_no_order_and_no_controls() -> None:
    assert canary_first({}, {}) == ()
    assert matched_controls((), {}, 8) == ()


def test_unknown_load_is_not_treated_as_low() -> None:
    assert canary_first(on('a', 'b', 'c'), {0: None, 2: 900.0}) == (2, 0, 1)


def test_racks_are_finished_one_by_one_host_by_host() -> None:
    racks = {'a': 'r1', 'b': 'r2', 'c': 'r1', 'd': 'r2'}
    places = {
        n: Place(host, FailureDomain('rack', racks[host])) for n, host in enumerate('abcdabcd')
    }
    order = canary_first(places, {**dict.fromkeys(places, 100.0), 6: 90.0})
    assert order == (6, 2, 0, 4, 1, 5, 3, 7)
    assert in_batches(order, places) == ((6,), (2,), (0, 4), (1, 5, 3, 7))


def test_controls_have_the_most_similar_client_writes() -> None:
    loads: dict[int, float | None] = {0: 100.0, 1: 900.0, 2: 90.0, 3: None, 4: 130.0, 5: 0.0}
    assert matched_controls(tuple(range(6)), loads, 2) == (2, 4)
    assert matched_controls(tuple(range(6)), loads, 8) == (2, 4, 1, 5, 3)


def test_last_changed_osds_are_chosen_among_similar_controls() -> None:
    assert matched_controls((3, 0, 1, 2), {}, 2) == (2, 1)
    assert matched_controls((3, 0, 1, 2), dict.fromkeys(range(4), 7.0), 2) == (2, 1)


def runs_of(values: Iterable[object]) -> list[object]:
    return [value for value, _ in groupby(values)]


some_domains = st.sampled_from(
    [None, *(FailureDomain(kind, name) for kind in ('host', 'rack') for name in 'abc')]
)
some_places = st.lists(
    st.builds(Place, st.none() | st.sampled_from('abc'), some_domains), max_size=12
).map(lambda places: dict(enumerate(places)))
some_loads = st.dictionaries(st.integers(0, 11), st.none() | st.floats(0, 1e6), max_size=12)


@given(some_places, some_loads)
def test_wherever_osds_are_the_order_holds_each_once_and_no_failure_domain_twice(
    places: dict[int, Place], loads: dict[int, float | None]
) -> None:
    order = canary_first(places, loads)
    assert sorted(order) == list(places)
    controls = matched_controls(order, loads, 3)
    assert len(controls) == min(3, max(0, len(places) - 1))
    assert set(controls) <= set(order[1:])
    domains = runs_of(places[n].domain or n for n in order)
    assert len(domains) == len(set(domains))
    for domain in {place.domain for place in places.values()} - {None}:
        hosts = runs_of(places[n].host for n in order if places[n].domain == domain)
        assert len(hosts) == len(set(hosts))


@given(st.text('abcdef', max_size=12), some_loads)
def test_no_host_is_come_back_to_where_failure_domains_lie_in_hosts_or_hold_them(
    hosts_of: str, loads: dict[int, float | None]
) -> None:
    """The OSDs of some hosts are domains by themselves; others are in racks of two hosts."""
    places = {
        n: Place(
            host,
            FailureDomain('osd', f'osd.{n}')
            if host in 'ad'
            else FailureDomain('rack', 'bc' if host in 'bc' else 'ef'),
        )
        for n, host in enumerate(hosts_of)
    }
    hosts = runs_of(places[n].host for n in canary_first(places, loads))
    assert len(hosts) == len(set(hosts))


@given(some_places, some_loads)
def test_batches_hold_every_osd_once_in_order_grow_and_stay_within_one_failure_domain(
    places: dict[int, Place], loads: dict[int, float | None]
) -> None:
    """The canary alone, then at most 1, 2, 4, ... of one domain; one of no known is by itself."""
    order = canary_first(places, loads)
    found = in_batches(order, places)
    assert [n for batch in found for n in batch] == list(order)
    assert len(domains_of(found, places)) == len(found)
    for number, (batch, domain) in enumerate(zip(found, domains_of(found, places))):
        most = 1 if number == 0 else 2 ** (number - 1)
        assert 1 <= len(batch) <= most
        assert {places[n].domain for n in batch} == {domain}
        assert domain is not None or len(batch) == 1
        if number + 1 < len(found):
            following = places[found[number + 1][0]].domain
            assert len(batch) == most or following is None or following != domain


def test_typical_is_half_to_twice_the_median_and_none_if_most_are_idle() -> None:
    loads: dict[int, float | None] = {0: 50.0, 1: 100.0, 2: 200.0, 3: 49.0, 4: 201.0, 5: None}
    assert typical_of(range(6), loads) == {0, 1, 2}
    assert typical_of(range(3), {0: 0.0, 1: 0.0, 2: 5.0}) == frozenset()
    assert typical_of(range(3), {}) == frozenset()


def test_osds_of_unknown_domain_do_not_form_one() -> None:
    places = {
        0: Place('a', None),
        1: Place('b', FailureDomain('host', 'b')),
        2: Place('c', None),
    }
    assert canary_first(places, dict.fromkeys(places, 100.0)) == (0, 1, 2)
    assert in_batches((0, 1, 2, 3), {}) == ((0,), (1,), (2,), (3,))
    assert domains_of([(0, 1), (1,), (3,)], places) == (None, FailureDomain('host', 'b'), None)
    assert domains_of([(0, 1)], on('a', 'b')) == (None,)

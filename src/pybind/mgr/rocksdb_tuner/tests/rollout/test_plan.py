"""The plan that is shown, the order it has, and what entries cover."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import ConfigEntry, FailureDomain, Place
from rocksdb_tuner.rollout.entries import Scope, as_mapping, decided_by, masked_for
from rocksdb_tuner.rollout.observation import SetEntry
from rocksdb_tuner.rollout.order import (
    canary_first,
    domains_of,
    in_batches,
    matched_controls,
    typical_of,
)
from rocksdb_tuner.rollout.plan import (
    commands,
    entry_command,
    expected_duration_s,
    forward_actions,
    undo_actions,
)
from rocksdb_tuner.rollout.records import OPTION
from rocksdb_tuner.rollout.stopwatch import GAP_MAX_S, Stopwatch
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, OLD, overridden, remove_override, set_profile


def test_the_plan_lists_every_command_in_its_order() -> None:
    request = set_profile(FakeCluster(osds=2))
    assert commands(forward_actions(request)) == (
        f"ceph config set osd.0 {OPTION} '{NEW}'",
        'ceph orch daemon restart osd.0',
        f'ceph config show osd.0 {OPTION}',
        f"ceph config set osd.1 {OPTION} '{NEW}'",
        'ceph orch daemon restart osd.1',
        f'ceph config show osd.1 {OPTION}',
        f"ceph config set {ALL} {OPTION} '{NEW}'",
        f'ceph config rm osd.0 {OPTION}',
        f'ceph config rm osd.1 {OPTION}',
    )


def test_without_an_orchestrator_the_plan_names_the_host_of_each_restart() -> None:
    lines = commands(
        forward_actions(set_profile(FakeCluster(osds=2))), orchestrated=False, hosts={0: 'node7'}
    )
    assert 'systemctl restart ceph-osd@0  # on node7' in lines
    assert 'systemctl restart ceph-osd@1' in lines


def test_the_undo_puts_masks_back_before_it_restarts() -> None:
    request = set_profile(FakeCluster(osds=1))
    assert commands(undo_actions(request, {ALL: OLD})) == (
        f"ceph config set {ALL} {OPTION} '{OLD}'",
        'ceph orch daemon restart osd.0',
        f'ceph config show osd.0 {OPTION}',
    )
    assert commands(undo_actions(request, {}))[0] == f'ceph config rm {ALL} {OPTION}'


def test_the_undo_of_a_removal_sets_it_again() -> None:
    cluster = overridden('osd', osds=1)
    lines = commands(undo_actions(remove_override(cluster), cluster.entries_of()))
    assert lines[0] == f"ceph config set osd {OPTION} '{OLD}'"


def test_the_undo_sets_an_osds_own_entry_again() -> None:
    request = set_profile(FakeCluster(osds=1), final_entries=(('osd.0', None), (ALL, NEW)))
    assert commands(undo_actions(request, {'osd.0': OLD}))[:2] == (
        f'ceph config rm {ALL} {OPTION}',
        f"ceph config set osd.0 {OPTION} '{OLD}'",
    )


def test_an_entry_that_stays_is_not_shown_as_removed() -> None:
    request = set_profile(FakeCluster(osds=2), final_entries=(('osd.0', NEW),))
    removed = [line for line in commands(forward_actions(request)) if ' rm ' in line]
    assert removed == [f'ceph config rm osd.1 {OPTION}']


def test_a_change_without_restarts_is_shown_without_them() -> None:
    request = replace(remove_override(FakeCluster()), restart=False)
    assert commands(forward_actions(request)) == (f'ceph config rm osd {OPTION}',)
    assert commands(undo_actions(request, {'osd': OLD})) == (
        f"ceph config set osd {OPTION} '{OLD}'",
    )
    assert expected_duration_s(request, SoakPlan(60.0, 60.0)) == (0.0, 0.0)


@given(st.text(alphabet=st.characters(codec='utf-8', exclude_characters='\0')))
def test_a_shell_reads_the_value_as_it_is(value: str) -> None:
    assert shlex.split(entry_command(SetEntry('osd.0', value)))[-1] == value


def test_the_expected_duration_is_that_of_the_restarts() -> None:
    request = set_profile(FakeCluster(osds=3))
    assert expected_duration_s(request, SoakPlan(), restart_s=20.0) == (60.0, 60.0)
    assert expected_duration_s(request, SoakPlan()) == (135.0, 135.0)


def test_the_expected_duration_holds_the_soak_where_there_is_one() -> None:
    request = set_profile(FakeCluster(osds=3))
    # Before, a minute to warm up, and after; then the restarts.
    assert expected_duration_s(request, SoakPlan(600.0, 3600.0)) == (1395.0, 4395.0)
    # Eight blocks of half a minute are the least.
    assert expected_duration_s(request, SoakPlan(0.0, 10.0)) == (675.0, 675.0)
    # One without controls warms up and is watched for crashes, unless it goes back at once.
    alone = set_profile(FakeCluster(osds=1))
    assert expected_duration_s(alone, SoakPlan(600.0, 3600.0)) == (705.0, 705.0)
    assert expected_duration_s(alone, SoakPlan(1.0, 3600.0)) == (106.0, 106.0)
    assert expected_duration_s(alone, SoakPlan(0.0, 3600.0)) == (45.0, 45.0)
    taken_back = SoakPlan(600.0, 3600.0, Inconclusive.ROLLBACK)
    assert expected_duration_s(alone, taken_back) == (45.0, 45.0)


# -- order


def on(*hosts: str) -> dict[int, Place]:
    """The OSDs 0, 1 and so on, each host being a failure domain."""
    return {n: Place(host, FailureDomain('host', host)) for n, host in enumerate(hosts)}


def test_the_canary_is_the_least_written_of_the_typical_osds() -> None:
    loads = {0: 900.0, 1: 3.0, 2: 60.0, 3: 100.0, 4: 180.0}
    order = canary_first(on('a', 'b', 'c', 'd', 'e'), loads)
    assert order == (2, 1, 3, 4, 0)


def test_where_most_are_idle_the_least_written_is_the_canary() -> None:
    assert canary_first(on('a', 'b', 'c'), {0: 50.0, 1: 0.0, 2: 0.0}) == (1, 2, 0)


def test_without_osds_there_is_no_order_and_nothing_to_compare_with() -> None:
    assert canary_first({}, {}) == ()
    assert matched_controls((), {}, 8) == ()


def test_an_unknown_load_is_not_taken_for_a_low_one() -> None:
    assert canary_first(on('a', 'b', 'c'), {0: None, 2: 900.0}) == (2, 0, 1)


def test_one_failure_domain_is_finished_before_the_next() -> None:
    order = canary_first(on('a', 'b', 'a', 'b'), {0: 1.0, 1: 2.0, 2: 400.0, 3: 3.0})
    assert order == (1, 3, 0, 2)


def test_a_rack_is_finished_before_the_next_and_in_it_host_by_host() -> None:
    racks = {'a': 'r1', 'b': 'r2', 'c': 'r1', 'd': 'r2'}
    places = {
        n: Place(host, FailureDomain('rack', racks[host])) for n, host in enumerate('abcdabcd')
    }
    order = canary_first(places, {**dict.fromkeys(places, 100.0), 6: 90.0})
    assert order == (6, 2, 0, 4, 1, 5, 3, 7)
    assert in_batches(order, places) == ((6,), (2,), (0, 4), (1, 5, 3, 7))


def test_where_each_osd_is_a_domain_it_goes_host_by_host_and_each_batch_is_one_osd() -> None:
    places = {n: Place('ab'[n % 2], FailureDomain('osd', f'osd.{n}')) for n in range(6)}
    order = canary_first(places, dict.fromkeys(places, 100.0))
    assert order == (0, 2, 4, 1, 3, 5)
    assert in_batches(order, places) == tuple((n,) for n in order)


def test_controls_are_those_whose_clients_write_most_alike() -> None:
    loads: dict[int, float | None] = {0: 100.0, 1: 900.0, 2: 90.0, 3: None, 4: 130.0, 5: 0.0}
    assert matched_controls(tuple(range(6)), loads, 2) == (2, 4)
    assert matched_controls(tuple(range(6)), loads, 8) == (2, 4, 1, 5, 3)


def test_controls_that_are_alike_are_those_that_are_changed_last() -> None:
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


def test_a_batch_is_as_large_as_it_may_be() -> None:
    places = on(*'a' * 10, *'b' * 3)
    assert [len(batch) for batch in in_batches(range(13), places)] == [1, 1, 2, 4, 2, 3]


def test_typical_is_half_to_twice_the_middle_and_nobody_where_most_are_idle() -> None:
    loads: dict[int, float | None] = {0: 50.0, 1: 100.0, 2: 200.0, 3: 49.0, 4: 201.0, 5: None}
    assert typical_of(range(6), loads) == {0, 1, 2}
    assert typical_of(range(3), {0: 0.0, 1: 0.0, 2: 5.0}) == frozenset()
    assert typical_of(range(3), {}) == frozenset()


def test_osds_of_no_known_domain_are_not_taken_for_one() -> None:
    places = {
        0: Place('a', None),
        1: Place('b', FailureDomain('host', 'b')),
        2: Place('c', None),
    }
    assert canary_first(places, dict.fromkeys(places, 100.0)) == (0, 1, 2)
    assert in_batches((0, 1, 2, 3), {}) == ((0,), (1,), (2,), (3,))
    assert domains_of([(0, 1), (1,), (3,)], places) == (None, FailureDomain('host', 'b'), None)
    assert domains_of([(0, 1)], on('a', 'b')) == (None,)


# -- entries


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
def test_what_does_not_apply_does_not_decide(who: str) -> None:
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
def test_what_may_decide_for_some_osds_is_told_from_what_cannot(who: str, covers: bool) -> None:
    cluster = FakeCluster(3)
    cluster.osds[2].device_class = 'hdd'
    assert Scope.of(cluster.cluster_map(), (0, 1)).may_cover(who) is covers


def test_masks_that_may_reach_an_osd_are_told_from_those_that_cannot() -> None:
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


def test_in_doubt_an_entry_may_decide() -> None:
    cluster = FakeCluster(2).cluster_map()
    unknown = replace(
        cluster,
        osds=(replace(cluster.osds[0], host=None, device_class=None), cluster.osds[1]),
    )
    scope = Scope.of(unknown, (0,))
    assert scope.may_cover('osd/class:hdd')
    assert scope.may_cover('osd/host:node1')


# -- time


def test_a_stopwatch_counts_while_nothing_changes() -> None:
    watch = Stopwatch()
    assert [watch.look('a', t) for t in (10.0, 12.0, 15.0)] == [0.0, 2.0, 5.0]
    assert [watch.look('b', t) for t in (16.0, 18.0)] == [0.0, 2.0]


def test_a_stopwatch_does_not_believe_a_clock_that_jumps() -> None:
    watch = Stopwatch()
    watch.look('a', 100.0)
    assert watch.look('a', 50.0) == 0.0
    assert watch.look('a', 1e9) == GAP_MAX_S

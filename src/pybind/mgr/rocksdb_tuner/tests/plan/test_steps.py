"""A plan is applied as shown, until there is a reason for another one."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.plan.commands import Change, ShownSteps
from rocksdb_tuner.plan.order import canary_first, matched_controls, typical_of
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind

OSDS = 12
PLACES = tuple(Place(host, FailureDomain('host', host)) for host in 'abc')
Loads = dict[int, Optional[float]]

some_loads = st.dictionaries(st.integers(0, OSDS - 1), st.none() | st.floats(0, 1e5))


def change(options_to: str = 'compression=kLZ4Compression', osds: int = OSDS) -> Change:
    return Change(
        recommendation_id=f'osd-{options_to}',
        kind=ChangeKind.SET_PROFILE,
        who='osd',
        options_from='',
        options_to=options_to,
        deciding_entries=(),
        restart=True,
        orchestrated=True,
        places=tuple((n, PLACES[n % len(PLACES)]) for n in range(osds)),
    )


def even(iops: float, **other: float) -> Loads:
    return {**dict.fromkeys(range(OSDS), iops), **{int(k[3:]): v for k, v in other.items()}}


@given(st.lists(st.lists(st.floats(70, 135), min_size=OSDS, max_size=OSDS), min_size=2))
def test_osds_that_do_much_the_same_keep_their_places(samples: list[list[float]]) -> None:
    shown = ShownSteps()
    assert len({shown.of(change(), dict(enumerate(loads))) for loads in samples}) == 1


@given(some_loads)
def test_the_first_look_takes_the_least_risky_typical_osd_and_its_best_controls(
    loads: Loads,
) -> None:
    request = ShownSteps().of(change(), loads).request
    assert request.order == canary_first(dict(change().places), loads)
    assert request.controls == matched_controls(request.order, loads, limits().most_controls)
    assert [n for batch in request.batches for n in batch] == list(request.order)
    assert request.targets == tuple((n, change().options_to) for n in request.order)


@given(some_loads, some_loads)
def test_whatever_happens_the_canary_is_as_typical_as_a_new_one_would_be(
    before: Loads, now: Loads
) -> None:
    shown = ShownSteps()
    shown.of(change(), before)
    canary = shown.of(change(), now).request.order[0]
    # OSDs below one write per second are not distinguished.
    known = {n: max(1.0, iops) for n, iops in now.items() if iops is not None}
    typical = typical_of(range(OSDS), known)
    assert canary in typical or not typical or canary == canary_first(dict(change().places), now)[0]


@pytest.mark.parametrize('iops', [0.0, 1000.0])
def test_canary_that_is_no_longer_typical_is_replaced(iops: float) -> None:
    shown = ShownSteps()
    first = shown.of(change(), even(100.0, osd4=90.0))
    assert first.request.order[0] == 4
    then = shown.of(change(), even(100.0, osd4=iops))
    assert then.request.order[0] != 4


def test_few_typical_osds_keep_their_places() -> None:
    """No plan has more controls than there are other typical OSDs."""
    most = limits().most_controls
    idle = {f'osd{n}': 0.0 for n in range(OSDS - most)}
    assert len(idle) < OSDS / 2
    shown = ShownSteps()
    first = shown.of(change(), even(100.0, **idle, osd11=80.0))
    assert first.request.order[0] == 11
    assert len(first.request.controls) == most
    assert shown.of(change(), even(100.0, **idle, osd10=90.0)) is first


def test_control_that_is_no_longer_typical_is_replaced() -> None:
    """One alone, while another OSD could take its place."""
    shown = ShownSteps()
    first = shown.of(change(), even(100.0, osd11=90.0))
    assert len(first.request.controls) < OSDS - 1
    gone = first.request.controls[-1]
    then = shown.of(change(), even(100.0, osd11=90.0, **{f'osd{gone}': 0.0}))
    assert gone not in then.request.controls
    assert then.request.order[0] == 11


def test_another_change_or_osd_gets_a_new_plan() -> None:
    shown = ShownSteps()
    first = shown.of(change(), even(100.0, osd4=90.0))
    noisy = even(100.0, osd7=80.0)
    assert shown.of(change('ttl=0'), noisy).request.order[0] == 7
    assert shown.of(change(osds=OSDS - 1), noisy).request.order[0] == 7
    assert shown.of(change(), noisy) == first


def test_last_thirty_two_changes_are_remembered() -> None:
    shown = ShownSteps()
    first = shown.of(change(), even(100.0))
    for number in range(31):
        shown.of(change(f'ttl={number}'), even(100.0))
    assert shown.of(change(), even(100.0)) is first
    for number in range(32):
        shown.of(change(f'ttl={number}'), even(100.0))
    assert shown.of(change(), even(100.0)) is not first


@pytest.mark.parametrize(
    ('changes', 'final'),
    [
        ({}, (('osd', 'ttl=1'),)),
        # No OSD starts with an entry for a class.
        ({'who': 'osd/class:ssd'}, (('osd.0', 'ttl=1'), ('osd.1', 'ttl=1'))),
        (
            {'kind': ChangeKind.REMOVE_OVERRIDE, 'deciding_entries': ('osd', 'osd.1')},
            (('osd', None), ('osd.1', None)),
        ),
        ({'annex': 'ttl=2'}, (('osd', 'ttl=2'),)),
    ],
)
def test_config_store_ends_with_the_startup_values_of_the_osds(
    changes: dict[str, Any], final: tuple[tuple[str, Optional[str]], ...]
) -> None:
    """One entry where one can decide for them all, else one for each of them."""
    request = ShownSteps().of(change('ttl=1', osds=2)._replace(**changes), {}).request
    assert tuple(sorted(request.final_entries)) == final
    assert request.option == (ANNEX if 'annex' in changes else OPTION)

"""Health checks are raised by what lasts and cleared by what stays away."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import HoldState, hold, raised, since
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.records import Severity

from .builders import example

LASTING = 'slow-iterators'
POLICY = conditions()[LASTING].health
assert POLICY is not None
RAISE_S, CLEAR_S = POLICY.raise_after_s, POLICY.clear_after_s
FINDING = example(LASTING, 0)


def played(moments: list[tuple[float, bool]]) -> list[bool]:
    """Whether the check is raised after each (seconds, found)."""
    state: HoldState = {}
    seen = []
    for at_s, is_found in moments:
        state = hold(state, [FINDING] if is_found else [], at_s)
        seen.append(bool(raised(state)))
    return seen


def test_check_is_raised_exactly_after_its_hold_time() -> None:
    assert played([(0.0, True), (RAISE_S - 1, True), (RAISE_S, True)]) == [False, False, True]


def test_check_is_cleared_exactly_after_its_clear_time() -> None:
    at_s = RAISE_S
    moments = [(0.0, True), (at_s, True), (at_s + CLEAR_S - 1, False), (at_s + CLEAR_S, False)]
    assert played(moments) == [False, True, True, False]


@pytest.mark.parametrize(
    ('name', 'least_s'), [('compaction-storm', 1800.0), ('write-stalls', 600.0)]
)
def test_what_ends_by_itself_has_to_last(name: str, least_s: float) -> None:
    """A storm of a minute, or one sample with a stall, is no reason to wake anyone."""
    finding = example(name, 0)
    state = hold(hold({}, [finding], 0.0), [finding], least_s - 1)
    assert raised(state) == ()
    assert raised(hold(state, [finding], least_s)) == (finding,)


def test_informational_finding_is_no_health_check() -> None:
    known = replace(FINDING, severity=Severity.INFO)
    assert hold({}, [known], 0.0) == {}


@pytest.mark.parametrize('back_to_s', [0.0, RAISE_S / 2])
def test_clock_set_back_restarts_the_hold_without_extending_it(back_to_s: float) -> None:
    assert played([(1000.0, True), (back_to_s, True), (back_to_s + RAISE_S, True)]) == [
        False,
        False,
        True,
    ]
    state = hold(hold({}, [FINDING], 1e6), [FINDING], 1e6 + RAISE_S)
    state = hold(state, [], back_to_s)
    assert raised(hold(state, [], back_to_s + CLEAR_S)) == ()


@given(st.lists(st.tuples(st.floats(0.1, 1000), st.booleans()), max_size=60))
def test_it_never_changes_faster_than_its_times(steps: list[tuple[float, bool]]) -> None:
    at_s, moments = 0.0, []
    for step_s, is_found in steps:
        at_s += step_s
        moments.append((at_s, is_found))
    shown = played(moments)
    raised_s: Optional[float] = None
    for i, ((now_s, is_found), is_raised) in enumerate(zip(moments, shown)):
        if is_raised and (i == 0 or not shown[i - 1]):
            run = [t for t, f in moments[: i + 1]]
            while run and not dict(moments)[run[0]]:
                run.pop(0)
            assert is_found
            assert now_s - run[0] >= RAISE_S
            raised_s = now_s
        if not is_raised and i and shown[i - 1]:
            last_found_s = max(t for t, f in moments[:i] if f)
            assert now_s - last_found_s >= CLEAR_S
            assert raised_s is not None


def test_start_time_is_forgotten_when_the_condition_ends() -> None:
    first = since({}, ['a', 'b'], 10.0)
    second = since(first, ['a'], 20.0)
    assert second == {'a': 10.0}
    assert since(second, ['a', 'b'], 30.0) == {'a': 10.0, 'b': 30.0}
    assert since(second, ['a'], 5.0) == {'a': 5.0}


def test_alert_raised_by_newer_ceph_is_not_duplicated() -> None:
    finding = example('unsharded', 0)
    alert = frozenset({'BLUESTORE_NO_DB_SHARDING'})
    state: HoldState = {}
    for at_s in (0.0, 600.0, 1200.0):
        state = hold(state, [finding], at_s, alert)
        assert raised(state) == ()
    # The operator muted Ceph's alert, or downgrades to a release without it.
    for at_s in (1800.0, 2400.0):
        state = hold(state, [finding], at_s, frozenset({'OSD_DOWN'}))
    assert raised(state) == (finding,)
    assert hold(state, [finding], 2500.0, alert) == {}

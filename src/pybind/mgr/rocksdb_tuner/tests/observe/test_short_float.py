"""Numbers in 16 bits are as near as stated; nothing unknown becomes a number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.history import LEAST, MAX_ERROR, MOST, UNKNOWN, decode, encode


@given(st.floats(LEAST, MOST))
def test_number_comes_back_within_the_stated_error(value: float) -> None:
    (code,) = encode([value])
    assert code != UNKNOWN
    assert decode(code) == pytest.approx(value, rel=MAX_ERROR)


@given(st.floats(0, MOST), st.floats(0, MOST))
def test_order_is_kept(one: float, other: float) -> None:
    less, more = encode(sorted((one, other)))
    assert less <= more


def test_numbers_outside_of_the_range_become_its_ends() -> None:
    least, most, zero = encode([LEAST / 2, MOST * 10, 0])
    assert decode(least) == decode(zero) == 0.0
    assert decode(most) == pytest.approx(MOST, rel=MAX_ERROR)


@pytest.mark.parametrize('value', [None, math.nan, math.inf, -math.inf, -1.0])
def test_unknown_stays_unknown(value: float | None) -> None:
    """A counter that decreased was reset: its difference is not known."""
    (code,) = encode([value])
    assert decode(code) is None

"""The sequential test, which may be evaluated at any time: its error rates and its limits."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.judge.statistics import always_valid_p, critical, e_value

RATES = st.floats(1e-6, 0.5)
FREE = st.integers(1, 200)
SPREADS = st.floats(0.01, 1000.0)


@given(RATES, FREE, SPREADS)
def test_a_t_counts_exactly_where_its_e_value_reaches_one_over_the_rate(
    rate: float, free: int, spread: float
) -> None:
    """``critical`` is the inverse of ``e_value``, and unbounded only where no t reaches it."""
    found = critical(rate, free, spread)
    if found is None:
        assert e_value(1e9, free, spread) <= 1 / rate * 1.01
    else:
        assert math.log(e_value(found, free, spread)) == pytest.approx(-math.log(rate), rel=1e-3)
        assert e_value(found * 0.99, free, spread) < 1 / rate


@given(FREE, SPREADS)
def test_without_an_effect_the_mean_e_value_is_one(free: int, spread: float) -> None:
    """By numbers: the integral over Student's distribution."""
    scale = math.exp(math.lgamma((free + 1) / 2) - math.lgamma(free / 2)) / math.sqrt(
        free * math.pi
    )
    total, steps = 0.0, 4000
    for i in range(steps):
        # t = tan(angle) takes in both tails.
        angle = math.pi * ((i + 0.5) / steps - 0.5)
        t = math.tan(angle)
        density = scale * math.exp(-(free + 1) / 2 * math.log1p(t * t / free))
        total += e_value(t, free, spread) * density / math.cos(angle) ** 2 * math.pi / steps
    assert total == pytest.approx(1, abs=0.05)


def test_no_degrees_of_freedom_give_no_evidence() -> None:
    """Nothing is bounded by a spread that is not known."""
    assert critical(0.05, 0, 8.0) is None


def test_checks_at_every_value_do_not_raise_the_error_rate() -> None:
    """Means of values without an effect, evaluated after each of 200."""
    rng = random.Random(7)
    crossed = 0
    for _ in range(200):
        total = squares = 0.0
        for n in range(1, 201):
            value = rng.gauss(0, 3)
            total, squares = total + value, squares + value * value
            least = critical(0.1, n - 1, 0.2 * n)
            if least is not None:
                deviation = math.sqrt(max(squares - total**2 / n, 1e-12) / (n - 1))
                if abs(total) / math.sqrt(n) >= least * deviation:
                    crossed += 1
                    break
    assert crossed <= 24


def test_p_value_follows_from_the_largest_e_value() -> None:
    """At most 1, and 1 over the e-value below it."""
    assert always_valid_p(0.5) == 1.0
    assert always_valid_p(40.0) == 0.025

"""The sequential test, which may be evaluated at any time: its error rates and its limits."""

from __future__ import annotations

import math
import random

from rocksdb_tuner.judge.statistics import critical


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

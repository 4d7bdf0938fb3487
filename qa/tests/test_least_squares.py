"""Least squares against numpy and scipy, which the pages are made without."""

from __future__ import annotations

import random

import numpy as np
import pytest
from least_squares import fit, student
from scipy import stats

ROWS = [
    {('osd', osd): 1.0, ('phase', phase): 1.0, **({'set': 1.0} if osd == phase else {})}
    for osd in range(3)
    for phase in range(4)
]


def test_difference_matches_numpy() -> None:
    """Terms that follow from others do not matter to what the rows determine."""
    rng = random.Random(1)
    values = [rng.gauss(3.0, 1.0) for _ in ROWS]
    found = fit(ROWS, values)
    names = list(found.places)
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in ROWS])
    exact, *_ = np.linalg.lstsq(matrix, np.array(values), rcond=None)
    rank = np.linalg.matrix_rank(matrix)
    variance = np.sum((matrix @ exact - values) ** 2) / (len(ROWS) - rank)
    wanted = np.array([float(name == 'set') for name in names])
    spread = wanted @ np.linalg.pinv(matrix.T @ matrix) @ wanted
    difference = found.difference({'set': 1.0})
    assert difference is not None
    assert found.degrees == len(ROWS) - rank
    assert difference.value == pytest.approx(exact[names.index('set')])
    assert difference.standard_error == pytest.approx((variance * spread) ** 0.5)


def test_what_the_rows_do_not_determine_is_none() -> None:
    """The level of an OSD without that of a phase; a set that never ran."""
    found = fit(ROWS, [1.0] * len(ROWS))
    assert found.difference({('osd', 0): 1.0}) is None
    assert found.difference({('osd', 0): 1.0, ('osd', 1): -1.0}) is not None
    assert found.difference({'other': 1.0}) is None


def test_nothing_against_nothing_is_certain() -> None:
    found = fit(ROWS, [float(at) for at in range(len(ROWS))]).difference({'other': 0.0})
    assert found is not None
    assert (found.value, found.standard_error) == (0.0, 0.0)


def test_as_many_terms_as_rows_have_no_variance() -> None:
    assert fit([{'a': 1.0}, {'a': 1.0, 'b': 1.0}], [1.0, 3.0]).variance is None


@pytest.mark.parametrize('degrees', [1, 2, 5, 12, 40, 200])
@pytest.mark.parametrize('tail', [0.025, 0.0025])
def test_students_t_matches_scipy(tail: float, degrees: int) -> None:
    assert student(tail, degrees) == pytest.approx(stats.t.ppf(1 - tail, degrees), rel=1e-5)

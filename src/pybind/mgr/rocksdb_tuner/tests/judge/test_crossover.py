"""The linear model behind experiments: exact where nothing is random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.judge.crossover import Fit, Unit, fit, variance_of

EFFECTS = st.floats(-0.5, 0.5)


def crossed(a: float, b: float, apart: float) -> list[Unit]:
    """Two arms that swap OSDs 0 to 3, with the controls 4 and 5."""
    arms = ((None,) * 6, ('a', 'a', 'b', 'b', None, None), ('b', 'b', 'a', 'a', None, None))
    effect = {'a': a, 'b': b, None: 0.0}
    return [
        Unit(n, period, arm, effect[arm] + apart * n + 0.3 * period, 2 + period)
        for period, of_osd in enumerate(arms)
        for n, arm in enumerate(of_osd)
    ]


def known(found: Fit | None) -> Fit:
    assert found is not None
    return found


@given(EFFECTS, EFFECTS, EFFECTS)
def test_levels_of_osds_and_what_all_feel_cancel(a: float, b: float, apart: float) -> None:
    """The rest is the effects of the arms, and nothing unexplained."""
    found = known(fit(crossed(a, b, apart)))
    assert found.difference('a', None)[0] == pytest.approx(a, abs=1e-9)
    assert found.difference('a', 'b')[0] == pytest.approx(a - b, abs=1e-9)
    assert found.variance == pytest.approx(0, abs=1e-12)
    assert found.free == 18 - 6 - 4


def test_swapped_arms_are_separated_better_than_controls() -> None:
    """Each OSD ran both arms."""
    found = known(fit(crossed(0, 0, 0)))
    assert found.difference('a', 'b')[1] < found.difference('a', None)[1]


def test_more_controls_narrow_the_interval() -> None:
    """The variance of an effect holds that of the controls."""
    few = crossed(0, 0, 0)
    more = [*few, *(u._replace(osd_id=u.osd_id + 9) for u in few if u.osd_id > 3)]
    assert known(fit(more)).covariance['a', 'a'] < known(fit(few)).covariance['a', 'a']


def test_no_effects_without_controls_or_arms() -> None:
    """Arm and period are the same then."""
    alone = [Unit(n, p, 'a' if p else None, 0.0, 3) for n in range(2) for p in range(2)]
    assert fit(alone) is None
    assert fit([u._replace(arm=None) for u in alone]) is None
    assert fit([]) is None


def test_two_osds_have_no_spread() -> None:
    """One OSD in the arm and one control explain each other fully."""
    found = known(
        fit([Unit(n, p, 'a' if p and n else None, float(n * p), 3) for n in (0, 1) for p in (0, 1)])
    )
    assert found.effects['a'] == pytest.approx(1.0)
    assert (found.free, found.variance) == (0, 0.0)


def test_more_blocks_of_one_osd_have_diminishing_returns() -> None:
    """A persistent difference of the OSD is not averaged out."""
    assert variance_of(1) == pytest.approx(1)
    assert variance_of(4) > variance_of(1e9) > 0.2

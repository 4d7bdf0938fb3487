"""By how much syncs are made longer for writes to take as much longer as a trial needs."""

from __future__ import annotations

import pytest

from harness.staggered import (
    FIRST_PERCENT,
    LEAST_PERCENT,
    MOST_PERCENT,
    SECONDS,
    SLOT_S,
    TARGET,
    Commits,
    groups,
    percent_for,
    worsened,
)


def test_degradation_is_measured_relative_to_the_other_group() -> None:
    began = {n: Commits(10.0 * n, 1000) for n in range(5)}
    middle = {n: Commits(c.sync_s + 2.0, c.commits + 1000) for n, c in began.items()}
    # All writes take half as long again, those of osd.0 and osd.1 a fifth more than that
    ended = {
        n: Commits(c.sync_s + 1.5 * (1.2 if n < 2 else 1.0), c.commits + 500)
        for n, c in middle.items()
    }
    assert worsened(began, middle, ended, (0, 1)) == pytest.approx(0.2)


def test_syncs_take_proportionally_longer_within_bounds() -> None:
    assert percent_for(TARGET) == FIRST_PERCENT
    assert percent_for(TARGET / 2) == 2 * FIRST_PERCENT
    assert percent_for(10.0) == LEAST_PERCENT
    for nothing in (0.0, -0.1):
        assert percent_for(nothing) == MOST_PERCENT


def test_the_two_groups_share_no_osd() -> None:
    slow = groups(3)
    assert (slow.first, slow.second) == ((0, 1, 2), (3, 4, 5))
    assert SECONDS == 4 * SLOT_S

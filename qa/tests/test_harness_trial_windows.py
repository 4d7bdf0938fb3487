"""Who is in which trial is drawn by lot; by how much syncs are made longer for it."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.trial_windows import (
    FIRST_PERCENT,
    LEAST_PERCENT,
    MOST_PERCENT,
    TARGET,
    Commits,
    draw,
    percent_for,
    pg_num,
    worsened,
)

OSDS = 48


@pytest.mark.parametrize('window', range(9))
def test_no_osd_is_in_two_groups_of_a_window(window: int) -> None:
    groups = draw(OSDS, window)
    used = [n for g in groups for n in (g.slower, g.unchanged, *g.controls)]
    assert sorted(used) == list(range(OSDS))
    assert {len(g.controls) for g in groups} == {2}


def test_remaining_osds_have_no_trial() -> None:
    assert len(draw(15, 0)) == 3
    assert all(n < 12 for g in draw(15, 0) for n in (g.slower, g.unchanged, *g.controls))


def test_osd_is_a_canary_of_a_kind_in_every_fourth_window() -> None:
    for kind in ('slower', 'unchanged'):
        chosen = [{getattr(group, kind) for group in draw(OSDS, w)} for w in range(8)]
        assert Counter(n for osds in chosen[:4] for n in osds) == Counter(range(OSDS))
        assert chosen[:4] == chosen[4:]


def test_osd_is_a_control_in_the_windows_after_it_was_slow() -> None:
    for window in range(4):
        slow = {group.slower for group in draw(OSDS, window)}
        for later in (window + 1, window + 2):
            assert slow <= {n for group in draw(OSDS, later) for n in group.controls}


def test_windows_have_different_groups_and_the_same_each_time() -> None:
    assert draw(OSDS, 3) == draw(OSDS, 3)
    first, fifth = ({g.slower: g.controls for g in draw(OSDS, w)} for w in (0, 4))
    assert first.keys() == fifth.keys()
    assert sum(first[n] == fifth[n] for n in first) < len(first) / 2


@pytest.mark.parametrize(('osds', 'pgs'), [(16, 512), (48, 2048), (64, 2048)])
def test_number_of_pgs_is_a_power_of_two(osds: int, pgs: int) -> None:
    assert pg_num(osds) == pgs


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

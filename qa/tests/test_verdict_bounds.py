"""What so many trials prove: exact intervals, and whether trials of a window err together."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from scipy.stats import binomtest

from verdict_bounds import (
    CLAIMS,
    Outcome,
    claims,
    clopper_pearson,
    interval,
    least_trials,
    together,
)

SIGNAL = 'kv_sync_ms_per_txn'


def ended(*verdicts: str) -> list[Outcome]:
    return [Outcome(0, verdict, {}) for verdict in verdicts]


@pytest.mark.parametrize(('hits', 'of'), [(0, 72), (72, 72), (1, 110), (3, 17)])
def test_intervals_are_those_of_clopper_and_pearson(hits: int, of: int) -> None:
    exact = binomtest(hits, of).proportion_ci(0.95, method='exact')
    assert interval(hits, of) == pytest.approx((exact.low, exact.high), abs=1e-6)
    assert clopper_pearson(hits, of) == pytest.approx((100 * exact.low, 100 * exact.high), abs=0.05)


def test_no_trials_prove_nothing() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert not any(found['proven'] for found in claims({}).values())


def test_seventy_two_trials_without_an_error_are_the_least() -> None:
    for claim in CLAIMS.values():
        assert least_trials(0, claim) == 72
        # An error costs half as many trials again
        assert least_trials(1, claim) == 110


def test_bounds_of_5_and_95_percent_are_proven_by_72_trials() -> None:
    found = claims({'unchanged': ended(*['pass'] * 72), 'slower': ended(*['fail'] * 72)})
    assert all(claim['proven'] for claim in found.values())
    assert found['false fail']['of_all']['high_percent'] == 5.0
    assert found['caught']['of_all']['low_percent'] == 95.0


def test_one_trial_less_or_one_error_is_not_enough() -> None:
    less = claims({'unchanged': ended(*['pass'] * 71), 'slower': ended(*['fail'] * 71)})
    assert not any(claim['proven'] for claim in less.values())
    wrong = claims(
        {
            'unchanged': ended(*['pass'] * 71, 'fail'),
            'slower': ended(*['fail'] * 71, 'better'),
        }
    )
    proven = {name for name, claim in wrong.items() if claim['proven']}
    assert proven == {'false better'}
    assert wrong['missed']['of_all']['count'] == 1


def test_soak_without_a_verdict_is_only_a_worsening_that_was_not_caught() -> None:
    found = claims(
        {
            'unchanged': ended(*['pass'] * 40, *['inconclusive'] * 32),
            'slower': ended(*['fail'] * 70, 'inconclusive', 'no-data'),
        }
    )
    proven = {name for name, claim in found.items() if claim['proven']}
    assert proven == {'false fail', 'false better', 'missed'}
    assert found['caught']['of_all']['count'] == 70
    # Of the verdicts alone, fewer prove less
    assert found['false fail']['of_verdicts']['trials'] == 40
    assert found['false fail']['of_verdicts']['high_percent'] == 8.8


def trials(shared: float, own: float, lots: random.Random) -> Sequence[Outcome]:
    outcomes = []
    for window in range(6):
        shift = lots.gauss(0, shared)
        for _ in range(12):
            change = shift + lots.gauss(0, own)
            outcomes.append(Outcome(window, 'pass', {SIGNAL: change}))
    return outcomes


def test_shared_disturbance_of_a_window_shows() -> None:
    found = together(trials(4.0, 2.0, random.Random(5)), SIGNAL)
    assert found['correlation'] is not None
    assert found['correlation'] > 0.5
    assert found['chance'] == 0.0


def test_independent_trials_are_as_alike_as_those_of_other_windows() -> None:
    """Over many runs the chance is spread evenly."""
    lots = random.Random(6)
    chances = [together(trials(0.0, 3.0, lots), SIGNAL)['chance'] or 0.0 for _ in range(12)]
    assert 2 <= sum(chance < 0.5 for chance in chances) <= 10
    assert sum(chance < 0.05 for chance in chances) <= 2


@pytest.mark.parametrize(
    'outcomes',
    [
        [],
        [Outcome(0, 'pass', {SIGNAL: 1.0}), Outcome(0, 'pass', {SIGNAL: 2.0})],
        [Outcome(0, 'pass', {SIGNAL: 1.0}), Outcome(1, 'pass', {SIGNAL: 2.0})],
        [Outcome(0, 'no-data', {}), Outcome(1, 'no-data', {SIGNAL: None})],
        [Outcome(w, 'pass', {SIGNAL: 1.0}) for w in (0, 0, 1, 1)],
    ],
)
def test_too_few_trials_say_nothing_about_windows(outcomes: Sequence[Outcome]) -> None:
    assert together(outcomes, SIGNAL) == {'correlation': None, 'chance': None}

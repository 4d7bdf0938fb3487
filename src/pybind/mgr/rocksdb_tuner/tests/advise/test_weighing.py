"""The choice among option sets, by what each is expected to do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.records import Resource
from rocksdb_tuner.advise.weighing import (
    Bars,
    Origin,
    Usage,
    Weighed,
    Weighing,
    fused,
    weigh,
)
from rocksdb_tuner.lsm.records import Estimate

KV, WRITTEN = Resource.KV_SYNC, Resource.DB_DEVICE
BARS = Bars(min_gain=0.1, max_loss=0.05)
RUNNING = Weighed('running options', Origin.RUNNING, 'ttl=1')


def surely(ratio: float) -> Estimate:
    return Estimate(ratio, ratio, ratio)


def within(ratio: float, factor: float) -> Estimate:
    return Estimate(ratio / factor, ratio, ratio * factor)


def candidate(
    name: str,
    gain: Optional[Estimate],
    loss: Optional[Estimate] = None,
    origin: Origin = Origin.PROFILE,
) -> Weighed:
    usages = [] if gain is None else [Usage(KV, gain)]
    usages += [] if loss is None else [Usage(WRITTEN, loss)]
    return Weighed(name, origin, f'ttl={len(name)}', usages=tuple(usages))


def chosen(*weighed: Weighed) -> Optional[str]:
    found = weigh((RUNNING, *weighed), KV, BARS)
    return None if found.chosen is None else found.chosen.name


def reported(weighed: Weighed, *others: Weighed) -> str:
    found = weigh((RUNNING, weighed, *others), KV, BARS)
    return found.weighed[1].short or ''


@pytest.mark.parametrize(
    ('gain', 'loss', 'name'),
    [
        (surely(0.9), surely(1.05), 'a'),
        (surely(0.901), surely(1.0), None),
        (surely(0.9), surely(1.051), None),
        # The estimate would do, but not with 80% probability.
        (within(0.88, 1.1), surely(1.0), None),
        (surely(0.8), within(1.02, 1.2), None),
        (within(0.8, 1.1), within(0.95, 1.1), 'a'),
        # The loss is unknown, and counts as none.
        (surely(0.8), None, 'a'),
        # A gain of another resource than the limit.
        (surely(1.0), surely(0.5), 'a'),
        (None, surely(0.5), 'a'),
        # Nothing is known.
        (None, None, None),
    ],
)
def test_candidate_within_the_bars_with_80_percent_probability_is_chosen(
    gain: Optional[Estimate], loss: Optional[Estimate], name: Optional[str]
) -> None:
    assert chosen(candidate('a', gain, loss)) == name


def test_best_tested_candidate_is_chosen() -> None:
    """Others gain more, but not so much that they would be recommended next."""
    successor = candidate('successor', surely(0.81), origin=Origin.SUCCESSOR)
    default = candidate('default', surely(0.805), origin=Origin.DEFAULT)
    published = candidate('published', surely(0.8))
    derived = candidate('derived', surely(0.7), origin=Origin.DERIVED)
    assert chosen(derived, published, default, successor) == 'successor'
    assert chosen(derived, published, default) == 'default'
    assert chosen(derived, published) == 'published'
    assert chosen(derived) == 'derived'


def test_published_candidate_that_relieves_the_kv_sync_thread_more_is_chosen() -> None:
    """Where that thread limits: the restart is the same. What is derived has had no test at all."""
    successor = candidate('successor', surely(0.85), surely(0.8), origin=Origin.SUCCESSOR)
    published = candidate('published', surely(0.83), surely(0.9))
    derived = candidate('derived', surely(0.7), origin=Origin.DERIVED)
    assert chosen(successor, published, derived) == 'published'
    assert reported(successor, published) == (
        'It qualifies and is better tested, but published saves more.'
    )
    elsewhere = weigh((RUNNING, successor, published, derived), Resource.CORES, BARS)
    assert elsewhere.chosen is not None
    assert elsewhere.chosen.name == 'successor'


def test_candidate_that_would_be_recommended_next_is_chosen_if_it_qualifies() -> None:
    successor = candidate('successor', surely(0.85), origin=Origin.SUCCESSOR)
    better = candidate('better', surely(0.7))
    found = weigh((RUNNING, successor, better), KV, BARS, better.options)
    assert found.chosen is not None
    assert found.chosen.name == 'better'
    loses = candidate('better', surely(0.7), surely(1.5))
    found = weigh((RUNNING, successor, loses), KV, BARS, loses.options)
    assert found.chosen is not None
    assert found.chosen.name == 'successor'


def test_publications_decide_without_a_model() -> None:
    known = candidate('known', None)
    assert chosen(known) is None
    assert chosen(replace(known, suits_better=True)) == 'known'
    assert chosen(replace(candidate('known', None, surely(1.2)), suits_better=True)) is None


def test_rejection_reason_has_its_figure() -> None:
    assert reported(candidate('a', surely(0.95))) == (
        'The kv_sync thread time per write changes by -5% (-5%); a gain of 10% is required.'
    )
    assert reported(candidate('a', within(0.88, 1.1))).endswith(
        '; a gain of 10% is required, but not certain enough.'
    )
    assert reported(candidate('a', surely(0.8), surely(1.2))) == (
        'The RocksDB write volume per write changes by +20% (+20%); a loss of 5% is allowed.'
    )
    assert reported(candidate('a', surely(0.8), within(1.04, 1.1))).endswith(
        'and more cannot be ruled out.'
    )
    assert 'is unknown' in reported(candidate('a', None))
    default = candidate('default', surely(0.8), origin=Origin.DEFAULT)
    assert reported(candidate('a', surely(0.8)), default) == (
        'It qualifies, but is not clearly better than default, which is better tested.'
    )


ESTIMATES = st.builds(within, st.floats(0.5, 1.5), st.floats(1.0, 1.5))
WEIGHED = st.lists(
    st.builds(
        candidate,
        st.sampled_from('abcdef'),
        st.one_of(st.none(), ESTIMATES),
        st.one_of(st.none(), ESTIMATES),
        st.sampled_from(list(Origin)[1:]),
    ),
    max_size=8,
)


@given(WEIGHED)
def test_whatever_is_weighed_the_chosen_one_qualifies_and_all_others_are_told_why(
    weighed: list[Weighed],
) -> None:
    found = weigh((RUNNING, *weighed), KV, BARS)
    if found.chosen is not None:
        assert found.chosen.qualifies(BARS)
        assert found.chosen.short is None
    for one in found.weighed[1:]:
        assert one == found.chosen or one.short


@given(WEIGHED)
def test_lower_bars_never_take_a_choice_away(weighed: list[Weighed]) -> None:
    def by(bars: Bars) -> Weighing:
        return weigh((RUNNING, *weighed), KV, bars)

    if by(BARS).chosen is not None:
        assert by(Bars(min_gain=0.05, max_loss=0.2)).chosen is not None


# -- intervals


def test_published_figure_is_weighted_by_its_precision() -> None:
    modeled = within(0.8, math.exp(1.2815515655446004 * 0.1))
    same = fused(modeled, 0.9, 0.1)
    assert same.value == pytest.approx(math.sqrt(0.8 * 0.9))
    assert math.log(same.high / same.value) == pytest.approx(1.2815515655446004 * 0.1 / 2**0.5)
    assert fused(modeled, 0.9, 1e-6).value == pytest.approx(0.9)
    assert fused(modeled, 0.9, 1e6).value == pytest.approx(0.8)
    assert fused(surely(0.8), 0.9, 0.1) == surely(0.8)

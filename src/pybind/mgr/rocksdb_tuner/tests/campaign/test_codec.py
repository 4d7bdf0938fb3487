"""Stored campaigns: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.campaign.codec import decode, encode, largest
from rocksdb_tuner.campaign.driver import BROKEN, CURRENT
from rocksdb_tuner.campaign.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.rollout.codec import LIMIT_BYTES
from rocksdb_tuner.rollout.errors import RolloutRefused, StoredStateError
from rocksdb_tuner.rollout.records import Outcome, Phase, Predicted

from .conftest import Run

TEXTS = st.text(max_size=30)
MAYBE = st.none() | TEXTS
BYTES = st.none() | st.integers(0, 2**60)
MS = st.none() | st.floats(0, 1e6)


@st.composite
def states(draw: st.DrawFn) -> CampaignState:
    ids = draw(st.lists(st.integers(0, 5000), min_size=1, max_size=5, unique=True))
    osds = tuple(
        OsdCompaction(
            n,
            draw(MAYBE),
            draw(st.sampled_from(CompactionStep)),
            draw(st.none() | st.integers(0, 2**32)),
            draw(st.integers(0, 99)),
            draw(st.integers(0, 3)),
            draw(BYTES),
            draw(BYTES),
            draw(MS),
            draw(MAYBE),
        )
        for n in ids
    )
    outcome = draw(st.none() | st.sampled_from(Outcome))
    ends = {Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK}
    stages = [p for p in Phase if (p in ends) == (outcome is not None) and p is not Phase.WAITING]
    percent = st.floats(-100, 1e4)
    return CampaignState(
        campaign_id=draw(TEXTS),
        request=CampaignRequest(
            draw(TEXTS),
            draw(TEXTS),
            draw(TEXTS),
            tuple((osd.osd_id, osd.host) for osd in osds),
            draw(TEXTS),
            draw(st.integers(1, 9)),
            draw(MAYBE),
            draw(st.none() | st.builds(Predicted, TEXTS, percent, percent)),
        ),
        osds=osds,
        started_s=draw(st.floats(0, 4e9)),
        updated_s=draw(st.floats(0, 4e9)),
        stage=draw(st.sampled_from(stages)),
        paused_reason=draw(MAYBE),
        paused_by=draw(MAYBE),
        baseline_ms=draw(MS),
        ending=draw(MAYBE),
        errors=draw(st.integers(0, 9)),
        last_error=draw(MAYBE),
        outcome=outcome,
        failure=draw(MAYBE),
    )


@given(states())
def test_a_campaign_is_read_back_as_it_was_written(state: CampaignState) -> None:
    assert decode(encode(state)) == state


def example() -> CampaignState:
    return planned('c1', Run().request(), 1000.0)


@pytest.mark.parametrize('text', ['', '[]', '{"version":2}', '{"version":1}', 'null', '{"x'])
def test_what_is_no_campaign_is_an_error(text: str) -> None:
    with pytest.raises(StoredStateError):
        decode(text)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('osds', []),
        ('osds', [{'osd_id': 1, 'step': 'dancing', 'begun_before': 0, 'asked': 0}]),
        ('osds', [{'osd_id': 1, 'step': 'done', 'begun_before': 0, 'asked': 0}] * 2),
        ('stage', 'waiting'),
        ('stage', 'done'),
        ('outcome', 'done'),
        ('baseline_ms', 'fast'),
        ('request', {}),
        ('weather', 'fine'),
    ],
)
def test_wrong_values_are_an_error(name: str, value: Any) -> None:
    document = json.loads(encode(example()))
    document[name] = value
    with pytest.raises(StoredStateError):
        decode(json.dumps(document))


def test_a_campaign_that_would_outgrow_its_key_is_refused_before_it_begins() -> None:
    few, many = (
        planned(
            'c1',
            CampaignRequest('a', 'osd', 'x', tuple((n, f'host{n}') for n in range(count)), 'op'),
            0.0,
        )
        for count in (250, 2000)
    )
    assert len(encode(largest(few)).encode()) <= LIMIT_BYTES
    with pytest.raises(RolloutRefused, match='at most 65536 under one key'):
        encode(largest(many))


def test_a_broken_campaign_is_set_aside_and_told_and_nothing_is_done_from_it() -> None:
    run = Run()
    run.store.values[CURRENT] = '{"version":1,"osds":'
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.driver.state is None
    assert run.store.values == {BROKEN: '{"version":1,"osds":'}
    assert 'set aside' in run.driver.problems[0]
    assert run.cluster.compactions.told == []

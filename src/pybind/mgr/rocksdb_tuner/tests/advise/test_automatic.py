"""When auto-apply may take a recommendation, and what it says where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.automatic import Decision, Past, Policy, Standing, decide
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Recommendation, Risk
from rocksdb_tuner.rollout.history import HistoryRecord
from rocksdb_tuner.rollout.records import Outcome, RolloutState
from rocksdb_tuner.tests.rollout.conftest import NEW, Run
from rocksdb_tuner.workload.records import WorkloadClass

from .scenes import facts, group, osd_info, workload

DAY_S = 86400.0
NOW_S = 40 * DAY_S
POLICY = Policy(after_s=DAY_S, cooldown_s=DAY_S)


def low_risk_advice() -> Recommendation:
    osds = (facts(osd_info(0)),)
    does = workload(WorkloadClass.RBD_SMALL_WRITE)
    (recommendation,) = assess(group(*osds, does=does), osds).recommendations
    return replace(recommendation, risk=Risk.LOW, confidence=0.95)


ADVICE = low_risk_advice()


def decided(
    *recommendations: Recommendation,
    past: Optional[Past] = None,
    stood_s: float = DAY_S,
    policy: Policy = POLICY,
) -> Decision:
    standing = Standing()
    standing.update(recommendations, NOW_S - stood_s)
    return decide(recommendations, standing, past or Past(), NOW_S, policy)


def reason(decision: Decision) -> str:
    assert decision.chosen is None
    (refusal,) = decision.refusals
    return refusal.reason


def tried(advice: Recommendation, outcome: Outcome, **changes: str) -> HistoryRecord:
    record = HistoryRecord(
        rollout_id='r4',
        time_s=0.0,
        recommendation_id=advice.recommendation_id,
        who=advice.who,
        options_from=advice.options_from,
        options_to=advice.options_to,
        actor='operator',
        outcome=outcome,
        reason=None,
        prediction=None,
        measured=None,
    )
    return replace(record, **changes)  # type: ignore[arg-type]


def ended_rollout(ago_s: float, *, breaks: bool = False) -> RolloutState:
    run = Run()
    if breaks:
        run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    return replace(run.to_the_end(), updated_s=NOW_S - ago_s)


def test_advice_is_taken_once_it_has_stood_long_enough_and_not_a_second_before() -> None:
    assert decided(ADVICE).chosen == ADVICE
    assert 'it has stood for' in reason(decided(ADVICE, stood_s=DAY_S - 1))


def test_advice_that_went_away_in_between_starts_anew() -> None:
    standing = Standing()
    standing.update([ADVICE], 0.0)
    standing.update([], 50.0)
    standing.update([ADVICE], 100.0)
    assert decide([ADVICE], standing, Past(), DAY_S + 99, POLICY).chosen is None
    assert decide([ADVICE], standing, Past(), DAY_S + 100, POLICY).chosen == ADVICE


@pytest.mark.parametrize('risk', [Risk.MEDIUM, Risk.HIGH])
def test_nothing_risky_is_taken(risk: Risk) -> None:
    assert f'its risk is {risk.value}' in reason(decided(replace(ADVICE, risk=risk)))


def test_a_workload_that_is_not_sure_enough_is_no_reason() -> None:
    assert 'confidence' in reason(decided(replace(ADVICE, confidence=0.89)))
    assert decided(replace(ADVICE, confidence=0.9)).chosen is not None
    assert decided(replace(ADVICE, confidence=None)).chosen is not None


@pytest.mark.parametrize('outcome', list(Outcome))
def test_what_was_tried_before_is_not_tried_again_however_it_ended(outcome: Outcome) -> None:
    past = Past(history=(tried(ADVICE, outcome),))
    assert f'the same was tried in r4 ({outcome.value})' in reason(decided(ADVICE, past=past))


def test_the_same_options_under_another_name_are_the_same_thing() -> None:
    turned_round = ','.join(reversed(ADVICE.options_to.split(',')))
    other_name = tried(
        ADVICE, Outcome.ROLLED_BACK, recommendation_id='x', who='osd', options_to=turned_round
    )
    assert decided(ADVICE, past=Past(history=(other_name,))).chosen is None
    elsewhere = replace(other_name, who='osd/class:nvme')
    here = replace(ADVICE, who='osd/class:ssd')
    assert decided(here, past=Past(history=(elsewhere,))).chosen == here
    other_options = replace(other_name, options_to='write_buffer_size=1048576')
    assert decided(ADVICE, past=Past(history=(other_options,))).chosen == ADVICE


def test_after_any_change_it_cools_down() -> None:
    last = ended_rollout(ago_s=DAY_S - 60)
    assert 'ended less than' in reason(decided(ADVICE, past=Past(last=last)))
    assert decided(ADVICE, past=Past(last=ended_rollout(ago_s=DAY_S))).chosen == ADVICE


def test_a_clock_that_was_set_back_does_not_shorten_the_cooling_down() -> None:
    assert decided(ADVICE, past=Past(last=ended_rollout(ago_s=-5.0))).chosen is None


def test_a_failure_stops_everything_until_somebody_took_note_of_it() -> None:
    failed = Past(last=ended_rollout(ago_s=9 * DAY_S, breaks=True))
    assert 'rollout ack' in reason(decided(ADVICE, past=failed))
    assert decided(ADVICE, past=replace(failed, acknowledged=True)).chosen == ADVICE


def test_while_a_rollout_is_under_way_nothing_else_begins() -> None:
    run = Run()
    state = run.start()
    assert 'rollout r1 is under way' in reason(decided(ADVICE, past=Past(last=state)))


def test_without_an_orchestrator_nothing_begins() -> None:
    past = Past(no_orchestrator='No orchestrator configured')
    assert 'No orchestrator configured' in reason(decided(ADVICE, past=past))


@given(
    st.lists(
        st.builds(
            lambda risk, confidence, number: replace(
                ADVICE, risk=risk, confidence=confidence, recommendation_id=f'r{number}'
            ),
            st.sampled_from(Risk),
            st.none() | st.floats(0, 1),
            st.integers(),
        ),
        max_size=5,
        unique_by=lambda r: r.recommendation_id,
    ),
    st.floats(0, 2 * DAY_S),
)
def test_at_most_one_is_taken_and_each_other_is_told_why(
    advice: list[Recommendation], stood_s: float
) -> None:
    decision = decided(*advice, stood_s=stood_s)
    left = {refusal.recommendation_id for refusal in decision.refusals}
    taken = {decision.chosen.recommendation_id} if decision.chosen else set()
    assert taken | left == {r.recommendation_id for r in advice}
    assert not taken & left
    assert all(refusal.reason for refusal in decision.refusals)
    if decision.chosen is not None:
        assert decision.chosen.risk is Risk.LOW
        assert stood_s >= DAY_S

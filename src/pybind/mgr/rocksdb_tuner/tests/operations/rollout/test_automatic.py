"""When auto-apply may apply a recommendation, and its reason if it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import Recommendation, Risk
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.automatic import (
    Decision,
    MaintenanceWindow,
    Policy,
    Preconditions,
    RecommendationAges,
    decide,
    outside,
)
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.tests.advise.builders import facts, group, osd_info, workload
from rocksdb_tuner.tests.present.samples import changing
from rocksdb_tuner.workload.records import WorkloadClass

from .conftest import NEW, Run

DAY_S = 86400.0
NOW_S = 40 * DAY_S
POLICY = Policy(after_s=DAY_S, cooldown_s=DAY_S)


def low_risk_advice() -> Recommendation:
    osds = (facts(osd_info(0)),)
    does = workload(WorkloadClass.RBD_SMALL_WRITE)
    (recommendation,) = assess(group(*osds, does=does), Circumstances(osds)).recommendations
    return replace(recommendation, risk=Risk.LOW, confidence=0.95)


ADVICE = low_risk_advice()


def decided(
    *recommendations: Recommendation,
    preconditions: Optional[Preconditions] = None,
    stable_s: float = DAY_S,
    policy: Policy = POLICY,
) -> Decision:
    ages = RecommendationAges()
    ages.update(recommendations, NOW_S - stable_s)
    return decide(recommendations, ages, preconditions or Preconditions(), NOW_S, policy)


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


def ended_rollout(*, breaks: bool = False) -> RolloutState:
    run = Run()
    if breaks:
        run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    return run.run_to_end()


def test_advice_is_applied_exactly_after_its_stable_time() -> None:
    assert decided(ADVICE).chosen == ADVICE
    for stable_s, shown in ((DAY_S - 1, '23h 59m'), (7200.0, '2h')):
        found = reason(decided(ADVICE, stable_s=stable_s))
        assert found == f'it has been recommended for {shown} of 24h'
    new = decide([ADVICE], RecommendationAges(), Preconditions(), NOW_S, POLICY).refusals[0]
    assert new.reason == 'it has been recommended for 0s of 24h'


@pytest.mark.parametrize('outcome', list(Outcome))
def test_previously_tried_change_is_not_repeated(outcome: Outcome) -> None:
    preconditions = Preconditions(history=(tried(ADVICE, outcome),))
    assert f'the same change was tried in r4 ({outcome.value})' in reason(
        decided(ADVICE, preconditions=preconditions)
    )


def test_same_options_under_another_name_are_the_same_change() -> None:
    turned_round = ','.join(reversed(ADVICE.options_to.split(',')))
    other_name = tried(
        ADVICE, Outcome.ROLLED_BACK, recommendation_id='x', who='osd', options_to=turned_round
    )
    assert decided(ADVICE, preconditions=Preconditions(history=(other_name,))).chosen is None
    elsewhere = replace(other_name, who='osd/class:nvme')
    here = replace(ADVICE, who='osd/class:ssd')
    assert decided(here, preconditions=Preconditions(history=(elsewhere,))).chosen == here
    other_options = replace(other_name, options_to='write_buffer_size=1048576')
    assert decided(ADVICE, preconditions=Preconditions(history=(other_options,))).chosen == ADVICE


@pytest.mark.parametrize('ended_id', ['r1', 'c2', 'e3'])
@pytest.mark.parametrize('rollouts', [False, True])
def test_any_change_starts_the_cooldown(ended_id: str, rollouts: bool) -> None:
    """A campaign or an experiment as well, with a rollout before it or without."""
    ended = Preconditions(last=ended_rollout() if rollouts else None, ended_id=ended_id)
    for ago_s, left in ((DAY_S - 60, '60s'), (DAY_S - 90, '90s'), (None, '24h')):
        found = reason(decided(ADVICE, preconditions=replace(ended, ended_ago_s=ago_s)))
        assert found == f'{ended_id} ended less than 24h ago; {left} left'
    assert decided(ADVICE, preconditions=replace(ended, ended_ago_s=DAY_S)).chosen == ADVICE


def test_failure_stops_automatic_changes_until_acknowledged() -> None:
    failed = Preconditions(
        last=ended_rollout(breaks=True), ended_id='r1', ended_ago_s=1.0, acknowledged=False
    )
    assert reason(decided(ADVICE, preconditions=failed)) == (
        'rollout r1 did not succeed: "ceph rocksdb-tuner operation resume" acknowledges it'
    )
    known = replace(failed, acknowledged=True)
    assert 'ended less than' in reason(decided(ADVICE, preconditions=known))
    later = replace(known, ended_ago_s=9 * DAY_S)
    assert decided(ADVICE, preconditions=later).chosen == ADVICE


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
    advice: list[Recommendation], stable_s: float
) -> None:
    decision = decided(*advice, stable_s=stable_s)
    left = {refusal.recommendation_id for refusal in decision.refusals}
    taken = {decision.chosen.recommendation_id} if decision.chosen else set()
    assert taken | left == {r.recommendation_id for r in advice}
    assert not taken & left
    assert all(refusal.reason for refusal in decision.refusals)
    if decision.chosen is not None:
        assert decision.chosen.risk is Risk.LOW
        assert stable_s >= DAY_S


# -- messages


@pytest.mark.parametrize(
    ('preconditions', 'message'),
    [
        (
            Preconditions(broken=('this is lost', 'and that'), impossible='x'),
            'auto-apply starts nothing while stored data is unreadable: this is lost',
        ),
        (
            Preconditions(impossible='the plans do not fit', no_orchestrator='x'),
            'the plans do not fit',
        ),
        (
            Preconditions(no_orchestrator='no orchestrator configured', campaign_under_way=True),
            'no orchestrator can restart all OSDs: no orchestrator configured',
        ),
        (Preconditions(campaign_under_way=True), 'a compaction campaign is under way'),
        (Preconditions(experiment_under_way=True), 'an experiment is under way'),
    ],
)
def test_most_serious_of_several_reasons_is_reported(
    preconditions: Preconditions, message: str
) -> None:
    assert reason(decided(ADVICE, preconditions=preconditions)) == message
    # Objections to one recommendation come before those to all.
    risky = replace(ADVICE, risk=Risk.HIGH)
    assert reason(decided(risky, preconditions=preconditions)) == (
        'its risk is high, and auto-apply applies only low-risk changes'
    )


def test_objection_to_automatic_application_has_its_figures() -> None:
    doubtful = replace(ADVICE, confidence=0.894)
    assert reason(decided(doubtful)) == 'the confidence in the workload is 0.89, below 0.90'
    preconditions = Preconditions(
        history=(tried(ADVICE, Outcome.DONE, recommendation_id='x', options_to='ttl=1'),)
    )
    assert decided(ADVICE, preconditions=preconditions).chosen == ADVICE
    again = Preconditions(history=(*preconditions.history, tried(ADVICE, Outcome.ABORTED)))
    assert reason(decided(ADVICE, preconditions=again)) == (
        'the same change was tried in r4 (aborted): applying it again requires operator action'
    )


def test_redundant_entry_may_be_removed_after_the_rollout_that_set_it() -> None:
    """An option rolled out in an earlier release is the default of a later one."""
    preconditions = Preconditions(history=(tried(ADVICE, Outcome.DONE),))
    gone = changing(replace(ADVICE, recommendation_id='other'), restart=False)
    assert decided(gone, preconditions=preconditions).chosen == gone
    assert decided(changing(gone, restart=True), preconditions=preconditions).chosen is None
    again = Preconditions(history=(tried(gone, Outcome.ROLLED_BACK),))
    assert decided(gone, preconditions=again).chosen is None


# -- the maintenance window: read as written, and a gate before each OSD

FRI, SAT, SUN, MON, TUE = 4, 5, 6, 0, 1


def at(hour: int, minute: int = 0) -> int:
    return hour * 60 + minute


@pytest.mark.parametrize(
    ('days', 'hours', 'weekday', 'minute', 'inside'),
    [
        ('sat,sun', '', SAT, at(0), True),
        ('sat,sun', '', MON, at(0), False),
        ('Mon - Fri', '', FRI, at(23, 59), True),
        ('mon-fri', '', SAT, at(0), False),
        ('sat-mon', '', MON, at(12), True),
        ('sat-mon', '', FRI, at(12), False),
        ('sat-mon', '', TUE, at(12), False),
        ('', '08:00-09:30', SUN, at(8), True),
        ('', '08:00-09:30', SUN, at(9, 30), False),
        ('', '08:00-09:30', SUN, at(9, 29), True),
        ('', '08:00-09:30', SUN, at(7, 59), False),
        ('', '08:30-09:00', SUN, at(8, 29), False),
        ('', '08:30-09:00', SUN, at(8, 30), True),
        # A window belongs to the day on which it begins.
        ('sat', '22:00-04:00', SAT, at(22), True),
        ('sat', '22:00-04:00', SUN, at(3, 59), True),
        ('sat', '22:00-04:00', SUN, at(4), False),
        ('sat', '22:00-04:00', SAT, at(3), False),
        ('sun', '22:00-04:00', MON, at(1), True),
    ],
)
def test_window_is_parsed_as_written(
    days: str, hours: str, weekday: int, minute: int, inside: bool
) -> None:
    found = outside(MaintenanceWindow(days, hours), weekday, minute)
    assert (found is None) == inside
    assert inside or 'outside the maintenance window' in (found or '')


@pytest.mark.parametrize(
    ('days', 'hours', 'message'),
    [
        ('weekend', '', 'invalid maintenance_days "weekend": use days as in "sat,sun"'),
        ('sat,', '', 'invalid maintenance_days "sat,"'),
        ('sat-', '', 'invalid maintenance_days "sat-"'),
        ('', '22-4', 'invalid maintenance_hours "22-4": use hours as in "22:00-04:00"'),
        ('', '24:00-25:00', 'maintenance_hours'),
        ('', '08:00-08:00', 'maintenance_hours'),
    ],
)
def test_invalid_window_is_closed_with_the_valid_form(days: str, hours: str, message: str) -> None:
    assert message in (outside(MaintenanceWindow(days, hours), SAT, at(12)) or '')


@given(st.text(max_size=12), st.text(max_size=12), st.integers(0, 6), st.integers(0, 1439))
def test_any_text_is_a_window_or_closed(days: str, hours: str, weekday: int, minute: int) -> None:
    found = outside(MaintenanceWindow(days, hours), weekday, minute)
    assert found is None or 'maintenance' in found


def test_rollback_does_not_wait_for_the_window(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[1].step is OsdStep.RESTARTING)
    run.outside_window = 'outside the maintenance window (sat)'
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK

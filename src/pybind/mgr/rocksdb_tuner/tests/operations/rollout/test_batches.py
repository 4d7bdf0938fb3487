"""The soak of the canary and of each batch: what its verdict, or the lack of one, leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import records
from rocksdb_tuner.operations.rollout.admission import (
    gone_or_replaced,
    identity_mismatch,
    left_behind,
    not_as_planned,
)
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.soak import soak, undecided
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.records import Purpose

from .one_step import (
    BACK,
    CHECKING,
    COLLAPSED,
    COLLAPSING,
    DUE,
    FORWARD,
    LEFT,
    PENDING,
    RESTARTING,
    RESTORED,
    RESTORING,
    SETTING,
    SOAK,
    VERIFIED,
    cluster_of,
    osd,
    rollout,
    sampled,
)
from .test_restart import UNCLEAN

NO_WORSE, NO_DATA = Verdict.NO_WORSE, Verdict.NO_DATA
SLOWER = SignalVerdict('op_w_latency_ms', Effect.SAME, 3.0, -2.0, 8.0)
NO_GAIN = Judgement(NO_WORSE, (SLOWER,))
GAIN = Judgement(Verdict.BETTER, (SLOWER,))
UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
NOTHING = Judgement(NO_DATA, missing=('writes',))


def soaked(state: RolloutState, plan: Any = SOAK, number: Any = 0, **seen: Any) -> RolloutState:
    step = soak(state, planned_batch(state.request, plan, number), sampled(state, **seen))
    assert step.actions == ()
    return step.state


# -- a verdict


@pytest.mark.parametrize(
    ('judgement', 'after_s', 'verdicts'),
    [
        (None, 900.0, ()),
        (UNSURE, 599.9, ()),
        (GAIN, 299.9, ()),
        (GAIN, 300.0, (Verdict.BETTER,)),
        (NO_GAIN, 299.9, ()),
        (NO_GAIN, 300.0, (NO_WORSE,)),
    ],
)
def test_others_follow_after_the_soak_and_a_passing_verdict(
    judgement: Optional[Judgement], after_s: float, verdicts: tuple[Verdict, ...]
) -> None:
    """Without a judgment, or before its time, it goes on."""
    state = soaked(rollout(VERIFIED), after_s=after_s, judgement=judgement)
    assert (state.verdicts, state.direction) == (verdicts, FORWARD)
    assert state.paused_reason is None


@pytest.mark.parametrize('stands', [False, True])
@pytest.mark.parametrize(
    ('purpose', 'verdicts', 'direction'),
    [(Purpose.SAFETY, (NO_WORSE,), FORWARD), (Purpose.GAIN, (), BACK)],
)
def test_behavior_without_a_gain_follows_from_the_purpose(
    purpose: Purpose, verdicts: tuple[Verdict, ...], direction: Direction, stands: bool
) -> None:
    """Also in the next sample: the result is final, whatever is measured later."""
    request = {'purpose': purpose, 'prediction': 'IOPS: +20%'}
    state = rollout(VERIFIED, judgement=NO_GAIN if stands else None, request=request)
    seen = {'after_s': 310.0, 'judgement': GAIN if stands else NO_GAIN}
    after = soaked(state, **seen)
    assert (after.judgement, after.verdicts, after.direction) == (NO_GAIN, verdicts, direction)
    if direction is BACK:
        # The measured and the expected gain.
        assert 'osd.0 is no worse, but no gain' in (after.failure or '')
        assert '+3' in (after.failure or '')
        assert '; predicted: IOPS: +20%' in (after.failure or '')
        unpromised = replace(state, request=replace(state.request, prediction=None))
        assert 'predicted' not in (soaked(unpromised, **seen).failure or '')


@pytest.mark.parametrize(('held', 'kept'), [({'may_act': False}, True), ({'pgs': UNCLEAN}, False)])
def test_no_verdict_while_held_or_with_unclean_placement_groups(
    held: dict[str, object], kept: bool
) -> None:
    """And what was found before is dropped where recovery disturbed it."""
    after = soaked(rollout(VERIFIED, judgement=UNSURE), after_s=900.0, judgement=GAIN, **held)
    assert (after.verdicts, after.direction) == ((), FORWARD)
    assert after.paused_reason is not None
    assert after.judgement == (UNSURE if kept else None)


# -- no verdict


@pytest.mark.parametrize('policy', Inconclusive)
def test_missing_data_waits_whatever_the_policy(policy: Inconclusive) -> None:
    seen = {'after_s': 600.0, 'judgement': NOTHING, 'unsampled': (0, 2)}
    waits = soaked(rollout(VERIFIED), replace(SOAK, inconclusive=policy), **seen)
    assert (waits.judgement, waits.verdicts, waits.direction) == (NOTHING, (), FORWARD)
    reported = waits.paused_reason or ''
    assert 'missing: no current samples of OSD 0,2: it continues once they report' in reported
    assert 'writes' in reported
    assert undecided(waits)


@pytest.mark.parametrize(
    ('policy', 'verdicts', 'direction'),
    [
        (Inconclusive.WAIT, (), FORWARD),
        (Inconclusive.PROMOTE, (Verdict.INCONCLUSIVE,), FORWARD),
        (Inconclusive.ROLLBACK, (), BACK),
    ],
)
def test_doubt_waits_promotes_or_rolls_back_as_configured(
    policy: Inconclusive, verdicts: tuple[Verdict, ...], direction: Direction
) -> None:
    plan = replace(SOAK, inconclusive=policy)
    found = soaked(rollout(VERIFIED), plan, after_s=600.0, judgement=UNSURE)
    assert (found.judgement, found.verdicts, found.direction) == (UNSURE, verdicts, direction)
    waits = policy is Inconclusive.WAIT
    assert undecided(found) is waits
    assert ('precision' in (found.paused_reason or '')) is waits


def test_incomparable_change_passes_after_exactly_its_minimum_time() -> None:
    """A change of one OSD: it is watched for crashes, without the operator."""
    state = rollout(VERIFIED, osds=1)
    assert planned_batch(state.request, SOAK, 0).watched_for_crashes
    for after_s, verdicts in ((299.9, ()), (300.0, (Verdict.INCONCLUSIVE,))):
        found = soaked(state, osds=1, after_s=after_s)
        assert (found.verdicts, found.stage) == (verdicts, Phase.SOAKING)
    silent = soaked(state, osds=1, after_s=300.0, unsampled=(0,))
    assert (silent.paused_reason or '').startswith('no current samples of OSD 0')
    assert silent.verdicts == ()


@pytest.mark.parametrize(
    ('osds', 'policy', 'direction'),
    [
        # Nothing to compare it with, and an answer to that: it need not be watched.
        (1, Inconclusive.ROLLBACK, BACK),
        # There is still a choice before others follow.
        (2, Inconclusive.WAIT, FORWARD),
    ],
)
def test_unjudgeable_change_ends_at_once_if_nobody_waits_for_a_crash(
    osds: int, policy: Inconclusive, direction: Direction
) -> None:
    """By the policy for a soak without a verdict."""
    plan = replace(SOAK, inconclusive=policy)
    after = soaked(rollout(VERIFIED, osds=osds), plan, osds=osds, after_s=0.0)
    assert after.judgement is not None
    assert after.judgement.verdict is Verdict.INCONCLUSIVE
    assert (after.verdicts, after.direction) == ((), direction)
    assert (after.paused_reason is not None) == (direction is FORWARD)


# -- another process


@pytest.mark.parametrize('number', [0, 1])
def test_restart_with_others_restarts_the_soak_of_that_batch_only(number: int) -> None:
    plan = replace(SOAK, batches=SoakPlan(60.0, 120.0))
    found = {'judgement': UNSURE, 'batch_judgement': UNSURE, 'soaked_s': 310.0}
    state = rollout(VERIFIED, VERIFIED, verdicts=(NO_WORSE,) * number, batch_soaked_s=50.0, **found)
    moved = {'after_s': 40.0, 'moved': frozenset({number, 3}), 'osd': number, 'nonce': 99}
    again = soaked(state, plan, number, **moved)
    assert (again.osds[number].step, again.osds[number].flaps) == (RESTARTING, 1)
    assert [one.flaps for one in again.osds].count(0) == 3
    dropped = (again.judgement, again.soaked_s) if number == 0 else (again.batch_judgement, 0.0)
    assert dropped == (None, 0.0)
    assert number == 0 or (again.judgement, again.soaked_s) == (UNSURE, 310.0)
    assert again.batch_soaked_s == 0.0


def test_batch_restarted_for_the_fourth_time_is_not_watched_again() -> None:
    seen = {'moved': frozenset({0, 1000, 17}), 'nonce': 99}
    again = soaked(osd(rollout(VERIFIED), flaps=2), **seen)
    assert (again.osds[0].step, again.osds[0].flaps) == (RESTARTING, 3)
    often = osd(rollout(VERIFIED), flaps=3)
    missing = 'a soak without restarts: osd.0 was restarted again (like osd.17)'
    assert soaked(often, **seen).judgement == Judgement(NO_DATA, missing=(missing,))
    promotes = replace(SOAK, inconclusive=Inconclusive.PROMOTE)
    assert soaked(often, promotes, **seen).verdicts == ()


def test_lost_process_is_a_crash_unless_upgraded_or_recreated() -> None:
    """A crash rolls everything back."""
    state, seen = rollout(VERIFIED), {'after_s': 40.0, 'nonce': 99}
    crashed = soaked(state, **seen)
    assert crashed.direction is BACK
    assert crashed.judgement is not None
    assert crashed.judgement.verdict is Verdict.WORSE
    upgraded = soaked(state, upgrade='Ceph is being upgraded', **seen)
    assert (upgraded.direction, upgraded.judgement) == (FORWARD, None)
    assert upgraded.osds[0].step is RESTARTING
    left = soaked(state, device_class='hdd', **seen)
    assert (left.osds[0].step, left.judgement) == (RESTORING, None)
    assert 'osd.0 now has device class hdd' in (left.osds[0].left_reason or '')


# -- batches of six OSDs


def in_pieces(*steps: OsdStep, **changes: Any) -> RolloutState:
    request = {'batches': ((0,), (1, 2), (3, 4), (5,)), 'controls': (5, 4, 3)}
    plan = SoakPlan(240.0, 600.0, batches=SoakPlan(60.0, 120.0))
    return rollout(*steps, osds=6, request=request, **{'soak': plan, **changes})


@pytest.mark.parametrize(
    ('steps', 'changes', 'phase'),
    [
        ((), {'stage': Phase.PLANNED}, Phase.PLANNED),
        ((VERIFIED, PENDING), {'stage': Phase.PREFLIGHT}, Phase.PLANNED),
        *((steps, {}, Phase.PLANNED) for steps in ((PENDING, PENDING), (LEFT, PENDING))),
        *(((step, PENDING), {}, Phase.PROMOTING) for step in (SETTING, VERIFIED)),
        ((VERIFIED, CHECKING), {}, Phase.PROMOTING),
        ((VERIFIED, VERIFIED), {}, Phase.SOAKING),
        ((VERIFIED, VERIFIED), {'verdicts': (NO_WORSE,) * 2}, Phase.DONE),
        ((COLLAPSED, VERIFIED), {'verdicts': (NO_WORSE,) * 4}, Phase.DONE),
        ((COLLAPSED, COLLAPSING), {}, Phase.COLLAPSING),
        ((COLLAPSING, COLLAPSED), {}, Phase.COLLAPSING),
        *(
            (steps, {'direction': BACK}, Phase.ROLLING_BACK)
            for steps in ((RESTORED, RESTORING), (DUE, RESTORED), (RESTORED, PENDING))
        ),
        ((RESTORED, RESTORED), {'direction': BACK}, Phase.ROLLED_BACK),
        ((RESTORED, PENDING), {'direction': BACK, 'stage': Phase.ROLLED_BACK}, Phase.ROLLED_BACK),
        *(
            (steps, {'stage': Phase.FAILED}, Phase.FAILED)
            for steps in ((CHECKING, PENDING), (VERIFIED, RESTORED))
        ),
    ],
)
def test_state_of_a_batch_follows_from_its_osds(
    steps: tuple[OsdStep, ...], changes: Mapping[str, object], phase: Phase
) -> None:
    given = {'stage': Phase.PROMOTING, 'verdicts': (NO_WORSE,), **changes}
    state = in_pieces(VERIFIED, *steps, **given)
    assert [batch.phase for batch in records.batches(state)][1] == phase


@pytest.mark.parametrize(
    ('steps', 'osd_id', 'passed'),
    [
        # The rest of its batch is still watched.
        ((VERIFIED, VERIFIED, PENDING), 2, 1),
        ((VERIFIED, LEFT, PENDING), 2, 2),
        # That of the next one, too, where it was left before; not of one that is further on.
        ((VERIFIED, LEFT, PENDING, LEFT, LEFT), 2, 3),
        ((VERIFIED, PENDING, PENDING, LEFT, PENDING), 4, 1),
        ((VERIFIED, VERIFIED, VERIFIED, LEFT, PENDING), 4, 1),
        ((VERIFIED, LEFT, PENDING, LEFT, LEFT, LEFT), 2, 4),
    ],
)
def test_batch_without_remaining_osds_needs_no_verdict(
    steps: tuple[OsdStep, ...], osd_id: int, passed: int
) -> None:
    state = in_pieces(*steps, verdicts=(NO_WORSE,))
    found = left_behind(state, state.osds[osd_id], 'it is away')
    assert found.verdicts == (NO_WORSE, *(NO_DATA,) * (passed - 1))
    unwatched = left_behind(replace(state, soak=SoakPlan()), state.osds[osd_id], 'it is away')
    assert unwatched.verdicts == state.verdicts


@pytest.mark.parametrize(
    ('osd_id', 'other_step', 'ending', 'ends'),
    [
        (0, PENDING, None, True),
        (0, VERIFIED, None, False),
        (1, PENDING, None, False),
        (0, PENDING, Ending(Outcome.ABORTED, 'aborted'), False),
    ],
)
def test_canary_left_behind_ends_the_rollout(
    osd_id: int, other_step: OsdStep, ending: Optional[Ending], ends: bool
) -> None:
    """Nothing predicts the behavior of the others."""
    state = osd(osd(in_pieces(ending=ending), 3, step=other_step), osd_id, step=RESTORING)
    found = left_behind(state, state.osds[osd_id], 'y' * 700)
    expected = Ending(Outcome.FAILED, 'y' * 597 + '...') if ends else ending
    assert (found.osds[osd_id].step, found.ending) == (LEFT, expected)


def test_replaced_osd_is_detected_by_uuid_class_and_store() -> None:
    state = rollout()

    def unfit(osd_id: int = 0, **seen: Any) -> tuple[Optional[str], Optional[str]]:
        look = sampled(state, **seen)
        found = identity_mismatch(state, osd_id, look)
        return found, gone_or_replaced(state, state.osds[osd_id], look)

    assert unfit() == (None, None)
    assert unfit(gone=True) == (None, 'osd.0 was removed from the cluster')
    hdd = 'osd.0 now has device class hdd: the plan was made for ssd'
    assert unfit(device_class='hdd') == (hdd, hdd)
    assert unfit(1, device_class='hdd') == (None, None)
    recreated = 'osd.0 was removed and recreated: the plan was made for the previous OSD'
    assert unfit(uuid='ffffffff-0000-4000-8000-000000000000')[0] == recreated
    # Nothing is known about an unrecorded one.
    nobody = replace(state, before=replace(state.before, osds=()))
    assert identity_mismatch(nobody, 0, sampled(state, device_class='hdd')) is None
    before = replace(state.before.osds[0], objectstore='bluestore')
    info = cluster_of().cluster_map().osds[0]
    moved = 'osd.0 now runs filestore: the plan was made for bluestore'
    for now, reported in (('bluestore', None), (None, None), ('filestore', moved)):
        assert not_as_planned(before, replace(info, objectstore=now)) == reported
    unknown = replace(before, objectstore=None)
    assert not_as_planned(unknown, replace(info, objectstore='filestore')) is None

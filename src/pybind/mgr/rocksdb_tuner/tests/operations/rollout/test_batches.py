"""Which OSDs are changed, compared and watched together, and what follows from a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.mgr.records import PgSummary
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import records
from rocksdb_tuner.operations.rollout.admission import (
    gone_or_replaced,
    identity_mismatch,
    left_behind,
    not_as_planned,
)
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.soak import soak
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .one_step import SOAK, observed, other, rollout, without

FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
PENDING, VERIFIED, LEFT = OsdStep.PENDING, OsdStep.VERIFIED, OsdStep.LEFT_BEHIND
IN_BATCHES = SoakPlan(240.0, 600.0, batches=SoakPlan(60.0, 120.0))
PIECES = ((0,), (1, 2), (3, 4), (5,))


@pytest.fixture
def six() -> FakeCluster:
    return FakeCluster(6)


def in_pieces(six: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    state = rollout(six, *steps, **{'soak': IN_BATCHES, **changes})
    return replace(state, request=replace(state.request, batches=PIECES, controls=(5, 4, 3)))


# -- how far each is


def phases(state: RolloutState) -> list[Phase]:
    return [batch.phase for batch in records.batches(state)]


@pytest.mark.parametrize(
    ('steps', 'changes', 'expected'),
    [
        ((), {'stage': Phase.PLANNED}, Phase.PLANNED),
        ((VERIFIED, PENDING), {'stage': Phase.PREFLIGHT}, Phase.PLANNED),
        ((PENDING, PENDING), {}, Phase.PLANNED),
        ((LEFT, PENDING), {}, Phase.PLANNED),
        ((OsdStep.SETTING, PENDING), {}, Phase.PROMOTING),
        ((VERIFIED, PENDING), {}, Phase.PROMOTING),
        ((VERIFIED, OsdStep.CHECKING), {}, Phase.PROMOTING),
        ((VERIFIED, VERIFIED), {}, Phase.SOAKING),
        ((VERIFIED, VERIFIED), {'verdicts': (Verdict.NO_WORSE,) * 2}, Phase.DONE),
        ((OsdStep.COLLAPSED, VERIFIED), {'verdicts': (Verdict.NO_WORSE,) * 4}, Phase.DONE),
        ((OsdStep.COLLAPSED, OsdStep.COLLAPSING), {}, Phase.COLLAPSING),
        ((OsdStep.COLLAPSING, OsdStep.COLLAPSED), {}, Phase.COLLAPSING),
        ((OsdStep.RESTORED, OsdStep.RESTORING), {'direction': BACK}, Phase.ROLLING_BACK),
        ((OsdStep.RESTORED, OsdStep.RESTORED), {'direction': BACK}, Phase.ROLLED_BACK),
        ((OsdStep.RESTART_DUE, OsdStep.RESTORED), {'direction': BACK}, Phase.ROLLING_BACK),
        ((OsdStep.RESTORED, PENDING), {'direction': BACK}, Phase.ROLLING_BACK),
        (
            (OsdStep.RESTORED, PENDING),
            {'direction': BACK, 'stage': Phase.ROLLED_BACK},
            Phase.ROLLED_BACK,
        ),
        ((OsdStep.CHECKING, PENDING), {'stage': Phase.FAILED}, Phase.FAILED),
        ((VERIFIED, OsdStep.RESTORED), {'stage': Phase.FAILED}, Phase.FAILED),
    ],
)
def test_state_of_a_batch_follows_from_its_osds(
    six: FakeCluster, steps: tuple[OsdStep, ...], changes: dict[str, object], expected: Phase
) -> None:
    fields: dict[str, object] = {
        'stage': Phase.PROMOTING,
        'verdicts': (Verdict.NO_WORSE,),
        **changes,
    }
    state = in_pieces(six, VERIFIED, *steps)
    state = replace(state, **fields)  # type: ignore[arg-type]
    assert phases(state)[1] == expected


# -- who is left behind


@pytest.mark.parametrize(
    ('steps', 'osd_id', 'verdicts', 'then'),
    [
        # The rest of its batch is still watched.
        ((VERIFIED, VERIFIED, PENDING), 2, 1, 1),
        ((VERIFIED, LEFT, PENDING), 2, 1, 2),
        # That of the next one, too, where it was left before; not of one that is further on.
        ((VERIFIED, LEFT, PENDING, LEFT, LEFT), 2, 1, 3),
        ((VERIFIED, PENDING, PENDING, LEFT, PENDING), 4, 1, 1),
        ((VERIFIED, VERIFIED, VERIFIED, LEFT, PENDING), 4, 1, 1),
        ((VERIFIED, LEFT, PENDING, LEFT, LEFT, LEFT), 2, 1, 4),
    ],
)
def test_batch_without_remaining_osds_needs_no_verdict(
    six: FakeCluster, steps: tuple[OsdStep, ...], osd_id: int, verdicts: int, then: int
) -> None:
    state = in_pieces(six, *steps, verdicts=(Verdict.NO_WORSE,) * verdicts)
    found = left_behind(state, state.osds[osd_id], 'it is away')
    assert found.verdicts == (
        *(Verdict.NO_WORSE,) * verdicts,
        *(Verdict.NO_DATA,) * (then - verdicts),
    )
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
    six: FakeCluster,
    osd_id: int,
    other_step: OsdStep,
    ending: Optional[Ending],
    ends: bool,
) -> None:
    """Nothing predicts the behavior of the others."""
    steps = [PENDING] * 6
    steps[osd_id], steps[3] = OsdStep.RESTORING, other_step
    state = in_pieces(six, *steps, ending=ending)
    found = left_behind(state, state.osds[osd_id], 'y' * 700)
    expected = Ending(Outcome.FAILED, 'y' * 597 + '...') if ends else ending
    assert (found.osds[osd_id].step, found.ending) == (LEFT, expected)


def test_replaced_osd_is_detected_by_uuid_class_and_store(six: FakeCluster) -> None:
    state, seen = in_pieces(six), observed(six)
    assert identity_mismatch(state, 0, seen) is None
    assert gone_or_replaced(state, state.osds[0], seen) is None
    gone = without(seen, 0)
    assert identity_mismatch(state, 0, gone) is None
    assert gone_or_replaced(state, state.osds[0], gone) == 'osd.0 was removed from the cluster'
    hdd = other(seen, 0, device_class='hdd')
    reported = 'osd.0 now has device class hdd: the plan was made for ssd'
    assert identity_mismatch(state, 0, hdd) == reported
    assert gone_or_replaced(state, state.osds[0], hdd) == reported
    assert identity_mismatch(state, 1, hdd) is None
    # Nothing is known about an unrecorded one.
    assert identity_mismatch(replace(state, before=replace(state.before, osds=())), 0, hdd) is None
    again = other(seen, 0, uuid='ffffffff-0000-4000-8000-000000000000')
    assert identity_mismatch(state, 0, again) == (
        'osd.0 was removed and recreated: the plan was made for the previous OSD'
    )
    before = replace(state.before.osds[0], objectstore='bluestore')
    info = six.cluster_map().osds[0]
    for now, moved in (('bluestore', False), (None, False), ('filestore', True)):
        found = not_as_planned(before, replace(info, objectstore=now))
        assert found == (
            'osd.0 now runs filestore: the plan was made for bluestore' if moved else None
        )
    unknown = replace(before, objectstore=None)
    assert not_as_planned(unknown, replace(info, objectstore='filestore')) is None


PASS = Judgement(Verdict.NO_WORSE)
UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
PLAN = SoakPlan(300.0, 600.0, batches=SoakPlan(60.0, 120.0))


def second_batch(cluster: FakeCluster, **changes: object) -> RolloutState:
    """The canary passed; the second OSD, a batch by itself, is watched."""
    fields: dict[str, object] = {
        'soak': PLAN,
        'judgement': PASS,
        'verdicts': (Verdict.NO_WORSE,),
        'soaked_s': 310.0,
        **changes,
    }
    return rollout(cluster, OsdStep.VERIFIED, OsdStep.VERIFIED, **fields)


def test_incomparable_change_passes_after_exactly_its_minimum_time() -> None:
    """A change of one OSD: it is watched for crashes, without the operator."""
    cluster = FakeCluster(1)
    state = rollout(cluster, OsdStep.VERIFIED)
    batch = planned_batch(state.request, SOAK, 0)
    assert batch.watched_for_crashes
    for after_s, verdicts in ((299.9, ()), (300.0, (Verdict.INCONCLUSIVE,))):
        found = soak(state, batch, observed(cluster, after_s=after_s)).state
        assert (found.verdicts, found.stage) == (verdicts, Phase.SOAKING)
    silent = soak(state, batch, observed(cluster, after_s=300.0, unsampled=(0,))).state
    assert (silent.paused_reason or '').startswith('no current samples of OSD 0')
    assert silent.verdicts == ()


# -- another process


@pytest.mark.parametrize('number', [0, 1])
def test_restart_with_others_restarts_the_soak_of_that_batch_only(
    cluster: FakeCluster, number: int
) -> None:
    state = second_batch(
        cluster,
        verdicts=(Verdict.NO_WORSE,) * number,
        judgement=UNSURE,
        batch_judgement=UNSURE,
        batch_soaked_s=50.0,
    )
    seen = other(observed(cluster, after_s=40.0, moved=frozenset({number, 3})), number, nonce=99)
    step = soak(state, planned_batch(state.request, PLAN, number), seen)
    again = step.state
    assert step.actions == ()
    assert (again.osds[number].step, again.osds[number].flaps) == (OsdStep.RESTARTING, 1)
    assert [osd.flaps for osd in again.osds].count(0) == 3
    if number == 0:
        assert (again.judgement, again.soaked_s) == (None, 0.0)
    else:
        assert (again.judgement, again.soaked_s) == (UNSURE, 310.0)
        assert again.batch_judgement is None
    assert again.batch_soaked_s == 0.0


def test_batch_restarted_for_the_fourth_time_is_not_watched_again(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    moved = frozenset({0, 1000, 17})
    seen = other(observed(cluster, moved=moved), 0, nonce=99)
    twice = replace(state, osds=(replace(state.osds[0], flaps=2), *state.osds[1:]))
    again = soak(twice, planned_batch(state.request, SOAK, 0), seen).state
    assert (again.osds[0].step, again.osds[0].flaps) == (OsdStep.RESTARTING, 3)
    state = replace(state, osds=(replace(state.osds[0], flaps=3), *state.osds[1:]))
    found = soak(state, planned_batch(state.request, SOAK, 0), seen).state
    assert found.judgement == Judgement(
        Verdict.NO_DATA,
        missing=('a soak without restarts: osd.0 was restarted again (like osd.17)',),
    )
    policy = replace(SOAK, inconclusive=Inconclusive.PROMOTE)
    assert soak(state, planned_batch(state.request, policy, 0), seen).state.verdicts == ()


def test_recreated_watched_osd_is_left_behind_and_is_no_crash(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    batch = planned_batch(state.request, SOAK, 0)
    seen = observed(cluster, after_s=100.0)
    left = soak(state, batch, other(seen, 0, nonce=99, device_class='hdd')).state
    assert (left.osds[0].step, left.judgement) == (OsdStep.RESTORING, None)
    assert 'osd.0 now has device class hdd' in (left.osds[0].left_reason or '')


# -- what follows from a verdict

UNCLEAN = {'pgs': PgSummary(total=8, active_clean=7, by_state=(('active+recovering', 1),))}
SLOWER = SignalVerdict('op_w_latency_ms', Effect.SAME, 3.0, -2.0, 8.0)
NO_GAIN = Judgement(Verdict.NO_WORSE, (SLOWER,))
GAIN = Judgement(Verdict.BETTER, (SLOWER,))


@pytest.mark.parametrize(
    ('judgement', 'after_s', 'verdicts'),
    [
        (None, 900.0, ()),
        (UNSURE, 599.9, ()),
        (GAIN, 299.9, ()),
        (GAIN, 300.0, (Verdict.BETTER,)),
        (NO_GAIN, 299.9, ()),
        (NO_GAIN, 300.0, (Verdict.NO_WORSE,)),
    ],
)
def test_others_follow_after_the_soak_and_a_passing_verdict(
    cluster: FakeCluster,
    judgement: Optional[Judgement],
    after_s: float,
    verdicts: tuple[Verdict, ...],
) -> None:
    """Without a judgment, or before its time, it goes on."""
    state = rollout(cluster, OsdStep.VERIFIED)
    batch = planned_batch(state.request, SOAK, 0)
    step = soak(state, batch, observed(cluster, after_s=after_s, judgement=judgement))
    assert (step.state.verdicts, step.actions) == (verdicts, ())
    assert step.state.direction is Direction.FORWARD
    assert step.state.paused_reason is None


@pytest.mark.parametrize('stands', [False, True])
@pytest.mark.parametrize(
    ('purpose', 'verdicts', 'direction'),
    [
        (Purpose.SAFETY, (Verdict.NO_WORSE,), Direction.FORWARD),
        (Purpose.GAIN, (), Direction.BACK),
    ],
)
def test_behavior_without_a_gain_follows_from_the_purpose(
    cluster: FakeCluster,
    purpose: Purpose,
    verdicts: tuple[Verdict, ...],
    direction: Direction,
    stands: bool,
) -> None:
    """Also in the next sample: the result is final, whatever is measured later."""
    state = rollout(cluster, OsdStep.VERIFIED, judgement=NO_GAIN if stands else None)
    state = replace(state, request=replace(state.request, purpose=purpose))
    batch = planned_batch(state.request, SOAK, 0)
    found = GAIN if stands else NO_GAIN
    after = soak(state, batch, observed(cluster, after_s=310.0, judgement=found)).state
    assert (after.judgement, after.verdicts, after.direction) == (NO_GAIN, verdicts, direction)
    reported = after.failure
    if reported is not None:
        # The measured and the expected gain.
        assert state.request.prediction is not None
        assert state.request.prediction in reported
        assert 'osd.0' in reported
        assert '+3' in reported
    unpromised = replace(state, request=replace(state.request, prediction=None))
    after = soak(unpromised, batch, observed(cluster, after_s=310.0, judgement=found)).state
    assert 'predicted' not in (after.failure or '')


@pytest.mark.parametrize(('held', 'gate'), [({'may_act': False}, False), (UNCLEAN, True)])
def test_no_verdict_while_held_or_with_unclean_placement_groups(
    cluster: FakeCluster, held: dict[str, object], gate: bool
) -> None:
    """And what was found before is dropped where recovery disturbed it."""
    state = rollout(cluster, OsdStep.VERIFIED, judgement=UNSURE)
    batch = planned_batch(state.request, SOAK, 0)
    seen = observed(cluster, **{'after_s': 900.0, 'judgement': GAIN, **held})
    after = soak(state, batch, seen).state
    assert (after.verdicts, after.direction) == ((), Direction.FORWARD)
    assert after.paused_reason is not None
    assert after.judgement == (None if gate else UNSURE)


@pytest.mark.parametrize(
    ('osds', 'policy', 'direction'),
    [
        # Nothing to compare it with, and an answer to that: it need not be watched.
        (1, Inconclusive.ROLLBACK, Direction.BACK),
        # There is still a choice before others follow.
        (2, Inconclusive.WAIT, Direction.FORWARD),
    ],
)
def test_unjudgeable_change_ends_at_once_if_nobody_waits_for_a_crash(
    osds: int, policy: Inconclusive, direction: Direction
) -> None:
    """By the policy for a soak without a verdict."""
    cluster = FakeCluster(osds)
    state = rollout(cluster, OsdStep.VERIFIED)
    batch = planned_batch(state.request, replace(SOAK, inconclusive=policy), 0)
    assert not batch.judged
    after = soak(state, batch, observed(cluster, after_s=0.0)).state
    assert after.judgement is not None
    assert after.judgement.verdict is Verdict.INCONCLUSIVE
    assert (after.verdicts, after.direction) == ((), direction)
    assert (after.paused_reason is not None) == (direction is Direction.FORWARD)


@pytest.mark.parametrize('upgrade', [None, 'Ceph is being upgraded'])
def test_process_end_during_an_upgrade_is_no_crash(
    cluster: FakeCluster, upgrade: Optional[str]
) -> None:
    """Alone, and without one, it did: everything is rolled back."""
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = other(observed(cluster, after_s=40.0, upgrade=upgrade), 0, nonce=99)
    after = soak(state, planned_batch(state.request, SOAK, 0), seen).state
    if upgrade is None:
        assert after.direction is Direction.BACK
        assert after.judgement is not None
        assert after.judgement.verdict is Verdict.WORSE
    else:
        assert (after.direction, after.judgement) == (Direction.FORWARD, None)
        assert after.osds[0].step is OsdStep.RESTARTING

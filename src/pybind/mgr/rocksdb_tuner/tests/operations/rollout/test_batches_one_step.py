"""Which OSDs are changed, compared and watched together, how far each batch is, and who is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan, Verdict
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import records
from rocksdb_tuner.operations.rollout.admission import (
    gone_or_replaced,
    identity_mismatch,
    left_behind,
    not_as_planned,
)
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .one_step import observed, other, rollout, without

FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
PENDING, VERIFIED, LEFT = OsdStep.PENDING, OsdStep.VERIFIED, OsdStep.LEFT_BEHIND
SOAK = SoakPlan(240.0, 600.0, batches=SoakPlan(60.0, 120.0))
PIECES = ((0,), (1, 2), (3, 4), (5,))


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(6)


def in_pieces(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    state = rollout(cluster, *steps, **{'soak': SOAK, **changes})
    return replace(state, request=replace(state.request, batches=PIECES, controls=(5, 4, 3)))


# -- which one is watched


def test_osd_left_behind_is_neither_changed_nor_compared_nor_a_control(
    cluster: FakeCluster,
) -> None:
    state = in_pieces(cluster, VERIFIED, VERIFIED, LEFT, PENDING, LEFT)
    found = records.batch_of(state, 1)
    assert (found.osds, found.compared, found.controls) == ((1,), (1,), (5, 3))
    whole = in_pieces(cluster, *[VERIFIED] * 3)
    assert records.batch_of(whole, 1) == planned_batch(whole.request, whole.soak, 1)
    # Those that were to be compared may be gone: then all that are left are.
    large = rollout(FakeCluster(100), VERIFIED, LEFT, soak=SOAK)
    order = large.request.order
    large = replace(
        large, request=replace(large.request, batches=(order[:1], order[1:90], order[90:]))
    )
    compared = planned_batch(large.request, SOAK, 1).compared
    assert records.batch_of(large, 1).compared == tuple(n for n in compared if n != 1)
    assert 1 < len(compared) < 80
    gone = tuple(
        replace(osd, step=LEFT if osd.osd_id in compared else osd.step) for osd in large.osds
    )
    found = records.batch_of(replace(large, osds=gone), 1)
    assert found.compared == found.osds == tuple(n for n in order[1:90] if n not in compared)


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
    cluster: FakeCluster, steps: tuple[OsdStep, ...], changes: dict[str, object], expected: Phase
) -> None:
    fields: dict[str, object] = {
        'stage': Phase.PROMOTING,
        'verdicts': (Verdict.NO_WORSE,),
        **changes,
    }
    state = in_pieces(cluster, VERIFIED, *steps)
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
    cluster: FakeCluster, steps: tuple[OsdStep, ...], osd_id: int, verdicts: int, then: int
) -> None:
    state = in_pieces(cluster, *steps, verdicts=(Verdict.NO_WORSE,) * verdicts)
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
    cluster: FakeCluster,
    osd_id: int,
    other_step: OsdStep,
    ending: Optional[Ending],
    ends: bool,
) -> None:
    """Nothing predicts the behavior of the others."""
    steps = [PENDING] * 6
    steps[osd_id], steps[3] = OsdStep.RESTORING, other_step
    state = in_pieces(cluster, *steps, ending=ending)
    found = left_behind(state, state.osds[osd_id], 'y' * 700)
    expected = Ending(Outcome.FAILED, 'y' * 597 + '...') if ends else ending
    assert (found.osds[osd_id].step, found.ending) == (LEFT, expected)


def test_replaced_osd_is_detected_by_uuid_class_and_store(cluster: FakeCluster) -> None:
    state, seen = in_pieces(cluster), observed(cluster)
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
    info = cluster.cluster_map().osds[0]
    for now, moved in (('bluestore', False), (None, False), ('filestore', True)):
        found = not_as_planned(before, replace(info, objectstore=now))
        assert found == (
            'osd.0 now runs filestore: the plan was made for bluestore' if moved else None
        )
    unknown = replace(before, objectstore=None)
    assert not_as_planned(unknown, replace(info, objectstore='filestore')) is None

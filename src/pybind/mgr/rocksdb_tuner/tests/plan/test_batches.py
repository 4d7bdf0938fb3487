"""In what batches OSDs are changed, and how each is watched."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.plan.batches import (
    count,
    planned_batch,
    planned_batches,
    soak_for,
    without_gain,
)
from rocksdb_tuner.plan.records import ChangeRequest, Purpose
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.operations.rollout.conftest import set_profile

BATCH_SOAK = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE)
SOAK = SoakPlan(240.0, 600.0, batches=BATCH_SOAK)
SHORT_SOAK = SoakPlan(240.0, 600.0, batches=SoakPlan(60.0, 120.0))


def plan(osds: int, **changes: object) -> ChangeRequest:
    return replace(set_profile(FakeCluster(osds)), **changes)  # type: ignore[arg-type]


def test_canary_has_the_controls_of_the_plan_and_a_batch_the_later_osds() -> None:
    request = plan(
        8,
        batches=((0,), (1, 2), (3,), (4, 5), (6, 7)),
        controls=(4, 1, 6),
        domains=(None, FailureDomain('host', 'a')),
    )
    found = planned_batches(request, SHORT_SOAK)
    assert [b.controls for b in found] == [
        (4, 1, 6),
        # Those of the canary first; then from the end, as many as there is room for.
        (4, 6, 7, 5),
        (4, 6, 7, 5),
        (6, 7),
        (),
    ]
    assert [b.compared for b in found] == [b.osds for b in found]
    assert [b.number for b in found] == [0, 1, 2, 3, 4]
    assert [b.last for b in found] == [False] * 4 + [True]
    # Three of the four after the canary have two OSDs after them.
    assert [b.among for b in found] == [1, 3, 3, 3, 3]
    assert [b.domain for b in found] == [None, FailureDomain('host', 'a'), None, None, None]
    assert count(request) == 5
    assert count(plan(8)) == 8
    only = plan(1)
    assert [(b.last, b.among) for b in planned_batches(only, SHORT_SOAK)] == [(True, 1)]
    two = plan(2)
    assert [(b.last, b.among) for b in planned_batches(two, SHORT_SOAK)] == [
        (False, 1),
        (True, 1),
    ]


@pytest.mark.parametrize(
    ('size', 'step'), [(1, 1), (2, 1), (limits().most_controls, 2), (limits().most_controls + 1, 3)]
)
def test_comparison_of_a_large_batch_is_limited_by_the_available_space(
    size: int, step: int
) -> None:
    request = plan(1 + size + 40)
    order = request.order
    end = 1 + size
    pieces = (order[:1], order[1:end], order[end:])
    batch = planned_batch(replace(request, batches=pieces, controls=()), SHORT_SOAK, 1)
    assert batch.compared == batch.osds[::step]
    assert len(batch.compared) <= limits().most_controls // 2
    assert batch.controls == tuple(reversed(order))[: limits().most_controls // 2]


@pytest.mark.parametrize(
    ('soak', 'restart', 'canary_s', 'batch_s'),
    [
        (SHORT_SOAK, True, 600.0, 120.0),
        # Nothing is restarted: there is nothing to watch.
        (SHORT_SOAK, False, 0.0, 0.0),
        (SoakPlan(240.0, 600.0), True, 600.0, 0.0),
        # Without a soak of the canary nothing is watched.
        (SoakPlan(0.0, 0.0, batches=SoakPlan(60.0, 120.0)), True, 0.0, 0.0),
        (SoakPlan(0.0, 0.5, batches=SoakPlan(0.0, 0.5)), True, 0.5, 0.5),
    ],
)
def test_watched_osds_follow_from_the_plan(
    soak: SoakPlan, restart: bool, canary_s: float, batch_s: float
) -> None:
    request = plan(4, restart=restart)
    canary, batch = (planned_batch(request, soak, n) for n in (0, 1))
    assert (canary.soak.most_s, batch.soak.most_s) == (canary_s, batch_s)
    assert (canary.watched, batch.watched) == (canary_s > 0, batch_s > 0)


@pytest.mark.parametrize(
    ('number', 'controls', 'policy', 'last', 'judged', 'crashes', 'baseline_s'),
    [
        (0, 3, Inconclusive.WAIT, False, True, False, 240.0),
        (0, 2, Inconclusive.WAIT, False, True, False, 240.0),
        (0, 1, Inconclusive.WAIT, False, False, False, 0.0),
        (0, 0, Inconclusive.WAIT, True, False, True, 0.0),
        (0, 0, Inconclusive.ROLLBACK, True, False, False, 0.0),
        (1, 2, Inconclusive.WAIT, False, True, False, 240.0),
        (1, 1, Inconclusive.ROLLBACK, False, False, True, 0.0),
    ],
)
def test_unjudgeable_change_is_watched_for_crashes_if_nobody_can_decide(
    number: int,
    controls: int,
    policy: Inconclusive,
    last: bool,
    judged: bool,
    crashes: bool,
    baseline_s: float,
) -> None:
    batch = planned_batch(plan(8), SHORT_SOAK, 0)
    batch = replace(
        batch,
        number=number,
        controls=tuple(range(1, 1 + controls)),
        last=last,
        soak=replace(batch.soak, inconclusive=policy),
    )
    assert (batch.judged, batch.watched_for_crashes, batch.baseline_s) == (
        judged,
        crashes,
        baseline_s,
    )
    unwatched = replace(batch, soak=SoakPlan())
    assert (unwatched.judged, unwatched.watched_for_crashes) == (False, False)


@pytest.mark.parametrize(
    ('purpose', 'follows'),
    [(Purpose.GAIN, Inconclusive.ROLLBACK), (Purpose.SAFETY, Inconclusive.PROMOTE)],
)
def test_a_change_without_its_expected_gain_does_not_spread(
    purpose: Purpose, follows: Inconclusive
) -> None:
    assert without_gain(plan(4, purpose=purpose)) is follows


@pytest.mark.parametrize(
    ('fill_s', 'least_s'), [(None, 240.0), (80.0, 240.0), (81.0, 243.0), (900.0, 600.0)]
)
def test_canary_is_watched_for_three_flushes_if_time_permits(
    fill_s: Optional[float], least_s: float
) -> None:
    """Until then hardly anything of the options shows."""
    assert soak_for(plan(4, fill_s=fill_s), SHORT_SOAK).least_s == least_s

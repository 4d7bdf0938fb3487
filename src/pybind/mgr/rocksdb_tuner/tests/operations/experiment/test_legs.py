"""The restoring leg takes over from any leg: any OSD at any step, in any period."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.operations.experiment import legs
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind
from rocksdb_tuner.operations.experiment.states import osd_of
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries
from rocksdb_tuner.operations.rollout.rules import Observation
from rocksdb_tuner.tests.operations.rollout.conftest import same_meaning

from .conftest import ExperimentRun, plan, request

#: Steps of a way forward, and of the recovery of one OSD.
STEPS = (
    OsdStep.PENDING,
    OsdStep.SETTING,
    OsdStep.RESTART_DUE,
    OsdStep.RESTARTING,
    OsdStep.CHECKING,
    OsdStep.SETTLING,
    OsdStep.VERIFIED,
    OsdStep.COLLAPSED,
    OsdStep.RESTORING,
    OsdStep.RESTORED,
    OsdStep.LEFT_BEHIND,
)
#: In these the own entry is what it was before the leg.
AS_BEFORE = {OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND}


@pytest.fixture(scope='module')
def changing() -> dict[int, tuple[ExperimentRun, ExperimentState]]:
    """At the begin of the change of each of two periods."""
    found = {}
    for period in (1, 2):
        run = ExperimentRun()
        run.clients.factors = {}
        run.begin(request(plan(periods=2, blocks=1), min_effect=0.0001))
        run.come_to(lambda state, period=period: state.period == period)  # type: ignore[misc]
        run.cluster.flags.add('noout')
        found[period] = run, run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    return found


@settings(deadline=None)
@given(data=st.data())
def test_what_a_leg_may_have_changed_is_restored_and_nothing_else(
    changing: dict[int, tuple[ExperimentRun, ExperimentState]], data: st.DataObject
) -> None:
    period = data.draw(st.sampled_from((1, 2)))
    run, state = changing[period]
    assert state.leg is not None
    osds = tuple(replace(o, step=data.draw(st.sampled_from(STEPS))) for o in state.leg.osds)
    state = replace(state, leg=replace(state.leg, osds=osds))
    turned = legs.back(state, LegKind.RESTORE, (), same_meaning)
    changed = {o.osd_id for o in osds if period == 2 or o.step not in AS_BEFORE}
    restoring = () if turned.leg is None else turned.leg.restoring
    assert set(restoring) == {f'osd.{n}' for n in changed}
    # Any entry that the leg may have left is known as its own.
    entries = {
        f'osd.{o.osd_id}': value
        for o in osds
        if o.osd_id in changed
        and (
            value := data.draw(
                st.sampled_from(sorted(legs.possible_entries(state, o.osd_id), key=str))
            )
        )
        is not None
    }
    if turned.leg is not None:
        cluster = run.cluster
        seen = Observation(
            cluster.cluster_map(), cluster.pg_summary(), frozenset(), entries=entries
        )
        assert conflicting_entries(turned.leg, seen) == ()


@settings(deadline=None)
@given(data=st.data())
def test_an_osd_that_somebody_else_changed_is_left_out(
    changing: dict[int, tuple[ExperimentRun, ExperimentState]], data: st.DataObject
) -> None:
    _, state = changing[2]
    left = data.draw(st.sets(st.sampled_from([o.osd_id for o in state.osds]), max_size=6))
    osds = tuple(replace(o, left_alone=o.osd_id in left) for o in state.osds)
    turned = legs.back(replace(state, osds=osds), LegKind.RESTORE, (), same_meaning)
    restoring = () if turned.leg is None else turned.leg.restoring
    assert not {f'osd.{n}' for n in left} & set(restoring)
    assert not [osd for osd in turned.osds if osd.osd_id in left and osd.arm is not None]


def test_rechecked_osd_keeps_its_arm_until_it_is_changed(
    changing: dict[int, tuple[ExperimentRun, ExperimentState]],
) -> None:
    """In the second period it is to get another one, and runs that of the first."""
    _, state = changing[2]
    between = replace(state, leg=None, leg_kind=None)
    (osd, *_) = [o for o in between.osds if o.arm is not None]
    assert osd.osd_id not in dict(between.assigned[-1])[osd.arm or '']
    checked = legs.recheck(between, osd.osd_id)
    assert checked.leg is not None
    (progress,) = checked.leg.osds
    verified = replace(progress, step=OsdStep.VERIFIED, nonce_after=77)
    after = legs.merged(replace(checked, leg=replace(checked.leg, osds=(verified,))))
    assert osd_of(after, osd.osd_id) == replace(osd, nonce=77)


@pytest.mark.parametrize('kind', [LegKind.DROP, LegKind.RESTORE])
def test_pending_restore_is_done_by_the_next_leg(
    changing: dict[int, tuple[ExperimentRun, ExperimentState]], kind: LegKind
) -> None:
    """Its arm ended, so that no OSD is assigned to it."""
    _, state = changing[2]
    between = replace(state, leg=None, leg_kind=None)
    arm, osds = next((name, osds) for name, osds in between.assigned[-2] if name == 'slow')
    without = tuple((name, osds) for name, osds in between.assigned[-1] if name != arm)
    between = replace(between, assigned=(*between.assigned[:-1], without))
    dropped = legs.back(between, kind, osds, same_meaning)
    assert legs.merged(dropped).osds == between.osds
    turned = legs.back(dropped, LegKind.RESTORE, (), same_meaning)
    assert turned.leg is not None
    assert set(turned.leg.restoring) == {f'osd.{n}' for n in osds}

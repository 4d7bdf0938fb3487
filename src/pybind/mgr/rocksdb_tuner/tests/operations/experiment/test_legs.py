"""The restoring leg takes over from any leg: any OSD at any step, in any period."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.operations.experiment import legs
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries
from rocksdb_tuner.operations.rollout.rules import Observation

from .conftest import ExperimentRun, measuring, plan, request

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
def changing() -> tuple[ExperimentRun, ExperimentState]:
    """At the begin of the change."""
    run = ExperimentRun()
    run.begin(request(plan(blocks=1)))
    run.cluster.flags.add('noout')
    return run, run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)


@pytest.fixture(scope='module')
def changed() -> ExperimentState:
    """All OSDs run the strings of their arms."""
    run = ExperimentRun()
    run.begin(request(plan(blocks=3)))
    return run.come_to(measuring)


@settings(deadline=None)
@given(data=st.data())
def test_what_a_leg_may_have_changed_is_restored_and_nothing_else(
    changing: tuple[ExperimentRun, ExperimentState], data: st.DataObject
) -> None:
    run, state = changing
    assert state.leg is not None
    osds = tuple(replace(o, step=data.draw(st.sampled_from(STEPS))) for o in state.leg.osds)
    state = replace(state, leg=replace(state.leg, osds=osds))
    turned = legs.back(state, LegKind.RESTORE, ())
    changed = {o.osd_id for o in osds if o.step not in AS_BEFORE}
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
    changed: ExperimentState, data: st.DataObject
) -> None:
    left = data.draw(st.sets(st.sampled_from([o.osd_id for o in changed.osds]), max_size=6))
    osds = tuple(replace(o, left_alone=o.osd_id in left) for o in changed.osds)
    ids = [o.osd_id for o in osds]
    turned = legs.back(replace(changed, osds=osds), LegKind.RESTORE, ids)
    restoring = () if turned.leg is None else turned.leg.restoring
    assert set(restoring) == {f'osd.{n}' for n in ids if n not in left}


@pytest.mark.parametrize('kind', [LegKind.DROP, LegKind.RESTORE])
def test_pending_restore_is_done_by_the_next_leg(changed: ExperimentState, kind: LegKind) -> None:
    osds = dict(changed.request.plan.arms)['slow']
    dropped = legs.back(changed, kind, osds)
    assert legs.merged(dropped).osds == changed.osds
    turned = legs.back(dropped, LegKind.RESTORE, ())
    assert turned.leg is not None
    assert set(turned.leg.restoring) == {f'osd.{n}' for n in osds}

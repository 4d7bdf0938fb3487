"""The restoring leg takes over from any leg: any OSD at any step, in any period."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.operations.experiment.records import (
    ExperimentState,
    back,
    left_alone,
    without_leg,
)
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries
from rocksdb_tuner.operations.rollout.rules import Observation

from .conftest import STRINGS, ExperimentRun, changing, measuring, plan

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
def in_leg() -> tuple[ExperimentRun, ExperimentState]:
    """At the begin of the change."""
    run = ExperimentRun()
    run.begin(plan(blocks=1))
    run.cluster.flags.add('noout')
    return run, run.come_to(changing)


@pytest.fixture(scope='module')
def changed() -> ExperimentState:
    """All OSDs run the strings of their arms."""
    run = ExperimentRun()
    run.begin(plan(blocks=3))
    return run.come_to(measuring)


def restored(state: ExperimentState) -> set[str]:
    return set() if state.leg is None else set(state.leg.restoring)


@settings(deadline=None)
@given(data=st.data())
def test_what_a_leg_may_have_changed_is_restored_and_nothing_else(
    in_leg: tuple[ExperimentRun, ExperimentState], data: st.DataObject
) -> None:
    run, state = in_leg
    assert state.leg is not None
    osds = tuple(replace(o, step=data.draw(st.sampled_from(STEPS))) for o in state.leg.osds)
    state = replace(state, leg=replace(state.leg, osds=osds))
    turned = back(state, state.arm_of)
    off = {o.osd_id for o in osds if o.step not in AS_BEFORE}
    assert restored(turned) == {f'osd.{n}' for n in off}
    # Any entry that the leg may have left is known as its own.
    entries = {
        f'osd.{n}': value
        for n in off
        for value in [data.draw(st.sampled_from((None, state.arm_of[n].options)))]
        if value is not None
    }
    if turned.leg is not None:
        cluster = run.cluster
        seen = Observation(
            cluster.cluster_map(), cluster.pg_summary(), frozenset(), entries=entries
        )
        assert conflicting_entries(turned.leg, seen) == ()


@settings(deadline=None)
@given(left=st.sets(st.sampled_from((0, 1, 2, 3, 4, 6))))
def test_an_osd_that_somebody_else_changed_is_left_out(
    changed: ExperimentState, left: set[int]
) -> None:
    entries = {f'osd.{n}': 'x' if n in left else arm.options for n, arm in changed.arm_of.items()}
    turned = back(left_alone(changed, entries), changed.arm_of)
    assert restored(turned) == {f'osd.{n}' for n in changed.arm_of if n not in left}


def test_pending_restore_is_done_by_the_next_leg(changed: ExperimentState) -> None:
    slow = [n for n, arm in changed.arm_of.items() if arm.options == STRINGS['slow']]
    dropping = back(changed, slow)
    assert restored(dropping) == {f'osd.{n}' for n in slow}
    assert without_leg(dropping).changed == changed.changed
    assert restored(back(dropping, slow)) == {f'osd.{n}' for n in slow}

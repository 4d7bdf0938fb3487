"""When an experiment needs the operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.operations.experiment.announce import why_failed, why_waiting
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind, Stage
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState, in_flight

from .conftest import ExperimentRun

GATE_S = 1800.0


@pytest.fixture
def in_leg(run: ExperimentRun) -> ExperimentState:
    """While the first OSD restarts."""
    run.begin()
    state = run.come_to(lambda state: state.leg is not None and in_flight(state.leg) is not None)
    return replace(state, paused_reason='osd.0 is down')


def leg_of(state: ExperimentState) -> RolloutState:
    assert state.leg is not None
    return state.leg


def test_progressing_experiment_raises_no_alarm(in_leg: ExperimentState) -> None:
    assert why_waiting(replace(in_leg, paused_reason=None), 1e6) is None


def test_osd_in_a_mixed_state_raises_an_alarm_after_ten_minutes(in_leg: ExperimentState) -> None:
    assert why_waiting(in_leg, 599.0) is None
    assert why_waiting(in_leg, 600.0) == 'osd.0 is down'


def test_failing_actions_raise_an_alarm_at_once(in_leg: ExperimentState) -> None:
    failing = replace(in_leg, leg=replace(leg_of(in_leg), errors=1))
    assert why_waiting(failing, 0.0) == 'osd.0 is down'


def test_pause_raises_an_alarm_only_with_a_failed_osd(in_leg: ExperimentState) -> None:
    paused = replace(in_leg, paused_by='client.a')
    assert why_waiting(paused, 1e6) is None
    recovering = replace(paused, leg=replace(leg_of(in_leg), direction=Direction.RECOVER))
    assert why_waiting(recovering, 1e6) == 'osd.0 is down'


def test_persistently_closed_gate_raises_an_alarm(in_leg: ExperimentState) -> None:
    leg = leg_of(in_leg)
    pending = tuple(replace(osd, step=OsdStep.PENDING) for osd in leg.osds)
    waiting = replace(in_leg, leg=replace(leg, osds=pending))
    assert why_waiting(waiting, GATE_S - 1) is None
    reported = why_waiting(waiting, GATE_S) or ''
    assert '"ceph rocksdb-tuner operation abort" ends the experiment' in reported
    back = why_waiting(replace(waiting, leg_kind=LegKind.RESTORE), GATE_S) or ''
    assert 'abort' not in back
    between = replace(waiting, leg=None, leg_kind=None)
    assert why_waiting(between, GATE_S) is not None


def test_failed_experiment_raises_an_alarm_and_a_finished_one_does_not(run: ExperimentRun) -> None:
    run.begin()
    state = replace(run.now, stage=Stage.FAILED)
    assert why_failed(state) == 'no reason was recorded'
    assert why_failed(replace(state, failure='osd.3 crashed')) == 'osd.3 crashed'
    assert why_failed(replace(state, stage=Stage.ABORTED)) is None
    assert why_waiting(replace(state, paused_reason='x'), 1e6) is None

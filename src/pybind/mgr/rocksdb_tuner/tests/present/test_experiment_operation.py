"""Experiments among the other operations: listed, shown, with the next step and health checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.rollout.records import in_flight
from rocksdb_tuner.present import views
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.present.operations import next_step, next_step_of
from rocksdb_tuner.tests.operations.experiment.conftest import ExperimentRun, changing

from . import samples


@pytest.fixture(scope='module')
def states() -> dict[str, ExperimentState]:
    """An experiment at its stages."""
    run = ExperimentRun()
    run.begin()
    found = {'baseline': run.come_to(lambda state: state.stage is Stage.BASELINE)}
    found['changing'] = run.come_to(
        lambda state: changing(state) and state.leg is not None and in_flight(state.leg) is not None
    )
    found['measuring'] = run.come_to(lambda state: state.stage is Stage.MEASURING)
    found['restoring'] = run.come_to(lambda state: state.stage is Stage.RESTORING)
    found['done'] = run.finish()
    return found


def test_running_operations_come_before_ended_ones(
    states: dict[str, ExperimentState],
) -> None:
    rollout = samples.failed_rollout()
    last = samples.operating(rollout, experiment=states['measuring'])
    assert last.operation == states['measuring']
    later = replace(states['done'], started_s=rollout.started_s + 1)
    assert samples.operating(rollout, experiment=later).operation == later
    assert samples.operating().operation is None


@pytest.mark.parametrize('stage', ['baseline', 'changing', 'measuring', 'restoring', 'done'])
def test_state_is_shown_in_every_format(states: dict[str, ExperimentState], stage: str) -> None:
    last = samples.operating(experiment=states[stage])
    assert 'E1' in views.show('operation', last, 'plain')
    assert '"experiment"' in views.show('operation', last)
    waiting = replace(states[stage], paused_reason='osd.3 is down', failure='x')
    shown = views.show('operation', samples.operating(experiment=waiting), 'plain')
    assert ('osd.3 is down' in shown) is (stage != 'done')


def test_next_step_is_shown(states: dict[str, ExperimentState]) -> None:
    reported = {stage: next_step_of(state) for stage, state in states.items()}
    assert reported['baseline'] == 'wait for block 1 of 3 of the baseline'
    assert reported['measuring'] == 'wait for block 1 of 3 of the arms'
    assert reported['restoring'] == 'wait for every OSD to be restored'
    assert (reported['changing'] or '').startswith('wait for osd.')
    assert 'ceph rocksdb-tuner recommend' in (reported['done'] or '')
    paused = replace(states['measuring'], paused_by='client.a', paused_reason='paused')
    assert 'operation resume' in (next_step_of(paused) or '')
    waiting = replace(states['measuring'], paused_reason='flags set on the cluster: noout')
    assert 'ceph osd unset' in (next_step_of(waiting) or '')


def test_status_shows_the_experiment(states: dict[str, ExperimentState]) -> None:
    quiet = replace(samples.small_cluster(), rollout=None, campaign=None)
    assert next_step(replace(quiet, experiment=states['measuring'])) is not None
    assert next_step(replace(quiet, experiment=states['done'])) is None
    failed = replace(states['done'], stage=Stage.FAILED, failure='osd.3 crashed')
    assert 'operation resume' in (next_step(replace(quiet, experiment=failed)) or '')
    noted = replace(failed, acknowledged=True)
    assert next_step(replace(quiet, experiment=noted)) is None


def test_required_operator_actions_raise_health_checks(
    states: dict[str, ExperimentState],
) -> None:
    quiet = replace(samples.small_cluster(), rollout=None, findings=(), notices=())
    running = replace(quiet, experiment=states['measuring'])
    assert not [code for code in health_checks(running) if 'EXPERIMENT' in code]
    waits = health_checks(replace(running, experiment_waits='osd.3 is down'))
    assert waits['ROCKSDB_TUNER_EXPERIMENT_WAITING']['detail'] == ['osd.3 is down']
    failed = replace(states['done'], stage=Stage.FAILED, failure='osd.3 crashed')
    found = health_checks(replace(quiet, experiment=failed))
    assert found['ROCKSDB_TUNER_EXPERIMENT_FAILED']['detail'] == [
        'osd.3 crashed',
        '"ceph rocksdb-tuner operation resume" acknowledges it',
    ]

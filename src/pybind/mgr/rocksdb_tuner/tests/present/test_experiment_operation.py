"""An experiment that changes an OSD is shown with the OSD that it waits for."""

from __future__ import annotations

from rocksdb_tuner.present import views
from rocksdb_tuner.present.operations import next_step
from rocksdb_tuner.tests.operations.experiment.conftest import ExperimentRun, changing

from . import samples


def test_next_step_names_the_osd_that_restarts() -> None:
    run = ExperimentRun()
    run.begin()
    state = run.come_to(
        lambda state: changing(state) and state.leg is not None and state.leg.in_flight is not None
    )
    assert state.leg is not None
    osd = state.leg.in_flight
    assert osd is not None
    snapshot = samples.operating(experiment=state)
    step = f'wait for osd.{osd.osd_id} to restart and become clean'
    assert next_step(snapshot) == step
    assert f'Next step: {step}' in views.show('operation', snapshot, 'plain')

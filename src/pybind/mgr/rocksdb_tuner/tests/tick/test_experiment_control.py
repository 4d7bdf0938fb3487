"""One operation at a time: an experiment with rollouts, campaigns and auto-apply."""

from __future__ import annotations

from typing import Any

import pytest

from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Permission
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster, FakeStore
from rocksdb_tuner.tests.operations.experiment.conftest import changing, plan, request
from rocksdb_tuner.tests.operations.rollout.conftest import Clients, set_profile
from rocksdb_tuner.tuner import Tuner

ANYTHING: Any = None


class Manager:
    """The whole loop over a cluster of nine OSDs."""

    def __init__(self) -> None:
        self.cluster = FakeCluster(9, per_host=3)
        self.mode = Mode.RECOMMEND
        self.tuner = Tuner(
            self.cluster,
            FakeStore(),
            lambda: Settings(mode=self.mode, sample_interval_s=5.0),
            manager_version='16.2.15',
            manager_release='pacific',
            wall_clock=lambda: self.cluster.now_s,
            monotonic=lambda: self.cluster.now_s,
            sleep=lambda _: None,
        )
        self.tuner.requests.wake = self.tuner.take_requests
        self.tuner._ask_osds = lambda *_, **__: None  # type: ignore[method-assign]
        # Reports are those of the whole cluster in `test_tuner`; here none is needed.
        self.tuner.permissions.decide = self.allowed  # type: ignore[method-assign]
        self.clients = Clients(self.cluster)
        self.control = self.tuner.operations
        for _ in range(4):
            self.tick()

    def allowed(self, settings: Settings, now_s: float) -> Permission:
        return Permission(settings.mode is not Mode.OFF, has_sample=self.clients.has_sample)

    def tick(self, seconds: float = 5.0) -> None:
        self.control.record(self.clients.newest, self.cluster.now_s)
        self.tuner.tick()
        self.cluster.advance(seconds)
        self.clients.write(seconds)

    def until(self, reached: Any, most: int = 2000) -> None:
        for _ in range(most):
            if reached():
                return
            self.tick()
        raise AssertionError('never came to it')


@pytest.fixture
def manager() -> Manager:
    return Manager()


def test_nothing_starts_during_an_experiment(manager: Manager) -> None:
    control = manager.control
    rollout = set_profile(manager.cluster, DEFAULTS['pacific'])
    control.driver.start(rollout, manager.cluster.now_s)
    with pytest.raises(OperationRefused, match='a rollout is under way'):
        control.start_experiment(request())
    manager.until(lambda: not control.under_way)
    manager.cluster.operator_removes('osd')
    manager.until(lambda: control.driver.state is not None and manager.cluster.clean)
    for n in manager.cluster.osds:
        manager.cluster.restart_by_hand(n)
    manager.cluster.advance(120)
    control.start_experiment(request())
    for start in (
        lambda: control.start(ANYTHING, 'client.a'),
        lambda: control.campaign_of(ANYTHING),
    ):
        with pytest.raises(OperationRefused, match='an experiment is under way'):
            start()
    with pytest.raises(OperationRefused):
        control.rollback(None, 'client.a')
    assert control.experiment.under_way
    assert control.changing
    assert not control.driver.under_way


def test_experiment_is_driven_controlled_and_shown(manager: Manager) -> None:
    control = manager.control
    started = control.start_experiment(request(plan(blocks=2)))
    assert started.experiment_id == 'E1'
    manager.until(lambda: changing(control.experiment.state))  # type: ignore[arg-type]
    control.pause('client.a')
    assert manager.tuner.snapshot.experiment is not None
    manager.tick()
    shown = manager.tuner.snapshot.experiment
    assert shown is not None
    assert shown.paused_by == 'client.a'
    control.resume()
    control.abort('client.a')
    manager.until(lambda: not control.under_way)
    manager.tick()
    state = control.experiment.state
    assert state is not None
    assert state.outcome is Outcome.ABORTED
    assert manager.cluster.entries_of() == {}
    assert [record.rollout_id for record in control.driver.history] == ['E1']
    # Numbers go on after it.
    assert control.driver.next_number() == '2'


def test_failed_experiment_is_acknowledged_before_a_rollout(manager: Manager) -> None:
    control = manager.control
    with pytest.raises(OperationRefused, match='under way'):
        control.resume()
    manager.cluster.refuses_to_start = lambda value: 'Snappy' in value
    control.start_experiment(request())
    manager.until(lambda: not control.under_way)
    assert 'ROCKSDB_TUNER_EXPERIMENT_FAILED' in _checks(manager)
    control.resume()
    assert 'ROCKSDB_TUNER_EXPERIMENT_FAILED' not in _checks(manager)


def _checks(manager: Manager) -> Any:
    manager.tick()
    return health_checks(manager.tuner.snapshot)

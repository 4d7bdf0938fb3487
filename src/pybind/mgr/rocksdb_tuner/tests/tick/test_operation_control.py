"""One operation at a time, with what it gets to know from the newest samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.observe.report_interval import DEFAULT
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.operations.phases import OperationRefused, Permission
from rocksdb_tuner.operations.rollout.records import AskedRestart
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster, FakeStore
from rocksdb_tuner.tests.operations.experiment.conftest import plan
from rocksdb_tuner.tests.operations.rollout.conftest import Clients, set_profile
from rocksdb_tuner.tick import operation_control
from rocksdb_tuner.tick.operation_control import measurements
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
        self.tuner.permission = self.allowed  # type: ignore[method-assign]
        self.clients = Clients(self.cluster)
        self.control = self.tuner.operations
        for _ in range(4):
            self.tick()

    def allowed(self, settings: Settings, now_s: float) -> Permission:
        return Permission(settings.mode is not Mode.OFF, has_sample=self.clients.has_sample)

    def tick(self, seconds: float = 5.0) -> None:
        self.control.record(self.clients.newest, self.cluster.now_s, DEFAULT)
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


def test_rollout_and_rollback_know_of_a_restart_that_an_experiment_requested(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two OSDs must not be down at once because the orchestrator still holds that request."""
    control, found = manager.control, []
    outstanding = AskedRestart(3)
    monkeypatch.setattr(type(control.experiment), 'outstanding', outstanding)
    monkeypatch.setattr(control.driver, 'start', lambda *_, elsewhere: found.append(elsewhere))
    monkeypatch.setattr(control.driver, 'rollback', lambda *given: found.append(given[-1]))
    monkeypatch.setattr(operation_control, 'change_request', lambda *_: ANYTHING)
    control.start(ANYTHING, 'client.a')
    control.rollback(None, 'client.a')
    assert found == [outstanding] * 2


def test_nothing_starts_during_an_experiment(manager: Manager) -> None:
    control = manager.control
    rollout = set_profile(manager.cluster, DEFAULTS['pacific'])
    control.driver.start(rollout, manager.cluster.now_s)
    with pytest.raises(OperationRefused, match='a rollout is under way'):
        control.start_experiment(plan(), 'client.admin', adopt=False)
    manager.until(lambda: not control.under_way)
    manager.cluster.operator_removes('osd')
    manager.until(lambda: control.driver.state is not None and manager.cluster.clean)
    for n in manager.cluster.osds:
        manager.cluster.restart_by_hand(n)
    manager.cluster.advance(120)
    control.start_experiment(plan(), 'client.admin', adopt=False)
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


def test_failed_experiment_is_acknowledged_before_a_rollout(manager: Manager) -> None:
    control = manager.control
    with pytest.raises(OperationRefused, match='under way'):
        control.resume()
    manager.cluster.refuses_to_start = lambda value: 'Snappy' in value
    control.start_experiment(plan(), 'client.admin', adopt=False)
    manager.until(lambda: not control.under_way)
    assert 'ROCKSDB_TUNER_EXPERIMENT_FAILED' in _checks(manager)
    control.resume()
    assert 'ROCKSDB_TUNER_EXPERIMENT_FAILED' not in _checks(manager)


def _checks(manager: Manager) -> Any:
    manager.tick()
    return health_checks(manager.tuner.snapshot)


OSDS = FakeCluster(3).cluster_map().osds


def writing(osd_id: int, iops: Optional[float], latency_ms: Optional[float]) -> Signals:
    return Signals(osd_id, write_iops=iops, op_w_latency_ms=latency_ms)


def test_latency_is_the_mean_of_all_writes() -> None:
    found = measurements(
        OSDS, {0: writing(0, 30.0, 2.0), 1: writing(1, 10.0, 6.0), 2: writing(2, 0.0, None)}
    )
    assert (found.latency_ms, found.unmeasured) == (3.0, frozenset())


def test_no_writes_are_known_only_from_counters_of_every_osd_that_is_up() -> None:
    idle = {n: writing(n, 0.0, None) for n in range(3)}
    found = measurements(OSDS, idle)
    assert (found.latency_ms, found.unmeasured) == (None, frozenset())
    unknown = (None, Signals(1), writing(1, None, 5.0), writing(1, 7.0, None))
    for one in unknown:
        rest = {n: s for n, s in idle.items() if n != 1}
        assert measurements(OSDS, rest if one is None else {**rest, 1: one}).unmeasured == {1}
    down = (OSDS[0], replace(OSDS[1], up=False), OSDS[2])
    assert measurements(down, {0: idle[0], 2: idle[2]}).unmeasured == set()
    assert measurements(OSDS, {}).unmeasured == {0, 1, 2}


@pytest.mark.parametrize(('dedicated', 'size'), [(True, 4000), (False, 9000), (None, 4000)])
def test_size_is_that_of_the_device_with_the_db(dedicated: Optional[bool], size: int) -> None:
    osd = replace(OSDS[0], dedicated_db=dedicated, main_device_bytes=9000)
    found = measurements([osd], {0: Signals(0, db_used_bytes=500, db_total_bytes=4000)})
    assert (found.used_bytes, found.total_bytes) == ({0: 500}, {0: size})


@pytest.mark.parametrize('dedicated', [True, False, None])
def test_unknown_sizes_are_missing(dedicated: Optional[bool]) -> None:
    osd = replace(OSDS[0], dedicated_db=dedicated, main_device_bytes=None)
    found = measurements([osd], {0: Signals(0)})
    assert (found.used_bytes, found.total_bytes) == ({}, {})

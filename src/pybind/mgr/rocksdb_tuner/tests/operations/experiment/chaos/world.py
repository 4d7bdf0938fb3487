"""The world of the schedules of rollouts, in which a manager runs experiments as well."""

from __future__ import annotations

from typing import Callable, Optional

from rocksdb_tuner.operations.experiment.announce import record_of
from rocksdb_tuner.operations.experiment.driver import ExperimentDriver
from rocksdb_tuner.operations.experiment.records import ExperimentState
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits
from rocksdb_tuner.plan.experiment_design import ExperimentPlan
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster
from rocksdb_tuner.tests.chaos.schedule import nothing_planned
from rocksdb_tuner.tests.chaos.topology import Topology
from rocksdb_tuner.tests.chaos.world import World
from rocksdb_tuner.tests.operations.experiment.conftest import FACTORS


class ExperimentWorld(World):
    """One cluster, one store, one manager."""

    experiment: ExperimentDriver

    def __init__(self, topology: Topology, cluster: ChaosCluster, *, forgets: bool) -> None:
        #: Called once another manager has read what is stored, with the one before it.
        self.on_takeover: Callable[[ExperimentDriver], None] = lambda _: None
        super().__init__(nothing_planned(topology, forgets=forgets), cluster)
        self.clients.factors = dict(FACTORS)

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        created = super().new_driver(limits)
        self.experiment = ExperimentDriver(
            created,
            self.cluster,
            self.store,
            on_end=lambda state: created.add_record(record_of(state)),
            changes_allowed=lambda: self.may_act,
        )
        return created

    def fail_over(self) -> None:
        before = self.experiment
        super().fail_over()
        self.experiment.load()
        self.on_takeover(before)

    @property
    def now(self) -> ExperimentState:
        assert self.experiment.state is not None
        return self.experiment.state

    @property
    def known(self) -> Optional[RolloutState]:
        """The change of OSDs under way, for what is aimed at it."""
        state = self.experiment.state
        return None if state is None else state.leg

    def look(self, seconds: float) -> None:
        self.driver.tick(self.clock_s, self.allowed(), self.cluster.now_s)
        self.experiment.tick(self.clock_s)
        if self.may_act and not self.sampling_fails:
            self.experiment.observed(self.clients.newest, self.clock_s)
        self.pass_time(seconds)

    def start_experiment(self, plan: ExperimentPlan) -> None:
        self.experiment.start('E1', plan, 'client.admin', self.clock_s, adopt=False)

    def pause(self, actor: str) -> None:
        self.experiment.pause(actor, self.clock_s)

    def resume(self) -> None:
        self.experiment.resume(self.clock_s)

    def abort(self, actor: str) -> None:
        self.experiment.abort(actor, self.clock_s)

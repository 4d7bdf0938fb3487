"""One cluster in memory, one store, and one manager at a time, over which an operation runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Callable, Generic, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import StateT
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore

TICK_S = 2.0


class Simulation(Generic[StateT]):
    """A kind of operation adds its driver, and what a tick of its manager is."""

    refusal = CommandError(5, 'read-only file system')

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.store = FakeStore()
        self.may_act = True
        self.outside_window: Optional[str] = None
        self.no_reports_reason: Optional[str] = None

    @property
    @abstractmethod
    def state(self) -> StateT: ...

    @abstractmethod
    def tick(self, seconds: float = TICK_S) -> None:
        """One tick of the manager, and so much time."""

    def ticks(self, count: int, seconds: float = TICK_S) -> None:
        for _ in range(count):
            self.tick(seconds)

    def until(self, condition: Callable[[StateT], bool], within_s: float = 6000.0) -> StateT:
        """Let time pass until ``condition`` holds of the state."""
        end_s = self.cluster.now_s + within_s
        while not condition(self.state):
            assert self.cluster.now_s < end_s, f'never came to it: {self.state}'
            self.tick()
        return self.state

    def run_to_end(self, within_s: float = 6000.0) -> StateT:
        return self.until(lambda state: state.ended, within_s)

    def to_a_wait(self, text: str, within_s: float = 6000.0) -> StateT:
        return self.until(lambda state: text in (state.paused_reason or ''), within_s)

"""A cluster whose OSDs compact, a store and a campaign driver that tests let run."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Optional

import pytest

from rocksdb_tuner.operations.compaction.driver import CampaignDriver
from rocksdb_tuner.operations.compaction.machine import Limits, Measured
from rocksdb_tuner.operations.compaction.records import CampaignRequest, CampaignState
from rocksdb_tuner.operations.phases import Permission
from rocksdb_tuner.present.health import HealthChecks, health_checks
from rocksdb_tuner.snapshot import Sampling
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore
from rocksdb_tuner.tests.present.samples import empty_cluster

MIB = 1024 * 1024
USED_BYTES = 100 * MIB
TICK_S = 2.0
LIMITS = Limits()
WAITING = 'ROCKSDB_TUNER_COMPACTION_WAITING'


def health_of(driver: CampaignDriver, now_s: float) -> HealthChecks:
    """The module's health checks in `ceph health`."""
    return health_checks(
        replace(
            empty_cluster(),
            taken_s=now_s,
            release='pacific',
            sampling=Sampling(5.0, 1, 1.0, 1.0),
            campaign=driver.state,
            campaign_waits=driver.why_waiting(),
        )
    )


class Run:
    """One cluster with one manager at a time, over which a campaign runs."""

    def __init__(self, release: str = 'pacific', osds: int = 4, per_host: int = 2) -> None:
        self.cluster = FakeCluster(osds, per_host=per_host, release=release)
        self.store = FakeStore()
        self.may_act = True
        self.outside_window: Optional[str] = None
        self.latency_ms: Optional[float] = 5.0
        #: The offset of the manager's clock from the elapsed time.
        self.offset_s = 0.0
        #: OSDs whose client writes are unknown.
        self.unmeasured: frozenset[int] = frozenset()
        self.ended: list[CampaignState] = []
        self.cluster.compactions.used_bytes = dict.fromkeys(self.cluster.osds, USED_BYTES)
        self.total_bytes = dict.fromkeys(self.cluster.osds, 10 * USED_BYTES)
        self.driver = self.new_driver()
        for _ in range(10):
            self.tick()

    def new_driver(self) -> CampaignDriver:
        return CampaignDriver(self.cluster, self.store, on_end=self.ended.append)

    def fail_over(self) -> None:
        self.driver = self.new_driver()
        self.driver.load()

    def request(self, parallel: int = 1) -> CampaignRequest:
        return CampaignRequest(
            recommendation_id='osd-abc',
            who='osd',
            options='compression=kLZ4Compression',
            osds=tuple(self.cluster.places.items()),
            actor='operator',
            parallel=parallel,
        )

    def start(self, parallel: int = 1) -> CampaignState:
        return self.driver.start('c1', self.request(parallel), self.cluster.now_s)

    def tick(self, seconds: float = TICK_S) -> None:
        used = dict(self.cluster.compactions.used_bytes)
        self.driver.tick(
            self.cluster.now_s + self.offset_s,
            Measured(used, self.total_bytes, self.latency_ms, self.unmeasured),
            Permission(self.may_act, self.outside_window),
            monotonic_s=self.cluster.now_s,
        )
        self.cluster.advance(seconds)
        # Files are removed when the compaction is over, observed or not.
        self.cluster.compactions.running()

    @property
    def state(self) -> CampaignState:
        assert self.driver.state is not None
        return self.driver.state

    def until(
        self, condition: Callable[[CampaignState], bool], within_s: float = 3000.0
    ) -> CampaignState:
        end_s = self.cluster.now_s + within_s
        while not condition(self.state):
            assert self.cluster.now_s < end_s, f'never came to it: {self.state}'
            self.tick()
        return self.state

    def run_to_end(self, within_s: float = 6000.0) -> CampaignState:
        return self.until(lambda state: state.ended, within_s)

    def to_a_wait(self, text: str, within_s: float = 3000.0) -> CampaignState:
        return self.until(lambda state: text in (state.paused_reason or ''), within_s)

    def health(self) -> HealthChecks:
        return health_of(self.driver, self.cluster.now_s)

    def steps(self) -> dict[int, str]:
        return {osd.osd_id: osd.step.value for osd in self.state.osds}


@pytest.fixture(params=['pacific', 'reef'])
def run(request: pytest.FixtureRequest) -> Run:
    return Run(str(request.param))

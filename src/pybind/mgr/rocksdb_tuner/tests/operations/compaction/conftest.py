"""A cluster whose OSDs compact, a store and a campaign driver that tests let run."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.operations.compaction.driver import CampaignDriver
from rocksdb_tuner.operations.compaction.machine import Measured
from rocksdb_tuner.operations.compaction.records import CampaignRequest, CampaignState
from rocksdb_tuner.operations.phases import Permission
from rocksdb_tuner.present.health import HealthChecks, health_checks
from rocksdb_tuner.snapshot import Sampling
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.operations.simulation import TICK_S, Simulation
from rocksdb_tuner.tests.present.samples import empty_cluster

USED_BYTES = 100 * 1024 * 1024
USUAL_MS = 5.0
WAITING = 'ROCKSDB_TUNER_COMPACTION_WAITING'


class Run(Simulation[CampaignState]):
    """One cluster with one manager at a time, over which a campaign runs."""

    def __init__(self, release: str = 'pacific', cluster: Optional[FakeCluster] = None) -> None:
        super().__init__(cluster or FakeCluster(4, per_host=2, release=release))
        self.latency_ms: Optional[float] = USUAL_MS
        #: OSDs whose DB use, and whose client writes, are unknown, with the time since when.
        self.db_unknown: dict[int, float] = {}
        self.writes_unknown: dict[int, float] = {}
        self.ended: list[CampaignState] = []
        self.cluster.compactions.used_bytes = dict.fromkeys(self.cluster.osds, USED_BYTES)
        self.total_bytes = dict.fromkeys(self.cluster.osds, 10 * USED_BYTES)
        self.driver = self.new_driver()
        self.ticks(10)

    def new_driver(self) -> CampaignDriver:
        return CampaignDriver(self.cluster, self.store, on_end=self.ended.append)

    def fail_over(self) -> None:
        self.driver = self.new_driver()
        self.driver.load()

    def start(self, name: str = 'c1') -> CampaignState:
        request = CampaignRequest(
            recommendation_id='osd-abc',
            who='osd',
            options='compression=kLZ4Compression',
            osds=tuple(self.cluster.places.items()),
            actor='operator',
        )
        return self.driver.start(name, request, self.cluster.now_s)

    def tick(self, seconds: float = TICK_S) -> None:
        now_s = self.cluster.now_s
        self.driver.tick(now_s, self.measured(), self.allowed(), monotonic_s=now_s)
        self.pass_time(seconds)

    def measured(self) -> Measured:
        used = self.cluster.compactions.used_bytes
        up = {osd.osd_id for osd in self.cluster.cluster_map().osds if osd.up}
        return Measured(
            {n: size for n, size in used.items() if n not in self.db_unknown},
            self.total_bytes,
            self.latency_ms,
            frozenset(up & self.writes_unknown.keys()),
        )

    def allowed(self) -> Permission:
        reason = self.no_reports_reason
        return Permission(self.may_act, self.outside_window, no_reports_reason=reason)

    def pass_time(self, seconds: float) -> None:
        self.cluster.advance(seconds)
        # Files are removed when the compaction is over, observed or not.
        self.cluster.compactions.running()

    @property
    def state(self) -> CampaignState:
        assert self.driver.state is not None
        return self.driver.state

    def health(self) -> HealthChecks:
        """The module's health checks in `ceph health`."""
        return health_checks(
            replace(
                empty_cluster(),
                taken_s=self.cluster.now_s,
                release='pacific',
                sampling=Sampling(5.0, 1, 1.0, 1.0),
                campaign=self.driver.state,
                campaign_waits=self.driver.why_waiting(),
            )
        )

    def steps(self) -> list[str]:
        return [osd.step.value for osd in self.state.osds]


@pytest.fixture(params=['pacific', 'reef'])
def run(request: pytest.FixtureRequest) -> Run:
    return Run(str(request.param))

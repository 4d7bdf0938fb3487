"""Rollouts over the whole loop while OSDs report seldom: nothing is judged without data."""

from __future__ import annotations

from typing import Optional

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import names_for
from rocksdb_tuner.operations.phases import Phase

from .operations.rollout.conftest import NEW, set_profile
from .test_tuner import World

BATCHES = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE)
SOAK = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE, batches=BATCHES)
OSDS = 12


class SlowReports(World):
    """OSDs that run `NEW` take three times as long, and report only so often."""

    def __init__(self) -> None:
        self.every_s = 5.0
        self._reported_s = 0.0
        self._work: dict[int, tuple[int, int]] = {}
        super().__init__(OSDS)

    def report(self) -> None:
        cluster, names = self.cluster, names_for('pacific')
        for n, osd in cluster.osds.items():
            count, total_ns = self._work.get(n, (0, 0)) if osd.up else (0, 0)
            cost_ns = 1_500_000 if cluster.runs(n) == NEW else 500_000
            # Slightly different in each interval, as everywhere.
            cost_ns += (n * 7 + int(cluster.now_s)) % 5 * 10_000
            self._work[n] = count + 400, total_ns + 400 * cost_ns
        if cluster.now_s - self._reported_s < self.every_s:
            return
        self._reported_s = cluster.now_s
        for n, osd in cluster.osds.items():
            if not osd.up:
                continue
            count, total_ns = self._work[n]
            values: dict[str, tuple[int, Optional[int]]] = dict.fromkeys(names, (0, None))
            values[names.op_w] = (count, None)
            values[names.op_w_in_bytes] = (count * 4096, None)
            values[names.db_used_bytes] = (10**9, None)
            values[names.bytes_written_wal] = (count * 16384, None)
            values[names.bytes_written_sst] = (count * 512, None)
            for path in (names.kv_sync, names.commit, names.op_w_latency, names.kv_flush):
                values[path] = (total_ns, count)
            for path, (value, divisor) in values.items():
                cluster.counters[n, path] = CounterPoint(cluster.now_s, value, divisor)

    @property
    def changed(self) -> set[int]:
        return {n for n in self.cluster.osds if self.cluster.runs(n) == NEW}


def test_slower_options_never_pass_the_canary_with_a_report_a_minute() -> None:
    world = SlowReports()
    world.run(120, 5.0)
    world.every_s = 60.0
    request = set_profile(world.cluster)
    world.tuner.operations.driver.start(request, world.cluster.now_s, SOAK)
    for _ in range(120):
        world.run(60, 5.0)
        assert world.changed <= {request.order[0]}


def test_slower_options_are_rolled_back_if_reports_become_seldom_in_the_soak() -> None:
    """What was measured before, or comes later, is judged; what is missing is no pass."""
    world = SlowReports()
    world.run(120, 5.0)
    request = set_profile(world.cluster)
    world.tuner.operations.driver.start(request, world.cluster.now_s, SOAK)
    world.run_until(Phase.SOAKING, limit_s=3000)
    world.every_s = 60.0
    for _ in range(60):
        world.run(60, 5.0)
        assert world.changed <= {request.order[0]}
    world.every_s = 5.0
    world.run_until(Phase.ROLLED_BACK, limit_s=3000)
    assert world.changed == set()

"""When all counters of all OSDs are read, and when two of most are enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import CounterPoint, PoolCounters
from rocksdb_tuner.observe.sample import ALL_OPERATIONS, Sample
from rocksdb_tuner.sampler import WARM_UP_ROUNDS, Sampler
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.steps import Steps
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.observe.samples import NAMES, points_of, sample
from rocksdb_tuner.workload.records import WorkloadClass

OSDS, INTERVAL_S, BEGIN_S = 40, 10.0, 1000.0
TWO = {ALL_OPERATIONS, NAMES.kv_sync}


class CountingCluster(FakeCluster):
    def __init__(self) -> None:
        super().__init__(OSDS)
        self.fully: set[int] = set()
        self.pools_read = 0

    def pool_counters(self) -> Mapping[int, PoolCounters]:
        self.pools_read += 1
        return super().pool_counters()

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        if not set(paths) <= TWO:
            self.fully.add(osd_id)
        return super().latest(osd_id, paths)

    def report(self, osd_id: int, values: Sample) -> None:
        self.counters.update({(osd_id, path): point for path, point in points_of(values)})


class Run:
    """Equal OSDs under a steady client, sampled every 10 s."""

    def __init__(self) -> None:
        self.cluster, self.ticks = CountingCluster(), 0
        self.done = dict.fromkeys(range(OSDS), 0)
        self.evaluates = True
        #: Writes of an OSD between two ticks
        self.clients = 1000
        self.sampler = Sampler(self.cluster, Steps(lambda: self.now_s), lambda *_: None)

    @property
    def now_s(self) -> float:
        return BEGIN_S + self.ticks * INTERVAL_S

    def tick(self, *, comparing: bool = False, paces: Mapping[int, int] = {}) -> int:
        """The number of OSDs whose counters were all read."""
        self.ticks += 1
        for osd_id in self.done:
            self.done[osd_id] += paces.get(osd_id, self.clients)
            self.cluster.report(osd_id, sample(self.now_s - 1, self.done[osd_id]))
        self.cluster.fully.clear()
        assert self.sampler.sample(Settings(), self.now_s, comparing=comparing)
        if self.evaluates:
            self.sampler.classify_osds(self.now_s)
        return len(self.cluster.fully)

    def warm_up(self) -> None:
        for _ in range(WARM_UP_ROUNDS + 4):
            self.tick()


def after_a_full_sample(clients: int = 1000) -> Run:
    """All OSDs are steady, and all counters of them were read in the last tick."""
    run = Run()
    run.clients = clients
    run.warm_up()
    while run.tick() != OSDS:
        pass
    return run


def test_all_osds_are_read_while_the_module_warms_up_and_at_every_third_tick() -> None:
    run = Run()
    assert [run.tick() for _ in range(WARM_UP_ROUNDS)] == [OSDS] * WARM_UP_ROUNDS
    read = [run.tick() for _ in range(12)]
    assert read.count(OSDS) == 4
    assert all(read[i : i + 3].count(OSDS) == 1 for i in range(len(read) - 2))
    assert set(read) == {OSDS, 0}


def idle() -> Run:
    """`after_a_full_sample` of OSDs without clients."""
    run = after_a_full_sample(clients=0)
    assert run.sampler.recognition.per_group['ssd'].workload_class is WorkloadClass.IDLE
    return run


def test_idle_osds_are_read_at_every_sixth_tick() -> None:
    run = idle()
    assert [run.tick() for _ in range(12)] == [0, 0, 0, 0, 0, OSDS] * 2


def test_details_of_an_osd_are_never_older_than_two_minutes() -> None:
    """Idle or not, whatever the number of ticks between full samples."""
    for clients in (0, 1000):
        run = Run()
        run.clients = clients
        run.warm_up()
        for _ in range(30):
            run.tick()
            for osd_id in range(OSDS):
                found = run.sampler.observer.details(osd_id)
                assert found is not None
                assert run.now_s - found.time_s <= 121


def test_first_operations_of_clients_are_seen_at_the_next_tick() -> None:
    run = idle()
    assert run.tick() == 0
    run.clients = 1000
    assert run.tick() == OSDS
    assert run.sampler.signals()[0].write_iops == pytest.approx(50.0)
    assert [run.tick() for _ in range(2)] == [OSDS] * 2
    assert run.sampler.recognition.per_group['ssd'].workload_class is not WorkloadClass.IDLE


def test_sample_is_partial_if_only_osds_with_another_pace_are_read() -> None:
    run = after_a_full_sample()
    partial = [run.sampler.partial]
    run.tick(paces={33: 0})
    partial.append(run.sampler.partial)
    run.sampler.rest(Settings(), run.now_s)
    partial.append(run.sampler.partial)
    assert partial == [False, True, False]


def test_intervals_of_work_end_with_samples_of_all_osds() -> None:
    """Each OSD's work in an interval is that of two samples of the interval's ends."""
    run = idle()
    for ticks in range(40):
        run.tick(paces={33: 200 * (ticks % 2)})
    kept = run.sampler.work.read(range(OSDS))
    lengths_s = [b - a for a, b in zip(kept.times_s, kept.times_s[1:])]
    for osd_id in (0, 33):
        works = kept.by_osd[osd_id][-5:]
        assert len(works) == 5
        for work, length_s in zip(works, lengths_s[-5:]):
            # One transaction and one round a write, in these samples
            assert work.writes == pytest.approx(
                0 if osd_id == 0 else 10 * length_s, abs=200, rel=0.01
            )


def test_every_osd_is_read_in_full_at_every_tick_of_a_comparison() -> None:
    run = Run()
    run.warm_up()
    assert [run.tick(comparing=True) for _ in range(5)] == [OSDS] * 5
    after = [run.tick() for _ in range(9)]
    assert after.count(OSDS) <= 4


def test_osd_with_another_pace_is_read_at_the_next_tick_and_until_it_is_classified() -> None:
    run = after_a_full_sample()
    run.evaluates = False
    before = run.sampler.observer.newest(33)
    run.tick(paces={33: 0})
    assert 33 in run.cluster.fully
    after = run.sampler.observer.newest(33)
    assert before is not None
    assert after is not None
    assert after.time_s == before.time_s + INTERVAL_S


def test_clock_that_goes_back_does_not_delay_the_next_full_sample() -> None:
    run = after_a_full_sample()
    run.ticks -= 5
    assert run.tick() == OSDS


def test_steady_osds_are_not_classified_again_and_changed_ones_are() -> None:
    run = after_a_full_sample()
    before = run.cluster.pools_read
    run.tick()
    assert run.cluster.pools_read == before
    run.tick(paces={33: 0})
    assert run.cluster.pools_read == before + 1


def test_group_is_classified_again_when_an_osd_stops_between_full_samples() -> None:
    run = after_a_full_sample()
    before = run.cluster.pools_read
    run.cluster.osds[7].up = False
    run.tick()
    assert run.cluster.pools_read == before + 1


def test_all_osds_are_read_until_a_change_of_the_workload_is_confirmed() -> None:
    run = after_a_full_sample()
    assert run.tick() == 0
    before = run.sampler.recognition.per_group['ssd'].workload_class
    idle = dict.fromkeys(range(OSDS), 0)
    seen = []
    while WorkloadClass.IDLE not in seen:
        assert run.tick(paces=idle) == OSDS
        seen.append(run.sampler.recognition.per_group['ssd'].workload_class)
    assert before is not WorkloadClass.IDLE
    assert len(seen) <= 4


def test_osd_that_gets_another_device_class_between_full_samples_is_classified() -> None:
    run = after_a_full_sample()
    run.cluster.osds[7].device_class = 'nvme'
    run.tick()
    assert run.sampler.recognition.per_osd.keys() == set(range(OSDS))

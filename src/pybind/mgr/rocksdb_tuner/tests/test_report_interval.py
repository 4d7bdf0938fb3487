"""A cluster whose OSDs report every 5 to 60 s is recognized alike, and says so if it is not.

Rollouts go on meanwhile, and nothing is judged without data.
"""

from __future__ import annotations

import random
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import PoolCounters
from rocksdb_tuner.observe.report_interval import Reports
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.present.health import REPORTS_MISSING, REPORTS_SLOW, health_checks
from rocksdb_tuner.present.status import status
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Snapshot
from rocksdb_tuner.tests.operations.rollout.conftest import NEW, set_profile
from rocksdb_tuner.tests.test_doctor import found as check_of
from rocksdb_tuner.tests.test_tuner import World
from rocksdb_tuner.workload.records import WorkloadClass

BATCHES = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE)
SOAK = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE, batches=BATCHES)
OSDS = 12
INTERVALS_S = (5.0, 15.0, 30.0, 36.0, 45.0, 60.0)


class SlowWorld(World):
    """OSDs report every `period_s`, each in its own phase; a new period holds from then on."""

    def __init__(self, period_s: float, osds: int = 4) -> None:
        self.period_s, self.size = period_s, 4096
        self._dice = random.Random(11)
        self._due_s: dict[int, float] = {}
        self.mute = False
        super().__init__(osds)
        self.settings = Settings()
        self.load_ops_per_s = 800
        self.bytes = 0

    def report(self) -> None:
        now_s = self.cluster.now_s
        self.bytes += self.load_ops_per_s * 2 * self.size
        n = self.progress
        self.cluster.pool_io = {1: PoolCounters(0, 0, n, self.bytes)}
        for osd_id, osd in self.cluster.osds.items():
            due_s = self._due_s.setdefault(osd_id, now_s + self._dice.uniform(0, self.period_s))
            if now_s < due_s:
                continue
            self._due_s[osd_id] = due_s + self.period_s
            if self.mute or not osd.up:
                continue
            self.send(osd_id, due_s, n, n * 500_000, op_w_in_bytes=self.bytes)
            known = self.cluster.report_log.get(osd_id, ())
            self.cluster.report_log[osd_id] = (*known, due_s)[-20:]

    @property
    def recognized(self) -> Optional[WorkloadClass]:
        (group,) = self.tuner.snapshot.groups
        return None if group.workload is None else group.workload.workload_class

    def follow(self, seconds: float) -> list[object]:
        """What is recognized of the group and of each OSD, and how often OSDs are not measured."""
        found: list[object] = []
        for _ in range(int(seconds / 10)):
            self.run(10)
            snapshot = self.tuner.snapshot
            found.append(
                (
                    self.recognized,
                    *(o.workload and o.workload.workload_class for o in snapshot.osds),
                    tuple(sorted(r.options_to for r in snapshot.recommendations)),
                    sum(o.signals is None or o.signals.window_s is None for o in snapshot.osds),
                )
            )
        return found


@pytest.mark.parametrize('period_s', INTERVALS_S)
def test_workload_and_advice_are_steady_at_every_interval(period_s: float) -> None:
    world = SlowWorld(period_s)
    world.run(90 + 3 * period_s)
    found = world.follow(1800)
    assert set(found) == {found[0]}
    assert found[0][0] is WorkloadClass.RBD_SMALL_WRITE  # type: ignore[index]
    assert found[0][-1] == 0  # type: ignore[index]
    sampling = world.tuner.snapshot.sampling
    assert sampling.report_interval_s == pytest.approx(period_s)
    assert sampling.reports is Reports.OK
    assert not health_checks(world.tuner.snapshot).keys() & {REPORTS_SLOW, REPORTS_MISSING}


@pytest.mark.parametrize('seed', range(6))
def test_changes_of_the_interval_change_no_answer(seed: int) -> None:
    dice = random.Random(seed)
    world = SlowWorld(dice.choice(INTERVALS_S))
    world.run(90 + 3 * world.period_s)
    found = []
    for _ in range(6):
        world.period_s = dice.choice(INTERVALS_S)
        found += world.follow(dice.choice((60, 120, 300)))
    assert set(found) == {found[0]}


@pytest.mark.parametrize('period_s', INTERVALS_S)
def test_another_workload_is_recognized_once_and_not_as_mixed(period_s: float) -> None:
    world = SlowWorld(period_s)
    world.run(90 + 3 * period_s)
    world.size = 1 << 20
    classes = []
    for _ in range(60):
        world.run(10)
        classes.append(world.recognized)
    changes = [b for a, b in zip(classes, classes[1:]) if a is not b]
    assert changes == [WorkloadClass.LARGE_WRITE]
    # Within a minute by default, else within three reports.
    late = classes.index(WorkloadClass.LARGE_WRITE)
    assert late * 10 <= max(60, 3.2 * period_s)


def test_status_doctor_and_health_say_that_reports_come_too_rarely() -> None:
    world = SlowWorld(90.0)
    world.run(600)
    snapshot = world.tuner.snapshot
    assert snapshot.sampling.reports is Reports.SLOW
    check = health_checks(snapshot)[REPORTS_SLOW]
    assert 'every 90s' in str(check['detail'])
    assert 'at most 60s' in str(check['detail'])
    assert 'OSDs report too rarely' in shown(snapshot)
    blocked = world.tuner.permission(Settings(), 0.0).outside_window
    assert 'OSDs report less often' in str(blocked)
    doctor = check_of('sampling', snapshot)
    assert doctor.ok is False
    assert 'mgr_stats_period' in doctor.summary
    assert '"ceph config set mgr mgr_stats_period 5"' in str(doctor.remedy)
    world.period_s = 60.0
    world.run(300)
    assert world.tuner.permission(Settings(), 0.0).outside_window is None
    doctor = check_of('sampling', world.tuner.snapshot)
    assert doctor.ok is True
    assert 'every 60s (mgr_stats_period)' in doctor.summary


def test_silence_of_all_osds_is_said() -> None:
    world = SlowWorld(5.0)
    world.run(120)
    world.mute = True
    world.run(240)
    snapshot = world.tuner.snapshot
    assert snapshot.sampling.reports is Reports.NONE
    assert REPORTS_MISSING in health_checks(snapshot)
    assert 'OSDs do not report' in shown(snapshot)
    doctor = check_of('sampling', snapshot)
    assert (doctor.ok, doctor.summary) == (False, 'no OSD reports to this manager')
    assert all(osd.signals is None for osd in snapshot.osds)
    world.mute = False
    world.run(100)
    assert world.tuner.snapshot.sampling.reports is Reports.OK
    assert REPORTS_MISSING not in health_checks(world.tuner.snapshot)


def shown(snapshot: Snapshot) -> str:
    return ' '.join(status(snapshot).split())


class SlowReports(World):
    """OSDs that run `NEW` take three times as long, and report only so often."""

    def __init__(self) -> None:
        self.every_s = 5.0
        self._reported_s = 0.0
        self._work: dict[int, tuple[int, int]] = {}
        super().__init__(OSDS)

    def report(self) -> None:
        cluster = self.cluster
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
            self.send(n, cluster.now_s, count, total_ns, db_used_bytes=10**9)

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

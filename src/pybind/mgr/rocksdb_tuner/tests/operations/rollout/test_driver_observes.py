"""The observations of the driver: the machine decides on them alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import pytest

from rocksdb_tuner.operations.phases import Permission, Phase
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import Run, refusing, same_meaning


@dataclass(frozen=True)
class AlwaysReporting(Machine):
    """A machine that keeps all that it was shown."""

    samples: list[Observation] = field(default_factory=list)

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        self.samples.append(seen)
        return super().step(state, seen, now_s)


class Watched(Run):
    def __init__(self, cluster: Optional[FakeCluster] = None) -> None:
        super().__init__(cluster)
        self.samples = self.listen()

    def listen(self) -> list[Observation]:
        machine = AlwaysReporting(same_meaning)
        self.driver.machine = machine
        return machine.samples

    def fail_over(self) -> None:
        super().fail_over()
        self.samples = self.listen()

    def look(self) -> Observation:
        """The first one of one more tick."""
        self.samples.clear()
        self.tick()
        return self.samples[0]


@pytest.fixture
def run() -> Watched:
    return Watched(FakeCluster(4))


def restarting(run: Watched) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.RESTARTING)


def in_vain(run: Watched) -> None:
    """It does not restart on request: the test controls it."""
    run.cluster.orchestrator_idle = True
    restarting(run)


# -- how long something has been so


def test_current_and_last_downtime_of_the_osd_in_flight(run: Watched) -> None:
    in_vain(run)
    run.cluster.orchestrator_silent = True
    assert (run.look().down_s, run.look().down_s) == (0.0, 0.0)
    # Another one that is down is none of its business.
    run.cluster.stop_osd(2)
    assert [run.look().down_s for _ in range(3)] == [0.0, 0.0, 0.0]
    run.cluster.start_osd(2)
    run.cluster.stop_osd(0)
    seen = [run.look() for _ in range(4)]
    assert [look.down_s for look in seen] == [0.0, 2.0, 4.0, 6.0]
    assert [look.lifeless_s for look in seen] == [0.0, 2.0, 4.0, 6.0]
    assert [look.alive for look in seen] == [None] * 4
    run.cluster.osds[0].up = True
    up = run.look()
    assert (up.down_s, up.alive) == (0.0, None)
    run.cluster.osds[0].up = False
    again = [run.look() for _ in range(2)]
    assert [(look.down_s, look.lifeless_s) for look in again] == [(0.0, 0.0), (2.0, 2.0)]


# -- what moved


@pytest.mark.parametrize('how', ['nonce', 'down', 'out'])
def test_moved_osd_is_named_for_two_minutes_and_disturbs_a_measurement(
    run: Watched, how: str
) -> None:
    run.cluster.flags.add('noout')
    run.start()
    # What is seen first may have changed just before.
    still = [run.look() for _ in range(8)][-1]
    assert (still.osds_moved, still.moved) == (False, frozenset())
    if how == 'nonce':
        run.cluster.osds[2].nonce += 1
    elif how == 'down':
        run.cluster.osds[2].up = False
    else:
        run.cluster.osds[2].in_cluster = False
    seen = [run.look() for _ in range(62)]
    # Until each OSD has reported since.
    assert all(look.osds_moved for look in seen[:3])
    assert not any(look.osds_moved for look in seen[6:])
    assert [look.moved for look in seen] == [{2}] * 60 + [frozenset()] * 2


# -- the source of the information


@pytest.mark.parametrize(
    ('no_reports_reason', 'reports_unknown', 'forward', 'back'),
    [
        (None, None, None, None),
        ('no_reports_reason', None, 'no_reports_reason', 'no_reports_reason'),
        (None, 'perhaps', 'perhaps', None),
        ('no_reports_reason', 'perhaps', 'no_reports_reason', 'no_reports_reason'),
    ],
)
def test_rollback_does_not_wait_for_osd_reports(
    run: Watched,
    no_reports_reason: Optional[str],
    reports_unknown: Optional[str],
    forward: str,
    back: str,
) -> None:
    def reported() -> Optional[str]:
        run.samples.clear()
        run.driver.tick(
            run.cluster.now_s,
            Permission(no_reports_reason=no_reports_reason, reports_unknown=reports_unknown),
            run.cluster.now_s,
        )
        return run.samples[0].no_reports_reason

    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    run.cluster.flags.add('noout')
    assert reported() == forward
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert reported() == back


# -- queries of the cluster, and missing answers


def test_only_failed_queries_are_missing(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.until(lambda state: state.stage is Phase.PREFLIGHT)
    seen = run.look()
    assert set(seen.running) == {0}
    assert seen.ok_to_stop == {0: None}
    assert seen.versions == run.cluster.daemon_versions()
    assert (seen.upgrade, seen.orchestrator_reason) == (None, None)
    run.cluster.osds[0].silent = True
    run.cluster.errors['versions'] = refusing('no answer')
    run.cluster.errors['orch upgrade'] = refusing('no answer')
    run.cluster.errors['osd ok-to-stop'] = refusing('no answer')
    lost = run.look()
    assert lost.versions is None
    assert lost.upgrade in {None, 'its state is unknown (no answer)'}
    assert 0 not in lost.running


# -- how time is kept


def clock_writes(run: Run, seconds: float, every_s: float) -> list[float]:
    """When the time that has passed was stored, from now on."""
    found: list[float] = []
    begin_s = run.cluster.now_s

    def on_set(key: str) -> None:
        if key == 'rollout/clock':
            found.append(run.cluster.now_s - begin_s)

    run.store.on_set = on_set
    for _ in range(int(seconds / every_s)):
        run.tick(every_s)
    run.store.on_set = lambda key: None
    return found


def test_clock_is_stored_every_ten_minutes_while_needed(run: Watched) -> None:
    assert clock_writes(run, 2000.0, 20.0) == []
    run.cluster.flags.add('noout')
    run.start()
    assert clock_writes(run, 2000.0, 20.0) == []
    run.driver.abort('client.ann', run.cluster.now_s)
    found = clock_writes(run, 3000.0, 20.0)
    assert found == [0.0, 600.0, 1200.0, 1800.0, 2400.0]
    # A month later the time since the end is not needed.
    run.cluster.now_s += 31 * 86400
    run.tick()
    assert clock_writes(run, 700.0, 20.0) != []
    run.cluster.now_s += 2 * 86400
    run.tick()
    assert clock_writes(run, 2000.0, 20.0) == []
    assert (run.driver.time.since_end_s or 0.0) > 32 * 86400

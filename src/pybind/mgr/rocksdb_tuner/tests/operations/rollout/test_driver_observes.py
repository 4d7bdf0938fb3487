"""The observations of the driver: the machine decides on them alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Callable, Optional

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.phases import Permission, Phase
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import NEW, Run, refusing, same_meaning, set_profile
from .test_soak import SOAK


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
        self.driver._machine = machine
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


def test_watch_and_wait_times_are_reported(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    first = run.look()
    # Ten samples without a target.
    assert first.watched_s == 20.0
    run.samples.clear()
    seen = [run.look() for _ in range(3)]
    assert [look.waited_s for look in seen] == [2.0, 4.0, 6.0]
    assert [look.watched_s for look in seen] == [22.0, 24.0, 26.0]
    run.fail_over()
    again = [run.look() for _ in range(2)]
    assert [(look.watched_s, look.waited_s) for look in again] == [(0.0, 0.0), (2.0, 2.0)]


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
    assert [look.was_down_s for look in seen] == [0.0] * 4
    assert [look.lifeless_s for look in seen] == [0.0, 2.0, 4.0, 6.0]
    assert [look.alive for look in seen] == [None] * 4
    run.cluster.osds[0].up = True
    up = run.look()
    assert (up.down_s, up.was_down_s, up.alive) == (0.0, 6.0, None)
    run.cluster.osds[0].up = False
    again = [run.look() for _ in range(2)]
    assert [(look.down_s, look.was_down_s, look.lifeless_s) for look in again] == [
        (0.0, 0.0, 0.0),
        (2.0, 0.0, 2.0),
    ]


def test_downtime_of_one_osd_does_not_carry_over_to_the_next(run: Watched) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.SETTLING)
    run.cluster.orchestrator_idle = True
    run.until(lambda state: state.osds[1].step is OsdStep.RESTARTING)
    assert run.state.longest_boot_s > 0
    assert run.cluster.osds[1].up
    seen = run.look()
    assert (seen.was_down_s, seen.down_s) == (0.0, 0.0)


def test_liveness_of_a_down_osd_needs_two_samples_of_the_orchestrator(
    run: Watched,
) -> None:
    in_vain(run)
    run.cluster.stop_osd(0)
    reported = {'running': True, 'started': 's1', 'refreshed': 'r1'}
    asked: list[bool] = []

    def describe(osd_id: int, refresh: bool) -> OrchestratedDaemon:
        assert osd_id == 0
        asked.append(refresh)
        return OrchestratedDaemon(**reported)  # type: ignore[arg-type]

    run.cluster.describe_osd = describe  # type: ignore[method-assign]
    assert run.look().alive is None
    reported['refreshed'] = 'r2'
    assert run.look().alive is None
    reported['refreshed'] = 'r3'
    seen = [run.look() for _ in range(3)]
    assert [look.alive for look in seen] == [True] * 3
    assert [look.lifeless_s for look in seen] == [0.0, 2.0, 4.0]
    reported['running'] = False
    reported['refreshed'] = 'r4'
    dead = [run.look() for _ in range(2)]
    assert [(look.alive, look.lifeless_s) for look in dead] == [(False, 0.0), (False, 2.0)]
    # It must refresh by itself each minute that the OSD is down.
    asked.clear()
    for _ in range(70):
        run.look()
    at_s = [14.0 + 2 * i for i, refresh in enumerate(asked) if refresh]
    assert at_s == [60.0, 120.0]
    run.cluster.osds[0].up = True
    run.look()
    run.cluster.osds[0].up = False
    asked.clear()
    for _ in range(32):
        run.look()
    assert [2.0 * i for i, refresh in enumerate(asked) if refresh] == [60.0]


def test_absence_times_of_rollout_osds(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.look()
    run.cluster.purge(2)
    assert [run.look().absent_s for _ in range(3)] == [0.0, 2.0, 4.0]
    run.cluster.stop_osd(3)
    run.cluster.osds[3].in_cluster = False
    assert [run.look().absent_s for _ in range(3)] == [0.0, 2.0, 4.0]


def test_downtime_of_the_osd_in_flight_continues_across_steps(run: Watched) -> None:
    """That it is given up and gets its entry back makes it no less long down."""
    in_vain(run)
    run.cluster.orchestrator_silent = True
    run.cluster.stop_osd(0)
    run.look()
    down_at_s = run.cluster.now_s - 2.0
    seen = {run.state.osds[0]}
    for _ in range(160):
        now_s = run.cluster.now_s
        assert run.look().down_s == now_s - down_at_s
        seen.add(run.state.osds[0])
    assert run.state.direction is Direction.RECOVER
    assert len(seen) > 1


def test_time_without_signs_of_life_continues_from_an_unknown_start(run: Watched) -> None:
    in_vain(run)
    run.cluster.stop_osd(0)
    reported = {'running': False, 'started': 's1', 'refreshed': 'r1'}
    run.cluster.describe_osd = lambda *_: OrchestratedDaemon(**reported)  # type: ignore[arg-type,method-assign]
    seen = [run.look(), run.look()]
    for refreshed in ('r2', 'r3'):
        reported['refreshed'] = refreshed
        seen.append(run.look())
    assert (seen[0].alive, seen[-1].alive) == (None, False)
    assert [look.lifeless_s for look in seen] == [0.0, 2.0, 4.0, 6.0]


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


def test_movement_between_two_operations_must_be_reported_too(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.look()
    run.driver.abort('client.ann', run.cluster.now_s)
    run.tick()
    run.cluster.osds[2].nonce += 1
    run.start()
    assert [run.look().osds_moved for _ in range(8)][::7] == [True, False]


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


def test_permission_to_act_is_checked_at_each_sample(run: Watched) -> None:
    on = True
    run.driver._changes_allowed = lambda: on
    run.cluster.flags.add('noout')
    run.start()
    assert run.look().may_act
    on = False
    assert not run.look().may_act
    on = True
    run.may_act = False
    assert not run.look().may_act


@pytest.mark.parametrize('window', [None, 'outside the maintenance window'])
@pytest.mark.parametrize('limit_reason', [False, True])
def test_no_osd_starts_outside_the_window_or_above_the_limit(
    run: Watched, window: Optional[str], limit_reason: bool
) -> None:
    restarting(run)
    run.outside_window = window
    run.restarts_per_day = 1 if limit_reason else 2
    reported = run.look().schedule_reason
    if window is not None:
        assert reported == window
    elif limit_reason:
        assert (reported or '').startswith('restarts_per_day (1) is exhausted')
    else:
        assert reported is None


def test_restarts_of_the_last_day_count_across_failovers(run: Watched) -> None:
    restarting(run)
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    run.fail_over()
    run.restarts_per_day = 1
    assert (run.look().schedule_reason or '').startswith('restarts_per_day (1) is exhausted')


def test_repeated_action_is_followed_by_a_sample_in_the_same_tick(run: Watched) -> None:
    """As one that was decided just now: what it led to is seen at once."""
    run.start()
    run.cluster.errors['config set'] = refusing('no answer')
    run.until(lambda state: state.errors > 0)
    run.cluster.errors.clear()
    steps = [run.state.osds[0].step]
    run.tick()
    steps.append(run.state.osds[0].step)
    assert steps == [OsdStep.SETTING, OsdStep.RESTARTING]


def test_actor_of_the_awaited_restart(run: Watched) -> None:
    in_vain(run)
    assert run.look().restart_is_ours
    run.fail_over()
    assert not run.look().restart_is_ours


def test_next_osd_has_no_request_yet(run: Watched) -> None:
    restarting(run)
    run.until(lambda state: state.osds[0].step is OsdStep.SETTLING)
    run.cluster.flags.add('noout')
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    assert not run.look().restart_is_ours


# -- queries of the cluster, and missing answers


def test_only_failed_queries_are_missing(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.until(lambda state: state.stage is Phase.PREFLIGHT)
    seen = run.look()
    assert set(seen.running) == {0}
    assert seen.ok_to_stop == {0: None}
    assert seen.versions == run.cluster.daemon_versions()
    assert (seen.upgrade, seen.orchestrator_reason, seen.resolved) == (None, None, {})
    run.cluster.osds[0].silent = True
    run.cluster.errors['versions'] = refusing('no answer')
    run.cluster.errors['orch upgrade'] = refusing('no answer')
    run.cluster.errors['osd ok-to-stop'] = refusing('no answer')
    lost = run.look()
    assert lost.versions is None
    assert lost.upgrade in {None, 'its state is unknown (no answer)'}
    assert 0 not in lost.running


def test_only_the_restarting_osd_is_queried_during_its_restart(run: Watched) -> None:
    restarting(run)
    seen = run.look()
    assert (seen.running, seen.ok_to_stop, seen.versions, seen.upgrade) == ({}, {}, None, None)
    assert set(seen.described) == {0}
    run.cluster.orchestrator_reason = 'none'
    asked: list[int] = []

    def describe(osd_id: int, _: bool) -> None:
        asked.append(osd_id)

    run.cluster.describe_osd = describe  # type: ignore[method-assign,assignment]
    assert run.look().described == {}
    assert asked == []


def test_ended_rollout_is_not_sampled(run: Watched) -> None:
    run.start()
    run.run_to_end()
    run.samples.clear()
    run.tick()
    assert run.samples == []


def test_soak_of_a_restarted_canary_considers_upgrades(
    run: Watched,
) -> None:
    """Whether that was a crash, or the cluster's own doing."""
    run.start(soak=SOAK)
    run.until(lambda state: state.phase is Phase.SOAKING)
    assert run.look().versions is None
    run.cluster.osds[0].nonce += 1
    assert run.look().versions is not None


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
    assert (run.driver.since_end_s or 0.0) > 32 * 86400


def test_unstored_clock_is_stored_later(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.driver.abort('client.ann', run.cluster.now_s)
    run.tick()
    run.store.error = refusing('no space')
    for _ in range(400):
        run.tick()
    run.store.error = None
    assert clock_writes(run, 4.0, 2.0) == [0.0]
    assert not math.isinf(run.driver.since_end_s or math.inf)


def test_end_is_stored_with_its_time_at_once(run: Watched) -> None:
    """However short ago the time was stored for a restart."""
    run.start()
    run.run_to_end()
    assert clock_writes(run, 4.0, 2.0) == [0.0]
    assert '"ended":["r1",' in run.store.values['rollout/clock']


def test_clock_is_stored_while_restarts_of_the_last_day_count(run: Watched) -> None:
    restarting(run)
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    run.driver.pause('client.ann', run.cluster.now_s)
    run.tick()
    found = clock_writes(run, 3000.0, 20.0)
    assert len(found) >= 4
    assert [later - sooner for sooner, later in zip(found, found[1:])] == [600.0] * (len(found) - 1)
    run.cluster.now_s += 86400.0
    run.tick()
    assert clock_writes(run, 2000.0, 20.0) == []


def test_ended_rollouts_are_not_timed_beyond_thirty_one_days(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.driver.abort('client.ann', run.cluster.now_s)
    run.tick()
    ended_at_s = run.cluster.now_s - (run.driver.since_end_s or 0.0)
    for day, written in ((31.99, True), (32.0, False)):
        run.cluster.now_s = ended_at_s + day * 86400.0 - 2.0
        run.tick()
        run.store.values.pop('rollout/clock', None)
        run.driver._time._kept_s = -math.inf
        run.cluster.now_s = ended_at_s + day * 86400.0
        run.tick()
        assert ('rollout/clock' in run.store.values) is written


# -- the operator's window on it


def test_preparation_of_a_rollback_runs_once_nothing_refuses_it(run: Watched) -> None:
    called: list[bool] = []
    before: Callable[[], None] = lambda: called.append(True)  # noqa: E731
    run.start()
    run.run_to_end()
    run.cluster.operator_sets('osd', 'write_buffer_size=1')
    with pytest.raises(Exception, match='has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.ann', run.cluster.now_s, before)
    assert called == []
    run.cluster.operator_sets('osd', NEW)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s, before)
    assert called == [True]


def test_actor_is_added_later_to_state_and_history(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.driver.name_actor('r0', 'client.zoe')
    assert run.state.request.actor == run.driver.history[0].actor == 'client.admin'
    run.driver.name_actor('r1', 'client.zoe')
    assert run.state.request.actor == run.driver.history[0].actor == 'client.zoe'
    run.fail_over()
    assert run.state.request.actor == run.driver.history[0].actor == 'client.zoe'


def test_numbers_include_rollouts_and_other_changes(run: Watched) -> None:
    assert run.driver.next_number() == '1'
    run.start()
    assert run.driver.next_number() == '2'


def test_last_eight_of_many_rollouts_are_named(run: Watched) -> None:
    run.cluster.flags.add('noout')
    for n in range(10):
        run.start(set_profile(run.cluster, recommendation_id=f'a{n}'))
        run.driver.abort('client.ann', run.cluster.now_s)
        run.tick()
    with pytest.raises(Exception, match=r'the last are r3, r4, r5, r6, r7, r8, r9, r10$'):
        run.driver.rollback('r99', 'client.ann', run.cluster.now_s)

"""Complete ticks over a cluster in memory: sampling, advice, application, and their conditions."""

from __future__ import annotations

import errno
import threading
from dataclasses import replace
from typing import Callable, Optional

import pytest

from rocksdb_tuner.advise.records import Kind, Recommendation
from rocksdb_tuner.judge.records import SoakPlan, Verdict
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import CounterPoint, ManagerInfo
from rocksdb_tuner.observe.sample import names_for
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.operations.compaction.plan import recommended
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.automatic import MaintenanceWindow, Policy
from rocksdb_tuner.plan.records import Purpose
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tuner import Tuner

from .fake_cluster import OPTION, FakeCluster, FakeStore

ALL = 'osd'


def automatically(after_s: float, cooldown_s: float = 86400.0) -> Policy:
    return Policy(after_s=after_s, cooldown_s=cooldown_s)


class World:
    """A tuner, its cluster, and a clock that both share."""

    def __init__(self, osds: int = 3, manager_version: str = '16.2.15') -> None:
        self.manager_version = manager_version
        self.cluster = FakeCluster(osds)
        self.store = FakeStore()
        self.settings = Settings(sample_interval_s=5.0)
        self.progress = 0
        self.load_ops_per_s = 0
        self.not_reporting: set[int] = set()
        #: By how much the manager's clock is wrong.
        self.clock_offset_s = 0.0
        #: Waits for an OSD end at once, since time does not pass by itself.
        self.run_in_background: Callable[[Callable[[], None]], None] = lambda work: work()
        self.tuner = self.takeover()

    def takeover(self) -> Tuner:
        """Another manager becomes active."""
        self.tuner = Tuner(
            self.cluster,
            self.store,
            lambda: self.settings,
            manager_version=self.manager_version,
            manager_release='pacific',
            wall_clock=lambda: self.cluster.now_s + self.clock_offset_s,
            monotonic=lambda: self.cluster.now_s,
            run_in_background=self.run_in_background,
            sleep=lambda _: None,
        )
        self.tuner.load()
        return self.tuner

    def run(self, seconds: float, step_s: float = 2.0) -> None:
        until_s = self.cluster.now_s + seconds
        while self.cluster.now_s < until_s:
            self.cluster.advance(step_s)
            self.progress += int(self.load_ops_per_s * step_s)
            self.report()
            self.tuner.tick()

    def report(self) -> None:
        """All OSDs that are up send their counters: 4 KiB writes at the present load."""
        n, now_s = self.progress, self.cluster.now_s + self.clock_offset_s
        for osd in self.cluster.osds.values():
            if osd.up and osd.osd_id not in self.not_reporting:
                used = self.cluster.compactions.used_bytes.get(osd.osd_id, 0)
                self.send(osd.osd_id, now_s, n, n * 500_000, db_used_bytes=used)

    def send(self, osd_id: int, time_s: float, writes: int, total_ns: int, **values: int) -> None:
        """A report of an OSD that did so many writes, which took so long together."""
        names = names_for('pacific')
        points: dict[str, tuple[int, Optional[int]]] = dict.fromkeys(names, (0, None))
        counted = {
            'op_w': writes,
            'op_w_in_bytes': writes * 4096,
            'bytes_written_wal': writes * 16384,
            'bytes_written_sst': writes * 512,
        }
        for name, value in {**counted, **values}.items():
            points[getattr(names, name)] = (value, None)
        for path in (names.kv_sync, names.commit, names.op_w_latency, names.kv_flush):
            points[path] = (total_ns, writes)
        for path, (value, count) in points.items():
            self.cluster.counters[osd_id, path] = CounterPoint(time_s, value, count)

    def recommended_for_rbd(self) -> str:
        self.load_ops_per_s = 800
        self.run(90)
        self.load_ops_per_s = 0
        (recommendation,) = self.tuner.snapshot.recommendations
        return recommendation.recommendation_id

    def advised(self, recommendation_id: str) -> Recommendation:
        found = self.tuner.snapshot.recommendations
        return next(r for r in found if r.recommendation_id == recommendation_id)

    def apply(self, recommendation_id: str) -> None:
        """As a command thread does: hand the work in, and tick until it is answered."""
        wanted = self.advised(recommendation_id)
        self.submit(lambda: self.tuner.operations.start(wanted, 'operator'))

    def submit(self, work: object) -> None:
        errors: list[BaseException] = []

        def hand_in() -> None:
            try:
                self.tuner.submit(work)  # type: ignore[arg-type]
            except BaseException as error:  # noqa: BLE001 - carried to the test's thread
                errors.append(error)

        thread = threading.Thread(target=hand_in)
        thread.start()
        while thread.is_alive():
            self.tuner.tick()
            thread.join(0.01)
        if errors:
            raise errors[0]

    def compact(self, recommendation_id: str) -> None:
        request = recommended(self.advised(recommendation_id), 'operator')
        self.submit(lambda: self.tuner.operations.campaign_of(request))

    def changed_compression(self) -> str:
        """A rollout that changed it is done; the id of the compaction that is offered then."""
        # RocksDB's own defaults compress with Snappy, and give way to the default of the release.
        self.cluster.store[ALL, OPTION] = ''
        for n in self.cluster.osds:
            self.cluster.restart_by_hand(n)
            self.cluster.advance(60)
        self.cluster.compactions.used_bytes = dict.fromkeys(self.cluster.osds, 100_000_000)
        self.run(60)
        (recommendation,) = self.tuner.snapshot.recommendations
        self.apply(recommendation.recommendation_id)
        self.run_until(Phase.DONE)
        self.run(30)
        (offered,) = self.tuner.snapshot.recommendations
        assert offered.kind is Kind.COMPACT
        return offered.recommendation_id

    def phase(self) -> Optional[Phase]:
        state = self.tuner.snapshot.rollout
        return state.phase if state else None

    def run_until(self, *phases: Phase, limit_s: float = 2000) -> None:
        until_s = self.cluster.now_s + limit_s
        while self.phase() not in phases:
            assert self.cluster.now_s < until_s, self.tuner.snapshot.rollout
            self.run(2)


@pytest.fixture
def world() -> World:
    return World()


def test_idle_cluster_is_sampled_and_left_alone(world: World) -> None:
    world.run(120)
    snapshot = world.tuner.snapshot
    assert snapshot.sampling.osds == 3
    assert [o.signals is not None for o in snapshot.osds] == [True] * 3
    assert snapshot.recommendations == ()
    assert snapshot.findings == ()
    assert world.cluster.commands == []


def test_advice_with_an_expected_gain_is_rolled_back_if_the_canary_shows_none(
    world: World,
) -> None:
    """From the prediction in the recommendation to the rollback, by the defaults."""
    recommendation_id = world.recommended_for_rbd()
    (recommendation,) = world.tuner.snapshot.recommendations
    assert recommendation.change is not None
    assert recommendation.change.purpose is Purpose.GAIN
    assert recommendation.change.fill_s is not None
    world.settings = replace(world.settings, soak=SoakPlan(240.0, 1800.0))
    world.load_ops_per_s = 800
    world.apply(recommendation_id)
    world.run_until(Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK)
    state = world.tuner.snapshot.rollout
    assert state is not None
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.NO_WORSE)
    assert state.soaked_s >= 240.0
    assert state.request.purpose is Purpose.GAIN
    assert world.cluster.entries_of() == {}


@pytest.mark.parametrize('jump_s', [-4 * 3600.0, 4 * 3600.0])
def test_clock_change_stops_neither_samples_nor_a_soak(world: World, jump_s: float) -> None:
    recommendation_id = world.recommended_for_rbd()
    world.settings = replace(world.settings, soak=SoakPlan(240.0, 1800.0))
    world.load_ops_per_s = 800
    world.apply(recommendation_id)
    world.run_until(Phase.SOAKING, Phase.FAILED)
    world.clock_offset_s = jump_s
    assert world.tuner.next_tick_in_s() <= 5.0
    world.run(20)
    age_s = world.tuner.snapshot.sampling.last_sample_age_s
    assert age_s is not None
    assert 0 <= age_s <= 10
    world.run_until(Phase.ROLLED_BACK, Phase.FAILED)
    state = world.tuner.snapshot.rollout
    assert state is not None
    assert state.verdict is Verdict.NO_WORSE


def test_nothing_starts_outside_the_maintenance_window(world: World) -> None:
    recommendation_id = world.recommended_for_rbd()
    world.settings = replace(world.settings, maintenance=MaintenanceWindow('weekend'))
    world.apply(recommendation_id)
    world.run(60)
    state = world.tuner.snapshot.rollout
    assert state is not None
    assert 'invalid maintenance_days "weekend"' in (state.paused_reason or '')
    assert world.cluster.commands == []
    world.settings = replace(world.settings, maintenance=MaintenanceWindow('sat-fri'))
    world.run_until(Phase.DONE, Phase.FAILED)
    assert world.phase() is Phase.DONE


def test_small_writes_lead_to_advice_that_is_applied_and_rolled_back(world: World) -> None:
    recommendation_id = world.recommended_for_rbd()
    (shown,) = world.tuner.snapshot.recommendations
    world.apply(recommendation_id)
    world.run_until(Phase.DONE, Phase.FAILED)
    assert world.phase() is Phase.DONE
    assert world.cluster.store == {(ALL, OPTION): shown.options_to}
    world.run(60)
    # What was written before is not compressed yet.
    assert [r.kind for r in world.tuner.snapshot.recommendations] == [Kind.COMPACT]
    assert {o.options.source for o in world.tuner.snapshot.osds if o.options} == {'mon'}
    world.submit(lambda: world.tuner.operations.rollback(None, 'operator'))
    world.run_until(Phase.ROLLED_BACK, Phase.FAILED)
    assert world.phase() is Phase.ROLLED_BACK
    assert world.cluster.store == {}


def test_age_of_the_newest_report_is_small_whenever_an_idle_cluster_is_evaluated(
    world: World,
) -> None:
    """Also where most counters were read almost a minute before."""
    world.settings = replace(world.settings, sample_interval_s=10.0)
    world.run(200)
    oldest_s = []
    for _ in range(9):
        world.tuner.evaluation.invalidate()
        world.run(10)
        snapshot = world.tuner.snapshot
        assert snapshot.taken_s is not None
        assert snapshot.sampling.last_sample_age_s is not None
        assert snapshot.sampling.last_sample_age_s <= 10.0
        ages_s = [o.signals.age_s(snapshot.taken_s) for o in snapshot.osds if o.signals]
        oldest_s.append(max(age_s for age_s in ages_s if age_s is not None))
    assert max(oldest_s) >= 40.0


def test_mode_observe_does_not_advise_and_off_shows_no_stale_data(world: World) -> None:
    world.settings = replace(world.settings, mode=Mode.OBSERVE)
    world.load_ops_per_s = 800
    world.run(90)
    assert world.tuner.snapshot.sampling.osds == 3
    assert world.tuner.snapshot.assessments == ()
    world.settings = replace(world.settings, mode=Mode.OFF)
    world.run(10)
    assert world.tuner.snapshot.osds == ()
    assert world.tuner.snapshot.sampling.osds == 0


def away(world: World, seconds: float) -> None:
    """osd.0 is stopped, and started again so much later."""
    world.cluster.stop_osd(0)
    world.run(seconds)
    world.cluster.start_osd(0)
    world.run(20)


def last_start(world: World) -> Optional[LastStart]:
    return world.tuner.snapshot.osds[0].last_start


@pytest.mark.parametrize('jump_s', [-4 * 3600.0, 0.0, 4 * 3600.0])
def test_slow_start_is_reported_until_a_faster_one(world: World, jump_s: float) -> None:
    """Whatever happens to the manager's clock meanwhile. No health check is raised for it."""
    world.run(60)
    world.cluster.stop_osd(0)
    world.run(100)
    world.clock_offset_s = jump_s
    world.run(100)
    world.cluster.start_osd(0)
    world.run(20)
    start = last_start(world)
    assert start is not None
    assert 190 <= start.away_s <= start.away_most_s <= 215
    (finding,) = world.tuner.snapshot.findings
    assert (finding.finding_id, finding.osds) == ('slow-start', (0,))
    world.run(600)
    assert (world.tuner.snapshot.findings, world.tuner.snapshot.alarms) == ((finding,), ())
    away(world, 10)
    assert world.tuner.snapshot.findings == ()


def test_new_manager_observes_before_it_continues(world: World) -> None:
    recommendation_id = world.recommended_for_rbd()
    world.apply(recommendation_id)
    world.run_until(Phase.PROMOTING)
    world.takeover()
    before = list(world.cluster.commands)
    world.run(4)
    assert world.cluster.commands == before
    world.run_until(Phase.DONE, Phase.FAILED)
    assert world.phase() is Phase.DONE


def test_new_manager_shows_the_rollout_before_its_first_tick(world: World) -> None:
    """That tick may have to wait for a monitor: "there has been no rollout yet" would be wrong."""
    recommendation_id = world.recommended_for_rbd()
    world.apply(recommendation_id)
    world.run_until(Phase.PROMOTING)
    world.takeover()
    world.tuner.load()
    assert world.phase() is Phase.PROMOTING
    assert world.tuner.snapshot.mode is Mode.RECOMMEND
    assert len(world.tuner.snapshot.history) == 1


def test_auto_apply_removes_an_override_equal_to_the_default(world: World) -> None:
    default = world.cluster.mon_defaults[OPTION]
    world.cluster.store[ALL, OPTION] = default
    world.settings = replace(world.settings, mode=Mode.AUTO_APPLY, auto_apply=automatically(120.0))
    world.run(100)
    assert world.phase() is None
    world.run(300)
    assert world.phase() is Phase.DONE
    assert world.cluster.store == {}
    (record,) = world.tuner.snapshot.history
    assert record.actor == 'auto-apply'


def test_auto_apply_does_not_repeat_a_manually_reverted_change_across_failovers(
    world: World,
) -> None:
    default = world.cluster.mon_defaults[OPTION]
    world.cluster.store[ALL, OPTION] = default
    world.settings = replace(
        world.settings, mode=Mode.AUTO_APPLY, auto_apply=automatically(120.0, cooldown_s=0.0)
    )
    world.run(400)
    assert world.phase() is Phase.DONE
    world.cluster.operator_sets(ALL, default)
    world.takeover()
    world.run(1200)
    assert world.cluster.store == {(ALL, OPTION): default}
    assert len(world.tuner.snapshot.history) == 1
    assert (
        'the same change was tried in r1 (done)'
        in world.tuner.snapshot.auto_apply_refusals[0].reason
    )


@pytest.mark.parametrize('after_s', range(0, 120, 17))
def test_mode_off_stops_a_rollout_within_a_tick_in_a_consistent_state(
    world: World, after_s: int
) -> None:
    """In any state of the rollout: no command follows, and it resumes where it stopped."""
    recommendation_id = world.recommended_for_rbd()
    world.apply(recommendation_id)
    world.run(after_s)
    commands = list(world.cluster.commands)
    world.settings = replace(world.settings, mode=Mode.OFF)
    world.run(300)
    assert world.cluster.commands == commands
    assert world.cluster.down == set()
    rollout = world.tuner.snapshot.rollout
    assert rollout is not None
    assert rollout.ended or rollout.paused_reason or not commands
    world.takeover()
    world.settings = replace(world.settings, mode=Mode.RECOMMEND)
    world.run(900)
    assert world.phase() is Phase.DONE
    wanted = rollout.request.targets[0][1]
    assert {world.cluster.runs(n) for n in world.cluster.osds} == {wanted}


def test_campaign_compacts_every_osd_after_a_compression_change(world: World) -> None:
    offered = world.changed_compression()
    world.compact(offered)
    world.cluster.tell_commands.clear()
    for _ in range(300):
        world.run(2)
        campaign = world.tuner.snapshot.campaign
        if campaign is not None and campaign.outcome is not None:
            break
    assert campaign is not None
    assert campaign.outcome is Outcome.DONE
    # Not even when its end is first seen.
    assert world.tuner.snapshot.recommendations == ()
    assert sorted(world.cluster.compactions.requested) == [0, 1, 2]
    assert campaign.used_bytes == (300_000_000, 180_000_000)
    record = world.tuner.snapshot.history[-1]
    assert (record.rollout_id, record.outcome) == ('c2', Outcome.DONE)
    assert record.measured == '3 of 3 OSD(s) compacted, DB 286 MiB -> 172 MiB (-40%)'
    assert world.tuner.snapshot.recommendations == ()
    world.takeover()
    assert world.tuner.snapshot.campaign == campaign
    world.run(60)
    assert world.tuner.snapshot.recommendations == ()


def test_compacting_osds_are_not_queried_further_and_nothing_else_starts(
    world: World,
) -> None:
    offered = world.changed_compression()
    world.cluster.compactions.takes_s = 1000.0
    world.compact(offered)
    world.run(120)
    assert world.cluster.compactions.running() != set()
    world.cluster.tell_commands.clear()
    world.run(700)
    assert world.cluster.tell_commands == []
    with pytest.raises(OperationRefused, match='is being compacted'):
        world.submit(lambda: world.tuner.deep_stats.read(0))
    with pytest.raises(OperationRefused, match='campaign is under way'):
        world.apply(offered)
    with pytest.raises(OperationRefused, match='is under way'):
        world.compact(offered)


def test_rollback_ends_the_campaign_of_the_reverted_change(world: World) -> None:
    offered = world.changed_compression()
    world.compact(offered)
    world.run(90)
    world.submit(lambda: world.tuner.operations.rollback(None, 'operator'))
    world.run_until(Phase.ROLLED_BACK)
    world.run(120)
    campaign = world.tuner.snapshot.campaign
    assert campaign is not None
    assert campaign.outcome is Outcome.ABORTED
    assert not [r for r in world.tuner.snapshot.recommendations if r.kind is Kind.COMPACT]


@pytest.mark.parametrize('version', ['21.1.0', '15.2.17', '22.0.0-123-gabcdef'])
def test_everything_is_sampled_and_nothing_changed_under_a_manager_of_unknown_release(
    version: str,
) -> None:
    """That release's interface is untested: neither advice nor a rollout is allowed."""
    world = World()
    advice = world.recommended_for_rbd()
    world.apply(advice)
    world.run_until(Phase.CANARY, Phase.PROMOTING, Phase.SOAKING)
    before = world.cluster.entries_of(), list(world.cluster.commands)
    world.manager_version = version
    world.takeover()
    world.load_ops_per_s = 500
    world.run(120)
    snapshot = world.tuner.snapshot
    assert snapshot.release is None
    assert snapshot.sampling.osds == 3
    assert snapshot.recommendations == ()
    assert [version in text for text in snapshot.limitations] == [True]
    assert all('unknown to this module' in a.conclusion.because for a in snapshot.assessments)
    assert (world.cluster.entries_of(), world.cluster.commands) == before


def test_manager_that_cannot_run_the_module_is_named_with_its_host(world: World) -> None:
    world.cluster.known_managers += (ManagerInfo('y', 'node7', active=False, has_module=False),)
    world.run(10)
    (text,) = world.tuner.snapshot.limitations
    assert 'mgr.y on node7 cannot run this module' in text
    assert 'Python 3.9 or newer' in text


def statistics_off(world: World) -> None:
    """All OSDs answer a deep query."""
    for osd_id in world.cluster.osds:
        for prefix, text in {
            'config diff': '{"diff": {}}',
            'config set': '{"success": ""}',
            'config unset': '{"success": ""}',
            'dump_objectstore_kv_stats': '{"": "Uptime(secs): 12.5 total, 1.0 interval"}',
        }.items():
            world.cluster.tell_answers[osd_id, prefix] = text


@pytest.mark.parametrize(
    ('mode', 'version', 'osd_id', 'code'),
    [
        (Mode.OFF, '16.2.15', 1, errno.EPERM),
        (Mode.RECOMMEND, '22.0.0', 1, errno.EOPNOTSUPP),
        (Mode.RECOMMEND, '16.2.15', 9, errno.ENOENT),
    ],
)
def test_deep_query_is_refused_before_anything_is_sent(
    mode: Mode, version: str, osd_id: int, code: int
) -> None:
    world = World(manager_version=version)
    statistics_off(world)
    world.settings = Settings(mode=mode)
    with pytest.raises(OperationRefused) as refusal:
        world.tuner.deep_stats.read(osd_id)
    assert refusal.value.errno == code
    assert world.cluster.tell_commands == []


@pytest.mark.parametrize('mode', [Mode.RECOMMEND, Mode.OFF])
def test_statistics_left_enabled_are_restored_by_the_next_manager(mode: Mode) -> None:
    """Even in mode off, and under any release: it is the module's own."""
    world = World()
    statistics_off(world)
    world.run(10)
    world.cluster.errors['tell config unset'] = CommandError(errno.ETIMEDOUT, 'silent')
    assert world.tuner.deep_stats.read(1).not_put_back
    assert world.store.keys('deep/') == ['deep/osd.1']
    del world.cluster.errors['tell config unset']
    world.settings = Settings(mode=mode)
    world.takeover()
    world.cluster.tell_commands.clear()
    world.run(2)
    assert world.cluster.tell_commands.count((1, 'config unset')) == 4
    assert world.store.keys('') == []


def test_manager_without_osd_reports_starts_none(world: World) -> None:
    recommendation_id = world.recommended_for_rbd()
    world.cluster.flags.add('noout')
    world.apply(recommendation_id)
    # The reports stop; everything else that the manager shows stays as it was.
    world.report = lambda: None  # type: ignore[method-assign]
    world.run(120)
    world.cluster.flags.discard('noout')
    world.run(60)
    state = world.tuner.snapshot.rollout
    assert state is not None
    assert state.paused_reason == 'no OSD reports to this manager'
    assert not world.cluster.commands

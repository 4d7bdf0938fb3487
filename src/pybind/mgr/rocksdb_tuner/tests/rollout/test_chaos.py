"""Random faults and acts of operators, in any order: the invariants hold and every path ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.rollout.errors import RolloutRefused
from rocksdb_tuner.rollout.foreign import entries_in_the_way
from rocksdb_tuner.rollout.records import Inconclusive, Outcome, Phase, SoakPlan
from rocksdb_tuner.tests.fake_cluster import OPTION, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, refusing, remove_override, set_profile
from .invariants import Invariants

BAD = 'write_buffer_size=foo'
NO_SOAK = SoakPlan()
OPERATORS = 'write_buffer_size=33554432'


class Act(Enum):
    FAIL_OVER = auto()
    PAUSE = auto()
    RESUME = auto()
    ABORT = auto()
    ROLLBACK = auto()
    MODE_OFF = auto()
    MODE_ON = auto()
    OPERATOR_SETS_OSD = auto()
    OPERATOR_SETS_MASK = auto()
    OPERATOR_SETS_CLASS = auto()
    OPERATOR_SETS_SHADOW = auto()
    OPERATOR_SETS_OTHER = auto()
    OPERATOR_REMOVES_OSD = auto()
    OPERATOR_RESTARTS = auto()
    OSD_DIES = auto()
    OSD_STARTS = auto()
    OSD_BREAKS = auto()
    OSD_STUBBORN = auto()
    OSD_SILENT = auto()
    OSD_CRASHES = auto()
    OSD_OVERRULED = auto()
    OSD_MARKED_DOWN = auto()
    OSD_HEALED = auto()
    ORCHESTRATOR_GONE = auto()
    ORCHESTRATOR_IDLE = auto()
    ORCHESTRATOR_REFUSES = auto()
    ORCHESTRATOR_WRONG = auto()
    ORCHESTRATOR_BACK = auto()
    MON_REFUSES_SET = auto()
    MON_REFUSES_RM = auto()
    MON_REFUSES_DUMP = auto()
    MON_BACK = auto()
    STORE_REFUSES = auto()
    STORE_BACK = auto()
    FLAG = auto()
    NO_FLAG = auto()
    NEARFULL = auto()
    NO_NEARFULL = auto()
    UPGRADE_BEGINS = auto()
    UPGRADE_ENDS = auto()
    CLOCK_JUMPS = auto()
    CLIENTS_STOP = auto()
    CLIENTS_COME = auto()
    NEW_IS_SLOW = auto()
    WINDOW_CLOSES = auto()
    WINDOW_OPENS = auto()


class Chaos:
    """Carries out the acts of one schedule."""

    def __init__(self, kind: str, values: str, soak: SoakPlan) -> None:
        self.cluster = FakeCluster(osds=3)
        self.cluster.operator_sets('osd' if kind == 'remove' else 'global', OLD)
        for n in self.cluster.osds:
            self.cluster.restart_by_hand(n)
            self.cluster.advance(60)
        request = (
            remove_override(self.cluster) if kind == 'remove' else set_profile(self.cluster, values)
        )
        self.before = self.cluster.entries_of()
        self.run = Run(self.cluster)
        self.watch = Invariants(self.run)
        self.run.start(request, soak)

    def act(self, act: Act, n: int) -> None:  # noqa: C901, PLR0912, PLR0915 - one line per act
        cluster, run, driver = self.cluster, self.run, self.run.driver
        osd = cluster.osds[n]
        if act is Act.FAIL_OVER:
            run.fail_over()
        elif act is Act.PAUSE:
            with suppress(RolloutRefused):
                driver.pause('client.a', cluster.now_s)
        elif act is Act.RESUME:
            with suppress(RolloutRefused):
                driver.resume(cluster.now_s)
        elif act is Act.ABORT:
            with suppress(RolloutRefused):
                driver.abort('client.a', cluster.now_s)
        elif act is Act.ROLLBACK:
            with suppress(RolloutRefused):
                driver.rollback(None, 'client.a', cluster.now_s)
        elif act is Act.MODE_OFF:
            run.may_act = False
        elif act is Act.MODE_ON:
            run.may_act = True
        elif act is Act.OPERATOR_SETS_OSD:
            self.watch.operator_sets(f'osd.{n}', OPERATORS)
        elif act is Act.OPERATOR_SETS_MASK:
            self.watch.operator_sets(ALL, OPERATORS)
        elif act is Act.OPERATOR_SETS_CLASS:
            self.watch.operator_sets(CLASS, OPERATORS)
        elif act is Act.OPERATOR_SETS_SHADOW:
            self.watch.operator_sets(f'osd/host:node{n}', OPERATORS)
        elif act is Act.OPERATOR_SETS_OTHER:
            cluster.operator_sets('osd', '1G', 'osd_memory_target')
        elif act is Act.OPERATOR_REMOVES_OSD:
            if f'osd.{n}' in cluster.entries_of():
                self.watch.operator_removes(f'osd.{n}')
        elif act is Act.OPERATOR_RESTARTS:
            if osd.up:
                cluster.restart_by_hand(n)
        elif act is Act.OSD_DIES:
            cluster.stop_osd(n)
        elif act is Act.OSD_STARTS:
            if not osd.up:
                cluster.start_osd(n)
        elif act is Act.OSD_BREAKS:
            osd.broken = True
        elif act is Act.OSD_STUBBORN:
            self.watch.beside_itself.add(n)
            osd.stubborn = RunningOption('write_buffer_size=1', 'mon', ignores_mon=False)
        elif act is Act.OSD_SILENT:
            osd.silent = True
        elif act is Act.OSD_CRASHES:
            osd.crashes_after_s = 8.0
        elif act is Act.OSD_OVERRULED:
            self.watch.beside_itself.add(n)
            osd.conf_file[OPTION] = OPERATORS
        elif act is Act.OSD_MARKED_DOWN:
            if osd.up:
                cluster.mark_down(n)
                cluster.advance(7)
                cluster.mark_down(n, up=not osd.coming)
        elif act is Act.OSD_HEALED:
            _heal(self.cluster, n)
        elif act is Act.ORCHESTRATOR_GONE:
            cluster.orchestrator_reason = 'No orchestrator configured'
        elif act is Act.ORCHESTRATOR_IDLE:
            cluster.orchestrator_idle = True
        elif act is Act.ORCHESTRATOR_REFUSES:
            cluster.errors['orch daemon'] = refusing('host is offline')
        elif act is Act.ORCHESTRATOR_WRONG:
            cluster.orchestrator_restarts = n
        elif act is Act.ORCHESTRATOR_BACK:
            _heal_orchestrator(cluster)
        elif act is Act.MON_REFUSES_SET:
            cluster.errors['config set'] = refusing('read-only')
        elif act is Act.MON_REFUSES_RM:
            cluster.errors['config rm'] = refusing('read-only')
        elif act is Act.MON_REFUSES_DUMP:
            cluster.errors['config dump'] = refusing('no')
        elif act is Act.MON_BACK:
            _heal_mon(cluster)
        elif act is Act.STORE_REFUSES:
            run.store.error = refusing('no space')
        elif act is Act.STORE_BACK:
            run.store.error = None
        elif act is Act.FLAG:
            cluster.flags.add('noout')
        elif act is Act.NO_FLAG:
            cluster.flags.discard('noout')
        elif act is Act.NEARFULL:
            cluster.health['OSD_NEARFULL'] = 'HEALTH_WARN'
        elif act is Act.NO_NEARFULL:
            cluster.health.clear()
        elif act is Act.UPGRADE_BEGINS:
            cluster.upgrades_to = 'example/ceph:v18.2.7'
        elif act is Act.UPGRADE_ENDS:
            cluster.upgrades_to = None
        elif act is Act.CLOCK_JUMPS:
            cluster.now_s += 100_000.0
        elif act is Act.CLIENTS_STOP:
            run.clients.writes_per_s = 0
        elif act is Act.CLIENTS_COME:
            run.clients.writes_per_s = 100
        elif act is Act.NEW_IS_SLOW:
            run.clients.factor = 1.5
        elif act is Act.WINDOW_CLOSES:
            run.outside_window = 'outside the maintenance window'
        elif act is Act.WINDOW_OPENS:
            run.outside_window = None

    def heal(self) -> None:
        """Everything works again, and nothing is held."""
        for n in self.cluster.osds:
            _heal(self.cluster, n)
        _heal_orchestrator(self.cluster)
        _heal_mon(self.cluster)
        self.cluster.flags.discard('noout')
        self.cluster.health.clear()
        self.cluster.upgrades_to = None
        self.run.store.error = None
        self.run.may_act = True
        self.run.outside_window = None
        self.run.tick()
        if self.run.driver.state and self.run.driver.state.paused_by:
            self.run.driver.resume(self.cluster.now_s)


def _heal(cluster: FakeCluster, n: int) -> None:
    osd = cluster.osds[n]
    osd.broken = osd.silent = False
    osd.stubborn = osd.crashes_after_s = None
    osd.conf_file.clear()


def _heal_orchestrator(cluster: FakeCluster) -> None:
    cluster.orchestrator_reason = cluster.orchestrator_restarts = None
    cluster.orchestrator_idle = False
    cluster.errors.pop('orch daemon', None)


def _heal_mon(cluster: FakeCluster) -> None:
    for prefix in ('config set', 'config rm', 'config dump'):
        cluster.errors.pop(prefix, None)


SCHEDULES = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(Act), st.integers(0, 2)), max_size=12
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(['set', 'set', 'remove']),
    values=st.sampled_from([NEW, NEW, NEW, BAD]),
    soak=st.sampled_from([NO_SOAK, NO_SOAK, *(SoakPlan(240.0, 480.0, p) for p in Inconclusive)]),
    schedule=SCHEDULES,
)
def test_any_schedule_keeps_the_invariants_and_ends(
    kind: str, values: str, soak: SoakPlan, schedule: Sequence[tuple[int, Act, int]]
) -> None:
    chaos = Chaos(kind, values, soak)
    for ticks, act, n in schedule:
        for _ in range(ticks):
            chaos.run.tick()
        # What operators change once it is over is their business.
        if not chaos.run.state.ended or act in {Act.ROLLBACK, Act.FAIL_OVER}:
            chaos.act(act, n)
    chaos.heal()
    for _ in range(1500):
        chaos.run.tick()
        state = chaos.run.state
        assert state.phase is not Phase.WAITING or state.paused_reason
        if state.ended:
            break
        for n in chaos.cluster.down:
            # What an operator does who reads the reason.
            if state.phase is Phase.WAITING and not chaos.cluster.osds[n].coming:
                chaos.cluster.start_osd(n)
        if any(hand in (state.paused_reason or '') for hand in ('systemctl restart', 'verdict')):
            chaos.run.driver.resume(chaos.cluster.now_s)
    event(chaos.run.state.phase.value)
    assert chaos.run.state.ended, f'{chaos.run.state}'
    chaos.watch.at_the_end(chaos.before)
    _take_back(chaos)


def _take_back(chaos: Chaos) -> None:
    """Whatever happened, a rollback restores exactly what was there, or says who is in the way."""
    run, cluster = chaos.run, chaos.cluster
    if run.state.phase is Phase.ROLLED_BACK:
        return
    for n in cluster.down:
        cluster.start_osd(n)
    cluster.advance(120)
    if entries_in_the_way(run.state, cluster.entries_of()):
        with pytest.raises(RolloutRefused) as refused:
            run.driver.rollback(None, 'client.a', cluster.now_s)
        assert any(who in refused.value.message for who in chaos.watch.operators)
        return
    run.driver.rollback(None, 'client.a', cluster.now_s)
    for _ in range(2000):
        run.tick()
        if run.state.ended:
            break
        for n in cluster.down:
            if not cluster.osds[n].coming:
                cluster.start_osd(n)
    assert run.state.outcome is Outcome.ROLLED_BACK, f'{run.state}'
    chaos.watch.at_the_end(chaos.before)
    for n, osd in cluster.osds.items():
        started = cluster._at_start(osd, OPTION)
        if not chaos.watch.operators and n not in chaos.watch.beside_itself:
            assert cluster.runs(n) == (started or cluster._default(osd, OPTION))

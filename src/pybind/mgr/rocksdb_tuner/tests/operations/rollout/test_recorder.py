"""When canary and controls are measured, into what blocks, and what is kept of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.judge.evidence import Evidence
from rocksdb_tuner.judge.records import Judgement, SoakPlan, Verdict
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.observe.details import SlowEvents
from rocksdb_tuner.observe.report_interval import ReportInterval
from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.recording import (
    NOT_SOAKING,
    Part,
    Recorder,
    Recording,
    SoakProgress,
    recorded_now,
)
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.storage import EVIDENCE, RolloutStorage
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore

from .conftest import Clients, refusing
from .one_step import BACK, RESTARTING, SETTING, SETTLING, SOAK, VERIFIED, rollout

BATCHES = replace(SOAK, batches=SOAK)


def at(*steps: OsdStep, **changes: Any) -> RolloutState:
    return rollout(*steps, osds=6, **{'soak': BATCHES, **changes})


@pytest.mark.parametrize(
    ('state', 'part'),
    [
        (at(stage=Phase.PREFLIGHT), Part.BEFORE),
        (at(stage=Phase.PREFLIGHT, soak=SoakPlan()), None),
        (at(stage=Phase.PREFLIGHT, soak=SoakPlan(least_s=0.0, most_s=1.0)), Part.BEFORE),
        (at(stage=Phase.PLANNED), None),
        (at(SETTING), None),
        (at(SETTLING), None),
        (at(VERIFIED, stage=Phase.SOAKING), Part.AFTER),
        (at(VERIFIED, stage=Phase.SOAKING, direction=BACK), None),
        (at(VERIFIED, stage=Phase.SOAKING, soak=SoakPlan()), None),
        # The next batch waits, and nothing is under way.
        (at(VERIFIED, stage=Phase.SOAKING, verdicts=(Verdict.NO_WORSE,)), Part.BEFORE),
        (at(VERIFIED, stage=Phase.PROMOTING, verdicts=(Verdict.NO_WORSE,)), Part.BEFORE),
        (at(VERIFIED, stage=Phase.COLLAPSING, verdicts=(Verdict.NO_WORSE,)), None),
        (
            at(VERIFIED, RESTARTING, stage=Phase.PROMOTING, verdicts=(Verdict.NO_WORSE,)),
            None,
        ),
        (at(*[VERIFIED] * 6, stage=Phase.PROMOTING, verdicts=(Verdict.NO_WORSE,) * 6), None),
        # Something holds it up.
        (at(stage=Phase.PREFLIGHT, paused_reason='a gate'), None),
        (at(stage=Phase.PREFLIGHT, paused_reason='the night'), Part.BEFORE),
        (at(VERIFIED, stage=Phase.SOAKING, paused_reason='a gate'), None),
        (
            at(
                VERIFIED,
                stage=Phase.SOAKING,
                paused_reason='no verdict',
                judgement=Judgement(Verdict.NO_DATA),
            ),
            Part.AFTER,
        ),
    ],
)
def test_measured_side(state: RolloutState, part: Optional[Part]) -> None:
    assert recorded_now(state, 'the night') is part


# -- blocks


class Taking:
    """A recorder, and samples of some OSDs as time passes."""

    def __init__(self, block_s: float = 30.0) -> None:
        self.clients = Clients(FakeCluster(3))
        self.recorder = Recorder(Evidence('r1', 0, (0,), (1, 2), block_s))

    def pass_s(
        self,
        part: Optional[Part],
        seconds: float,
        slow_events: Optional[Mapping[int, SlowEvents]] = None,
    ) -> bool:
        cluster = self.clients.cluster
        cluster.now_s += seconds
        self.clients.write(max(seconds, 0.0))
        samples: dict[int, Optional[Sample]] = {n: self.clients.newest(n) for n in range(3)}
        return self.recorder.add(part, samples, cluster.now_s, slow_events)

    @property
    def kept(self) -> tuple[int, int]:
        return len(self.recorder.evidence.before), len(self.recorder.evidence.after)


def test_recording_warms_up_after_a_start_and_restarts_after_a_disturbance() -> None:
    taking = Taking()
    warm_s = limits().warm_up_s
    assert warm_s == 60.0
    reported = [taking.pass_s(Part.AFTER, s) for s in (1.0, 59.0, 1.0, 29.0, 1.0)]
    assert reported == [False, False, False, False, True]
    assert not taking.pass_s(None, 1.0)
    assert [taking.pass_s(Part.AFTER, s) for s in (1.0, 31.0, 29.0, 30.0)] == [
        False,
        False,
        False,
        True,
    ]
    assert taking.kept == (0, 2)


def test_block_has_the_work_of_each_osd_from_start_to_end() -> None:
    taking = Taking()
    taking.pass_s(Part.BEFORE, 10.0, {0: SlowEvents(1, 5)})
    taking.pass_s(Part.BEFORE, 15.0, {0: SlowEvents(7, 6), 1: SlowEvents(2, None)})
    taking.pass_s(Part.BEFORE, 15.0, {0: SlowEvents(0, 9)})
    taking.pass_s(Part.BEFORE, 30.0, {0: SlowEvents(0, 9)})
    first, second = taking.recorder.evidence.before
    assert (first.of(0).slow_ops, first.of(0).slow_commits) == (7, 4)
    assert (first.of(1).slow_ops, first.of(1).slow_commits) == (2, None)
    assert (second.of(0).slow_ops, second.of(0).slow_commits) == (0, 0)
    assert first.of(2).op_w_latency_ms is not None
    assert first.of(2).db_used_bytes == 10**9


def test_osd_unseen_at_either_end_of_a_block_has_no_measurement() -> None:
    taking = Taking()
    taking.pass_s(Part.BEFORE, 10.0)
    for seen in ((0, 2), (0,)):
        cluster = taking.clients.cluster
        cluster.now_s += 30.0
        taking.clients.write(30.0)
        samples = {n: taking.clients.newest(n) if n in seen else None for n in range(3)}
        assert taking.recorder.add(Part.BEFORE, samples, cluster.now_s)
    first, second = taking.recorder.evidence.before
    assert first.of(0).op_w_latency_ms is not None
    assert second.of(0).op_w_latency_ms is not None
    assert first.of(2).op_w_latency_ms is not None
    for unseen in (first.of(1), second.of(1), second.of(2)):
        assert (unseen.op_w_latency_ms, unseen.db_used_bytes) == (None, None)


# -- what is kept over a failover


class Manager:
    """One manager's recording of a rollout of six OSDs, in batches of one."""

    def __init__(self, store: FakeStore, clients: Clients) -> None:
        self.recording = Recording(RolloutStorage(store))
        self.clients = clients
        self.asked: list[tuple[int, ...]] = []

    def look(self, state: RolloutState, seconds: float, idle: Optional[str] = None) -> None:
        self.clients.cluster.now_s += seconds
        self.clients.write(seconds)
        now_s = self.clients.cluster.now_s
        self.recording.add(state, self.clients.newest, now_s, idle, self._slow_events)

    def found(self, state: RolloutState) -> SoakProgress:
        return self.recording.found(state, self.clients.cluster.now_s)

    def _slow_events(self, osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
        self.asked.append(tuple(osd_ids))
        return {}


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def manager(store: FakeStore) -> Manager:
    return Manager(store, Clients(FakeCluster(6)))


def test_next_batch_is_measured_while_the_previous_one_is_watched(
    manager: Manager, store: FakeStore
) -> None:
    before = at(stage=Phase.PREFLIGHT)
    for _ in range(9):
        manager.look(before, 30.0)
    assert manager.found(before) == (240.0, 0.0, None)
    watched = at(VERIFIED, stage=Phase.SOAKING)
    for _ in range(11):
        manager.look(watched, 30.0)
    found = manager.found(watched)
    assert (found.before_s, found.after_s) == (240.0, 240.0)
    assert found.judgement is not None
    assert found.judgement.verdict is Verdict.NO_WORSE
    assert sorted(store.keys(EVIDENCE)) == [EVIDENCE + '0', EVIDENCE + '1']
    # Another manager knows the same, and judges it alike.
    other = Manager(store, manager.clients)
    again = other.found(watched)
    assert (again.before_s, again.after_s) == (240.0, 240.0)
    assert again.judgement is not None
    assert again.judgement.verdict is Verdict.NO_WORSE
    passed = replace(watched, verdicts=(Verdict.NO_WORSE,))
    assert manager.found(passed).judgement is None
    assert manager.found(passed).before_s > 0.0
    manager.look(passed, 30.0)
    manager.look(passed, 30.0)
    assert store.keys(EVIDENCE) == [EVIDENCE + '1', EVIDENCE + '2']
    manager.recording.end()
    assert store.keys(EVIDENCE) == []
    assert manager.found(before) == NOT_SOAKING


def test_unstored_evidence_is_still_used(manager: Manager, store: FakeStore) -> None:
    before = at(stage=Phase.PREFLIGHT)
    store.error = refusing('no space')
    for _ in range(3):
        manager.look(before, 30.0)
    assert (manager.found(before).before_s, store.values) == (60.0, {})


def test_measurements_of_another_process_do_not_count(manager: Manager) -> None:
    watched = at(VERIFIED, stage=Phase.SOAKING)
    for _ in range(11):
        manager.look(watched, 30.0)
    assert manager.found(watched).after_s == 240.0
    again = at(SETTLING, stage=Phase.CANARY)
    assert manager.found(again) == NOT_SOAKING
    for _ in range(4):
        manager.look(watched, 30.0)
    assert manager.found(watched).after_s < 240.0
    # One that ended, or is rolled back, keeps its evidence.
    found = manager.found(watched)
    back = replace(again, direction=BACK)
    assert manager.found(back).after_s == found.after_s


@pytest.mark.parametrize('interval_s', [5.0, 15.0, 30.0, 45.0, 60.0])
def test_rare_reports_make_longer_blocks_each_with_the_work_of_every_osd(interval_s: float) -> None:
    """Their time counts, but a baseline has the least number of blocks in any case."""
    taking = Taking()
    recorder, cluster, clients = taking.recorder, taking.clients.cluster, taking.clients
    seen: dict[int, Optional[Sample]] = dict.fromkeys(range(3))
    reports = ReportInterval(interval_s)
    began_s = cluster.now_s
    for second in range(0, 3600, 5):
        cluster.now_s += 5.0
        clients.write(5.0)
        for n in range(3):
            # Each in its own phase.
            if (second + n * 20) % interval_s < 5.0:
                seen[n] = clients.newest(n)
        if second >= interval_s:
            recorder.add(Part.BEFORE, dict(seen), cluster.now_s, reports=reports)
    blocks = recorder.evidence.before
    assert all(block.of(n).op_w_latency_ms is not None for block in blocks for n in range(3))
    assert len(blocks) >= 3400 / max(30.0, 2 * interval_s)
    passed_s = cluster.now_s - began_s
    measured_s = recorder.measured_s(Part.BEFORE, 3600.0)
    assert 0.8 * (passed_s - interval_s) <= measured_s <= passed_s
    least = limits().least_blocks
    recorder.evidence = replace(recorder.evidence, before=blocks[-least + 1 :])
    assert recorder.measured_s(Part.BEFORE, 240.0) < 240.0
    recorder.evidence = replace(recorder.evidence, before=blocks[-least:])
    assert recorder.measured_s(Part.BEFORE, 240.0) == pytest.approx(240.0)
    recorder.evidence = replace(recorder.evidence, before=())
    assert recorder.measured_s(Part.BEFORE, 240.0) == 0.0

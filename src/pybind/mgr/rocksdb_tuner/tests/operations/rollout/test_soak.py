"""The canary is watched, compared with OSDs that were not changed, and judged before they are."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.judge.evidence import Block, Measured
from rocksdb_tuner.judge.records import Inconclusive, Judgement, SoakPlan, Verdict
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_failed, why_waiting
from rocksdb_tuner.operations.rollout.recording import Part, Recorder, no_evidence
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState, batches
from rocksdb_tuner.operations.rollout.storage import EVIDENCE, RolloutStorage
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.records import ChangeRequest, Purpose
from rocksdb_tuner.present import views
from rocksdb_tuner.present.operations import LastOperations
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, Run, refusing, set_profile

SOAK = SoakPlan(least_s=300.0, most_s=600.0)


def soaking(state: RolloutState) -> bool:
    return state.phase is Phase.SOAKING


def changed(run: Run) -> set[int]:
    return {n for n in run.cluster.osds if run.cluster.runs(n) == NEW}


def test_harmless_change_passes_and_promotes_the_others(run: Run) -> None:
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.NO_WORSE)
    assert state.soaked_s >= SOAK.least_s
    assert run.cluster.entries_of() == {ALL: NEW}
    assert 'no worse: client write latency' in (run.driver.history[-1].measured or '')
    assert not run.store.keys(EVIDENCE)


def rollout_text(state: RolloutState) -> str:
    return views.show('operation', LastOperations(state, None), 'plain')


def for_gain(run: Run, **changes: object) -> ChangeRequest:
    """A request that promises a shorter time for each write."""
    gain = replace(set_profile(run.cluster), purpose=Purpose.GAIN, promised='op_w_latency_ms')
    return replace(gain, **changes)  # type: ignore[arg-type]


def test_change_without_the_expected_gain_is_rolled_back_with_the_reason(run: Run) -> None:
    """Nothing got worse, which was not what was promised."""
    run.start(for_gain(run, prediction='IOPS: +0 to +20%'), SOAK)
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    assert state.verdict is Verdict.NO_WORSE
    reported = state.failure or ''
    assert 'osd.0 is no worse, but no gain was measured (measured: client' in reported
    assert 'predicted: IOPS: +0 to +20%' in reported
    assert (run.cluster.entries_of(), changed(run)) == ({}, set())
    assert run.cluster.osds[1].boots == 1
    assert any(reported in text for text, warning in run.cluster.logged if warning)
    (recorded,) = run.driver.history
    assert (recorded.outcome, recorded.reason) == (Outcome.ROLLED_BACK, reported)
    # The operator has nothing to do.
    assert why_failed(state) is None


def test_confirmed_gain_promotes_the_others(run: Run) -> None:
    run.clients.factor = 0.7
    run.start(for_gain(run), SOAK)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.BETTER)
    assert 'better: client write latency -3' in (run.driver.history[-1].measured or '')
    assert run.cluster.entries_of() == {ALL: NEW}
    # Those after the canary promise nothing.
    assert set(state.verdicts) == {Verdict.BETTER}
    document: Any = json.loads(views.show('operation', LastOperations(state, None)))
    assert (document['verdict'], document['judged'], document['purpose']) == (
        'pass',
        'better',
        'gain',
    )


def test_change_for_safety_needs_no_gain(run: Run) -> None:
    run.start(for_gain(run, purpose=Purpose.SAFETY), SOAK)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.NO_WORSE)


def test_canary_without_a_flush_waits_for_one(run: Run) -> None:
    run.clients.flushes = False
    run.start(soak=SOAK)
    state = run.to_a_wait('the verdict on osd.0 is no-data')
    assert 'missing: a memtable flush' in (state.paused_reason or '')
    assert state.judgement is not None
    assert state.judgement.cause == 'osd.0 flushed nothing to SST files during the soak'
    run.clients.flushes = True
    assert run.run_to_end().verdict is Verdict.NO_WORSE


@pytest.mark.parametrize(('fill_s', 'least_s'), [(None, 300.0), (150.0, 450.0), (1e5, 600.0)])
def test_canary_is_watched_for_three_flushes_within_the_maximum_time(
    run: Run, fill_s: Optional[float], least_s: float
) -> None:
    run.start(set_profile(run.cluster, fill_s=fill_s), SOAK)
    state = run.until(lambda state: state.promoted)
    assert least_s <= state.soaked_s <= least_s + 30
    assert state.verdict is Verdict.NO_WORSE


def test_controls_are_measured_before_any_change(run: Run) -> None:
    began_s = run.cluster.now_s
    run.start(soak=SOAK)
    run.until(lambda state: bool(run.cluster.commands))
    assert run.cluster.now_s - began_s >= SOAK.least_s


def test_status_shows_the_baseline_before_any_change(run: Run) -> None:
    """Ten minutes by default, in which an operator would else see nothing happen."""
    run.start(soak=SOAK)
    state = run.until(lambda state: state.baseline_s >= 120)
    assert not run.cluster.commands
    canary = state.request.order[0]
    reported = rollout_text(state)
    assert f'measuring the baseline of osd.{canary}, 2m of 5m' in reported
    shown: Any = json.loads(views.show('operation', LastOperations(state, None)))
    soak = shown['soak']
    assert (soak['baseline_s'], soak['baseline_least_s']) == (120.0, 300.0)


def test_status_says_that_the_canary_will_be_judged_once_it_is_changed(run: Run) -> None:
    run.start(soak=SOAK)
    state = run.until(lambda state: state.stage is Phase.CANARY)
    assert f'none yet; osd.{state.request.order[0]} is being changed' in rollout_text(state)


def test_status_promises_no_verdict_without_a_soak(run: Run) -> None:
    run.start(soak=SoakPlan(0.0, 0.0))
    reported = rollout_text(run.until(lambda state: state.stage is Phase.CANARY))
    assert 'not judged' in reported
    assert 'none yet' not in reported


def test_no_other_osd_is_touched_in_the_soak_of_the_canary(run: Run) -> None:
    run.start(soak=SOAK)
    state = run.until(soaking)
    assert [batch.phase for batch in batches(state)] == [
        Phase.SOAKING,
        Phase.PLANNED,
        Phase.PLANNED,
    ]
    while run.state.phase is Phase.SOAKING:
        assert changed(run) <= {0}
        run.tick()
    assert run.state.promoted


def test_worsening_fails_and_is_rolled_back_automatically(run: Run) -> None:
    run.clients.factor = 1.25
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert (state.phase, state.outcome, state.verdict) == (
        Phase.ROLLED_BACK,
        Outcome.ROLLED_BACK,
        Verdict.WORSE,
    )
    assert 'rolled back by the verdict: worse: client write latency +2' in (state.failure or '')
    assert run.cluster.entries_of() == {}
    assert changed(run) == set()
    assert run.cluster.osds[1].boots == 1


def test_canary_crash_in_the_soak_fails_at_once(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    run.cluster.restart_by_hand(0)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.WORSE)
    assert 'the process of osd.0 exited during the soak' in (state.failure or '')
    assert state.soaked_s < SOAK.least_s
    assert changed(run) == set()


def test_control_that_dies_and_returns_delays_the_verdict_without_distorting_it() -> None:
    run = Run(FakeCluster(osds=4))
    run.start(soak=SOAK)
    run.until(soaking)
    run.cluster.stop_osd(2)
    run.to_a_wait('placement groups')
    for _ in range(60):
        run.tick()
    assert changed(run) == {0}
    run.cluster.start_osd(2)
    assert run.run_to_end().verdict is Verdict.NO_WORSE


def test_missing_clients_require_operator_action_with_the_reason(run: Run) -> None:
    run.clients.writes_per_s = 0
    run.start(soak=SOAK)
    state = run.to_a_wait('the verdict on osd.0 is no-data')
    assert state.phase is Phase.WAITING
    assert 'client write latency: at least 50 writes' in (state.paused_reason or '')
    for _ in range(100):
        run.tick()
    assert changed(run) == {0}


def test_operator_may_continue_without_a_verdict(run: Run) -> None:
    run.clients.writes_per_s = 0
    run.start(soak=SOAK)
    run.to_a_wait('the verdict on osd.0')
    run.driver.resume(run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.NO_DATA)


def test_nothing_to_resume_before_the_soak_is_over(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    with pytest.raises(OperationRefused, match='it is running'):
        run.driver.resume(run.cluster.now_s)


def test_late_clients_still_give_a_verdict(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    run.clients.writes_per_s = 0
    run.to_a_wait('the verdict on osd.0 is no-data')
    run.clients.writes_per_s = 100
    assert run.run_to_end().verdict is Verdict.NO_WORSE


def test_policy_promotes_without_a_verdict(run: Run) -> None:
    run.clients.noise = 0.9
    run.start(soak=SoakPlan(300.0, 600.0, Inconclusive.PROMOTE))
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.INCONCLUSIVE)
    assert ' '.join(rollout_text(state).split()).count('client write latency: precision') == 1


def test_policy_rolls_back_without_a_verdict(run: Run) -> None:
    run.clients.noise = 0.9
    run.start(soak=SoakPlan(300.0, 600.0, Inconclusive.ROLLBACK))
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.INCONCLUSIVE)
    assert 'rolled back by the policy, missing:' in (state.failure or '')
    assert run.cluster.entries_of() == {}
    # Once in all
    assert ' '.join(rollout_text(state).split()).count('client write latency: precision') == 1


@pytest.mark.parametrize('silent', [0, 2])
def test_no_osd_starts_without_samples_of_canary_and_controls(run: Run, silent: int) -> None:
    """Neither the canary, nor one after it, whatever the policy says."""
    run.clients.silent.add(silent)
    run.start(soak=replace(SOAK, inconclusive=Inconclusive.PROMOTE))
    state = run.to_a_wait(f'no current samples of OSD {silent}: it continues once they report')
    assert state.phase is Phase.WAITING
    assert '"ceph rocksdb-tuner doctor" shows what is missing' in rollout_text(state)
    assert str(state.paused_reason) in str(why_waiting(state, 3600.0))
    for _ in range(900):
        run.tick()
    assert not run.cluster.commands
    # The baseline begins anew: none was measured.
    run.clients.silent.clear()
    run.until(soaking)
    run.clients.silent.add(silent)
    for _ in range(900):
        run.tick()
    assert changed(run) == {0}
    run.clients.silent.clear()
    assert run.run_to_end().phase is Phase.DONE


def test_absent_control_is_not_waited_for() -> None:
    """A removed OSD never reports again."""
    run = Run(FakeCluster(osds=5))
    run.start(soak=SOAK)
    run.until(soaking)
    run.cluster.purge(4)
    run.clients.silent.add(4)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.DONE, Verdict.NO_WORSE)
    assert state.by_id[4].step is OsdStep.LEFT_BEHIND
    assert changed(run) == {0, 1, 2, 3}


def test_too_few_controls_are_reported_at_once_instead_of_a_futile_soak() -> None:
    run = Run(FakeCluster(osds=2))
    began_s = run.cluster.now_s
    run.start(soak=SOAK)
    run.to_a_wait('2 controls, found 1')
    assert run.cluster.now_s - began_s < 120


def test_change_of_one_osd_ends_unjudged_without_the_operator() -> None:
    run = Run(FakeCluster(osds=1))
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert (state.phase, state.outcome, state.verdict) == (
        Phase.DONE,
        Outcome.DONE,
        Verdict.INCONCLUSIVE,
    )
    assert state.judgement is not None
    assert state.soaked_s >= SOAK.least_s
    assert run.driver.history[-1].measured == 'inconclusive: not judged: no controls'
    assert 'rollout r1: done: not judged: no controls' in [text for text, _ in run.cluster.logged]
    assert run.cluster.entries_of() == {ALL: NEW}


def test_single_osd_crash_in_the_soak_fails_without_controls_too() -> None:
    run = Run(FakeCluster(osds=1))
    run.start(soak=SOAK)
    run.until(lambda state: soaking(state) and state.soaked_s >= 60)
    run.cluster.restart_by_hand(0)
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.WORSE)
    assert run.cluster.entries_of() == {}


def test_single_osd_is_rolled_back_without_controls_by_policy() -> None:
    run = Run(FakeCluster(osds=1))
    run.start(soak=SoakPlan(300.0, 600.0, Inconclusive.ROLLBACK))
    state = run.run_to_end()
    assert (state.phase, state.verdict) == (Phase.ROLLED_BACK, Verdict.INCONCLUSIVE)
    assert 'rolled back by the policy, missing: 2 controls' in (state.failure or '')


def test_rollout_waiting_for_controls_since_an_older_version_ends_by_itself() -> None:
    run = Run(FakeCluster(osds=1))
    run.start(soak=SOAK)
    run.until(soaking)
    waiting = replace(
        run.state,
        judgement=Judgement(Verdict.INCONCLUSIVE, missing=('2 OSDs to compare with',)),
        paused_reason='the verdict on osd.0 is inconclusive',
    )
    RolloutStorage(run.store).save_current(waiting)
    run.fail_over()
    assert run.run_to_end().phase is Phase.DONE


def test_entries_without_restarts_need_no_soak() -> None:
    run = Run()
    run.start()
    run.run_to_end()
    request = set_profile(run.cluster, restart=False, recommendation_id='again')
    run.start(request, SOAK)
    assert run.run_to_end(within_s=60).phase is Phase.DONE


def test_manager_taking_over_continues_with_the_measurements(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(lambda state: soaking(state) and state.soaked_s >= 240)
    run.fail_over()
    began_s = run.cluster.now_s
    assert run.until(lambda state: state.promoted).verdict is Verdict.NO_WORSE
    assert run.cluster.now_s - began_s < 240


@pytest.mark.parametrize('lost', ['', '{}', '{"version":2,"id":"r1","osds":[0]}'])
def test_lost_evidence_gives_no_verdict_instead_of_a_wrong_one(run: Run, lost: str) -> None:
    run.clients.factor = 1.5
    run.start(soak=SOAK)
    run.until(lambda state: soaking(state) and state.soaked_s >= 120)
    run.store.values[EVIDENCE + '0'] = lost
    run.fail_over()
    state = run.to_a_wait('the verdict on osd.0 is no-data')
    assert changed(run) == {0}
    assert 'osd.0 (0 before, ' in (state.paused_reason or '')


def test_refusing_store_delays_nothing_and_is_not_trusted(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    run.store.error = refusing('no space')
    for _ in range(200):
        run.tick()
    assert changed(run) == {0}
    run.store.error = None
    assert run.run_to_end().verdict is Verdict.NO_WORSE


def test_pause_delays_the_verdict(run: Run) -> None:
    run.clients.factor = 1.5
    run.start(soak=SOAK)
    run.until(soaking)
    run.driver.pause('client.a', run.cluster.now_s)
    for _ in range(400):
        run.tick()
    assert run.state.phase is Phase.WAITING
    assert changed(run) == {0}
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().verdict is Verdict.WORSE


def test_abort_in_the_soak_keeps_the_change_on_the_canary_with_a_message(run: Run) -> None:
    run.start(soak=SOAK)
    run.until(soaking)
    run.driver.abort('client.a', run.cluster.now_s)
    state = run.run_to_end(within_s=10)
    assert state.outcome is Outcome.ABORTED
    assert 'the change stays on osd.0' in (state.failure or '')
    run.tick()
    assert not run.store.keys(EVIDENCE)


def test_disturbed_time_is_in_no_block(run: Run) -> None:
    state = run.start(soak=SOAK)
    recorder = Recorder(no_evidence(state, planned_batch(state.request, SOAK, 0)))

    def pass_s(part: Optional[Part], seconds: int) -> None:
        for _ in range(seconds // 10):
            run.cluster.advance(10)
            run.clients.write(10)
            samples = {n: run.clients.newest(n) for n in range(3)}
            recorder.add(part, samples, run.cluster.now_s)

    def counts() -> tuple[int, int]:
        return len(recorder.evidence.before), len(recorder.evidence.after)

    pass_s(Part.BEFORE, 70)
    assert counts() == (2, 0)
    pass_s(None, 300)
    pass_s(Part.BEFORE, 30)
    assert counts() == (2, 0)
    pass_s(Part.BEFORE, 10)
    assert counts() == (3, 0)
    # The first minute after the change is not counted.
    pass_s(Part.AFTER, 90)
    assert counts() == (3, 0)
    pass_s(Part.AFTER, 10)
    assert counts() == (3, 1)


def test_osd_restarted_within_a_block_has_no_figures_for_it(run: Run) -> None:
    state = run.start(soak=SOAK)
    recorder = Recorder(no_evidence(state, planned_batch(state.request, SOAK, 0)))
    for second in range(0, 31, 10):
        if second == 20:
            run.cluster.osds[1].nonce += 1
        run.clients.write(10)
        run.cluster.advance(10)
        recorder.add(Part.BEFORE, {n: run.clients.newest(n) for n in range(3)}, run.cluster.now_s)
    (block,) = recorder.evidence.before
    assert isinstance(block, Block)
    assert block.of(1) == Measured()
    assert block.of(2).op_w_latency_ms is not None


# -- options that contradict each other


def test_soak_that_cannot_pass_is_refused(run: Run) -> None:
    soak, names = SoakPlan(600, 60), ('soak_min (600 s)', 'soak_max (60 s)')
    with pytest.raises(OperationRefused) as refusal:
        run.start(soak=soak)
    assert refusal.value.errno == errno.EINVAL
    assert all(name in str(refusal.value) for name in names)
    assert (run.driver.state, run.cluster.commands) == (None, [])

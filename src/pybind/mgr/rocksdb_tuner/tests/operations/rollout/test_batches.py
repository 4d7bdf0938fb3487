"""After the canary the others follow in batches, each of which is watched before the next."""

from __future__ import annotations

import pytest

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan, Verdict
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState, batches, watched_batch
from rocksdb_tuner.operations.rollout.storage import EVIDENCE
from rocksdb_tuner.plan.order import in_batches
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, Run, set_profile

BATCH_SOAK = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE)
SOAK = SoakPlan(240.0, 600.0, batches=BATCH_SOAK)


def eight() -> tuple[Run, ChangeRequest]:
    """Eight OSDs on four hosts, in the batches 0 | 1 | 2,3 | 4,5 | 6,7."""
    run = Run(FakeCluster(osds=8, per_host=2))
    request = set_profile(run.cluster, controls=(7, 6, 5, 4))
    fields = {**vars(request), 'batches': in_batches(request.order, run.cluster.places)}
    return run, ChangeRequest(**fields)


def watching(number: int) -> object:
    def reached(state: RolloutState) -> bool:
        batch = watched_batch(state)
        return batch is not None and batch.number == number

    return reached


def changed(run: Run) -> set[int]:
    return {n for n in run.cluster.osds if run.cluster.runs(n) == NEW}


# -- which batches


@pytest.mark.parametrize(
    'wrong', [((0, 1), (2,)), ((0,), (2, 1)), ((0,), (1,)), ((0,), (), (1, 2)), ((1,), (0, 2))]
)
def test_batches_that_contradict_the_order_are_refused(wrong: tuple[tuple[int, ...], ...]) -> None:
    run = Run()
    with pytest.raises(OperationRefused, match='the batches do not hold the OSDs in their order'):
        run.start(set_profile(run.cluster, batches=wrong))


# -- watching them


def test_every_batch_is_judged_before_the_next_starts() -> None:
    run, request = eight()
    run.start(request, SOAK)
    done: set[int] = set()
    for number, piece in enumerate(request.batches):
        run.until(watching(number), within_s=4000)  # type: ignore[arg-type]
        done |= set(piece)
        assert changed(run) == done
        shown = batches(run.state)[number]
        assert (shown.osds, shown.phase) == (piece, Phase.SOAKING)
    state = run.run_to_end()
    assert state.phase is Phase.DONE
    assert state.verdicts == (*[Verdict.NO_WORSE] * 4, Verdict.INCONCLUSIVE)
    assert {batch.phase for batch in batches(state)} == {Phase.DONE}
    assert run.cluster.entries_of() == {ALL: NEW}
    assert not run.store.keys(EVIDENCE)


def test_baseline_of_a_batch_takes_no_additional_time() -> None:
    """It was measured, unchanged, while the one before it was watched."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(lambda state: len(state.verdicts) == 1)
    began_s = run.cluster.now_s
    run.until(lambda state: state.osds[1].step.value != 'pending')
    assert run.cluster.now_s - began_s < 10
    run.until(lambda state: len(state.verdicts) == 2)
    assert run.state.verdicts[1] is Verdict.NO_WORSE


def test_worsening_that_shows_only_in_a_batch_rolls_back_everything() -> None:
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(2))  # type: ignore[arg-type]
    run.clients.slow = {2, 3}
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    assert 'the verdict on batch 3 (2-3): worse: client write latency +' in (state.failure or '')
    assert changed(run) == set()
    assert run.cluster.entries_of() == {}
    # The canary's verdict is unchanged; that of the batch is shown separately.
    assert state.verdict is Verdict.NO_WORSE
    assert [b.verdict for b in batches(state)] == [
        Verdict.NO_WORSE,
        Verdict.NO_WORSE,
        Verdict.WORSE,
        None,
        None,
    ]
    # Those that were never changed were never restarted.
    assert [run.cluster.osds[n].boots for n in (4, 5, 6, 7)] == [1, 1, 1, 1]


@pytest.mark.parametrize('number', [2, 4])
def test_crash_in_any_watched_batch_is_an_immediate_failure(number: int) -> None:
    """Also in the last, which has nothing to be compared with."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(number), within_s=6000)  # type: ignore[arg-type]
    run.cluster.restart_by_hand(request.batches[number][1])
    state = run.run_to_end()
    assert state.phase is Phase.ROLLED_BACK
    assert f'the process of osd.{request.batches[number][1]} exited' in (state.failure or '')
    assert changed(run) == set()


@pytest.mark.parametrize('number', [1, 2, 4])
def test_down_osd_of_a_watched_batch_is_started_first(number: int) -> None:
    """The others come before it in the order, and may not be restarted while it is down."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(number), within_s=6000)  # type: ignore[arg-type]
    dead = request.batches[number][-1]
    asked: list[str] = []
    run.cluster.on_command = lambda command: asked.append(command) if 'orch' in command else None
    run.cluster.stop_osd(dead)
    state = run.run_to_end()
    assert state.phase is Phase.ROLLED_BACK
    assert f'osd.{dead}' in asked[0]
    assert not run.cluster.down
    assert changed(run) == set()


def test_osd_that_dies_during_rollback_before_its_turn_is_started_at_once() -> None:
    """Nor does the one whose turn it is wait for placement groups that it holds unclean."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(2))  # type: ignore[arg-type]
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda state: state.osds[0].step is OsdStep.SETTLING)
    assert run.state.osds[2].step is OsdStep.RESTART_DUE
    run.cluster.stop_osd(request.order[2])
    run.until(lambda state: state.osds[2].step is OsdStep.RESTARTING, within_s=60)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert not run.cluster.down
    assert changed(run) == set()


def test_missing_restart_does_not_delay_the_start_of_a_down_osd() -> None:
    """The orchestrator took the wrong one; while another is down the gates are closed to it."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(1))  # type: ignore[arg-type]
    dead, never = request.order[0], request.order[2]
    run.cluster.orchestrator_idle = True
    run.until(lambda state: state.osds[2].step is OsdStep.RESTARTING, within_s=6000)
    assert run.state.osds[2].osd_id == never
    run.cluster.orchestrator_idle = False
    run.cluster.stop_osd(dead)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert not run.cluster.down
    assert changed(run) == set()


def test_batch_without_load_waits_for_clients_or_the_operator() -> None:
    """Missing data is no pass, though a batch passes without a verdict."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(lambda state: state.promoted)
    run.clients.writes_per_s = 0
    run.to_a_wait('the verdict on batch 2 (1) is no-data')
    for _ in range(900):
        run.tick()
    assert changed(run) == {0, 1}
    run.clients.writes_per_s = 100
    state = run.run_to_end(within_s=9000)
    assert state.phase is Phase.DONE
    assert Verdict.NO_DATA not in state.verdicts


def test_silent_osd_of_an_earlier_batch_holds_the_next_one() -> None:
    run, request = eight()
    run.start(request, SOAK)
    run.until(lambda state: len(state.verdicts) == 2)
    run.clients.silent.add(1)
    state = run.to_a_wait('no current samples of OSD 1:')
    for _ in range(900):
        run.tick()
    assert changed(run) == {n for n, osd in state.by_id.items() if osd.step is OsdStep.VERIFIED}
    run.clients.silent.clear()
    assert run.run_to_end(within_s=9000).phase is Phase.DONE


def test_last_batch_without_controls_passes_only_with_current_samples() -> None:
    """It has no verdict, and is watched for crashes only."""
    run, request = eight()
    run.start(request, SOAK)
    last = len(request.batches) - 1
    run.until(watching(last), within_s=9000)  # type: ignore[arg-type]
    silent = request.batches[last][-1]
    run.clients.silent.add(silent)
    run.to_a_wait(f'no current samples of OSD {silent}:')
    for _ in range(900):
        run.tick()
    assert len(run.state.verdicts) == last
    run.clients.silent.clear()
    assert run.run_to_end().phase is Phase.DONE


def test_policy_may_require_the_operator_for_each_batch() -> None:
    run, request = eight()
    run.start(request, SoakPlan(240.0, 600.0, batches=SoakPlan(240.0, 480.0, Inconclusive.WAIT)))
    run.until(watching(1))  # type: ignore[arg-type]
    run.clients.writes_per_s = 0
    state = run.to_a_wait('the verdict on batch 2 (1) is')
    assert changed(run) == {0, 1}
    assert state.batch_judgement is not None
    run.driver.resume(run.cluster.now_s)
    run.until(lambda state: len(state.verdicts) == 2)
    run.clients.writes_per_s = 100
    run.to_a_wait('the verdict on batch 3 (2-3) is')


def test_policy_may_roll_back_a_batch_without_a_verdict() -> None:
    run, request = eight()
    run.start(
        request, SoakPlan(240.0, 600.0, batches=SoakPlan(240.0, 480.0, Inconclusive.ROLLBACK))
    )
    run.until(watching(1))  # type: ignore[arg-type]
    run.clients.noise = 0.9
    state = run.run_to_end()
    assert state.phase is Phase.ROLLED_BACK
    assert 'rolled back by the policy, missing:' in (state.failure or '')


def test_batches_follow_immediately_if_their_soak_is_disabled() -> None:
    run, request = eight()
    run.start(request, SoakPlan(240.0, 600.0, batches=SoakPlan()))
    run.until(lambda state: state.promoted)
    began_s = run.cluster.now_s
    state = run.run_to_end()
    assert (state.phase, state.verdicts) == (Phase.DONE, (Verdict.NO_WORSE,))
    assert run.cluster.now_s - began_s < 7 * 60


def test_batch_waiting_for_the_maintenance_window_is_still_measured() -> None:
    """Its baseline is not a week old then."""
    run, request = eight()
    run.start(request, SOAK)
    run.until(watching(0))  # type: ignore[arg-type]
    run.outside_window = 'outside the maintenance window'
    run.to_a_wait('outside the maintenance window', within_s=2000)
    # Something that lasts happens to one of its controls meanwhile.
    run.clients.slow = {7, 6}
    for _ in range(2200):
        run.tick()
    run.outside_window = None
    run.until(lambda state: len(state.verdicts) == 2)
    assert run.state.verdicts[1] is Verdict.NO_WORSE


def test_manager_taking_over_between_batches_continues_with_the_measurements() -> None:
    run, request = eight()
    run.start(request, SOAK)
    run.until(lambda state: len(state.verdicts) == 1 and state.osds[1].step.value == 'restarting')
    assert run.store.keys(EVIDENCE)
    run.fail_over()
    run.until(lambda state: len(state.verdicts) == 2)
    assert run.state.verdicts[1] is Verdict.NO_WORSE

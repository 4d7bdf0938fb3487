"""The canary and each batch are compared with OSDs that were not changed, and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import pytest

from rocksdb_tuner.judge.evidence import Block, fresh
from rocksdb_tuner.judge.records import Inconclusive, SoakPlan, Verdict
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_failed, why_waiting
from rocksdb_tuner.operations.rollout.records import RolloutState, batches, watched_batch
from rocksdb_tuner.operations.rollout.storage import EVIDENCE
from rocksdb_tuner.plan.order import in_batches
from rocksdb_tuner.plan.records import ChangeRequest, Purpose
from rocksdb_tuner.present import views
from rocksdb_tuner.present.operations import next_step_of
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.present.samples import operating

from .conftest import ALL, NEW, Run, set_profile
from .one_step import FORWARD, PENDING, SOAK

NO_WORSE = Verdict.NO_WORSE


def soaking(state: RolloutState) -> bool:
    return state.phase is Phase.SOAKING


def canary_started(state: RolloutState) -> bool:
    return state.osds[0].step is not PENDING


def changed(run: Run) -> set[int]:
    return {n for n in run.cluster.osds if run.cluster.runs(n) == NEW}


def rollout_text(state: RolloutState) -> str:
    return views.show('operation', operating(state), 'plain')


def unchanged_again(run: Run) -> bool:
    state = run.state
    ends = (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    return ends and run.cluster.entries_of() == {} and not changed(run)


def test_change_without_the_expected_gain_is_rolled_back_with_the_reason(run: Run) -> None:
    """Nothing got worse, which was not what was promised."""
    gain = {'purpose': Purpose.GAIN, 'promised': 'op_w_latency_ms'}
    run.start(set_profile(run.cluster, prediction='IOPS: +0 to +20%', **gain), SOAK)
    state = run.run_to_end()
    assert unchanged_again(run)
    assert state.verdict is NO_WORSE
    reported = state.failure or ''
    assert 'osd.0 is no worse, but no gain was measured (measured: client' in reported
    assert 'predicted: IOPS: +0 to +20%' in reported
    assert run.cluster.osds[1].boots == 1
    assert any(reported in text for text, warning in run.cluster.logged if warning)
    (recorded,) = run.driver.history
    assert (recorded.outcome, recorded.reason) == (Outcome.ROLLED_BACK, reported)
    # The operator has nothing to do.
    assert why_failed(state) is None


def test_worsening_fails_and_is_rolled_back_automatically(run: Run) -> None:
    run.clients.factor = 1.25
    run.start(soak=SOAK)
    state = run.run_to_end()
    assert unchanged_again(run)
    assert state.verdict is Verdict.WORSE
    assert 'rolled back by the verdict: worse: client write latency +2' in (state.failure or '')
    assert run.cluster.osds[1].boots == 1


@pytest.mark.parametrize('silent', [0, 2])
def test_no_osd_starts_without_samples_of_canary_and_controls(run: Run, silent: int) -> None:
    """Neither the canary, nor one after it, whatever the policy says."""
    run.clients.silent.add(silent)
    run.start(soak=replace(SOAK, inconclusive=Inconclusive.PROMOTE))
    state = run.to_a_wait(f'no current samples of OSD {silent}: it continues once they report')
    assert state.phase is Phase.WAITING
    assert '"ceph rocksdb-tuner doctor" shows what is missing' in rollout_text(state)
    assert str(state.paused_reason) in str(why_waiting(state, 3600.0))
    run.ticks(900)
    assert not run.cluster.commands
    # The baseline begins anew: none was measured.
    run.clients.silent.clear()
    run.until(soaking)
    run.clients.silent.add(silent)
    run.ticks(900)
    assert changed(run) == {0}
    run.clients.silent.clear()
    assert run.run_to_end().phase is Phase.DONE


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


# -- after the canary the others follow in batches, each of which is watched before the next


class InBatches(Run):
    """Eight OSDs on four hosts, in the batches 0 | 1 | 2,3 | 4,5 | 6,7."""

    def __init__(self) -> None:
        super().__init__(FakeCluster(osds=8, per_host=2))
        request = set_profile(self.cluster, controls=(7, 6, 5, 4))
        self.pieces = in_batches(request.order, self.cluster.places)
        fields: dict[str, Any] = {**vars(request), 'batches': self.pieces}
        then = SoakPlan(240.0, 480.0, Inconclusive.PROMOTE)
        self.start(ChangeRequest(**fields), SoakPlan(240.0, 600.0, batches=then))

    def watch(self, number: int) -> None:
        """Until that batch is."""

        def reached(state: RolloutState) -> bool:
            batch = watched_batch(state)
            return batch is not None and batch.number == number

        self.until(reached)


@pytest.fixture
def in_pieces() -> InBatches:
    return InBatches()


def test_every_batch_is_judged_before_the_next_starts(in_pieces: InBatches) -> None:
    run, done = in_pieces, set[int]()
    for number, piece in enumerate(run.pieces):
        run.watch(number)
        done |= set(piece)
        assert changed(run) == done
        shown = batches(run.state)[number]
        assert (shown.osds, shown.phase) == (piece, Phase.SOAKING)
    state = run.run_to_end()
    assert state.phase is Phase.DONE
    assert state.verdicts == (*[NO_WORSE] * 4, Verdict.INCONCLUSIVE)
    assert {batch.phase for batch in batches(state)} == {Phase.DONE}
    assert run.cluster.entries_of() == {ALL: NEW}
    assert not run.store.keys(EVIDENCE)


def test_worsening_that_shows_only_in_a_batch_rolls_back_everything(in_pieces: InBatches) -> None:
    run = in_pieces
    run.watch(2)
    run.clients.slow = {2, 3}
    state = run.run_to_end()
    assert unchanged_again(run)
    assert 'the verdict on batch 3 (2-3): worse: client write latency +' in (state.failure or '')
    # The canary's verdict is unchanged; that of the batch is shown separately.
    assert state.verdict is NO_WORSE
    shown = [batch.verdict for batch in batches(state)]
    assert shown == [NO_WORSE, NO_WORSE, Verdict.WORSE, None, None]
    # Those that were never changed were never restarted.
    assert [run.cluster.osds[n].boots for n in (4, 5, 6, 7)] == [1, 1, 1, 1]


@pytest.mark.parametrize('number', [1, 2, 4])
def test_down_osd_of_a_watched_batch_is_started_first(in_pieces: InBatches, number: int) -> None:
    """The others come before it in the order, and may not be restarted while it is down."""
    run = in_pieces
    run.watch(number)
    dead = run.pieces[number][-1]
    asked: list[str] = []
    run.cluster.on_command = lambda command: asked.append(command) if 'orch' in command else None
    run.cluster.stop_osd(dead)
    run.run_to_end()
    assert f'osd.{dead}' in asked[0]
    assert unchanged_again(run)
    assert not run.cluster.down


# -- days pass

Hold = Callable[[Run], Callable[[], object]]


def gate(run: Run) -> Callable[[], object]:
    run.cluster.flags.add('noout')
    return lambda: run.cluster.flags.discard('noout')


def pause(run: Run) -> Callable[[], object]:
    run.driver.pause('client.ann', run.cluster.now_s)
    return lambda: run.driver.resume(run.cluster.now_s)


def mode_off(run: Run) -> Callable[[], object]:
    run.may_act = False
    return lambda: setattr(run, 'may_act', True)


def failover(run: Run) -> Callable[[], object]:
    return run.fail_over


def days_pass(run: Run, hold: Hold) -> None:
    """Three days in which the rollout is held, and after which osd.0 is no slower than others."""
    release, days_s = hold(run), 3 * 86400.0
    run.ticks(5)
    run.cluster.advance(days_s)
    run.clients.write(days_s)
    run.clients.slow.clear()
    release()


@pytest.mark.parametrize('hold', [gate, pause, mode_off, failover])
def test_days_between_baseline_and_change_hide_no_worsening(run: Run, hold: Hold) -> None:
    """osd.0 was slower when it was measured, and is again: now by the change."""
    run.clients.slow, run.clients.factor = {0}, 1.5
    run.start(soak=SOAK)
    run.until(lambda state: state.baseline_s >= 240)
    days_pass(run, hold)
    # It is measured again, and says so.
    began_s = run.cluster.now_s
    state = run.until(lambda state: 0 < state.baseline_s <= 30)
    assert 'the baseline of osd.0, after 30s of 5m' in rollout_text(state)
    run.until(canary_started)
    assert run.cluster.now_s - began_s >= SOAK.least_s
    assert run.run_to_end().verdict is Verdict.WORSE
    assert unchanged_again(run)


def test_days_in_the_middle_of_the_change_give_no_pass(run: Run) -> None:
    """The baseline cannot be measured again, and the operator decides."""
    run.clients.slow, run.clients.factor = {0}, 1.5
    run.start(soak=SOAK)
    run.until(canary_started)
    days_pass(run, gate)
    state = run.to_a_wait('the verdict on osd.0 is inconclusive')
    assert 'missing: a baseline from shortly before' in (state.paused_reason or '')
    assert changed(run) == {0}


def test_days_between_two_batches_measure_the_next_again(in_pieces: InBatches) -> None:
    run = in_pieces
    run.watch(0)
    run.clients.slow = {1}
    release = gate(run)
    run.until(lambda state: len(state.verdicts) == 1)
    release()
    days_pass(run, gate)
    state = run.until(lambda state: 0 < state.baseline_s <= 30)
    assert state.by_id[1].step is PENDING
    assert 'wait for the baseline of osd.1, after 30s of 4m' in str(next_step_of(state))
    run.clients.factor = 1.5
    run.until(lambda state: state.direction is not FORWARD)
    assert run.state.verdicts == (NO_WORSE,)


@pytest.mark.parametrize('jump_s', [86400.0, -86400.0])
def test_set_clock_changes_neither_the_baseline_nor_the_verdict(run: Run, jump_s: float) -> None:
    """Before the change of the canary, and in its soak."""
    run.start(soak=SOAK)
    run.until(lambda state: state.baseline_s >= 240)
    run.clock_offset_s += jump_s
    run.tick()
    assert run.state.baseline_s >= 240
    run.until(lambda state: state.soaked_s >= 60)
    run.clock_offset_s -= jump_s
    assert run.until(lambda state: state.promoted).verdict is NO_WORSE


def test_baseline_of_a_closed_window_is_stored_once(run: Run) -> None:
    """It stays fresh all night, and the store is not written every 30 s."""
    written: list[str] = []
    run.outside_window = 'outside the maintenance window'
    run.start(soak=SOAK)
    run.to_a_wait('outside the maintenance window')
    run.store.on_set = lambda key: written.append(key) if key.startswith(EVIDENCE) else None
    run.ticks(1800)
    assert written == []
    run.outside_window = None
    run.tick()
    assert canary_started(run.state)
    assert written == [EVIDENCE + '0']
    # Another manager has it.
    run.fail_over()
    assert run.until(lambda state: state.promoted).verdict is NO_WORSE


def test_block_of_unknown_age_or_of_the_future_is_not_fresh() -> None:
    blocks = tuple(Block({}, end_s) for end_s in (None, 899.0, 900.0, 1000.0, 1100.0, 1101.0))
    assert fresh(blocks, 1000.0, 100.0) == blocks[2:5]

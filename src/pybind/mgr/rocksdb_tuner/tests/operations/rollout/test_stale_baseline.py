"""A verdict compares with a baseline from shortly before the change, not with one of days ago."""

from __future__ import annotations

from typing import Callable

import pytest

from rocksdb_tuner.judge.evidence import Block, fresh
from rocksdb_tuner.judge.records import SoakPlan, Verdict
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.storage import EVIDENCE
from rocksdb_tuner.present.operations import next_step_of

from .conftest import Run
from .test_soak import SOAK, changed, eight, rollout_text, watching
from .test_soak import SOAK_BATCHES as IN_BATCHES

DAYS_S = 3 * 86400.0


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


def days_pass(run: Run, hold: Callable[[Run], Callable[[], object]]) -> None:
    """Three days in which the rollout is held, and after which osd.0 is no slower than others."""
    release = hold(run)
    for _ in range(5):
        run.tick()
    run.cluster.advance(DAYS_S)
    run.clients.write(DAYS_S)
    run.clients.slow.clear()
    release()


HOLDS = pytest.mark.parametrize('hold', [gate, pause, mode_off, failover])


@HOLDS
def test_days_between_baseline_and_change_hide_no_worsening(
    run: Run, hold: Callable[[Run], Callable[[], object]]
) -> None:
    """osd.0 was slower when it was measured, and is again: now by the change."""
    run.clients.slow, run.clients.factor = {0}, 1.5
    run.start(soak=SOAK)
    run.until(lambda state: state.baseline_s >= 240)
    days_pass(run, hold)
    # It is measured again, and says so.
    began_s = run.cluster.now_s
    state = run.until(lambda state: 0 < state.baseline_s <= 30)
    assert 'measuring the baseline of osd.0, 30s of 5m' in rollout_text(state)
    run.until(lambda state: state.osds[0].step is not OsdStep.PENDING)
    assert run.cluster.now_s - began_s >= SOAK.least_s
    assert run.run_to_end().verdict is Verdict.WORSE
    assert changed(run) == set()


def test_days_in_the_middle_of_the_change_give_no_pass(run: Run) -> None:
    """The baseline cannot be measured again, and the operator decides."""
    run.clients.slow, run.clients.factor = {0}, 1.5
    run.start(soak=SOAK)
    run.until(lambda state: state.osds[0].step is not OsdStep.PENDING)
    days_pass(run, gate)
    state = run.to_a_wait('the verdict on osd.0 is inconclusive')
    assert 'missing: a baseline from shortly before' in (state.paused_reason or '')
    assert changed(run) == {0}


def test_days_between_two_batches_measure_the_next_again() -> None:
    run, request = eight()
    run.start(request, IN_BATCHES)
    run.until(watching(0))  # type: ignore[arg-type]
    run.clients.slow = {1}
    release = gate(run)
    run.until(lambda state: len(state.verdicts) == 1)
    release()
    days_pass(run, gate)
    state = run.until(lambda state: 0 < state.baseline_s <= 30)
    assert state.by_id[1].step is OsdStep.PENDING
    assert 'wait for the baseline of osd.1, after 30s of 4m' in str(next_step_of(state))
    run.clients.factor = 1.5
    run.until(lambda state: state.direction.value != 'forward', within_s=4000)
    assert run.state.verdicts == (Verdict.NO_WORSE,)


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
    assert run.until(lambda state: state.promoted).verdict is Verdict.NO_WORSE


def test_baseline_of_a_closed_window_is_stored_once(run: Run) -> None:
    """It stays fresh all night, and the store is not written every 30 s."""
    written: list[str] = []
    run.outside_window = 'outside the maintenance window'
    run.start(soak=SOAK)
    run.to_a_wait('outside the maintenance window')
    run.store.on_set = lambda key: written.append(key) if key.startswith(EVIDENCE) else None
    for _ in range(1800):
        run.tick()
    assert written == []
    run.outside_window = None
    run.tick()
    assert run.state.osds[0].step is not OsdStep.PENDING
    assert written == [EVIDENCE + '0']
    # Another manager has it.
    run.fail_over()
    assert run.until(lambda state: state.promoted).verdict is Verdict.NO_WORSE


def test_block_of_unknown_age_or_of_the_future_is_not_fresh() -> None:
    blocks = tuple(Block({}, end_s) for end_s in (None, 899.0, 900.0, 1000.0, 1100.0, 1101.0))
    assert fresh(blocks, 1000.0, 100.0) == blocks[2:5]


@pytest.mark.parametrize('soak', [SoakPlan(240.0, 600.0), SoakPlan(1200.0, 2400.0)])
def test_baseline_is_complete_though_ticks_are_rarer_than_its_blocks(
    run: Run, soak: SoakPlan
) -> None:
    run.start(soak=soak)
    for _ in range(40):
        run.tick(90.0)
        if run.state.osds[0].step is not OsdStep.PENDING:
            return
    assert run.state.baseline_s >= soak.least_s

"""How experiments end: by what they find, by failures, and by OSDs that leave or are overruled."""

from __future__ import annotations

from typing import Callable

import pytest

from rocksdb_tuner.judge.arms import Answer, Conclusion
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster

from .conftest import (
    SLOW,
    ExperimentRun,
    at_step,
    changing,
    crashed,
    dropped,
    dropping,
    measuring,
    plan,
    restored,
    restoring,
)

OPERATORS = 'write_buffer_size=33554432'
#: The last OSD to be restored.
LAST = 6


def found(run: ExperimentRun) -> Conclusion:
    conclusion = run.finish().conclusion
    assert conclusion is not None
    return conclusion


# -- what it finds


def test_better_string_is_found_and_everything_restored(run: ExperimentRun) -> None:
    """The worse arm ends early, the better one wins, and no entry is left."""
    run.begin()
    conclusion = found(run)
    assert (conclusion.answer, conclusion.winner) == (Answer.WINNER, 'fast')
    assert (run.now.outcome, dropped(run.now)) == (Outcome.DONE, ['slow'])
    assert (run.cluster.entries_of(), set(run.running)) == ({}, {DEFAULTS['pacific']})
    run.tick()
    assert [state.experiment_id for state in run.winners] == ['E1']
    assert [record.rollout_id for record in run.driver.history] == ['E1']


def no_writes(run: ExperimentRun) -> None:
    """Nothing is measured, and the plan is followed to its end."""
    run.clients.writes_per_s = 0
    run.begin(plan(blocks=1))


def no_time(run: ExperimentRun) -> None:
    run.begin(plan(blocks=50, max_duration_s=120.0))


def closed_window(run: ExperimentRun) -> None:
    run.begun(changing, max_duration_s=900.0)
    run.outside_window = 'outside the maintenance window'


@pytest.mark.parametrize('begin', [no_writes, no_time, closed_window])
def test_experiment_without_a_result_ends_in_its_time(
    run: ExperimentRun, begin: Callable[[ExperimentRun], None]
) -> None:
    begin(run)
    assert found(run).answer is Answer.UNCLEAR
    assert (run.now.outcome, restored(run)) == (Outcome.DONE, True)
    assert (run.now.legs == 0) is (begin is no_time)


def test_worse_arm_is_restored_while_the_others_are_measured(run: ExperimentRun) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begun(lambda state: bool(dropped(state)), blocks=12, min_effect=0.001)
    (slow,) = [arm for arm in run.now.arms if arm.dropped]
    assert slow.name == 'slow'
    assert str(slow.why_dropped).startswith('worse: ')
    run.come_to(dropping)
    state = run.come_to(lambda state: state.leg is None)
    assert measuring(state)
    assert state.changed == {0, 3, 2, 6}
    assert {run.cluster.runs(n) for n in (1, 4)} == {DEFAULTS['pacific']}
    run.finish()
    assert restored(run)


def test_experiment_ends_once_every_arm_was_dropped(run: ExperimentRun) -> None:
    """In the first block, which concludes nothing else."""
    run.clients.factors = {SLOW: 3.0}
    controls = (0, 2, 3, 5, 7, 8)
    run.begin(plan(('slow',), columns=((1, 4),), controls=controls, blocks=12))
    assert found(run).answer is Answer.NO_GAIN
    assert (dropped(run.now), run.now.arms[0].dropped_after) == (['slow'], 1)
    assert (run.now.outcome, restored(run)) == (Outcome.DONE, True)


# -- failures


def two_changed(state: ExperimentState) -> bool:
    steps = () if state.leg is None else [osd.step for osd in state.leg.osds]
    return changing(state) and steps.count(OsdStep.VERIFIED) == 2


def third_settles(state: ExperimentState) -> bool:
    return two_changed(state) and at_step(state, OsdStep.SETTLING)


def measured_once(state: ExperimentState) -> bool:
    return measuring(state) and state.blocks > 0


def by_hand(*osd_ids: int) -> Callable[[FakeCluster], None]:
    def restarted(cluster: FakeCluster) -> None:
        for n in osd_ids:
            cluster.restart_by_hand(n)

    return restarted


CRASH = 'the process of {} exited unexpectedly'
PURGED = '{} was removed from the cluster'


@pytest.mark.parametrize(
    ('when', 'what', 'failure', 'arms', 'away'),
    [
        # While others are changed, while arms are measured, and while one is dropped.
        *(
            (when, lambda cluster: cluster.stop_osd(0), CRASH.format('osd.0'), ['fast'], ())
            for when in (two_changed, measuring, dropping)
        ),
        # All OSDs of the arm together, but none outside of it: no host was rebooted.
        (measuring, by_hand(0, 3), CRASH.format('osd.0, osd.3'), ['fast'], ()),
        # The reboot of a host; while others are changed, osd.0 has its arm and osd.2 settles.
        (measured_once, by_hand(3, 4, 5), 'osd.3 restarted together with other OSDs', [], ()),
        (third_settles, by_hand(0, 1, 2, 7, 8), 'osd.0', [], ()),
        # An OSD of an arm as well as a control: the plan no longer matches the cluster.
        (measuring, lambda cluster: cluster.purge(3), PURGED.format('osd.3'), [], ()),
        (measuring, lambda cluster: cluster.purge(7), PURGED.format('osd.7'), [], ()),
        (measuring, lambda c: c.recreate(3), 'osd.3 was removed and recreated', [], (3,)),
        # Awaited first.
        (measuring, lambda cluster: cluster.mark_out(7), 'osd.7 is down and out', [], (7,)),
    ],
)
def test_what_happens_to_an_osd_ends_the_experiment(
    run: ExperimentRun,
    when: Callable[[ExperimentState], bool],
    what: Callable[[FakeCluster], None],
    failure: str,
    arms: list[str],
    away: tuple[int, ...],
) -> None:
    """A crash is told from a reboot and from an OSD that left; the others are restored."""
    if when is dropping:
        run.clients.factors = {SLOW: 3.0}
    run.begun(when, blocks=12, min_effect=0.0001)
    run.tick()
    what(run.cluster)
    state = run.finish()
    assert (state.outcome, crashed(state)) == (Outcome.FAILED, arms)
    assert run.why.startswith(failure)
    conclusion = state.conclusion
    assert (conclusion is not None and conclusion.answer is Answer.FAILED) == bool(arms)
    assert conclusion is None or conclusion.winner is None
    assert run.cluster.entries_of() == {}
    assert restored(run, *away)


def test_osd_that_does_not_start_ends_arm_and_experiment(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == SLOW
    run.begin()
    assert found(run).answer is Answer.FAILED
    assert (run.now.stage, run.now.outcome) == (Stage.FAILED, Outcome.FAILED)
    assert crashed(run.now) == ['slow']
    assert 'did not come back up' in run.why
    assert restored(run)


def test_osd_without_effect_ends_the_experiment_and_is_no_crash(run: ExperimentRun) -> None:
    run.begun(lambda state: at_step(state, OsdStep.RESTARTING))
    run.cluster.osds[0].stubborn = RunningOption(DEFAULTS['pacific'], 'mon', ignores_mon=False)
    run.come_to(lambda state: state.ending is not None or state.ended)
    run.cluster.osds[0].stubborn = None
    state = run.finish()
    assert (state.outcome, crashed(state)) == (Outcome.FAILED, [])
    assert 'without effect' in run.why


@pytest.mark.parametrize('changed', [True, False])
def test_osd_upgraded_during_an_experiment_ends_it(run: ExperimentRun, changed: bool) -> None:
    """A control while it is measured, or an OSD that is still to be changed."""
    osd_id = 8 if changed else LAST
    run.begun(measuring if changed else changing, blocks=9)
    if not changed:
        run.outside_window = 'closed'
        run.come_to(lambda state: state.paused_reason == 'closed')
    run.cluster.osds[osd_id].release = 'reef'
    # Nothing is restarted while an upgrade is under way.
    run.come_to(lambda state: state.stage is Stage.RESTORING or state.ended)
    run.cluster.osds[osd_id].release = 'pacific'
    assert run.finish().outcome is Outcome.FAILED
    assert f'osd.{osd_id} now runs reef' in run.why
    assert restored(run)


def test_osd_with_options_from_another_source_ends_the_experiment(run: ExperimentRun) -> None:
    run.begun(lambda state: at_step(state, OsdStep.SETTLING))
    second = run.leg.request.order[1]
    elsewhere = RunningOption(OPERATORS, 'file', ignores_mon=True)
    run.cluster.osds[second].shown[OPTION] = run.cluster.osds[second].reported[OPTION] = elsewhere
    assert run.finish().outcome is Outcome.FAILED
    assert f'osd.{second} comes from its ceph.conf' in run.why


def test_nothing_is_measured_while_an_osd_is_down_from_the_first_sample_on(
    run: ExperimentRun,
) -> None:
    """Before placement groups are reported as degraded, in the baseline as later."""
    run.begin(plan(blocks=9))
    for stage in (Stage.BASELINE, Stage.MEASURING):
        run.come_to(lambda state, stage=stage: state.stage is stage)  # type: ignore[misc]
        run.cluster.stop_osd(7)
        run.tick()
        assert run.now.paused_reason == 'osd.7 is down'
        run.cluster.start_osd(7)
        run.come_to(lambda state: state.paused_reason is None)


# -- OSDs that their ceph.conf overrules


def overrule(run: ExperimentRun, osd_id: int) -> None:
    """From its next start on."""
    run.cluster.osds[osd_id].conf_file[OPTION] = OPERATORS


def restarts(run: ExperimentRun, osd_id: int) -> int:
    return run.cluster.commands.count(f'ceph orch daemon restart osd.{osd_id}')


NOT_BACK = 'osd.{} was restarted during the rollback'


def test_an_overruled_osd_is_restarted_once_on_the_way_back(run: ExperimentRun) -> None:
    """Another restart would change nothing; the experiment fails and says what the OSD runs."""
    run.begun(measuring, blocks=9)
    overrule(run, LAST)
    before = restarts(run, LAST)
    run.abort_it()
    assert run.finish().outcome is Outcome.ABORTED
    assert restarts(run, LAST) == before + 1
    assert f'{NOT_BACK.format(LAST)}, but it runs {OPERATORS} (source file)' in run.why
    assert restored(run, LAST)
    assert f'osd.{LAST}' not in run.cluster.entries_of()


def test_an_osd_that_did_not_come_back_and_is_overruled_ends_the_experiment(
    run: ExperimentRun,
) -> None:
    """Its recovery restarts it once; why its arm failed stands first."""
    run.begun(lambda state: at_step(state, OsdStep.SETTLING))
    first = run.leg.request.order[0]
    overrule(run, first)
    run.cluster.osds[first].broken = True
    run.cluster.stop_osd(first)
    run.come_to(lambda state: state.leg is not None and state.leg.direction is Direction.RECOVER)
    run.cluster.osds[first].broken = False
    state = run.finish()
    assert (state.outcome, crashed(state), state.legs) == (Outcome.FAILED, ['fast'], 1)
    cause, then = run.why.split('; ', 1)
    assert cause.startswith(f'osd.{first} did not come back up')
    assert then.startswith(NOT_BACK.format(first))
    assert restored(run, first)


def test_an_overruled_osd_of_a_dropped_arm_fails_the_experiment(run: ExperimentRun) -> None:
    """The last of the arm is overruled: the others of the experiment are restored too."""
    run.clients.factors = {SLOW: 3.0}
    run.begun(dropping, blocks=12, min_effect=0.001)
    last = run.leg.request.order[-1]
    overrule(run, last)
    assert run.finish().outcome is Outcome.FAILED
    assert NOT_BACK.format(last) in run.why
    assert restored(run, last)


def test_an_experiment_with_a_winner_fails_if_an_osd_does_not_run_its_old_options(
    run: ExperimentRun,
) -> None:
    """What was measured is kept."""
    run.begun(lambda state: state.ending is not None or restoring(state))
    overrule(run, LAST)
    assert (found(run).winner, run.now.outcome) == ('fast', Outcome.FAILED)
    assert run.why.startswith(NOT_BACK.format(LAST))


def test_an_osd_that_is_checked_for_its_arm_is_restored_after_an_operator_s_change(
    run: ExperimentRun,
) -> None:
    """It has the entry of its arm: nothing was restored yet."""
    run.begun(lambda state: at_step(state, OsdStep.CHECKING))
    first = run.leg.request.order[0]
    run.cluster.operator_sets(f'osd.{first}/class:ssd', OPERATORS)
    assert run.finish().outcome is Outcome.ABORTED
    assert f'osd.{first}' not in run.cluster.entries_of()


def test_others_wait_until_the_operator_corrects_an_overruled_osd(run: ExperimentRun) -> None:
    """Restoring goes on by itself afterwards."""
    run.begun(measuring, blocks=9)
    overrule(run, 0)
    run.abort_it()
    run.come_to(lambda state: 'correct it and restart the OSD' in (state.paused_reason or ''))
    assert restarts(run, 0) == 2
    del run.cluster.osds[0].conf_file[OPTION]
    run.cluster.restart_by_hand(0)
    assert run.finish().outcome is Outcome.ABORTED
    assert restored(run)

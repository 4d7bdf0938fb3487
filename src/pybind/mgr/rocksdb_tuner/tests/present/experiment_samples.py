"""Experiments in the states that answers must be able to show."""

from __future__ import annotations

from dataclasses import replace

from rocksdb_tuner.advise.experiment_plan import Question, plan_for
from rocksdb_tuner.judge.arms import Answer, Arm, Conclusion
from rocksdb_tuner.judge.records import Effect, Predicted, SignalVerdict
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage, with_arms
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Before, OsdBefore, OsdProgress, OsdStep
from rocksdb_tuner.plan.experiment_design import ExperimentPlan

from ..advise.experiment_builders import grounds
from .samples import LZ4, NOW_S, PACIFIC_DEFAULT

BEST, OTHER = 'lz4-64x16m-2025', 'merged'
MERGED = PACIFIC_DEFAULT.replace('to_merge=1', 'to_merge=2')
OBJECTIVE = 'kv_sync_ms_per_txn'
CONTROLS = (0, 3, 5, 6)


def possible() -> ExperimentPlan:
    return plan_for(Question(arms=('variant-2022-d', 'variant-2022-c')), grounds())


def impossible() -> ExperimentPlan:
    """Too few OSDs, so no arm has any."""
    return plan_for(Question(arms=('variant-2022-d', 'variant-2022-c')), grounds(share=0.1))


def plan() -> ExperimentPlan:
    return ExperimentPlan(
        who='osd/class:ssd',
        objective=OBJECTIVE,
        from_options=PACIFIC_DEFAULT,
        fill_s=120.0,
        release='pacific',
        workload='rbd-small-write',
        hardware='nvme',
        arms=(
            Arm(BEST, LZ4, Predicted('kv_sync thread time per write', -30.0, -10.0), osds=(1, 4)),
            Arm(OTHER, MERGED, osds=(2, 7)),
        ),
        controls=CONTROLS,
        blocks=6,
        settle_blocks=2,
        block_s=600.0,
        detectable_percent=8.123,
        unsafe_percent=14.2,
    )


def baseline() -> ExperimentState:
    """Nothing is changed yet."""
    changed = plan().changed
    ids = (*changed, *CONTROLS)
    return ExperimentState(
        experiment_id='E7',
        request=plan(),
        actor='client.admin',
        adopt=False,
        before=Before((), tuple(OsdBefore(n, PACIFIC_DEFAULT, 'default', 'pacific') for n in ids)),
        osds=tuple(map(OsdProgress, changed)),
        started_s=NOW_S - 9000,
        updated_s=NOW_S - 2,
        stage=Stage.BASELINE,
        blocks=2,
    )


def measuring() -> ExperimentState:
    """One arm was dropped."""
    started = baseline()
    signals = (
        SignalVerdict(OBJECTIVE, Effect.UNCLEAR, -12.5, -27.1, 4.3),
        SignalVerdict('op_w_latency_ms', Effect.SAME, -1.0, -5.0, 4.0),
        SignalVerdict('slow_ops', Effect.UNCLEAR),
    )
    worse = SignalVerdict(OBJECTIVE, Effect.WORSE, 31.0, 18.2, 45.9)
    best, other = started.arms
    other = replace(other, signals=(worse,), dropped_after=4)
    state = with_arms(started, (replace(best, signals=signals), other))
    return replace(
        state,
        osds=tuple(
            replace(osd, step=OsdStep.RESTORED if osd.osd_id in other.osds else OsdStep.VERIFIED)
            for osd in started.osds
        ),
        stage=Stage.MEASURING,
        legs=2,
        blocks=5,
    )


def paused() -> ExperimentState:
    return replace(measuring(), paused_by='client.admin', paused_reason='paused by client.admin')


def ended(answer: Answer = Answer.WINNER) -> ExperimentState:
    """Everything is restored."""
    state = measuring()
    won = answer is Answer.WINNER
    signals = (
        SignalVerdict(OBJECTIVE, Effect.BETTER, -12.5, -18.1, -6.3),
        SignalVerdict('slow_ops', Effect.UNCLEAR),
    )
    conclusion = Conclusion(
        answer,
        winner=BEST if won else None,
        runner_up=OTHER if won else None,
        ahead=won,
        within=0.07 if answer is Answer.NO_DIFFERENCE else None,
    )
    failed = answer is Answer.FAILED
    best, other = state.arms
    best = replace(best, signals=signals)
    state = with_arms(state, (best, replace(other, crashed=failed)))
    return replace(
        state,
        osds=tuple(replace(osd, step=OsdStep.RESTORED) for osd in state.osds),
        stage=Stage.FAILED if failed else Stage.DONE,
        conclusion=conclusion,
        outcome=Outcome.FAILED if failed else Outcome.DONE,
        failure='osd.2 did not come back within 300 s' if failed else None,
        ended_s=NOW_S - 5,
    )


def aborted() -> ExperimentState:
    return replace(
        ended(),
        stage=Stage.ABORTED,
        conclusion=None,
        outcome=Outcome.ABORTED,
        failure='aborted by client.admin',
    )


def all_states() -> dict[str, ExperimentState]:
    return {
        'baseline': baseline(),
        'measuring': measuring(),
        'paused': paused(),
        'changing': replace(measuring(), stage=Stage.CHANGING),
        'restoring': replace(measuring(), stage=Stage.RESTORING),
        'aborted': aborted(),
        **{answer.value: ended(answer) for answer in Answer},
    }

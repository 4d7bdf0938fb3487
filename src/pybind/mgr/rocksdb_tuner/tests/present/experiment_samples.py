"""Experiments in the states that answers must be able to show."""

from __future__ import annotations

import math
from dataclasses import replace

from rocksdb_tuner.advise.experiment_plan import PlannedExperiment, Question, plan_for
from rocksdb_tuner.judge.arms import Answer, ArmResult, Conclusion, Contrast
from rocksdb_tuner.judge.records import Effect, Predicted, SignalVerdict
from rocksdb_tuner.operations.experiment.records import (
    DroppedArm,
    ExperimentArm,
    ExperimentOsd,
    ExperimentRequest,
    ExperimentState,
    Stage,
)
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.records import Before, OsdBefore
from rocksdb_tuner.plan.experiment_design import ExperimentPlan

from ..advise.experiment_builders import grounds
from .samples import LZ4, NOW_S, PACIFIC_DEFAULT

BEST, OTHER = 'lz4-64x16m-2025', 'merged'
MERGED = PACIFIC_DEFAULT.replace('to_merge=1', 'to_merge=2')
OBJECTIVE = 'kv_sync_ms_per_txn'
CONTROLS = (0, 3, 5, 6)


def possible() -> PlannedExperiment:
    return plan_for(Question(arms=('variant-2022-d', 'variant-2022-c')), grounds())


def impossible() -> PlannedExperiment:
    """Too few OSDs, so no arm has any."""
    return plan_for(Question(arms=('variant-2022-d', 'variant-2022-c')), grounds(share=0.1))


def plan() -> ExperimentPlan:
    return ExperimentPlan(
        arms=((BEST, (1, 4)), (OTHER, (2, 7))),
        controls=CONTROLS,
        blocks=6,
        settle_blocks=2,
        block_s=600.0,
        detectable=0.08123,
        unsafe_detectable=0.142,
    )


def request() -> ExperimentRequest:
    return ExperimentRequest(
        who='osd/class:ssd',
        actor='client.admin',
        arms=(
            ExperimentArm(BEST, LZ4, Predicted('kv_sync thread time per write', -30.0, -10.0)),
            ExperimentArm(OTHER, MERGED),
        ),
        plan=plan(),
        objective=OBJECTIVE,
        min_effect=0.1,
        max_duration_s=43200.0,
        adopt=False,
        from_options=PACIFIC_DEFAULT,
        fill_s=120.0,
        release='pacific',
        workload='rbd-small-write',
        hardware='nvme',
    )


def contrast(*percents: float) -> Contrast:
    return Contrast(*(math.log1p(percent / 100) for percent in percents))


def baseline() -> ExperimentState:
    """Nothing is changed yet."""
    arms = {1: BEST, 2: OTHER, 4: BEST, 7: OTHER}
    ids = (*arms, *CONTROLS)
    return ExperimentState(
        experiment_id='E7',
        request=request(),
        before=Before((), tuple(OsdBefore(n, PACIFIC_DEFAULT, 'default', 'pacific') for n in ids)),
        osds=tuple(ExperimentOsd(n, arm) for n, arm in arms.items()),
        started_s=NOW_S - 9000,
        updated_s=NOW_S - 2,
        stage=Stage.BASELINE,
        blocks=2,
    )


def measuring() -> ExperimentState:
    """One arm was dropped."""
    started = baseline()
    signals = (
        SignalVerdict('op_w_latency_ms', Effect.SAME, -1.0, -5.0, 4.0),
        SignalVerdict(OBJECTIVE, Effect.UNCLEAR, -12.5, -27.1, 4.3),
        SignalVerdict('slow_ops', Effect.UNCLEAR),
    )
    worse = SignalVerdict(OBJECTIVE, Effect.WORSE, 31.0, 18.2, 45.9)
    return replace(
        started,
        osds=tuple(replace(osd, changed=osd.arm == BEST) for osd in started.osds),
        stage=Stage.MEASURING,
        legs=2,
        blocks=5,
        results=(
            ArmResult(BEST, contrast(-12.5, -27.1, 4.3), signals),
            ArmResult(OTHER, contrast(31.0, 18.2, 45.9), (worse,)),
        ),
        dropped=(DroppedArm(OTHER, 'worse: kv_sync time per write', (worse,), 4),),
    )


def paused() -> ExperimentState:
    return replace(measuring(), paused_by='client.admin', paused_reason='paused by client.admin')


def ended(answer: Answer = Answer.WINNER) -> ExperimentState:
    """Everything is restored."""
    state = measuring()
    won = answer is Answer.WINNER
    better = SignalVerdict(OBJECTIVE, Effect.BETTER, -12.5, -18.1, -6.3)
    conclusion = Conclusion(
        answer,
        winner=BEST if won else None,
        gain=contrast(-12.5, -18.1, -6.3) if won else None,
        runner_up=OTHER if won else None,
        lead=contrast(-33.0, -41.0, -20.0) if won else None,
        within=0.07 if answer is Answer.NO_DIFFERENCE else None,
        unproven=('slow_ops',) if won else (),
        failed=(OTHER,) if answer is Answer.FAILED else (),
    )
    failed = answer is Answer.FAILED
    return replace(
        state,
        osds=tuple(replace(osd, changed=False) for osd in state.osds),
        stage=Stage.FAILED if failed else Stage.DONE,
        results=(ArmResult(BEST, contrast(-12.5, -18.1, -6.3), (better,)), state.results[1]),
        crashed=(OTHER,) if failed else (),
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

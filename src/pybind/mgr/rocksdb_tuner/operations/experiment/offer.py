"""The request that starts a planned experiment. Pure."""

from __future__ import annotations

import errno

from ...advise.experiment_plan import PlannedExperiment
from ...plan.experiment_design import Refusal
from ..errors import OperationRefused
from .records import ExperimentArm, ExperimentRequest


def request_of(planned: PlannedExperiment, actor: str, *, adopt: bool) -> ExperimentRequest:
    """Raises OperationRefused if there is no plan."""
    plan = planned.plan
    if isinstance(plan, Refusal):
        raise OperationRefused(
            errno.EINVAL,
            f'not possible here: {plan.reason}; "ceph rocksdb-tuner experiment plan" with '
            'the same arguments shows what is missing',
        )
    return ExperimentRequest(
        who=planned.who,
        actor=actor,
        arms=tuple(ExperimentArm(arm.name, arm.options, arm.predicted) for arm in planned.arms),
        plan=plan,
        objective=planned.objective,
        min_effect=planned.min_effect,
        max_duration_s=planned.max_duration_s,
        adopt=adopt,
        from_options=planned.from_options,
        fill_s=planned.fill_s,
        release=planned.release,
        workload=planned.workload,
        hardware=planned.hardware,
    )

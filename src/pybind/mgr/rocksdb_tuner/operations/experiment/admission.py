"""Checks before an experiment starts and before anything is recorded. Pure.

The request that starts a planned experiment.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import Optional

from ...advise.experiment_plan import PlannedExperiment
from ...judge.records import SoakPlan
from ...mgr.records import ClusterMap, RunningOption
from ...plan.entries import starts_with
from ...plan.experiment_design import Refusal
from ..errors import OperationRefused
from ..rollout.admission import planned as planned_rollout
from ..rollout.records import OsdProgress
from ..rollout.rules import WhyUnstartable
from .records import ExperimentRequest, ExperimentState

SameMeaning = Callable[[str, str], bool]


def planned(
    experiment_id: str,
    request: ExperimentRequest,
    *,
    cluster: ClusterMap,
    entries: Mapping[str, str],
    other_entries: Mapping[str, str],
    running: Mapping[int, RunningOption],
    same_meaning: SameMeaning,
    why_unstartable: WhyUnstartable = lambda *_: None,
    now_s: float,
    steady_s: float,
) -> ExperimentState:
    """A new experiment with the recorded previous state; raises OperationRefused.

    ``entries`` are all entries of the option by `who`, ``other_entries`` those of the annex;
    ``running`` is what each OSD reports, by OSD id (missing if it did not answer).
    """
    # The checks of a rollout; controls keep their running options.
    first = planned_rollout(
        experiment_id,
        request.change_of(experiment_id, concerned(request)),
        cluster=cluster,
        entries=entries,
        other_entries=other_entries,
        running=running,
        same_meaning=same_meaning,
        why_unstartable=why_unstartable,
        now_s=now_s,
        soak=SoakPlan(),
    )
    for osd_id in concerned(request):
        another = _runs_another(osd_id, request, entries, running[osd_id], same_meaning)
        if another is not None:
            raise OperationRefused(errno.EINVAL, another)
    return ExperimentState(
        experiment_id=experiment_id,
        request=request,
        before=first.before,
        osds=tuple(map(OsdProgress, request.plan.changed)),
        started_s=now_s,
        updated_s=now_s,
        started_steady_s=steady_s,
    )


def concerned(request: ExperimentRequest) -> tuple[int, ...]:
    """The OSDs of all arms, then the controls."""
    return (*request.plan.changed, *request.plan.controls)


def _runs_another(
    osd_id: int,
    request: ExperimentRequest,
    entries: Mapping[str, str],
    running: RunningOption,
    same_meaning: SameMeaning,
) -> Optional[str]:
    """Why the running options of the OSD could not be restored, or differ from the group's."""
    if not same_meaning(running.value, request.from_options):
        return f'osd.{osd_id} runs another option string than the group: plan the experiment again'
    started = starts_with(entries, osd_id)
    if started is not None and not same_meaning(started[1], running.value):
        return f'osd.{osd_id} does not run the entry of {started[0]} yet: restart it first'
    return None


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

"""Checks before an experiment starts and before anything is recorded. Pure.

The request that starts a planned experiment.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import Optional

from ...advise.experiment_plan import PlannedExperiment
from ...judge.records import SoakPlan
from ...judge.signals import experiment_limits, judged_signals
from ...mgr.records import ClusterMap, RunningOption
from ...plan.entries import own, starts_with
from ...plan.experiment_design import Refusal
from ...plan.records import ChangeKind, ChangeRequest
from ..errors import OperationRefused
from ..rollout.admission import planned as planned_rollout
from ..rollout.rules import WhyUnstartable
from .records import ExperimentArm, ExperimentOsd, ExperimentRequest, ExperimentState

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

    ``request`` is not malformed.

    ``entries`` are all entries of the option by `who`, ``other_entries`` those of the annex;
    ``running`` is what each OSD reports, by OSD id (missing if it did not answer).
    """
    # The checks of a rollout; controls keep their running options.
    first = planned_rollout(
        experiment_id,
        change_of(experiment_id, request),
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
    arms = _arm_by_osd(request)
    return ExperimentState(
        experiment_id=experiment_id,
        request=request,
        before=first.before,
        osds=tuple(ExperimentOsd(n, arms[n]) for n in request.plan.changed),
        started_s=now_s,
        updated_s=now_s,
        started_steady_s=steady_s,
    )


def refuse_malformed(request: ExperimentRequest) -> None:
    """Checks that need no OSD data; raises OperationRefused."""
    wrong = _malformed(request)
    if wrong is not None:
        raise OperationRefused(errno.EINVAL, f'the experiment cannot start: {wrong}')


def concerned(request: ExperimentRequest) -> tuple[int, ...]:
    """The OSDs of all arms, then the controls."""
    return (*request.plan.changed, *request.plan.controls)


def change_of(experiment_id: str, request: ExperimentRequest) -> ChangeRequest:
    """The change of all OSDs, as one request: determines which OSD data to read."""
    arms = _arm_by_osd(request)
    targets = {
        n: request.options(arms[n]) if n in arms else request.from_options
        for n in concerned(request)
    }
    return ChangeRequest(
        recommendation_id=experiment_id,
        kind=ChangeKind.SET_PROFILE,
        who=request.who,
        targets=tuple(targets.items()),
        order=tuple(targets),
        final_entries=tuple((own(n), string) for n, string in targets.items()),
        actor=request.actor,
    )


def _arm_by_osd(request: ExperimentRequest) -> dict[int, str]:
    return {n: arm for arm, osds in request.plan.arms for n in osds}


def _malformed(request: ExperimentRequest) -> Optional[str]:
    names = [arm.name for arm in request.arms]
    plan = request.plan
    osds = [n for _, of_arm in plan.arms for n in of_arm]
    objectives = [signal.name for signal in judged_signals() if signal.kind != 'events']
    least = experiment_limits().least_arm_osds
    if not names or len(set(names)) != len(names):
        return f'arms require different names, but are {", ".join(names) or "none"}'
    if [name for name, _ in plan.arms] != names:
        return 'its plan needs all arms'
    if len({*osds, *plan.controls}) != len(osds) + len(plan.controls):
        return 'its plan has an OSD in two arms, or in an arm and among the controls'
    if any(len(of_arm) < least for _, of_arm in plan.arms):
        return f'every arm needs {least} OSDs'
    if request.objective not in objectives:
        return f'invalid signal "{request.objective}"; signals: {", ".join(objectives)}'
    if request.min_effect <= 0 or request.max_duration_s <= 0:
        return 'the minimum effect and the maximum duration must be above 0'
    return None


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

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
    # The checks of a rollout for the first period; controls keep their running options.
    first = planned_rollout(
        experiment_id,
        _first_change(experiment_id, request),
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
        osds=tuple(ExperimentOsd(osd_id) for osd_id in concerned(request)),
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
    changed = {n: None for p in request.plan.periods for _, osds in p.arms for n in osds}
    return (*changed, *request.plan.controls)


def first_change(request: ExperimentRequest) -> ChangeRequest:
    """The change of the first period: determines which OSD data to read."""
    return _first_change('', request)


def _first_change(experiment_id: str, request: ExperimentRequest) -> ChangeRequest:
    strings = {n: request.options(arm) for arm, osds in request.plan.periods[1].arms for n in osds}
    targets = {n: strings.get(n, request.from_options) for n in concerned(request)}
    return ChangeRequest(
        recommendation_id=experiment_id,
        kind=ChangeKind.SET_PROFILE,
        who=request.who,
        targets=tuple(targets.items()),
        order=tuple(targets),
        final_entries=tuple((own(n), string) for n, string in targets.items()),
        actor=request.actor,
    )


def _malformed(request: ExperimentRequest) -> Optional[str]:
    names = [arm.name for arm in request.arms]
    plan = request.plan
    osds = [n for _, of_arm in _first_period(request) for n in of_arm]
    objectives = [signal.name for signal in judged_signals() if signal.kind != 'events']
    least = experiment_limits().least_arm_osds
    if not names or len(set(names)) != len(names):
        return f'arms require different names, but are {", ".join(names) or "none"}'
    if len(plan.periods) < 2 or plan.periods[0].arms:
        return 'its plan needs a baseline and a period with arms'
    if any({name for name, _ in p.arms} != set(names) for p in plan.periods[1:]):
        return 'every period of its plan needs all arms'
    if len(set(osds)) != len(osds) or set(osds) & set(plan.controls):
        return 'its plan has an OSD in two arms, or in an arm and among the controls'
    if any(len(of_arm) < least for p in plan.periods[1:] for _, of_arm in p.arms):
        return f'every arm needs {least} OSDs'
    if request.objective not in objectives:
        return f'invalid signal "{request.objective}"; signals: {", ".join(objectives)}'
    if request.min_effect <= 0 or request.max_duration_s <= 0:
        return 'the minimum effect and the maximum duration must be above 0'
    return None


def _first_period(request: ExperimentRequest) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return request.plan.periods[1].arms if len(request.plan.periods) > 1 else ()


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

"""Option strings that an experiment may try, with the model's predictions. Pure."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import Optional

from ..judge.arms import Arm
from ..judge.records import Predicted
from ..judge.signals import objective_of
from ..options.verdict import BadQuestionError
from ..workload.records import WorkloadClass
from .candidates import expected_usages
from .case import Case
from .profiles import Profile, profiles
from .records import Resource
from .strings import safe_to_apply
from .weighing import RESOURCES, Weighed, Weighing

#: More arms leave too few OSDs for each in any cluster.
ARMS_MAX = 8


def objective_for(case: Case) -> str:
    """The judged signal of the resource to relieve."""
    found = objective_of(_to_relieve(case).value)
    assert found is not None
    return found


def _to_relieve(case: Case) -> Resource:
    """The limit, or else what such clients use most."""
    if case.limit.resource in RESOURCES or case.writer is None:
        return case.limit.resource
    rbd = case.writer.workload_class is WorkloadClass.RBD_SMALL_WRITE
    return Resource.KV_SYNC if rbd else Resource.DB_SPACE


def named_arms(
    case: Case,
    names: Sequence[str],
    objective: str,
    weighed: Weighing,
    custom_profiles: Sequence[Profile],
) -> tuple[Arm, ...]:
    """Profiles, or candidates of the choice, by name; raises BadQuestionError."""
    if len(names) > ARMS_MAX:
        raise BadQuestionError(errno.EINVAL, f'{len(names)} arms are more than {ARMS_MAX}')
    known = {p.name: p.options for p in (*profiles(), *custom_profiles)}
    for candidate in weighed.weighed:
        known.setdefault(candidate.candidate.name, candidate.candidate.options)
    found: list[Arm] = []
    for name in names:
        if name not in known:
            raise BadQuestionError(
                errno.ENOENT,
                f'unknown profile "{name}" in --arms; profiles: '
                f'{", ".join(p.name for p in (*profiles(), *custom_profiles))}',
            )
        problem = _unfit(case, known[name], found)
        if problem is not None:
            raise BadQuestionError(errno.EINVAL, f'"{name}" cannot be an arm: {problem}')
        found.append(_tried(case, name, known[name], objective))
    return tuple(found)


def best_arms(case: Case, objective: str, weighed: Weighing, count: int) -> tuple[Arm, ...]:
    """The ``count`` best candidates of the choice; raises BadQuestionError if there are none."""
    found: list[Arm] = []
    for candidate in _best_first(weighed, _to_relieve(case)):
        options = candidate.candidate.options
        if len(found) < count and _unfit(case, options, found) is None:
            found.append(_tried(case, candidate.candidate.name, options, objective))
    if not found:
        raise BadQuestionError(
            errno.EINVAL,
            f'no candidate for {case.cohort.group.who} is worth an experiment: "ceph rocksdb-tuner '
            'recommend --all" shows why; name profiles with --arms',
        )
    return tuple(found)


def _best_first(weighed: Weighing, resource: Resource) -> list[Weighed]:
    """Feasible candidates that may gain enough, the most promising first.

    Candidates with the same prediction count once: an experiment could not distinguish them.
    """
    found = [
        (ratio.value, number, w)
        for number, w in enumerate(weighed.weighed)
        for ratio in [w.of(resource)]
        if ratio is not None and ratio.low <= 1 - weighed.bars.min_gain
    ]
    distinct: dict[object, Weighed] = {}
    for _, _, candidate in sorted(found, key=lambda one: one[:2]):
        distinct.setdefault(candidate.usages, candidate)
    return list(distinct.values())


def _unfit(case: Case, options: str, others: Iterable[Arm]) -> Optional[str]:
    """Why these OSDs must not or need not try ``options``; None if they may."""
    if not options:
        return 'it sets no options'
    version = case.release.rocksdb_version
    refused = [problem.message for problem in safe_to_apply(options, version)]
    if case.alike(options, case.release.default_options):
        # Untuned OSDs run it.
        refused = []
    refused += [o.reason.statement for o in case.misfits(options)]
    if refused:
        return refused[0]
    if case.alike(options, case.running):
        return 'the group runs these options already'
    twin = next((other.name for other in others if case.alike(options, other.options)), None)
    return None if twin is None else f'it is equivalent to "{twin}"'


def _tried(case: Case, name: str, options: str, objective: str) -> Arm:
    cautions = tuple(o.reason.statement for o in case.standing(options))
    return Arm(name, options, predicted_for(case, options, objective), cautions)


def predicted_for(case: Case, options: str, objective: str) -> Optional[Predicted]:
    """The predicted effect of ``options`` on a judged signal."""
    for usage in expected_usages(case, options):
        if _shows(usage.resource, objective):
            low, _, high = (100 * (end - 1) for end in usage.ratio.ends)
            return Predicted(RESOURCES[usage.resource], low, high)
    return None


def _shows(resource: Resource, objective: str) -> bool:
    """Whether the use of a modeled resource is itself a judged signal."""
    if resource not in {Resource.KV_SYNC, Resource.DB_DEVICE, Resource.DB_SPACE}:
        return False
    return objective_of(resource.value) == objective

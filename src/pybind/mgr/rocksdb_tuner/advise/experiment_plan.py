"""The plan of an experiment on a group, from its history and the requested arms. Pure.

Option strings that it may try, with the model's predictions, and load and noise of the OSDs.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

from ..judge.arms import Arm
from ..judge.evidence import Block
from ..judge.noise import (
    LEAST_OSDS,
    history_blocks,
    measured_noise,
    undisturbed,
)
from ..judge.records import Predicted
from ..judge.signals import experiment_limits, judged_signals, objective_of
from ..observe.load_history import LONGEST_S, KeptWork
from ..options.verdict import BadQuestionError
from ..plan.batches import LEAST_FILLS
from ..plan.experiment_design import (
    MIN_EFFECT_BOUNDS,
    ExperimentPlan,
    Refusal,
    plan_experiment,
    too_small,
)
from ..plan.order import Candidate
from ..units import format_bytes, format_duration, format_percent
from ..workload.records import WorkloadClass
from .candidates import JUDGED_RESOURCES, expected_usages, weighing
from .case import Case, Circumstances, group_case
from .profiles import Profile, profiles
from .records import GroupFacts, MeasuredArm, OsdFacts, Resource
from .strings import safe_to_apply
from .weighing import RESOURCES, Bars, Weighed, Weighing
from .whatif.tree import fill_s

MAX_DURATION_BOUNDS_S = (600.0, 14 * 86400.0)
#: More arms leave too few OSDs for each in any cluster.
ARMS_MAX = 8


@dataclass(frozen=True)
class Question:
    """The requested experiment."""

    #: The group; None: the only one.
    who: Optional[str] = None
    #: Names of profiles; empty: the best candidates.
    arms: tuple[str, ...] = ()
    #: None: the signal of the resource to relieve.
    signal: Optional[str] = None
    min_effect: float = 0.1
    max_duration_s: float = 43200.0


@dataclass(frozen=True)
class Grounds:
    """The inputs of a plan."""

    #: With the workload that recommendations are based on.
    groups: tuple[GroupFacts, ...]
    osds: tuple[OsdFacts, ...]
    custom_profiles: tuple[Profile, ...]
    #: The history of these OSDs.
    history: Callable[[Iterable[int]], KeptWork]
    least_block_s: float
    bars: Bars
    #: Results of earlier experiments.
    measured: tuple[MeasuredArm, ...] = ()
    #: Maximum share of the group that runs arms at a time.
    share: float = field(default_factory=lambda: experiment_limits().share)


def plan_for(question: Question, grounds: Grounds) -> ExperimentPlan:
    """Plan the experiment.

    Raises BadQuestionError: EINVAL and ENOENT for the request, EAGAIN for a short history.
    """
    low, high = MIN_EFFECT_BOUNDS
    if not low <= question.min_effect <= high:
        raise _invalid(
            f'--min-effect {format_percent(question.min_effect)} is out of range; allowed: '
            f'{low:.0%} to {high:.0%}'
        )
    least_s, most_s = MAX_DURATION_BOUNDS_S
    if not least_s <= question.max_duration_s <= most_s:
        raise _invalid(
            f'--max-duration {question.max_duration_s:g} is out of range; allowed: {least_s:g} to '
            f'{most_s:g} seconds'
        )
    group = _group(question.who, grounds.groups)
    known = Circumstances(grounds.osds, bars=grounds.bars, measured=grounds.measured)
    case = group_case(group, known)
    if isinstance(case, str):
        raise _invalid(f'no experiment on {group.who}: {case}')
    weighed, objective = weighing(case), _objective(question.signal, case)
    bounds = experiment_limits()
    most_arms = int(len(case.osds) * grounds.share) // bounds.least_arm_osds
    arms = (
        _named_arms(case, question.arms, objective, weighed, grounds.custom_profiles)
        if question.arms
        # If nothing fits, the refusal states the requirements of a single arm.
        else _best_arms(case, objective, weighed, max(1, min(bounds.default_arms, most_arms)))
    )
    fills = [fill_s(case.running, arm.options, case.situation) for arm in arms]
    fill = max((f for f in fills if f is not None), default=None)
    kept = grounds.history([osd.info.osd_id for osd in case.osds])
    # A multiple of the history's spacing; covers as many flushes as a canary's soak.
    wanted_s = max(grounds.least_block_s, LEAST_FILLS * (fill or 0.0))
    block_s = math.ceil(wanted_s / kept.spacing_s) * kept.spacing_s
    asked = ExperimentPlan(
        who=group.who,
        arms=arms,
        objective=objective,
        from_options=case.running,
        block_s=block_s,
        min_effect=question.min_effect,
        max_duration_s=question.max_duration_s,
        share=grounds.share,
        fill_s=fill,
        release=case.release.name,
        workload=None if case.writer is None else case.writer.workload_class.value,
        hardware=_hardware(case),
    )
    # Harm to these must end an arm early; the others are bursty or rare events.
    needed = [
        signal.name
        for signal in judged_signals()
        if signal.name == objective or (signal.required and signal.kind != 'events')
    ]
    # Neither is worth waiting for a history.
    never = too_small(len(case.osds), asked) or _never_known(block_s)
    if never is not None:
        return replace(asked, refusal=never, unmeasured=tuple(needed))
    blocks = _blocks(kept, block_s, objective)
    noises = {name: noise for name in needed if (noise := measured_noise(name, blocks)) is not None}
    by_osd = noises[objective].by_osd if objective in noises else {}
    candidates = tuple(
        Candidate(
            osd_id=osd.info.osd_id,
            device_class=osd.info.device_class,
            domain=osd.info.failure_domain,
            write_iops=_write_iops(kept, osd.info.osd_id),
            noise=by_osd.get(osd.info.osd_id),
        )
        for osd in case.osds
    )
    return plan_experiment(
        candidates,
        replace(
            asked,
            history_s=len(blocks) * block_s,
            unmeasured=tuple(name for name in needed if name not in noises),
        ),
        {name: noise.group for name, noise in noises.items()},
    )


def _invalid(message: str) -> BadQuestionError:
    return BadQuestionError(errno.EINVAL, message)


def _hardware(case: Case) -> Optional[str]:
    """Storage of the group as text."""
    if case.storage is None:
        return None
    sizes = {osd.info.db_device_bytes for osd in case.osds if osd.info.dedicated_db}
    known = sorted(size for size in sizes if size is not None)
    return case.storage.value + (f', DB device of {format_bytes(known[0])}' if known else '')


def _group(who: Optional[str], groups: Sequence[GroupFacts]) -> GroupFacts:
    known = {group.who: group for group in groups}
    names = ', '.join(known) or 'none yet'
    if who is None:
        if len(known) == 1:
            return groups[0]
        raise _invalid(f'name a group with --who; groups: {names}')
    if who not in known:
        raise BadQuestionError(errno.ENOENT, f'no group "{who}"; groups: {names}')
    return known[who]


def _objective(signal: Optional[str], case: Case) -> str:
    if signal is None:
        found = objective_of(_to_relieve(case).value)
        assert found is not None
        return found
    known = [judged.name for judged in judged_signals() if judged.kind != 'events']
    if signal not in known:
        raise _invalid(f'invalid --signal "{signal}"; signals: {", ".join(known)}')
    return signal


def _never_known(block_s: float) -> Optional[Refusal]:
    """Why the noise of such long blocks cannot be known, however long one waits."""
    least = experiment_limits().least_history_blocks
    if least * block_s <= LONGEST_S:
        return None
    return Refusal(
        f'a block covers {LEAST_FILLS} memtable flushes, {format_duration(block_s)} under this '
        f'load, and the noise of {least} blocks has to be known, but the history has '
        f'{format_duration(LONGEST_S)}; more client writes or arms with smaller memtables would '
        'shorten the blocks'
    )


def _blocks(kept: KeptWork, block_s: float, objective: str) -> tuple[Block, ...]:
    """The undisturbed blocks of the history; raises BadQuestionError while it is too short."""
    least = experiment_limits().least_history_blocks
    found = history_blocks(kept, block_s)
    steady = undisturbed(found, objective, least)
    if len(steady) >= least:
        return steady
    if len(found) >= least and not steady:
        raise _invalid(
            f'fewer than {LEAST_OSDS} OSDs of the group have enough client writes to measure '
            f'{objective}: an experiment needs a steady workload',
        )
    missing_s = (least - len(steady)) * block_s
    raise BadQuestionError(
        errno.EAGAIN,
        f'the noise of {objective} is known for {format_duration(len(steady) * block_s)} of the '
        f'required {format_duration(least * block_s)}, in blocks of {format_duration(block_s)} '
        f'without restarts of OSDs: try again in {format_duration(missing_s)}',
    )


def _write_iops(kept: KeptWork, osd_id: int) -> Optional[float]:
    """Client writes per second over the whole history, not an instantaneous value."""
    spans = zip(kept.by_osd[osd_id], kept.times_s, kept.times_s[1:])
    known = [(w.writes, end_s - begin_s) for w, begin_s, end_s in spans if w.writes is not None]
    return sum(count for count, _ in known) / sum(s for _, s in known) if known else None


# -- arms


def _to_relieve(case: Case) -> Resource:
    """The limit, or else what such clients use most."""
    if case.limit.resource in RESOURCES or case.writer is None:
        return case.limit.resource
    rbd = case.writer.workload_class is WorkloadClass.RBD_SMALL_WRITE
    return Resource.KV_SYNC if rbd else Resource.DB_SPACE


def _named_arms(
    case: Case,
    names: Sequence[str],
    objective: str,
    weighed: Weighing,
    custom_profiles: Sequence[Profile],
) -> tuple[Arm, ...]:
    """Profiles, or candidates of the choice, by name; raises BadQuestionError."""
    if len(names) > ARMS_MAX:
        raise _invalid(f'{len(names)} arms are more than {ARMS_MAX}')
    known = {p.name: p.options for p in (*profiles(), *custom_profiles)}
    for candidate in weighed.weighed:
        known.setdefault(candidate.name, candidate.options)
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
            raise _invalid(f'"{name}" cannot be an arm: {problem}')
        found.append(_tried(case, name, known[name], objective))
    return tuple(found)


def _best_arms(case: Case, objective: str, weighed: Weighing, count: int) -> tuple[Arm, ...]:
    """The ``count`` best candidates of the choice; raises BadQuestionError if there are none."""
    found: list[Arm] = []
    for candidate in _best_first(weighed, _to_relieve(case)):
        options = candidate.options
        if len(found) < count and _unfit(case, options, found) is None:
            found.append(_tried(case, candidate.name, options, objective))
    if not found:
        raise _invalid(
            f'no candidate for {case.group.who} is worth an experiment: "ceph rocksdb-tuner '
            'recommend --all" shows why; name profiles with --arms',
        )
    return tuple(found)


def _best_first(weighed: Weighing, resource: Resource) -> list[Weighed]:
    """Feasible candidates that may gain enough, the most promising first.

    Candidates with the same prediction count once: an experiment could not distinguish them.
    """
    worth = 1 - weighed.bars.min_gain
    ratios = [(ratio, w) for w in weighed.weighed if (ratio := w.of(resource)) is not None]
    distinct: dict[object, Weighed] = {}
    for ratio, candidate in sorted(ratios, key=lambda one: one[0].value):
        if ratio.low <= worth:
            distinct.setdefault(candidate.usages, candidate)
    return list(distinct.values())


def _unfit(case: Case, options: str, others: Iterable[Arm]) -> Optional[str]:
    """Why these OSDs must not or need not try ``options``; None if they may."""
    if not options:
        return 'it sets no options'
    version = case.release.rocksdb_version
    refused = [problem.message for problem in safe_to_apply(options, version)]
    if case.is_default(options):
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
    return Arm(name, options, _predicted(case, options, objective), cautions)


def _predicted(case: Case, options: str, objective: str) -> Optional[Predicted]:
    """The predicted effect of ``options`` on a judged signal, if the model has its resource."""
    for usage in expected_usages(case, options):
        resource = usage.resource
        if resource in JUDGED_RESOURCES and objective_of(resource.value) == objective:
            low, _, high = (100 * (end - 1) for end in usage.ratio.ends)
            return Predicted(RESOURCES[resource], low, high)
    return None

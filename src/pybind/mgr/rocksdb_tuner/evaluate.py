"""Draws conclusions from cluster data: groups, findings and recommendations. Pure.

Shared by the module, with measured data, and `offline`, with data from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Mapping, Optional

from .advise.compaction import compaction_advice
from .advise.conditions import ClusterFacts, SetupFindings, findings
from .advise.facts import groups
from .advise.limit import with_limit
from .advise.profiles import Profile
from .advise.recommend import assess
from .advise.records import Decision, Finding, GroupFacts, OsdFacts
from .advise.weighing import Assessment, bars_of
from .mgr.records import ConfigEntry
from .observe.details import AlertingOsd
from .operations.experiment.results import measured_arms
from .operations.history import HistoryRecord
from .plan.commands import ShownSteps
from .snapshot import Mode
from .workload.records import Workload

#: Modes with recommendations.
ADVISING = frozenset({Mode.RECOMMEND, Mode.AUTO_APPLY})


@dataclass(frozen=True)
class AdviceContext:
    """Inputs of the evaluation other than OSDs."""

    mode: Mode
    #: Entries of the config store for the watched options.
    entries: tuple[ConfigEntry, ...]
    #: Why nothing can be recommended at all; None if recommendations are possible.
    no_advice: Optional[str] = None
    #: Whether an orchestrator can restart daemons.
    orchestrated: bool = True
    rollout_under_way: bool = False
    #: Ceph's own health checks that are raised.
    health_codes: frozenset[str] = frozenset()
    #: OSDs with Ceph's alert for slow operations.
    alerting: Mapping[int, AlertingOsd] = field(default_factory=dict)
    #: How long each OSD has had a restart pending, in seconds.
    pending_s: Mapping[int, float] = field(default_factory=dict)
    #: Earlier changes.
    history: tuple[HistoryRecord, ...] = ()
    #: Required gain and allowed loss set by the operator, by module option.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: Custom profiles.
    custom_profiles: tuple[Profile, ...] = ()


@dataclass(frozen=True)
class EvaluationState:
    """State kept from one evaluation to the next."""

    setup_findings: SetupFindings = field(default_factory=SetupFindings)
    steps: ShownSteps = field(default_factory=ShownSteps)


@dataclass(frozen=True)
class Conclusions:
    groups: tuple[GroupFacts, ...]
    assessments: tuple[Assessment, ...]
    #: Worst first.
    findings: tuple[Finding, ...]


def unknown_manager(name: str) -> str:
    """Why nothing is recommended under a mgr of an unknown release."""
    return (
        f'This manager runs {name}, a release unknown to this module: the module measures, but '
        'recommends and changes nothing.'
    )


def conclude(
    osds: tuple[OsdFacts, ...],
    workloads: Mapping[str, Workload],
    advised_on: Mapping[str, Workload],
    context: AdviceContext,
    state: Optional[EvaluationState] = None,
) -> Conclusions:
    """Groups, recommendations and findings.

    ``workloads`` has the current workload of each device class, ``advised_on`` the one to base
    recommendations on.
    """
    state = state or EvaluationState()
    found_groups = tuple(with_limit(group) for group in groups(osds, workloads))
    assessments = _assessments(osds, found_groups, advised_on, context, state.steps)
    cluster = ClusterFacts(
        osds,
        context.entries,
        health_codes=context.health_codes if osds else frozenset(),
        alerting=context.alerting,
        pending_s=context.pending_s,
        groups=found_groups,
        advised={n for a in assessments for r in a.recommendations for n in r.osds},
    )
    return Conclusions(found_groups, assessments, findings(cluster, state.setup_findings))


def _assessments(
    osds: tuple[OsdFacts, ...],
    found_groups: Sequence[GroupFacts],
    advised_on: Mapping[str, Workload],
    context: AdviceContext,
    steps: ShownSteps,
) -> tuple[Assessment, ...]:
    if context.mode not in ADVISING:
        return ()
    if context.no_advice is not None:
        return tuple(
            Assessment(g.who, Decision(g.who, 'Update the module', context.no_advice), ())
            for g in found_groups
        )
    known: set[str] = set()
    assessments = []
    for group in found_groups:
        found = _assessment(advised(group, advised_on), osds, context, steps)
        # Groups that share an entry want the same removal, which is one change.
        new = tuple(r for r in found.recommendations if r.recommendation_id not in known)
        known.update(r.recommendation_id for r in new)
        assessments.append(replace(found, recommendations=new))
    return tuple(assessments)


def advised(group: GroupFacts, advised_on: Mapping[str, Workload]) -> GroupFacts:
    """``group`` with the workload to base recommendations on, which may be an earlier one."""
    workload = advised_on.get(group.device_class)
    return with_limit(replace(group, workload=workload)) if workload != group.workload else group


def _assessment(
    group: GroupFacts, osds: tuple[OsdFacts, ...], context: AdviceContext, steps: ShownSteps
) -> Assessment:
    assessment = assess(
        group,
        osds,
        orchestrated=context.orchestrated,
        rollout_under_way=context.rollout_under_way,
        shown_steps=steps,
        custom_profiles=context.custom_profiles,
        bars=bars_of(context.limits),
        measured=measured_arms(context.history),
    )
    if context.rollout_under_way:
        return assessment
    more = filter(None, (compaction_advice(group, context.history),))
    return replace(assessment, recommendations=(*assessment.recommendations, *more))

"""Findings, recommendations with the plans to apply them, and the candidates behind them."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Decision, Finding, Resource
from ...advise.records import Recommendation as Advice
from ...advise.weighing import Assessment, Bars, Weighed, Weighing
from ...judge.records import SoakPlan, contradiction
from ...mgr.records import FailureDomain
from ...notes import Amount, InPlace, Named, OsdId
from ...operations.gates import GATES
from ...options.grammar import OptionDifference, difference
from ...plan.batches import PlannedBatch, planned_batches, soak_for
from ...plan.commands import expected_duration_s
from ...plan.records import ChangeRequest
from ...snapshot import Snapshot
from ..errors import PresentError
from ..summaries import worst_first
from .operations import CanarySoak, canary_soak


@dataclass(frozen=True)
class Candidate:
    """A candidate option string."""

    weighed: Annotated[Weighed, InPlace()]
    chosen: Annotated[bool, 'Whether it was chosen for the group.']


@dataclass(frozen=True)
class Considered:
    """Candidates of one group, and the choice."""

    who: Annotated[str, 'Config mask of the group.']
    resource: Annotated[
        Optional[Resource],
        'Limiting resource, or else that of the largest saving; null: no candidates were compared.',
    ]
    decision: Annotated[Decision, 'The change of options that was chosen, or why none was.']
    min_gain_percent: Annotated[float, 'Minimum saving of a resource, with 80% probability.']
    max_loss_percent: Annotated[
        float, 'Maximum additional use of any other resource, with 80% probability.'
    ]
    unconstrained: Annotated[
        tuple[Resource, ...],
        'Resources that the OSDs have plenty of, exempt from max_loss_percent.',
    ]
    candidates: Annotated[tuple[Candidate, ...], 'Candidates that were compared.']


@dataclass(frozen=True)
class Recommendation:
    """A recommendation, with the candidates considered."""

    recommendation: Annotated[Advice, InPlace()]
    candidates: Annotated[
        Optional[tuple[Candidate, ...]],
        'Candidates considered, as in "recommend --all"; null if none were compared.',
    ]


@dataclass(frozen=True)
class Steps:
    """The plan to apply a recommendation."""

    change: Annotated[ChangeRequest, InPlace('purpose')]
    batches: Annotated[
        tuple[PlannedBatch, ...],
        'OSDs in the order in which they would be changed, in batches of at most one failure '
        'domain, each with a soak before the next.',
    ]
    soak: Annotated[CanarySoak, 'Soak time of the canary; most_s 0: no soak.']
    expected_duration_s: Annotated[
        Amount, 'Minimum duration in seconds, without any waiting for gates.'
    ]
    expected_duration_most_s: Annotated[Amount, 'The same with the maximum soak time.']

    @property
    def judged(self) -> bool:
        """Whether there is a verdict on the canary before the other OSDs are changed."""
        return bool(self.batches) and self.batches[0].judged

    @property
    def canary(
        self,
    ) -> Annotated[Optional[OsdId], 'Canary: the OSD to change and judge first; null: no verdict.']:
        return self.change.order[0] if self.judged else None

    @property
    def controls(
        self,
    ) -> Annotated[tuple[OsdId, ...], 'Ids of the control OSDs of the canary.']:
        return self.change.controls if self.judged else ()

    @property
    def gates(
        self,
    ) -> Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']:
        return GATES


@dataclass(frozen=True)
class Plan:
    """Preview of `apply`."""

    recommendation: Annotated[
        Advice,
        InPlace('kind', 'who', 'profile', 'risk', 'options_to', 'commands', 'undo_commands'),
    ]
    steps: Annotated[Steps, InPlace()]

    @property
    def recommendation_id(
        self,
    ) -> Annotated[str, Named('recommendation'), 'Id of the recommendation.']:
        return self.recommendation.recommendation_id


@dataclass(frozen=True)
class Target:
    """Target option string of an OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    options: Annotated[str, 'Option string after the change.']
    failure_domain: Annotated[Optional[FailureDomain], 'Failure domain of the OSD; null: unknown.']


@dataclass(frozen=True)
class FinalEntry:
    """An entry of the config store."""

    who: Annotated[str, 'Config mask of the entry.']
    value: Annotated[Optional[str], 'Value of the entry; null: the entry is removed.']


@dataclass(frozen=True)
class RecommendationInFull:
    """A recommendation, with the plan to apply it."""

    recommendation: Annotated[Advice, InPlace()]
    targets: Annotated[tuple[Target, ...], 'Target option string of each OSD.']
    final_entries: Annotated[tuple[FinalEntry, ...], 'Entries of the config store at the end.']
    difference: Annotated[
        Optional[tuple[OptionDifference, ...]],
        'Changed options; null if one of the option strings cannot be parsed.',
    ]
    plan: Annotated[Optional[Steps], 'Plan of the rollout; null if no rollout applies it.']


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return tuple(worst_first(snapshot.findings))


def considered_of(snapshot: Snapshot) -> tuple[Considered, ...]:
    return tuple(map(_considered, snapshot.assessments))


def recommendations_of(snapshot: Snapshot) -> tuple[Recommendation, ...]:
    """Empty if nothing needs to change."""
    return tuple(
        # Candidates were compared for the first one only.
        Recommendation(r, _candidates(a.weighing) if number == 0 and a.weighing else None)
        for a in snapshot.assessments
        for number, r in enumerate(a.recommendations)
    )


def in_full(recommendation: Advice, soak: Optional[SoakPlan]) -> RecommendationInFull:
    """``soak``: None if nothing can be applied here; then there is no plan."""
    r = recommendation
    domains = {osd_id: place.domain for osd_id, place in r.places}
    return RecommendationInFull(
        recommendation=r,
        targets=tuple(Target(osd_id, text, domains.get(osd_id)) for osd_id, text in r.targets),
        final_entries=tuple(FinalEntry(who, value) for who, value in r.final_entries),
        difference=difference(r.options_from, r.options_to),
        plan=None if r.change is None or soak is None else _steps(r.change, soak),
    )


def plan_of(recommendation: Advice, soak: SoakPlan) -> Plan:
    """Raises PresentError (EINVAL) if no rollout can apply it, or none can be judged."""
    impossible = contradiction(soak)
    if impossible is not None:
        raise PresentError(errno.EINVAL, impossible)
    name = recommendation.recommendation_id
    if recommendation.change is None:
        raise PresentError(
            errno.EINVAL,
            f'{name} ({recommendation.kind.value}) cannot be applied by a rollout; apply it '
            f'manually, see "ceph rocksdb-tuner recommend {name}"',
        )
    return Plan(recommendation, _steps(recommendation.change, soak))


def _steps(change: ChangeRequest, soak: SoakPlan) -> Steps:
    return Steps(
        change,
        planned_batches(change, soak),
        canary_soak(change, soak_for(change, soak)),
        *expected_duration_s(change, soak),
    )


def _considered(assessment: Assessment) -> Considered:
    weighing = assessment.weighing
    bars = Bars() if weighing is None else weighing.bars
    return Considered(
        who=assessment.who,
        resource=None if weighing is None else weighing.shown_resource,
        decision=assessment.conclusion,
        min_gain_percent=bars.min_gain * 100,
        max_loss_percent=bars.max_loss * 100,
        unconstrained=tuple(sorted(bars.plenty, key=lambda resource: resource.value)),
        candidates=() if weighing is None else _candidates(weighing),
    )


def _candidates(weighing: Weighing) -> tuple[Candidate, ...]:
    return tuple(Candidate(w, w == weighing.chosen) for w in weighing.weighed)

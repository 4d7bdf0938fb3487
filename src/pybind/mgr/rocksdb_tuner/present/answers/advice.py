"""Recommendations, and the plans to apply them.

Findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Decision, Finding, Kind, Priority, Risk
from ...advise.records import Recommendation as Recommended
from ...notes import Among, Amount, InPlace, NotEmpty, OsdId, Share
from ...operations.gates import GATES
from ...operations.phases import Phase
from ...plan.records import Purpose
from ...snapshot import Snapshot
from ..subjects import Plan as FoundPlan
from ..summaries import worst_first
from .candidates import Candidate, candidates_of
from .options import OptionChange, difference_of, like
from .rollout import CanarySoak, FailureDomain, domain_of, soak_of
from .workload import Limit, limit_of

_COMMANDS = 'The exact commands, in order.'
_UNDO = 'The exact commands to restore the previous settings.'
_WHO = 'Config mask that the final setting applies to.'
_PROFILE = 'Profile of the new option string; null if it matches no profile.'
_RISK = 'Risk of the change.'


@dataclass(frozen=True)
class Reason:
    """A reason for the change."""

    statement: Annotated[str, 'The reason, as a sentence.']
    source: Annotated[str, 'Source of the statement.']


@dataclass(frozen=True)
class Prediction:
    """Predicted effect of a change on one signal."""

    metric: Annotated[str, 'The metric that would change.']
    signal: Annotated[str, 'Name of the corresponding signal in the osd command.']
    estimate_percent: Annotated[float, 'Most likely change, in percent.']
    low_percent: Annotated[float, 'Lower end of the expected change, in percent.']
    high_percent: Annotated[float, 'Upper end of the expected change, in percent.']
    basis: Annotated[str, 'Published measurement or model behind the prediction.']


@dataclass(frozen=True)
class Advice:
    """The recommended change, with its reasons."""

    id: Annotated[str, 'Id of the recommendation; stable as long as the advice is the same.']
    who: Annotated[str, _WHO]
    kind: Annotated[Kind, 'Kind of change; "manual": a remedy other than a configuration change.']
    profile: Annotated[Optional[str], _PROFILE]
    osds: Annotated[tuple[OsdId, ...], 'OSDs in the order in which they would be changed.']
    option: Annotated[
        str, 'Option to change: the option string, or the annex that OSDs append to it.'
    ]
    options_from: Annotated[str, 'Running option string.']
    options_to: Annotated[str, 'Option string after the change.']
    decision: Annotated[Decision, 'The change in short, as in status.']
    reasons: Annotated[tuple[Reason, ...], 'Reasons for the change.']
    prediction: Annotated[
        Optional[Annotated[tuple[Prediction, ...], NotEmpty()]],
        'Predicted effects: first published measurements of this change on similar hardware and '
        'the same release, then estimates of the model; null if there are none.',
    ]
    risk: Annotated[Risk, _RISK]
    priority: Annotated[
        Priority,
        '"now": a hazard, or it relieves what limits; "planned": a clear gain on something that '
        'will limit; "optional": with the next restart.',
    ]
    confidence: Annotated[
        Optional[Share],
        'Confidence in the workload behind the advice; null if it does not depend on a workload.',
    ]
    limit: Annotated[
        Optional[Limit],
        'Bottleneck of the clients under the workload behind the advice; null if the advice does '
        'not depend on it.',
    ]
    restart_required: Annotated[bool, 'Whether the OSDs must restart.']
    commands: Annotated[tuple[str, ...], _COMMANDS]
    undo_commands: Annotated[tuple[str, ...], _UNDO]


@dataclass(frozen=True)
class Recommendation:
    """A recommendation, with the candidates considered."""

    advice: Annotated[Advice, InPlace()]
    candidates: Annotated[
        Optional[tuple[Candidate, ...]],
        'Candidates considered, as in "recommend --all"; null if none were compared.',
    ]


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of OSDs to change before the next batch."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    failure_domain: Annotated[
        Optional[FailureDomain], 'Failure domain of all of these OSDs; null: unknown.'
    ]
    phase: Annotated[Phase, Among((Phase.PLANNED,))]
    controls: Annotated[
        tuple[OsdId, ...],
        'Ids of the control OSDs; empty: too few for a comparison, so only crashes are detected.',
    ]


@dataclass(frozen=True)
class Steps:
    """The plan to apply a recommendation."""

    batches: Annotated[
        tuple[PlannedBatch, ...],
        'OSDs in the order in which they would be changed, in batches of at most one failure '
        'domain, each with a soak before the next.',
    ]
    canary: Annotated[
        Optional[OsdId], 'Canary: the OSD to change and judge first; null: no verdict.'
    ]
    controls: Annotated[tuple[OsdId, ...], 'Ids of the control OSDs of the canary.']
    purpose: Annotated[
        Purpose,
        'Purpose of the change: "gain" if a gain is predicted, which the canary has to confirm; '
        'else "safety".',
    ]
    soak: Annotated[CanarySoak, 'Soak time of the canary; most_s 0: no soak.']
    gates: Annotated[tuple[str, ...], 'Conditions that must hold before each restart.']
    expected_duration_s: Annotated[
        Amount, 'Minimum duration in seconds, without any waiting for gates.'
    ]
    expected_duration_most_s: Annotated[Amount, 'The same with the maximum soak time.']


@dataclass(frozen=True)
class Plan:
    """Preview of `apply`."""

    recommendation: Annotated[str, 'Id of the recommendation.']
    kind: Annotated[Kind, Among((Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE)), 'Kind of change.']
    who: Annotated[str, _WHO]
    profile: Annotated[Optional[str], _PROFILE]
    risk: Annotated[Risk, _RISK]
    options_to: Annotated[str, 'Option string after the change.']
    commands: Annotated[tuple[str, ...], _COMMANDS]
    undo_commands: Annotated[tuple[str, ...], _UNDO]
    steps: Annotated[Steps, InPlace()]


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

    advice: Annotated[Advice, InPlace()]
    targets: Annotated[tuple[Target, ...], 'Target option string of each OSD.']
    final_entries: Annotated[tuple[FinalEntry, ...], 'Entries of the config store at the end.']
    difference: Annotated[
        Optional[tuple[OptionChange, ...]],
        'Changed options; null if one of the option strings cannot be parsed.',
    ]
    plan: Annotated[Optional[Steps], 'Plan of the rollout; null if no rollout applies it.']


def recommendations_of(snapshot: Snapshot) -> tuple[Recommendation, ...]:
    """Empty if nothing needs to change."""
    return tuple(
        Recommendation(_advice(recommended), candidates_of(assessment, recommended))
        for assessment in snapshot.assessments
        for recommended in assessment.recommendations
    )


def recommendation_of(
    found: Recommended, planned: Optional[FoundPlan] = None
) -> RecommendationInFull:
    """A recommendation in full, with its plan."""
    domains = {osd_id: place.domain for osd_id, place in found.places}
    return RecommendationInFull(
        advice=_advice(found),
        targets=tuple(
            Target(osd_id, options, domain_of(domains.get(osd_id)))
            for osd_id, options in found.targets
        ),
        final_entries=tuple(FinalEntry(who, value) for who, value in found.final_entries),
        difference=difference_of(found.options_from, found.options_to),
        plan=None if planned is None else _steps(planned),
    )


def plan_of(planned: FoundPlan) -> Plan:
    """The answer of `apply --dry-run`."""
    found = planned.recommendation
    return like(Plan, found, recommendation=found.recommendation_id, steps=_steps(planned))


def _advice(found: Recommended) -> Advice:
    return like(
        Advice,
        found,
        id=found.recommendation_id,
        reasons=tuple(like(Reason, reason) for reason in found.reasons),
        prediction=tuple(like(Prediction, p) for p in found.predictions) or None,
        limit=None if found.limit is None else limit_of(found.limit),
    )


def _steps(planned: FoundPlan) -> Steps:
    osds = planned.recommendation.osds
    return Steps(
        batches=tuple(
            PlannedBatch(
                osds=batch.osds,
                failure_domain=domain_of(batch.domain),
                phase=Phase.PLANNED,
                controls=batch.controls if batch.judged else (),
            )
            for batch in planned.batches
        ),
        canary=osds[0] if planned.judged and osds else None,
        controls=planned.change.controls if planned.judged else (),
        purpose=planned.change.purpose,
        soak=soak_of(planned.change, planned.soak),
        gates=GATES,
        expected_duration_s=planned.least_duration_s,
        expected_duration_most_s=planned.most_duration_s,
    )


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return tuple(worst_first(snapshot.findings))

"""Recommendations, and how each would be applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Kind, Risk
from ...advise.records import Recommendation as Recommended
from ...operations.gates import GATES
from ...operations.phases import Phase
from ...plan.records import Purpose
from ...snapshot import Snapshot
from ..subjects import Plan as FoundPlan
from .candidates import Candidate, candidates_of
from .copies import like
from .notes import Among, Amount, InPlace, NotEmpty, OsdId, Share
from .options import OptionChange, difference_of
from .places import FailureDomain, domain_of
from .rollout import CanarySoak, soak_of
from .workload import Limit, limit_of

_COMMANDS = 'The exact commands, in order.'
_UNDO = 'The exact commands that restore what was there before.'
_WHO = 'Mask of the config store that holds the setting at the end.'
_PROFILE = 'Profile that would run; null where it is no known one.'
_RISK = 'Of the change.'


@dataclass(frozen=True)
class Reason:
    """Why something should change."""

    statement: Annotated[str, 'One sentence.']
    source: Annotated[str, 'Where that is known from.']


@dataclass(frozen=True)
class Prediction:
    """What a change does to one signal."""

    metric: Annotated[str, 'What would change.']
    signal: Annotated[str, 'As osd names what is measured of it.']
    estimate_percent: Annotated[float, 'What is most likely, in percent.']
    low_percent: Annotated[float, 'Lower end of the expected change, in percent.']
    high_percent: Annotated[float, 'Upper end of the expected change, in percent.']
    basis: Annotated[str, 'The published measurement, or the model, that it rests on.']


@dataclass(frozen=True)
class Advice:
    """What should change, and why."""

    id: Annotated[str, 'The same advice keeps its id.']
    who: Annotated[str, _WHO]
    kind: Annotated[Kind, '"manual": a remedy that no configuration change gives.']
    profile: Annotated[Optional[str], _PROFILE]
    osds: Annotated[tuple[OsdId, ...], 'OSDs in the order in which they would be changed.']
    option: Annotated[
        str, 'Option that is changed: the string, or the annex that OSDs append to it.'
    ]
    options_from: Annotated[str, 'Option string that runs now.']
    options_to: Annotated[str, 'Option string that would run.']
    reasons: Annotated[tuple[Reason, ...], 'Why.']
    prediction: Annotated[
        Optional[Annotated[tuple[Prediction, ...], NotEmpty()]],
        'What the change does: first what was published of just this change, on such hardware and '
        'release, then what the model says; null where neither is known.',
    ]
    risk: Annotated[Risk, _RISK]
    confidence: Annotated[
        Optional[Share], 'In the workload that is the reason; null where no workload is.'
    ]
    limit: Annotated[
        Optional[Limit],
        'What bounds the clients under the workload that was advised on; null where neither '
        'counted.',
    ]
    restart_required: Annotated[bool, 'Whether the OSDs must restart.']
    commands: Annotated[tuple[str, ...], _COMMANDS]
    undo_commands: Annotated[tuple[str, ...], _UNDO]


@dataclass(frozen=True)
class Recommendation:
    """A recommendation, and what it was chosen from."""

    advice: Annotated[Advice, InPlace()]
    candidates: Annotated[
        Optional[tuple[Candidate, ...]],
        'What it was chosen from, as "candidates" shows it; null where nothing was weighed for it.',
    ]


@dataclass(frozen=True)
class PlannedBatch:
    """OSDs that would be changed before others follow."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    failure_domain: Annotated[
        Optional[FailureDomain], 'The failure domain that all of them are in; null: not known.'
    ]
    phase: Annotated[Phase, Among((Phase.PLANNED,))]
    controls: Annotated[
        tuple[OsdId, ...],
        'Ids of the OSDs that it is compared with; empty: there are too few, and it is watched for '
        'crashes only.',
    ]


@dataclass(frozen=True)
class Steps:
    """How a recommendation would be applied."""

    batches: Annotated[
        tuple[PlannedBatch, ...],
        'OSDs in the order in which they would be changed, in batches of at most one failure '
        'domain; each is watched before the next.',
    ]
    canary: Annotated[
        Optional[OsdId], 'The OSD that is changed first and judged; null: nothing is judged.'
    ]
    controls: Annotated[tuple[OsdId, ...], 'Ids of the OSDs that it is compared with.']
    purpose: Annotated[
        Purpose,
        'What the change is for: "gain" where one is predicted, which the first changed OSD has to '
        'show; else "safety".',
    ]
    soak: Annotated[CanarySoak, 'How long the first changed OSD is watched; most_s 0: not at all.']
    gates: Annotated[tuple[str, ...], 'What must hold before each restart.']
    expected_duration_s: Annotated[
        Amount, 'Seconds that it takes at least, if nothing has to wait.'
    ]
    expected_duration_most_s: Annotated[Amount, 'The same where the soak takes as long as it may.']


@dataclass(frozen=True)
class Plan:
    """What `apply` would do."""

    recommendation: Annotated[str, 'Id of the recommendation.']
    kind: Annotated[Kind, Among((Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE)), 'What it does.']
    who: Annotated[str, _WHO]
    profile: Annotated[Optional[str], _PROFILE]
    risk: Annotated[Risk, _RISK]
    options_to: Annotated[str, 'Option string that would run.']
    commands: Annotated[tuple[str, ...], _COMMANDS]
    undo_commands: Annotated[tuple[str, ...], _UNDO]
    steps: Annotated[Steps, InPlace()]


@dataclass(frozen=True)
class Target:
    """What one OSD shall run."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    options: Annotated[str, 'Option string that it shall run.']
    failure_domain: Annotated[Optional[FailureDomain], 'Of the OSD; null: not known.']


@dataclass(frozen=True)
class FinalEntry:
    """An entry of the config store."""

    who: Annotated[str, 'Whom it is for.']
    value: Annotated[Optional[str], 'null where the entry goes.']


@dataclass(frozen=True)
class RecommendationInFull:
    """A recommendation, and how it would be applied."""

    advice: Annotated[Advice, InPlace()]
    targets: Annotated[tuple[Target, ...], 'What each OSD shall run.']
    final_entries: Annotated[tuple[FinalEntry, ...], 'What the config store holds at the end.']
    difference: Annotated[
        Optional[tuple[OptionChange, ...]],
        'What changes, option by option; null where one of the strings cannot be parsed.',
    ]
    plan: Annotated[Optional[Steps], 'How apply would apply it; null where no rollout does.']


def recommendations_of(snapshot: Snapshot) -> tuple[Recommendation, ...]:
    """Empty where nothing needs to change."""
    return tuple(
        Recommendation(_advice(recommended), candidates_of(assessment, recommended))
        for assessment in snapshot.assessments
        for recommended in assessment.recommendations
    )


def recommendation_of(
    found: Recommended, planned: Optional[FoundPlan] = None
) -> RecommendationInFull:
    """In full, with how it would be applied."""
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
    """OSDs in the order in which they would be changed."""
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
        soak=soak_of(planned.soak, planned.change.fill_s),
        gates=GATES,
        expected_duration_s=planned.least_duration_s,
        expected_duration_most_s=planned.most_duration_s,
    )

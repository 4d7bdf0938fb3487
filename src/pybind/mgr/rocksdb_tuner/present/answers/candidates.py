"""Candidate option strings, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Decision, Recommendation, Resource
from ...advise.usage import Usage
from ...advise.weighing import Assessment, Bars, Origin, Weighed, Weighing
from ...notes import Among
from ...snapshot import Snapshot

#: Resources that candidates are compared by.
_Weighed = Annotated[
    Resource,
    Among(
        (
            Resource.KV_SYNC,
            Resource.CORES,
            Resource.DB_DEVICE,
            Resource.DB_SPACE,
            Resource.WAL_SPACE,
            Resource.MEMORY,
        )
    ),
]


@dataclass(frozen=True)
class ResourceEffect:
    """Effect of an option string on one resource."""

    resource: Annotated[_Weighed, 'The resource.']
    estimate_percent: Annotated[
        float,
        'Change in use relative to the running options; negative is better.',
    ]
    low_percent: Annotated[float, 'Lower end of the 80% interval.']
    high_percent: Annotated[float, 'Upper end of the 80% interval.']


@dataclass(frozen=True)
class Candidate:
    """A candidate option string."""

    name: Annotated[str, 'Name of the profile, or "derived".']
    origin: Annotated[
        Origin,
        '"running": the running options; "successor": the default of later releases; "default": '
        'the default of the release; "derived": computed from the published goals for these OSDs.',
    ]
    profile: Annotated[Optional[str], 'Name of the profile; null if it matches none.']
    options: Annotated[str, 'Option string.']
    chosen: Annotated[bool, 'Whether it was chosen for the group.']
    infeasible: Annotated[
        tuple[str, ...], 'Why it is infeasible, in sentences; empty if it is feasible.'
    ]
    effects: Annotated[
        tuple[ResourceEffect, ...],
        'Effect on each resource; empty for running options and infeasible candidates.',
    ]
    short: Annotated[
        Optional[str],
        'Why it was not chosen, as a sentence; null for the chosen candidate, running options and '
        'infeasible candidates.',
    ]
    measured_in: Annotated[
        Optional[str],
        'Experiment on this cluster that measured it against the running options; null: none.',
    ]


@dataclass(frozen=True)
class Considered:
    """Candidates of one group, and the choice."""

    who: Annotated[str, 'Config mask of the group.']
    resource: Annotated[
        Optional[_Weighed],
        'Limiting resource, or else that of the largest saving; null: no candidates were compared.',
    ]
    decision: Annotated[Decision, 'The change of options that was chosen, or why none was.']
    min_gain_percent: Annotated[float, 'Minimum saving of a resource, with 80% probability.']
    max_loss_percent: Annotated[
        float, 'Maximum additional use of any other resource, with 80% probability.'
    ]
    unconstrained: Annotated[
        tuple[_Weighed, ...],
        'Resources that the OSDs have plenty of, exempt from max_loss_percent.',
    ]
    candidates: Annotated[tuple[Candidate, ...], 'Candidates that were compared.']


def considered_of(snapshot: Snapshot) -> tuple[Considered, ...]:
    return tuple(map(_considered, snapshot.assessments))


def candidates_of(
    assessment: Assessment, recommendation: Recommendation
) -> Optional[tuple[Candidate, ...]]:
    """Candidates considered for ``recommendation``; None if none were compared."""
    weighing = assessment.weighing
    if weighing is None or recommendation not in assessment.recommendations[:1]:
        return None
    return _candidates(weighing)


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
    return tuple(_candidate(w, chosen=w == weighing.chosen) for w in weighing.weighed)


def _candidate(weighed: Weighed, *, chosen: bool) -> Candidate:
    candidate = weighed.candidate
    return Candidate(
        name=candidate.name,
        origin=candidate.origin,
        profile=None if candidate.profile is None else candidate.profile.name,
        options=candidate.options,
        chosen=chosen,
        infeasible=weighed.infeasible,
        effects=tuple(map(_effect, weighed.usages)),
        short=weighed.short,
        measured_in=weighed.measured_in,
    )


def _effect(usage: Usage) -> ResourceEffect:
    low, value, high = (100 * (end - 1) for end in usage.ratio.ends)
    return ResourceEffect(usage.resource, value, low, high)

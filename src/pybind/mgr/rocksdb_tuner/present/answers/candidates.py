"""The option strings that were weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.assessment import Assessment
from ...advise.records import Recommendation, Resource
from ...advise.usage import Usage
from ...advise.weighing import Bars, Origin, Weighed, Weighing
from ...snapshot import Snapshot
from .notes import Among

#: What the model says of an option string.
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
    """What an option string would do to the use of one resource."""

    resource: Annotated[_Weighed, 'What is used.']
    estimate_percent: Annotated[
        float,
        'Change of its use against what runs; negative: less is used, which is better.',
    ]
    low_percent: Annotated[float, 'Lower end of the 80% interval.']
    high_percent: Annotated[float, 'Upper end of the 80% interval.']


@dataclass(frozen=True)
class Candidate:
    """An option string that was weighed."""

    name: Annotated[str, 'Name of the profile; of a neighbor the option that differs.']
    origin: Annotated[
        Origin,
        '"running": what runs; "default": of the release; "derived": from the published goals, for '
        'these OSDs; "neighbor": one option changed.',
    ]
    profile: Annotated[Optional[str], 'Name of the profile; null: it is none.']
    options: Annotated[str, 'Option string.']
    chosen: Annotated[bool, 'Whether it is the one that the group should run.']
    infeasible: Annotated[
        tuple[str, ...], 'Why it is out of the question, in sentences; empty: it is not.'
    ]
    effects: Annotated[
        tuple[ResourceEffect, ...],
        'What it would do to each resource; empty for what runs and for what is infeasible.',
    ]
    short: Annotated[
        Optional[str],
        'Why it is not chosen, as a sentence; null for the chosen one, for what runs and for what '
        'is infeasible.',
    ]


@dataclass(frozen=True)
class Decision:
    """What was weighed for one group, and the result."""

    who: Annotated[str, 'Mask of the config store that addresses the group.']
    resource: Annotated[Optional[_Weighed], 'What is to be relieved; null: nothing was weighed.']
    conclusion: Annotated[str, 'The result, as a sentence.']
    min_gain_percent: Annotated[
        float, 'By so much less the resource must be used, with 80% probability.'
    ]
    max_loss_percent: Annotated[
        float, 'By no more than this any other resource may be used more, with 80% probability.'
    ]
    unconstrained: Annotated[
        tuple[_Weighed, ...],
        'Resources of which the OSDs may have plenty: more use of them keeps nothing back.',
    ]
    candidates: Annotated[tuple[Candidate, ...], 'What was weighed.']


def decisions_of(snapshot: Snapshot) -> tuple[Decision, ...]:
    return tuple(map(_decision, snapshot.assessments))


def candidates_of(
    assessment: Assessment, recommendation: Recommendation
) -> Optional[tuple[Candidate, ...]]:
    """What ``recommendation`` was chosen from; None where nothing was weighed for it."""
    weighing = assessment.weighing
    if weighing is None or recommendation not in assessment.recommendations[:1]:
        return None
    return _candidates(weighing)


def _decision(assessment: Assessment) -> Decision:
    weighing = assessment.weighing
    bars = Bars() if weighing is None else weighing.bars
    return Decision(
        who=assessment.who,
        resource=None if weighing is None else weighing.resource,
        conclusion=assessment.conclusion,
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
    )


def _effect(usage: Usage) -> ResourceEffect:
    low, value, high = (100 * (end - 1) for end in usage.ratio.ends)
    return ResourceEffect(usage.resource, value, low, high)

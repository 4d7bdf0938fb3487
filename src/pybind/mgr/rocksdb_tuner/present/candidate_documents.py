"""The option sets that were weighed, as JSON documents."""

from __future__ import annotations

from typing import Optional

from ..advise.assessment import Assessment
from ..advise.records import Recommendation
from ..advise.usage import Usage
from ..advise.weighing import Bars, Weighed, Weighing
from ..snapshot import Snapshot
from ..units import rounded
from .json_types import JsonObject

__all__ = ['candidates', 'candidates_of']


def candidates(snapshot: Snapshot) -> list[JsonObject]:
    """For each group what was weighed, and what came of it."""
    return [_of_group(assessment) for assessment in snapshot.assessments]


def candidates_of(
    assessment: Assessment, recommendation: Recommendation
) -> Optional[list[JsonObject]]:
    """What ``recommendation`` was chosen from; None where nothing was weighed for it."""
    weighing = assessment.weighing
    if weighing is None or recommendation not in assessment.recommendations[:1]:
        return None
    return _all(weighing)


def _of_group(assessment: Assessment) -> JsonObject:
    weighing = assessment.weighing
    bars = Bars() if weighing is None else weighing.bars
    return {
        'who': assessment.who,
        'resource': None if weighing is None else weighing.resource.value,
        'conclusion': assessment.conclusion,
        'min_gain_percent': rounded(bars.min_gain * 100),
        'max_loss_percent': rounded(bars.max_loss * 100),
        'unconstrained': sorted(resource.value for resource in bars.plenty),
        'candidates': [] if weighing is None else _all(weighing),
    }


def _all(weighing: Weighing) -> list[JsonObject]:
    return [_candidate(w, chosen=w == weighing.chosen) for w in weighing.weighed]


def _candidate(weighed: Weighed, *, chosen: bool) -> JsonObject:
    candidate = weighed.candidate
    return {
        'name': candidate.name,
        'origin': candidate.origin.value,
        'profile': None if candidate.profile is None else candidate.profile.name,
        'options': candidate.options,
        'chosen': chosen,
        'infeasible': list(weighed.infeasible),
        'effects': [_effect(usage) for usage in weighed.usages],
        'short': weighed.short,
    }


def _effect(usage: Usage) -> JsonObject:
    low, value, high = (rounded(100 * (end - 1)) for end in usage.ratio.ends)
    return {
        'resource': usage.resource.value,
        'estimate_percent': value,
        'low_percent': low,
        'high_percent': high,
    }

"""What should change for a group of OSDs, or why nothing should. Pure.

The order of the questions is the order of trust: first whether anything may be advised at all,
then whether the present option string is one to get rid of, and only then whether another
profile suits the workload better. "Nothing to change" is an answer with reasons of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from ..options.releases import KnownRelease
from ..workload.records import Workload, WorkloadClass
from .candidate import Candidate, group_candidate
from .derive import agreement
from .effect import predicted_write_amplification, prediction_of, reason_of
from .given import Given
from .overrides import override_advice, own_entries_advice
from .profiles import Profile, predict, profiles
from .proposal import recommendation
from .records import (
    Assessment,
    GroupFacts,
    Kind,
    OsdFacts,
    Prediction,
    Reason,
    Recommendation,
    Risk,
)
from .situation import situation_of_osd
from .steps import ShownSteps
from .strings import recognise, safe_to_apply, same_meaning, suits

#: Whom an entry for the whole cluster addresses.
ALL_OSDS = 'osd'
#: Workloads that are no client's work, or no clear one: no reason to change anything for them.
NO_ADVICE_FOR = frozenset(
    {
        WorkloadClass.IDLE,
        WorkloadClass.RECOVERY,
        WorkloadClass.MIXED,
        WorkloadClass.UNKNOWN,
    }
)
#: Below this confidence a workload is not a reason to restart OSDs.
MIN_CONFIDENCE = 0.8
#: A profile must suit better than the present one by this much of the scale 0..1: published
#: gains over a modern default are single-digit percents, a restart of every OSD is not free.
MIN_GAIN = 0.2


def assess(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool = True,
    rollout_under_way: bool = False,
    shown_steps: Optional[ShownSteps] = None,
) -> Assessment:
    """What to do for ``group``.

    ``all_osds`` shows whom an entry wider than the group serves; ``orchestrated`` is whether an
    orchestrator can restart daemons, which decides how the commands read. While a rollout is
    under way the entries of single OSDs may be its own: nothing is said of them. ``shown_steps``
    remembers how what was recommended before would be done.
    """
    shown = shown_steps or ShownSteps()
    own = (
        ()
        if rollout_under_way
        else own_entries_advice(group, orchestrated=orchestrated, shown_steps=shown)
    )
    candidate = group_candidate(group, all_osds, orchestrated, shown)
    if isinstance(candidate, str):
        return Assessment(group.who, candidate, own)
    advice = override_advice(candidate, all_osds) or _workload_advice(candidate)
    if isinstance(advice, str):
        return Assessment(group.who, _with_remarks(advice, candidate), own)
    return Assessment(
        group.who, _with_remarks('A change is recommended.', candidate), (advice, *own)
    )


def _workload_advice(candidate: Candidate) -> Union[Recommendation, str]:
    workload = candidate.group.workload
    if workload is None or workload.workload_class in NO_ADVICE_FOR:
        name = workload.workload_class.value if workload else 'not known'
        return f'Nothing to change: the workload is {name}, which no option set is known to help.'
    name = workload.workload_class.value
    if workload.confidence < MIN_CONFIDENCE:
        return (
            f'Nothing to change yet: the workload looks like {name}, with a confidence of '
            f'{workload.confidence:.2f}; advice needs {MIN_CONFIDENCE:.2f}.'
        )
    release = candidate.release
    current = recognise(candidate.running, release)
    current_score = _score(current, workload.workload_class, release)
    best, best_score = _best_profile(workload.workload_class, release)
    if best is None or same_meaning(best.options, candidate.running, release.rocksdb_version):
        title = current.title if current else 'the present options'
        return f'Nothing to change: {title} suits {name} best of what is known.'
    if best_score - current_score < MIN_GAIN:
        return (
            f'Nothing to change: {best.title} would suit {name} only a little better than what '
            'runs, not enough for a restart of every OSD.'
        )
    return _profile_change(candidate, workload, best)


def _profile_change(
    candidate: Candidate, workload: Workload, best: Profile
) -> Union[Recommendation, str]:
    release = candidate.release
    suitability = suits(best, workload.workload_class, release)
    assert suitability is not None
    reasons = tuple(
        Reason(f'{e.statement}.' if not e.statement.endswith('.') else e.statement, 'measured')
        for e in workload.evidence
    ) + tuple(Reason(text, best.source) for text in suitability.reasons)
    # Of the OSDs of a group the first stands for all: they are of one device class.
    situation = situation_of_osd(
        candidate.osds[0], release, Given(workload=workload.workload_class)
    )
    reasons += (agreement(situation, best),)
    prediction = _prediction(best, workload.workload_class)
    change = predicted_write_amplification(candidate.running, best.options, situation)
    if change is not None:
        reasons += (reason_of(change),)
        # What was published of clients says more than the model of the tree.
        prediction = prediction or prediction_of(change)
    is_default = same_meaning(best.options, release.default_options, release.rocksdb_version)
    if is_default and candidate.deciding_entries == (ALL_OSDS,) and candidate.is_everything:
        return recommendation(
            candidate,
            Kind.REMOVE_OVERRIDE,
            who=ALL_OSDS,
            options_to=release.default_options,
            profile=best,
            reasons=reasons,
            prediction=prediction,
            risk=Risk.LOW,
            confidence=workload.confidence,
        )
    refusals = safe_to_apply(best.options, release.rocksdb_version)
    if refusals:
        return (
            f'{best.title} would suit, but does not pass the checks for RocksDB '
            f'{release.rocksdb_version}: {refusals[0].message}'
        )
    return recommendation(
        candidate,
        Kind.SET_PROFILE,
        # An entry for the device class would be shown by the config store and ignored by every
        # OSD at its start, so a group that is not the whole cluster keeps an entry for each OSD.
        who=ALL_OSDS if candidate.is_everything else candidate.group.who,
        options_to=best.options,
        profile=best,
        reasons=reasons,
        prediction=prediction,
        risk=Risk.LOW if is_default else Risk.MEDIUM,
        confidence=workload.confidence,
    )


def _best_profile(
    workload_class: WorkloadClass, release: KnownRelease
) -> tuple[Optional[Profile], float]:
    scored = [(_score(p, workload_class, release), p) for p in profiles()]
    # max() keeps the first of equals: the catalogue lists the best-tested one first.
    score, best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return (best, score) if score > 0 else (None, 0.0)


def _score(
    profile: Optional[Profile], workload_class: WorkloadClass, release: KnownRelease
) -> float:
    if profile is None:
        return 0.0
    suitability = suits(profile, workload_class, release)
    return suitability.score if suitability else 0.0


def _prediction(profile: Profile, workload_class: WorkloadClass) -> Optional[Prediction]:
    published = predict(profile, workload_class)
    if published is None:
        return None
    return Prediction(
        metric=published.metric,
        # Other hardware may gain nothing; what was published is the other end.
        low_percent=min(0.0, published.change_percent),
        high_percent=max(0.0, published.change_percent),
        basis=published.basis,
    )


def _with_remarks(text: str, candidate: Candidate) -> str:
    return ' '.join((text, *candidate.remarks))

"""What should change for a group of OSDs, or why nothing should. Pure.

The order of the questions is the order of trust: first whether anything may be advised at all,
then whether the present option string is one to get rid of, and only then whether another
profile suits the workload better. "Nothing to change" is an answer with reasons of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional, Union

from ..options.releases import KnownRelease
from ..rollout.order import lowest_risk_first
from ..rollout.plan import commands, forward_actions, undo_actions
from ..rollout.records import ChangeKind, ChangeRequest
from ..workload.records import Workload, WorkloadClass
from .facts import OPTION, release_of_osd
from .precedence import is_for_a_class, is_own_entry
from .profiles import Profile, predict, profiles
from .records import (
    Assessment,
    GroupFacts,
    Kind,
    OsdFacts,
    OsdOptions,
    Prediction,
    Reason,
    Recommendation,
    Risk,
)
from .strings import check, recognise, safe_to_apply, same_meaning, suits

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

RELEASE_DEFAULT_SOURCE = (
    'Ceph documentation, and M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Conclusion: the '
    'defaults have had years of QA that no other string has had'
)


@dataclass(frozen=True)
class Candidate:
    """The OSDs of a group that one change can reach, and what they have in common."""

    group: GroupFacts
    osds: tuple[OsdFacts, ...]
    release: KnownRelease
    running: str
    override_who: Optional[str]
    #: True if an entry for all OSDs of the cluster reaches these OSDs and no other.
    is_everything: bool
    orchestrated: bool
    #: Said beside any advice: OSDs that were left out, and why.
    remarks: tuple[str, ...]


def assess(
    group: GroupFacts, all_osds: Sequence[OsdFacts], *, orchestrated: bool = True
) -> Assessment:
    """What to do for ``group``.

    ``all_osds`` shows whom an entry wider than the group serves; ``orchestrated`` is whether an
    orchestrator can restart daemons, which decides how the commands read.
    """
    candidate = _candidate(group, all_osds, orchestrated)
    if isinstance(candidate, str):
        return Assessment(group.who, candidate, ())
    recommendation = _override_advice(candidate, all_osds) or _workload_advice(candidate)
    if isinstance(recommendation, str):
        return Assessment(group.who, _with_remarks(recommendation, candidate), ())
    return Assessment(
        group.who, _with_remarks('A change is recommended.', candidate), (recommendation,)
    )


def _candidate(
    group: GroupFacts, all_osds: Sequence[OsdFacts], orchestrated: bool
) -> Union[Candidate, str]:
    """The part of a group that may be advised on, or the reason why none of it may."""
    known = [(o, o.options) for o in group.osds if o.info.up and o.options is not None]
    if not known:
        return 'No OSD of the group is up with known options.'
    releases = {release_of_osd(o.info) for o, _ in known}
    if None in releases:
        return (
            'The release of at least one OSD is not known to this module: it measures, and '
            'recommends nothing.'
        )
    if len(releases) > 1:
        names = ', '.join(sorted({o.info.version or '?' for o, _ in known}))
        return f'The OSDs run different releases ({names}): finish the upgrade first.'
    overruled = [o.info.osd_id for o, options in known if options.overruled]
    shadowed = [
        o.info.osd_id
        for o, options in known
        if options.deciding_who is not None and is_own_entry(options.deciding_who)
    ]
    usable = [
        (o, options)
        for o, options in known
        if o.info.osd_id not in overruled and o.info.osd_id not in shadowed
    ]
    remarks = tuple(
        text
        for ids, text in (
            (overruled, 'ceph.conf, the environment or the command line decides for {}.'),
            (shadowed, 'An entry of their own decides for {}.'),
        )
        if ids
        for text in [text.format(name_osds(ids))]
    )
    if not usable:
        return ' '.join(('No entry for the group would reach any of its OSDs.', *remarks))
    blocker = _blocker([options for _, options in usable])
    if blocker:
        return ' '.join((blocker, *remarks))
    (release,) = releases
    assert release is not None
    return Candidate(
        group=group,
        osds=tuple(o for o, _ in usable),
        release=release,
        running=usable[0][1].running,
        override_who=usable[0][1].deciding_who,
        is_everything=len(usable) == len(all_osds),
        orchestrated=orchestrated,
        remarks=remarks,
    )


def _blocker(options: Sequence[OsdOptions]) -> Optional[str]:
    """Why these OSDs cannot be advised on together; None if they can."""
    annexed = [o.osd_id for o in options if o.annex]
    if annexed:
        return (
            f'bluestore_rocksdb_options_annex is set for {name_osds(annexed)}: it is appended to '
            'whatever is recommended, so change it by hand.'
        )
    untold = [o.osd_id for o in options if o.next_start is None]
    if untold:
        return f'What {name_osds(untold)} would run after a restart cannot be told.'
    pending = [o.osd_id for o in options if o.pending_restart]
    if pending:
        return (
            f'{name_osds(pending)} did not yet restart with the configured options: what they do '
            'now says nothing about these.'
        )
    if len({(o.running, o.deciding_who) for o in options}) > 1:
        return 'The OSDs of the group run different options: make them alike first.'
    return None


def _override_advice(
    candidate: Candidate, all_osds: Sequence[OsdFacts]
) -> Union[Recommendation, str, None]:
    """Advice on an override for its own sake, whatever the workload; None if there is none."""
    who = candidate.override_who
    if who is None:
        return None
    release = candidate.release
    default = release.default_options
    reasons: tuple[Reason, ...]
    if same_meaning(candidate.running, default, release.rocksdb_version):
        reasons = (
            Reason(
                f'{who} holds what {release.label} uses without it: the entry changes nothing now, '
                'and would keep the OSDs from the better default of a later release.',
                RELEASE_DEFAULT_SOURCE,
            ),
        )
        risk = Risk.LOW
    else:
        reasons = _complaints(candidate)
        if not reasons:
            return None
        risk = Risk.MEDIUM
    others = [
        o.info.osd_id
        for o in all_osds
        if o.options
        and o.options.deciding_who == who
        and o.info.device_class != candidate.group.device_class
    ]
    if others:
        return (
            f'The entry for {who} should go ({reasons[0].statement}) but also decides for '
            f'{name_osds(others)} of other device classes: remove it by hand, with '
            f'"ceph config rm {who} {OPTION}", once that is right for all of them.'
        )
    return _recommendation(
        candidate,
        Kind.REMOVE_OVERRIDE,
        who=who,
        options_to=default,
        profile=recognise(default, release),
        reasons=reasons,
        prediction=None,
        risk=risk,
    )


def _complaints(candidate: Candidate) -> tuple[Reason, ...]:
    """What is wrong with the running override: superseded by its authors, or unsafe."""
    release = candidate.release
    profile = recognise(candidate.running, release)
    superseded = (
        (Reason(f'{profile.title}: {profile.superseded}', profile.source),)
        if profile and profile.superseded
        else ()
    )
    unsafe = tuple(
        Reason(f'{problem.option}: {problem.message}', problem.source)
        for problem in check(candidate.running, release.rocksdb_version).problems
        if problem.severity == 'error'
    )
    return superseded + unsafe


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
    prediction = _prediction(best, workload.workload_class)
    is_default = same_meaning(best.options, release.default_options, release.rocksdb_version)
    if is_default and candidate.override_who == ALL_OSDS and candidate.is_everything:
        return _recommendation(
            candidate,
            Kind.REMOVE_OVERRIDE,
            who=ALL_OSDS,
            options_to=release.default_options,
            profile=best,
            reasons=reasons,
            prediction=prediction,
            risk=Risk.LOW,
        )
    refusals = safe_to_apply(best.options, release.rocksdb_version)
    if refusals:
        return (
            f'{best.title} would suit, but does not pass the checks for RocksDB '
            f'{release.rocksdb_version}: {refusals[0].message}'
        )
    return _recommendation(
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


def _recommendation(
    candidate: Candidate,
    kind: Kind,
    *,
    who: str,
    options_to: str,
    profile: Optional[Profile],
    reasons: tuple[Reason, ...],
    prediction: Optional[Prediction],
    risk: Risk,
) -> Recommendation:
    load = {o.info.osd_id: o.signals.write_iops if o.signals else None for o in candidate.osds}
    order = lowest_risk_first((o.info for o in candidate.osds), load)
    advice_id = recommendation_id(kind, who, options_to)
    restart = not same_meaning(candidate.running, options_to, candidate.release.rocksdb_version)
    request = ChangeRequest(
        recommendation_id=advice_id,
        kind=ChangeKind(kind.value),
        who=who,
        targets=tuple((osd_id, options_to) for osd_id in order),
        order=order,
        final_entries=_final_entries(kind, who, options_to, order),
        actor='',
        restart=restart,
    )
    before = {who: candidate.running} if candidate.override_who == who else {}
    hosts = {o.info.osd_id: o.info.host for o in candidate.osds}
    return Recommendation(
        recommendation_id=advice_id,
        kind=kind,
        who=who,
        osds=order,
        profile=profile.name if profile else None,
        options_from=candidate.running,
        options_to=options_to,
        targets=request.targets,
        final_entries=request.final_entries,
        reasons=reasons,
        prediction=prediction,
        risk=risk,
        restart_required=restart,
        commands=commands(forward_actions(request), candidate.orchestrated, hosts),
        undo_commands=commands(undo_actions(request, before), candidate.orchestrated, hosts),
    )


def _final_entries(
    kind: Kind, who: str, options_to: str, order: tuple[int, ...]
) -> tuple[tuple[str, Optional[str]], ...]:
    """What the config store holds at the end: entries that OSDs start with."""
    if kind is Kind.REMOVE_OVERRIDE:
        return ((who, None),)
    if is_for_a_class(who):
        return tuple((f'osd.{osd_id}', options_to) for osd_id in order)
    return ((who, options_to),)


def change_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    """The rollout of ``recommendation``: what is carried out is what it shows."""
    return ChangeRequest(
        recommendation_id=recommendation.recommendation_id,
        kind=ChangeKind(recommendation.kind.value),
        who=recommendation.who,
        targets=recommendation.targets,
        order=recommendation.osds,
        final_entries=recommendation.final_entries,
        actor=actor,
        restart=recommendation.restart_required,
        prediction=_prediction_text(recommendation.prediction),
    )


def _prediction_text(prediction: Optional[Prediction]) -> Optional[str]:
    if prediction is None:
        return None
    return f'{prediction.metric}: {prediction.low_percent:+.0f} to {prediction.high_percent:+.0f} %'


def recommendation_id(kind: Kind, who: str, options_to: str) -> str:
    """The same advice has the same id after a failover, and on every manager."""
    digest = hashlib.sha256(f'{kind.value}\0{who}\0{options_to}'.encode()).hexdigest()
    place = who.rpartition(':')[2].rpartition('/')[2]
    return f'{place}-{digest[:6]}'


def name_osds(osd_ids: Iterable[int], limit: int = 8) -> str:
    """ "osd.1, osd.2 and 30 more": never a line of a thousand names."""
    ids = sorted(osd_ids)
    names = ', '.join(f'osd.{i}' for i in ids[:limit])
    return names if len(ids) <= limit else f'{names} and {len(ids) - limit} more'


def _with_remarks(text: str, candidate: Candidate) -> str:
    return ' '.join((text, *candidate.remarks))

"""Whether an override should go for its own sake, whatever the workload. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from .candidate import Candidate, own_entry_candidates
from .facts import OPTION
from .naming import name_osds
from .proposal import recommendation
from .records import GroupFacts, Kind, OsdFacts, Reason, Recommendation, Risk
from .steps import ShownSteps
from .strings import check, recognise, same_meaning

RELEASE_DEFAULT_SOURCE = (
    'Ceph documentation, and M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Conclusion: the '
    'defaults have had years of QA that no other string has had'
)


def override_advice(
    candidate: Candidate, all_osds: Sequence[OsdFacts]
) -> Union[Recommendation, str, None]:
    """Advice on the one entry that decides for the OSDs; None if it may stay, or there is none."""
    if not candidate.deciding_entries:
        return None
    (who,) = candidate.deciding_entries
    found = _objections(candidate)
    if found is None:
        return None
    reasons, _ = found
    others = _others_it_decides_for(who, candidate, all_osds)
    if others:
        return (
            f'The entry for {who} should go ({reasons[0].statement}) but it also decides, or may '
            f'decide once they are up, for {name_osds(others)}, which this change would not '
            f'reach: remove it by hand, with "ceph config rm {who} {OPTION}", once that is right '
            'for all of them.'
        )
    return _removal(candidate, who)


def _others_it_decides_for(
    who: str, candidate: Candidate, all_osds: Sequence[OsdFacts]
) -> list[int]:
    """OSDs that would start with something else, unwatched, if the entry went.

    One that is down and out comes back only by somebody's hand, if ever: it holds nothing up.
    """
    reached = {osd.info.osd_id for osd in candidate.osds}
    return [
        osd.info.osd_id
        for osd in all_osds
        if osd.info.osd_id not in reached
        and (osd.info.up or osd.info.in_cluster)
        and (osd.options is None or (osd.options.deciding_who == who and not osd.options.overruled))
    ]


def own_entries_advice(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Recommendation, ...]:
    """Advice on entries of single OSDs, in one recommendation for all that run the same."""
    advice = (
        _removal(
            candidate,
            candidate.deciding_entries[0] if len(candidate.osds) == 1 else group.who,
        )
        for candidate in own_entry_candidates(
            group, orchestrated=orchestrated, shown_steps=shown_steps
        )
    )
    return tuple(found for found in advice if found is not None)


def _removal(candidate: Candidate, who: str) -> Optional[Recommendation]:
    found = _objections(candidate)
    if found is None:
        return None
    reasons, risk = found
    default = candidate.release.default_options
    return recommendation(
        candidate,
        Kind.REMOVE_OVERRIDE,
        who=who,
        options_to=default,
        profile=recognise(default, candidate.release),
        reasons=reasons,
        prediction=None,
        risk=risk,
    )


def _objections(candidate: Candidate) -> Optional[tuple[tuple[Reason, ...], Risk]]:
    """Why the override should go, and the risk of that; None if it may stay."""
    release = candidate.release
    if same_meaning(candidate.running, release.default_options, release.rocksdb_version):
        entries = candidate.deciding_entries
        holder = entries[0] if len(entries) == 1 else f'Each entry of {len(entries)} single OSDs'
        redundant = Reason(
            f'{holder} holds what {release.label} uses without it: the entry changes nothing now, '
            'and would keep the OSDs from the better default of a later release.',
            RELEASE_DEFAULT_SOURCE,
        )
        return (redundant,), Risk.LOW
    complaints = _complaints(candidate)
    return (complaints, Risk.MEDIUM) if complaints else None


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

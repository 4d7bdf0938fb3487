"""Conditions of published option strings."""

from __future__ import annotations

from collections.abc import Iterable

from ...plan.records import OPTION
from ..naming import name_osds
from ..profiles import Profile
from ..records import Finding, FindingEvidence
from ..strings import recognize, same_meaning
from .declaration import Condition, condition
from .facts import ClusterFacts


@condition('superseded-options')
def superseded_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A published string that its authors no longer recommend."""
    for profile, ids in _published(cluster):
        if profile.superseded:
            yield condition.finding(
                f'{name_osds(ids)} run {profile.title}: {profile.superseded}',
                ids,
                (FindingEvidence(OPTION, profile.options, 'option string', None),),
                profile=profile.name,
            )


@condition('published-options')
def published_options(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A published string."""
    for profile, ids in _published(cluster):
        if not profile.superseded:
            yield condition.finding(
                f'{name_osds(ids)} run {profile.title}',
                ids,
                (FindingEvidence(OPTION, profile.options, 'option string', None),),
                profile=profile.name,
            )


def _published(cluster: ClusterFacts) -> list[tuple[Profile, tuple[int, ...]]]:
    """Known profiles in use, except for the default of the release."""
    using: dict[str, tuple[Profile, list[int]]] = {}
    for running in cluster.chosen_strings:
        release = running.release
        profile = recognize(running.text, release)
        if profile is None or (
            release is not None
            and same_meaning(running.text, release.default_options, release.rocksdb_version)
        ):
            continue
        using.setdefault(profile.name, (profile, []))[1].extend(running.ids)
    return [(profile, tuple(sorted(ids))) for profile, ids in using.values()]

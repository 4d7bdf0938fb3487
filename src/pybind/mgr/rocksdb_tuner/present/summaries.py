"""Summaries of many records in one line.

The differences between two option strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.records import Finding, OsdFacts, Severity
from ..notes import OsdId
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState, batches

SEVERITIES = tuple(Severity)
_PHASES_OF_FINISHED_OSDS = frozenset({Phase.DONE, Phase.ROLLED_BACK})


@dataclass(frozen=True)
class Variant:
    """OSDs that run the same profile from the same source."""

    profile: Annotated[Optional[str], 'Name of the profile; null if it matches none.']
    source: Annotated[
        str,
        'Source of the running value: "default", "mon", "file", "env", "cmdline" or "override".',
    ]
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']


@dataclass(frozen=True)
class OptionsInUse:
    """Running options of the OSDs of a group.

    OSDs whose options are not known are in none of them.
    """

    variants: Annotated[
        tuple[Variant, ...],
        'Variants, most frequent first; without OSDs whose options are unknown.',
    ]
    pending_restart: Annotated[
        tuple[OsdId, ...], 'OSDs whose configured options a restart would apply.'
    ]

    @property
    def profile(
        self,
    ) -> Annotated[
        Optional[str], 'Profile that all of them run; null if they differ or match no profile.'
    ]:
        profiles = {variant.profile for variant in self.variants}
        return profiles.pop() if len(profiles) == 1 else None

    @property
    def source(
        self,
    ) -> Annotated[
        Optional[str], 'Source of the options of all OSDs; null if it differs or is unknown.'
    ]:
        sources = {variant.source for variant in self.variants}
        return sources.pop() if len(sources) == 1 else None


def options_in_use(osds: Iterable[OsdFacts]) -> OptionsInUse:
    """The options of a group, by profile and source."""
    found: dict[tuple[Optional[str], str], list[int]] = {}
    pending = []
    for facts in osds:
        if facts.options is None:
            continue
        key = (facts.options.profile, facts.options.source)
        found.setdefault(key, []).append(facts.info.osd_id)
        if facts.options.pending_restart:
            pending.append(facts.info.osd_id)
    variants = [Variant(profile, source, tuple(ids)) for (profile, source), ids in found.items()]
    variants.sort(key=lambda variant: -len(variant.osds))
    return OptionsInUse(tuple(variants), tuple(pending))


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings sorted by severity, otherwise in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def osds_finished(state: RolloutState) -> int:
    """The number of OSDs that a rollout or rollback has finished."""
    return sum(
        len(batch.osds) for batch in batches(state) if batch.phase in _PHASES_OF_FINISHED_OSDS
    )


def common_domain(hosts: Iterable[Optional[str]]) -> str:
    """The common domain of host names (".example.com"), or ""."""
    names = [host for host in hosts if host is not None]
    split = [host.partition('.') for host in names]
    domains = {dot + domain if name else '' for name, dot, domain in split}
    return domains.pop() if len(domains) == 1 else ''

"""Summaries of many records in one line.

The differences between two option strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

from ..advise.profiles import Profile
from ..advise.records import Finding, OsdFacts, Severity
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState, batches
from ..options.grammar import OptionDifference, OptionSyntaxError, diff, parse
from ..workload.records import WorkloadClass

SEVERITIES = tuple(Severity)
_PHASES_OF_FINISHED_OSDS = frozenset({Phase.DONE, Phase.ROLLED_BACK})


@dataclass(frozen=True)
class Variant:
    """OSDs that run the same profile (None: custom options) from the same source."""

    profile: Optional[str]
    source: str
    osds: tuple[int, ...]


@dataclass(frozen=True)
class OptionsInUse:
    """The options of a group of OSDs; the most frequent of ``variants`` first.

    OSDs whose options are not known are in none of them.
    """

    variants: tuple[Variant, ...]
    pending_restart: tuple[int, ...]

    @property
    def profile(self) -> Optional[str]:
        """The profile that all OSDs run; None if they differ or run custom options."""
        profiles = {variant.profile for variant in self.variants}
        return profiles.pop() if len(profiles) == 1 else None

    @property
    def source(self) -> Optional[str]:
        """The source of the options of all OSDs; None if it differs."""
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


def suited_workloads(profile: Profile) -> tuple[WorkloadClass, ...]:
    """Workloads that it was made for, without those that merely have it as the default."""
    return tuple(
        dict.fromkeys(
            rule.workload for rule in profile.suitability if not rule.only_as_release_default
        )
    )


def common_domain(hosts: Iterable[Optional[str]]) -> str:
    """The common domain of host names (".example.com"), or ""."""
    names = [host for host in hosts if host is not None]
    split = [host.partition('.') for host in names]
    domains = {dot + domain if name else '' for name, dot, domain in split}
    return domains.pop() if len(domains) == 1 else ''


def difference(before: str, after: str) -> Optional[tuple[OptionDifference, ...]]:
    """The differences between two option strings; None if one cannot be parsed."""
    try:
        return diff(parse(before), parse(after))
    except OptionSyntaxError:
        return None

"""Findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Finding as FoundFinding
from ...advise.records import Severity
from ...snapshot import Snapshot
from ..summaries import worst_first
from .copies import like
from .notes import Amount, OsdId


@dataclass(frozen=True)
class FindingEvidence:
    """A measurement or setting behind a finding."""

    signal: Annotated[str, 'Name of the signal or setting.']
    value: Annotated[object, 'The value, in the given unit; null: unknown.']
    unit: Annotated[str, 'Unit or kind of the value.']
    window_s: Annotated[Optional[Amount], 'Length of the measurement, in seconds; null: a state.']


@dataclass(frozen=True)
class Finding:
    """A finding: a problem or risk in the cluster."""

    id: Annotated[str, 'Stable id of the condition.']
    severity: Annotated[Severity, 'Severity.']
    summary: Annotated[str, 'Summary, as a sentence.']
    osds: Annotated[tuple[OsdId, ...], 'Affected OSDs.']
    evidence: Annotated[tuple[FindingEvidence, ...], 'Evidence.']
    remedy: Annotated[str, 'Remedy.']
    commands: Annotated[tuple[str, ...], 'The exact commands of the remedy, if any.']
    do_not: Annotated[Optional[str], 'What would make it worse; null: nothing known.']
    source: Annotated[str, 'Documentation or measurement behind the condition.']


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return found_of(worst_first(snapshot.findings))


def found_of(found: Iterable[FoundFinding]) -> tuple[Finding, ...]:
    """In the given order."""
    return tuple(map(finding_of, found))


def finding_of(found: FoundFinding) -> Finding:
    return like(
        Finding,
        found,
        id=found.finding_id,
        evidence=tuple(like(FindingEvidence, one) for one in found.evidence),
    )

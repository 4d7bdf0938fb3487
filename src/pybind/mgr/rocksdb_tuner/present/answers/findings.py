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
    """Something measured or read."""

    signal: Annotated[str, 'What was measured or read.']
    value: Annotated[object, 'The value, in the given unit; null if not known.']
    unit: Annotated[str, 'Unit or kind of the value.']
    window_s: Annotated[Optional[Amount], 'Seconds over which it was measured; null for a state.']


@dataclass(frozen=True)
class Finding:
    """A condition that an expert would report."""

    id: Annotated[str, 'Stable name of the condition.']
    severity: Annotated[Severity, 'How bad it is.']
    summary: Annotated[str, 'What was found, as a sentence.']
    osds: Annotated[tuple[OsdId, ...], 'The OSDs concerned.']
    evidence: Annotated[tuple[FindingEvidence, ...], 'What it was found from.']
    remedy: Annotated[str, 'What to do about it.']
    commands: Annotated[tuple[str, ...], 'The exact commands of the remedy, where there are any.']
    do_not: Annotated[Optional[str], 'What would make it worse; null where nothing is known to.']
    source: Annotated[str, 'Where the condition is documented or was measured.']


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return found_of(worst_first(snapshot.findings))


def found_of(found: Iterable[FoundFinding]) -> tuple[Finding, ...]:
    """In their order."""
    return tuple(map(finding_of, found))


def finding_of(found: FoundFinding) -> Finding:
    return like(
        Finding,
        found,
        id=found.finding_id,
        evidence=tuple(like(FindingEvidence, one) for one in found.evidence),
    )

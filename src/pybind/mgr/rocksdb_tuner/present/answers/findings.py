"""Findings."""

from __future__ import annotations

from ...advise.records import Finding
from ...snapshot import Snapshot
from ..summaries import worst_first

__all__ = ['findings_of']


def findings_of(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Worst first."""
    return tuple(worst_first(snapshot.findings))

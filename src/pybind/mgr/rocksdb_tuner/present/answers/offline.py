"""Answers to several commands in one, for the offline evaluation of files."""

from __future__ import annotations

from dataclasses import dataclass

from ...advise.records import Finding
from ...snapshot import Snapshot
from .advice import Recommendation, findings_of, recommendations_of
from .osds import OsdRow, rows_of
from .status import Status, status_of
from .workload import Workloads, workloads_of


@dataclass(frozen=True)
class Overview:
    """The answers to several commands at once."""

    status: Status
    osd: tuple[OsdRow, ...]
    workload: Workloads
    findings: tuple[Finding, ...]
    recommend: tuple[Recommendation, ...]


def overview_of(snapshot: Snapshot) -> Overview:
    return Overview(
        status_of(snapshot),
        rows_of(snapshot, snapshot.osds),
        workloads_of(snapshot),
        findings_of(snapshot),
        recommendations_of(snapshot),
    )

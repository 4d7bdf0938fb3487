"""The view of a cluster that every operation and every gate works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ..mgr.records import ClusterMap, DaemonVersions, OsdInfo, PgSummary


@dataclass(frozen=True)
class ClusterView:
    """The cluster at one time. What was not queried, or did not answer, is missing."""

    cluster: ClusterMap
    pgs: PgSummary
    #: Codes of the current health checks.
    health: frozenset[str]
    #: Why an OSD may not stop now; None if it may.
    ok_to_stop: Mapping[int, Optional[str]] = field(default_factory=dict)
    #: Running versions by daemon type; None: not queried, or no answer.
    versions: Optional[tuple[DaemonVersions, ...]] = None
    #: Upgrade target of the orchestrator, or why it is unknown; None: no upgrade.
    upgrade: Optional[str] = None
    #: False: changes are disabled by the mode.
    may_act: bool = True
    #: Why the maintenance window or the daily limit keeps another OSD from starting; None if
    #: neither does.
    schedule_reason: Optional[str] = None
    #: Why this manager has no current OSD reports; None while OSDs report to it.
    no_reports_reason: Optional[str] = None
    #: OSDs without a current sample, among those that need one before another OSD starts.
    unsampled: tuple[int, ...] = ()
    #: An OSD joined, left or restarted, and not every OSD has reported its placement groups since.
    osds_moved: bool = False

    def osd(self, osd_id: int) -> Optional[OsdInfo]:
        return self.cluster.by_id.get(osd_id)

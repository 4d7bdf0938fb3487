"""What every operation sees of a cluster at one time, and what gates read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ..mgr.records import ClusterMap, DaemonVersions, OsdInfo, PgSummary


@dataclass(frozen=True)
class ClusterView:
    """One look at the cluster. What was not asked for, or did not answer, is missing."""

    cluster: ClusterMap
    pgs: PgSummary
    #: Codes of the current health checks.
    health: frozenset[str]
    #: None: may stop now.
    ok_to_stop: Mapping[int, Optional[str]] = field(default_factory=dict)
    #: What runs now, by kind of daemon; None: not asked for, or no answer.
    versions: Optional[tuple[DaemonVersions, ...]] = None
    #: What the orchestrator upgrades to, or why that is unknown; None: it upgrades nothing.
    upgrade: Optional[str] = None
    #: False: the operator switched changes off.
    may_act: bool = True
    #: Why no OSD may be begun now, though nothing is wrong: the operator's maintenance window, or
    #: daily limit; None if one may.
    not_now: Optional[str] = None
    #: Why this manager does not know how the OSDs are; None while they report to it.
    deaf: Optional[str] = None
    #: An OSD came, went or got another process so short a time ago that the placement groups may
    #: not have been reported since.
    osds_moved: bool = False

    def osd(self, osd_id: int) -> Optional[OsdInfo]:
        return next((osd for osd in self.cluster.osds if osd.osd_id == osd_id), None)

"""The module's requirements on a cluster, one Protocol each.

`adapter.py` implements them over the mgr API, the tests with a fake cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Mapping, Optional, Protocol, Union

from .records import (
    AuditLine,
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    ManagerHost,
    ManagerInfo,
    OrchestratedDaemon,
    PgSummary,
    PoolCounters,
    RunningOption,
)

#: Arguments of a command by name; some take several values.
TellArguments = Mapping[str, Union[str, Sequence[str]]]


class CommandError(Exception):
    """A command to the cluster failed; ``errno`` is positive, the message is Ceph's."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message


class CounterReader(Protocol):
    """Perf counters that OSDs sent to the mgr."""

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        """Newest point of each path ("bluestore.kv_sync_lat"); None if never reported.

        One call for all counters of an OSD, since this dominates the cost of a tick.
        """


#: Each report of an OSD of any release has it.
REPORTED = 'osd.op_w'


class ReportReader(Protocol):
    """When OSDs sent their counters to the mgr, by the mgr's clock."""

    def report_times(self, osd_id: int) -> Sequence[float]:
        """The last reports, at most 20, oldest first."""

    def last_report_s(self, osd_id: int) -> Optional[float]:
        """None: it never reported."""


class ClusterReader(Protocol):
    """The mgr's own maps; never blocks on another daemon."""

    def cluster_map(self) -> ClusterMap: ...
    def pg_summary(self) -> PgSummary: ...
    def pool_counters(self) -> Mapping[int, PoolCounters]:
        """By pool id; the cost depends on the number of pools, not of PGs."""

    def fsid(self) -> Optional[str]: ...
    def managers(self) -> tuple[ManagerInfo, ...]: ...
    def manager_host(self) -> Optional[ManagerHost]:
        """The active mgr itself; None before the first map."""

    def slow_ops(self) -> Mapping[int, int]:
        """Current slow requests by OSD, without OSDs that did not report."""

    def health_codes(self) -> Mapping[str, str]:
        """Codes of the current health checks and their severity ("HEALTH_WARN")."""

    def alerting_osds(self, code: str) -> frozenset[int]:
        """The OSDs that a current health check names."""


class ConfigStore(Protocol):
    """The config store, and the running options of OSDs. May block on a mon.

    Raises CommandError.
    """

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        """All entries for these option names, in every section and mask."""

    def set(self, who: str, name: str, value: str) -> None: ...
    def remove(self, who: str, name: str) -> None: ...
    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        """The options that the OSD last reported. Stale while it is down: check `up` first.

        Returns all of ``names``, and those of ``if_set`` that are set, at no extra cost.
        """


class Answer(Protocol):
    """The pending answer of an OSD to a command."""

    def output(self) -> Optional[str]:
        """None without an answer yet; raises CommandError, like `tell`. Never blocks."""


class OsdQuestions(Protocol):
    """Asynchronous commands."""

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> Answer:
        """Send `ceph tell osd.N PREFIX`; the answer may take hours."""


class OsdCommands(Protocol):
    """Commands to and about single OSDs. May block on a mon or the OSD."""

    def tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        """Output of `ceph tell osd.N PREFIX`; raises CommandError, even if Ceph returns 0."""

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        """None if these OSDs may stop now, otherwise why not."""


class Orchestrator(Protocol):
    def unavailable_reason(self, osd_id: Optional[int] = None) -> Optional[str]:
        """None if an orchestrator backend can restart daemons, or this OSD, otherwise why not."""

    def describes_osds(self) -> bool:
        """Whether it reports on daemons, as it also does where it leaves their restarts alone."""

    def restart_osd(self, osd_id: int) -> None:
        """Request a restart. Returns when it is scheduled, before it happens."""

    def describe_osd(self, osd_id: int, refresh: bool) -> Optional[OrchestratedDaemon]:
        """The orchestrator's view of the OSD; None if unknown to it. Raises CommandError.

        ``refresh`` requests a refresh for later calls.
        """


class Upgrades(Protocol):
    """Ceph upgrades in progress. Blocks on a mon."""

    def daemon_versions(self) -> tuple[DaemonVersions, ...]: ...
    def orchestrated_upgrade(self) -> Optional[str]:
        """Target of the orchestrator's upgrade, even if paused; None: no upgrade.

        Raises CommandError if an orchestrator with upgrades does not report the status.
        """


class Audit(Protocol):
    """The audit log. Blocks on a mon; thread-safe."""

    def audited(self) -> tuple[AuditLine, ...]:
        """The newest commands, each logged before its execution."""


class Announcements(Protocol):
    """Cluster log and progress events. Never blocks, and never fails."""

    def log(self, text: str, warning: bool) -> None: ...
    def show_progress(self, event_id: str, message: str, share: float) -> None:
        """Create or update an event of `ceph -s`; ``share``: progress, 0..1."""

    def end_progress(self, event_id: str, failure: Optional[str]) -> None:
        """``failure``: why it failed, None on success."""


class Store(Protocol):
    """Small texts that survive a mgr failover (at most 64 KiB each: the mon's limit)."""

    def get(self, key: str) -> Optional[str]: ...
    def set(self, key: str, value: Optional[str]) -> None:
        """Store ``value`` under ``key``; None removes the key. Raises CommandError."""

    def keys(self, prefix: str) -> Sequence[str]:
        """All keys with this prefix, sorted."""


class Cluster(
    CounterReader,
    ReportReader,
    ClusterReader,
    ConfigStore,
    OsdCommands,
    OsdQuestions,
    Orchestrator,
    Upgrades,
    Audit,
    Announcements,
    Protocol,
):
    """All interfaces to the cluster, for what wires the parts."""

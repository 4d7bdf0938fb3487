"""What the module needs from a cluster, one Protocol per thing.

The core is written against these; `adapter.py` implements them over the mgr API, the tests with
a cluster in memory.
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
    ManagerInfo,
    OrchestratedDaemon,
    PgSummary,
    PoolCounters,
    RunningOption,
)

#: Words of a command by name; some take several.
TellArguments = Mapping[str, Union[str, Sequence[str]]]


class CommandError(Exception):
    """A command to the cluster failed; ``errno`` is positive, the text is Ceph's own."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message


class CounterReader(Protocol):
    """Perf counters that OSDs sent to the mgr."""

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        """Newest point of each path ("bluestore.kv_sync_lat"); None if it was never reported.

        All of an OSD at once: this is most of what a tick costs.
        """


class ClusterReader(Protocol):
    """The mgr's own maps; nothing here waits for another daemon."""

    def cluster_map(self) -> ClusterMap: ...

    def pg_summary(self) -> PgSummary: ...

    def pool_counters(self) -> Mapping[int, PoolCounters]:
        """By pool id; its cost is that of the number of pools, whatever their PGs."""

    def managers(self) -> tuple[ManagerInfo, ...]:
        """The active manager and the standbys."""

    def slow_ops(self) -> Mapping[int, int]:
        """Requests that are slow now, by OSD; an OSD that has not told is absent."""

    def health_codes(self) -> Mapping[str, str]:
        """Codes of the current health checks and their severity ("HEALTH_WARN")."""


class ConfigStore(Protocol):
    """The mon's config store, and what running OSDs make of it. May wait for a mon."""

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        """All entries for these option names, in every section and mask."""

    def set(self, who: str, name: str, value: str) -> None: ...

    def remove(self, who: str, name: str) -> None: ...

    def resolved(self, osd_id: int, name: str) -> str:
        """What the mon would give this OSD at its next start (mon's default if nothing set)."""

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        """What the OSD last reported as running. Stale while it is down: check `up` first.

        All of ``names`` are answered; of ``if_set`` only those that somebody set, at no cost.
        """


class Answer(Protocol):
    """What an OSD will say to a command that was sent to it."""

    def output(self) -> Optional[str]:
        """None while there is no answer; raises CommandError, like `tell`. Never waits."""


class OsdQuestions(Protocol):
    """Commands whose answers are not waited for."""

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> Answer:
        """Send `ceph tell osd.N PREFIX`; the answer may take hours."""


class OsdCommands(Protocol):
    """Commands to and about single OSDs. May wait for a mon or the OSD."""

    def tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        """Output of `ceph tell osd.N PREFIX`; raises CommandError, also where Ceph returns 0."""

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        """None if these OSDs may stop now, otherwise why not."""


class Orchestrator(Protocol):
    def unavailable_reason(self) -> Optional[str]:
        """None if an orchestrator backend can restart daemons, otherwise why not."""

    def restart_osd(self, osd_id: int) -> None:
        """Ask for a restart. Returns when it is scheduled, not when it has happened."""

    def describe_osd(self, osd_id: int, refresh: bool) -> Optional[OrchestratedDaemon]:
        """What the orchestrator reports of the OSD; None: nothing. Raises CommandError.

        ``refresh`` makes it look again, for a later answer.
        """


class Upgrades(Protocol):
    """Whether Ceph itself is being upgraded. Waits for a mon."""

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        """What runs now, by kind of daemon ("mon", "mgr", "osd", ...)."""

    def orchestrated_upgrade(self) -> Optional[str]:
        """What the orchestrator upgrades to, also while it is paused; None: it does not.

        Raises CommandError where an orchestrator that can upgrade does not tell.
        """


class Audit(Protocol):
    """Who sent which command. Waits for a mon; any thread may ask."""

    def audited(self) -> tuple[AuditLine, ...]:
        """The newest commands that the cluster knows of, each written before it was run."""


class Announcements(Protocol):
    """What people see who look at the cluster. Never waits, and never fails."""

    def log(self, text: str, warning: bool) -> None:
        """A line in the cluster log."""

    def show_progress(self, event_id: str, message: str, share: float) -> None:
        """An event of `ceph -s`, 0..1 done; the same id again moves it on."""

    def end_progress(self, event_id: str, failure: Optional[str]) -> None:
        """The event is over; ``failure`` says why it did not succeed, None if it did."""


class Store(Protocol):
    """Small texts that survive a mgr failover (at most 64 KiB each: the mon's limit)."""

    def get(self, key: str) -> Optional[str]: ...

    def set(self, key: str, value: Optional[str]) -> None:
        """Keep ``value`` under ``key``; None removes the key. Raises CommandError."""

    def keys(self, prefix: str) -> Sequence[str]: ...

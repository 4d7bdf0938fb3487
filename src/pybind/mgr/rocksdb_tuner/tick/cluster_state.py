"""Cluster state besides the OSDs: options, orchestrator, managers, health checks."""

from __future__ import annotations

from typing import Optional, Protocol

from ..advise.facts import WATCHED_IF_SET
from ..mgr.protocols import ClusterReader, ConfigStore, Orchestrator
from ..mgr.records import ManagerHost, ManagerInfo
from ..observe.option_watch import OptionWatch
from ..plan.records import ANNEX, OPTION
from ..steps import Steps

#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0


class StateReader(ClusterReader, ConfigStore, Orchestrator, Protocol):
    """The sources of the state."""


class ClusterState:
    """Options of OSDs, orchestrator, managers and health of the cluster."""

    def __init__(self, cluster: StateReader, steps: Steps) -> None:
        self._cluster, self._steps = cluster, steps
        self.options = OptionWatch(cluster, (OPTION, ANNEX), WATCHED_IF_SET)
        #: Why no orchestrator can restart OSDs; None: one can, or unknown so far.
        self.orchestrator_reason: Optional[str] = None
        self.managers: tuple[ManagerInfo, ...] = ()
        self.host: Optional[ManagerHost] = None
        self.health_codes: frozenset[str] = frozenset()
        self._health_read_s: Optional[float] = None

    @property
    def orchestrated(self) -> bool:
        return self.orchestrator_reason is None

    def refresh(self, now_s: float) -> None:
        """Refresh each part separately; a part that fails keeps its old state."""
        run = self._steps.run
        run('running options', lambda: self.options.refresh(self._cluster.cluster_map(), now_s))
        run('orchestrator', self._refresh_orchestrator)
        run('managers', self._refresh_managers)
        run('cluster health', lambda: self._refresh_health(now_s))

    def _refresh_orchestrator(self) -> None:
        self.orchestrator_reason = self._cluster.unavailable_reason()

    def _refresh_managers(self) -> None:
        self.managers = self._cluster.managers()
        self.host = self._cluster.manager_host()

    def _refresh_health(self, now_s: float) -> None:
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_read_s = now_s
            self.health_codes = frozenset(self._cluster.health_codes())

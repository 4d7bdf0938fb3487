"""Cluster state besides the OSDs: options, orchestrator, managers, health checks."""

from __future__ import annotations

from typing import Mapping, Optional, Protocol

from ..advise.facts import WATCHED_IF_SET
from ..mgr.protocols import ClusterReader, ConfigStore, CounterReader, Orchestrator
from ..mgr.records import ManagerHost, ManagerInfo
from ..observe.details import SLOW_OP_ALERT, SlowOps, count_slow_ops, watch_slow_ops
from ..observe.option_watch import OptionWatch
from ..plan.records import ANNEX, OPTION
from ..steps import Steps

#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0


class StateReader(ClusterReader, ConfigStore, CounterReader, Orchestrator, Protocol):
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
        #: Of OSDs with Ceph's alert for slow operations.
        self.slow_ops: Mapping[int, SlowOps] = {}
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
            named = SLOW_OP_ALERT in self.health_codes
            osds = self._cluster.alerting_osds(SLOW_OP_ALERT) if named else ()
            counts = {n: count_slow_ops(self._cluster, n) for n in osds}
            self.slow_ops = watch_slow_ops(self.slow_ops, counts, now_s)

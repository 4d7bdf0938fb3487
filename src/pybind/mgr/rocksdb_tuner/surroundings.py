"""What the mgr and the monitor know of the cluster and may have changed; kept for a while."""

from __future__ import annotations

from typing import Optional, Protocol

from .advise.facts import WATCHED_IF_SET
from .mgr.protocols import ClusterReader, ConfigStore, Orchestrator
from .mgr.records import ManagerInfo
from .observe.option_watch import OptionWatch
from .plan.records import ANNEX, OPTION
from .steps import Steps

#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0


class Known(ClusterReader, ConfigStore, Orchestrator, Protocol):
    """What is looked at."""


class Surroundings:
    """Options of OSDs, orchestrator, managers and health of the cluster."""

    def __init__(self, cluster: Known, steps: Steps) -> None:
        self._cluster, self._steps = cluster, steps
        self.options = OptionWatch(cluster, (OPTION, ANNEX), WATCHED_IF_SET)
        self.orchestrated = True
        self.managers: tuple[ManagerInfo, ...] = ()
        self.health_codes: frozenset[str] = frozenset()
        self._health_read_s: Optional[float] = None

    def look(self, now_s: float) -> None:
        """Each part is asked alone, and as it was before where that fails."""
        run = self._steps.run
        run('running options', lambda: self.options.refresh(self._cluster.cluster_map(), now_s))
        run('orchestrator', self._look_for_orchestrator)
        run('managers', self._look_for_managers)
        run('health of the cluster', lambda: self._look_at_health(now_s))

    def _look_for_orchestrator(self) -> None:
        self.orchestrated = self._cluster.unavailable_reason() is None

    def _look_for_managers(self) -> None:
        self.managers = self._cluster.managers()

    def _look_at_health(self, now_s: float) -> None:
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_read_s = now_s
            self.health_codes = frozenset(self._cluster.health_codes())

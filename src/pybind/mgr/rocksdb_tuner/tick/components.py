"""Wires the components of a tick to each other and to the cluster.

Loads the knowledge and the stored state before the module does anything else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Optional, Protocol

from ..advise.custom_profiles import CustomProfiles
from ..deep.reader import DeepStatsReader
from ..evaluate import unknown_manager
from ..knowledge import loader
from ..mgr.protocols import (
    Announcements,
    Audit,
    ClusterReader,
    ConfigStore,
    CounterReader,
    Orchestrator,
    OsdCommands,
    OsdQuestions,
    ReportReader,
    Store,
    Upgrades,
)
from ..options.releases import release_of
from ..requests import Requests
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps
from .auto_apply import AutoApply
from .cluster_state import ClusterState
from .current_settings import CurrentSettings, Permissions
from .deep_stats import MAX_CONCURRENT, DeepStatsRequests
from .evaluation import Evaluation
from .operation_control import OperationControl
from .published import Publication
from .queries import Actors, OsdQueries, Queries, Start, in_a_thread
from .schedule import Schedule
from .winners import Winners


class Startup:
    """Loads each part once; a part that fails is retried at every tick."""

    def __init__(self, steps: Steps, parts: Mapping[str, Callable[[], object]]) -> None:
        """``parts`` by step name, in loading order."""
        self._steps = steps
        self._missing = dict(parts)

    @property
    def complete(self) -> bool:
        return not self._missing

    def load(self) -> None:
        """Load the missing parts, in the serve thread."""
        for step, work in tuple(self._missing.items()):
            if self._steps.run(step, work):
                del self._missing[step]


#: Maximum of OSDs that are queried at the same time for recommendations.
CONCURRENT_QUERIES = 2


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
    """All cluster interfaces of the module."""


class Components:
    """Wiring only; ``wall_clock`` gives seconds since the epoch, like the times of OSD reports."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        read_settings: Callable[[], Settings],
        *,
        manager_version: str,
        manager_release: str,
        wall_clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        read_mode: Optional[Callable[[], Mode]] = None,
        run_in_background: Start = in_a_thread,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``read_mode`` reads only the option "mode".

        ``run_in_background`` starts work that waits for an OSD or a monitor.
        """
        self.cluster, self.clock, self.monotonic = cluster, wall_clock, monotonic
        self.manager_version, self.manager_release = manager_version, manager_release
        release = release_of(manager_version, manager_release)
        manager = f'Ceph {manager_version} ({manager_release})'
        unknown = None if release else unknown_manager(manager)
        self.steps = Steps(wall_clock)
        self.current = CurrentSettings(
            read_settings, read_mode or (lambda: read_settings().mode), self.steps
        )
        self.operations = OperationControl(
            cluster, store, self.steps, self.current, clock=wall_clock, monotonic=monotonic
        )
        self.sampler = Sampler(cluster, self.steps, self.operations.record)
        self.cluster_state = ClusterState(cluster, self.steps)
        self.permissions = Permissions(
            cluster, self.steps, self.current, self.sampler, known_release=release is not None
        )
        self.winners = Winners(CustomProfiles(store), cluster.fsid, self.operations.start)
        self.operations.experiment.on_winner = self.winners.remember
        self.auto_apply = AutoApply(self.operations, cluster, monotonic)
        self.evaluation = Evaluation(
            self.sampler,
            self.cluster_state,
            self.operations,
            self.current,
            self.permissions,
            self.steps,
            CustomProfiles(store),
            self.auto_apply.update,
            release=release.name if release else None,
            unknown_manager=unknown,
        )
        self.schedule = Schedule()
        self.osd_queries = OsdQueries(
            cluster, self.steps, wall_clock, Queries(CONCURRENT_QUERIES, run_in_background)
        )
        self.deep_stats = DeepStatsRequests(
            DeepStatsReader(cluster, store),
            cluster,
            Queries(MAX_CONCURRENT, run_in_background),
            clock=wall_clock,
            monotonic=monotonic,
            read_mode=self.current.mode,
            compacting=lambda: self.operations.compacting,
            unknown_manager=unknown,
        )
        self.actors = Actors(
            cluster,
            Queries(1, run_in_background),
            self.operations.name_actor,
            clock=wall_clock,
            sleep=sleep,
        )
        self.requests = Requests()
        self.startup = Startup(
            self.steps,
            {
                'knowledge': loader.load_all,
                'stored rollout': self.operations.driver.load,
                'stored experiment': self.operations.experiment.load,
                'stored campaign': self.operations.campaign.load,
                'stored notes': self.deep_stats.load,
                'announcements': self.operations.announce_taken_over,
            },
        )
        nothing = self.evaluation.snapshot_of(Settings(mode=Mode.OFF), (), wall_clock())
        self.publication = Publication(self.operations, self.auto_apply, self.steps, nothing)

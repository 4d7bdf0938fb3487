"""The parts of which a tick is made, each with what it needs of the others and of the cluster."""

from __future__ import annotations

import time
from typing import Callable, Optional, Protocol

from ..advise.own_profiles import OwnProfiles
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
    Store,
    Upgrades,
)
from ..options.releases import release_of
from ..requests import Requests
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode
from ..steps import Steps
from .actors import Actors
from .adoption import Adoption
from .auto_apply import AutoApply
from .cluster_state import ClusterState
from .current_settings import CurrentSettings
from .deep_stats import MAX_CONCURRENT, DeepStatsRequests
from .evaluation import Evaluation
from .operating import Operating
from .osd_answers import OsdAnswers
from .permission import Permission
from .publication import Publication
from .questions import Questions, Start, in_a_thread

#: OSDs that are asked at once for what advice is made of.
ASKED_AT_ONCE = 2


class Cluster(
    CounterReader,
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
    """All that the module needs from a cluster."""


class Parts:
    """Wiring only; ``wall_clock`` is the clock that stamps the OSDs' reports, since the epoch."""

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
        ask_beside: Start = in_a_thread,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``read_mode`` reads that option alone; ``ask_beside`` runs what waits for an OSD."""
        self.cluster, self.clock, self.monotonic = cluster, wall_clock, monotonic
        self.manager_version, self.manager_release = manager_version, manager_release
        release = release_of(manager_version, manager_release)
        manager = f'Ceph {manager_version} ({manager_release})'
        unknown = None if release else unknown_manager(manager)
        self.steps = Steps(wall_clock)
        self.current = CurrentSettings(
            read_settings, read_mode or (lambda: read_settings().mode), self.steps
        )
        self.operating = Operating(
            cluster, store, self.steps, self.current, clock=wall_clock, monotonic=monotonic
        )
        self.sampler = Sampler(cluster, self.steps, self.operating.record)
        self.cluster_state = ClusterState(cluster, self.steps)
        self.permission = Permission(
            cluster, self.steps, self.current, self.sampler, known_release=release is not None
        )
        self.auto_apply = AutoApply(self.operating, cluster, monotonic)
        self.evaluation = Evaluation(
            self.sampler,
            self.cluster_state,
            self.operating,
            self.current,
            self.steps,
            OwnProfiles(store),
            self.auto_apply.advised,
            release=release.name if release else None,
            unknown_manager=unknown,
        )
        self.osd_answers = OsdAnswers(
            cluster, self.steps, wall_clock, Questions(ASKED_AT_ONCE, ask_beside)
        )
        self.deep_stats = DeepStatsRequests(
            DeepStatsReader(cluster, store),
            cluster,
            Questions(MAX_CONCURRENT, ask_beside),
            clock=wall_clock,
            monotonic=monotonic,
            read_mode=self.current.mode,
            compacting=lambda: self.operating.compacting,
            unknown_manager=unknown,
        )
        self.actors = Actors(
            cluster,
            Questions(1, ask_beside),
            self.operating.name_actor,
            clock=wall_clock,
            sleep=sleep,
        )
        self.requests = Requests()
        self.adoption = Adoption(
            self.steps,
            {
                'knowledge': loader.load_all,
                'stored rollout': self.operating.driver.load,
                'stored campaign': self.operating.campaign.load,
                'stored notes': self.deep_stats.load,
                'announcements': self.operating.announce_taken_over,
            },
        )
        nothing = self.evaluation.snapshot_of(Settings(mode=Mode.OFF), (), wall_clock())
        self.publication = Publication(self.operating, self.auto_apply, self.steps, nothing)

"""Observes the cluster for the state machine, and measures how long conditions last."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple, Optional, Protocol, TypedDict

from ...mgr.protocols import (
    Announcements,
    ClusterReader,
    CommandError,
    ConfigStore,
    Orchestrator,
    OsdCommands,
    ReportReader,
    Upgrades,
)
from ...mgr.records import (
    ClusterMap,
    ConfigEntry,
    OrchestratedDaemon,
    OsdInfo,
    RunningOption,
)
from ...plan.commands import Action, RemoveEntry, SetEntry
from ...plan.entries import as_mapping
from ...plan.records import ANNEX, OPTION, ChangeRequest
from ..driver import answers, daemon_versions, ok_to_stop, orchestrated_upgrade
from ..gates import absent_of
from ..phases import OperationRefused, Permission
from ..reported import RecentChanges, ReportedSince, Stopwatch
from .machine import Machine, wait_key
from .osd_step import is_settled
from .recording import SoakProgress
from .records import (
    AskedRestart,
    Direction,
    RolloutState,
    compared_osds,
    watched_batch,
)
from .rules import RESTARTED_TOGETHER_S, Needs, Observation, WhyUnstartable
from .soak import lost_process

log = logging.getLogger(__name__)

#: Interval at which the orchestrator is asked to refresh.
REFRESH_S = 60.0


class _Restart(TypedDict):
    """Fields of `Observation` about the requested restart."""

    described: Mapping[int, OrchestratedDaemon]
    restart_settled: bool
    down_s: float
    was_down_s: float
    alive: Optional[bool]
    lifeless_s: float


class Liveness:
    """The orchestrator's reports about one OSD since it was first seen down."""

    def __init__(self) -> None:
        self._key: object = None
        #: The first report may be from before the OSD went down.
        self._stale: Optional[str] = None
        #: A process, and the refresh that first showed it.
        self._seen: Optional[tuple[Optional[str], str]] = None

    def update(self, key: object, daemon: Optional[OrchestratedDaemon]) -> Optional[bool]:
        """Whether its process is running; None: unknown.

        It is running if two refreshes of the orchestrator show the same process: a crash loop shows
        a new one each time.
        """
        if key != self._key:
            self._key, self._seen = key, None
            self._stale = None if daemon is None else daemon.refreshed
        if daemon is None or daemon.refreshed in {None, self._stale} or daemon.running is None:
            return None
        if not daemon.running:
            self._seen = None
            return False
        assert daemon.refreshed is not None
        if self._seen is None or self._seen[0] != daemon.started:
            self._seen = daemon.started, daemon.refreshed
        return True if self._seen[1] != daemon.refreshed else None


class TargetCluster(
    ClusterReader,
    ReportReader,
    ConfigStore,
    OsdCommands,
    Orchestrator,
    Upgrades,
    Announcements,
    Protocol,
):
    """Cluster interfaces of a rollout."""


@dataclass(frozen=True)
class Cluster:
    """The cluster of a rollout."""

    reader: TargetCluster
    why_unstartable: WhyUnstartable

    def entries(self) -> Sequence[ConfigEntry]:
        return self.reader.entries((OPTION, ANNEX))

    def entries_now(self) -> Sequence[ConfigEntry]:
        """The entries, for an operator's request; raises OperationRefused."""
        try:
            return self.entries()
        except CommandError as error:
            raise OperationRefused(
                error.errno, f'cannot read the config store: {error.message}; try again'
            ) from error

    def entries_if_known(self, option: str) -> Optional[Mapping[str, str]]:
        """The entries of one option; None if they cannot be read."""
        try:
            return as_mapping(self.entries(), option)
        except CommandError:
            return None

    def running(
        self, request: ChangeRequest, osd_ids: Iterable[int]
    ) -> Mapping[int, RunningOption]:
        option = request.option
        return answers(osd_ids, lambda n: self.reader.running(n, (option,))[option])

    def execute(self, action: Action, option: str) -> Optional[str]:
        """The error of the cluster; None if it accepted the action."""
        log.info('%s (%s)', action, option)
        try:
            if isinstance(action, SetEntry):
                self.reader.set(action.who, option, action.value)
            elif isinstance(action, RemoveEntry):
                self.reader.remove(action.who, option)
            else:
                self.reader.restart_osd(action.osd_id)
        except CommandError as error:
            return error.message
        return None


class ProcessWatch(NamedTuple):
    """The OSDs to monitor beside those of the rollout, while no batch is soaking."""

    #: Changes with the monitored OSDs, or when monitoring restarts.
    watched: object = None
    #: Whether a monitored process is gone.
    lost: Callable[[ClusterMap], bool] = lambda _: False
    #: None: everything the state machine needs.
    needs: Optional[Needs] = None
    #: OSDs that are compared with those of the rollout.
    compared: tuple[int, ...] = ()


class Observer:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting = Stopwatch()
        self._down = Stopwatch()
        self._absent = Stopwatch()
        self._life = Liveness()
        self._lifeless = Stopwatch()
        #: How often the orchestrator was asked to refresh the OSD that is down.
        self._refreshed = 0
        #: The last OSD in flight that was down, and for how long.
        self._was_down: tuple[Optional[int], float] = (None, 0.0)
        self._reported = ReportedSince()
        #: Processes of all OSDs, and the OSDs that they were read from.
        self._processes: Mapping[int, tuple[bool, bool, Optional[int], Optional[int]]] = {}
        self._osds: Optional[tuple[OsdInfo, ...]] = None
        self._moves: RecentChanges[int] = RecentChanges()
        self._soaking = Stopwatch()
        #: The last restart requested by this manager.
        self._asked: Optional[tuple[str, int]] = None
        #: The outstanding restart: how long this manager has known of it, whether it requested it,
        #: and whether it has seen it scheduled.
        self._since_asked = Stopwatch()
        self._request: Optional[AskedRestart] = None
        self._scheduled: Optional[AskedRestart] = None

    def ask(self, state: RolloutState, osd_id: int) -> None:
        """Note that a restart is being requested."""
        self._asked = (state.rollout_id, osd_id)
        # Reset even if the new request equals the previous one.
        self._request, self._scheduled = state.asked, None
        self._since_asked = Stopwatch()

    def track_request(self, asked: Optional[AskedRestart], steady_s: float) -> None:
        """Keep measuring: a requested restart may happen even after the end."""
        self._since_asked.update(asked, steady_s)

    def take_over_request(self, other: Observer) -> None:
        """Take over the outstanding request, and its time, of another operation of this mgr."""
        self._since_asked, self._request = other._since_asked, other._request
        self._scheduled, self._asked = other._scheduled, other._asked

    def observe(
        self,
        state: RolloutState,
        machine: Machine,
        found: SoakProgress,
        allowed: Permission,
        steady_s: float,
        idle: ProcessWatch = ProcessWatch(),  # noqa: B008 - immutable
    ) -> Observation:
        """``steady_s`` is the persistent clock."""
        waited_s = self._waiting.update(wait_key(state), steady_s)
        reader = self._cluster.reader
        cluster = reader.cluster_map()
        away = absent_of(cluster, state.request.order)
        absent_s = self._absent.update((state.rollout_id, away), steady_s)
        needs = idle.needs or machine.needs(state, waited_s, frozenset(away))
        watched, flying = watched_batch(state), state.in_flight
        lost = watched is not None and lost_process(state, watched, cluster) is not None
        if lost or idle.lost(cluster):
            needs = replace(needs, upgrade=True)
        batch = idle.watched if watched is None or flying is not None else watched.number
        soaking_s = self._soaking.update((state.rollout_id, batch), steady_s)
        self._see_processes(cluster, steady_s)
        up = [n for n, (is_up, *_) in self._processes.items() if is_up]
        reported = self._reported.update(self._processes, reader, up, steady_s)
        # Time passes also while the config store cannot be read.
        restart = self._restart(state, cluster, needs, machine.limits.restart_s, steady_s)
        entries = self._cluster.entries()
        gated = bool(needs.ok_to_stop or needs.upgrade)
        forward = state.direction is Direction.FORWARD
        return Observation(
            cluster=cluster,
            pgs=reader.pg_summary(),
            health=frozenset(reader.health_codes()),
            entries=as_mapping(entries, state.request.option),
            other_entries=as_mapping(entries, state.request.other_option),
            unstartable={
                n: why
                for n in needs.ok_to_stop
                if n in cluster.by_id
                and (why := self._cluster.why_unstartable(cluster.by_id[n], entries)) is not None
            },
            running=self._cluster.running(state.request, needs.running),
            ok_to_stop=ok_to_stop(reader, needs.ok_to_stop),
            versions=daemon_versions(reader) if gated else None,
            upgrade=orchestrated_upgrade(reader) if gated else None,
            orchestrator_reason=reader.unavailable_reason() if needs.orchestrator else None,
            may_act=allowed.may_act,
            schedule_reason=allowed.outside_window,
            no_reports_reason=allowed.no_reports_reason
            or (allowed.reports_unknown if forward else None),
            unsampled=_unsampled(state, cluster, allowed.has_sample, idle.compared),
            moved=frozenset(
                n
                for n in self._moves.within(min(RESTARTED_TOGETHER_S, soaking_s))
                if n in self._processes
            ),
            osds_moved=not reported,
            watched_s=allowed.watched_s,
            waited_s=waited_s,
            absent_s=absent_s,
            before_s=found.before_s,
            after_s=found.after_s,
            judgement=found.judgement,
            restart_is_ours=flying is not None and self._asked == (state.rollout_id, flying.osd_id),
            **restart,
        )

    def _restart(
        self,
        state: RolloutState,
        cluster: ClusterMap,
        needs: Needs,
        most_s: float,
        steady_s: float,
    ) -> _Restart:
        """What is known of the requested restart, and how long the OSD in flight has been down."""
        flying = state.in_flight
        info = None if flying is None else cluster.by_id.get(flying.osd_id)
        is_down = info is not None and not info.up
        key = state.rollout_id, None if flying is None else flying.osd_id, is_down
        down_s = self._down.update(key, steady_s)
        described = self._described(needs, down_s if is_down else 0.0)
        daemon = None if flying is None else described.get(flying.osd_id)
        alive = self._life.update(key, daemon)
        if flying is not None and is_down:
            self._was_down = flying.osd_id, down_s
        same = flying is not None and not is_down and self._was_down[0] == flying.osd_id
        return {
            'described': described,
            'restart_settled': self._restart_settled(state.asked, described, steady_s, most_s),
            'down_s': down_s if is_down else 0.0,
            'was_down_s': self._was_down[1] if same else 0.0,
            'alive': alive if is_down else None,
            'lifeless_s': self._lifeless.update((*key, alive is True), steady_s),
        }

    def _see_processes(self, cluster: ClusterMap, steady_s: float) -> None:
        # The map of a large cluster rarely changes between two steps.
        if cluster.osds is self._osds:
            self._moves.update(None, steady_s)
            return
        self._osds = cluster.osds
        # Marked down and up again between two looks, it has the same process.
        self._processes = {o.osd_id: (o.up, o.in_cluster, o.nonce, o.up_from) for o in cluster.osds}
        self._moves.update(self._processes, steady_s)

    def _described(self, needs: Needs, down_s: float) -> Mapping[int, OrchestratedDaemon]:
        """The orchestrator's reports, refreshed periodically while the OSD in flight is down."""
        orchestrator = self._cluster.reader
        if not needs.described or not orchestrator.describes_osds():
            return {}
        due = int(down_s / REFRESH_S)
        refresh = due > self._refreshed
        self._refreshed = due
        found = answers(needs.described, lambda n: orchestrator.describe_osd(n, refresh))
        return {n: daemon for n, daemon in found.items() if daemon is not None}

    def _restart_settled(
        self,
        request: Optional[AskedRestart],
        described: Mapping[int, OrchestratedDaemon],
        now_s: float,
        most_s: float,
    ) -> bool:
        if request is None:
            return False
        daemon = described.get(request.osd_id)
        if daemon is not None and daemon.scheduled:
            self._scheduled = request
        if daemon is not None and daemon.paused:
            # The full time applies again once the orchestrator is resumed.
            self._since_asked = Stopwatch()
        return is_settled(
            request,
            daemon,
            by_this_manager=self._request == replace(request, refused=False),
            seen_scheduled=self._scheduled == request,
            watched_s=self._since_asked.update(request, now_s),
            most_s=most_s,
        )


def _unsampled(
    state: RolloutState,
    cluster: ClusterMap,
    has_sample: Callable[[int], bool],
    others: tuple[int, ...],
) -> tuple[int, ...]:
    if state.ended or state.direction is not Direction.FORWARD or state.in_flight is not None:
        return ()
    # An absent OSD never reports again.
    wanted = tuple(dict.fromkeys((*compared_osds(state), *others)))
    away = absent_of(cluster, wanted)
    return tuple(n for n in wanted if n not in away and not has_sample(n))

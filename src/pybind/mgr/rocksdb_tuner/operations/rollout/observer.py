"""Observes the cluster for the state machine, and measures how long conditions last."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple, Optional, Protocol

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
from ..reported import ReportedSince, Stopwatch
from .machine import Machine, wait_key
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


class RequestedRestart:
    """What this manager knows of the requested restart, which may happen at any time.

    It may even happen after the operation ended, so operations share this.
    """

    def __init__(self) -> None:
        #: The rollout and OSD that this manager last requested one for, and the request.
        self._sent: tuple[Optional[str], Optional[AskedRestart]] = (None, None)
        #: The last request that the orchestrator showed as scheduled.
        self._scheduled: Optional[AskedRestart] = None
        #: The last one that an operation waited for, and how long this manager has known it.
        self._request: Optional[AskedRestart] = None
        self._known = Stopwatch()

    def send(self, state: RolloutState) -> None:
        """Note that it is being requested."""
        # Reset even if the new request equals the previous one.
        self._sent, self._scheduled = (state.rollout_id, state.asked), None
        self._request, self._known = state.asked, Stopwatch()

    def is_of(self, state: RolloutState) -> bool:
        """Whether this manager requested the last restart of the OSD in flight."""
        osd, (rollout_id, sent) = state.in_flight, self._sent
        if osd is None or sent is None:
            return False
        return (rollout_id, sent.osd_id) == (state.rollout_id, osd.osd_id)

    def track(self, steady_s: float) -> float:
        """How long it is known."""
        return self._known.update(self._request, steady_s)

    def is_settled(
        self,
        request: AskedRestart,
        daemon: Optional[OrchestratedDaemon],
        steady_s: float,
        most_s: float,
    ) -> bool:
        """Whether it was executed or is lost.

        Without orchestrator reports a request counts as settled after ``most_s``.
        """
        self._request = request
        if daemon is not None and daemon.scheduled:
            self._scheduled = request
        if daemon is not None and daemon.paused:
            # The full time applies again once the orchestrator is resumed.
            self._known = Stopwatch()
        known_s = self.track(steady_s)
        if daemon is not None:
            if set(daemon.executed) - set(request.executed):
                return True
            # A paused orchestrator executes the request once it is resumed, stored or not.
            if daemon.scheduled or daemon.paused:
                return False
            ours = self._sent[1] == replace(request, refused=False)
            processes = {request.stored_started, daemon.stored_started}
            # A new process was stored, and with it an empty schedule.
            stored_anew = len(processes - {None}) > 1
            if daemon.scheduled is False and (
                self._scheduled == request or not ours or stored_anew
            ):
                return True
        return known_s >= most_s


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


class RecentChanges:
    """Time since each of many values last changed, as seen by one manager."""

    def __init__(self) -> None:
        self._clock = Stopwatch()
        self._now_s = 0.0
        self._seen: dict[int, object] = {}
        self._changed_s: dict[int, float] = {}

    def update(self, seen: Optional[Mapping[int, object]], now_s: float) -> None:
        """``seen`` None: the same as before. A value that appears has not changed."""
        self._now_s = self._clock.update(None, now_s)
        if seen is None:
            return
        for key, value in seen.items():
            if self._seen.get(key, value) != value:
                self._changed_s[key] = self._now_s
        self._seen.update(seen)

    def within(self, period_s: float) -> frozenset[int]:
        """The keys whose value changed less than ``period_s`` ago."""
        return frozenset(
            key for key, at_s in self._changed_s.items() if self._now_s - at_s < period_s
        )


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
        #: How long what each is named after has lasted.
        self._lasting: dict[str, Stopwatch] = {}
        self._life = Liveness()
        #: How often the orchestrator was asked to refresh the OSD that is down.
        self._refreshed = 0
        self._reported = ReportedSince()
        #: Processes of all OSDs, and the OSDs that they were read from.
        self._processes: Mapping[int, tuple[bool, bool, Optional[int], Optional[int]]] = {}
        self._osds: Optional[tuple[OsdInfo, ...]] = None
        self._moves = RecentChanges()
        self.requested = RequestedRestart()

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
        waited_s = self._lasts('wait', wait_key(state), steady_s)
        reader = self._cluster.reader
        cluster = reader.cluster_map()
        away = absent_of(cluster, state.request.order)
        absent_s = self._lasts('absence', (state.rollout_id, away), steady_s)
        needs = idle.needs or machine.needs(state, waited_s, frozenset(away))
        watched, flying = watched_batch(state), state.in_flight
        lost = watched is not None and lost_process(state, watched, cluster) is not None
        if lost or idle.lost(cluster):
            needs = replace(needs, upgrade=True)
        batch = idle.watched if watched is None or flying is not None else watched.number
        soaking_s = self._lasts('soak', (state.rollout_id, batch), steady_s)
        self._see_processes(cluster, steady_s)
        up = [n for n, (is_up, *_) in self._processes.items() if is_up]
        reported = self._reported.update(self._processes, reader, up, steady_s)
        # Time passes also while the config store cannot be read.
        osd_id = None if flying is None else flying.osd_id
        is_down = osd_id in cluster.down
        key = state.rollout_id, osd_id, is_down
        since_s = self._lasts('down', key, steady_s)
        down_s = since_s if is_down else 0.0
        described = self._described(needs, down_s)
        alive = self._life.update(key, None if osd_id is None else described.get(osd_id))
        lifeless_s = self._lasts('lifeless', (*key, alive is True), steady_s)
        asked, most_s = state.asked, machine.limits.restart_s
        settled = asked is not None and self.requested.is_settled(
            asked, described.get(asked.osd_id), steady_s, most_s
        )
        entries = self._cluster.entries()
        gated = bool(needs.ok_to_stop or needs.upgrade)
        forward = state.direction is Direction.FORWARD
        moved = self._moves.within(min(RESTARTED_TOGETHER_S, soaking_s))
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
            orchestrator_reason=reader.unavailable_reason(osd_id) if needs.orchestrator else None,
            may_act=allowed.may_act,
            schedule_reason=allowed.outside_window,
            no_reports_reason=allowed.no_reports_reason
            or (allowed.reports_unknown if forward else None),
            unsampled=_unsampled(state, cluster, allowed.has_sample, idle.compared),
            moved=frozenset(n for n in moved if n in self._processes),
            osds_moved=not reported,
            watched_s=allowed.watched_s,
            waited_s=waited_s,
            absent_s=absent_s,
            before_s=found.before_s,
            after_s=found.after_s,
            judgement=found.judgement,
            described=described,
            restart_settled=settled,
            restart_is_ours=self.requested.is_of(state),
            down_s=down_s,
            lifeless_s=lifeless_s,
            alive=alive if is_down else None,
        )

    def _lasts(self, what: str, key: object, steady_s: float) -> float:
        return self._lasting.setdefault(what, Stopwatch()).update(key, steady_s)

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

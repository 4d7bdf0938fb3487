"""Whether a requested restart may still happen. Pure.

A changed nonce is no proof: an operator, a crash or a flap changes it too, while the orchestrator
still holds the request. Until the request is settled, no other restart is requested.

cephadm (16.2.15, 18.2.7, 20.2.4) holds at most one request per daemon. Its serve loop executes it
and adds an event "restart osd.N from host ..." whether that succeeded or not. Events are in the
memory of one manager; Pacific does not repeat an event with the same text, later releases update
its time. Scheduled requests are stored with the host: by Reef and later at once, by Pacific only
the next time that host is stored for another reason. A manager that takes over executes the stored
requests only.

Whether an OSD that is down is starting.

An OSD replays the log of its RocksDB, and more, before it sends any message (``OSD::init`` mounts
the store before it starts its messengers). No map and no report shows that, however long it takes.
Only the orchestrator sees the process.

The restarts requested by this module, for the operator's daily limit.

A wall clock that is briefly set a day ahead would expire all of them. So restarts are counted by
`stopwatch.SteadyClock`, which only counts time with an active manager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...mgr.records import OrchestratedDaemon
from ...units import UNKNOWN, format_time
from .records import AskedRestart


def asked(osd_id: int, daemon: Optional[OrchestratedDaemon]) -> AskedRestart:
    """The record of an imminent request; ``daemon`` is the orchestrator's report before it."""
    if daemon is None:
        return AskedRestart(osd_id)
    return AskedRestart(osd_id, daemon.executed, daemon.stored_started)


def is_settled(
    request: AskedRestart,
    daemon: Optional[OrchestratedDaemon],
    *,
    by_this_manager: bool,
    seen_scheduled: bool,
    watched_s: float,
    most_s: float,
) -> bool:
    """Whether the request was executed or is lost.

    ``watched_s`` is how long this manager has known of it. Without orchestrator reports a request
    counts as settled after ``most_s``.
    """
    if daemon is not None:
        if set(daemon.executed) - set(request.executed):
            return True
        # A paused orchestrator executes the request once it is resumed, stored or not.
        if daemon.scheduled or daemon.paused:
            return False
        if daemon.scheduled is False and (
            seen_scheduled
            or not by_this_manager
            or _restarted(request.stored_started, daemon.stored_started)
        ):
            return True
    return watched_s >= most_s


def outstanding_text(request: AskedRestart) -> str:
    """The outstanding restart, with a remedy."""
    return (
        f'the orchestrator may still restart osd.{request.osd_id} as requested: no other '
        'OSD is restarted until then; if it takes too long, check "ceph orch status" (paused?) '
        f'and "ceph orch ps --daemon_type osd --daemon_id {request.osd_id}"'
    )


def _restarted(before: Optional[str], now: Optional[str]) -> bool:
    """Whether a new process was stored, and with it an empty schedule."""
    return before is not None and now is not None and before != now


#: Interval at which the orchestrator is asked to refresh.
REFRESH_S = 60.0


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


DAY_S = 86400.0


class Restart(NamedTuple):
    #: Since the epoch, for display.
    time_s: float
    #: By the steady clock; None: unknown.
    steady_s: Optional[float]


@dataclass(frozen=True)
class RestartLog:
    """The restarts of the last day by all rollouts, oldest first."""

    restarts: tuple[Restart, ...] = ()

    def pruned(self, steady_s: float) -> RestartLog:
        """Without restarts older than a day.

        An unknown time, or one ahead because the stored clock was lost, counts as now: it holds
        restarts back for a day at most.
        """
        known = (
            Restart(r.time_s, steady_s if r.steady_s is None else min(r.steady_s, steady_s))
            for r in self.restarts
        )
        kept = [r for r in known if steady_s - (r.steady_s or 0.0) < DAY_S]
        return RestartLog(tuple(sorted(kept, key=lambda r: r.steady_s or 0.0)))

    def with_restart(self, now_s: float, steady_s: float) -> RestartLog:
        return RestartLog((*self.restarts, Restart(now_s, steady_s))).pruned(steady_s)

    def limit_reason(self, per_day: int, now_s: float, steady_s: float) -> Optional[str]:
        """Why the limit forbids another restart; None if it does not. ``per_day`` 0: no limit."""
        if per_day <= 0 or len(self.restarts) < per_day:
            return None
        at_s = self.restarts[-per_day].steady_s
        left_s = DAY_S if at_s is None else at_s + DAY_S - steady_s
        until = format_time(now_s + left_s) or UNKNOWN
        return f'restarts_per_day ({per_day}) is exhausted until {until}'

"""Whether a requested restart may still happen. Pure.

A changed nonce is no proof: an operator, a crash or a flap changes it too, while the orchestrator
still holds the request. Until the request is settled, no other restart is requested.

cephadm (16.2.15, 18.2.7, 20.2.4) holds at most one request per daemon. Its serve loop executes it
and adds an event "restart osd.N from host ..." whether that succeeded or not. Events are in the
memory of one manager; Pacific does not repeat an event with the same text, later releases update
its time. Scheduled requests are stored with the host: by Reef and later at once, by Pacific only
the next time that host is stored for another reason. A manager that takes over executes the stored
requests only.
"""

from __future__ import annotations

from typing import Optional

from ...mgr.records import OrchestratedDaemon
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

"""Whether a restart that was asked for can still happen: pure.

A changed nonce does not tell: an operator, a crash or a flap changes it, too, while the
orchestrator still holds the request. As long as that may be carried out, no other is made.

What cephadm shows of it (16.2.15, 18.2.7, 20.2.4): the request is kept by daemon, at most one for
each; its serve loop carries it out, and adds an event "restart osd.N from host ..." whether that
succeeded or not. Events are in the memory of one manager; Pacific adds none whose text is there
already, later releases renew its time. What is scheduled is stored with the host: by Reef and later
when it is asked for, by Pacific only the next time that something else of the host is stored. A
manager that takes over carries out what is stored, and nothing else.
"""

from __future__ import annotations

from typing import Optional

from ...mgr.records import OrchestratedDaemon
from .records import AskedRestart


def asked(osd_id: int, told: Optional[OrchestratedDaemon]) -> AskedRestart:
    """The record of a request that is about to be made; ``told`` is from just before."""
    if told is None:
        return AskedRestart(osd_id)
    return AskedRestart(osd_id, told.carried_out, told.stored_started)


def cannot_happen(
    request: AskedRestart,
    told: Optional[OrchestratedDaemon],
    *,
    by_this_manager: bool,
    seen_scheduled: bool,
    watched_s: float,
    most_s: float,
) -> bool:
    """Whether the request was carried out, or is lost.

    ``watched_s`` is how long this manager has known of it. An orchestrator that tells nothing
    carries it out within ``most_s``, or never.
    """
    if told is not None:
        if set(told.carried_out) - set(request.carried_out):
            return True
        # What it was asked for it carries out when it is resumed, stored already or not.
        if told.scheduled or told.paused:
            return False
        if told.scheduled is False and (
            seen_scheduled
            or not by_this_manager
            or _restarted(request.stored_started, told.stored_started)
        ):
            return True
    return watched_s >= most_s


def why_not_yet(request: AskedRestart) -> str:
    """What is waited for, and what an operator can do about it."""
    return (
        f'the orchestrator may still restart osd.{request.osd_id}, as it was asked to: no other '
        'OSD is restarted before that; if it takes long, see "ceph orch status" (paused?) and '
        f'"ceph orch ps --daemon_type osd --daemon_id {request.osd_id}"'
    )


def _restarted(before: Optional[str], now: Optional[str]) -> bool:
    """Whether a new process was stored, and with it that nothing is scheduled any more."""
    return before is not None and now is not None and before != now

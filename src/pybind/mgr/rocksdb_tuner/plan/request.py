"""Entries and OSDs of a change request."""

from __future__ import annotations

from typing import Optional

from ..mgr.records import RunningOption
from .entries import own
from .records import ChangeRequest


def target(request: ChangeRequest, osd_id: int) -> str:
    return request.target_by_osd[osd_id]


def end_value(request: ChangeRequest, osd_id: int) -> Optional[str]:
    """Final value of the OSD's own entry; None if it is removed."""
    return request.final_by_who.get(own(osd_id))


def overruled(request: ChangeRequest, osd_id: int, running: RunningOption) -> str:
    origin = {
        'file': 'its ceph.conf',
        'env': 'its environment',
        'cmdline': 'its command line',
    }.get(running.source, 'a value set in the running daemon')
    return (
        f'{request.option} of osd.{osd_id} comes from {origin}, which the config store '
        'does not override: remove it there first, and restart the OSD'
    )

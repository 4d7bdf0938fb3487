"""Does what a machine decided to do to the cluster."""

from __future__ import annotations

from typing import Optional

from ...mgr.protocols import CommandError
from ...plan.actions import Action, RemoveEntry, SetEntry
from .looking import Cluster


def carry_out(cluster: Cluster, action: Action, option: str) -> Optional[str]:
    """Why the cluster refused it; None if it did not."""
    try:
        if isinstance(action, SetEntry):
            cluster.config.set(action.who, option, action.value)
        elif isinstance(action, RemoveEntry):
            cluster.config.remove(action.who, option)
        else:
            cluster.orchestrator.restart_osd(action.osd_id)
    except CommandError as error:
        return error.message
    return None

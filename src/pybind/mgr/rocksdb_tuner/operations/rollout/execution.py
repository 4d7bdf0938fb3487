"""Executes the actions that a state machine decided on."""

from __future__ import annotations

from typing import Optional

from ...mgr.protocols import CommandError
from ...plan.commands import Action, RemoveEntry, SetEntry
from .observer import Cluster


def execute(cluster: Cluster, action: Action, option: str) -> Optional[str]:
    """The error of the cluster; None if it accepted the action."""
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

"""Cluster queries for the gates of every operation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Callable, Optional, TypeVar

from ..mgr.protocols import CommandError, OsdCommands, Upgrades
from ..mgr.records import DaemonVersions

_T = TypeVar('_T')


def answers(osd_ids: Iterable[int], ask: Callable[[int], _T]) -> dict[int, _T]:
    """The answer of each OSD; missing if it did not answer."""
    found: dict[int, _T] = {}
    for osd_id in osd_ids:
        with suppress(CommandError):
            found[osd_id] = ask(osd_id)
    return found


def ok_to_stop(osds: OsdCommands, osd_ids: Iterable[int]) -> dict[int, Optional[str]]:
    return answers(osd_ids, lambda n: osds.ok_to_stop((n,)))


def daemon_versions(upgrades: Upgrades) -> Optional[tuple[DaemonVersions, ...]]:
    """None: no answer."""
    with suppress(CommandError):
        return upgrades.daemon_versions()
    return None


def orchestrated_upgrade(upgrades: Upgrades) -> Optional[str]:
    """Upgrade target of the orchestrator, or why it is unknown; None: no upgrade."""
    try:
        return upgrades.orchestrated_upgrade()
    except CommandError as error:
        return f'its state is unknown ({error.message})'

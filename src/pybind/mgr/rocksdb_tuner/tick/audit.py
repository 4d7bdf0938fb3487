"""Finds the sender of a command in the cluster's audit log: the mgr does not pass it on. Pure.

The mgr logs each command with its client before it runs the command (seen on 16.2.15). The entry
reaches the monitors a second or two later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Mapping, Optional

from ..mgr.records import AuditLine

#: A command may queue in the mgr behind other commands of the same module.
WAITED_S = 15.0


def sender(
    lines: Iterable[AuditLine], wanted: Mapping[str, object], taken_s: float
) -> Optional[str]:
    """The client that sent the command that the module received at ``taken_s``.

    ``wanted``: its arguments. None if no client, or more than one, sent a matching command around
    that time.
    """
    found = {
        line.entity
        for line in lines
        if taken_s - WAITED_S <= line.time_s <= taken_s + 1.0
        and all(line.command.get(name) == value for name, value in wanted.items())
    }
    return found.pop() if len(found) == 1 else None

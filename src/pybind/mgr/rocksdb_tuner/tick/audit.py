"""Who sent a command, by the audit log of the cluster: the mgr does not tell a module. Pure.

The mgr writes each command with the name of its client to that log before it runs it (seen on
16.2.15), and the monitors have it a second or two later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Mapping, Optional

from ..mgr.records import AuditLine

#: A command may wait in the mgr behind others of the same module.
WAITED_S = 15.0


def sender(
    lines: Iterable[AuditLine], wanted: Mapping[str, Sequence[object]], taken_s: float
) -> Optional[str]:
    """The client that sent a command with one of the ``wanted`` values of each argument.

    It was taken at ``taken_s``. None where there is none, or where more than one client sent such a
    command about then.
    """
    found = {
        line.entity
        for line in lines
        if taken_s - WAITED_S <= line.time_s <= taken_s + 1.0
        and all(line.command.get(name) in values for name, values in wanted.items())
    }
    return found.pop() if len(found) == 1 else None

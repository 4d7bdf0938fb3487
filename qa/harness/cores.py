"""The cores that processes may use."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

ALL = frozenset(range(os.cpu_count() or 1))


def pin(pids: Iterable[int], cores: Collection[int]) -> None:
    """All threads of these processes, and those that they start from now on."""
    for pid in pids:
        for task in (Path('/proc') / str(pid) / 'task').iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), cores)

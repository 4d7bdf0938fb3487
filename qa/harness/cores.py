"""The cores that processes and their threads may use."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

ALL = frozenset(range(os.cpu_count() or 1))
_PROC = Path('/proc')


def pin(pids: Iterable[int], cores: Collection[int], names: tuple[str, ...] = ('',)) -> None:
    """The threads of these processes with such a start of their names; all by default.

    Threads that they start from now on are pinned as well.
    """
    for pid in pids:
        for task in (_PROC / str(pid) / 'task').iterdir():
            with suppress(ProcessLookupError, FileNotFoundError):
                if (task / 'comm').read_text().startswith(names):
                    os.sched_setaffinity(int(task.name), cores)


def least_interrupted(interrupts: str | None = None) -> int:
    """The core that handled the fewest interrupts of devices since the machine started.

    A kernel without IRQ_TIME_ACCOUNTING charges them to the thread that they interrupt.
    ``interrupts`` is the text of /proc/interrupts.
    """
    header, *lines = (interrupts or (_PROC / 'interrupts').read_text()).splitlines()
    counts = dict.fromkeys((int(word.removeprefix('CPU')) for word in header.split()), 0)
    for line in lines:
        name, _, rest = line.partition(':')
        if name.strip().isdigit():
            for core, count in zip(counts, rest.split()):
                counts[core] += int(count)
    return min(counts, key=lambda core: counts[core])

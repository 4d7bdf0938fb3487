"""CPU time of the threads of an OSD, thread by thread, from the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

#: The names of an OSD's threads, as truncated by the kernel; numbers may follow.
THREADS = ('bstore_kv_sync', 'bstore_kv_final', 'rocksdb:high', 'rocksdb:low', 'tp_osd_tp', 'msgr')


def thread_cpu_s(process: Path, names: Sequence[str] = THREADS) -> dict[str, float]:
    """CPU seconds of the threads of a process by what they are called, and of all together.

    Of threads that end meanwhile the time is lost: those of an OSD that count here never do.
    """
    found = dict.fromkeys((*names, 'all'), 0.0)
    for task in (process / 'task').iterdir():
        try:
            name = (task / 'comm').read_text().strip()
            # Nanoseconds; utime and stime in "stat" go by ticks of 10 ms.
            spent_s = int((task / 'schedstat').read_text().split()[0]) * 1e-9
        except (FileNotFoundError, ProcessLookupError):
            continue
        found['all'] += spent_s
        for known in names:
            if name.startswith(known):
                found[known] += spent_s
    return found

"""Processes can be kept on some of the machine's cores, with all of their threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness import cores

THREADS = """
import threading, time
for _ in 'ab':
    threading.Thread(target=time.sleep, args=(60,)).start()
print(flush=True)
"""


def test_all_threads_of_a_process_are_pinned_and_released() -> None:
    """Those that run already too: an affinity is a thread's."""
    process = subprocess.Popen([sys.executable, '-c', THREADS], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        tasks = [int(task.name) for task in Path(f'/proc/{process.pid}/task').iterdir()]
        assert len(tasks) == 3
        first = min(os.sched_getaffinity(0))
        cores.pin([process.pid], {first})
        assert [os.sched_getaffinity(task) for task in tasks] == [{first}] * 3
        cores.pin([process.pid], os.sched_getaffinity(0))
        assert [os.sched_getaffinity(task) for task in tasks] == [os.sched_getaffinity(0)] * 3
    finally:
        process.kill()
        process.communicate()

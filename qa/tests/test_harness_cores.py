"""Processes, or some of their threads, can be kept on some of the machine's cores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness import cores

THREADS = """
import threading, time
named = threading.Barrier(3)
def work(name):
    with open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w') as comm:
        comm.write(name)
    named.wait()
    time.sleep(60)
for name in ('rocksdb:low0', 'tp_osd_tp'):
    threading.Thread(target=work, args=(name,)).start()
named.wait()
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
        cores.pin([process.pid], {first}, ('bstore_kv_sync', 'rocksdb:'))
        for task in tasks:
            name = Path(f'/proc/{process.pid}/task/{task}/comm').read_text()
            cores_of_it = {first} if name.startswith('rocksdb:') else os.sched_getaffinity(0)
            assert os.sched_getaffinity(task) == cores_of_it, name
    finally:
        process.kill()
        process.communicate()


def test_core_with_the_fewest_interrupts_of_devices() -> None:
    """Timers, which every core has, do not count."""
    text = """           CPU0       CPU1       CPU3
 25:          0          7          9   IO-APIC   6-edge      ACPI:Ged
 36:          4  239336393          0   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:   81535393          1    7533424   Local timer interrupts
ERR:          0
"""
    assert cores.least_interrupted(text) == 0
    assert cores.least_interrupted() in cores.ALL

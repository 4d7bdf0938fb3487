"""CephFS clients that create, rename and unlink empty files through libcephfs, without a mount.

Order (first argument, JSON): workload, seconds, stuck_s, threads. The cluster is that of
$CEPH_CONF. Prints the result as JSON. Runs under Debian's Python with python3-cephfs.

The program always ends: calls of libcephfs wait for the cluster without limit, so that a phase that
takes stuck_s longer than it should ends the program, with the stacks of all threads on stderr.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# A Debian package of the machine that runs the client
import cephfs  # type: ignore[import-not-found, import-untyped, unused-ignore]
from client_outcome import Client, phase, print_outcome

FILES_PER_DIR = 500


class CephFsClient(Client):
    """One mount in its own folder. Of four files, one is renamed and one is removed again."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        self.expected: dict[str, set[str]] = {}

    def _timed(self, call: Any, *arguments: Any) -> Any:
        begin_s = time.monotonic()
        result = call(*arguments)
        self.latencies_s.append(time.monotonic() - begin_s)
        return result

    def run(self, barrier: threading.Barrier, seconds: float) -> None:
        try:
            fs = cephfs.LibCephFS(conffile=os.environ['CEPH_CONF'])
            fs.mount()
        except BaseException:
            barrier.abort()
            raise
        try:
            self._run_mounted(fs, barrier, seconds)
        except BaseException:
            # Before the unmounting, which may be what takes long
            barrier.abort()
            raise
        finally:
            fs.unmount()
            fs.shutdown()

    def _run_mounted(self, fs: Any, barrier: threading.Barrier, seconds: float) -> None:
        fs.mkdir(self.folder, 0o755)
        barrier.wait()
        deadline_s = time.monotonic() + seconds
        number = 0
        try:
            while time.monotonic() < deadline_s and not barrier.broken:
                self._file(fs, number)
                number += 1
        except cephfs.Error as error:
            self.errors.append(f'{type(error).__name__}: {error}')
        barrier.wait()
        self._check(fs)

    def _file(self, fs: Any, number: int) -> None:
        folder = f'{self.folder}/{number // FILES_PER_DIR:06d}'
        if number % FILES_PER_DIR == 0:
            self._timed(fs.mkdir, folder, 0o755)
            self.expected[folder] = set()
        name = f'{number:08d}'
        fs.close(self._timed(fs.open, f'{folder}/{name}', 'w', 0o644))
        if number % 4 == 1:
            self._timed(fs.rename, f'{folder}/{name}', f'{folder}/{name}.renamed')
            name += '.renamed'
        elif number % 4 == 3:
            self._timed(fs.unlink, f'{folder}/{name}')
            return
        self.expected[folder].add(name)

    def _check(self, fs: Any) -> None:
        for folder, names in self.expected.items():
            handle = fs.opendir(folder)
            found = set()
            while True:
                entry = fs.readdir(handle)
                if entry is None:
                    break
                found.add(entry.d_name.decode())
            fs.closedir(handle)
            self.checked += len(names)
            self.failed += len(names ^ (found - {'.', '..'}))


def main() -> int:
    order = json.loads(sys.argv[1])
    threads, seconds, stuck_s = order['threads'], order['seconds'], order['stuck_s']
    clients = [CephFsClient(f'/qa-{time.time_ns():x}-{rank}') for rank in range(threads)]
    barrier = threading.Barrier(threads + 1)
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(client.run, barrier, seconds) for client in clients]
        phase(f'mounting {threads} times', stuck_s)
        begin_s = end_s = time.monotonic()
        began_s = time.time()
        try:
            barrier.wait()
            begin_s, began_s = time.monotonic(), time.time()
            phase(f'working for {seconds:g} s', seconds + stuck_s)
            barrier.wait()
            end_s = time.monotonic()
            # Reading the names is faster than making them was
            phase('checking', seconds + stuck_s)
        except threading.BrokenBarrierError:
            end_s = time.monotonic()  # a client failed: its error comes with its result
        for future in futures:
            future.result()
    print_outcome(clients, 'names in every folder', seconds=end_s - begin_s, began_s=began_s)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except cephfs.Error as error:
        sys.exit(f'before or after the measured time: {type(error).__name__}: {error}')

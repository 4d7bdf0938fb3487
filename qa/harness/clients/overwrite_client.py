"""A librbd client that overwrites blocks at a steady pace and checks every block that it reads.

Order (first argument, JSON): image, pool, blocks, writes_per_s, reads_per_s, depth, seconds,
stuck_s, ready (a file that is made once writes are under way). The cluster is that of $CEPH_CONF.

Each block holds its number and the number of its version, so that a read tells the newest version
that was acknowledged from one before it: an overwrite that was acknowledged and lost is found,
which checksums inside the block cannot do. No two operations on one block are under way at once.

SIGINT ends the load; then every block is read. Prints the result as JSON. Runs under Debian's
Python with python3-rbd. The program always ends: a phase that takes stuck_s longer than it should
ends it, with the stacks of all threads on stderr.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

# Debian packages of the machine that runs the client
import rados  # type: ignore[import-not-found, import-untyped, unused-ignore]
import rbd  # type: ignore[import-not-found, import-untyped, unused-ignore]
from client_outcome import MAX_MESSAGES, phase

BLOCK_BYTES = 4096
MAGIC = b'tunerQA1'
_HEADER = struct.Struct('<8sQQ')


def block(number: int, version: int) -> bytes:
    """A version of a block; version 0: never written."""
    if version == 0:
        return bytes(BLOCK_BYTES)
    header = _HEADER.pack(MAGIC, number, version)
    # Random enough that it does not compress, the same for the same version
    filler = random.Random(number << 32 | version).randbytes(64)
    return (header + filler * (BLOCK_BYTES // 64))[:BLOCK_BYTES]


def complaint(number: int, version: int, found: bytes) -> str | None:
    """The error in a block that must hold this version; None: nothing."""
    if found == block(number, version):
        return None
    if found == bytes(BLOCK_BYTES):
        what = 'nothing'
    elif len(found) == BLOCK_BYTES and found[:8] == MAGIC:
        _, other, older = _HEADER.unpack_from(found)
        whole = 'a damaged ' if found != block(other, older) else ''
        what = f'{whole}version {older} of block {other}'
    else:
        what = 'no block of this client'
    return f'block {number} holds {what}; version {version} of it was acknowledged'


class Overwriter:
    """The client's state of its blocks, and its results."""

    def __init__(self, image: Any, order: dict[str, Any]) -> None:
        self._image = image
        self._order = order
        self._lock = threading.Lock()
        self._free = threading.Semaphore(order['depth'])
        self._busy: set[int] = set()
        self._versions = [0] * order['blocks']
        self._numbers = random.Random(order['blocks'])
        #: (start, end) of each write, Unix times.
        self.writes: list[tuple[float, float]] = []
        self.checked = self.failed = self.errors = 0
        self.messages: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        """Write and read until stopped. Operations that could not start in time are skipped."""
        writes, reads = self._order['writes_per_s'], self._order['reads_per_s']
        pause_s = 1.0 / (writes + reads)
        due_s = time.monotonic()
        deadline_s = due_s + self._order['seconds']
        while not self.stopping.is_set() and time.monotonic() < deadline_s:
            self._free.acquire()
            number = self._take()
            if self._numbers.random() * (writes + reads) < writes:
                self._write(number)
            else:
                self._read(number)
            due_s = max(due_s + pause_s, time.monotonic() - 1.0)
            self.stopping.wait(max(0.0, due_s - time.monotonic()))
        self._drain()

    def check_all(self) -> None:
        for number in range(self._order['blocks']):
            self._free.acquire()
            with self._lock:
                self._busy.add(number)
            self._read(number)
        self._drain()

    @property
    def overwrites(self) -> int:
        """Writes to blocks that had been written before."""
        return len(self.writes) - sum(version > 0 for version in self._versions)

    def _drain(self) -> None:
        for _ in range(self._order['depth']):
            self._free.acquire()
        for _ in range(self._order['depth']):
            self._free.release()

    def _take(self) -> int:
        with self._lock:
            while True:
                number = self._numbers.randrange(self._order['blocks'])
                if number not in self._busy:
                    self._busy.add(number)
                    return number

    def _done(self, number: int) -> None:
        self._busy.discard(number)
        self._free.release()

    def _write(self, number: int) -> None:
        version = self._versions[number] + 1
        began_s = time.time()

        def done(completion: Any) -> None:
            with self._lock:
                if completion.get_return_value() < 0:
                    self._error(f'write of block {number}: {completion.get_return_value()}')
                else:
                    self._versions[number] = version
                    self.writes.append((round(began_s, 4), round(time.time(), 4)))
                self._done(number)

        self._image.aio_write(block(number, version), number * BLOCK_BYTES, done)

    def _read(self, number: int) -> None:
        version = self._versions[number]

        def done(completion: Any, found: Any) -> None:
            with self._lock:
                if completion.get_return_value() < 0:
                    self._error(f'read of block {number}: {completion.get_return_value()}')
                else:
                    wrong = complaint(number, version, bytes(found))
                    self.checked += version > 0
                    if wrong:
                        self.failed += 1
                        self.messages.append(wrong)
                self._done(number)

        self._image.aio_read(number * BLOCK_BYTES, BLOCK_BYTES, done)

    def _error(self, message: str) -> None:
        self.errors += 1
        self.messages.append(message)


def main() -> int:
    order = json.loads(sys.argv[1])
    stuck_s = order['stuck_s']
    phase('connecting', stuck_s)
    cluster = rados.Rados(conffile=os.environ['CEPH_CONF'])
    cluster.connect()
    ioctx = cluster.open_ioctx(order['pool'])
    image = rbd.Image(ioctx, order['image'])
    client = Overwriter(image, order)
    signal.signal(signal.SIGINT, lambda *_: client.stopping.set())
    phase('writing', order['seconds'] + stuck_s)
    worker = threading.Thread(target=client.run)
    worker.start()
    while worker.is_alive():
        worker.join(0.2)
        if client.writes and not Path(order['ready']).exists():
            Path(order['ready']).touch()
        if client.stopping.is_set() and worker.is_alive():
            phase('waiting for what is under way', stuck_s)
            worker.join()
    phase('reading every block', stuck_s)
    client.check_all()
    phase('closing', stuck_s)
    image.close()
    ioctx.close()
    cluster.shutdown()
    print(
        json.dumps(
            {
                'writes': client.writes,
                'overwrites': client.overwrites,
                'errors': client.errors,
                'messages': client.messages[:MAX_MESSAGES],
                'checked': client.checked,
                'failed': client.failed,
            }
        )
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())

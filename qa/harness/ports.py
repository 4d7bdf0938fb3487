"""A block of loopback ports for each cluster, without a file that could be left over."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import HarnessError

# Below Linux' default range of ephemeral ports (32768-60999), above the well-known services
FIRST_PORT = 16000
BLOCK_PORTS = 800
BLOCKS = 20


@dataclass(frozen=True)
class PortBlock:
    """`BLOCK_PORTS` ports from `base` on, and what each is for."""

    base: int

    def mon(self, rank: int) -> tuple[int, int]:
        """The msgr2 and msgr1 port of the monitor with this rank (0 to 9)."""
        return self.base + 2 * rank, self.base + 2 * rank + 1

    def dashboard(self, rank: int) -> int:
        """The dashboard's port on the manager with this rank (0 to 9)."""
        return self.base + 20 + rank

    def prometheus(self, rank: int) -> int:
        """The prometheus module's port on the manager with this rank (0 to 9)."""
        return self.base + 30 + rank

    def rgw(self, rank: int) -> int:
        """The HTTP port of the object gateway with this rank (0 to 9)."""
        return self.base + 40 + rank

    @property
    def messenger(self) -> tuple[int, int]:
        """First and last port for the messengers of OSDs, managers and MDSs (8 for each OSD)."""
        return self.base + 60, self.base + BLOCK_PORTS - 1

    @property
    def ports(self) -> range:
        return range(self.base, self.base + BLOCK_PORTS)


def listening_ports() -> frozenset[int]:
    """The TCP ports that something listens on in this network namespace."""
    ports = set()
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:  # no IPv6 here
            continue
        for fields in map(str.split, lines):
            if fields[3] == '0A':  # TCP_LISTEN
                ports.add(int(fields[1].rpartition(':')[2], 16))
    return frozenset(ports)


@contextmanager
def held_name(name: str) -> Iterator[bool]:
    """Hold a machine-wide name while the block runs; yields whether it could be had.

    An abstract socket: the kernel gives it up with the process, whatever ends it.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
        try:
            holder.bind(f'\0ceph-qa-cluster/{name}')
        except OSError:
            yield False
        else:
            yield True


@contextmanager
def held_path(
    use: str, path: Path, *, wait_s: float, busy: str, pause: Callable[[], object]
) -> Iterator[None]:
    """Hold a path for one ``use`` while the block runs; another one who does is waited for.

    ``pause`` is called between two looks. HarnessError (``busy``) once it took ``wait_s``.
    """
    name = f'{use}-{hashlib.sha1(os.fsencode(path)).hexdigest()}'
    deadline_s = time.monotonic() + wait_s
    while True:
        with held_name(name) as mine:
            if mine:
                yield
                return
        if time.monotonic() >= deadline_s:
            raise HarnessError(busy)
        pause()


@contextmanager
def reserve(listening: Callable[[], frozenset[int]] = listening_ports) -> Iterator[PortBlock]:
    """A block in which nothing listens and that no other `reserve` holds.

    Hold it until the cluster's first daemon listens: from then on the block is seen to be in use.
    """
    for index in range(BLOCKS):
        block = PortBlock(FIRST_PORT + index * BLOCK_PORTS)
        with held_name(f'ports-{block.base}') as mine:
            if mine and listening().isdisjoint(block.ports):
                yield block
                return
    last = FIRST_PORT + BLOCKS * BLOCK_PORTS - 1
    raise HarnessError(
        f'no free ports: each of the {BLOCKS} blocks of {BLOCK_PORTS} between {FIRST_PORT} and '
        f'{last} has a listener. Take a cluster down (qa/cluster down).'
    )

"""A block of loopback ports for each cluster, and never the one of the cluster before it.

Clients that outlived a cluster, and sockets that wait for their end, would meet the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import HarnessError
from .layout import CACHE_VARIABLE, cache_dir

# Below Linux' default range of ephemeral ports (32768-60999), above the well-known services
FIRST_PORT = 15000
BLOCK_PORTS = 880
BLOCKS = 20
#: Prefix of the lock names of this machine's clusters.
NAMES = 'ceph-qa-cluster'
#: The file in the cache folder with the number of the block that was reserved last.
LAST_BLOCK = 'last-port-block'


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

    def beside(self, rank: int) -> int:
        """A port (0 to 9) for a service of a test beside the cluster.

        It is free whenever the test closes it, while an ephemeral port may be taken by a
        connection.
        """
        return self.base + 50 + rank

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
    """Hold a machine-wide lock while the block runs; yields whether it was acquired.

    An abstract socket: the kernel releases it with the process.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
        try:
            holder.bind(f'\0{NAMES}/{name}')
        except OSError:
            yield False
        else:
            yield True


@contextmanager
def held_path(
    use: str, path: Path, *, wait_s: float, busy: str, pause: Callable[[], object]
) -> Iterator[None]:
    """Hold a path for one ``use`` while the block runs; waits for another holder.

    ``pause`` is called between two attempts. HarnessError (``busy``) after ``wait_s``.
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
def reserve() -> Iterator[PortBlock]:
    """A block in which nothing listens, that no other `reserve` holds or was the last to hold.

    Hold it until the cluster's first daemon listens: from then on the block is seen to be in use.
    The blocks are had in turn, so it takes long until one comes again.
    """
    with ExitStack() as held:
        yield _choose(held)


def _choose(held: ExitStack) -> PortBlock:
    path = cache_dir() / LAST_BLOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = held.enter_context(path.open('a+'))
    except OSError as error:
        raise HarnessError(
            f'{path}: {error.strerror}; it has the ports of the last cluster. '
            f'{CACHE_VARIABLE} names another folder'
        ) from error
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0)
    text = file.read(16).strip()
    # None: no block was reserved, or the file has other content
    last = int(text) % BLOCKS if text.isascii() and text.isdigit() else None
    first = 0 if last is None else last + 1
    for index in (n % BLOCKS for n in range(first, first + BLOCKS)):
        block = PortBlock(FIRST_PORT + index * BLOCK_PORTS)
        if index == last:
            continue
        with ExitStack() as one:
            mine = one.enter_context(held_name(f'ports-{block.base}'))
            if mine and listening_ports().isdisjoint(block.ports):
                file.truncate(0)
                file.write(f'{index}\n')
                file.close()
                held.enter_context(one.pop_all())
                return block
    raise HarnessError(
        f'no free ports: of the {BLOCKS} blocks of {BLOCK_PORTS} between {FIRST_PORT} and '
        f'{FIRST_PORT + BLOCKS * BLOCK_PORTS - 1}, each has a listener or was used last. Take a '
        'cluster down (qa/cluster down).'
    )

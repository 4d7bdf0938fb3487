"""Disk space of clusters: `up` refuses to start with too little, and work ends before it runs out.

An OSD aborts when the file system under its sparse file is full, even briefly, and then its clients
wait forever. On a machine that shares its disk this may be so for a moment (65 GiB free, none, and
36 GiB were seen within seconds; OSDs got ENOSPC in such ones), by no work of a cluster, and nothing
that is ended here helps: only a shortage that lasts ends work.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import HarnessError

if TYPE_CHECKING:
    from .layout import ClusterSpec

_MIB = 1 << 20
#: What a client that was ended, and compactions, may still write is less.
FLOOR_BYTES = 1024 * _MIB
#: What a new OSD and a new monitor take, and what little work adds (one takes 40 MB at first).
OSD_BYTES = 512 * _MIB
DAEMON_BYTES = 128 * _MIB
POLL_S = 0.25
#: How long a shortage is taken for a moment's: the floor lasts longer at 200 MB/s.
MOMENT_S = 4.0


class FullError(HarnessError):
    """The disk is nearly full, and what ran on the cluster was ended for it."""


def needed_bytes(spec: ClusterSpec) -> int:
    """The free space that a cluster needs to come up and to do a little work."""
    return FLOOR_BYTES + spec.osds * OSD_BYTES + (spec.mons + spec.mgrs) * DAEMON_BYTES


def free_bytes(path: Path) -> int:
    """The free space of the file system that a path is on, or would be."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def require(path: Path, needed: int, what: str) -> None:
    """HarnessError that names both figures unless so much is free."""
    free = free_bytes(path)
    if free < needed:
        raise HarnessError(
            f'{what} needs {_gib(needed)} of free disk space, and the file system of {path} has '
            f'{_gib(free)}: free some, or choose a folder on another one with --dir'
        )


def complaint(paths: Iterable[Path]) -> str | None:
    """The message for the first path whose file system is nearly full; None if none is."""
    for path in paths:
        try:
            free = free_bytes(path)
        except OSError:
            continue  # it was just removed
        if free < FLOOR_BYTES:
            return (
                f'the disk is nearly full: the file system of {path} has {_gib(free)} left, and '
                f'OSDs abort when it is full. Ended below {_gib(FLOOR_BYTES)}, while the cluster '
                'still works'
            )
    return None


def _gib(size: int) -> str:
    return f'{size / (1 << 30):.1f} GiB'


class Watch:
    """Watches the disk until closed. `message`: the complaint, once there is one."""

    def __init__(
        self, paths: Callable[[], Iterable[Path]], on_full: Callable[[str], object]
    ) -> None:
        self.message: str | None = None
        self._paths = paths
        self._on_full = on_full
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look, name='disk watch', daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _look(self) -> None:
        enough_s = time.monotonic()
        while self.message is None and not self._closed.wait(POLL_S):
            message = complaint(self._paths())
            if message is None:
                enough_s = time.monotonic()
            elif time.monotonic() - enough_s >= MOMENT_S:
                self.message = message
                self._on_full(message)


@contextlib.contextmanager
def watched(
    path: Path, cancel: Callable[[], object], resume: Callable[[], object]
) -> Iterator[None]:
    """Work that ends with FullError, by `cancel`, when the disk gets nearly full meanwhile."""
    watch = Watch(lambda: [path], lambda _said: cancel())
    try:
        yield
    except HarnessError as error:
        if watch.message is not None:
            raise FullError(watch.message) from error
        raise
    finally:
        watch.close()
        if watch.message is not None:
            resume()

"""The daemons of one cluster among all processes of the machine, and how to end them.

A daemon belongs to a cluster when its program is one of Ceph's and the configuration file that it
was started with is the cluster's: the same path, and the same file where the daemon sees the file
system from a chroot. That is read from the process itself, each time: process ids
are reused, daemons are restarted by others (the orchestrator, a test, a person), and pid files are
written late or left over. A signal goes through a pidfd that is opened before the proof, so it
cannot reach a process that took over the number in between.

Shared by the harness and by the local orchestrator inside ceph-mgr: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Optional

DAEMON_TYPES = {
    'ceph-mon': 'mon',
    'ceph-mgr': 'mgr',
    'ceph-osd': 'osd',
    'ceph-mds': 'mds',
    'radosgw': 'client',
}


MAX_SCANS = 20
HURRY_POLL_S = 0.1


@dataclass(frozen=True)
class DaemonProcess:
    """A running daemon. `start_ticks` (clock ticks since boot) tells pids apart if reused."""

    name: str
    pid: int
    start_ticks: int


def option_of(argv: Sequence[str], *names: str) -> Optional[str]:
    for i, word in enumerate(argv):
        if word in names and i + 1 < len(argv):
            return argv[i + 1]
        for name in names:
            if name.startswith('--') and word.startswith(f'{name}='):
                return word[len(name) + 1 :]
    return None


def daemon_name(argv: Sequence[str]) -> Optional[str]:
    """Ceph's name (osd.0, client.rgw.a) of the daemon with this command line; None if it is none.

    `--mkfs` runs end by themselves and are no daemons.
    """
    if not argv or '--mkfs' in argv:
        return None
    daemon_type = DAEMON_TYPES.get(argv[0].rpartition('/')[2])
    if daemon_type is None:
        return None
    name = option_of(argv, '-n', '--name')
    if name is not None:
        return name
    daemon_id = option_of(argv, '-i', '--id')
    return None if daemon_id is None else f'{daemon_type}.{daemon_id}'


def conf_of(argv: Sequence[str], environ: Sequence[str]) -> Optional[str]:
    """The configuration file that a daemon was started with: `-c`, or else $CEPH_CONF."""
    conf = option_of(argv, '-c', '--conf')
    if conf is not None:
        return conf
    for entry in environ:
        key, _, value = entry.partition('=')
        if key == 'CEPH_CONF':
            return value
    return None


def strings(path: Path) -> list[str]:
    return [word.decode(errors='replace') for word in path.read_bytes().split(b'\0') if word]


def start_ticks_of(process: Path) -> int:
    # Field 22 of stat(5); the program's name in field 2 may hold spaces and brackets
    return int((process / 'stat').read_text().rpartition(')')[2].split()[19])


def _same_file(seen_by_daemon: Path, conf: Path) -> bool:
    """Whether both are one file; a file that is gone for both still was the cluster's."""
    try:
        return seen_by_daemon.samefile(conf)
    except FileNotFoundError:
        return not seen_by_daemon.exists() and not conf.exists()


def inspect(pid: int, conf: str) -> Optional[DaemonProcess]:
    """The daemon behind `pid` if it is one of the cluster with this `conf`, else None.

    `conf` is its path, here and as the daemon sees it.
    """
    process = Path('/proc') / str(pid)
    try:
        argv = strings(process / 'cmdline')
        name = daemon_name(argv)
        if name is None or conf_of(argv, strings(process / 'environ')) != conf:
            return None
        if not _same_file(Path(f'{process}/root{conf}'), Path(conf)):
            return None
        return DaemonProcess(name, pid, start_ticks_of(process))
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile, or it belongs to another user


def find_daemons(conf: str) -> list[DaemonProcess]:
    """All daemons of the cluster with this `conf`, oldest first.

    While a daemon goes into the background its name appears twice: the newer one is kept. A manager
    does that at any time when it respawns, and a single scan may miss both: the child did not exist
    yet, the parent no longer exists. So two consecutive scans must agree.
    """
    found = _look(conf)
    for _ in range(MAX_SCANS):
        before, found = found, _look(conf)
        if found == before:
            break
    return found


def _look(conf: str) -> list[DaemonProcess]:
    found = (inspect(int(p.name), conf) for p in Path('/proc').iterdir() if p.name.isdigit())
    return sorted(filter(None, found), key=lambda daemon: (daemon.start_ticks, daemon.pid))


def newest_by_name(daemons: Iterable[DaemonProcess]) -> dict[str, DaemonProcess]:
    """One process per daemon name out of what `find_daemons` returned."""
    return {daemon.name: daemon for daemon in daemons}


#: The process of a pid, if it belongs to the cluster.
Prove = Callable[[int], Optional[DaemonProcess]]


class _Target:
    """A proven process, held by its pidfd."""

    def __init__(self, daemon: DaemonProcess, prove: Prove) -> None:
        self.daemon = daemon
        self.fd: Optional[int] = None
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(daemon.pid)
            if prove(daemon.pid) == daemon:
                self.fd = fd
            else:
                os.close(fd)

    def send(self, number: int) -> None:
        if self.fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.fd, number)

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def _wait(
    targets: Iterable[_Target], timeout_s: float, hurry: Callable[[], bool] = lambda: False
) -> list[_Target]:
    """Those of the targets that still run after at most `timeout_s`, or once there is hurry."""
    running = [target for target in targets if target.fd is not None]
    poller = select.poll()
    for target in running:
        assert target.fd is not None
        poller.register(target.fd, select.POLLIN)
    deadline_s = time.monotonic() + timeout_s
    while running:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or hurry():
            break
        ended = {fd for fd, _ in poller.poll(min(left_s, HURRY_POLL_S) * 1000)}
        for target in [t for t in running if t.fd in ended]:
            assert target.fd is not None
            poller.unregister(target.fd)
            running.remove(target)
    return running


def stop(
    daemons: Iterable[DaemonProcess],
    conf: str,
    *,
    term_timeout_s: float,
    kill_timeout_s: float = 10.0,
    hurry: Callable[[], bool] = lambda: False,
    prove: Optional[Prove] = None,
) -> list[DaemonProcess]:
    """SIGTERM to all, then SIGKILL to those that run after `term_timeout_s`. Returns what is left.

    `term_timeout_s` 0 kills at once, as does `hurry` when it becomes true meanwhile. Processes
    that no longer match `daemons`, by `prove` or else `inspect`, are left alone.
    """
    proven = prove or partial(inspect, conf=conf)
    targets: list[_Target] = []
    try:
        targets += [_Target(daemon, proven) for daemon in daemons]
        if term_timeout_s > 0:
            for target in targets:
                target.send(signal.SIGTERM)
        running = _wait(targets, term_timeout_s, hurry)
        for target in running:
            target.send(signal.SIGKILL)
        return [target.daemon for target in _wait(running, kill_timeout_s)]
    finally:
        for target in targets:
            target.close()

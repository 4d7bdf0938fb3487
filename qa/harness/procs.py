"""The daemons and clients of one cluster among all processes of the machine, and how to end them.

A daemon belongs to a cluster when its program is one of Ceph's and the configuration file that it
was started with is the cluster's: the same path, and the same file where the daemon sees the file
system from a chroot. That is read from the process itself, each time: process ids
are reused, daemons are restarted by others (the orchestrator, a test, a person), and pid files are
written late or left over. A signal goes through a pidfd that is opened before the proof, so it
cannot reach a process that took over the number in between.

Any other process is a client of the cluster when the harness started it or one of its ancestors,
as recorded in its environment (MARK), or when it has Ceph's library loaded and finds the cluster's
ceph.conf where Ceph's clients look for it. A shell or an editor that is merely in the
cluster's folder, or has its CEPH_CONF, is no client.

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
from pathlib import Path
from typing import Optional

DAEMON_TYPES = {
    'ceph-mon': 'mon',
    'ceph-mgr': 'mgr',
    'ceph-osd': 'osd',
    'ceph-mds': 'mds',
    'radosgw': 'client',
}


#: In the environment of what the harness starts for a cluster: the cluster's fsid.
MARK = 'CEPH_QA_CLUSTER'
#: Every process that talks to a cluster other than by HTTP has it loaded.
_LIBRARY = b'/libceph-common.so'
MAX_SCANS = 20
#: The number of scans for processes started while others were stopped.
ROUNDS_MAX = 10
HURRY_POLL_S = 0.1


@dataclass(frozen=True)
class DaemonProcess:
    """A running daemon. `start_ticks` (clock ticks since boot) tells pids apart if reused."""

    name: str
    pid: int
    start_ticks: int


def _option(argv: Sequence[str], *names: str) -> Optional[str]:
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
    name = _option(argv, '-n', '--name')
    if name is not None:
        return name
    daemon_id = _option(argv, '-i', '--id')
    return None if daemon_id is None else f'{daemon_type}.{daemon_id}'


def conf_of(argv: Sequence[str], environ: Sequence[str]) -> Optional[str]:
    """The configuration file that a daemon was started with: `-c`, or else $CEPH_CONF."""
    conf = _option(argv, '-c', '--conf')
    if conf is not None:
        return conf
    for entry in environ:
        key, _, value = entry.partition('=')
        if key == 'CEPH_CONF':
            return value
    return None


def client_conf_of(
    argv: Sequence[str], environ: Sequence[str], root: Path, cwd: Path
) -> Optional[Path]:
    """The configuration file that a client finds, in Ceph's own order; None when there is none.

    `root` and `cwd` are its folders as this process sees them.
    """

    def seen(name: str) -> Path:
        return Path(f'{root}{name}') if name.startswith('/') else cwd / name

    values = dict(entry.partition('=')[::2] for entry in environ)
    named = _option(argv, '-c', '--conf')
    # What follows Python's or a shell's own -c is a program, not a file
    if named is not None and os.path.isfile(seen(named)):  # noqa: PTH113  # or a name too long
        return seen(named)
    named = _option(values.get('CEPH_ARGS', '').split(), '-c', '--conf') or values.get('CEPH_CONF')
    if named:
        return seen(named)
    home = values.get('HOME', '/root')
    for name in ('/etc/ceph/ceph.conf', f'{home}/.ceph/ceph.conf', 'ceph.conf'):
        if seen(name).exists():
            return seen(name)
    return None


def _strings(path: Path) -> list[str]:
    return [word.decode(errors='replace') for word in path.read_bytes().split(b'\0') if word]


def _start_ticks(process: Path) -> int:
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
        argv = _strings(process / 'cmdline')
        name = daemon_name(argv)
        if name is None or conf_of(argv, _strings(process / 'environ')) != conf:
            return None
        if not _same_file(Path(f'{process}/root{conf}'), Path(conf)):
            return None
        return DaemonProcess(name, pid, _start_ticks(process))
    except (OSError, ValueError, IndexError):
        return None  # it ended meanwhile, or it belongs to another user


def inspect_client(pid: int, conf: str, mark: str) -> Optional[DaemonProcess]:
    """The process behind `pid`, by its program's name, if it is a client of the cluster, else None.

    `mark`: the cluster's fsid.
    """
    process = Path('/proc') / str(pid)
    try:
        argv, environ = _strings(process / 'cmdline'), _strings(process / 'environ')
        if not argv or inspect(pid, conf) is not None:
            return None  # a zombie, or a daemon
        if f'{MARK}={mark}' not in environ:
            if _LIBRARY not in (process / 'maps').read_bytes():
                return None
            found = client_conf_of(argv, environ, process / 'root', process / 'cwd')
            if found is None or not _is_conf(found, process, conf):
                return None
        return DaemonProcess(argv[0].rpartition('/')[2], pid, _start_ticks(process))
    except (OSError, ValueError, IndexError):
        return None


def _is_conf(found: Path, process: Path, conf: str) -> bool:
    if found.exists() or Path(conf).exists():
        return found.exists() and Path(conf).exists() and found.samefile(conf)
    return str(found) == f'{process}/root{conf}'  # both are gone


def find_clients(conf: str, mark: str) -> list[DaemonProcess]:
    """All clients of the cluster but this process and its ancestors, oldest first."""
    spared = _ancestors(os.getpid())
    pids = [int(p.name) for p in Path('/proc').iterdir() if p.name.isdigit()]
    found = (inspect_client(pid, conf, mark) for pid in pids if pid not in spared)
    return sorted(filter(None, found), key=lambda client: (client.start_ticks, client.pid))


def _ancestors(pid: int) -> set[int]:
    """A process and those that it descends from."""
    found: set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            pid = int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return found


def stop_clients(
    conf: str,
    mark: str,
    *,
    term_timeout_s: float,
    hurry: Callable[[], bool] = lambda: False,
) -> list[DaemonProcess]:
    """End all clients of the cluster as `stop` does, those too that they start meanwhile.

    A client whose requests hang does not end by SIGTERM. Returns what is left.
    """

    def prove(pid: int) -> Optional[DaemonProcess]:
        return inspect_client(pid, conf, mark)

    for _ in range(ROUNDS_MAX):
        clients = find_clients(conf, mark)
        if not clients:
            return []
        left = _stop(clients, prove, term_timeout_s, 10.0, hurry)
        if left:
            return left
    return find_clients(conf, mark)


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


def find_contained(container: str) -> list[DaemonProcess]:
    """The daemons in a container with this id, or in containers within it."""
    found = []
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            name = daemon_name(_strings(process / 'cmdline')) if process.name.isdigit() else None
            if name is not None and container in (process / 'cgroup').read_text():
                found.append(DaemonProcess(name, int(process.name), _start_ticks(process)))
    return sorted(found, key=lambda daemon: daemon.name)


def _look(conf: str) -> list[DaemonProcess]:
    found = (inspect(int(p.name), conf) for p in Path('/proc').iterdir() if p.name.isdigit())
    return sorted(filter(None, found), key=lambda daemon: (daemon.start_ticks, daemon.pid))


def newest_by_name(daemons: Iterable[DaemonProcess]) -> dict[str, DaemonProcess]:
    """One process per daemon name out of what `find_daemons` returned."""
    return {daemon.name: daemon for daemon in daemons}


#: The process of a pid, if it belongs to the cluster.
_Prove = Callable[[int], Optional[DaemonProcess]]


class _Target:
    """A proven process, held by its pidfd."""

    def __init__(self, daemon: DaemonProcess, prove: _Prove) -> None:
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
) -> list[DaemonProcess]:
    """SIGTERM to all, then SIGKILL to those that run after `term_timeout_s`. Returns what is left.

    `term_timeout_s` 0 kills at once, as does `hurry` when it becomes true meanwhile. Processes
    that no longer match `daemons` are left alone.
    """
    return _stop(daemons, lambda pid: inspect(pid, conf), term_timeout_s, kill_timeout_s, hurry)


def _stop(
    processes: Iterable[DaemonProcess],
    prove: _Prove,
    term_timeout_s: float,
    kill_timeout_s: float,
    hurry: Callable[[], bool],
) -> list[DaemonProcess]:
    targets: list[_Target] = []
    try:
        targets += [_Target(process, prove) for process in processes]
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

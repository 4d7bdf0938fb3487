"""The clients of one cluster among all processes of the machine, and how to end them.

A process that is no daemon (procs.py) is a client of the cluster when the harness started it or
one of its ancestors, as recorded in its environment (MARK), or when it has Ceph's library loaded
and finds the cluster's ceph.conf where Ceph's clients look for it. A shell or an editor that is
merely in the cluster's folder, or has its CEPH_CONF, is no client.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from .procs import (
    DaemonProcess,
    daemon_name,
    inspect,
    option_of,
    start_ticks_of,
    stop,
    strings,
)

#: In the environment of what the harness starts for a cluster: the cluster's fsid.
MARK = 'CEPH_QA_CLUSTER'
#: Every process that talks to a cluster other than by HTTP has it loaded.
_LIBRARY = b'/libceph-common.so'
#: The number of scans for processes started while others were stopped.
ROUNDS_MAX = 10


def client_conf_of(
    argv: Sequence[str], environ: Sequence[str], root: Path, cwd: Path
) -> Path | None:
    """The configuration file that a client finds, in Ceph's own order; None when there is none.

    `root` and `cwd` are its folders as this process sees them.
    """

    def seen(name: str) -> Path:
        return Path(f'{root}{name}') if name.startswith('/') else cwd / name

    values = dict(entry.partition('=')[::2] for entry in environ)
    named = option_of(argv, '-c', '--conf')
    # What follows Python's or a shell's own -c is a program, not a file
    if named is not None and os.path.isfile(seen(named)):  # noqa: PTH113  # or a name too long
        return seen(named)
    named = option_of(values.get('CEPH_ARGS', '').split(), '-c', '--conf') or values.get(
        'CEPH_CONF'
    )
    if named:
        return seen(named)
    home = values.get('HOME', '/root')
    for name in ('/etc/ceph/ceph.conf', f'{home}/.ceph/ceph.conf', 'ceph.conf'):
        if seen(name).exists():
            return seen(name)
    return None


def inspect_client(pid: int, conf: str, mark: str) -> DaemonProcess | None:
    """The process behind `pid`, by its program's name, if it is a client of the cluster, else None.

    `mark`: the cluster's fsid.
    """
    process = Path('/proc') / str(pid)
    try:
        argv, environ = strings(process / 'cmdline'), strings(process / 'environ')
        if not argv or inspect(pid, conf) is not None:
            return None  # a zombie, or a daemon
        if f'{MARK}={mark}' not in environ:
            if _LIBRARY not in (process / 'maps').read_bytes():
                return None
            found = client_conf_of(argv, environ, process / 'root', process / 'cwd')
            if found is None or not _is_conf(found, process, conf):
                return None
        return DaemonProcess(argv[0].rpartition('/')[2], pid, start_ticks_of(process))
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

    def prove(pid: int) -> DaemonProcess | None:
        return inspect_client(pid, conf, mark)

    for _ in range(ROUNDS_MAX):
        clients = find_clients(conf, mark)
        if not clients:
            return []
        left = stop(clients, conf, term_timeout_s=term_timeout_s, hurry=hurry, prove=prove)
        if left:
            return left
    return find_clients(conf, mark)


def find_contained(container: str) -> list[DaemonProcess]:
    """The daemons in a container with this id, or in containers within it."""
    found = []
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            name = daemon_name(strings(process / 'cmdline')) if process.name.isdigit() else None
            if name is not None and container in (process / 'cgroup').read_text():
                found.append(DaemonProcess(name, int(process.name), start_ticks_of(process)))
    return sorted(found, key=lambda daemon: daemon.name)

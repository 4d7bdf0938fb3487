"""Where a release's programs run: on this machine, or in a chroot (chroot.py).

Daemons and clients use the host's own paths ("inside"); `outside` maps them to the path that the
harness uses.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import ending
from .client_procs import MARK
from .errors import CancelledError, CommandError, HarnessError

PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

# What the caller's environment must not pass on: Ceph's Python programs would load other modules
# or talk to another cluster
_DROPPED_PREFIXES = ('CEPH_', 'PYTHON', 'VIRTUAL_ENV', 'LD_PRELOAD', 'LD_LIBRARY_PATH')


@dataclass(frozen=True)
class Completed:
    """The outcome of a command."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def _kill_group(process: subprocess.Popen[str]) -> None:
    """End a command and what it started. Only while it was not waited for: its id is its own."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


#: The running commands of all hosts, and their output.
_lock = threading.Lock()
_everywhere: set[subprocess.Popen[str]] = set()


def terminate_commands() -> None:
    """End all commands of this process after a signal; no others start."""
    with _lock:
        for process in _everywhere:
            _kill_group(process)


class Host:
    """Runs commands on the machine itself. `cancel` ends all that run and forbids new ones.

    `mark`: the fsid of the cluster for which they run; they carry it, see procs.py.
    """

    def __init__(self, mark: str | None = None) -> None:
        self._mark = {} if mark is None else {MARK: mark}
        self._running: set[subprocess.Popen[str]] = set()
        self._canceled = False

    @property
    def root(self) -> Path:
        """The root folder of the host's processes."""
        return Path('/')

    def outside(self, inside: Path) -> Path:
        """The path of the host's `inside` for the harness."""
        return inside

    def has_program(self, name: str) -> bool:
        """Whether the host can run a program of this name or path."""
        return shutil.which(name, path=PATH) is not None

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` on the host."""
        return list(argv)

    def command_here(self, argv: Sequence[str]) -> list[str]:
        """As `command`, and where the host has the caller's working folder, in that."""
        return self.command(argv)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for the host's commands: the caller's, cleaned, and `extra`."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_DROPPED_PREFIXES)}
        return {**environment, 'PATH': PATH, 'LC_ALL': 'C.UTF-8', **self._mark, **(extra or {})}

    def cancel(self) -> None:
        """End the running commands; new ones raise CancelledError."""
        with _lock:
            self._canceled = True
            for process in self._running:
                _kill_group(process)

    def resume(self) -> None:
        """Allow commands again, for the clearing up after `cancel`."""
        with _lock:
            self._canceled = False

    def _start(
        self, argv: Sequence[str], environment: Mapping[str, str] | None
    ) -> subprocess.Popen[str]:
        with _lock:
            if self._canceled or ending.reported():
                raise CancelledError(f'{argv[0]}: not started, the work was given up')
            process = subprocess.Popen(
                self.command(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors='replace',
                env=self.environment(environment),
                cwd='/',
                # In a separate process group, so that its children can be ended with it
                start_new_session=True,
            )
            self._running.add(process)
            _everywhere.add(process)
            return process

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stdin: str = '',
        timeout_s: float = 60.0,
        check: bool = True,
    ) -> Completed:
        """Run a command to its end. With `check`, an exit status other than 0 is a CommandError."""
        try:
            process = self._start(argv, environment)
        except FileNotFoundError as error:
            raise HarnessError(f'{argv[0]}: no such program on this host') from error
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            _kill_group(process)
            stdout, stderr = process.communicate()
            why = f'no end after {timeout_s:g} s'
            raise CommandError(argv, None, stdout, stderr, why) from error
        except BaseException:
            _kill_group(process)
            process.wait()
            raise
        finally:
            with _lock:
                self._running.discard(process)
                _everywhere.discard(process)
        if self._canceled or ending.reported():
            raise CancelledError(f'{argv[0]}: ended, the work was given up')
        if check and process.returncode != 0:
            raise CommandError(argv, process.returncode, stdout, stderr)
        return Completed(tuple(argv), process.returncode, stdout, stderr)


class Cancellable(Protocol):
    """The host of the commands of several tasks."""

    def cancel(self) -> None:
        """End the running commands; new ones raise CancelledError."""


def in_parallel(where: Cancellable, tasks: Sequence[Callable[[], object]]) -> None:
    """Run the tasks side by side; the first failure (or a signal) ends the others' commands."""
    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            for future in futures:
                future.result()
        except BaseException:
            where.cancel()
            raise

"""Commands to a cluster without starting `ceph` for each, which costs a quarter of a second of CPU:
tests that wait for a condition poll frequently.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path

from .client import COMMAND_TIMEOUT_S, CephClient
from .errors import CommandError

PROGRAM = Path(__file__).parent / 'clients/command_client.py'
PYTHON = '/usr/bin/python3'


class QuickCeph:
    """One process that runs commands one after the other; a command that hangs ends it."""

    def __init__(self, client: CephClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def ceph(self, *words: str, stdin: str = '', timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        """The output of `ceph WORDS`; CommandError when it fails."""
        # These need what only the program itself does
        if stdin or words[0] == 'tell' or {'-i', '-o'} & set(words):
            return self._client.ceph(*words, stdin=stdin, timeout_s=timeout_s)
        with self._lock:
            code, output, complaint = self._run(words, timeout_s)
        argv = ('ceph', *words)
        if code < 0:
            name = errno.errorcode.get(-code, str(-code))
            raise CommandError(argv, -code, output, f'Error {name}: {complaint}')
        return output

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _run(self, words: tuple[str, ...], timeout_s: float) -> tuple[int, str, str]:
        argv = ('ceph', *words)
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(words) + '\n')
            self._process.stdin.flush()
            line = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            self.close()
            raise CommandError(argv, None, '', '', f'no end after {timeout_s:g} s') from None
        except OSError as error:
            self.close()
            raise CommandError(argv, None, '', str(error), 'not sent') from error
        if not line:
            self.close()
            raise CommandError(argv, None, '', '', 'its process ended')
        code, output, complaint = json.loads(line)
        return code, output, complaint

    def _start(self) -> None:
        host = self._client.host
        answers: queue.Queue[str] = queue.Queue()
        self._answers = answers
        self._process = process = subprocess.Popen(
            host.command([PYTHON, '-B', '-c', PROGRAM.read_text()]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors='replace',
            env=host.environment(self._client.environment),
            cwd='/',
            start_new_session=True,
        )
        stream = process.stdout
        assert stream is not None

        def read() -> None:
            with contextlib.suppress(ValueError, OSError):
                for line in stream:
                    answers.put(line)
            answers.put('')

        threading.Thread(target=read, daemon=True).start()

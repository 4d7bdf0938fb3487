"""Progress for a person, on standard error: one line when a step begins, one when it is done."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Progress:
    """Prints steps with the seconds since the start in front. Steps may run in parallel threads."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._start_s = time.monotonic()
        self._lock = threading.Lock()
        self.current = 'nothing yet'

    def say(self, text: str) -> None:
        """Print one line at once."""
        if self._quiet:
            return
        with self._lock:
            stream = self._stream or sys.stderr
            # A terminal or a pipe that is gone is no reason to leave the work half done
            with contextlib.suppress(OSError, ValueError):
                stream.write(f'[{time.monotonic() - self._start_s:5.1f} s] {text}\n')
                stream.flush()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the start of the step, and its duration once it succeeded.

        `current` keeps the name of a failed step for the error message.
        """
        outer, self.current = self.current, name
        begin_s = time.monotonic()
        self.say(f'{name} ...')
        yield
        self.say(f'{name}: done in {time.monotonic() - begin_s:.1f} s')
        self.current = outer

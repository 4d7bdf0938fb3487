"""A text that takes long to write: written once for all who ask for it at the same time."""

from __future__ import annotations

import threading
from typing import Callable, Optional


class SharedText:
    """Whoever asks while a text is being written waits, and gets it too if it is the same one.

    So readers, however many, take one core at most from the threads that do the work. Nothing is
    kept once nobody waits.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._count = threading.Lock()
        self._asking = 0
        self._written: Optional[tuple[tuple[object, ...], str]] = None

    def get(self, key: tuple[object, ...], write: Callable[[], str]) -> str:
        """The text of ``key``, whose parts are compared by identity."""
        with self._count:
            self._asking += 1
        try:
            with self._turn:
                written = self._written
                if written is None or any(a is not b for a, b in zip(written[0], key)):
                    written = self._written = key, write()
                return written[1]
        finally:
            with self._count:
                self._asking -= 1
                if not self._asking:
                    self._written = None

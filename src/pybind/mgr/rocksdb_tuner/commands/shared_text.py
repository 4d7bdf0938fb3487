"""A text that takes long to render: concurrent requests share it."""

from __future__ import annotations

import threading
from typing import Callable, Optional


class SharedText:
    """A request for a text that is already being rendered waits for it and shares it.

    So any number of readers uses at most one core. Nothing is cached without waiting readers.
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

"""What this package refuses, and with which errno."""

from __future__ import annotations


class PresentError(Exception):
    """A request for an answer that does not exist; ``errno`` is positive, the text for a person."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message

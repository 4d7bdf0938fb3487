"""Errors of this package."""

from __future__ import annotations


class PresentError(Exception):
    """A request for a nonexistent answer; ``errno`` is positive, the text is for operators."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message

"""What this package refuses, and with which errno."""

from __future__ import annotations


class OperationRefused(Exception):  # noqa: N818 - an answer to the operator, not a fault
    """A command that is not carried out; nothing was changed. ``errno`` is positive."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message

"""Refusals of operator requests, with errno."""

from __future__ import annotations


class OperationRefused(Exception):  # noqa: N818 - an answer to the operator, not an error
    """A request was refused and nothing changed. ``errno`` is positive."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message

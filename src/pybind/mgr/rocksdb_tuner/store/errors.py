"""Errors of stored data."""

from __future__ import annotations


class StoredStateError(Exception):
    """A stored text is damaged or has an unsupported format; the message has the location."""

"""What is wrong with something that was stored."""

from __future__ import annotations


class StoredStateError(Exception):
    """A stored text is not what this version of the module wrote; the message says where."""

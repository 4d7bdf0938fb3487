"""What was switched on in an OSD, kept until it is as it was before. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional

VERSION = 1


class UnreadableNoteError(Exception):
    """A stored text is no note, or of another version; the text says which."""


@dataclass(frozen=True)
class Switched:
    """One option that was switched on."""

    name: str
    #: What somebody had set in the running OSD before; None: nothing, so the setting goes.
    previous: Optional[str]


@dataclass(frozen=True)
class Note:
    """The options of one process; they end with it."""

    osd_id: int
    nonce: int
    time_s: float
    switched: tuple[Switched, ...]


def encode(note: Note) -> str:
    return json.dumps(
        {
            'version': VERSION,
            'osd': note.osd_id,
            'nonce': note.nonce,
            'time_s': note.time_s,
            'switched': [{'name': s.name, 'previous': s.previous} for s in note.switched],
        }
    )


def decode(text: str) -> Note:
    """Raises UnreadableNoteError."""
    try:
        document = json.loads(text)
        if document['version'] != VERSION:
            raise UnreadableNoteError(f'it is of version {document["version"]!r}')
        return Note(
            _whole(document['osd']),
            _whole(document['nonce']),
            float(document['time_s']),
            tuple(_switched(entry) for entry in document['switched']),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UnreadableNoteError(f'{type(error).__name__}: {error}') from None


def _switched(entry: Any) -> Switched:
    name, previous = entry['name'], entry['previous']
    if not isinstance(name, str) or not (previous is None or isinstance(previous, str)):
        raise TypeError('an option is named by a text, and its value is one')
    return Switched(name, previous)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f'{value!r} is no whole number')
    return value

"""What was switched on in an OSD, kept until it is as it was before. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..store import codec
from ..store.text import pack, unpack

VERSION = 2
#: "osd_id" was "osd".
_FIRST_VERSION = 1


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
    return pack({'version': VERSION, **codec.encode(note)})


def decode(text: str) -> Note:
    """Raises StoredStateError."""
    document = unpack(text, _FIRST_VERSION, VERSION)
    if document['version'] == _FIRST_VERSION and 'osd' in document:
        document['osd_id'] = document.pop('osd')
    return codec.decode(Note, document)

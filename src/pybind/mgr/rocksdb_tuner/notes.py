"""Notes on the `Annotated` types of fields, by which records are answers of the module.

A text note describes the field in the JSON Schema. A field or property whose type has no note is
not part of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Optional, Union


@dataclass(frozen=True)
class Bounds:
    """Inclusive bounds of a number."""

    minimum: float
    maximum: Optional[float] = None


@dataclass(frozen=True)
class Pattern:
    """Regular expression that a text matches."""

    regex: str


@dataclass(frozen=True)
class Among:
    """Allowed values of a text or an enum."""

    words: tuple[Union[str, Enum], ...]


@dataclass(frozen=True)
class NotEmpty:
    """The list or text is never empty."""


@dataclass(frozen=True)
class Named:
    """Name of the field in JSON, if it is not valid in Python."""

    name: str


@dataclass(frozen=True)
class AsTime:
    """Seconds since the epoch, shown as ISO 8601 in UTC."""


@dataclass(frozen=True)
class Unbounded:
    """The number may be infinite or undefined, which is shown as null."""


class InPlace:
    """Fields of the record are inlined into the parent object: only those with ``names``, if any.

    All of them are null if the record is None.
    """

    def __init__(self, *names: str) -> None:
        self.names = names


class Picked:
    """Only these fields of the record are shown; all of them are null if it is None."""

    def __init__(self, *names: str) -> None:
        self.names = names


Count = Annotated[int, Bounds(0)]
OsdId = Annotated[int, Bounds(0)]
#: Bytes, seconds, milliseconds and so on: the field name ends in the unit.
Amount = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
#: ISO 8601, UTC.
Time = Annotated[str, Pattern(r'^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$')]

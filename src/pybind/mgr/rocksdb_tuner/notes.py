"""Notes on the `Annotated` types of answer fields.

A text note describes the field in the JSON Schema.
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
class Digits:
    """Number of decimal places, to keep long columns small."""

    number: int


@dataclass(frozen=True)
class Named:
    """Name of the field in JSON, if it is not valid in Python."""

    name: str


@dataclass(frozen=True)
class InPlace:
    """Fields of the record are inlined into the parent object."""


Count = Annotated[int, Bounds(0)]
OsdId = Annotated[int, Bounds(0)]
#: Bytes, seconds, milliseconds and so on: the field name ends in the unit.
Amount = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
#: ISO 8601, UTC.
Time = Annotated[str, Pattern(r'^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$')]

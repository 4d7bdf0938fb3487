"""What a type alone does not say of a field of an answer: notes of its `Annotated` type.

A note that is a text describes the field, in the JSON Schema and wherever that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Optional, Union


@dataclass(frozen=True)
class Bounds:
    """Of a number, both included."""

    minimum: float
    maximum: Optional[float] = None


@dataclass(frozen=True)
class Pattern:
    """Of a text, as a regular expression."""

    regex: str


@dataclass(frozen=True)
class Among:
    """Of all words only these."""

    words: tuple[Union[str, Enum], ...]


@dataclass(frozen=True)
class NotEmpty:
    """Of a list, or a text."""


@dataclass(frozen=True)
class Digits:
    """As many behind the point, where a column is long."""

    number: int


@dataclass(frozen=True)
class Exact:
    """Of a figure, or of anything: with all its digits, for whoever goes on reckoning with it."""


@dataclass(frozen=True)
class Named:
    """Of a field: it has this name in JSON, which Python would not take."""

    name: str


@dataclass(frozen=True)
class Matching:
    """Of a mapping: its names match, and stand where that of the mapping would."""

    regex: str


@dataclass(frozen=True)
class InPlace:
    """Of a record: its fields stand where it would, and not below its name."""


Count = Annotated[int, Bounds(0)]
OsdId = Annotated[int, Bounds(0)]
#: Of bytes, seconds, milliseconds: the name says of what.
Amount = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
#: ISO 8601, UTC.
Time = Annotated[str, Pattern(r'^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$')]

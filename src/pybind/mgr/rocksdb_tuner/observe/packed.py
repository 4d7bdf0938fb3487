"""Samples in a fifth of the memory, for those that are kept for long and seldom used. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from sys import intern
from typing import NamedTuple, Optional, TypeVar, Union

_Number = TypeVar('_Number', int, float)

#: Unknown, a number, or a sum and a count; numbers have 64 bits without a sign.
Counter = Union[None, int, tuple[int, int]]


class Packed(NamedTuple):
    """The counters of one process at one time. The array is never modified."""

    time_s: float
    nonce: int
    #: How many numbers each counter has, one digit for each; shared by OSDs with the same.
    shape: str
    numbers: array[int]


def pack(time_s: float, nonce: int, counters: Iterable[Counter]) -> Packed:
    """OverflowError for a number without 64 bits."""
    shape: list[str] = []
    numbers: list[int] = []
    for counter in counters:
        if counter is None:
            shape.append('0')
        elif isinstance(counter, tuple):
            shape.append('2')
            numbers.extend(counter)
        else:
            shape.append('1')
            numbers.append(counter)
    return Packed(time_s, nonce, intern(''.join(shape)), array('Q', numbers))


def unpack(packed: Packed) -> list[Counter]:
    """The counters that were packed."""
    numbers = iter(packed.numbers)
    found: list[Counter] = []
    for size in packed.shape:
        first: Optional[int] = None if size == '0' else next(numbers)
        found.append(first if first is None or size == '1' else (first, next(numbers)))
    return found


def appended(kept: array[_Number], newest: _Number, most: int) -> array[_Number]:
    """A new array, since other threads read the old one, of the newest ``most`` numbers."""
    # `append` would reserve space for more.
    return kept[max(0, len(kept) + 1 - most) :] + array(kept.typecode, (newest,))

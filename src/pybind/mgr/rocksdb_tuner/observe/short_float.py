"""Numbers that are not negative, in 16 bits: for histories that are read with noise anyway. Pure.

A code stands for a logarithm, so the error is a share of the number: up to 0.05%.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Optional

#: Less is 0, more is the most: a millionth of a second or of a share, and 10 PB.
LEAST, MOST = 1e-6, 1e16
MAX_ERROR = 0.0005
_ZERO, UNKNOWN = 0, 0xFFFF
#: Codes between the two, and how many of them a factor of e takes.
_FIRST, _LAST = 1, UNKNOWN - 1
_ORIGIN = math.log(LEAST)
_SCALE = (_LAST - _FIRST) / (math.log(MOST) - _ORIGIN)
#: Rounds to the nearest code.
_OFFSET = _FIRST - _ORIGIN * _SCALE + 0.5


def encode(values: Iterable[Optional[float]]) -> array[int]:
    """None, NaN, infinity and what is negative are unknown."""
    # Without a call for each of the numbers that are usual
    return array(
        'H',
        [
            int(math.log(value) * _SCALE + _OFFSET)
            if value is not None and LEAST <= value <= MOST
            else _outside(value)
            for value in values
        ],
    )


def decode(code: int) -> Optional[float]:
    """The number of a code, with the digits that are known; None: unknown."""
    if code == UNKNOWN:
        return None
    return 0.0 if code == _ZERO else float(f'{math.exp(_ORIGIN + (code - _FIRST) / _SCALE):.5g}')


def _outside(value: Optional[float]) -> int:
    # Not a number is not within, either.
    if value is None or not 0 <= value < math.inf:
        return UNKNOWN
    return _ZERO if value < LEAST else _LAST

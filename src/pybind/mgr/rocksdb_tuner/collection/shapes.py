"""Validates the shape of JSON documents, with readable errors. Pure.

A shape is a type or a tuple of types, a list with the shape of all its items, or a mapping of names
to shapes. A name that ends in "?" is optional and may be null; additional names are ignored. `Each`
is an object with arbitrary names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Shape = Union[type, tuple[type, ...], list['Shape'], dict[str, 'Shape'], 'Each']

NUMBER = (int, float)
#: Ceph's counters have 64 bits.
_LARGEST = 1 << 64

_NAMES = {
    dict: 'an object',
    list: 'a list',
    str: 'a string',
    int: 'a whole number',
    float: 'a number',
    bool: 'true or false',
    type(None): 'null',
}


@dataclass(frozen=True)
class Each:
    """An object with values of this shape."""

    shape: Shape


class ShapeError(Exception):
    """The document has the wrong shape; the message has the place and the expected shape."""


def require(value: object, shape: Shape, where: str = '') -> None:
    """Raise ShapeError unless ``value`` has ``shape``."""
    if isinstance(shape, Each):
        _require_type(value, (dict,), where)
        assert isinstance(value, dict)
        for name, item in value.items():
            require(item, shape.shape, f'{where}.{name}' if where else name)
    elif isinstance(shape, list):
        _require_type(value, (list,), where)
        assert isinstance(value, list)
        for index, item in enumerate(value):
            require(item, shape[0], f'{where}[{index}]')
    elif isinstance(shape, dict):
        _require_type(value, (dict,), where)
        assert isinstance(value, dict)
        for key, inner in shape.items():
            name = key.rstrip('?')
            place = f'{where}.{name}' if where else name
            if value.get(name) is None and key.endswith('?'):
                continue
            if name not in value:
                raise ShapeError(f'"{place}" is missing')
            require(value[name], inner, place)
    else:
        _require_type(value, shape if isinstance(shape, tuple) else (shape,), where)


def _require_type(value: object, types: tuple[type, ...], where: str) -> None:
    # In Python, bool is a subclass of int.
    fits = isinstance(value, types) and (not isinstance(value, bool) or bool in types)
    if fits and (not isinstance(value, (int, float)) or abs(value) <= _LARGEST):
        return
    wanted = ' or '.join(_NAMES[t] for t in types if not (t is int and float in types))
    found = _NAMES.get(type(value), type(value).__name__)
    place = f'"{where}"' if where else 'the document'
    if fits:
        raise ShapeError(f'{place} is not a number that Ceph prints')
    raise ShapeError(f'{place} is {found} and should be {wanted}')

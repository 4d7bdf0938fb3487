"""Option strings: split, format, combine, and compare by meaning.

`syntax` handles the text itself; here two texts are compared using the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Mapping, Optional

from ..notes import Named
from .catalogue import UnknownRocksDBVersionError, catalogue
from .effective import effective, pieces
from .syntax import OptionSet, OptionSyntaxError, combine, format, in_force, parse  # noqa: A004
from .values import ValueRefusedError, read_value

__all__ = [
    'OptionDifference',
    'OptionSet',
    'OptionSyntaxError',
    'combine',
    'diff',
    'difference',
    'format',
    'in_force',
    'normalize',
    'parse',
    'same_meaning',
]


@dataclass(frozen=True)
class OptionDifference:
    """An option that differs."""

    option: Annotated[str, 'Name of a RocksDB option.']
    value_from: Annotated[Optional[str], Named('from'), 'Value before; null: not set.']
    value_to: Annotated[Optional[str], Named('to'), 'Value after; null: not set.']


def normalize(option_set: OptionSet) -> OptionSet:
    """The same set with canonical values and sorted names: ``2MB`` is ``2097152``.

    Values that would be refused, and values of options that are not in the catalog, are kept.
    Nothing is clamped: see `effective` for that.
    """
    return OptionSet(
        tuple(sorted((name, _normalized(name, value)) for name, value in option_set.items))
    )


def _normalized(name: str, value: str) -> str:
    info = catalogue().options.get(name)
    if info is None:
        return value
    try:
        return read_value(value, info.value_type, tuple(c.name for c in info.choices)).text
    except ValueRefusedError:
        return value


def diff(a: OptionSet, b: OptionSet) -> tuple[OptionDifference, ...]:
    """Changes from ``a`` to ``b``, by name; values as written.

    Two spellings of one value are no difference.
    """
    plain_a, plain_b = normalize(a).as_dict(), normalize(b).as_dict()
    return tuple(
        OptionDifference(name, a.get(name), b.get(name))
        for name in sorted({*plain_a, *plain_b})
        if plain_a.get(name) != plain_b.get(name)
    )


def difference(before: str, after: str) -> Optional[tuple[OptionDifference, ...]]:
    """The differences between two option strings; None if one cannot be parsed."""
    try:
        return diff(parse(before), parse(after))
    except OptionSyntaxError:
        return None


# A rollout compares the same two strings for every OSD at every tick.
@lru_cache(maxsize=256)
def same_meaning(a: str, b: str, rocksdb_version: Optional[str]) -> bool:
    """Whether a daemon of this version behaves the same with both texts. Never raises.

    Order, whitespace, separators, units and explicit defaults do not matter. Without a version, or
    with an unknown one, only the written values are compared. A text that a daemon would refuse
    equals only an identical one.
    """
    if a == b:
        return True
    plain_a, plain_b = _plain(a), _plain(b)
    if plain_a is None or plain_b is None:
        return False
    if plain_a == plain_b:
        return True
    if rocksdb_version is None:
        return False
    try:
        return _meaning(a, rocksdb_version) == _meaning(b, rocksdb_version)
    except (ValueRefusedError, UnknownRocksDBVersionError):
        return False


# One string is compared with many.
@lru_cache(maxsize=512)
def _plain(text: str) -> Optional[OptionSet]:
    try:
        return normalize(parse(text))
    except OptionSyntaxError:
        return None


@lru_cache(maxsize=512)
def _meaning(text: str, rocksdb_version: str) -> tuple[Mapping[str, str], OptionSet]:
    """The effective values, and the part of the set that they do not cover."""
    option_set = parse(text)
    values = effective(option_set, rocksdb_version)
    known = catalogue()
    for version in known.versions_for(rocksdb_version):
        for piece in pieces(option_set, version):
            # Values that prevent opening the database, even of options without effect.
            if piece.refusal is not None and piece.facts is not None:
                raise piece.refusal
    rest = tuple(
        (name, value)
        for name, value in normalize(option_set).items
        if name not in values and not known.is_without_effect(name, rocksdb_version)
    )
    return values, OptionSet(rest)

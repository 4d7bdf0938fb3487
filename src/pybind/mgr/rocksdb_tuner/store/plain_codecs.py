"""Codecs of plain types. Stored data is never trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import (
    Any,
    Callable,
    NamedTuple,
    NoReturn,
    Optional,
    Union,
    cast,
    get_args,
)

from ..kinds import Form, Kind, Only

#: Shorter texts take little more space than a number.
_TABLE_FROM_CHARS = 8
#: Ceph's counters have 64 bits.
_LARGEST = 1 << 64


class Table:
    """Deduplicated texts, referenced by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))


class Source(NamedTuple):
    """Decoding context of a document."""

    texts: Sequence[str]
    #: Refuse unknown field names.
    exact: bool


_Write = Callable[[Any, Optional[Table]], Any]


_Read = Callable[[Any, Source], Any]


class Codec(NamedTuple):
    write: _Write
    read: _Read


class MisfitError(Exception):
    """A value that does not match its type; its path is built from the inside out."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = ''

    def within(self, step: str) -> MisfitError:
        self.place = f'{step}{"." if self.place and self.place[0] != "[" else ""}{self.place}'
        return self


def wrong(found: object, wanted: str) -> NoReturn:
    try:
        shown = json.dumps(found)
    except (TypeError, ValueError, RecursionError):
        shown = type(found).__name__
    shown = shown if len(shown) <= 60 else f'{shown[:60]}...'
    raise MisfitError(f'is {shown} instead of {wanted}')


def read_only(read_any: _Read, only: Sequence[Only]) -> _Read:
    def read(value: Any, source: Source) -> Any:
        found = read_any(value, source)
        for note in only:
            if not note.holds(found):
                wrong(value, note.wanted)
        return found

    return read


def _write_text(value: str, table: Optional[Table]) -> Union[str, int]:
    if table is None or len(value) < _TABLE_FROM_CHARS:
        return value
    return table.number(value)


def _read_text(value: Any, source: Source) -> str:
    if type(value) is str:
        return value
    if type(value) is not int or not source.texts:
        wrong(value, 'a string')
    if not 0 <= value < len(source.texts):
        wrong(value, f'one of {len(source.texts)} stored strings')
    return source.texts[value]


def _read_count(value: Any, _: Source) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        wrong(value, 'a non-negative integer')
    return value


def _read_signed(value: Any, _: Source) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        wrong(value, 'an integer')
    return value


def _read_number(value: Any, _: Source) -> float:
    kind = type(value)
    if kind is float and math.isfinite(value):
        return cast('float', value)
    if kind is int and abs(value) <= _LARGEST:
        return float(value)
    wrong(value, 'a number')


def _read_flag(value: Any, _: Source) -> bool:
    if type(value) is not bool:
        wrong(value, 'true or false')
    return value


def _as_it_is(value: Any, _: Optional[Table]) -> Any:
    return value


PLAIN: Mapping[Form, Codec] = {
    Form.TEXT: Codec(_write_text, _read_text),
    Form.WHOLE: Codec(_as_it_is, _read_count),
    Form.NUMBER: Codec(_as_it_is, _read_number),
    Form.FLAG: Codec(_as_it_is, _read_flag),
}
#: Of whole numbers that may be negative.
SIGNED = Codec(_as_it_is, _read_signed)


def literal(kind: Kind) -> Codec:
    values = get_args(kind.hint)

    def read(value: Any, _: Source) -> Any:
        # In Python, True == 1.
        for known in values:
            if type(known) is type(value) and known == value:
                return known
        wrong(value, 'one of ' + ', '.join(map(str, values)))

    return Codec(_as_it_is, read)


def enum(kind: Kind) -> Codec:
    members = {member.value: member for member in kind.hint}
    known = ', '.join(str(value) for value in members)

    def read(value: Any, source: Source) -> Any:
        if type(value) is int and source.texts:
            value = _read_text(value, source)
        member = members.get(value) if isinstance(value, (str, int)) else None
        if member is None:
            wrong(value, f'one of {known}')
        return member

    return Codec(lambda member, _: member.value, read)


def read_list(value: Any) -> list[Any]:
    if type(value) is not list:
        wrong(value, 'a list')
    return value


def read_each(values: list[Any], read: _Read, source: Source) -> list[Any]:
    found: list[Any] = []
    try:
        for value in values:
            found.append(read(value, source))  # noqa: PERF401 - its length is the failing index
    except MisfitError as misfit:
        raise misfit.within(f'[{len(found)}]') from None
    return found

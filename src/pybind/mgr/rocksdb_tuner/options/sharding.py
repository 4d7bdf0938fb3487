"""`bluestore_rocksdb_cfs`: BlueStore's sharding into column families.

The grammar is that of RocksDBStore::parse_sharding_def() (src/kv/RocksDBStore.cc), which parses
numbers with strtol() and is therefore lenient: it accepts blanks before a number, and anything
after the ")". Whether an OSD can be created with a text was measured on 16.2.15, 18.2.7 and 20.2.4
(`tests/options/data/osd_mkfs.json`). An OSD reads it once, at creation; later only
`ceph-bluestore-tool reshard` changes its column families.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .catalogue import catalogue
from .problems import Problem, problem
from .reading import read_option
from .syntax import OptionSet, OptionSyntaxError, parse
from .values import ValueNotJudgedError, ValueRefusedError, ValueType, read_value

#: Ceph's own, besides RocksDB's options of a column family.
BLOCK_CACHE = 'block_cache'
_CACHE_TYPES = frozenset({'lru', 'binned_lru', 'clock'})
_DEFAULT = 'default'
_NUMBER = re.compile(r'[ \t\n\v\f\r]*([+-]?)0*(\d+)', re.ASCII)
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_LONG_DIGITS = 20
_UINT32_SPAN = 1 << 32
_UINT32_MAX = _UINT32_SPAN - 1


class ShardingSyntaxError(ValueError):
    """A definition that Ceph cannot parse; ``position``: in characters from 0."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(
            f'at character {position}, {text[position : position + 20]!r}: expected {expected}, as '
            'in "m(3) p(3,0-12) L=min_write_buffer_number_to_merge=32"'
        )
        self.position = position


@dataclass(frozen=True)
class ShardedColumn:
    """One key prefix, with its number of column families."""

    name: str
    shards: int
    #: Range of key characters that are hashed; the end is excluded.
    hash_low: int = 0
    hash_high: int = _UINT32_MAX
    #: Verbatim: RocksDB options, and Ceph's block_cache.
    options: str = ''

    @property
    def families(self) -> tuple[str, ...]:
        """The names of its column families."""
        if self.shards == 1:
            return (self.name,)
        return tuple(f'{self.name}-{number}' for number in range(self.shards))


def parse_sharding(text: str) -> tuple[ShardedColumn, ...]:
    """Parse a definition like Ceph; `sharding_problems` checks whether a database opens with it.

    Raises ShardingSyntaxError if Ceph cannot parse it.
    """
    return tuple(_columns(text))


def _columns(text: str) -> Iterator[ShardedColumn]:
    start = 0
    while start < len(text):
        blank = text.find(' ', start)
        end = len(text) if blank < 0 else blank
        definition, _, options = text[start:end].partition('=')
        name, bracket, _ = definition.partition('(')
        if bracket:
            yield _sharded(text, name, start + len(name) + 1, options)
        else:
            yield ShardedColumn(name, 1, options=options)
        start = end + 1


def _sharded(text: str, name: str, position: int, options: str) -> ShardedColumn:
    # strtol() reads the whole text, not only this piece.
    shards, position = _number(text, position)
    low, high = 0, _UINT32_MAX
    if text.startswith(',', position):
        low, position = _number(text, position + 1)
        if not text.startswith('-', position):
            raise ShardingSyntaxError(text, position, '"-"')
        position += 1
        if _NUMBER.match(text, position):
            high, position = _number(text, position)
    if not text.startswith(')', position):
        raise ShardingSyntaxError(text, position, '")"')
    return ShardedColumn(name, shards, low % _UINT32_SPAN, high % _UINT32_SPAN, options)


def _number(text: str, position: int) -> tuple[int, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        raise ShardingSyntaxError(text, position, 'a whole number')
    # strtol() clamps to the range of a long.
    digits = match[2] if len(match[2]) <= _LONG_DIGITS else '9' * _LONG_DIGITS
    return min(max(int(match[1] + digits), _LONG_MIN), _LONG_MAX), match.end()


def format_sharding(columns: Iterable[ShardedColumn]) -> str:
    """The canonical text: ``parse_sharding(format_sharding(c)) == c`` for parsed columns."""
    return ' '.join(_formatted(column) for column in columns)


def _formatted(column: ShardedColumn) -> str:
    text = column.name
    if (column.hash_low, column.hash_high) != (0, _UINT32_MAX):
        high = '' if column.hash_high == _UINT32_MAX else str(column.hash_high)
        text += f'({column.shards},{column.hash_low}-{high})'
    elif column.shards != 1 or not column.name:
        text += f'({column.shards})'
    return f'{text}={column.options}' if column.options else text


def sharding_problems(text: str, version: str) -> tuple[Problem, ...]:
    """Problems that prevent creating an OSD with this text, for a measured RocksDB version."""
    try:
        columns = parse_sharding(text)
    except ShardingSyntaxError as error:
        return (problem('syntax', None, f'Ceph refuses the column families: {error}'),)
    return tuple(_problems(columns, version))


def _problems(columns: Iterable[ShardedColumn], version: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for column in columns:
        if column.shards < 0:
            yield _refused(column, 'a negative number of shards')
            continue
        if column.shards and column.hash_low >= column.hash_high:
            yield _refused(column, 'the range of the hash is empty')
        # One name represents all families of a column: there can be millions.
        name = column.name if column.shards == 1 else f'{column.name}-'
        if column.shards and (name in seen or name == _DEFAULT):
            yield _refused(column, 'its column families exist already')
        seen.add(name)
        yield from _options_problems(column, version)


def _refused(column: ShardedColumn, why: str) -> Problem:
    return problem(
        'refused-combination', None, f'Column {column.name!r}: {why}; the OSD would not be created'
    )


def _options_problems(column: ShardedColumn, version: str) -> Iterator[Problem]:
    try:
        options = parse(column.options)
    except OptionSyntaxError as error:
        yield problem('syntax', None, f'Column {column.name!r}: Ceph refuses its options: {error}')
        return
    for name, value in options:
        place = f'Column {column.name!r}, {name}'
        if name == BLOCK_CACHE:
            yield from _cache_problems(value, place)
            continue
        info = catalogue().options.get(name)
        if info is None or version not in info.versions or info.scope != 'cf':
            yield problem('unknown-option', name, f'{place}: not an option of a column family')
            continue
        if not info.versions[version].value_read:
            continue
        try:
            reading = read_option(info, value, version)
        except ValueNotJudgedError as unknown:
            yield problem('not-judged', name, f'{place}: {unknown}')
            continue
        except ValueRefusedError as refusal:
            yield problem('refused-value', name, f'{place}: {refusal}')
            continue
        choice = info.choice(reading.text)
        if choice is not None and not choice.starts:
            yield problem('not-usable', name, f'{place}: the database does not open with {value}')


def _cache_problems(value: str, place: str) -> Iterator[Problem]:
    try:
        members = parse(value)
    except OptionSyntaxError as error:
        yield problem('syntax', BLOCK_CACHE, f'{place}: {error}')
        return
    readers = {'size': ValueType.CEPH_COUNT, 'high_ratio': ValueType.DOUBLE}
    for name, text in members:
        if name == 'type':
            if text not in _CACHE_TYPES:
                known = ', '.join(sorted(_CACHE_TYPES))
                yield problem('refused-value', BLOCK_CACHE, f'{place}: type is one of {known}')
        elif name in readers:
            try:
                read_value(text, readers[name])
            except ValueRefusedError as refusal:
                yield problem('refused-value', BLOCK_CACHE, f'{place}: {name}: {refusal}')
        else:
            yield problem('not-judged', BLOCK_CACHE, f'{place}: {name} cannot be validated')


def options_of_column(column: ShardedColumn) -> OptionSet:
    """RocksDB's own options of a column, without Ceph's block_cache; raises OptionSyntaxError."""
    return OptionSet(tuple(i for i in parse(column.options).items if i[0] != BLOCK_CACHE))

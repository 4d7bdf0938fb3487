"""Parser and formatter of option strings, with exactly Ceph's syntax.

Ceph uses a copy of RocksDB's ``StringToMap`` that accepts ``,`` as well as ``;`` as a separator.
These rules were measured on the binary of 16.2.15 (`tests/options/data`). They differ from
``get_str_map`` of newer sources:

- a newline is **not** a separator but whitespace, and stays part of a value;
- one separator may end the string; a leading separator, or two in a row, is an error, since the
  second one becomes part of the next name;
- of a repeated name, the last value wins;
- ``{...}`` around a value protects separators in it, and RocksDB strips the braces. For Ceph's own
  four keys, the braces are part of the value.

`bluestore_rocksdb_cfs`, BlueStore's sharding into column families: the grammar is that of
RocksDBStore::parse_sharding_def() (src/kv/RocksDBStore.cc), which parses numbers with strtol() and
is therefore lenient: it accepts blanks before a number, and anything after the ")". An OSD reads it
once, at creation; later only `ceph-bluestore-tool reshard` changes its column families.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Iterable, Iterator, Mapping, Optional

from ..notes import Count, Named

#: Whitespace by C's isspace(); Python's str.strip() strips more.
BLANKS = ' \t\n\v\f\r'
SEPARATORS = ',;'
#: Keys that Ceph interprets if RocksDB does not know the name (RocksDBStore::tryInterpret).
CEPH_KEYS = frozenset({'compaction_threads', 'flusher_threads', 'compact_on_mount', 'disableWAL'})

_PIECE_SHOWN_CHARS = 60


class OptionSyntaxError(ValueError):
    """An option string that Ceph cannot parse.

    ``piece``: the invalid part, at ``position`` (in characters from 0); ``problem``: its error;
    ``expected``: valid syntax.
    """

    def __init__(self, piece: str, position: int, problem: str, expected: str) -> None:
        shown = piece if len(piece) <= _PIECE_SHOWN_CHARS else piece[:_PIECE_SHOWN_CHARS] + '...'
        super().__init__(f'at character {position}, {shown!r}: {problem}; expected {expected}')
        self.piece = piece
        self.position = position
        self.problem = problem
        self.expected = expected


@dataclass(frozen=True)
class OptionSet:
    """Names and values of an option string: each name once, in order of first occurrence."""

    #: (name, value); the value is the one that wins.
    items: tuple[tuple[str, str], ...]
    #: (name, value) pairs overridden by later values of the same name, in order. Without effect, so
    #: not part of equality.
    overridden: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    _values: Mapping[str, str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, '_values', dict(self.items))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str) -> Optional[str]:
        """The effective value of this name; None if the name does not occur."""
        return self._values.get(name)

    def as_dict(self) -> dict[str, str]:
        return dict(self.items)

    @staticmethod
    def of(pairs: Iterable[tuple[str, str]]) -> OptionSet:
        """An option set of these pairs; the last value of a name wins."""
        winners: dict[str, str] = {}
        overridden = []
        for name, value in pairs:
            if name in winners:
                overridden.append((name, winners[name]))
            winners[name] = value
        return OptionSet(tuple(winners.items()), tuple(overridden))

    def replaced(self, changes: Mapping[str, Optional[str]]) -> OptionSet:
        """This set with ``changes``; None removes an option."""
        merged: dict[str, Optional[str]] = {**self.as_dict(), **changes}
        return OptionSet(tuple((n, v) for n, v in merged.items() if v is not None))


def parse(text: str) -> OptionSet:
    """Parse an option string like Ceph; values are not checked.

    The empty string is an empty set: RocksDB's own defaults, not Ceph's.
    Raises `OptionSyntaxError` if Ceph would refuse the string.
    """
    if not text:
        return OptionSet(())
    return OptionSet.of(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    end = len(text.rstrip(BLANKS))
    position = _skip_blanks(text, 0, end)
    if position >= end:
        # Ceph refuses a string of whitespace; only an empty string is an empty set.
        raise OptionSyntaxError(text, 0, 'only whitespace', 'name=value, or an empty string')
    while position < end:
        equals = text.find('=', position, end)
        if equals < 0:
            piece = text[position:end].strip(BLANKS)
            extra = not piece.strip(SEPARATORS + BLANKS)
            problem = 'an extra separator' if extra else 'no "=" in this piece'
            raise OptionSyntaxError(piece, _skip_blanks(text, position, end), problem, 'name=value')
        name = text[position:equals].strip(BLANKS)
        if not name:
            raise OptionSyntaxError(
                text[position:end].strip(BLANKS), position, 'no name before "="', 'name=value'
            )
        if any(separator in name for separator in SEPARATORS):
            raise OptionSyntaxError(
                name,
                _skip_blanks(text, position, end),
                'no "=" in this piece, or an extra separator',
                'name=value pieces with one "," or ";" between them',
            )
        (value, braced), position = _value(text, equals + 1, end)
        yield name, f'{{{value}}}' if braced and name in CEPH_KEYS else value


def _value(text: str, start: int, end: int) -> tuple[tuple[str, bool], int]:
    """The value at ``start``, whether it was in braces, and the position of the next piece."""
    start = _skip_blanks(text, start, end)
    if start < end and text[start] == '{':
        return _braced_value(text, start, end)
    stop = min(
        (at for at in (text.find(separator, start, end) for separator in SEPARATORS) if at >= 0),
        default=end,
    )
    return (text[start:stop].strip(BLANKS), False), stop + 1


def _braced_value(text: str, start: int, end: int) -> tuple[tuple[str, bool], int]:
    depth = 0
    for position in range(start, end):
        depth += {'{': 1, '}': -1}.get(text[position], 0)
        if depth == 0:
            break
    else:
        raise OptionSyntaxError(text[start:end], start, 'unclosed "{"', '{...}')
    after = _skip_blanks(text, position + 1, end)
    if after < end and text[after] not in SEPARATORS:
        raise OptionSyntaxError(
            text[after:end], after, 'text after the closing "}"', '",", ";" or the end'
        )
    begin = start + 1
    inner = text[begin:position]
    # RocksDB's trim() keeps the last character of a value of only whitespace.
    return (inner.strip(BLANKS) or inner[-1:], True), after + 1


def _skip_blanks(text: str, position: int, end: int) -> int:
    while position < end and text[position] in BLANKS:
        position += 1
    return position


def format(option_set: OptionSet) -> str:  # noqa: A001 - the counterpart of parse()
    """The canonical text of an option set: ``name=value`` with commas, each name once.

    ``parse(format(s)) == s`` for every set that `parse` returns.
    """
    return ','.join(f'{name}={_protected(name, value)}' for name, value in option_set.items)


def _protected(name: str, value: str) -> str:
    if name in CEPH_KEYS:
        return value
    needs_braces = value.startswith('{') or any(mark in value for mark in SEPARATORS)
    return f'{{{value}}}' if needs_braces else value


def combine(main: str, annex: str) -> str:
    """The text that an OSD parses: ``bluestore_rocksdb_options`` with its annex appended.

    Ceph inserts a comma unless ``main`` ends with one. A comma at the start of ``annex``, or a ";"
    or whitespace at the end of ``main``, makes the string invalid (measured on 16.2.15 by creating
    an OSD), and is kept.
    """
    if not annex:
        return main
    between = '' if not main or main.endswith(',') else ','
    return f'{main}{between}{annex}'


def in_force(main: str, annex: str) -> str:
    """Like `combine`, but without options of ``main`` that the annex overrides.

    Overriding them is its purpose, not a duplicate. Invalid and ambiguous texts are not changed.
    """
    whole = combine(main, annex)
    if not annex or '{' in whole:
        return whole
    try:
        parse(whole)
        of_main, of_annex = parse(main), parse(annex)
    except OptionSyntaxError:
        return whole
    kept = tuple((name, value) for name, value in of_main if name not in of_annex)
    if of_main.overridden or len(kept) == len(of_main):
        return whole
    return combine(format(OptionSet(kept)), annex)


def unwrapped(option_set: OptionSet) -> tuple[tuple[str, str], ...]:
    """Names and values as RocksDB parses them from version 7: without braces around a piece.

    For the piece ``{write_buffer_size=4M}`` Ceph uses the name "{write_buffer_size". A name can
    therefore occur twice for RocksDB, and it is unknown which one wins.
    """
    if not any(name.startswith('{') for name, _ in option_set):
        return option_set.items
    return tuple(_without_outer_braces(name, value) for name, value in option_set)


def _without_outer_braces(name: str, value: str) -> tuple[str, str]:
    if not name.startswith('{'):
        return name, value
    split = split_piece(without_braces(f'{name}={value}')[0])
    if split is None or split[0] in CEPH_KEYS:
        # Ceph matches its own keys against the name with the brace.
        return name, value
    return split


def without_braces(text: str) -> tuple[str, str]:
    """Without all outer braces, but "{}" is kept; and the same before blanks were stripped."""
    inner, rest = text, text.strip(BLANKS)
    while len(rest) > 2 and rest[0] == '{' and rest[-1] == '}':
        inner = rest[1:-1]
        rest = inner.strip(BLANKS)
    return rest, inner


def split_piece(piece: str) -> Optional[tuple[str, str]]:
    """Name and value of a ``name=value`` piece as RocksDB splits it from version 7."""
    place = next((at for at, mark in enumerate(piece) if mark in '={};'), None)
    if place is None or piece[place] != '=' or not piece[:place].strip(BLANKS):
        return None
    try:
        (value, _), _ = _value(piece, place + 1, len(piece))
    except OptionSyntaxError:
        return None
    return piece[:place].strip(BLANKS), value


#: Ceph's own, besides RocksDB's options of a column family.
_BLOCK_CACHE = 'block_cache'
_NUMBER = re.compile(r'[ \t\n\v\f\r]*([+-]?)0*(\d+)', re.ASCII)
_LONG_DIGITS = 20
DEFAULT = 'default'
#: Ceph has no upper bound; nobody uses more.
MAX_SHARDS = 1024


class ShardingSyntaxError(ValueError):
    """A definition that Ceph cannot parse; ``position``: in characters from 0."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(
            f'at character {position}, {text[position : position + 20]!r}: expected {expected}, as '
            'in "m(3) p(3,0-12) L=min_write_buffer_number_to_merge=32"'
        )
        self.position = position


@dataclass(frozen=True)
class Column:
    """One column: the prefix of its keys, its shards, and its own RocksDB options."""

    name: Annotated[str, Named('column'), 'Name of the column; "default" for all other keys.']
    shards: Annotated[Count, 'Number of its column families.']
    options: OptionSet


def columns(text: str) -> tuple[Column, ...]:
    """The columns, "default" first, then in the order of the text.

    Raises ShardingSyntaxError if Ceph cannot parse it, OptionSyntaxError for the options of a
    column.
    """
    return (Column(DEFAULT, 1, OptionSet(())), *_columns(text))


def _columns(text: str) -> Iterator[Column]:
    start = 0
    while start < len(text):
        blank = text.find(' ', start)
        end = len(text) if blank < 0 else blank
        definition, _, options = text[start:end].partition('=')
        name, bracket, _ = definition.partition('(')
        shards = _shards(text, start + len(name) + 1) if bracket else 1
        if not name or not 1 <= shards <= MAX_SHARDS:
            raise ShardingSyntaxError(text, start, f'a name and 1 to {MAX_SHARDS} shards')
        own = tuple(item for item in parse(options).items if item[0] != _BLOCK_CACHE)
        yield Column(name, shards, OptionSet(own))
        start = end + 1


def _shards(text: str, position: int) -> int:
    """The number at ``position``, before the range of key characters that are hashed."""
    # strtol() reads the whole text, not only this piece.
    shards, position = _number(text, position)
    if text.startswith(',', position):
        _, position = _number(text, position + 1)
        if not text.startswith('-', position):
            raise ShardingSyntaxError(text, position, '"-"')
        position += 1
        if _NUMBER.match(text, position):
            _, position = _number(text, position)
    if not text.startswith(')', position):
        raise ShardingSyntaxError(text, position, '")"')
    return shards


def _number(text: str, position: int) -> tuple[int, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        raise ShardingSyntaxError(text, position, 'a whole number')
    # strtol() clamps to the range of a long; Python refuses thousands of digits.
    return int(match[1] + match[2][:_LONG_DIGITS]), match.end()

"""Layout of plain text for terminals: tables, paragraphs, commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any, Generic, Literal, Optional, TypeVar, Union

from prettytable import PrettyTable

from ..units import (
    UNKNOWN,
    format_bytes,
    format_bytes_rate,
    format_count,
    format_count_rate,
    format_duration,
    format_ids,
    format_ms,
    format_percent,
    format_ratio,
)

try:
    from wcwidth import wcswidth
except ImportError:
    # prettytable before 1.0, which older distributions ship, has its own function.
    from prettytable import _str_block_width as wcswidth  # type: ignore[attr-defined, no-redef]

#: The width of all output: that of a terminal, like most of Ceph's.
WIDTH = 80
#: The lines of a screen.
HEIGHT = 40
#: The rows of a table of OSDs.
ROWS = 20
_GAP = 2
#: The maximum length of an error, which is a sentence or a list of names.
_ERROR_MAX_CHARS = 4000
#: The minimum width of a column of text; titles are always whole.
_MIN_WIDTH = 12
#: How numbers are shown, by the end of the field's name, which has the unit; the first that fits.
_FORMATS = (
    (('_bytes_per_s',), format_bytes_rate),
    (('_per_s', '_iops'), format_count_rate),
    (('_amp', '_amplification', '_per_client_byte'), format_ratio),
    (('_busy', '_share', '_confidence', '_memory_target', '_ratio'), format_percent),
    (('_ms',), format_ms),
    (('_bytes', '_bytes_avg', '_bytes_per_write_op', '_bytes_per_day'), format_bytes),
    (('_percent',), lambda percent: f'{percent:.{"0f" if abs(percent) >= 10 else "2g"}}%'),
    (('_s',), format_duration),
)

Row = TypeVar('Row')


def value_at(record: Any, path: str) -> Any:
    """A field such as "signals.kv_sync_ms"; None if a record on the way is."""
    for name in path.split('.'):
        record = None if record is None else getattr(record, name)
    return record


def shown(record: Any, path: str) -> str:
    """A field in its unit, such as "0.73 ms" for "signals.kv_sync_ms"; "-" if it is unknown."""
    return in_unit(value_at(record, path), path.rpartition('.')[2])


def in_unit(value: object, name: str, unit: str = '') -> str:
    """The value of a field or a unit; ``unit``: printed after numbers whose name has no unit."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, (int, float)):
        known = (form(value) for ends, form in _FORMATS if f'_{name}'.endswith(ends))
        number = str(value) if isinstance(value, int) else format_count(value)
        return next(known, f'{number} {unit}'.rstrip())
    return UNKNOWN if value is None else str(value)


def filled(template: str, record: Any) -> str:
    """``template`` with fields of ``record`` in place of their names in braces."""
    return re.sub(r'\{([\w.]+)\}', lambda match: shown(record, match[1]), template)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: numbers are right-aligned, text is left-aligned; a cell of None is unknown.

    A cell is the name of a field, or made of the row. In a table that is too wide, columns are
    omitted, the highest ``omit`` first (0: never). If that does not suffice, texts are continued on
    the next line: nothing is cut.
    """

    title: str
    cell: Union[str, Callable[[Row], Union[str, int, None]]]
    align: Literal['l', 'r'] = 'l'
    omit: int = 0

    def text(self, row: Row) -> str:
        found = shown(row, self.cell) if isinstance(self.cell, str) else self.cell(row)
        return UNKNOWN if found is None else clean(str(found))


def table(
    columns: Sequence[Column[Row]],
    rows: Iterable[Row],
    indent: int = 0,
    limit: Optional[int] = None,
    rest: str = '--all',
) -> str:
    """A table like those of Ceph's own commands, at most ``WIDTH`` columns wide.

    Empty without rows; a line below it counts those beyond the ``limit``, which ``rest`` shows.
    """
    found = list(rows)
    cells = [[column.text(row) for column in columns] for row in found[:limit]]
    if not cells:
        return ''
    cells.insert(0, [column.title for column in columns])
    widths = [max(map(display_width, texts)) for texts in zip(*cells)]
    columns_shown = _fitted(columns, widths, indent)
    drawn = PrettyTable([cells[0][n] for n in columns_shown], border=False)
    drawn.left_padding_width, drawn.right_padding_width = 0, _GAP
    for n in columns_shown:
        drawn.align[cells[0][n]] = columns[n].align
    for row in cells[1:]:
        drawn.add_row(['\n'.join(_wrapped(row[n], widths[n])) for n in columns_shown])
    lines = [(' ' * indent + line).rstrip() for line in drawn.get_string().split('\n')]
    more = len(found) - len(cells) + 1
    return '\n'.join((*lines, f'... {more:,} more: {rest}') if more else lines)


def _fitted(columns: Sequence[Column[Any]], widths: list[int], indent: int) -> Sequence[int]:
    """The numbers of the columns that fit; if none may be omitted, the widest become narrower."""
    kept = list(range(len(columns)))

    def excess() -> int:
        return indent + sum(widths[n] for n in kept) + _GAP * (len(kept) - 1) - WIDTH

    while excess() > 0 and any(columns[n].omit for n in kept):
        kept.remove(max(kept, key=lambda n: columns[n].omit))
    for least in (_MIN_WIDTH, 1):
        wider = kept
        while wider and excess() > 0:
            wider = [n for n in kept if widths[n] > max(display_width(columns[n].title), least)]
            if wider:
                widths[max(wider, key=lambda n: widths[n])] -= 1
    return kept


def screen(text: str, flag: str = '--all') -> str:
    """``text``, or as much of it as fits one screen; ``flag`` shows the rest."""
    lines = text.split('\n')
    if len(lines) <= HEIGHT:
        return text
    end = HEIGHT - 1
    # Half a command does something else than the command.
    while lines[end - 1].endswith('\\'):
        end -= 1
    return '\n'.join((*lines[:end], f'... {len(lines) - end:,} more lines: {flag}'))


def paragraph(text: str, indent: int = 0, first: str = '') -> str:
    """Text wrapped over several lines, indented except for the label ``first``.

    The first line starts with ``first``, padded to the indent if shorter.
    """
    first = clean(first)
    width = max(1, WIDTH - max(indent, display_width(first)))
    lines = list(_wrapped(clean(text), width)) or ['']
    lines[0] = first + ' ' * (indent - display_width(first)) + lines[0]
    return '\n'.join([lines[0].rstrip(), *(' ' * indent + line for line in lines[1:])])


def fields(*pairs: tuple[str, Optional[str]], indent: int = 0) -> str:
    """Labels with values, one per line: "Mode:      recommend"; omitted without a value."""
    given = [(f'{" " * indent}{label}:', text) for label, text in pairs if text is not None]
    width = max((len(label) for label, _ in given), default=0) + 2
    return '\n'.join(paragraph(text, width, label) for label, text in given)


def joined(*parts: Optional[str], by: str = '\n') -> str:
    """The parts that are not empty."""
    return by.join(part for part in parts if part)


def sections(*parts: Optional[str]) -> str:
    """Parts separated by a blank line; empty ones are omitted."""
    return joined(*parts, by='\n\n')


def titled(title: str, text: str) -> str:
    """``text`` under a title; empty without text."""
    return f'{title}:\n{text}' if text else ''


def bullets(sentences: Iterable[str]) -> str:
    """One item per sentence."""
    return '\n'.join(paragraph(sentence, 4, '  - ') for sentence in sentences)


def shell_command(text: str) -> str:
    r"""A shell command, continued with "\" where it is too long; pasting it gives the original.

    The continued lines must not be indented: blanks would become part of an argument. A command
    with escapes, other quotes than single ones, or a comment stays one line.
    """
    if any(character in text for character in '"\\#'):
        return text
    lines: list[str] = []
    line = quote = ''
    for piece in re.split('(?<=[, ])', text):
        if display_width(line + piece) > WIDTH - 4:
            # In single quotes a backslash is an ordinary character: close them, then reopen.
            lines.append(f'{line}{quote}\\')
            line = quote
        line += piece
        if piece.count("'") % 2:
            quote = '' if quote else "'"
    return '\n'.join([*lines, line])


def clean(text: str) -> str:
    """One line without control characters."""
    return ''.join(
        character if character.isprintable() else ' ' if character.isspace() else '?'
        for character in text
    )


def shown_error(text: str) -> str:
    """An error for a terminal; it may quote arbitrary input."""
    text = ''.join(
        c if c.isprintable() or c == '\n' else c.encode('unicode_escape').decode() for c in text
    )
    if len(text) <= _ERROR_MAX_CHARS:
        return text
    # The problem is described after a long quotation, so the end is kept.
    half = _ERROR_MAX_CHARS // 2
    return f'{text[:half]}...{text[-half:]}'


def harmless(text: str) -> str:
    """Plain output that is safe for a terminal, even if a table missed a control character."""
    return '\n'.join(line if line.isprintable() else clean(line) for line in text.split('\n'))


def display_width(text: str) -> int:
    """The display width of a clean ``text``, as prettytable counts it."""
    return len(text) if text.isascii() else wcswidth(text)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` columns, broken at spaces, else after commas, else anywhere."""
    line = ''
    for word in text.split():
        longer = f'{line} {word}' if line else word
        if line and display_width(longer) > width:
            yield line
            longer = word
        line = longer
        while display_width(line) > width:
            # A character that is wider than the column gets its own line.
            end = min(len(line), width)
            while end > 1 and display_width(line[:end]) > width:
                end -= 1
            end = line.rfind(',', 0, end) + 1 or end
            yield line[:end]
            line = line[end:]
    if line:
        yield line


#: Words of names that are not written in lower case.
_WORDS = {'wal': 'WAL', 'db': 'DB', 'osd': 'OSD', 'osds': 'OSDs', 'rocksdb': 'RocksDB'}
#: Texts up to this length are cells of a table.
_CELL_CHARS = 40
#: Columns with longer names are omitted first.
_TITLE_CHARS = 20
_INTERVAL = {'low', 'value', 'high'}
_IDS = {'osds', 'controls'}
#: An empty one is RocksDB's own default, which is worth a line.
_OPTION_STRINGS = ('options', 'running', 'next_start')
EMPTY = '(empty)'
#: To be pasted into a shell, so never indented.
_COMMANDS = {'command', 'commands', 'undo_commands'}


def outline(found: Mapping[str, Any], names: Sequence[str] = (), indent: int = 0) -> str:
    """A JSON object by the names of its fields: ``names`` in this order, or all that are known."""
    found = {**found, **{name: EMPTY for name in _OPTION_STRINGS if found.get(name) == ''}}
    known = {name: found[name] for name in names or found if found[name] not in (None, '', [], {})}
    cells = {name: _cell(value, name) for name, value in known.items()}
    parts = (
        fields(*((_label(name), cell) for name, cell in cells.items()), indent=indent),
        *(
            titled(' ' * indent + _label(name), _below(known[name], name, indent + 2))
            for name, cell in cells.items()
            if cell is None
        ),
    )
    return joined(*parts) if indent else sections(*parts)


def _label(name: str) -> str:
    words = re.sub('(?<!_per)_(bytes|s|ms|percent)$', '', name).split('_')
    text = ' '.join(_WORDS.get(word, word) for word in words)
    return text[:1].upper() + text[1:]


def _cell(value: Any, name: str, *, narrow: bool = False) -> Optional[str]:
    """None for what takes lines of its own; ``narrow``: without an interval."""
    if name in _COMMANDS:
        return None
    if isinstance(value, Mapping):
        if value.keys() == {'type', 'name'}:
            return f'{value["type"]} {value["name"]}'
        if value.keys() != _INTERVAL:
            return None
        low, middle, high = (in_unit(value[end], name) for end in ('low', 'value', 'high'))
        return middle if narrow or low == middle == high else f'{middle} ({low} to {high})'
    if isinstance(value, list):
        if name in _IDS and all(isinstance(item, int) for item in value):
            return format_ids(value)
        several = any(isinstance(item, Mapping) or ' ' in str(item) for item in value)
        return None if several else ', '.join(in_unit(item, name) for item in value)
    return in_unit(value, name)


def _below(value: Any, name: str, indent: int) -> str:
    if name in _COMMANDS:
        return joined(*map(shell_command, [value] if isinstance(value, str) else value))
    if isinstance(value, Mapping):
        if not all(isinstance(one, Mapping) for one in value.values()):
            return outline(value, indent=indent)
        value = [{'name': name, **one} for name, one in value.items()]
    if not all(isinstance(one, Mapping) for one in value):
        return bullets(map(str, value))
    rows = [{name: _cell(item, name, narrow=True) for name, item in one.items()} for one in value]
    if any(cell is None or len(cell) > _CELL_CHARS for row in rows for cell in row.values()):
        return sections(*(outline(one, indent=indent) for one in value))
    columns: Sequence[Column[Any]] = [
        Column(
            _label(name).upper(),
            itemgetter(name),
            'l' if any(isinstance(one[name], (str, bool)) for one in value) else 'r',
            omit=number + 1 + len(value[0]) * (len(name) > _TITLE_CHARS),
        )
        for number, name in enumerate(value[0])
        if any(row[name] != UNKNOWN for row in rows)
    ]
    return table(columns, rows, indent, ROWS, '--format json-pretty')

"""Layout of plain text for terminals: tables, paragraphs, commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Optional, TypeVar, Union

from prettytable import PrettyTable

from ..units import UNKNOWN

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
_ELLIPSIS = '...'
#: The maximum length of an error, which is a sentence or a list of names.
_ERROR_MAX_CHARS = 4000
#: The minimum width of a column of text; titles are always whole.
_MIN_WIDTH = 12

Row = TypeVar('Row')


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: numbers are right-aligned, text is left-aligned; a cell of None is unknown.

    In a table that is too wide, columns are omitted, the highest ``omit`` first (0: never). If that
    does not suffice, texts are continued on the next line: nothing is cut.
    """

    title: str
    cell: Callable[[Row], Union[str, int, None]]
    align: Literal['l', 'r'] = 'l'
    omit: int = 0


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
    cells = [[_cell(column.cell(row)) for column in columns] for row in found[:limit]]
    if not cells:
        return ''
    widths = [
        max(display_width(text) for text in (column.title, *(row[number] for row in cells)))
        for number, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))
    while _excess(widths, shown, indent) > 0:
        number = max(shown, key=lambda n: columns[n].omit)
        if not columns[number].omit:
            break
        shown.remove(number)
    _narrow([column.title for column in columns], widths, shown, _excess(widths, shown, indent))
    drawn = PrettyTable([columns[number].title for number in shown], border=False)
    drawn.left_padding_width = 0
    drawn.right_padding_width = _GAP
    for number in shown:
        drawn.align[columns[number].title] = columns[number].align
    for row in cells:
        drawn.add_row(['\n'.join(_wrapped(row[n], widths[n])) for n in shown])
    lines = [(' ' * indent + line).rstrip() for line in drawn.get_string().split('\n')]
    more = len(found) - len(cells)
    return '\n'.join((*lines, f'... {more:,} more: {rest}') if more else lines)


def _cell(value: Union[str, int, None]) -> str:
    return UNKNOWN if value is None else clean(str(value))


def _excess(widths: Sequence[int], shown: Sequence[int], indent: int) -> int:
    return indent + sum(widths[n] for n in shown) + _GAP * (len(shown) - 1) - WIDTH


def _narrow(titles: Sequence[str], widths: list[int], shown: Sequence[int], excess: int) -> None:
    """Take ``excess`` from the widest of the ``shown`` columns; titles stay whole."""
    for least in (_MIN_WIDTH, 1):
        while excess > 0:
            wider = [n for n in shown if widths[n] > max(display_width(titles[n]), least)]
            if not wider:
                break
            widths[max(wider, key=lambda n: widths[n])] -= 1
            excess -= 1


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
    width = WIDTH - max(indent, display_width(first))
    lines = list(_wrapped(clean(text), width)) or ['']
    lead = first + ' ' * (indent - display_width(first))
    return '\n'.join(
        ((lead if number == 0 else ' ' * indent) + line).rstrip()
        for number, line in enumerate(lines)
    )


def fields(pairs: Iterable[tuple[str, Optional[str]]], indent: int = 0) -> str:
    """Labels with values, one per line: "Mode:      recommend"; omitted without a value."""
    shown = [(f'{" " * indent}{label}:', text) for label, text in pairs if text is not None]
    width = max((len(label) for label, _ in shown), default=0) + 2
    return '\n'.join(paragraph(text, width, label) for label, text in shown)


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
    return text[:half] + _ELLIPSIS + text[-half:]


def harmless(text: str) -> str:
    """Plain output that is safe for a terminal, even if a table missed a control character."""
    lines = text.split('\n')
    if all(line.isprintable() for line in lines):
        return text
    return '\n'.join(clean(line) for line in lines)


def display_width(text: str) -> int:
    """The display width of a clean ``text``, as prettytable counts it."""
    return len(text) if text.isascii() else wcswidth(text)


def _cut(text: str, width: int) -> str:
    """The longest prefix of ``text`` that fits ``width`` columns."""
    if text.isascii():
        return text[:width]
    end = 0
    while end < len(text) and display_width(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` columns, broken at spaces, else after commas, else anywhere."""
    line = ''
    for word in text.split():
        joined = f'{line} {word}' if line else word
        if display_width(joined) <= width:
            line = joined
            continue
        if line:
            yield line
        *full, line = _pieces(word, width)
        yield from full
    if line:
        yield line


def _pieces(word: str, width: int) -> list[str]:
    pieces = []
    while display_width(word) > width:
        # A character that is wider than the column gets its own line.
        fitting = _cut(word, width) or word[0]
        comma = fitting.rfind(',')
        piece = fitting[: comma + 1] if comma > 0 else fitting
        pieces.append(piece)
        word = word.removeprefix(piece)
    return [*pieces, word]

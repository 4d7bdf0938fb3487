"""Layout of plain text for terminals: tables, paragraphs, commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Optional

from prettytable import PrettyTable

from ..shell import control

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


@dataclass(frozen=True)
class Column:
    """A column: numbers are right-aligned, text is left-aligned.

    In a table that is too wide, columns are omitted, the highest ``omit`` first (0: never). If that
    does not suffice, texts are continued on the next line: nothing is cut.
    """

    title: str
    align: Literal['l', 'r'] = 'l'
    omit: int = 0


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], indent: int = 0) -> str:
    """A table like those of Ceph's own commands, at most ``WIDTH`` columns wide."""
    cells = [[clean(cell) for cell in row] for row in rows]
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
    _narrow(columns, widths, shown, _excess(widths, shown, indent))
    drawn = PrettyTable([columns[number].title for number in shown], border=False)
    drawn.left_padding_width = 0
    drawn.right_padding_width = _GAP
    for number in shown:
        drawn.align[columns[number].title] = columns[number].align
    for row in cells:
        drawn.add_row(['\n'.join(_wrapped(row[n], widths[n])) for n in shown])
    return '\n'.join((' ' * indent + line).rstrip() for line in drawn.get_string().split('\n'))


def _excess(widths: Sequence[int], shown: Sequence[int], indent: int) -> int:
    return indent + sum(widths[n] for n in shown) + _GAP * (len(shown) - 1) - WIDTH


def _narrow(
    columns: Sequence[Column], widths: list[int], shown: Sequence[int], excess: int
) -> None:
    """Take ``excess`` from the widest of the ``shown`` columns; titles stay whole."""
    titles = [display_width(column.title) for column in columns]
    for least in (_MIN_WIDTH, 1):
        while excess > 0:
            wider = [n for n in shown if widths[n] > max(titles[n], least)]
            if not wider:
                break
            widths[max(wider, key=lambda n: widths[n])] -= 1
            excess -= 1


def more(left_out: int, flag: str = '--all') -> str:
    """The line below a table that was limited; empty if nothing was left out."""
    return f'... {left_out:,} more: {flag}' if left_out > 0 else ''


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


def fields(pairs: Sequence[tuple[str, str]], indent: int = 0) -> str:
    """Labels with values, one per line: "Mode:      recommend"."""
    width = indent + max((len(label) for label, _ in pairs), default=0) + 3
    return '\n'.join(
        paragraph(text, indent=width, first=f'{" " * indent}{label}:') for label, text in pairs
    )


def shell_command(text: str) -> str:
    r"""A shell command, continued with "\" where it is too long; pasting it gives the original.

    The continued lines must not be indented: blanks would become part of an argument.
    """
    lines: list[str] = []
    line = ''
    # Where to break, and the quote in effect there: after the last comma of the line, if any.
    comma: Optional[tuple[int, str]] = None
    quote, comment = '', False
    for unit, quote_after in _shell_units(text):
        # A comment cannot be continued: its next line would be a command.
        comment = comment or (not quote and unit == '#' and line.endswith(' '))
        # An escaped control character is wider than any other.
        while not comment and display_width(line) + max(0, len(unit) - 2) > WIDTH - 4:
            end, quote_there = comma or (len(line), quote)
            # In single quotes a backslash is an ordinary character: close them, then reopen.
            leave, resume = ("'", "'") if quote_there == "'" else ('', '')
            lines.append(f'{line[:end]}{leave}\\')
            line = resume + line[end:]
            comma = None
        line += unit
        quote = quote_after
        if unit == ',':
            comma = len(line), quote
    return '\n'.join([*lines, line])


#: By the active quote; the first is a character as `shell.control` quotes it.
_UNITS = {
    '': re.compile(r"\$'(?:\\x[0-9a-f]{2}){1,4}'|\\.?|.", re.DOTALL),
    '"': re.compile(r'\\.?|.', re.DOTALL),
    "'": re.compile(r'.', re.DOTALL),
}


def _shell_units(text: str) -> Iterator[tuple[str, str]]:
    """Characters with the active quote after each; an escaped one keeps its backslash."""
    quote = ''
    position = 0
    while position < len(text):
        found = _UNITS[quote].match(text, position)
        assert found is not None, 'any character is a unit'
        unit, position = found.group(), found.end()
        if unit[0] == '\\' and quote != "'":
            unit = _escaped(unit[1:], quote)
        elif unit == quote:
            quote = ''
        elif not quote and unit in {"'", '"'}:
            quote = unit
        elif not unit.isprintable():
            unit = _quoted_control(unit, quote)
        yield unit, quote


def _escaped(character: str, quote: str) -> str:
    """A backslash with the next character, empty at the end of the text."""
    if character == '\n':
        # The shell joins the two lines.
        return ''
    if not character or character.isprintable():
        return '\\' + character
    # In double quotes the backslash stays: it only escapes characters that are special there.
    return ('\\\\' if quote else '') + _quoted_control(character, quote)


def _quoted_control(character: str, quote: str) -> str:
    """A control character within ``quote``."""
    return f'{quote}{control(character)}{quote}'


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

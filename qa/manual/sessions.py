"""Commands in the manual, with the output that it shows for them.

A session is a ``prompt`` with one command and a literal block behind it. What a command prints
differs from cluster to cluster, so figures are masked, and of most outputs only labels and column
headings are compared. What depends on nothing but the arguments is compared line by line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TOOL = ('ceph', 'rocksdb-tuner')
#: Marks lines omitted by the manual.
OMITTED = '...'
_PROMPT = re.compile(r'( *)\.\. prompt:: bash [#$]$')
_PLACEHOLDER = re.compile(r'<\w+>|\[')
_LABEL = re.compile(r'\s*([A-Z][^:]{0,50}):(?:\s|$)')
_FIGURE = re.compile(r'\d[\d.,]*')


@dataclass(frozen=True)
class Session:
    """A command of the manual."""

    page: str
    command: str
    #: As the manual shows it; None if it shows nothing.
    output: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.command))

    @property
    def is_of_the_module(self) -> bool:
        return self.words[:2] == TOOL

    @property
    def is_a_template(self) -> bool:
        """Whether the reader has to fill in something."""
        return _PLACEHOLDER.search(self.command) is not None


def section(text: str, heading: str) -> str:
    """What is under a heading of a page."""
    after = re.split(rf'\n{heading}\n=+\n', text)[1]
    return re.split(r'\n\S[^\n]*\n=+\n', after)[0]


def sessions(page: str, text: str) -> Iterator[Session]:
    """All commands of a page, in its order."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        prompt = _PROMPT.fullmatch(line)
        if prompt is None:
            continue
        indent = len(prompt[1])
        end, commands = _block(lines, at + 1, indent)
        if len(commands) == 1 and lines[end : end + 1] == [f'{prompt[1]}::']:
            _, output = _block(lines, end + 1, indent)
            yield Session(page, commands[0], tuple(output))
        else:
            yield from (Session(page, command) for command in commands)


def _block(lines: Sequence[str], start: int, indent: int) -> tuple[int, list[str]]:
    """Where the text behind a block begins, and the lines of the block, not indented."""
    end = start
    while end < len(lines) and (not lines[end] or lines[end].startswith(' ' * (indent + 1))):
        end += 1
    block = list(lines[start:end])
    while block and not block[0]:
        block.pop(0)
    while block and not block[-1]:
        block.pop()
    inner = min((len(line) - len(line.lstrip()) for line in block if line), default=0)
    return end, [line[inner:] for line in block]


def missing(shown: Sequence[str], printed: str) -> list[str]:
    """Labels and column headings that the manual shows and the command no longer prints."""
    found = set(_marks(printed.splitlines()))
    return [mark for mark in _marks(shown) if mark not in found]


def _marks(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        label = _LABEL.match(line)
        columns = line.split()
        if label:
            yield _FIGURE.sub('N', label[1])
        # With a figure as the first word it is a row of a table whose other cells have no letters.
        elif len(columns) > 1 and line.isupper() and not columns[0][0].isdigit():
            yield ' '.join(columns)


def unlike(shown: Sequence[str], printed: str) -> list[str]:
    """Lines of the manual that the command does not print in that order, ignoring figures.

    Lines after `OMITTED` may come later.
    """
    rest = [_masked(line) for line in printed.splitlines() if line.strip()]
    wrong: list[str] = []
    skips = False
    for line in shown:
        if line.strip() == OMITTED:
            skips = True
        elif line.strip():
            wanted = _masked(line)
            if wanted in rest and (skips or rest[0] == wanted):
                rest = rest[rest.index(wanted) + 1 :]
            else:
                wrong.append(line)
            skips = False
    return wrong


def _masked(line: str) -> str:
    return ' '.join(_FIGURE.sub('N', line).split())

"""Any text fits a terminal of 80 columns, and loses nothing that matters."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.present import layout
from rocksdb_tuner.present.layout import WIDTH, Column

from .samples import LZ4


def widest(text: str) -> int:
    return max(layout.display_width(line) for line in text.split('\n'))


def run_by_a_shell(command: str) -> list[str]:
    """The arguments that a POSIX shell makes of the text behind ``printf '%s\\0'``."""
    output = subprocess.run(
        ['/bin/bash', '-c', f"printf '%s\\0' {command}"], check=True, capture_output=True
    ).stdout
    return output.decode().split('\0')[:-1]


CELLS = st.text(max_size=200)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=5))
def test_a_table_of_any_cells_fits(rows: list[tuple[str, str, str, str]]) -> None:
    columns = (
        Column('FIXED', 'r'),
        Column('NAME', omit=1),
        Column('TEXT'),
        Column('OTHER'),
    )
    assert widest(layout.table(columns, rows)) <= WIDTH


def test_columns_are_omitted_before_anything_is_wrapped() -> None:
    columns = (Column('NAME'), Column('FIRST', omit=2), Column('SECOND', omit=1))
    rows = [('n' * 40, 'f' * 20, 's' * 20)]
    assert layout.table(columns, rows).split() == ['NAME', 'SECOND', 'n' * 40, 's' * 20]


def test_long_names_are_continued_not_cut() -> None:
    text = layout.table((Column('ID'), Column('NAME')), [('1', 'n' * 200)])
    assert text.count('n') == 200
    assert '...' not in text


def test_screen_counts_the_lines_that_do_not_fit() -> None:
    text = '\n'.join(map(str, range(100)))
    lines = layout.screen(text).split('\n')
    assert len(lines) == layout.HEIGHT
    assert lines[-1] == '... 61 more lines: --all'
    assert layout.screen('\n'.join(lines)) == '\n'.join(lines)


def test_screen_does_not_end_within_a_command() -> None:
    text = '\n'.join(['x'] * 36 + ['ceph config set \\'] * 9 + ['end'])
    assert layout.screen(text).split('\n')[-2:] == ['x', '... 10 more lines: --all']


def test_wrapped_cell_keeps_its_text() -> None:
    words = [f'word{number}' for number in range(60)]
    text = layout.table((Column('ID'), Column('TEXT')), [('1', ' '.join(words))])
    assert text.split()[3:] == words


def test_table_has_no_frame_and_no_trailing_blanks() -> None:
    text = layout.table((Column('ID', 'r'), Column('NAME')), [('7', 'x'), ('10', 'y')])
    assert text == 'ID  NAME\n 7  x\n10  y'


@given(st.text(max_size=400), st.integers(0, 40))
def test_a_paragraph_of_any_text_fits(text: str, indent: int) -> None:
    assert widest(layout.paragraph(text, indent)) <= WIDTH


def test_option_strings_are_wrapped_after_commas() -> None:
    lines = layout.paragraph(LZ4, 4).split('\n')
    assert len(lines) > 1
    assert all(line.endswith(',') for line in lines[:-1])
    assert ''.join(line.strip() for line in lines) == LZ4


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert layout.clean('a\x1b[31mb\nc\td\0') == 'a?[31mb c d?'


def test_wide_characters_count_twice() -> None:
    assert layout.display_width('ab') == 2
    assert layout.display_width('\u65e5\u672c') == 4


def test_short_command_is_unchanged() -> None:
    command = 'ceph config rm osd/class:ssd bluestore_rocksdb_options'
    assert layout.shell_command(command) == command


def test_long_command_is_wrapped_after_a_comma_with_the_same_meaning() -> None:
    command = f"ceph config set osd.0 bluestore_rocksdb_options '{LZ4}'"
    text = layout.shell_command(command)
    assert widest(text) <= WIDTH
    assert all(line.endswith(",'\\") for line in text.split('\n')[:-1])
    assert run_by_a_shell(text) == [
        'ceph', 'config', 'set', 'osd.0', 'bluestore_rocksdb_options', LZ4,
    ]  # fmt: skip


SHELL_TEXT = st.text(
    st.characters(min_codepoint=1, exclude_characters='\n', exclude_categories=['Cs']),
    max_size=300,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(SHELL_TEXT, min_size=1, max_size=3))
def test_any_quoted_command_survives_the_shell(arguments: list[str]) -> None:
    """Text pasted from the terminal keeps its meaning."""
    text = layout.shell_command(' '.join(shlex.quote(argument) for argument in arguments))
    assert widest(text) <= WIDTH
    assert all(line.isprintable() for line in text.split('\n'))
    assert run_by_a_shell(text) == arguments


@pytest.mark.parametrize(
    ('command', 'arguments'),
    [
        ('x\\\x1by', ['x\x1by']),
        ('"x\\\x1by"', ['x\\\x1by']),
        ('"x\\\ny" \\\n z', ['xy', 'z']),
        (f'"{"word" * 40}\\\x85{"word" * 40}"', [f'{"word" * 40}\\\x85{"word" * 40}']),
    ],
)
def test_escaped_control_characters_survive_the_shell(command: str, arguments: list[str]) -> None:
    """A raw one has no width, so that its line was never continued."""
    shown = layout.shell_command(command)
    assert widest(shown) <= WIDTH
    assert all(line.isprintable() for line in shown.split('\n'))
    assert run_by_a_shell(shown) == arguments


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from('ab,; "\\$`\'\x1b\x85'), max_size=300))
def test_double_quotes_and_escapes_survive_the_shell(text: str) -> None:
    quoted = '"' + ''.join('\\' + c if c in '"\\$`' else c for c in text) + '"'
    escaped = ''.join('\\' + c for c in text)
    shown = layout.shell_command(f'{quoted} x{escaped}')
    assert widest(shown) <= WIDTH
    assert run_by_a_shell(shown) == [text, f'x{text}']

"""Any text fits a terminal of 80 columns, and loses nothing that matters."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from operator import itemgetter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.present import layout
from rocksdb_tuner.present.layout import WIDTH, Column
from rocksdb_tuner.shell import quoted

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
Row = tuple[str, ...]


def columns(*titles: str, omit: Sequence[int] = (), right: int = -1) -> Sequence[Column[Row]]:
    """Columns of rows that are their cells."""
    return [
        Column(title, itemgetter(n), 'r' if n == right else 'l', omit[n] if n < len(omit) else 0)
        for n, title in enumerate(titles)
    ]


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=5))
def test_a_table_of_any_cells_fits(rows: list[Row]) -> None:
    shown = columns('FIXED', 'NAME', 'TEXT', 'OTHER', omit=(0, 1), right=0)
    assert widest(layout.table(shown, rows)) <= WIDTH


def test_columns_are_omitted_before_anything_is_wrapped() -> None:
    rows = [('n' * 40, 'f' * 20, 's' * 20)]
    shown = columns('NAME', 'FIRST', 'SECOND', omit=(0, 2, 1))
    assert layout.table(shown, rows).split() == ['NAME', 'SECOND', 'n' * 40, 's' * 20]


def test_long_names_are_continued_not_cut() -> None:
    text = layout.table(columns('ID', 'NAME'), [('1', 'n' * 200)])
    assert text.count('n') == 200
    assert '...' not in text


def test_rows_beyond_the_limit_are_counted() -> None:
    text = layout.table(columns('ID'), [(str(number),) for number in range(1500)], limit=2)
    assert text == 'ID\n0\n1\n... 1,498 more: --all'
    assert layout.table(columns('ID'), []) == ''


def test_only_fields_with_a_value_are_shown() -> None:
    assert layout.fields(('Mode', 'off'), ('Paused', None)) == 'Mode:  off'


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
    text = layout.table(columns('ID', 'TEXT'), [('1', ' '.join(words))])
    assert text.split()[3:] == words


def test_table_has_no_frame_and_no_trailing_blanks() -> None:
    text = layout.table(columns('ID', 'NAME', right=0), [('7', 'x'), ('10', 'y')])
    assert text == 'ID  NAME\n 7  x\n10  y'


@example('\u6f22\u6f22,b\u6f22\u6f22', 78)
@given(st.text(max_size=400), st.integers(0, 40))
def test_a_paragraph_of_any_text_fits(text: str, indent: int) -> None:
    assert widest(layout.paragraph(text, indent)) <= WIDTH


def test_label_wider_than_the_screen_leaves_room_for_the_text() -> None:
    text = layout.paragraph('Wait', 4, 'c' * 90)
    assert ''.join(text.split()) == 'c' * 90 + 'Wait'


def test_percentages_are_written_out() -> None:
    shown = [layout.in_unit(number, 'change_percent') for number in (0.04, 2.42, -99.6, 1337.0)]
    assert shown == ['0.04%', '2.4%', '-100%', '1337%']


def test_outline_shows_an_empty_option_string_and_no_other_empty_value() -> None:
    assert layout.outline({'options': '', 'annex': '', 'osds': []}) == 'Options:  (empty)'


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


def test_long_command_is_wrapped_with_the_same_meaning() -> None:
    command = f"ceph config set osd.0 bluestore_rocksdb_options '{LZ4}'"
    text = layout.shell_command(command)
    assert widest(text) <= WIDTH
    assert all(line.endswith((' \\', ",'\\")) for line in text.split('\n')[:-1])
    assert run_by_a_shell(text) == [
        'ceph', 'config', 'set', 'osd.0', 'bluestore_rocksdb_options', LZ4,
    ]  # fmt: skip


SHELL_TEXT = st.text(
    st.characters(min_codepoint=1, exclude_characters='\n', exclude_categories=['Cs'])
    | st.sampled_from('ab,; "\\$`\'\x1b\x85#'),
    max_size=300,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(SHELL_TEXT, min_size=1, max_size=3))
def test_any_quoted_command_survives_the_shell(arguments: list[str]) -> None:
    """Text pasted from the terminal keeps its meaning."""
    command = ' '.join(map(quoted, arguments))
    assert run_by_a_shell(layout.shell_command(command)) == arguments

"""The page of measurements is what the stored results give; no cluster."""

from __future__ import annotations

import measurements


def test_committed_page_is_current() -> None:
    """Run "make measurements" after a new measurement or an edit of its text."""
    assert measurements.PAGE.read_text(encoding='utf-8') == measurements.page()


def test_every_result_is_shown() -> None:
    """A result without a table would never be read."""
    assert measurements.results_without_table() == []


def test_every_table_is_placed_once() -> None:
    """A table that the text does not name would be lost."""
    text = (measurements.BENCH / 'measurements.rst.in').read_text(encoding='utf-8').splitlines()
    placed = sorted(line[1:] for line in text if line.startswith('@'))
    assert placed == sorted(measurements.TABLES)


def test_columns_fit_their_cells_and_gaps_are_shown() -> None:
    """reStructuredText takes an empty first cell for a continued row."""
    assert measurements.table(('a', 'b'), [('', 'long'), (None, 2)]).splitlines() == [
        '=  ====',
        'a  b',
        '=  ====',
        '-  long',
        '-  2',
        '=  ====',
    ]

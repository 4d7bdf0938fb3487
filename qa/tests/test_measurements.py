"""The page of measurements is what the stored results give; no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import measurements
import pytest
from measurements import MISSING

from verdict_bounds import Outcome, claims


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


def test_proof_shows_each_claim_with_its_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, 'RESULTS', tmp_path)
    assert measurements.verdict_proof() == '*Not recorded yet.*'
    ended = {
        'trials': 72,
        'counts': {'fail': 70, 'inconclusive': 1, 'no-data': 1},
        'true_percent': {'kv_sync_ms_per_txn': {'mean': 22.4, 'standard_error': 0.5}},
        'together': {'kv_sync_ms_per_txn': {'correlation': 0.02, 'chance': 0.4}},
    }
    outcomes = {
        'unchanged': [Outcome(0, 'pass', {})] * 72,
        'slower': [Outcome(0, 'fail', {})] * 70 + [Outcome(0, 'inconclusive', {})] * 2,
    }
    soak = {
        'soak_s': [600.0, 600.0],
        'void': [],
        'claims': claims(outcomes),
        'unchanged': ended,
        'slower': ended,
        'reckoned_worse': {},
    }
    (tmp_path / 'verdict-trials-pacific.json').write_text(
        json.dumps({'windows': [], 'soaks': [soak]})
    )
    lines = [line.split('  ') for line in measurements.verdict_proof().splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    of_all = {row[1]: (row[2], row[3], row[-1]) for row in rows if row[-1:] in (['yes'], ['no'])}
    assert of_all == {
        'no change fails': ('0/72', '0.0% (0.0 to 5.0)', 'yes'),
        'no change is better': ('0/72', '0.0% (0.0 to 5.0)', 'yes'),
        'slower passes': ('0/72', '0.0% (0.0 to 5.0)', 'yes'),
        'slower fails': ('70/72', '97.2% (90.3 to 99.7)', 'no'),
    }
    (slower,) = (row for row in rows if row[1:2] == ['slower'])
    assert slower[2:] == [
        '72',
        '+22.4% (0.5)',
        MISSING,
        MISSING,
        '70',
        '0',
        '0',
        '2',
        '+0.02 (0.40)',
    ]


def test_columns_fit_their_cells_and_gaps_are_shown() -> None:
    """reStructuredText takes an empty first cell for a continued row, and a hyphen for a list."""
    assert measurements.table(('a', 'b'), [('', 'long'), (None, 2), ('-', 3)]).splitlines() == [
        '=  ====',
        'a  b',
        '=  ====',
        f'{MISSING}  long',
        f'{MISSING}  2',
        f'{MISSING}  3',
        '=  ====',
    ]

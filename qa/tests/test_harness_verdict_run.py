"""The command line of a run for the verdict's error rates."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError
from harness.verdict_run import Phase, lean, parse_phase


@pytest.mark.parametrize(
    ('text', 'phase'),
    [
        ('900', Phase(900.0)),
        ('330:0=25,14=2.5', Phase(330.0, {0: 25.0, 14: 2.5})),
    ],
)
def test_phase_round_trips(text: str, phase: Phase) -> None:
    assert parse_phase(text) == phase


@pytest.mark.parametrize('text', ['', 'soon', '10:0', '10:osd.0=5', '10:0=10/60'])
def test_invalid_phase_is_named(text: str) -> None:
    with pytest.raises(HarnessError, match='is not a phase such as'):
        parse_phase(text)


def test_recorded_reading_has_the_input_of_verdicts() -> None:
    reading = {
        'time_s': 5.0,
        'osds': {'3': [True, True, 77]},
        'pools': {},
        'cephfs_metadata': [],
        'pool_io': {'1': [0, 0, 0, 0]},
        'counters': {'3': [[10, 1], 5, None]},
    }
    assert lean(reading, ('a.time', 'a.left', 'a.none'), ('a.none', 'a.time')) == {
        'time_s': 5.0,
        'osds': {'3': [True, True, 77]},
        'pools': {},
        'cephfs_metadata': [],
        'counters': {'3': [None, [10, 1]]},
    }
    assert lean({'time_s': 6.0}, ('a.left',), ('a.left',)) == {'time_s': 6.0, 'counters': {}}

"""Numbers are printed as Ceph prints them, and what is not known is never a number."""

from __future__ import annotations

import json
import math
from typing import Callable, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner import units

FORMATTERS: tuple[Callable[[Optional[float]], str], ...] = (
    units.format_bytes,
    units.format_bytes_short,
    units.format_bytes_rate,
    units.format_count,
    units.format_count_rate,
    units.format_ms,
    units.format_ratio,
    units.format_percent,
    units.format_duration,
    units.format_span,
)


@pytest.mark.parametrize('formatter', FORMATTERS)
@pytest.mark.parametrize('value', [None, math.nan, math.inf, -math.inf])
def test_unknown_is_a_dash(
    formatter: Callable[[Optional[float]], str], value: Optional[float]
) -> None:
    assert formatter(value) == '-'


@pytest.mark.parametrize('formatter', FORMATTERS)
@given(value=st.floats(min_value=0, max_value=1e15))
def test_every_number_is_short(formatter: Callable[[Optional[float]], str], value: float) -> None:
    """No value, however odd, makes a column wide."""
    assert 1 <= len(formatter(value)) <= 20


EXAMPLES: dict[Callable[[Optional[float]], str], dict[float, str]] = {
    units.format_bytes: {
        0: '0 B',
        512: '512 B',
        1023: '1023 B',
        1024: '1 KiB',
        1536: '1.5 KiB',
        1024**2 - 1: '1.0 MiB',
        60 * 1024**3: '60 GiB',
        3435973836: '3.2 GiB',
    },
    units.format_ms: {0.4216: '0.42 ms', 12.34: '12 ms', 999.6: '1.0 s', 0.00001: '<0.001 ms'},
    units.format_percent: {0.873: '87%', 0.004: '0.4%', 0.0001: '<0.1%', 0.999: '100%'},
    units.format_duration: {
        0.25: '0.2s',
        59.6: '60s',
        119: '119s',
        300: '5m',
        7500: '2h 5m',
        86400 * 4 + 3 * 3600: '4d 3h',
        86400 * 40: '40d',
        1e300: '1e+295d',
        -2: '0s',
    },
}


@pytest.mark.parametrize('formatter', EXAMPLES)
def test_numbers_have_two_digits_and_the_unit_of_their_size(
    formatter: Callable[[Optional[float]], str],
) -> None:
    """No small share is rounded to zero, and no duration has more than two units."""
    assert {value: formatter(value) for value in EXAMPLES[formatter]} == EXAMPLES[formatter]


def test_used_space_shows_its_limit_only_if_there_is_one() -> None:
    assert units.format_used(6 << 30, 60 << 30) == '6 GiB of 60 GiB (10%)'
    assert units.format_used(6 << 30, None) == '6 GiB'
    assert units.format_used(None, 60 << 30) == '-'


def test_range_of_change_has_signs() -> None:
    assert units.format_change_range(0, 23.4) == '0 to +23%'
    assert units.format_change_range(-62.7, 0) == '-63 to 0%'
    assert units.format_change_range(5, 5) == '+5%'
    assert units.format_change(-0.3) == '0%'


def test_effect_has_its_interval() -> None:
    assert units.format_effect(None, -1, 1) == '-'
    assert units.format_effect(-12.7, -18.1, None) == '-13% (unbounded)'
    assert units.format_effect(-12.7, -18.1, -6.3) == '-13% (-18 to -6%)'


def test_times_are_iso_8601_in_utc() -> None:
    assert units.format_time(1_770_000_000.9) == '2026-02-02T02:40:00Z'
    assert units.format_time(-56_107_088_826.0) == '0192-01-14T09:32:54Z'
    missing = (None, math.nan, 1e300, -1e300)
    assert list(map(units.format_time, missing)) == [None] * 4


def test_ids_are_ranges() -> None:
    assert units.format_ids([7, 0, 1, 2, 9, 8, 5]) == '0-2,5,7-9'
    assert units.format_ids([]) == '-'


@given(st.sets(st.integers(0, 50)))
def test_ranges_name_every_id_and_no_other(ids: set[int]) -> None:
    named: set[int] = set()
    for part in units.format_ids(ids).split(','):
        if part != '-':
            first, _, last = part.partition('-')
            named.update(range(int(first), int(last or first) + 1))
    assert named == ids


@given(st.floats())
def test_rounding_leaves_json_numbers_close_to_the_value(value: float) -> None:
    short = units.rounded(value)
    if math.isfinite(value):
        assert short is not None
        assert math.isclose(short, value, rel_tol=1e-5)
        assert float(f'{short:.6g}') == short or abs(value) > 1.7e308
        assert json.loads(json.dumps(short, allow_nan=False)) == short
    else:
        assert short is None

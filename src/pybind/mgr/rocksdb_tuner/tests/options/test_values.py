"""Values are read as RocksDB's and Ceph's own readers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.values import ValueRefusedError, ValueType, read_value


@pytest.mark.parametrize(
    ('value', 'value_type', 'text', 'surprising'),
    [
        ('2MB', ValueType.UINT64, '2097152', False),
        ('2MiB', ValueType.UINT64, '2097152', False),
        ('2m', ValueType.UINT64, '2097152', False),
        ('1T', ValueType.UINT64, str(1 << 40), False),
        ('4.5G', ValueType.UINT64, '4', True),
        ('64 MB', ValueType.UINT64, '64', True),
        ('1e9', ValueType.UINT64, '1', True),
        ('-1', ValueType.UINT64, str((1 << 64) - 1), True),
        ('3G', ValueType.INT, str((3 << 30) - (1 << 32)), True),
        ('1T', ValueType.INT, '1', True),
        ('8', ValueType.DOUBLE, '8.000000', False),
        ('1k', ValueType.DOUBLE, '1.000000', True),
        ('true', ValueType.BOOL, 'true', False),
        ('1', ValueType.BOOL, 'true', False),
        ('4Ki', ValueType.CEPH_COUNT, '4096', False),
        ('TRUE', ValueType.CEPH_BOOL, 'true', False),
        ('-1', ValueType.CEPH_BOOL, 'true', False),
    ],
)
def test_readings(value: str, value_type: ValueType, text: str, surprising: bool) -> None:
    reading = read_value(value, value_type)
    assert (reading.text, reading.surprise is not None) == (text, surprising)


@pytest.mark.parametrize(
    ('value', 'value_type'),
    [
        ('abc', ValueType.UINT64),
        ('', ValueType.INT),
        ('18446744073709551616', ValueType.UINT64),
        ('2147483648', ValueType.INT),
        ('5000000000', ValueType.UINT32),
        ('1e999', ValueType.DOUBLE),
        ('True', ValueType.BOOL),
        ('2', ValueType.BOOL),
        ('4k', ValueType.CEPH_COUNT),
        ('-1', ValueType.CEPH_COUNT),
        ('4.5', ValueType.CEPH_COUNT),
        ('yes', ValueType.CEPH_BOOL),
        ('1K', ValueType.CEPH_BOOL),
        ('256', ValueType.UINT8),
        ('level=3', ValueType.STRUCT),
        ('anything', ValueType.OBJECT),
    ],
)
def test_refusals(value: str, value_type: ValueType) -> None:
    with pytest.raises(ValueRefusedError):
        read_value(value, value_type)


@given(st.text(max_size=12), st.sampled_from(list(ValueType)))
def test_any_value_is_read_or_refused_and_reading_it_again_changes_nothing(
    value: str, value_type: ValueType
) -> None:
    try:
        reading = read_value(value, value_type, ('kOne', 'kTwo'))
    except ValueRefusedError:
        return
    assert read_value(reading.text, value_type, ('kOne', 'kTwo')).text == reading.text


@given(st.integers(0, 2**64 - 1))
def test_plain_numbers_mean_themselves(number: int) -> None:
    reading = read_value(str(number), ValueType.UINT64)
    assert reading.text == str(number)
    assert reading.surprise is None


@pytest.mark.parametrize(
    'value_type',
    [
        ValueType.UINT64,
        ValueType.UINT32,
        ValueType.UINT8,
        ValueType.INT,
        ValueType.INT64,
        ValueType.CEPH_COUNT,
        ValueType.CEPH_BOOL,
    ],
)
def test_number_with_thousands_of_digits_is_too_large_and_leading_zeros_are_ignored(
    value_type: ValueType,
) -> None:
    """Python refuses to read it, with an error that is none of an option."""
    for sign in ('', '-', '+'):
        with pytest.raises(ValueRefusedError):
            read_value(sign + '9' * 5000, value_type)
    assert read_value('0' * 5000 + '1', value_type).number == 1


@pytest.mark.parametrize(
    ('value', 'text', 'number', 'changed'),
    [
        ('2147483647', '2147483647', 2**31 - 1, False),
        ('2147483648', '-2147483648', -(2**31), True),
        ('4G', '0', 0, True),
        ('0', '0', 0, False),
    ],
)
def test_count_beyond_the_int_of_ceph_is_wrapped_and_reported(
    value: str, text: str, number: int, changed: bool
) -> None:
    found = read_value(value, ValueType.CEPH_COUNT)
    assert (found.text, found.number) == (text, number)
    assert (found.surprise is not None) == changed
    if changed:
        assert f'becomes {text}' in (found.surprise or '')


@pytest.mark.parametrize('value', ['9223372036854775808', '16E', '9' * 5000])
def test_count_beyond_64_bits_is_refused(value: str) -> None:
    with pytest.raises(ValueRefusedError, match='is too large'):
        read_value(value, ValueType.CEPH_COUNT)

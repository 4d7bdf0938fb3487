"""Values are read as RocksDB's and Ceph's own readers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.values import ValueRefusedError, ValueType, read_value


@given(st.text(max_size=12), st.sampled_from(list(ValueType)))
def test_any_value_is_read_or_refused_and_reading_it_again_changes_nothing(
    value: str, value_type: ValueType
) -> None:
    try:
        reading = read_value(value, value_type, ('kOne', 'kTwo'))
    except ValueRefusedError:
        return
    assert read_value(reading.text, value_type, ('kOne', 'kTwo')).text == reading.text


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

"""Packed counters come back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.history import Counter, pack, unpack

_number = st.integers(0, (1 << 64) - 1)


@given(st.lists(st.one_of(st.none(), _number, st.tuples(_number, _number))))
def test_any_counters_come_back_as_they_were(counters: list[Counter]) -> None:
    packed = pack(5.0, 7, counters)
    assert unpack(packed) == counters
    assert (packed.time_s, packed.nonce) == (5.0, 7)
    assert pack(6.0, 8, counters).shape is packed.shape

"""Windows: what happened between two samples, and never a figure from counters that were reset."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.observe.window import Latency, comparable, window

from .samples import sample

_counts = st.integers(0, 2**63)
_maybe_count = st.none() | _counts
_maybe_latency = st.none() | st.tuples(_counts, _counts)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    latencies = {'kv_sync', 'kv_flush', 'commit', 'op_w_latency'}
    values = {
        field: draw(_maybe_latency if field in latencies else _maybe_count)
        for field in Sample._fields[2:]
    }
    return Sample(
        time_s=draw(st.floats(0, 2e9)),
        nonce=draw(st.integers(1, 3)),
        **values,  # type: ignore[arg-type]
    )


def test_differences_of_two_samples() -> None:
    found = window(sample(100.0, 50), sample(110.0, 150))
    assert found is not None
    assert found.window_s == 10.0
    assert found.op_w == 100
    assert found.op_w_in_bytes == 409600
    assert found.kv_sync == Latency(total_s=0.2, operations=100)
    assert found.kv_sync.mean_ms == 2.0


def test_latency_without_operations_has_no_mean() -> None:
    found = window(sample(100.0, 50), sample(110.0, 50))
    assert found is not None
    assert found.kv_sync == Latency(0.0, 0)
    assert found.kv_sync.mean_ms is None


def test_restart_ends_the_window() -> None:
    assert window(sample(100.0, 50), sample(110.0, 60, nonce=8)) is None


def test_one_decreased_counter_invalidates_all_differences() -> None:
    after = sample(110.0, 150)._replace(op_r=49)
    assert window(sample(100.0, 50), after) is None


def test_decreased_latency_sum_invalidates_all_differences() -> None:
    after = sample(110.0, 150)._replace(kv_sync=(1, 150))
    assert window(sample(100.0, 50), after) is None


def test_gauge_may_decrease() -> None:
    after = sample(110.0, 150)._replace(db_used_bytes=0)
    assert window(sample(100.0, 50), after) is not None


def test_counter_missing_at_one_end_is_unknown_and_others_are_known() -> None:
    found = window(sample(100.0, 50)._replace(op_rw=None), sample(110.0, 150))
    assert found is not None
    assert found.op_rw is None
    assert found.op_w == 100


@given(samples(), samples())
def test_no_difference_is_ever_negative(before: Sample, after: Sample) -> None:
    found = window(before, after)
    if found is None:
        return
    assert before.nonce == after.nonce
    assert found.window_s > 0
    for value in found[1:]:
        if isinstance(value, Latency):
            assert value.total_s >= 0
            assert value.operations >= 0
        elif value is not None:
            assert value >= 0


def test_comparable_samples_are_those_with_a_window() -> None:
    """The cheap question has the answer of the expensive one."""
    first = sample(100.0, 10)
    for second in (
        sample(110.0, 20),
        sample(110.0, 10),
        sample(110.0, 9),
        sample(110.0, 20, nonce=8),
        sample(102.0, 20),
        sample(110.0, 20)._replace(op_w=None),
        sample(110.0, 20)._replace(op_w=None, op_r=1),
        sample(110.0, 20)._replace(kv_sync=(0, 20)),
    ):
        assert comparable(first, second) is (window(first, second) is not None)

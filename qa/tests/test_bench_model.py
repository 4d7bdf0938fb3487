"""The model against the stored runs at real size."""

from __future__ import annotations

from bench_model import compare, held, read
from rocksdb_tuner.lsm.calibration import calibration


def test_recorded_runs_are_within_their_intervals() -> None:
    """Of the quantity with the largest errors 75 to 85%."""
    known = calibration()
    found = held([c for run in read() for c in compare(run, known)], known.quantities)
    inside, number = found['level0_file_bytes']
    assert 0.75 <= inside / number <= 0.85
    for quantity in ('write_amplification', 'write_amplification_change'):
        assert found[quantity][0] == found[quantity][1] > 6

"""The model against the stored runs at real size."""

from __future__ import annotations

import re

import bench_model_real as real
from bench_model_judge import changes, compare, held

from rocksdb_tuner.lsm.calibration import calibration


def test_recorded_runs_are_within_their_intervals() -> None:
    """Of the quantity with the largest errors 75 to 85%."""
    known = calibration()
    compared = [c for run in real.read(real.RESULTS)[0] for c in compare(run, known)]
    lines = '\n'.join(held([*compared, *changes(compared)], known.quantities))
    shares = dict(re.findall(r'^(\w+): .*\((\d+)%\) within', lines, re.MULTILINE))
    assert 75 <= int(shares['level0_file_bytes']) <= 85
    assert shares['write_amplification'] == shares['write_amplification_change'] == '100'

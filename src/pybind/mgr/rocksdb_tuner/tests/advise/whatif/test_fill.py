"""How long a canary is to be watched follows from how fast the slower option set flushes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.advise.whatif.tree import fill_s, model_in
from rocksdb_tuner.lsm.records import Load
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.workload.records import WorkloadClass

PACIFIC = release_of('16.2.15', None)
assert PACIFIC is not None
MIB = 1 << 20
RGW = Situation(
    PACIFIC, WorkloadClass.RGW_METADATA, load=Load(workload='omap-heavy', wal_bytes_per_s=2.0 * MIB)
)
LARGE = 'write_buffer_size=268435456,max_total_wal_size=1073741824'
SMALL = 'write_buffer_size=16777216,max_total_wal_size=1073741824'


def busiest_s(options: str) -> float:
    families = model_in(RGW, options).column_families
    found = max(families, key=lambda family: family.share or 0.0).flush_every_s
    assert found is not None
    return found


def test_slower_of_both_sets_counts() -> None:
    assert busiest_s(SMALL) < busiest_s(LARGE)
    expected = pytest.approx(busiest_s(LARGE), rel=0.05)
    assert fill_s(SMALL, LARGE, RGW) == fill_s(LARGE, SMALL, RGW) == expected


def test_half_the_load_takes_twice_as_long() -> None:
    half = replace(RGW, load=replace(RGW.load, wal_bytes_per_s=1.0 * MIB))
    whole = fill_s(LARGE, SMALL, RGW)
    assert whole is not None
    assert fill_s(LARGE, SMALL, half) == pytest.approx(2 * whole, rel=0.05)


def test_wal_limit_counts_if_the_workload_is_unknown() -> None:
    unknown = replace(RGW, workload=None, load=Load(wal_bytes_per_s=2.0 * MIB))
    assert fill_s(SMALL, LARGE, unknown) == pytest.approx(512, rel=0.05)


@pytest.mark.parametrize('rate', [None, 0.0])
def test_no_time_without_a_load(rate: float | None) -> None:
    idle = replace(RGW, load=replace(RGW.load, wal_bytes_per_s=rate))
    assert fill_s(SMALL, LARGE, idle) is None


def test_set_without_a_model_makes_the_time_unknown() -> None:
    assert fill_s('compaction_style=kCompactionStyleUniversal', LARGE, RGW) is None
    assert fill_s(LARGE, 'write_buffer_size=x', RGW) is None

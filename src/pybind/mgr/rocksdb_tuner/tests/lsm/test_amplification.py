"""Compactions rewrite live data, not temporary content of level 0."""

from __future__ import annotations

import pytest

from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.keys import Population
from rocksdb_tuner.lsm.records import Load
from rocksdb_tuner.options.syntax import columns

from .samples import PACIFIC_CFS, tree_of

OPTIONS = (
    'compression=kNoCompression,write_buffer_size=16M,max_write_buffer_number=64,'
    'min_write_buffer_number_to_merge=2,max_total_wal_size=1G,max_bytes_for_level_base=256M'
)
HELD = Population(12_000, 32, 96_000)


def compactions(data_bytes: float) -> float:
    load = Load(
        workload='rbd-randwrite',
        data_bytes=data_bytes,
        objects=HELD.objects,
        placement_groups=32,
        log_entries=HELD.log_entries,
    )
    found = tree_of(OPTIONS, '6.8', PACIFIC_CFS, load=load).amplification.compactions
    assert found is not None
    return found


def live_bytes() -> float:
    names = {column.name for column in columns(PACIFIC_CFS)}
    workload = calibration().workloads['rbd-randwrite'].over(names)
    return sum(c.live_bytes(HELD, 'kNoCompression') for c in workload.columns.values())


def test_newer_values_in_level_0_are_not_compacted_data() -> None:
    """SST files hold level 0 too, half full on average: taken for cold data, an OSD of 20.2.4 was
    predicted 1.8 times of what its compactions wrote."""
    live = live_bytes()
    assert compactions(1.1 * live) == pytest.approx(compactions(live), rel=0.02)


def test_cold_data_is_rewritten_too() -> None:
    """What no level 0 can be is other data, which a compaction of level 1 meets."""
    live = live_bytes()
    assert compactions(10 * live) > 1.2 * compactions(live)


@pytest.mark.parametrize(('of_each_group', 'share'), [(3_000, 'less'), (10, 'more')])
def test_requests_outlive_the_log_only_in_the_dup_list(of_each_group: int, share: str) -> None:
    """A write puts more into "P" where the log is shorter than the 3,000 that are remembered."""
    usual = calibration().workloads['rbd-randwrite']

    def share_of_log(log_entries: float) -> float:
        load = Load(workload=usual.name, placement_groups=32, log_entries=log_entries)
        columns_found = tree_of(OPTIONS, '6.8', PACIFIC_CFS, load=load).column_families
        found = next(column.share for column in columns_found if column.name == 'P')
        assert found is not None
        return found

    with_dups, without = usual.share('P'), usual.without_dups().share('P')
    assert without < with_dups
    expected = without if share == 'less' else with_dups
    assert share_of_log(32 * of_each_group) == pytest.approx(expected)

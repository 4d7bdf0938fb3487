"""The published tables of what RocksDB wrote under different memtables come out of the model.

"DB Writes" of the 2022 publication is what compactions wrote: its author's tool for OSD logs
(ceph/cbt, tools/ceph_rocksdb_log_parser.py) adds up the output of "compaction_finished" events and
ignores all others. With flushes or the WAL added, no number of objects gives the published ratios.
How many objects an OSD held is not published; placement groups are those of a usual OSD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.keys import Population
from rocksdb_tuner.lsm.records import Amplification, Load
from rocksdb_tuner.options.syntax import columns

from .samples import PACIFIC_CFS, tree_of

#: M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, "Pacific Testing (RBD)": IOPS and DB writes (MB).
PUBLISHED_2022 = {
    'default': (527603, 4652),
    '16 x 64 MiB': (559768, 17215),
    '16 x 64 MiB, merge 2': (574837, 8800),
    'alternate': (577384, 4303),
}
_DEFAULT = profile('bluestore-default-pacific').options
_SMALL = ',max_write_buffer_number=16,write_buffer_size=67108864'
OPTIONS_2022 = {
    'default': _DEFAULT,
    '16 x 64 MiB': _DEFAULT + _SMALL,
    '16 x 64 MiB, merge 2': _DEFAULT + _SMALL + ',min_write_buffer_number_to_merge=2',
    'alternate': profile('alternate-2019').options,
}
#: The same, "A Brief History": 2016, one column family, no limit of the WAL.
PUBLISHED_2016 = {
    '4 x 256 MiB': (62105, 41374),
    '32 x 32 MiB, merge 8': (64004, 51569),
    '32 x 32 MiB': (40256, 118022),
}
OPTIONS_2016 = {
    '4 x 256 MiB': 'max_write_buffer_number=4,write_buffer_size=256M',
    '32 x 32 MiB, merge 8': (
        'max_write_buffer_number=32,write_buffer_size=32M,min_write_buffer_number_to_merge=8'
    ),
    '32 x 32 MiB': 'max_write_buffer_number=32,write_buffer_size=32M',
}
PLACEMENT_GROUPS = 100
LOG_ENTRIES = 300_000.0


def written(options: str, objects: int, cfs: str, part: Callable[[Amplification], float]) -> float:
    workload = calibration().workloads['rbd-randwrite'].over({c.name for c in columns(cfs)})
    held = Population(objects, PLACEMENT_GROUPS, LOG_ENTRIES)
    live = sum(c.live_bytes(held, 'kNoCompression') for c in workload.columns.values())
    load = Load(
        workload='rbd-randwrite',
        data_bytes=live,
        objects=objects,
        placement_groups=PLACEMENT_GROUPS,
        log_entries=LOG_ENTRIES,
    )
    return part(
        tree_of(f'compression=kNoCompression,{options}', '6.8', cfs, load=load).amplification
    )


def ratios(
    published: Mapping[str, tuple[int, int]],
    options: Mapping[str, str],
    objects: int,
    cfs: str,
    part: Callable[[Amplification], float],
) -> dict[str, float]:
    """Predicted over published, each as a ratio to the first row, with the published IOPS."""
    amounts = {
        name: published[name][0] * written(text, objects, cfs, part)
        for name, text in options.items()
    }
    first = next(iter(published))
    return {
        name: (amounts[name] / amounts[first]) / (published[name][1] / published[first][1])
        for name in published
    }


def compactions(found: Amplification) -> float:
    assert found.compactions is not None
    return found.compactions


def flushes_too(found: Amplification) -> float:
    assert found.flushes is not None
    return compactions(found) + found.flushes


@pytest.mark.parametrize('objects', [256, 3000, 10000, 30000, 50000, 60000])
def test_each_row_of_2022_is_within_30_percent(objects: int) -> None:
    """With any number of objects of a test with some hundred GB per OSD."""
    found = ratios(PUBLISHED_2022, OPTIONS_2022, objects, PACIFIC_CFS, compactions)
    assert all(0.7 <= ratio <= 1.3 for ratio in found.values()), found


def test_rows_of_2022_are_in_order_and_close() -> None:
    """30,000 objects of 4 MiB: 120 GB of image data on an OSD of 4 TB."""
    found = ratios(PUBLISHED_2022, OPTIONS_2022, 30000, PACIFIC_CFS, compactions)
    assert all(0.9 <= ratio <= 1.1 for ratio in found.values()), found
    order = sorted(PUBLISHED_2022, key=lambda name: PUBLISHED_2022[name][1])
    predicted = {name: ratio * PUBLISHED_2022[name][1] for name, ratio in found.items()}
    assert sorted(predicted, key=lambda name: predicted[name]) == order


@pytest.mark.parametrize('objects', [20000, 25000])
def test_each_row_of_2016_is_within_30_percent(objects: int) -> None:
    """As far as it is known what was run: BlueStore before its first release."""
    found = ratios(PUBLISHED_2016, OPTIONS_2016, objects, '', compactions)
    assert all(0.7 <= ratio <= 1.3 for ratio in found.values()), found


@pytest.mark.parametrize('objects', [256, 3000, 30000, 100000])
def test_rows_of_2016_are_in_order(objects: int) -> None:
    found = ratios(PUBLISHED_2016, OPTIONS_2016, objects, '', compactions)
    predicted = {name: ratio * PUBLISHED_2016[name][1] for name, ratio in found.items()}
    assert sorted(predicted, key=lambda name: predicted[name]) == list(PUBLISHED_2016)


def test_more_merging_at_the_same_flush_writes_the_same() -> None:
    """Variants A to D of 2022 flush 128 MiB each: what they write differs by their IOPS alone."""
    found = [
        written(profile(f'variant-2022-{name}').options, 50000, PACIFIC_CFS, flushes_too)
        for name in 'abcd'
    ]
    assert max(found) / min(found) < 1.1

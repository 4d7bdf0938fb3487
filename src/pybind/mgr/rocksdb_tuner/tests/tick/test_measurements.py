"""What a compaction campaign gets to know from the newest samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tick.operation_control import measurements

OSDS = FakeCluster(3).cluster_map().osds


def writing(osd_id: int, iops: Optional[float], latency_ms: Optional[float]) -> Signals:
    return Signals(osd_id, write_iops=iops, op_w_latency_ms=latency_ms)


def test_latency_is_the_mean_of_all_writes() -> None:
    found = measurements(
        OSDS, {0: writing(0, 30.0, 2.0), 1: writing(1, 10.0, 6.0), 2: writing(2, 0.0, None)}
    )
    assert (found.latency_ms, found.unmeasured) == (3.0, frozenset())


def test_no_writes_are_known_only_from_counters_of_every_osd_that_is_up() -> None:
    idle = {n: writing(n, 0.0, None) for n in range(3)}
    found = measurements(OSDS, idle)
    assert (found.latency_ms, found.unmeasured) == (None, frozenset())
    unknown = (None, Signals(1), writing(1, None, 5.0), writing(1, 7.0, None))
    for one in unknown:
        rest = {n: s for n, s in idle.items() if n != 1}
        assert measurements(OSDS, rest if one is None else {**rest, 1: one}).unmeasured == {1}
    down = (OSDS[0], replace(OSDS[1], up=False), OSDS[2])
    assert measurements(down, {0: idle[0], 2: idle[2]}).unmeasured == set()
    assert measurements(OSDS, {}).unmeasured == {0, 1, 2}


@pytest.mark.parametrize(('dedicated', 'size'), [(True, 4000), (False, 9000), (None, 4000)])
def test_size_is_that_of_the_device_with_the_db(dedicated: Optional[bool], size: int) -> None:
    osd = replace(OSDS[0], dedicated_db=dedicated, main_device_bytes=9000)
    found = measurements([osd], {0: Signals(0, db_used_bytes=500, db_total_bytes=4000)})
    assert (found.used_bytes, found.total_bytes) == ({0: 500}, {0: size})


@pytest.mark.parametrize('dedicated', [True, False, None])
def test_unknown_sizes_are_missing(dedicated: Optional[bool]) -> None:
    osd = replace(OSDS[0], dedicated_db=dedicated, main_device_bytes=None)
    found = measurements([osd], {0: Signals(0)})
    assert (found.used_bytes, found.total_bytes) == ({}, {})

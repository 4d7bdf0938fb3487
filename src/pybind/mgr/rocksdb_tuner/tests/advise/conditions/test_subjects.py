"""A condition skipped for want of what it needs could not have been found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import OF_THE_PRESENT, ClusterFacts
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.conditions.facts import HEALTH_CHECK, NEEDS, present_needs
from rocksdb_tuner.advise.records import OsdFacts
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import GIB, seen

HEALTH_CHECKS = sorted({code for known in conditions().values() for code in known.ceph_checks})
MEMORY = Details(0.0, None, 500.0, 1000, GIB, 1 << 20)
MISSING = Details(0.0, None, None, None, 4 * GIB, 4 * GIB, 10, 9000, 3, 0.5, 80.0)

STARTS = (
    LastStart(179.9, 200.0, False),
    LastStart(180.0, 200.0, None),
    LastStart(900.0, 999.0, True),
)


@st.composite
def osds(draw: Any, osd_id: int) -> OsdFacts:
    """Of each kind one for which a condition would hold, and one for which it would not."""
    osd = seen(
        osd_id,
        draw(st.sampled_from(('pacific', 'reef'))),
        draw(st.sampled_from((None, 'compression=kNoCompression,write_buffer_size=1073741824'))),
        draw(st.sampled_from((None, *WorkloadClass))),
        info={
            'dedicated_db': draw(st.sampled_from((None, False, True))),
            'main_rotational': draw(st.booleans()),
            'db_rotational': draw(st.sampled_from((None, False, True))),
            'db_device_bytes': draw(st.sampled_from((None, GIB))),
            'main_device_bytes': 40 * GIB,
        },
        more={
            'details': draw(st.sampled_from((None, MEMORY, MISSING))),
            'rocksdb_times': draw(st.sampled_from((None, RocksdbTimes(300.0, 0.9, 1.0, 1.0)))),
            'settings': {},
            'last_start': draw(st.sampled_from((None, *STARTS))),
        },
        kv_sync_busy=draw(st.sampled_from((None, 0.1, 0.9, 1.0))),
        kv_sync_ms=draw(st.sampled_from((None, 1.0, 5.0, 50.0))),
        write_bytes_avg=draw(st.sampled_from((None, 4096.0))),
        sst_bytes_per_s=draw(st.sampled_from((None, 0.0, 2.0**25, 2.0**30))),
        wal_bytes_per_s=draw(st.sampled_from((None, 1e3))),
        slow_used_bytes=draw(st.sampled_from((None, 0, GIB))),
        db_used_bytes=draw(st.sampled_from((None, GIB // 100, 10 * GIB, 30 * GIB))),
        db_total_bytes=draw(st.sampled_from((GIB, 100 * GIB))),
    )
    assert osd.options is not None
    pending = draw(st.booleans())
    return osd._replace(options=replace(osd.options, pending_restart=pending, next_start='ttl=60'))


@st.composite
def clusters(draw: Any) -> ClusterFacts:
    return ClusterFacts(
        tuple(draw(osds(osd_id)) for osd_id in range(draw(st.integers(0, 4)))),
        (),
        health_codes=frozenset(draw(st.lists(st.sampled_from(HEALTH_CHECKS), max_size=2))),
    )


@given(clusters())
def test_a_condition_is_not_found_without_what_it_needs(cluster: ClusterFacts) -> None:
    present = present_needs(cluster)
    for known in OF_THE_PRESENT:
        assert known.needs in {*NEEDS, HEALTH_CHECK}
        if known.needs not in present:
            assert list(known.evaluate(cluster)) == []

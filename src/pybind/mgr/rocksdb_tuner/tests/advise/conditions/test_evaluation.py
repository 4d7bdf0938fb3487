"""What is cached or not looked for changes no finding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import OF_THE_PRESENT, ClusterFacts, SetupFindings, findings
from rocksdb_tuner.advise.conditions.declaration import (
    HEALTH_CHECK,
    NEEDS,
    conditions,
    present_needs,
)
from rocksdb_tuner.advise.facts import BUFFERED_IO, COMPACT_ON_START
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.workload.records import WorkloadClass

from .builders import GIB, seen

HEALTH_CHECKS = sorted({code for known in conditions().values() for code in known.ceph_checks})
STRINGS = (
    None,
    'compression=kNoCompression,write_buffer_size=1073741824',
    'ttl=60,max_background_jobs=64',
)
ENTRIES = (
    ConfigEntry('osd', OPTION, 'compression=kLZ4Compression'),
    ConfigEntry('osd/class:ssd', OPTION, 'ttl=60'),
    ConfigEntry('osd.0', OPTION, 'ttl=60'),
)
SETTINGS: tuple[Optional[dict[str, Setting]], ...] = (
    None,
    {},
    {BUFFERED_IO: Setting('false', 'osd')},
    {'osd_min_pg_log_entries': Setting('10', 'osd'), COMPACT_ON_START: Setting('true', 'osd.1')},
)
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

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    osd = seen(
        osd_id,
        one_of('pacific', 'reef'),
        one_of(*STRINGS),
        one_of(None, *WorkloadClass),
        info={
            'up': one_of(False, True),
            'dedicated_db': one_of(None, False, True),
            'dedicated_wal': one_of(False, True),
            'wal_device_bytes': one_of(GIB // 16, GIB),
            'main_rotational': one_of(False, True),
            'db_rotational': one_of(None, False, True),
            'db_device_bytes': one_of(None, GIB),
            'main_device_bytes': 40 * GIB,
            'min_alloc_size_bytes': one_of(4096, 65536),
        },
        more={
            'details': one_of(None, MEMORY, MISSING),
            'rocksdb_times': one_of(None, RocksdbTimes(300.0, 0.9, 1.0, 1.0)),
            'sharded': one_of(None, False, True),
            'settings': one_of(*SETTINGS),
            'last_start': one_of(None, *STARTS),
        },
        kv_sync_busy=one_of(None, 0.1, 0.9, 1.0),
        kv_sync_ms=one_of(None, 1.0, 5.0, 50.0),
        write_bytes_avg=one_of(None, 4096.0),
        sst_bytes_per_s=one_of(None, 0.0, 2.0**25, 2.0**30),
        wal_bytes_per_s=one_of(None, 1e3),
        slow_used_bytes=one_of(None, 0, GIB),
        db_used_bytes=one_of(None, GIB // 100, 10 * GIB, 30 * GIB),
        db_total_bytes=one_of(GIB, 100 * GIB),
    )
    assert osd.options is not None
    pending = one_of(False, True)
    return osd._replace(options=replace(osd.options, pending_restart=pending, next_start='ttl=60'))


@st.composite
def clusters(draw: Any) -> ClusterFacts:
    return ClusterFacts(
        tuple(draw(osds(osd_id)) for osd_id in range(draw(st.integers(0, 3)))),
        tuple(draw(st.lists(st.sampled_from(ENTRIES), unique=True))),
        health_codes=frozenset(draw(st.lists(st.sampled_from(HEALTH_CHECKS), max_size=2))),
    )


def test_cached_result_is_not_computed_again() -> None:
    setup = seen(0, options='ttl=60', more={'sharded': False})
    remembered = SetupFindings()
    first = findings(ClusterFacts((setup,), ()), remembered)
    again = findings(ClusterFacts((setup._replace(workload=None),), ()), remembered)
    (found,) = [f for f in first if f.finding_id == 'unsharded']
    assert any(f is found for f in again)


@given(st.lists(st.tuples(clusters(), st.booleans()), max_size=4))
def test_one_look_after_another_finds_what_a_first_look_finds(
    samples: list[tuple[ClusterFacts, bool]],
) -> None:
    remembered = SetupFindings()
    for cluster, twice in samples:
        for _ in range(1 + twice):
            assert findings(cluster, remembered) == findings(cluster)


@given(clusters())
def test_a_condition_skipped_for_want_of_what_it_needs_could_not_have_been_found(
    cluster: ClusterFacts,
) -> None:
    present = present_needs(cluster)
    for known in OF_THE_PRESENT:
        assert known.needs in {*NEEDS, HEALTH_CHECK}
        if known.needs not in present:
            assert list(known.evaluate(cluster)) == []

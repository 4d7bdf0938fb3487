"""A condition skipped for want of a subject could not have been found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import OF_THE_PRESENT, ClusterFacts
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.conditions.needs import (
    Subject,
    subjects_of_the_present,
)
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
def test_a_condition_is_not_found_without_its_subject(cluster: ClusterFacts) -> None:
    there_are = subjects_of_the_present(cluster)
    for subject, about in OF_THE_PRESENT.items():
        for known in about:
            if subject not in there_are:
                assert list(known.evaluate(cluster)) == []


PLAIN = seen()


def present(osd: OsdFacts, **cluster: Any) -> set[Subject]:
    """Subjects beyond those of an OSD with counters alone."""
    return {*subjects_of_the_present(ClusterFacts((PLAIN, osd), (), **cluster))} - {Subject.SIGNALS}


@pytest.mark.parametrize(
    ('osd', 'subjects'),
    [
        (PLAIN, set()),
        (seen()._replace(signals=None), set()),
        (seen(does=WorkloadClass.RGW_METADATA), {Subject.METADATA_WORK}),
        (seen(does=WorkloadClass.CEPHFS_METADATA), {Subject.METADATA_WORK}),
        (seen(does=WorkloadClass.RBD_SMALL_WRITE), set()),
        (
            seen(more={'rocksdb_times': RocksdbTimes(300.0, None, None, None)}),
            {Subject.STATISTICS},
        ),
        (seen(more={'details': MISSING}), {Subject.DETAILS, Subject.SMALL_UNITS}),
        (seen(more={'details': MISSING._replace(bluefs_fallbacks=0)}), {Subject.DETAILS}),
        (seen(more={'details': MEMORY}), {Subject.DETAILS, Subject.SMALL_MEMORY_TARGET}),
        (seen(info={'dedicated_db': True}), {Subject.DB_DEVICE}),
        (seen(info={'dedicated_db': None}), set()),
        (seen(more={'last_start': STARTS[0]}), {Subject.LAST_START}),
    ],
)
def test_the_present_state_has_subjects(osd: OsdFacts, subjects: set[Subject]) -> None:
    assert present(osd) == subjects


def test_health_checks_and_counters_are_subjects() -> None:
    assert present(PLAIN, health_codes=frozenset({'OSD_DOWN'})) == {Subject.HEALTH_CHECK}
    assert subjects_of_the_present(ClusterFacts((PLAIN,), ())) == {Subject.SIGNALS}
    assert subjects_of_the_present(ClusterFacts((), ())) == frozenset()

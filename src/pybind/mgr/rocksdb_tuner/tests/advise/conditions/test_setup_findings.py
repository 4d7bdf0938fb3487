"""The cached setup does not affect findings: they equal those of a first evaluation."""

from __future__ import annotations

from typing import Any, Optional

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.conditions import ClusterFacts, SetupFindings, findings
from rocksdb_tuner.advise.facts import (
    BUFFERED_IO,
    COMPACT_ON_START,
)
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.plan.records import OPTION

from .builders import GIB, seen

STRINGS = (None, 'compression=kLZ4Compression', 'ttl=60,max_background_jobs=64')
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


@st.composite
def osds(draw: Any, osd_id: int) -> OsdFacts:
    return seen(
        osd_id,
        draw(st.sampled_from(('pacific', 'reef'))),
        draw(st.sampled_from(STRINGS)),
        info={
            'up': draw(st.booleans()),
            'dedicated_db': True,
            'dedicated_wal': True,
            'wal_device_bytes': draw(st.sampled_from((GIB // 16, GIB))),
            'min_alloc_size_bytes': draw(st.sampled_from((4096, 65536))),
        },
        more={
            'sharded': draw(st.sampled_from((None, False, True))),
            'settings': draw(st.sampled_from(SETTINGS)),
        },
        slow_used_bytes=draw(st.sampled_from((0, GIB))),
    )


@st.composite
def clusters(draw: Any) -> ClusterFacts:
    return ClusterFacts(
        tuple(draw(osds(osd_id)) for osd_id in range(draw(st.integers(0, 3)))),
        tuple(draw(st.lists(st.sampled_from(ENTRIES), unique=True))),
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

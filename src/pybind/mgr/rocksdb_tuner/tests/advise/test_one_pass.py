"""Figures of a group that one pass collects are those of a plain pass for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.limit import _group_usage, storage_of
from rocksdb_tuner.advise.profiles import Storage
from rocksdb_tuner.advise.records import OsdFacts
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import Details
from rocksdb_tuner.observe.latency import WriteLatency
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.starts import LastStart

from .builders import osd_info

_figure = st.none() | st.sampled_from((0.0, 0.5, 1.0, 3.0))
_size = st.none() | st.sampled_from((0, 1, 5, 10))
_flag = st.sampled_from((None, True, False))
_latencies = st.builds(
    WriteLatency, window_s=st.just(30.0), data_write_ms=_figure, client_op_ms=_figure
)
_details = st.builds(
    Details,
    time_s=st.just(1.0),
    latency=st.none() | _latencies,
    omap_seek_ms=_figure,
    omap_seeks=_size,
    memory_mapped_bytes=_size,
    memory_target_bytes=_size,
    onode_hits=_size,
    onode_misses=_size,
)
_signals = st.builds(
    Signals,
    osd_id=st.just(0),
    window_s=_figure,
    kv_sync_ms=_figure,
    kv_sync_busy=_figure,
    sst_bytes_per_s=_figure,
    db_used_bytes=_size,
    db_total_bytes=_size,
    slow_used_bytes=_size,
    wal_used_bytes=_size,
    wal_total_bytes=_size,
)
_infos = st.builds(
    osd_info, dedicated_db=_flag, dedicated_wal=_flag, db_rotational=_flag, main_rotational=_flag
)
_osds = st.lists(
    st.builds(
        OsdFacts,
        info=_infos,
        signals=st.none() | _signals,
        workload=st.none(),
        options=st.none(),
        details=st.none() | _details,
        rocksdb_times=st.none()
        | st.builds(
            RocksdbTimes,
            window_s=st.just(300.0),
            stall_share=_figure,
            wal_sync_ms=_figure,
            memtable_insert_ms=_figure,
        ),
        last_start=st.none()
        | st.builds(
            LastStart, away_s=st.floats(0, 9), away_most_s=st.just(9.0), host_away=st.none()
        ),
    ),
    max_size=6,
)


def _known(values: Iterable[Optional[float]]) -> list[float]:
    return sorted(value for value in values if value is not None)


def _share(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole else None


@given(_osds)
def test_the_usage_of_a_group(osds: Sequence[OsdFacts]) -> None:
    """Each figure from the OSDs with such a device, or with details."""
    found = _group_usage(osds)
    with_signals = [(o, o.signals) for o in osds if o.signals is not None]
    with_db = [(o, s) for o, s in with_signals if o.info.dedicated_db]
    details = [o.details for o in osds if o.details is not None]
    latencies = [d.latency for d in details if d.latency is not None]
    fills = _known(
        _share(s.db_used_bytes + (s.slow_used_bytes or 0), s.db_total_bytes)
        for _, s in with_db
        if s.db_used_bytes is not None
    )
    wal_fills = _known(
        _share(s.wal_used_bytes, s.wal_total_bytes) for o, s in with_signals if o.info.dedicated_wal
    )
    stalls = _known(o.rocksdb_times.stall_share for o in osds if o.rocksdb_times is not None)
    memory = _known(_share(d.memory_mapped_bytes, d.memory_target_bytes) for d in details)
    writes = _known(_share(part.data_write_ms, part.client_op_ms) for part in latencies)
    assert found.window_s == ((with_signals[0][1].window_s or 0.0) if with_signals else 0.0)
    assert found.osds_with_db == len(with_db)
    assert found.spilled == sum(
        bool(s.slow_used_bytes) and storage_of(o.info) is not Storage.NVME for o, s in with_db
    )
    assert found.db_fill == (fills[-1] if fills else None)
    assert found.wal_fill == (wal_fills[-1] if wal_fills else None)
    assert found.stalled == (stalls[-1] if stalls else None)
    assert found.memory_over_target == (memory[len(memory) // 2] if memory else None)
    assert found.data_write_share == (writes[len(writes) // 2] if writes else None)

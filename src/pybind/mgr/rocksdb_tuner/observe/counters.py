"""The perf counters that the module reads: each read costs the mgr microseconds.

`CounterNames` are read for every full sample, `DetailNames` for one OSD in four.

The priority of all of them is high enough to be sent to the mgr by default, according to the perf
schemas of 16.2.15, 18.2.7 and 20.2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Mapping, NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint
from ..options.releases import counters_measured, renamed_counters, renamed_in_any_release


class CounterNames(NamedTuple):
    """The path of each counter in the newest release."""

    kv_sync: str = 'bluestore.kv_sync_lat'
    kv_flush: str = 'bluestore.kv_flush_lat'
    commit: str = 'bluestore.txc_commit_lat'
    op_w: str = 'osd.op_w'
    op_w_in_bytes: str = 'osd.op_w_in_bytes'
    op_w_latency: str = 'osd.op_w_latency'
    op_r: str = 'osd.op_r'
    op_r_out_bytes: str = 'osd.op_r_out_bytes'
    #: Read-modify-write operations: class calls, such as bucket index updates.
    op_rw: str = 'osd.op_rw'
    op_rw_in_bytes: str = 'osd.op_rw_in_bytes'
    recovery_ops: str = 'osd.recovery_ops'
    recovery_bytes: str = 'osd.recovery_bytes'
    bytes_written_wal: str = 'bluefs.bytes_written_wal'
    bytes_written_sst: str = 'bluefs.bytes_written_sst'
    bytes_written_slow: str = 'bluefs.bytes_written_slow'
    db_total_bytes: str = 'bluefs.db_total_bytes'
    db_used_bytes: str = 'bluefs.db_used_bytes'
    wal_total_bytes: str = 'bluefs.wal_total_bytes'
    wal_used_bytes: str = 'bluefs.wal_used_bytes'
    slow_total_bytes: str = 'bluefs.slow_total_bytes'
    slow_used_bytes: str = 'bluefs.slow_used_bytes'


#: The sum of op_w, op_r and op_rw.
ALL_OPERATIONS = 'osd.op'


class DetailNames(NamedTuple):
    """Counters that are read less often, for details; None: not sent."""

    throttle: Optional[str] = 'bluestore.txc_throttle_lat'
    prepare: Optional[str] = 'bluestore.state_prepare_lat'
    aio_wait: Optional[str] = 'bluestore.state_aio_wait_lat'
    kv_queued: Optional[str] = 'bluestore.state_kv_queued_lat'
    kv_commiting: Optional[str] = 'bluestore.state_kv_commiting_lat'
    op_w_process: Optional[str] = 'osd.op_w_process_latency'
    op_w_prepare: Optional[str] = 'osd.op_w_prepare_latency'
    omap_lower_bound: Optional[str] = 'bluestore.omap_lower_bound_lat'
    omap_upper_bound: Optional[str] = 'bluestore.omap_upper_bound_lat'
    memory_mapped_bytes: Optional[str] = 'bluestore-pricache.mapped_bytes'
    memory_target_bytes: Optional[str] = 'bluestore-pricache.target_bytes'
    onode_hits: Optional[str] = 'bluestore.onode_hits'
    onode_misses: Optional[str] = 'bluestore.onode_misses'
    #: Allocations of pieces smaller than bluefs_shared_alloc_size.
    bluefs_fallbacks: Optional[str] = 'bluefs.alloc_slow_size_fallback'
    fragmentation_micros: Optional[str] = 'bluestore.fragmentation_micros'
    #: Placement groups on the OSD.
    pgs: Optional[str] = 'osd.numpg'


@lru_cache(maxsize=16)
def names_for(release: Optional[str]) -> CounterNames:
    """Counter names in ``release`` ("pacific"); the newest ones for an unknown release."""
    other = renamed_counters(release).items()
    return CounterNames()._replace(
        **{field: path for field, path in other if path and field in CounterNames._fields}
    )


@lru_cache(maxsize=16)
def details_for(release: Optional[str]) -> DetailNames:
    """The same for `DetailNames`."""
    other = renamed_counters(release).items()
    return DetailNames()._replace(
        **{field: path for field, path in other if field in DetailNames._fields}
    )


def by_any_name(reader: CounterReader, release: Optional[str]) -> CounterReader:
    """``reader`` for an OSD of ``release``, with older names as fallback in unmeasured releases.

    These are Quincy, Squid and all unknown releases.
    """
    return reader if counters_measured(release) else _ByAnyName(reader)


class _ByAnyName:
    """Reads a counter by its newest name, with the previous name as fallback."""

    def __init__(self, reader: CounterReader) -> None:
        self._reader = reader

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        points, older = self._reader.latest(osd_id, paths), _older_names()
        return [
            self._reader.latest(osd_id, (older[path],))[0]
            if point is None and path in older
            else point
            for path, point in zip(paths, points)
        ]


@lru_cache(maxsize=1)
def _older_names() -> Mapping[str, str]:
    newest = {**CounterNames()._asdict(), **DetailNames()._asdict()}
    return {newest[field]: path for field, path in renamed_in_any_release().items()}

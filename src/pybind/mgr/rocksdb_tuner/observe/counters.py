"""The perf counters that are read, and nothing else: each read costs the mgr microseconds.

All of them have a priority that sends them to the mgr by default, checked in the perf schemas of
16.2.15, 18.2.7 and 20.2.4.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Optional

from ..options.releases import renamed_counters


class CounterNames(NamedTuple):
    """The path of each counter in the newest release; the fields' names are the same for all."""

    kv_sync: str = 'bluestore.kv_sync_lat'
    kv_flush: str = 'bluestore.kv_flush_lat'
    commit: str = 'bluestore.txc_commit_lat'
    op_w: str = 'osd.op_w'
    op_w_in_bytes: str = 'osd.op_w_in_bytes'
    op_w_latency: str = 'osd.op_w_latency'
    op_r: str = 'osd.op_r'
    op_r_out_bytes: str = 'osd.op_r_out_bytes'
    #: Operations that read and write: class calls, such as RGW's bucket index.
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


@lru_cache(maxsize=16)
def names_for(release: Optional[str]) -> CounterNames:
    """Names in an OSD of ``release`` ("pacific"); the newest known ones where it is not known."""
    return CounterNames()._replace(**renamed_counters(release))

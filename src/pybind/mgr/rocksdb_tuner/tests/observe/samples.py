"""Samples and a counter reader for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from rocksdb_tuner.mgr.records import CounterPoint, OsdInfo
from rocksdb_tuner.observe.sample import Sample, names_for

NAMES = names_for('pacific')
MIB = 1024 * 1024


def osd_info(
    osd_id: int = 0, nonce: Optional[int] = 7, *, up: bool = True, dedicated_db: bool = False
) -> OsdInfo:
    return OsdInfo(
        osd_id=osd_id,
        up=up,
        in_cluster=True,
        nonce=nonce,
        host='vm',
        device_class='ssd',
        version='16.2.15',
        release='pacific',
        dedicated_db=dedicated_db,
        dedicated_wal=False,
        db_device_bytes=None,
        objectstore='bluestore',
    )


def sample(time_s: float, progress: int, nonce: int = 7) -> Sample:
    """A sample in which every monotonic counter is a multiple of ``progress``."""
    return Sample(
        time_s=time_s,
        nonce=nonce,
        kv_sync=(progress * 2_000_000, progress),
        kv_flush=(progress * 1_000_000, progress),
        commit=(progress * 3_000_000, progress),
        op_w=progress,
        op_w_in_bytes=progress * 4096,
        op_w_latency=(progress * 5_000_000, progress),
        op_r=progress,
        op_r_out_bytes=progress * 8192,
        op_rw=0,
        op_rw_in_bytes=0,
        recovery_ops=0,
        recovery_bytes=0,
        bytes_written_wal=progress * 16384,
        bytes_written_sst=progress * 32768,
        bytes_written_slow=0,
        db_total_bytes=100 * MIB,
        db_used_bytes=10 * MIB,
        wal_total_bytes=0,
        wal_used_bytes=0,
        slow_total_bytes=0,
        slow_used_bytes=0,
    )


def points_of(values: Sample) -> Iterator[tuple[str, CounterPoint]]:
    """The known counters as an OSD sends them."""
    for field, path in zip(NAMES._fields, NAMES):
        value = getattr(values, field)
        if isinstance(value, tuple):
            yield path, CounterPoint(values.time_s, *value)
        elif value is not None:
            yield path, CounterPoint(values.time_s, value, None)


class CounterTable:
    """A CounterReader over a dictionary."""

    def __init__(self) -> None:
        self.points: dict[tuple[int, str], CounterPoint] = {}

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        return [self.points.get((osd_id, path)) for path in paths]

    def report(self, osd_id: int, values: Sample) -> None:
        """As if the OSD had sent these values at their time."""
        self.points.update({(osd_id, path): point for path, point in points_of(values)})

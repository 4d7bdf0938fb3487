"""Time series for charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...notes import Amount, OsdId
from ...observe.trend import TREND_SIGNALS
from ...observe.trend import Trend as FoundTrend

_Values = tuple[Optional[Amount], ...]


@dataclass(frozen=True)
class Trend:
    """Time series of an OSD or a device class; values are within 0.05%."""

    osd: Annotated[Optional[OsdId], 'Id of the OSD; null for a device class.']
    device_class: Annotated[Optional[str], 'Name of the device class; null for an OSD.']
    time_s: Annotated[tuple[int, ...], 'Seconds since the epoch, oldest first.']
    kv_sync_ms: Annotated[_Values, 'Mean duration of one round of the kv_sync thread.']
    kv_sync_busy: Annotated[_Values, 'Time inside kv_sync over wall time.']
    commit_ms: Annotated[_Values, 'Mean time until a transaction is durable.']
    write_iops: Annotated[_Values, 'Client writes per second.']
    wal_bytes_per_s: Annotated[_Values, 'Bytes written to the WAL per second.']
    sst_bytes_per_s: Annotated[_Values, 'Bytes written to SST files per second.']
    compaction_bytes_per_s: Annotated[_Values, 'Bytes written by compaction per second.']
    db_write_amp: Annotated[_Values, '(WAL + SST bytes) / WAL bytes.']
    db_used_bytes: Annotated[_Values, 'Bytes used on the DB device.']


def trends_of(
    osds: Sequence[tuple[int, FoundTrend]], device_class: Optional[tuple[str, FoundTrend]]
) -> tuple[Trend, ...]:
    """Time series of OSDs, or of a device class."""
    series: list[tuple[Optional[int], Optional[str], FoundTrend]] = [
        (osd_id, None, found) for osd_id, found in osds
    ]
    if device_class is not None:
        series.append((None, *device_class))
    return tuple(
        Trend(
            osd=osd_id,
            device_class=name,
            time_s=tuple(round(time_s) for time_s in found.times_s),
            **{signal: found.values[signal] for signal in TREND_SIGNALS},
        )
        for osd_id, name, found in series
    )

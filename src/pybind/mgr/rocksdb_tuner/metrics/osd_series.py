"""Series of OSDs and of device classes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Optional

from ..advise.records import GroupFacts, OsdFacts
from ..observe.signals import Signals
from ..present.phrases import options_in_use
from ..workload.records import Workload, WorkloadClass
from .exposition import Metric, labeled, metric


class _OsdSignal(NamedTuple):
    """The metric of an OSD signal."""

    name: str
    help: str
    read: Callable[[Signals], Optional[float]]


class _ClassFigure(NamedTuple):
    """An aggregate over the OSDs of a device class that have a value."""

    name: str
    help: str
    combine: Callable[[Iterable[float]], float]
    read: Callable[[Signals], Optional[float]]


def seconds(milliseconds: Optional[float]) -> Optional[float]:
    return None if milliseconds is None else milliseconds / 1000


def _db_used_ratio(signals: Signals) -> Optional[float]:
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


_OSD_SIGNALS = (
    _OsdSignal(
        'osd_kv_sync_seconds',
        'Mean duration of a kv_sync round.',
        lambda s: seconds(s.kv_sync_ms),
    ),
    _OsdSignal(
        'osd_kv_sync_busy_ratio',
        'Share of time that the kv_sync thread is busy; at 1 it limits the writes of the OSD.',
        lambda s: s.kv_sync_busy,
    ),
    _OsdSignal(
        'osd_kv_flush_seconds',
        'Mean duration of the device flush inside kv_sync.',
        lambda s: seconds(s.kv_flush_ms),
    ),
    _OsdSignal(
        'osd_commit_seconds',
        'Mean time from submission of a transaction to BlueStore until it is durable.',
        lambda s: seconds(s.commit_ms),
    ),
    _OsdSignal(
        'osd_client_write_seconds',
        'Mean latency of client writes.',
        lambda s: seconds(s.op_w_latency_ms),
    ),
    _OsdSignal(
        'osd_client_writes_per_second',
        'Client writes to this OSD as a primary.',
        lambda s: s.write_iops,
    ),
    _OsdSignal(
        'osd_client_reads_per_second',
        'Client reads from this OSD as a primary.',
        lambda s: s.read_iops,
    ),
    _OsdSignal(
        'osd_client_write_bytes_per_second',
        'Bytes that clients write to this OSD as a primary.',
        lambda s: s.write_bytes_per_s,
    ),
    _OsdSignal(
        'osd_wal_bytes_per_second',
        'Bytes that BlueFS writes to the write-ahead log of RocksDB.',
        lambda s: s.wal_bytes_per_s,
    ),
    _OsdSignal(
        'osd_sst_bytes_per_second',
        'Bytes that BlueFS writes to SST files.',
        lambda s: s.sst_bytes_per_s,
    ),
    _OsdSignal(
        'osd_slow_bytes_per_second',
        'Bytes that RocksDB writes to the slow device; included in WAL and SST bytes.',
        lambda s: s.slow_bytes_per_s,
    ),
    _OsdSignal(
        'osd_compaction_bytes_per_second',
        'Bytes written by compaction, as reported by RocksDB or else estimated.',
        lambda s: s.compaction_bytes_per_s,
    ),
    _OsdSignal(
        'osd_db_write_amplification_ratio',
        'WAL and SST bytes divided by WAL bytes.',
        lambda s: s.db_write_amp,
    ),
    _OsdSignal('osd_db_used_bytes', 'Bytes used by RocksDB.', lambda s: s.db_used_bytes),
    _OsdSignal(
        'osd_db_total_bytes',
        'Size of the dedicated DB device; absent if the DB is on the data device.',
        lambda s: s.db_total_bytes,
    ),
    _OsdSignal(
        'osd_slow_used_bytes',
        'Bytes of RocksDB on the slow device (spillover).',
        lambda s: s.slow_used_bytes,
    ),
)


_CLASS_FIGURES = (
    _ClassFigure(
        'device_class_kv_sync_max_seconds',
        'Maximum mean duration of a kv_sync round of any OSD.',
        max,
        lambda s: seconds(s.kv_sync_ms),
    ),
    _ClassFigure(
        'device_class_kv_sync_busy_max_ratio',
        'Maximum share of time that the kv_sync thread of any OSD is busy.',
        max,
        lambda s: s.kv_sync_busy,
    ),
    _ClassFigure(
        'device_class_db_used_max_ratio',
        'Maximum usage of the DB device of any OSD.',
        max,
        _db_used_ratio,
    ),
    _ClassFigure(
        'device_class_wal_bytes_per_second',
        'Bytes that BlueFS writes to write-ahead logs, summed over reporting OSDs.',
        sum,
        lambda s: s.wal_bytes_per_s,
    ),
    _ClassFigure(
        'device_class_sst_bytes_per_second',
        'Bytes that BlueFS writes to SST files, summed over reporting OSDs.',
        sum,
        lambda s: s.sst_bytes_per_s,
    ),
    _ClassFigure(
        'device_class_compaction_bytes_per_second',
        'Bytes written by compaction, summed over reporting OSDs.',
        sum,
        lambda s: s.compaction_bytes_per_s,
    ),
)


#: The signals, osd_info, newest report, pending restart, and two of the forecast.
SERIES_PER_OSD = len(_OSD_SIGNALS) + 5


#: The aggregates, device_class_info, and the number of OSDs.
SERIES_PER_DEVICE_CLASS = len(_CLASS_FIGURES) + 2


def device_classes(groups: Sequence[GroupFacts]) -> Iterable[Metric]:
    yield metric(
        'device_class_info',
        'Workload and options of a device class.',
        [
            labeled(
                1,
                device_class=group.device_class,
                workload=_workload(group.workload),
                profile=options_in_use(group.osds).profile or '',
            )
            for group in groups
        ],
    )
    yield metric(
        'device_class_osds',
        'OSDs in a device class.',
        [labeled(len(group.osds), device_class=group.device_class) for group in groups],
    )
    for figure in _CLASS_FIGURES:
        samples = []
        for group in groups:
            read = [figure.read(osd.signals) for osd in group.osds if osd.signals]
            known = [value for value in read if value is not None]
            if known:
                samples.append(labeled(figure.combine(known), device_class=group.device_class))
        yield metric(figure.name, figure.help, samples)


def osds(osds: Sequence[OsdFacts]) -> Iterable[Metric]:
    yield metric(
        'osd_info',
        'Workload and options of an OSD.',
        [
            labeled(
                1,
                ceph_daemon=_daemon(osd),
                device_class=osd.info.device_class or '',
                workload=_workload(osd.workload),
                profile=(osd.options.profile if osd.options else None) or '',
            )
            for osd in osds
        ],
    )
    for signal in _OSD_SIGNALS:
        yield _of_osds(signal.name, signal.help, osds, partial(_read, signal))
    yield _of_osds(
        'osd_report_timestamp_seconds',
        'Time of the newest report of the OSD that was used.',
        osds,
        lambda o: o.signals.sampled_s if o.signals else None,
    )
    yield _of_osds(
        'osd_restart_pending',
        '1 if the OSD runs a different option string than the configured one, else 0.',
        osds,
        lambda o: o.options.pending_restart if o.options else None,
    )
    yield _of_osds(
        'osd_db_full_timestamp_seconds',
        'Forecast time at which the DB device is full.',
        osds,
        lambda o: _full_s(o, earliest=False),
    )
    yield _of_osds(
        'osd_db_full_earliest_timestamp_seconds',
        'Earliest forecast time at which the DB device is full (90% interval).',
        osds,
        lambda o: _full_s(o, earliest=True),
    )


def _read(signal: _OsdSignal, osd: OsdFacts) -> Optional[float]:
    return None if osd.signals is None else signal.read(osd.signals)


def _full_s(osd: OsdFacts, *, earliest: bool) -> Optional[float]:
    if osd.forecast is None:
        return None
    in_s = osd.forecast.full_earliest_s if earliest else osd.forecast.full_in_s
    return None if in_s is None else osd.forecast.time_s + in_s


def _workload(found: Optional[Workload]) -> str:
    return (found.workload_class if found else WorkloadClass.UNKNOWN).value


def _daemon(osd: OsdFacts) -> str:
    return f'osd.{osd.info.osd_id}'


def _of_osds(
    name: str, text: str, osds: Sequence[OsdFacts], read: Callable[[OsdFacts], Optional[float]]
) -> Metric:
    return metric(
        name,
        text,
        [
            labeled(value, ceph_daemon=_daemon(osd))
            for osd in osds
            if (value := read(osd)) is not None
        ],
    )

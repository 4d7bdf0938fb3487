"""Series of OSDs and of device classes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Optional

from ..advise.records import GroupFacts, OsdFacts
from ..observe.signals import Signals
from ..present.osd import used_ratio
from ..present.phrases import options_in_use
from ..workload.records import Workload, WorkloadClass
from .exposition import Metric, labeled, metric

# fmt: off
#: Metric of an OSD, its signal, help. Milliseconds are shown as seconds.
_OSD_SIGNALS = (
    ('osd_kv_sync_seconds', 'kv_sync_ms', 'Mean duration of a kv_sync round.'),
    ('osd_kv_sync_busy_ratio', 'kv_sync_busy',
     'Share of time that the kv_sync thread is busy; at 1 it limits the writes of the OSD.'),
    ('osd_kv_flush_seconds', 'kv_flush_ms', 'Mean duration of the device flush inside kv_sync.'),
    ('osd_commit_seconds', 'commit_ms',
     'Mean time from submission of a transaction to BlueStore until it is durable.'),
    ('osd_client_write_seconds', 'op_w_latency_ms', 'Mean latency of client writes.'),
    ('osd_client_writes_per_second', 'write_iops', 'Client writes to this OSD as a primary.'),
    ('osd_client_reads_per_second', 'read_iops', 'Client reads from this OSD as a primary.'),
    ('osd_client_write_bytes_per_second', 'write_bytes_per_s',
     'Bytes that clients write to this OSD as a primary.'),
    ('osd_wal_bytes_per_second', 'wal_bytes_per_s',
     'Bytes that BlueFS writes to the write-ahead log of RocksDB.'),
    ('osd_sst_bytes_per_second', 'sst_bytes_per_s', 'Bytes that BlueFS writes to SST files.'),
    ('osd_slow_bytes_per_second', 'slow_bytes_per_s',
     'Bytes that RocksDB writes to the slow device; included in WAL and SST bytes.'),
    ('osd_compaction_bytes_per_second', 'compaction_bytes_per_s',
     'Bytes written by compaction, as reported by RocksDB or else estimated.'),
    ('osd_db_write_amplification_ratio', 'db_write_amp', 'WAL and SST bytes divided by WAL bytes.'),
    ('osd_db_used_bytes', 'db_used_bytes', 'Bytes used by RocksDB.'),
    ('osd_db_total_bytes', 'db_total_bytes',
     'Size of the dedicated DB device; absent if the DB is on the data device.'),
    ('osd_slow_used_bytes', 'slow_used_bytes',
     'Bytes of RocksDB on the slow device (spillover).'),
)
#: The same for a device class, with the aggregate over its OSDs that have a value.
_CLASS_SIGNALS: tuple[tuple[str, str, str, Callable[[Iterable[float]], float]], ...] = (
    ('device_class_kv_sync_max_seconds', 'kv_sync_ms',
     'Maximum mean duration of a kv_sync round of any OSD.', max),
    ('device_class_kv_sync_busy_max_ratio', 'kv_sync_busy',
     'Maximum share of time that the kv_sync thread of any OSD is busy.', max),
    ('device_class_db_used_max_ratio', 'db_used_ratio',
     'Maximum usage of the DB device of any OSD.', max),
    ('device_class_wal_bytes_per_second', 'wal_bytes_per_s',
     'Bytes that BlueFS writes to write-ahead logs, summed over reporting OSDs.', sum),
    ('device_class_sst_bytes_per_second', 'sst_bytes_per_s',
     'Bytes that BlueFS writes to SST files, summed over reporting OSDs.', sum),
    ('device_class_compaction_bytes_per_second', 'compaction_bytes_per_s',
     'Bytes written by compaction, summed over reporting OSDs.', sum),
)
#: Metric of an OSD, help, and its value.
_OTHERS: tuple[tuple[str, str, Callable[[OsdFacts], Optional[float]]], ...] = (
    ('osd_report_timestamp_seconds', 'Time of the newest report of the OSD that was used.',
     lambda osd: osd.signals.sampled_s if osd.signals else None),
    ('osd_restart_pending',
     '1 if the OSD runs a different option string than the configured one, else 0.',
     lambda osd: osd.options.pending_restart if osd.options else None),
    ('osd_db_full_timestamp_seconds', 'Forecast time at which the DB device is full.',
     lambda osd: _after(osd, osd.forecast.full_in_s) if osd.forecast else None),
    ('osd_db_full_earliest_timestamp_seconds',
     'Earliest forecast time at which the DB device is full (90% interval).',
     lambda osd: _after(osd, osd.forecast.full_earliest_s) if osd.forecast else None),
)
# fmt: on
#: The signals, osd_info, newest report, pending restart, and two of the forecast.
SERIES_PER_OSD = len(_OSD_SIGNALS) + 5
#: The aggregates, device_class_info, and the number of OSDs.
SERIES_PER_DEVICE_CLASS = len(_CLASS_SIGNALS) + 2


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
    for name, signal, text, combine in _CLASS_SIGNALS:
        samples = []
        for group in groups:
            read = [_read(osd.signals, signal) for osd in group.osds]
            known = [value for value in read if value is not None]
            if known:
                samples.append(labeled(combine(known), device_class=group.device_class))
        yield metric(name, text, samples)


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
    for name, signal, text in _OSD_SIGNALS:
        yield _of_osds(name, text, osds, [_read(osd.signals, signal) for osd in osds])
    for name, text, read in _OTHERS:
        yield _of_osds(name, text, osds, [read(osd) for osd in osds])


def _read(signals: Optional[Signals], name: str) -> Optional[float]:
    if signals is None or name == 'db_used_ratio':
        return used_ratio(signals)
    value: Optional[float] = getattr(signals, name)
    return value / 1000 if value is not None and name.endswith('_ms') else value


def _after(osd: OsdFacts, in_s: Optional[float]) -> Optional[float]:
    return None if in_s is None or osd.forecast is None else osd.forecast.time_s + in_s


def _workload(found: Optional[Workload]) -> str:
    return (found.workload_class if found else WorkloadClass.UNKNOWN).value


def _daemon(osd: OsdFacts) -> str:
    return f'osd.{osd.info.osd_id}'


def _of_osds(
    name: str, text: str, osds: Sequence[OsdFacts], values: Sequence[Optional[float]]
) -> Metric:
    samples = [
        labeled(value, ceph_daemon=_daemon(osd))
        for osd, value in zip(osds, values)
        if value is not None
    ]
    return metric(name, text, samples)

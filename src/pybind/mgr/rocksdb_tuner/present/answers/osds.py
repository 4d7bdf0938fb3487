"""OSDs: one row each, and the details of one.

Breakdown of client write latency.

RocksDB's own statistics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, TypeVar

from ...advise.records import Finding, OsdFacts
from ...advise.whatif.tree import Modeled
from ...deep.reader import OsdDeepStats
from ...lsm.records import Estimate
from ...notes import Amount, Count, InPlace, Time
from ...observe.kv_stats import ColumnFamilyStats
from ...observe.latency import Bottleneck, bottleneck, parts
from ...observe.latency import WriteLatency as FoundLatency
from ...observe.signals import Signals as FoundSignals
from ...snapshot import Snapshot
from ...units import format_time, rounded
from ..subjects import OsdDetail as FoundDetail
from .growth import Forecast, forecast_of
from .options import (
    OptionsInFull,
    RunningOptions,
    like,
    like_if_any,
    options_of,
    running_of,
)
from .rollout import FailureDomain, domain_of
from .workload import (
    Limit,
    OsdPlace,
    Workload,
    WorkloadSummary,
    limit_of,
    place_of,
    workload_of,
    workload_summary_of,
)


@dataclass(frozen=True)
class LatencyPart:
    """One part of the write path."""

    part: Annotated[str, 'Stable name of the part, such as "kv-queue".']
    within: Annotated[Optional[str], 'The part that contains it; null for the whole write.']
    ms: Annotated[Optional[Amount], 'Mean in milliseconds; null if the release does not report it.']
    share: Annotated[Optional[Amount], 'Share of the whole write; null: unknown.']
    signal: Annotated[str, 'Source of the value.']


@dataclass(frozen=True)
class WriteLatency:
    """Breakdown of client write latency."""

    window_s: Annotated[Optional[Amount], 'Seconds between the two samples.']
    parts: Annotated[tuple[LatencyPart, ...], 'Parts in the order of the write path.']
    bottleneck: Annotated[
        Optional[Bottleneck],
        'The part with the highest latency; null without writes or with too little data.',
    ]


def write_latency_of(latency: Optional[FoundLatency]) -> Optional[WriteLatency]:
    if latency is None:
        return None
    whole_ms, most = latency.client_op_ms, bottleneck(latency)
    # Infinity and NaN count as unknown.
    known = most is not None and rounded(most.ms) is not None
    return WriteLatency(
        window_s=latency.window_s,
        parts=tuple(
            like(
                LatencyPart,
                part,
                share=part.ms / whole_ms if part.ms is not None and whole_ms else None,
            )
            for part in parts(latency)
        ),
        bottleneck=most if known else None,
    )


_SINCE_START = 'Over all column families, since the OSD started.'


@dataclass(frozen=True)
class Totals:
    """RocksDB's own counters."""

    compact_read_bytes: Annotated[Optional[Count], _SINCE_START]
    compact_write_bytes: Annotated[Optional[Count], _SINCE_START]
    flush_write_bytes: Annotated[Optional[Count], _SINCE_START]
    wal_bytes: Annotated[Optional[Count], _SINCE_START]


@dataclass(frozen=True)
class Deep:
    """Statistics of an OSD's RocksDB."""

    time: Annotated[Optional[Time], 'Time of the statistics. ISO 8601, UTC.']
    uptime_s: Annotated[
        Optional[Amount], 'Seconds since RocksDB was opened, when its counters start.'
    ]
    stalled_s: Annotated[Optional[Amount], 'Total time of write stalls, in seconds.']
    block_cache_bytes: Annotated[Optional[Count], 'Size of the block cache.']
    memtable_bytes: Annotated[Optional[Count], 'Size of the memtables.']
    totals: Annotated[
        Optional[Totals],
        "RocksDB's own counters; null if the OSD started without rocksdb_perf.",
    ]
    column_families: Annotated[
        tuple[ColumnFamilyStats, ...],
        'Column families that the release reports: all since Tentacle, only "default" before.',
    ]
    switched_on: Annotated[
        tuple[str, ...], 'Options that the module enabled temporarily for this query.'
    ]
    not_put_back: Annotated[tuple[str, ...], 'Options not restored yet; the module retries.']


def deep_of(look: Optional[OsdDeepStats]) -> Optional[Deep]:
    if look is None:
        return None
    return like(
        Deep,
        look.stats,
        time=format_time(look.time_s),
        totals=like_if_any(Totals, look.stats.totals),
        switched_on=look.switched_on,
        not_put_back=look.not_put_back,
    )


@dataclass(frozen=True)
class Signals:
    """Signals of an OSD, in brief."""

    sample_age_s: Annotated[Optional[Amount], 'Age of the newest sample, in seconds.']
    kv_sync_ms: Annotated[
        Optional[Amount], 'Mean duration of one round of the kv_sync thread, in milliseconds.'
    ]
    kv_sync_busy: Annotated[Optional[Amount], 'Time inside kv_sync over wall time, 0..1.']
    commit_ms: Annotated[
        Optional[Amount], 'Mean time until a transaction is durable, in milliseconds.'
    ]
    write_iops: Annotated[Optional[Amount], 'Client writes per second.']
    read_iops: Annotated[Optional[Amount], 'Client reads per second.']
    write_bytes_avg: Annotated[Optional[Amount], 'Mean size of a client write, in bytes.']
    wal_bytes_per_s: Annotated[
        Optional[Amount], "Bytes per second that BlueFS wrote to RocksDB's WAL."
    ]
    sst_bytes_per_s: Annotated[Optional[Amount], 'Bytes per second that BlueFS wrote to SST files.']
    compaction_bytes_per_s: Annotated[Optional[Amount], 'Bytes per second that compaction wrote.']
    compaction_source: Annotated[
        Optional[Literal['measured', 'estimated']],
        "Source of compaction_bytes_per_s: RocksDB's own statistics, or an estimate from SST and "
        'WAL bytes.',
    ]
    db_write_amp: Annotated[Optional[Amount], '(WAL + SST bytes) / WAL bytes over the long window.']
    db_device_shared: Annotated[
        Optional[bool],
        'Whether DB and data share a device, so the DB has no limit of its own.',
    ]
    db_used_bytes: Annotated[Optional[Count], 'Bytes used by the DB on its device.']
    db_total_bytes: Annotated[
        Optional[Count],
        'Size of the DB device in bytes; null if it is shared with the data.',
    ]
    slow_used_bytes: Annotated[Optional[Count], 'Bytes of the DB on the slow device.']


_Signals = TypeVar('_Signals', bound=Signals)


@dataclass(frozen=True)
class AllSignals(Signals):
    """All signals of an OSD."""

    window_s: Annotated[
        Optional[Amount], 'Length of the window of the rates and means, in seconds.'
    ]
    kv_flush_ms: Annotated[
        Optional[Amount], 'Mean duration of the device flush in kv_sync, in milliseconds.'
    ]
    rw_iops: Annotated[Optional[Amount], 'Client read-write class calls per second.']
    write_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client writes per second.']
    read_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client reads per second.']
    rw_bytes_per_s: Annotated[Optional[Amount], 'Bytes per second written by client class calls.']
    read_bytes_avg: Annotated[Optional[Amount], 'Mean size of a client read, in bytes.']
    op_w_latency_ms: Annotated[Optional[Amount], 'Mean latency of a client write, in milliseconds.']
    recovery_ops_per_s: Annotated[Optional[Amount], 'Recovery operations per second.']
    recovery_bytes_per_s: Annotated[Optional[Amount], 'Recovery bytes per second.']
    slow_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes per second of WAL and SST files written to the slow device.'
    ]
    wal_bytes_per_client_byte: Annotated[Optional[Amount], 'WAL bytes per byte of client writes.']
    wal_bytes_per_write_op: Annotated[Optional[Amount], 'WAL bytes per client write.']
    compaction_window_s: Annotated[Optional[Amount], 'Seconds over which compaction was observed.']
    db_write_amp_window_s: Annotated[Optional[Amount], 'Length of the long window, in seconds.']
    wal_used_bytes: Annotated[Optional[Count], 'Bytes used by the WAL on its device.']
    wal_total_bytes: Annotated[Optional[Count], 'Size of the WAL device in bytes.']
    slow_total_bytes: Annotated[Optional[Count], 'Size of the slow device in bytes.']


@dataclass(frozen=True)
class OsdRow:
    """Summary of one OSD."""

    place: Annotated[OsdPlace, InPlace()]
    workload: WorkloadSummary
    signals: Annotated[Signals, InPlace()]
    options: RunningOptions


@dataclass(frozen=True)
class Description:
    """Metadata of an OSD."""

    version: Annotated[Optional[str], 'Ceph version, such as "16.2.15".']
    release: Annotated[Optional[str], 'Ceph release, such as "pacific".']
    objectstore: Annotated[Optional[str], 'Object store, such as "bluestore".']
    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.']
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.']
    db_device_bytes: Annotated[Optional[Count], 'Size of the dedicated DB device in bytes.']


@dataclass(frozen=True)
class LastStart:
    """The last observed restart."""

    away_s: Annotated[Optional[Amount], 'Minimum downtime, in seconds.']
    away_most_s: Annotated[Optional[Amount], 'Maximum downtime, in seconds.']
    host_away: Annotated[
        Optional[bool],
        'Whether most OSDs of its host were down with it; null: the host has no other OSDs.',
    ]


@dataclass(frozen=True)
class OsdModel:
    """Model of an OSD with its running options."""

    write_amplification: Annotated[Estimate, 'Prediction for db_write_amp.']
    objects: Annotated[
        Optional[Estimate],
        'Objects that clients write to, estimated from its writes; null if these do not tell.',
    ]


@dataclass(frozen=True)
class OsdDetail:
    """Details of one OSD."""

    place: Annotated[OsdPlace, InPlace()]
    in_cluster: Annotated[bool, 'Whether the OSD is in.']
    failure_domain: Annotated[
        Optional[FailureDomain],
        'Failure domain by the CRUSH rules of its pools, or its host without pools; null: unknown.',
    ]
    described: Annotated[Description, InPlace()]
    signals: Annotated[AllSignals, InPlace()]
    sharded: Annotated[Optional[bool], 'Whether its RocksDB is sharded into column families.']
    omap_seek_ms: Annotated[
        Optional[Amount],
        'Mean time to place an iterator in RocksDB, in milliseconds; null before Reef.',
    ]
    memory_mapped_bytes: Annotated[Optional[Count], 'Mapped memory; null without tcmalloc.']
    memory_target_bytes: Annotated[Optional[Count], 'Target of memory autotuning.']
    write_stall_share: Annotated[
        Optional[Amount],
        "Share of time with RocksDB write stalls, 0..1; null without RocksDB's statistics.",
    ]
    write_latency: Annotated[
        Optional[WriteLatency],
        'Breakdown of client write latency; null before two detailed samples.',
    ]
    forecast: Annotated[
        Optional[Forecast],
        'Forecast of a full DB device; null without a dedicated device.',
    ]
    last_start: Annotated[
        Optional[LastStart],
        'The last restart that the active mgr observed; null: none.',
    ]
    workload: Workload
    options: OptionsInFull
    findings: Annotated[tuple[Finding, ...], 'Findings that affect the OSD.']
    recommendations: Annotated[tuple[str, ...], 'Ids of the recommendations that include the OSD.']
    deep: Annotated[
        Optional[Deep],
        "Statistics of the OSD's RocksDB; null without --deep.",
    ]
    model: Annotated[
        Optional[OsdModel],
        'Model of the OSD with its running options; null if it does not cover the options, the '
        'workload or the database.',
    ]
    limit: Annotated[Limit, 'Current bottleneck of the clients of this OSD.']


def rows_of(snapshot: Snapshot, osds: Iterable[OsdFacts]) -> tuple[OsdRow, ...]:
    return tuple(_row(facts, snapshot.taken_s) for facts in osds)


def detail_of(detail: FoundDetail) -> OsdDetail:
    facts, info = detail.facts, detail.facts.info
    close, times = facts.details, facts.rocksdb_times
    return OsdDetail(
        place=place_of(info),
        in_cluster=info.in_cluster,
        failure_domain=domain_of(info.failure_domain),
        described=like(Description, info),
        signals=_signals(AllSignals, facts, detail.taken_s),
        sharded=facts.sharded,
        omap_seek_ms=close.omap_seek_ms if close else None,
        memory_mapped_bytes=close.memory_mapped_bytes if close else None,
        memory_target_bytes=close.memory_target_bytes if close else None,
        write_stall_share=times.stall_share if times else None,
        write_latency=write_latency_of(facts.write_latency),
        forecast=forecast_of(facts.forecast),
        last_start=like_if_any(LastStart, facts.last_start),
        workload=workload_of(facts.workload),
        options=options_of(facts.options),
        findings=detail.findings,
        recommendations=tuple(r.recommendation_id for r in detail.recommendations),
        deep=deep_of(detail.deep),
        model=_model(detail.modeled),
        limit=limit_of(detail.limit),
    )


def _row(facts: OsdFacts, taken_s: Optional[float]) -> OsdRow:
    return OsdRow(
        place_of(facts.info),
        workload_summary_of(facts.workload),
        _signals(Signals, facts, taken_s),
        running_of(facts.options),
    )


def _signals(answer: type[_Signals], facts: OsdFacts, taken_s: Optional[float]) -> _Signals:
    """Signals of an OSD at the time of the snapshot; all unknown without samples."""
    found = facts.signals or FoundSignals(facts.info.osd_id)
    return like(answer, found, sample_age_s=found.age_s(taken_s))


def _model(found: Optional[Modeled]) -> Optional[OsdModel]:
    if found is None:
        return None
    return OsdModel(found.write_amplification, found.objects)

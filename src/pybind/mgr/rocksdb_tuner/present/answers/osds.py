"""What OSDs do: a row of each, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...advise.records import OsdFacts
from ...advise.whatif.modeled import Modeled
from ...observe.signals import Signals as FoundSignals
from ...snapshot import Snapshot
from ..subjects import OsdDetail as FoundDetail
from .copies import like, like_if_any
from .deep import Deep, deep_of
from .estimates import Estimate, Objects, estimate_of, objects_of
from .findings import Finding, found_of
from .growth import Forecast, forecast_of
from .latency import WriteLatency, write_latency_of
from .notes import Amount, Count, InPlace
from .options import OptionsInFull, RunningOptions, options_of, running_of
from .places import FailureDomain, domain_of
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
class Signals:
    """What every row has."""

    sample_age_s: Annotated[Optional[Amount], 'Age of the newest report that was used, in seconds.']
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
        Optional[Amount], "Bytes that BlueFS wrote to RocksDB's WAL, per second."
    ]
    sst_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes that BlueFS wrote to SST files, per second.'
    ]
    compaction_bytes_per_s: Annotated[Optional[Amount], 'Bytes that compaction wrote, per second.']
    compaction_source: Annotated[
        Optional[Literal['measured', 'estimated']],
        "How the bytes of compaction are known: from RocksDB's own statistics, or from SST and WAL "
        'bytes.',
    ]
    db_write_amp: Annotated[Optional[Amount], '(WAL + SST bytes) / WAL bytes over the long window.']
    db_device_shared: Annotated[
        Optional[bool],
        'True where DB and data share a device, so that there is no limit of the DB alone.',
    ]
    db_used_bytes: Annotated[Optional[Count], 'Bytes that the DB takes on its device.']
    db_total_bytes: Annotated[
        Optional[Count],
        'Size of the DB device in bytes; null where it is shared with the data.',
    ]
    slow_used_bytes: Annotated[Optional[Count], 'Bytes of the DB on the slow device.']


@dataclass(frozen=True)
class AllSignals(Signals):
    """What is measured of an OSD."""

    window_s: Annotated[
        Optional[Amount], 'Length of the window of the rates and means, in seconds.'
    ]
    kv_flush_ms: Annotated[
        Optional[Amount], 'Mean duration of the device flush in kv_sync, in milliseconds.'
    ]
    rw_iops: Annotated[Optional[Amount], 'Client class calls that read and write, per second.']
    write_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client writes per second.']
    read_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client reads per second.']
    rw_bytes_per_s: Annotated[Optional[Amount], 'Bytes that client class calls wrote, per second.']
    read_bytes_avg: Annotated[Optional[Amount], 'Mean size of a client read, in bytes.']
    op_w_latency_ms: Annotated[Optional[Amount], 'Mean latency of a client write, in milliseconds.']
    recovery_ops_per_s: Annotated[Optional[Amount], 'Recovery operations per second.']
    recovery_bytes_per_s: Annotated[Optional[Amount], 'Bytes of recovery per second.']
    slow_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes of the WAL and SST files that went to the slow device, per second.'
    ]
    wal_bytes_per_client_byte: Annotated[Optional[Amount], 'WAL bytes per byte of client writes.']
    wal_bytes_per_write_op: Annotated[Optional[Amount], 'WAL bytes per client write.']
    compaction_window_s: Annotated[Optional[Amount], 'Seconds over which compaction was observed.']
    db_write_amp_window_s: Annotated[Optional[Amount], 'Length of the long window, in seconds.']
    wal_used_bytes: Annotated[Optional[Count], 'Bytes that the WAL takes on its device.']
    wal_total_bytes: Annotated[Optional[Count], 'Size of the WAL device in bytes.']
    slow_total_bytes: Annotated[Optional[Count], 'Size of the slow device in bytes.']


@dataclass(frozen=True)
class OsdRow:
    """What one OSD does."""

    place: Annotated[OsdPlace, InPlace()]
    workload: WorkloadSummary
    signals: Annotated[Signals, InPlace()]
    options: RunningOptions


@dataclass(frozen=True)
class Description:
    """What an OSD is."""

    version: Annotated[Optional[str], 'Version, "16.2.15".']
    release: Annotated[Optional[str], 'Release, "pacific".']
    objectstore: Annotated[Optional[str], 'Object store, "bluestore".']
    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.']
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.']
    db_device_bytes: Annotated[Optional[Count], 'Size of the dedicated DB device in bytes.']


@dataclass(frozen=True)
class LastStart:
    """The last absence that was watched from one process to the next."""

    away_s: Annotated[Optional[Amount], 'It was away for at least so long, in seconds.']
    away_most_s: Annotated[Optional[Amount], 'And for at most so long.']
    host_away: Annotated[
        Optional[bool],
        'Whether most OSDs of its host were away with it; null: no other one was there to tell.',
    ]


@dataclass(frozen=True)
class OsdModel:
    """What the model says of an OSD as it runs."""

    write_amplification: Annotated[Estimate, 'Predicted, beside db_write_amp.']
    objects: Annotated[
        Optional[Objects],
        'Objects that clients write to; null where what is written does not depend on them.',
    ]


@dataclass(frozen=True)
class OsdDetail:
    """All that is known of one OSD."""

    place: Annotated[OsdPlace, InPlace()]
    in_cluster: Annotated[bool, 'Whether the OSD is in.']
    failure_domain: Annotated[
        Optional[FailureDomain],
        'By the CRUSH rules of the pools that store data on it, else its host; null: not known.',
    ]
    described: Annotated[Description, InPlace()]
    signals: Annotated[AllSignals, InPlace()]
    sharded: Annotated[Optional[bool], 'Whether its RocksDB is sharded into column families.']
    omap_seek_ms: Annotated[
        Optional[Amount],
        'Mean time to place an iterator in RocksDB, in milliseconds; null before Reef.',
    ]
    memory_mapped_bytes: Annotated[
        Optional[Count], 'Memory that it has mapped; null without tcmalloc.'
    ]
    memory_target_bytes: Annotated[Optional[Count], 'Target of its memory autotuning.']
    write_stall_share: Annotated[
        Optional[Amount],
        "Share of the time in which RocksDB held up writes, 0..1; null without RocksDB's "
        'statistics.',
    ]
    write_latency: Annotated[
        Optional[WriteLatency],
        "Where the time of a client's write goes; null before two close looks.",
    ]
    forecast: Annotated[
        Optional[Forecast], 'When its DB device will be full; null without a dedicated one.'
    ]
    last_start: Annotated[
        Optional[LastStart],
        'Its last absence that the active manager watched from one process to the next; null: '
        'none.',
    ]
    workload: Workload
    options: OptionsInFull
    findings: Annotated[tuple[Finding, ...], 'The findings that concern it.']
    recommendations: Annotated[tuple[str, ...], 'Ids of the recommendations that concern it.']
    deep: Annotated[
        Optional[Deep],
        'What its RocksDB says of itself; null unless requested by --deep.',
    ]
    model: Annotated[
        Optional[OsdModel],
        'What the model says of the OSD as it runs; null where it has none of its options, its '
        'workload or its database.',
    ]
    limit: Annotated[Limit, 'What bounds the clients of this OSD now.']


def rows_of(snapshot: Snapshot) -> tuple[OsdRow, ...]:
    return tuple(map(_row, snapshot.osds))


def detail_of(detail: FoundDetail) -> OsdDetail:
    facts, info = detail.facts, detail.facts.info
    close, times = facts.details, facts.rocksdb_times
    return OsdDetail(
        place=place_of(info),
        in_cluster=info.in_cluster,
        failure_domain=domain_of(info.failure_domain),
        described=like(Description, info),
        signals=like(AllSignals, _signals(facts)),
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
        findings=found_of(detail.findings),
        recommendations=tuple(r.recommendation_id for r in detail.recommendations),
        deep=deep_of(detail.deep),
        model=_model(detail.modeled),
        limit=limit_of(detail.limit),
    )


def _row(facts: OsdFacts) -> OsdRow:
    return OsdRow(
        place_of(facts.info),
        workload_summary_of(facts.workload),
        like(Signals, _signals(facts)),
        running_of(facts.options),
    )


def _signals(facts: OsdFacts) -> FoundSignals:
    """Of an OSD of which nothing is measured all are unknown."""
    return facts.signals or FoundSignals(facts.info.osd_id)


def _model(found: Optional[Modeled]) -> Optional[OsdModel]:
    if found is None:
        return None
    return OsdModel(estimate_of(found.write_amplification), objects_of(found.working_set))

"""OSDs: a row each, one in full, their workloads, and the charts of the dashboard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.limit import limit_of_osd
from ...advise.records import Finding, GroupFacts, Limit, OsdFacts, OsdOptions, Recommendation
from ...advise.whatif.tree import Modeled, modeled
from ...deep.reader import OsdDeepStats
from ...mgr.records import OsdInfo
from ...notes import Amount, Count, Digits, InPlace, OsdId, Picked, Time
from ...observe.signals import Signals
from ...observe.trend import TREND_SIGNALS, Forecast, GrowthPoints
from ...observe.trend import Trend as FoundTrend
from ...snapshot import Snapshot
from ...units import format_time
from ...workload.records import UNKNOWN_WORKLOAD, Workload
from ..subjects import facts_of

_PLACE = InPlace('osd_id', 'host', 'device_class', 'up')
_SIGNALS_OF_A_ROW = (
    'kv_sync_ms',
    'kv_sync_busy',
    'commit_ms',
    'write_iops',
    'read_iops',
    'write_bytes_avg',
    'wal_bytes_per_s',
    'sst_bytes_per_s',
    'compaction_bytes_per_s',
    'compaction_source',
    'db_write_amp',
    'db_device_shared',
    'db_used_bytes',
    'db_total_bytes',
    'slow_used_bytes',
)
_Values = tuple[Optional[Amount], ...]
_SampleAge = Annotated[Optional[Amount], 'Age of the newest sample, in seconds.']


@dataclass(frozen=True)
class OsdRow:
    """Summary of one OSD."""

    info: Annotated[OsdInfo, _PLACE]
    workload: Annotated[Workload, Picked('workload_class', 'confidence')]
    sample_age_s: _SampleAge
    signals: Annotated[Optional[Signals], InPlace(*_SIGNALS_OF_A_ROW)]
    options: Annotated[Optional[OsdOptions], Picked('profile', 'pending_restart', 'source')]


@dataclass(frozen=True)
class OsdDetail:
    """Details of one OSD."""

    facts: Annotated[OsdFacts, InPlace()]
    sample_age_s: _SampleAge
    workload: Annotated[Workload, 'Workload of the clients.']
    findings: Annotated[tuple[Finding, ...], 'Findings that affect the OSD.']
    recommended: tuple[Recommendation, ...]
    deep: Annotated[Optional[OsdDeepStats], "Statistics of the OSD's RocksDB; null without --deep."]
    model: Annotated[
        Optional[Modeled],
        'Model of the OSD with its running options; null if it does not cover the options, the '
        'workload or the database.',
    ]
    limit: Annotated[Limit, 'Current bottleneck of the clients of this OSD.']

    @property
    def recommendations(
        self,
    ) -> Annotated[tuple[str, ...], 'Ids of the recommendations that include the OSD.']:
        return tuple(r.recommendation_id for r in self.recommended)


def rows_of(snapshot: Snapshot) -> tuple[OsdRow, ...]:
    return tuple(
        OsdRow(
            facts.info,
            facts.workload or UNKNOWN_WORKLOAD,
            sample_age_s(facts, snapshot),
            facts.signals,
            facts.options,
        )
        for facts in snapshot.osds
    )


def detail_of(snapshot: Snapshot, osd_id: int, deep: Optional[OsdDeepStats] = None) -> OsdDetail:
    """An OSD with all related data; raises PresentError (ENOENT) if it does not exist."""
    facts = facts_of(snapshot, osd_id)
    return OsdDetail(
        facts,
        sample_age_s(facts, snapshot),
        facts.workload or UNKNOWN_WORKLOAD,
        findings=tuple(f for f in snapshot.findings if osd_id in f.osds),
        recommended=tuple(r for r in snapshot.recommendations if osd_id in r.osds),
        deep=deep,
        model=modeled(facts),
        limit=limit_of_osd(facts),
    )


def sample_age_s(facts: OsdFacts, snapshot: Snapshot) -> Optional[float]:
    return None if facts.signals is None else facts.signals.age_s(snapshot.taken_s)


@dataclass(frozen=True)
class GroupWorkload:
    """Workload of the OSDs of one device class."""

    group: Annotated[GroupFacts, InPlace('who', 'osd_ids', 'limit')]
    workload: Annotated[Workload, 'Workload of the clients.']


@dataclass(frozen=True)
class OsdWorkload:
    """Workload of one OSD."""

    info: Annotated[OsdInfo, _PLACE]
    workload: Annotated[Workload, 'Workload of the clients.']


@dataclass(frozen=True)
class Workloads:
    """Workloads by group and by OSD, with evidence."""

    groups: Annotated[tuple[GroupWorkload, ...], 'Workloads by device class.']
    osds: Annotated[tuple[OsdWorkload, ...], 'Workloads by OSD.']


def workloads_of(snapshot: Snapshot) -> Workloads:
    return Workloads(
        tuple(GroupWorkload(g, g.workload or UNKNOWN_WORKLOAD) for g in snapshot.groups),
        tuple(OsdWorkload(o.info, o.workload or UNKNOWN_WORKLOAD) for o in snapshot.osds),
    )


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


@dataclass(frozen=True)
class Growth:
    """Data points behind the forecast."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    time_s: Annotated[tuple[int, ...], 'Seconds since the epoch, oldest first.']
    used_bytes: Annotated[tuple[Count, ...], 'Space used on the DB device at each of these times.']
    total_bytes: Annotated[
        Optional[Count],
        'Size of the DB device; null without a dedicated device or without data.',
    ]
    forecast: Annotated[
        Optional[Forecast],
        'Forecast of a full DB device; null without a dedicated device.',
    ]


def growth_of(facts: OsdFacts, points: Optional[GrowthPoints]) -> Growth:
    return Growth(
        osd=facts.info.osd_id,
        time_s=tuple(round(time_s) for time_s in points.times_s) if points else (),
        used_bytes=points.used_bytes if points else (),
        total_bytes=points.total_bytes if points else None,
        forecast=facts.forecast,
    )


#: Shown as a color, which needs no more digits.
_Shade = Annotated[Amount, Digits(3)]


@dataclass(frozen=True)
class Named:
    """A text for every OSD."""

    names: Annotated[tuple[Optional[str], ...], 'Distinct texts; null: unknown, or none.']
    index: Annotated[tuple[Count, ...], 'Index of the text of each OSD.']


@dataclass(frozen=True)
class OsdMap:
    """Columnar map: every list and every index has as many items as osds."""

    time: Annotated[Optional[Time], 'Time of the data. ISO 8601, UTC.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    up: Annotated[tuple[bool, ...], 'Whether the OSD is up.']
    hosts: Annotated[Named, 'Names of their hosts.']
    device_classes: Annotated[Named, 'Device classes, from the CRUSH map.']
    workloads: Annotated[Named, 'Workload classes.']
    profiles: Annotated[Named, 'Names of the running profiles.']
    sources: Annotated[Named, 'Sources of the options.']
    pending_restart: Annotated[
        tuple[Optional[bool], ...],
        'Whether a restart would apply the configured options.',
    ]
    kv_sync_ms: Annotated[
        tuple[Optional[_Shade], ...], 'Mean duration of one round of the kv_sync thread.'
    ]
    kv_sync_busy: Annotated[tuple[Optional[_Shade], ...], 'Time inside kv_sync over wall time.']
    db_used_ratio: Annotated[
        tuple[Optional[_Shade], ...],
        'Used share of the DB device, 0..1; null without a dedicated device.',
    ]
    spilled: Annotated[
        tuple[Optional[bool], ...], 'Whether a part of the DB is on the slow device.'
    ]


def osd_map_of(snapshot: Snapshot) -> OsdMap:
    osds = snapshot.osds
    signals = [facts.signals or Signals(facts.info.osd_id) for facts in osds]
    options = [facts.options for facts in osds]
    return OsdMap(
        time=format_time(snapshot.taken_s),
        osds=tuple(facts.info.osd_id for facts in osds),
        up=tuple(facts.info.up for facts in osds),
        hosts=_named(facts.info.host for facts in osds),
        device_classes=_named(facts.info.device_class for facts in osds),
        workloads=_named(
            (facts.workload or UNKNOWN_WORKLOAD).workload_class.value for facts in osds
        ),
        profiles=_named(o.profile if o else None for o in options),
        sources=_named(o.source if o else None for o in options),
        pending_restart=tuple(o.pending_restart if o else None for o in options),
        kv_sync_ms=tuple(s.kv_sync_ms for s in signals),
        kv_sync_busy=tuple(s.kv_sync_busy for s in signals),
        db_used_ratio=tuple(_used_ratio(s) for s in signals),
        spilled=tuple(
            None if s.slow_used_bytes is None else s.slow_used_bytes > 0 for s in signals
        ),
    )


def _used_ratio(signals: Signals) -> Optional[float]:
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


def _named(texts: Iterable[Optional[str]]) -> Named:
    """Distinct texts, with the index of each item."""
    names: dict[Optional[str], int] = {}
    index = tuple(names.setdefault(text, len(names)) for text in texts)
    return Named(tuple(names), index)

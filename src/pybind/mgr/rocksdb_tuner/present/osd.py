"""OSDs: `osd`, `osd <id>`, `osd deep`, `workload`, and the charts of the dashboard."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Optional, Union

from ..advise.limit import limit_of_osd, limited_by
from ..advise.records import (
    Finding,
    GroupFacts,
    Limit,
    OsdFacts,
    OsdOptions,
    Recommendation,
    Severity,
)
from ..advise.whatif.tree import Modeled, modeled
from ..deep.reader import OsdDeepStats
from ..mgr.records import OsdInfo
from ..notes import Amount, Count, Digits, InPlace, OsdId, Picked, Time
from ..observe.details import LatencyPart, WriteLatency
from ..observe.kv_stats import ColumnFamilyStats, LevelStats
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..observe.trend import HORIZON, MIN_HISTORY_S, TREND_SIGNALS, Forecast, GrowthPoints, Outlook
from ..observe.trend import Trend as FoundTrend
from ..options.verdict import BadQuestionError
from ..plan.entries import reaches
from ..snapshot import Snapshot
from ..units import (
    UNKNOWN,
    format_bytes,
    format_bytes_short,
    format_count,
    format_duration,
    format_ids,
    format_percent,
    format_plural,
    format_ratio,
    format_span,
    format_time,
    format_used,
)
from ..workload.pressure import PRESSURE
from ..workload.records import UNKNOWN_WORKLOAD, Evidence, Workload
from .layout import (
    ROWS,
    Column,
    bullets,
    fields,
    filled,
    joined,
    paragraph,
    sections,
    shown,
    table,
    value_at,
)
from .phrases import (
    COMMAND,
    PENDING_MARK,
    SEVERITIES,
    UNNAMED_OPTIONS,
    changes_table,
    common,
    estimated,
    measured_value,
    nothing_known,
    objects_written_to,
    options_in_use,
    options_or_empty,
    pending_note,
    profile_or_none,
    severity_mark,
    workload_cells,
    workload_text,
    worst_first,
)

_PLACE = InPlace('osd_id', 'host', 'device_class', 'up')
_SIGNALS_OF_A_ROW = (
    *('kv_sync_ms', 'kv_sync_busy', 'commit_ms', 'write_iops', 'read_iops', 'write_bytes_avg'),
    *('wal_bytes_per_s', 'sst_bytes_per_s', 'compaction_bytes_per_s', 'compaction_source'),
    *('db_write_amp', 'db_device_shared', 'db_used_bytes', 'db_total_bytes', 'slow_used_bytes'),
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
        OsdRow(f.info, _workload(f), _sample_age_s(f, snapshot), f.signals, f.options)
        for f in snapshot.osds
    )


def _workload(of: Union[OsdFacts, GroupFacts]) -> Workload:
    return of.workload or UNKNOWN_WORKLOAD


def detail_of(snapshot: Snapshot, osd_id: int, deep: Optional[OsdDeepStats] = None) -> OsdDetail:
    """An OSD with all related data; raises BadQuestionError (ENOENT) if it does not exist."""
    facts = facts_of(snapshot, osd_id)
    return OsdDetail(
        facts,
        _sample_age_s(facts, snapshot),
        _workload(facts),
        findings=tuple(f for f in snapshot.findings if osd_id in f.osds),
        recommended=tuple(r for r in snapshot.recommendations if osd_id in r.osds),
        deep=deep,
        model=modeled(facts),
        limit=limit_of_osd(facts),
    )


def _sample_age_s(facts: OsdFacts, snapshot: Snapshot) -> Optional[float]:
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
        tuple(GroupWorkload(g, _workload(g)) for g in snapshot.groups),
        tuple(OsdWorkload(o.info, _workload(o)) for o in snapshot.osds),
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


def trends_of(*series: tuple[Optional[int], Optional[str], FoundTrend]) -> tuple[Trend, ...]:
    """Time series of OSDs, or of a device class: id, class, and series of each."""
    return tuple(
        Trend(
            osd_id,
            device_class,
            tuple(round(time_s) for time_s in found.times_s),
            **{signal: found.values[signal] for signal in TREND_SIGNALS},
        )
        for osd_id, device_class, found in series
    )


@dataclass(frozen=True)
class Growth:
    """Data points behind the forecast."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    time_s: Annotated[tuple[int, ...], 'Seconds since the epoch, oldest first.']
    used_bytes: Annotated[tuple[Count, ...], 'Space used on the DB device at each of these times.']
    total_bytes: Annotated[
        Optional[Count], 'Size of the DB device; null without a dedicated device or without data.'
    ]
    forecast: Annotated[
        Optional[Forecast], 'Forecast of a full DB device; null without a dedicated device.'
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
        tuple[Optional[bool], ...], 'Whether a restart would apply the configured options.'
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

    def column(path: str) -> tuple[Any, ...]:
        return tuple(value_at(facts, path) for facts in osds)

    return OsdMap(
        time=format_time(snapshot.taken_s),
        osds=column('info.osd_id'),
        up=column('info.up'),
        hosts=_named(column('info.host')),
        device_classes=_named(column('info.device_class')),
        workloads=_named(_workload(facts).workload_class.value for facts in osds),
        profiles=_named(column('options.profile')),
        sources=_named(column('options.source')),
        pending_restart=column('options.pending_restart'),
        kv_sync_ms=column('signals.kv_sync_ms'),
        kv_sync_busy=column('signals.kv_sync_busy'),
        db_used_ratio=tuple(used_ratio(facts.signals) for facts in osds),
        spilled=tuple(n if n is None else n > 0 for n in column('signals.slow_used_bytes')),
    )


def used_ratio(signals: Optional[Signals]) -> Optional[float]:
    """The used share of a dedicated DB device."""
    if signals is None or signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


def _named(texts: Iterable[Optional[str]]) -> Named:
    """Distinct texts, with the index of each item."""
    names: dict[Optional[str], int] = {}
    index = tuple(names.setdefault(text, len(names)) for text in texts)
    return Named(tuple(names), index)


def worst_osds(
    snapshot: Snapshot, who: Optional[str] = None, worst: Optional[int] = None
) -> Snapshot:
    """Only the ``worst`` OSDs of ``who``: those with the worst findings, then the busiest.

    Raises BadQuestionError if there are none.
    """
    if worst is not None and worst < 1:
        raise BadQuestionError(errno.EINVAL, f'invalid --worst {worst}: use a number from 1 on')
    found = [f for f in snapshot.osds if who is None or reaches(who, f.info)]
    if who is not None and not found:
        groups = ', '.join(group.who for group in snapshot.groups) or 'none'
        raise BadQuestionError(errno.ENOENT, f'no OSD matches "{who}"; groups: {groups}')
    ranks: dict[int, int] = {}
    for finding in reversed(worst_first(snapshot.findings)):
        if finding.severity is not Severity.INFO:
            ranks.update(dict.fromkeys(finding.osds, SEVERITIES.index(finding.severity)))

    def key(facts: OsdFacts) -> tuple[float, float, float, int]:
        signals = facts.signals
        busy, iops = (signals.kv_sync_busy, signals.write_iops) if signals else (None, None)
        osd_id = facts.info.osd_id
        return ranks.get(osd_id, len(SEVERITIES)), -(busy or 0.0), -(iops or 0.0), osd_id

    return replace(snapshot, osds=tuple(sorted(found, key=key)[:worst]))


def facts_of(snapshot: Snapshot, osd_id: int) -> OsdFacts:
    """The facts of an OSD; raises BadQuestionError (ENOENT) if it does not exist."""
    for facts in snapshot.osds:
        if facts.info.osd_id == osd_id:
            return facts
    if not snapshot.osds:
        raise BadQuestionError(
            errno.ENOENT,
            f'osd.{osd_id} is unknown: the cluster has not been sampled yet, try again in a moment',
        )
    known = format_ids(facts.info.osd_id for facts in snapshot.osds)
    raise BadQuestionError(
        errno.ENOENT, f'osd.{osd_id} does not exist; OSDs of this cluster: {known}'
    )


#: Stages of a write below this share are omitted.
_MIN_SHARE = 0.01
_DEPTHS = {
    'client-op': 0,
    **dict.fromkeys(('osd-queue', 'osd-prepare', 'bluestore', 'replicas'), 1),
    **dict.fromkeys(('prepare', 'data-write', 'kv'), 2),
    **dict.fromkeys(('throttle', 'kv-queue', 'kv-flush', 'kv-commit'), 3),
    **dict.fromkeys(('wal-sync', 'memtable-insert'), 4),
}
_STAGES: Sequence[Column[LatencyPart]] = (
    Column('WRITE STAGE', lambda p: '. ' * _DEPTHS[p.part] + p.part),
    Column('MEAN', 'ms', 'r'),
    Column('SHARE', 'share', 'r'),
)
#: The source of the release's own option string, shown instead of a profile.
_RELEASE_DEFAULT = 'default'
#: Separates the usage of the DB device from the spillover.
_SPILLED = '+'


def osd(detail: OsdDetail) -> str:
    """An OSD in full, what matters most first."""
    facts, about = detail.facts, _about(detail.facts)
    if detail.deep is not None:
        return sections(fields(about[0]), _deep(detail.deep, sharded=facts.sharded))
    unmeasured = 'No samples yet.' if facts.info.up else 'No samples: the OSD is down.'
    advised = (
        (joined(r.kind.value, r.profile, by=' '), f'{COMMAND} recommend {r.recommendation_id}')
        for r in detail.recommended
    )
    return sections(
        fields(*about),
        joined(
            *(
                paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding))
                for finding in worst_first(detail.findings)
            ),
            *(paragraph(f'{do}, see "{see}"', 4, 'Recommended: ') for do, see in advised),
        ),
        fields(
            ('Workload', workload_text(facts.workload)),
            ('Limited by', limited_by(detail.limit) or None),
        ),
        joined(
            *(
                paragraph(f'{e.statement} ({measured_value(*e[:4])})', 2, '- ')
                for e in _evidence(facts.workload)
            )
        ),
        fields(*_signals(facts.signals, detail)) if facts.signals else unmeasured,
        _options(facts.options),
        _latency(facts.write_latency),
    )


def _evidence(workload: Optional[Workload]) -> Iterable[Evidence]:
    """Without that of the limit, which is shown beside it."""
    return (e for e in (workload.evidence if workload else ()) if e.signal not in PRESSURE)


def _about(facts: OsdFacts) -> Sequence[tuple[str, Optional[str]]]:
    info, start = facts.info, facts.last_start
    state = ', '.join(('up' if info.up else 'down', 'in' if info.in_cluster else 'out'))
    device_class = 'without a class' if info.device_class is None else f'class {info.device_class}'
    release = f'{info.version or UNKNOWN} ({info.release or "unknown release"})'
    devices = UNKNOWN
    if info.dedicated_db is not None:
        size = '' if info.db_device_bytes is None else f' ({format_bytes(info.db_device_bytes)})'
        devices = joined(
            ('dedicated DB device' if info.dedicated_db else 'DB on the data device') + size,
            'dedicated WAL device' if info.dedicated_wal else '',
            'RocksDB is not sharded' if facts.sharded is False else '',
            by=', ',
        )
    return (
        (f'osd.{info.osd_id}', f'{state}, {info.host or "unknown host"}, {device_class}'),
        ('Failure domain', shown(info, 'failure_domain')),
        ('Version', f'{release}, {info.objectstore or "unknown object store"}'),
        ('Devices', devices),
        ('Last start', _last_start(start) if start else None),
    )


def _last_start(start: LastStart) -> str:
    least, most = format_span(start.away_s), format_span(start.away_most_s)
    # Without a sample while it was down only the upper bound is known.
    away = f'for at most {most}' if not start.away_s else least
    if start.away_s and least != most:
        away += f' (at most {most})'
    return f'was down {away}' + (', with most OSDs of its host' if start.host_away else '')


#: A label and its figures.
_CLIENT = """\
Client writes: {write_iops}, {write_bytes_per_s}, mean {write_bytes_avg}, {op_w_latency_ms}
Client reads: {read_iops}, {read_bytes_per_s}, mean {read_bytes_avg}"""
_CALLS = 'Class calls: {rw_iops}, {rw_bytes_per_s}'
_RECOVERY = 'Recovery: {recovery_ops_per_s}, {recovery_bytes_per_s}'
_ROCKSDB = """\
kv_sync: {kv_sync_busy} busy, {kv_sync_ms} per round (flush {kv_flush_ms}), commit {commit_ms}
WAL writes: {wal_bytes_per_s}, {wal_bytes_per_client_byte} per client byte, \
{wal_bytes_per_write_op} per write
SST writes: {sst_bytes_per_s}, by compaction {compaction_bytes_per_s} ({compaction_source}), \
to the slow device {slow_bytes_per_s}"""


def _signals(s: Signals, detail: OsdDetail) -> Iterable[tuple[str, Optional[str]]]:
    facts, model = detail.facts, detail.model
    yield 'Window', f'{shown(s, "window_s")}, newest sample {shown(detail, "sample_age_s")} old'
    optional = (_CALLS if s.rw_iops else None, _RECOVERY if s.recovery_ops_per_s else None)
    for line in joined(_CLIENT, *optional, _ROCKSDB).split('\n'):
        label, _, figures = line.partition(': ')
        yield label, filled(figures, s).replace(' (-)', '').replace('-, -, mean', '-, mean')
    amplification = shown(s, 'db_write_amp')
    if s.db_write_amp is not None and s.db_write_amp_window_s is not None:
        amplification += f' over {format_duration(s.db_write_amp_window_s)}'
    if model is not None:
        amplification += f', by the model {estimated(model.write_amplification, format_ratio)}'
    yield 'DB write amp', amplification
    db = format_used(s.db_used_bytes, s.db_total_bytes)
    wal = format_used(s.wal_used_bytes, s.wal_total_bytes)
    yield 'Used', f'DB {db}, WAL {wal}, slow device {shown(s, "slow_used_bytes")}'
    yield 'DB full', _forecast(facts.forecast) if facts.forecast else None
    objects = model.objects if model else None
    yield 'Objects written to', objects_written_to(objects) if objects else None
    if facts.details is not None and facts.details.memory_target_bytes is not None:
        memory = '{memory_mapped_bytes} mapped, target {memory_target_bytes}'
        yield 'Memory', filled(memory, facts.details)


def _forecast(forecast: Forecast) -> str:
    history, latest = format_duration(forecast.history_s), forecast.full_latest_s
    growth = f'{format_bytes(forecast.growth_bytes_per_day)}/day over the last {history}'
    # Beyond the horizon of the history a time says nothing.
    known = latest is not None and latest <= HORIZON * forecast.history_s
    within = f'to {format_duration(latest)}' if known else 'or later'
    return {
        Outlook.SPILLED: 'already spilled over to the slow device',
        Outlook.NOT_ENOUGH_HISTORY: (
            f'not enough history ({history} of {format_duration(MIN_HISTORY_S)})'
        ),
        Outlook.NOT_GROWING: f'no growth in the last {history}',
        Outlook.BEYOND_HORIZON: f'not soon: {growth}',
    }.get(
        forecast.outlook,
        f'in {format_duration(forecast.full_in_s)} '
        f'({format_duration(forecast.full_earliest_s)} {within}): {growth}',
    )


def _latency(latency: Optional[WriteLatency]) -> str:
    """The latency of a write by stage; empty without client writes."""
    if latency is None or not latency.client_op_ms:
        return ''
    over = f'Over {format_duration(latency.window_s)}; flush, commit, sync: of one kv_sync round.'
    return joined(table(_STAGES, (p for p in latency.parts if (p.share or 0) >= _MIN_SHARE)), over)


def _options(options: Optional[OsdOptions]) -> str:
    if options is None:
        return 'The running options are unknown.'
    source, starts = options.source, None
    if options.overruled:
        source += '; it overrides the config store'
    elif options.deciding_who is not None:
        when = ', at the next start the' if options.pending_restart else ','
        source += f'{when} entry of {options.deciding_who}'
    following, unstartable = options.next_start, options.starts is False
    changes = following is not None and (options.pending_restart or unstartable)
    if changes and unstartable:
        see = f'see "{COMMAND} findings unstartable-options"'
        starts = f'NO: the OSD would not start with these options, {see}'
    coming = options_or_empty(following or '') if changes else None
    return sections(
        fields(
            ('Profile', profile_or_none(options.profile)),
            ('Source', source),
            ('Running', options_or_empty(options.running)),
            ('Including annex', options.annex or None),
            ('Next start', 'unknown' if following is None else coming),
            ('Starts', starts),
        ),
        changes_table((changes and options.difference) or (), 'RUNNING', 'NEXT START'),
    )


def osds(snapshot: Snapshot, *, everything: bool = False) -> str:
    """A row per OSD, in the order of the snapshot."""
    rows = snapshot.osds
    if not rows:
        return nothing_known(snapshot.mode)
    # Such as ".example.com".
    hosts = (f.info.host.partition('.') for f in rows if f.info.host is not None)
    domain = common(dot + domain if name else '' for name, dot, domain in hosts) or ''
    columns: Sequence[Column[OsdFacts]] = (
        Column('ID', 'info.osd_id', 'r'),
        Column('HOST', lambda f: (f.info.host or UNKNOWN)[: -len(domain) or None], omit=1),
        Column('CLASS', 'info.device_class', omit=5),
        Column('WORKLOAD', lambda f: _workload_of(f)[0]),
        Column('WR/S', lambda f: f.signals and format_count(f.signals.write_iops), 'r', omit=2),
        Column('KV SYNC', 'signals.kv_sync_ms', 'r', omit=4),
        Column('BUSY', 'signals.kv_sync_busy', 'r'),
        Column('DB', lambda f: f.signals and _db_used(f.signals), 'r'),
        Column('OPTIONS', lambda f: _profile(f.options) if f.options else None, omit=3),
    )
    shown_rows = rows if everything else rows[:ROWS]
    spilled = any(facts.signals and facts.signals.slow_used_bytes for facts in shown_rows)
    return sections(
        table(columns, rows, limit=len(shown_rows)),
        joined(
            f'{_SPILLED} spilled over to the slow device' if spilled else '',
            pending_note(options_in_use(rows).pending_restart),
        ),
    )


def _db_used(signals: Signals) -> str:
    """Usage of a dedicated DB device, or the size of a DB on a shared one; and spillover."""
    ratio, spilled = used_ratio(signals), signals.slow_used_bytes
    used = format_bytes_short(signals.db_used_bytes) if ratio is None else format_percent(ratio)
    return f'{used}{_SPILLED}{format_bytes_short(spilled)}' if spilled else used


def _profile(options: OsdOptions) -> str:
    # The default is that of the OSD's release; options from other sources have a name.
    by_default = options.profile is not None and options.source == _RELEASE_DEFAULT
    name = _RELEASE_DEFAULT if by_default else options.profile or UNNAMED_OPTIONS
    return name + (PENDING_MARK if options.pending_restart else '')


def _workload_of(facts: OsdFacts) -> tuple[str, str]:
    return workload_cells(facts.workload) if facts.info.up else ('(down)', UNKNOWN)


_WORKLOADS: Sequence[Column[OsdFacts]] = (
    Column('ID', 'info.osd_id', 'r'),
    Column('HOST', 'info.host', omit=1),
    Column('CLASS', 'info.device_class', omit=2),
    Column('WORKLOAD', lambda f: _workload_of(f)[0]),
    Column('CONFIDENCE', lambda f: _workload_of(f)[1], 'r'),
)


def workload(snapshot: Snapshot, *, osds: bool = False, everything: bool = False) -> str:
    """Workload and limit of each group, with evidence; a row per OSD if ``osds``."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    of_group = {g.device_class: g.workload.workload_class for g in snapshot.groups if g.workload}

    def is_usual(facts: OsdFacts) -> bool:
        found = facts.workload and facts.workload.workload_class
        return found == of_group.get(facts.info.device_class or '')

    # OSDs whose workload differs from their group's first.
    rows = sorted(snapshot.osds, key=is_usual) if osds else ()
    return sections(
        *map(_group, snapshot.groups), table(_WORKLOADS, rows, limit=None if everything else ROWS)
    )


def _group(group: GroupFacts) -> str:
    limited, osds = limited_by(group.limit), format_plural(len(group.osds), 'OSD')
    return joined(
        paragraph(f'{group.who} ({osds}): {workload_text(group.workload)}'),
        bullets(e.statement for e in _evidence(group.workload)),
        paragraph(limited, 4, '  Limited by ') if limited else '',
    )


_FAMILIES: Sequence[Column[ColumnFamilyStats]] = (
    Column('COLUMN FAMILY', 'name'),
    Column('FILES', lambda f: format_count(f.files), 'r'),
    Column('SIZE', 'size_bytes', 'r'),
    Column('FLUSHED', 'flush_bytes', 'r'),
    Column('WRITTEN', 'compaction_write_bytes', 'r'),
    Column('READ', 'compaction_read_bytes', 'r'),
    Column('WRITE AMP', 'write_amp', 'r'),
    Column('STALLS', lambda f: format_count(sum(f.stalls.values())) if f.stalls else None, 'r'),
)
_LEVELS: Sequence[Column[tuple[str, LevelStats]]] = (
    Column('COLUMN FAMILY', lambda row: row[0]),
    Column('LEVEL', lambda row: f'L{row[1].level}'),
    Column('FILES', lambda row: format_count(row[1].files), 'r'),
    Column('SIZE', lambda row: format_bytes(row[1].size_bytes), 'r'),
    Column('SCORE', lambda row: format_count(row[1].score), 'r'),
    Column('WRITTEN', lambda row: format_bytes(row[1].write_bytes), 'r'),
    Column('WRITE AMP', lambda row: format_ratio(row[1].write_amp), 'r'),
    Column('COMPACTIONS', lambda row: format_count(row[1].compactions), 'r'),
)
_TOTALS = {
    'RocksDB uptime': 'uptime_s',
    'Writes stalled for': 'stalled_s',
    'Memtables': 'memtable_bytes',
    'Block cache': 'block_cache_bytes',
    'Flushes wrote': 'totals.flush_write_bytes',
    'Compaction read': 'totals.compact_read_bytes',
    'Compaction wrote': 'totals.compact_write_bytes',
    'WAL': 'totals.wal_bytes',
}


def _deep(look: OsdDeepStats, *, sharded: Optional[bool]) -> str:
    """``sharded``: whether there are more column families than "default"; None if unknown."""
    stats, families = look.stats, look.stats.column_families
    used = [f for f in families if f.files or f.stalls or f.compaction_write_bytes]
    levels = ((f.name, level) for f in families for level in f.levels if level.files)
    known = (path for path in _TOTALS.items() if stats.totals or '.' not in path[1])
    return sections(
        fields(*((label, shown(stats, path)) for label, path in known)),
        joined(*map(paragraph, _remarks(look, sharded=sharded))),
        table(_FAMILIES, used) if families else 'RocksDB reports no column families.',
        table(_LEVELS, levels),
    )


def _remarks(look: OsdDeepStats, *, sharded: Optional[bool]) -> Iterable[str]:
    only_default = [family.name for family in look.stats.column_families] == ['default']
    if only_default and sharded is not False:
        yield (
            'This release reports only the column family "default", which is almost empty in a '
            'sharded RocksDB.'
        )
    if look.stats.totals is None:
        yield 'Totals over all column families require an OSD that was started with rocksdb_perf.'
    if look.not_put_back:
        yield f'Still enabled, and retried until restored: {", ".join(look.not_put_back)}.'
    elif look.switched_on:
        yield f'Enabled temporarily: {", ".join(look.switched_on)}.'

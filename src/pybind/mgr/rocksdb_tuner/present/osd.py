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
from ..kinds import kind_of
from ..mgr.records import OsdInfo
from ..notes import Amount, Count, InPlace, OsdId, Picked
from ..observe.details import LatencyPart
from ..observe.kv_stats import LevelStats
from ..observe.signals import Signals
from ..observe.trend import Forecast, GrowthPoints
from ..observe.trend import Trend as FoundTrend
from ..options.verdict import BadQuestionError
from ..plan.entries import reaches
from ..snapshot import Snapshot
from ..units import (
    UNKNOWN,
    format_bytes,
    format_bytes_short,
    format_count,
    format_ids,
    format_percent,
    format_plural,
    format_ratio,
    format_span,
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
    outline,
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
    OptionsInUse,
    changes_table,
    common,
    estimated,
    measured_value,
    nothing_known,
    options_in_use,
    options_name,
    pending_note,
    severity_mark,
    workload_text,
    worst_first,
)
from .to_json import to_json

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
class Group:
    """The OSDs of one device class."""

    group: Annotated[GroupFacts, InPlace('who', 'osd_ids', 'limit')]
    workload: Annotated[Workload, 'Workload of the clients.']
    options: Annotated[OptionsInUse, 'Running options of the OSDs.']


def groups_of(snapshot: Snapshot) -> tuple[Group, ...]:
    return tuple(Group(g, _workload(g), options_in_use(g.osds)) for g in snapshot.groups)


@dataclass(frozen=True)
class OsdWorkload:
    """Workload of one OSD."""

    info: Annotated[OsdInfo, _PLACE]
    workload: Annotated[Workload, 'Workload of the clients.']


@dataclass(frozen=True)
class Workloads:
    """Workloads by group and by OSD, with evidence."""

    groups: Annotated[tuple[Group, ...], 'Workloads by device class.']
    osds: Annotated[tuple[OsdWorkload, ...], 'Workloads by OSD.']


def workloads_of(snapshot: Snapshot) -> Workloads:
    osds = (OsdWorkload(o.info, _workload(o)) for o in snapshot.osds)
    return Workloads(groups_of(snapshot), tuple(osds))


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
    """Of the id of an OSD or the name of a device class, with its series."""
    return tuple(
        Trend(osd_id, device_class, tuple(map(round, found.times_s)), **found.values)
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
    known = points or GrowthPoints((), (), 0, 0)
    return Growth(
        facts.info.osd_id,
        tuple(map(round, known.times_s)),
        known.used_bytes,
        None if points is None else points.total_bytes,
        facts.forecast,
    )


@dataclass(frozen=True)
class Named:
    """A text for every OSD."""

    names: Annotated[tuple[Optional[str], ...], 'Distinct texts; null: unknown, or none.']
    index: Annotated[tuple[Count, ...], 'Index of the text of each OSD.']


@dataclass(frozen=True)
class OsdMap:
    """Columnar map: every list and every index has as many items as osds."""

    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    up: Annotated[tuple[bool, ...], 'Whether the OSD is up.']
    hosts: Annotated[Named, 'Names of their hosts.']
    device_classes: Annotated[Named, 'Device classes, from the CRUSH map.']
    workloads: Annotated[Named, 'Workload classes.']
    profiles: Annotated[Named, 'Names of the running profiles.']
    pending_restart: Annotated[
        tuple[Optional[bool], ...], 'Whether a restart would apply the configured options.'
    ]
    kv_sync_ms: Annotated[
        tuple[Optional[Amount], ...], 'Mean duration of one round of the kv_sync thread.'
    ]
    kv_sync_busy: Annotated[tuple[Optional[Amount], ...], 'Time inside kv_sync over wall time.']
    db_used_ratio: Annotated[
        tuple[Optional[Amount], ...],
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
        osds=column('info.osd_id'),
        up=column('info.up'),
        hosts=_named(column('info.host')),
        device_classes=_named(column('info.device_class')),
        workloads=_named(_workload(facts).workload_class.value for facts in osds),
        profiles=_named(column('options.profile')),
        pending_restart=column('options.pending_restart'),
        kv_sync_ms=_shades(column('signals.kv_sync_ms')),
        kv_sync_busy=_shades(column('signals.kv_sync_busy')),
        db_used_ratio=_shades(used_ratio(facts.signals) for facts in osds),
        spilled=tuple(n if n is None else n > 0 for n in column('signals.slow_used_bytes')),
    )


def _shades(values: Iterable[Optional[float]]) -> tuple[Optional[float], ...]:
    """Shown as colors, which need no more digits."""
    return tuple(value if value is None else round(value, 3) for value in values)


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
    why = 'is unknown: the cluster has not been sampled yet, try again in a moment'
    if snapshot.osds:
        known = format_ids(facts.info.osd_id for facts in snapshot.osds)
        why = f'does not exist; OSDs of this cluster: {known}'
    raise BadQuestionError(errno.ENOENT, f'osd.{osd_id} {why}')


_STAGES: Sequence[Column[LatencyPart]] = (
    Column('WRITE STAGE', 'part'),
    Column('WITHIN', 'within'),
    Column('MEAN', 'ms', 'r'),
    Column('SHARE', 'share', 'r'),
)
#: Separates the usage of the DB device from the spillover.
_SPILLED = '+'


def osd(detail: OsdDetail) -> str:
    """An OSD in full, what matters most first."""
    facts, about = detail.facts, _about(detail.facts)
    if detail.deep is not None:
        return sections(fields(about[0]), _deep(detail.deep, sharded=facts.sharded))
    stages = facts.write_latency.parts if facts.write_latency else ()
    measured = facts.signals if facts.signals and facts.signals.window_s is not None else None
    unmeasured = 'No samples yet.' if facts.info.up else 'No samples: the OSD is down.'
    title, show = 'Recommended: ', f'{COMMAND} recommend'
    return sections(
        fields(*about),
        joined(
            *(
                paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding))
                for finding in worst_first(detail.findings)
            ),
            *(
                paragraph(f'{advice.decision.do}: {show} {advice.recommendation_id}', 6, title)
                for advice in detail.recommended
            ),
        ),
        fields(
            ('Workload', workload_text(facts.workload)),
            ('Limited by', limited_by(detail.limit) or None),
        ),
        bullets(f'{e.statement} ({measured_value(*e[:4])})' for e in _evidence(facts.workload)),
        fields(*_signals(measured, detail)) if measured else unmeasured,
        _options(facts.options),
        table(_STAGES, (p for p in stages if (p.share or 0) >= 0.01)),
    )


def _evidence(workload: Optional[Workload]) -> Iterable[Evidence]:
    """Without that of the limit, which is shown beside it."""
    return (e for e in (workload.evidence if workload else ()) if e.signal not in PRESSURE)


def _about(facts: OsdFacts) -> Sequence[tuple[str, Optional[str]]]:
    info, start = facts.info, facts.last_start
    host = ', with most OSDs of its host' if start and start.host_away else ''
    state = f'{"up" if info.up else "down"}, {"in" if info.in_cluster else "out"}'
    devices = None
    if info.dedicated_db is not None:
        devices = joined(
            'dedicated DB device' if info.dedicated_db else 'DB on the data device',
            format_bytes(info.db_device_bytes) if info.db_device_bytes else '',
            'dedicated WAL device' if info.dedicated_wal else '',
            'RocksDB is not sharded' if facts.sharded is False else '',
            by=', ',
        )
    return (
        (f'osd.{info.osd_id}', f'{state}, {filled("host {host}, class {device_class}", info)}'),
        ('Failure domain', shown(info, 'failure_domain')),
        ('Version', filled('{version} ({release}), {objectstore}', info)),
        ('Devices', devices),
        ('Last start', start and f'was down for at most {format_span(start.away_most_s)}{host}'),
    )


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
        yield label, filled(figures, s)
    yield 'DB write amp', filled('{db_write_amp} over {db_write_amp_window_s}', s)
    if model is not None:
        yield 'By the model', estimated(model.write_amplification, format_ratio)
        objects = model.objects
        yield 'Objects written to', estimated(objects, format_count) if objects else None
    db = format_used(s.db_used_bytes, s.db_total_bytes)
    wal = format_used(s.wal_used_bytes, s.wal_total_bytes)
    yield 'Used', f'DB {db}, WAL {wal}, slow device {shown(s, "slow_used_bytes")}'
    yield 'DB full', _forecast(facts.forecast) if facts.forecast else None
    if facts.details is not None and facts.details.memory_target_bytes is not None:
        memory = '{memory_mapped_bytes} mapped, target {memory_target_bytes}'
        yield 'Memory', filled(memory, facts.details)


def _forecast(forecast: Forecast) -> str:
    if forecast.full_in_s is None:
        return forecast.outlook.value.replace('-', ' ')
    template = (
        'in {full_in_s} ({full_earliest_s} to {full_latest_s}), {growth_bytes_per_day} per day'
    )
    return filled(template, forecast)


def _options(options: Optional[OsdOptions]) -> str:
    if options is None:
        return 'The running options are unknown.'
    differs = options.pending_restart or options.starts is False
    names = (
        *('profile', 'source', 'deciding_who', 'running', 'annex'),
        *(('overruled',) if options.overruled else ()),
        *(('next_start', 'starts') if differs else ()),
    )
    found: Any = to_json(options, kind_of(OsdOptions))
    unknown = 'The options of the next start are unknown.'
    return sections(
        outline(found, names),
        unknown if options.next_start is None else '',
        changes_table((differs and options.difference) or (), 'RUNNING', 'NEXT START'),
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
        Column('WORKLOAD', lambda f: _workload(f).workload_class.value if f.info.up else '(down)'),
        Column('WR/S', lambda f: f.signals and format_count(f.signals.write_iops), 'r', omit=2),
        Column('KV SYNC', 'signals.kv_sync_ms', 'r', omit=4),
        Column('BUSY', 'signals.kv_sync_busy', 'r'),
        Column('DB', lambda f: f.signals and _db_used(f.signals), 'r'),
        Column('OPTIONS', _options_of, omit=3),
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


def _options_of(facts: OsdFacts) -> Optional[str]:
    found = facts.options
    if found is None:
        return None
    return options_name(found) + (PENDING_MARK if found.pending_restart else '')


def _db_used(signals: Signals) -> str:
    """Usage of a dedicated DB device, or the size of a DB on a shared one; and spillover."""
    ratio, spilled = used_ratio(signals), signals.slow_used_bytes
    used = format_bytes_short(signals.db_used_bytes) if ratio is None else format_percent(ratio)
    return f'{used}{_SPILLED}{format_bytes_short(spilled)}' if spilled else used


_WORKLOADS: Sequence[Column[OsdFacts]] = (
    Column('ID', 'info.osd_id', 'r'),
    Column('HOST', 'info.host', omit=1),
    Column('CLASS', 'info.device_class', omit=2),
    Column('WORKLOAD', lambda f: workload_text(f.workload) if f.info.up else '(down)'),
)


def workload(snapshot: Snapshot, *, osds: bool = False, everything: bool = False) -> str:
    """Workload and limit of each group, with evidence; a row per OSD if ``osds``."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    of_group = {g.device_class: _workload(g).workload_class for g in snapshot.groups}
    # OSDs whose workload differs from their group's first.
    rows = sorted(
        snapshot.osds if osds else (),
        key=lambda f: _workload(f).workload_class is of_group.get(f.info.device_class or ''),
    )
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


_LEVELS: Sequence[Column[tuple[str, LevelStats]]] = (
    Column('COLUMN FAMILY', lambda row: row[0]),
    Column('LEVEL', lambda row: f'L{row[1].level}'),
    Column('FILES', lambda row: row[1].files, 'r'),
    Column('SIZE', lambda row: format_bytes(row[1].size_bytes), 'r'),
    Column('SCORE', lambda row: format_count(row[1].score), 'r'),
    Column('WRITTEN', lambda row: format_bytes(row[1].write_bytes), 'r'),
    Column('WRITE AMP', lambda row: format_ratio(row[1].write_amp), 'r'),
    Column('COMPACTIONS', lambda row: row[1].compactions, 'r'),
)


def _deep(look: OsdDeepStats, *, sharded: Optional[bool]) -> str:
    """``sharded``: whether there are more column families than "default"; None if unknown."""
    families = look.stats.column_families
    names = (
        *('uptime_s', 'stalled_s', 'memtable_bytes', 'block_cache_bytes', 'totals'),
        *(('not_put_back',) if look.not_put_back else ('switched_on',)),
    )
    found: Any = to_json(look, kind_of(OsdDeepStats))
    stalls = (f'{f.name}: {sum(f.stalls.values())}' for f in families if any(f.stalls.values()))
    levels = ((f.name, level) for f in families for level in f.levels if level.files)
    return sections(
        outline(found, names),
        fields(('Stalls', ', '.join(stalls) or None)),
        paragraph(
            'This release reports only the column family "default", which is almost empty in a '
            'sharded RocksDB.'
        )
        if [family.name for family in families] == ['default'] and sharded is not False
        else '',
        table(_LEVELS, levels) or 'RocksDB reports no levels with files.',
    )

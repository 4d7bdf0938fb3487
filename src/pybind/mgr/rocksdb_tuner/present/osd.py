"""OSDs: a row each, one in full, their workloads, and the charts of the dashboard."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Optional

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
from ..observe.kv_stats import ColumnFamilyStats, DeepStats
from ..observe.latency import WriteLatency
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..observe.trend import HORIZON, MIN_HISTORY_S, TREND_SIGNALS, Forecast, GrowthPoints, Outlook
from ..observe.trend import Trend as FoundTrend
from ..options.grammar import OptionDifference
from ..options.verdict import BadQuestionError
from ..plan.entries import reaches
from ..snapshot import Snapshot
from ..units import (
    UNKNOWN,
    format_bytes,
    format_bytes_rate,
    format_bytes_short,
    format_count,
    format_count_rate,
    format_duration,
    format_ids,
    format_ms,
    format_percent,
    format_plural,
    format_ratio,
    format_span,
    format_time,
    format_used,
)
from ..workload.pressure import PRESSURE
from ..workload.records import UNKNOWN_WORKLOAD, Workload
from .layout import ROWS, Column, fields, more, paragraph, table
from .phrases import (
    COMMAND,
    NO_SIGNALS,
    PENDING_MARK,
    SEVERITIES,
    UNNAMED_OPTIONS,
    changes_table,
    common_domain,
    estimated,
    measured_value,
    nothing_known,
    objects_written_to,
    options_in_use,
    pending_note,
    sections,
    severity_mark,
    workload_cells,
    workload_line,
    worst_first,
)

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
    """An OSD with all related data; raises BadQuestionError (ENOENT) if it does not exist."""
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


#: Stages of a write below this share are omitted.
_MIN_SHARE = 0.01
_DEPTHS = {
    'client-op': 0,
    **dict.fromkeys(('osd-queue', 'osd-prepare', 'bluestore', 'replicas'), 1),
    **dict.fromkeys(('prepare', 'data-write', 'kv'), 2),
    **dict.fromkeys(('throttle', 'kv-queue', 'kv-flush', 'kv-commit'), 3),
    **dict.fromkeys(('wal-sync', 'memtable-insert'), 4),
}


def osd(detail: OsdDetail) -> str:
    """An OSD in full, what matters most first."""
    facts = detail.facts
    about = _about(facts)
    if detail.deep is not None:
        return sections(fields(about[:1]), deep_look(detail.deep, sharded=facts.sharded))
    return sections(
        fields(about),
        '\n'.join(
            (
                *(
                    paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding))
                    for finding in worst_first(detail.findings)
                ),
                *(
                    paragraph(
                        f'{r.kind.value} {r.profile or ""}'.rstrip()
                        + f', see "{COMMAND} recommend {r.recommendation_id}"',
                        4,
                        'Recommended: ',
                    )
                    for r in detail.recommended
                ),
            )
        ),
        fields([('Workload', workload_line(facts.workload)), *_limited(detail.limit)]),
        _evidence(facts.workload),
        fields(_signals(facts.signals, detail)) if facts.signals else _not_measured(facts),
        _option_fields(facts.options),
        _latency_table(facts.write_latency),
    )


def _about(facts: OsdFacts) -> list[tuple[str, str]]:
    info = facts.info
    state = ', '.join(('up' if info.up else 'down', 'in' if info.in_cluster else 'out'))
    device_class = 'without a class' if info.device_class is None else f'class {info.device_class}'
    release = f'{info.version or UNKNOWN} ({info.release or "unknown release"})'
    return [
        (f'osd.{info.osd_id}', f'{state}, {info.host or "unknown host"}, {device_class}'),
        ('Failure domain', str(info.failure_domain or UNKNOWN)),
        ('Version', f'{release}, {info.objectstore or "unknown object store"}'),
        ('Devices', _devices(facts)),
        *([('Last start', _last_start(facts.last_start))] if facts.last_start else []),
    ]


def _limited(limit: Limit) -> list[tuple[str, str]]:
    text = limited_by(limit)
    return [('Limited by', text)] if text else []


def _evidence(found: Optional[Workload]) -> str:
    """The limit has its own."""
    return '\n'.join(
        paragraph(
            f'{e.statement} ({measured_value(e.signal, e.value, e.unit, e.window_s)})', 2, '- '
        )
        for e in (found.evidence if found else ())
        if e.signal not in PRESSURE
    )


def _last_start(start: LastStart) -> str:
    least, most = format_span(start.away_s), format_span(start.away_most_s)
    # Without a sample while it was down only the upper bound is known.
    away = f'for at most {most}' if not start.away_s else least
    if start.away_s and least != most:
        away += f' (at most {most})'
    return f'was down {away}' + (', with most OSDs of its host' if start.host_away else '')


def _devices(facts: OsdFacts) -> str:
    info = facts.info
    if info.dedicated_db is None:
        return UNKNOWN
    text = 'dedicated DB device' if info.dedicated_db else 'DB on the data device'
    if info.db_device_bytes is not None:
        text += f' ({format_bytes(info.db_device_bytes)})'
    if info.dedicated_wal:
        text += ', dedicated WAL device'
    return f'{text}, RocksDB is not sharded' if facts.sharded is False else text


def _signals(signals: Signals, detail: OsdDetail) -> list[tuple[str, str]]:
    facts, modeled = detail.facts, detail.model
    source = '' if signals.compaction_source is None else f' ({signals.compaction_source})'
    age = format_duration(detail.sample_age_s)
    pairs = [
        ('Window', f'{format_duration(signals.window_s)}, newest sample {age} old'),
        (
            'Client writes',
            (
                f'{_client(signals.write_iops, signals.write_bytes_per_s)}, mean '
                f'{format_bytes(signals.write_bytes_avg)}, {format_ms(signals.op_w_latency_ms)}'
            ),
        ),
        (
            'Client reads',
            (
                f'{_client(signals.read_iops, signals.read_bytes_per_s)}, mean '
                f'{format_bytes(signals.read_bytes_avg)}'
            ),
        ),
    ]
    if signals.rw_iops:
        pairs.append(('Class calls', _client(signals.rw_iops, signals.rw_bytes_per_s)))
    if signals.recovery_ops_per_s:
        recovery = _client(signals.recovery_ops_per_s, signals.recovery_bytes_per_s)
        pairs.append(('Recovery', recovery))
    pairs += [
        (
            'kv_sync',
            (
                f'{format_percent(signals.kv_sync_busy)} busy, {format_ms(signals.kv_sync_ms)} per '
                f'round (flush {format_ms(signals.kv_flush_ms)}), commit '
                f'{format_ms(signals.commit_ms)}'
            ),
        ),
        (
            'WAL writes',
            (
                f'{format_bytes_rate(signals.wal_bytes_per_s)}, '
                f'{format_ratio(signals.wal_bytes_per_client_byte)} per client byte, '
                f'{format_bytes(signals.wal_bytes_per_write_op)} per write'
            ),
        ),
        (
            'SST writes',
            (
                f'{format_bytes_rate(signals.sst_bytes_per_s)}, by compaction '
                f'{format_bytes_rate(signals.compaction_bytes_per_s)}{source}, to the slow device '
                f'{format_bytes_rate(signals.slow_bytes_per_s)}'
            ),
        ),
        ('DB write amp', _write_amp(signals, modeled)),
        (
            'Used',
            (
                f'DB {format_used(signals.db_used_bytes, signals.db_total_bytes)}, WAL '
                f'{format_used(signals.wal_used_bytes, signals.wal_total_bytes)}, slow device '
                f'{format_bytes(signals.slow_used_bytes)}'
            ),
        ),
    ]
    if facts.forecast:
        pairs.append(('DB full', _forecast(facts.forecast)))
    if modeled and modeled.objects:
        pairs.append(('Objects written to', objects_written_to(modeled.objects)))
    details = facts.details
    if details is not None and details.memory_target_bytes is not None:
        mapped = format_bytes(details.memory_mapped_bytes)
        target = format_bytes(details.memory_target_bytes)
        pairs.append(('Memory', f'{mapped} mapped, target {target}'))
    return pairs


def _forecast(forecast: Forecast) -> str:
    history = format_duration(forecast.history_s)
    if forecast.outlook is Outlook.SPILLED:
        return 'already spilled over to the slow device'
    if forecast.outlook is Outlook.NOT_ENOUGH_HISTORY:
        return f'not enough history ({history} of {format_duration(MIN_HISTORY_S)})'
    if forecast.outlook is Outlook.NOT_GROWING:
        return f'no growth in the last {history}'
    growth = f'{format_bytes(forecast.growth_bytes_per_day)}/day over the last {history}'
    if forecast.outlook is Outlook.BEYOND_HORIZON:
        return f'not soon: {growth}'
    earliest = format_duration(forecast.full_earliest_s)
    latest = forecast.full_latest_s
    # Beyond the horizon of the history a time says nothing.
    known = latest is not None and latest <= HORIZON * forecast.history_s
    within = f'{earliest} to {format_duration(latest)}' if known else f'{earliest} or later'
    return f'in {format_duration(forecast.full_in_s)} ({within}): {growth}'


def _latency_table(latency: Optional[WriteLatency]) -> str:
    """The latency of a write by stage; empty without client writes."""
    if latency is None or not latency.client_op_ms:
        return ''
    rows = [
        ('. ' * _DEPTHS[p.part] + p.part, format_ms(p.ms), format_percent(p.share))
        for p in latency.parts
        if p.share is not None and p.share >= _MIN_SHARE
    ]
    over = f'Over {format_duration(latency.window_s)}; flush, commit, sync: of one kv_sync round.'
    columns = (Column('WRITE STAGE'), Column('MEAN', 'r'), Column('SHARE', 'r'))
    return f'{table(columns, rows)}\n{over}'


def _not_measured(facts: OsdFacts) -> str:
    return 'No samples yet.' if facts.info.up else 'No samples: the OSD is down.'


def _client(ops_per_s: Optional[float], bytes_per_s: Optional[float]) -> str:
    if ops_per_s is None and bytes_per_s is None:
        return UNKNOWN
    return f'{format_count_rate(ops_per_s)}, {format_bytes_rate(bytes_per_s)}'


def _write_amp(signals: Signals, modeled: Optional[Modeled]) -> str:
    text = format_ratio(signals.db_write_amp)
    if signals.db_write_amp is not None and signals.db_write_amp_window_s is not None:
        text += f' over {format_duration(signals.db_write_amp_window_s)}'
    if modeled is None:
        return text
    return f'{text}, by the model {estimated(modeled.write_amplification, format_ratio)}'


def _option_fields(options: Optional[OsdOptions]) -> str:
    if options is None:
        return 'The running options are unknown.'
    pairs = [
        ('Profile', options.profile or f'{UNNAMED_OPTIONS} (no known profile)'),
        ('Source', _source(options)),
        ('Running', options.running or '(empty)'),
    ]
    if options.annex:
        pairs.append(('Including annex', options.annex))
    changes: Sequence[OptionDifference] = ()
    if options.next_start is None:
        pairs.append(('Next start', 'unknown'))
    elif options.pending_restart or options.starts is False:
        pairs.append(('Next start', options.next_start or '(empty)'))
        if options.starts is False:
            why = f'"{COMMAND} findings unstartable-options"'
            pairs.append(('Starts', f'NO: the OSD would not start with these options, see {why}'))
        changes = options.difference or ()
    return sections(fields(pairs), changes_table(changes, 'RUNNING', 'NEXT START'))


def _source(options: OsdOptions) -> str:
    text = options.source
    if options.overruled:
        return f'{text}; it overrides the config store'
    if options.deciding_who is None:
        return text
    when = ', at the next start the' if options.pending_restart else ','
    return f'{text}{when} entry of {options.deciding_who}'


#: The source of the release's own option string, shown instead of a profile.
_RELEASE_DEFAULT = 'default'
#: Separates the usage of the DB device from the spillover.
_SPILLED = '+'


def osds(snapshot: Snapshot, *, everything: bool = False) -> str:
    """A row per OSD, in the order of the snapshot."""
    rows = snapshot.osds
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    columns = (
        Column('ID', 'r'),
        Column('HOST', omit=1),
        Column('CLASS', omit=5),
        Column('WORKLOAD'),
        Column('WR/S', 'r', omit=2),
        Column('KV SYNC', 'r', omit=4),
        Column('BUSY', 'r'),
        Column('DB', 'r'),
        Column('OPTIONS', omit=3),
    )
    domain = common_domain(facts.info.host for facts in snapshot.osds)
    shown = rows if everything else rows[:ROWS]
    text = table(columns, (_osd_cells(facts, domain) for facts in shown))
    left_out = more(len(rows) - len(shown))
    pending = options_in_use(rows).pending_restart
    notes = (_spillover_note(shown), pending_note(pending))
    return sections('\n'.join(filter(None, (text, left_out))), '\n'.join(filter(None, notes)))


def workload(snapshot: Snapshot, *, osds: bool = False, everything: bool = False) -> str:
    """Workload and limit of each group, with evidence; a row per OSD if ``osds``."""
    if not snapshot.osds:
        return nothing_known(snapshot.mode)
    return sections(
        *map(_group, snapshot.groups),
        _workloads_of_osds(snapshot, everything=everything) if osds else '',
    )


def _group(group: GroupFacts) -> str:
    evidence = () if group.workload is None else group.workload.evidence
    limited = limited_by(group.limit)
    of_clients = [e.statement for e in evidence if e.signal not in PRESSURE]
    return '\n'.join(
        (
            paragraph(
                f'{group.who} ({format_plural(len(group.osds), "OSD")}): '
                f'{workload_line(group.workload)}'
            ),
            *(paragraph(statement, 4, '  - ') for statement in of_clients),
            *([paragraph(limited, 4, '  Limited by ')] if limited else []),
        )
    )


def _workloads_of_osds(snapshot: Snapshot, *, everything: bool) -> str:
    """OSDs whose workload differs from their group's first."""
    of_group = {g.device_class: g.workload.workload_class for g in snapshot.groups if g.workload}

    def is_usual(facts: OsdFacts) -> bool:
        found = facts.workload and facts.workload.workload_class
        return found == of_group.get(facts.info.device_class or '')

    rows = sorted(snapshot.osds, key=is_usual)
    shown = rows if everything else rows[:ROWS]
    text = table(
        (
            Column('ID', 'r'),
            Column('HOST', omit=1),
            Column('CLASS', omit=2),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
        ),
        (
            (
                str(facts.info.osd_id),
                facts.info.host or UNKNOWN,
                facts.info.device_class or UNKNOWN,
                *_workload_of_osd(facts),
            )
            for facts in shown
        ),
    )
    return '\n'.join(filter(None, (text, more(len(rows) - len(shown)))))


def _osd_cells(facts: OsdFacts, domain: str) -> Sequence[str]:
    signals = facts.signals or NO_SIGNALS
    return (
        str(facts.info.osd_id),
        (facts.info.host or UNKNOWN)[: -len(domain) or None],
        facts.info.device_class or UNKNOWN,
        _workload_of_osd(facts)[0],
        format_count(signals.write_iops),
        format_ms(signals.kv_sync_ms),
        format_percent(signals.kv_sync_busy),
        _db_used_cell(signals),
        _profile_cell(facts.options),
    )


def _db_used_cell(signals: Signals) -> str:
    """Usage of a dedicated DB device, or the size of a DB on a shared one; and spillover."""
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        used = format_bytes_short(signals.db_used_bytes)
    else:
        used = format_percent(signals.db_used_bytes / signals.db_total_bytes)
    spilled = signals.slow_used_bytes
    return f'{used}{_SPILLED}{format_bytes_short(spilled)}' if spilled else used


def _spillover_note(osds: Iterable[OsdFacts]) -> str:
    if not any(facts.signals and facts.signals.slow_used_bytes for facts in osds):
        return ''
    return paragraph(f'{_SPILLED} spilled over to the slow device')


def _profile_cell(options: Optional[OsdOptions]) -> str:
    if options is None:
        return UNKNOWN
    # The default is that of the OSD's release; options from other sources have a name.
    by_default = options.profile is not None and options.source == _RELEASE_DEFAULT
    name = _RELEASE_DEFAULT if by_default else options.profile or UNNAMED_OPTIONS
    return name + (PENDING_MARK if options.pending_restart else '')


def _workload_of_osd(facts: OsdFacts) -> tuple[str, str]:
    return workload_cells(facts.workload) if facts.info.up else ('(down)', UNKNOWN)


def deep_look(look: OsdDeepStats, *, sharded: Optional[bool]) -> str:
    """``sharded``: whether there are more column families than "default"; None if unknown."""
    stats = look.stats
    return sections(
        fields(
            [
                ('RocksDB uptime', format_duration(stats.uptime_s)),
                ('Writes stalled for', format_duration(stats.stalled_s)),
                ('Memtables', format_bytes(stats.memtable_bytes)),
                ('Block cache', format_bytes(stats.block_cache_bytes)),
                *_totals(stats),
            ]
        ),
        '\n'.join(_remarks(look, sharded=sharded)),
        _families(stats),
        _levels(stats),
    )


def _totals(stats: DeepStats) -> list[tuple[str, str]]:
    totals = stats.totals
    if totals is None:
        return []
    return [
        ('Flushes wrote', format_bytes(totals.flush_write_bytes)),
        ('Compaction read', format_bytes(totals.compact_read_bytes)),
        ('Compaction wrote', format_bytes(totals.compact_write_bytes)),
        ('WAL', format_bytes(totals.wal_bytes)),
    ]


def _families(stats: DeepStats) -> str:
    if not stats.column_families:
        return 'RocksDB reports no column families.'
    columns = (
        Column('COLUMN FAMILY'),
        Column('FILES', 'r'),
        Column('SIZE', 'r'),
        Column('FLUSHED', 'r'),
        Column('WRITTEN', 'r'),
        Column('READ', 'r'),
        Column('WRITE AMP', 'r'),
        Column('STALLS', 'r'),
    )
    return table(
        columns,
        (
            (
                family.name,
                _count(family.files),
                format_bytes(family.size_bytes),
                format_bytes(family.flush_bytes),
                format_bytes(family.compaction_write_bytes),
                format_bytes(family.compaction_read_bytes),
                format_ratio(family.write_amp),
                _stalls(family),
            )
            for family in stats.column_families
            if family.files or family.stalls or family.compaction_write_bytes
        ),
    )


def _levels(stats: DeepStats) -> str:
    rows = [
        (
            family.name,
            f'L{level.level}',
            _count(level.files),
            format_bytes(level.size_bytes),
            format_count(level.score),
            format_bytes(level.write_bytes),
            format_ratio(level.write_amp),
            _count(level.compactions),
        )
        for family in stats.column_families
        for level in family.levels
        if level.files
    ]
    columns = (
        Column('COLUMN FAMILY'),
        Column('LEVEL'),
        Column('FILES', 'r'),
        Column('SIZE', 'r'),
        Column('SCORE', 'r'),
        Column('WRITTEN', 'r'),
        Column('WRITE AMP', 'r'),
        Column('COMPACTIONS', 'r'),
    )
    return table(columns, rows) if rows else ''


def _remarks(look: OsdDeepStats, *, sharded: Optional[bool]) -> list[str]:
    found = []
    only_default = [family.name for family in look.stats.column_families] == ['default']
    if only_default and sharded is not False:
        found.append(
            'This release reports only the column family "default", which is almost empty in a '
            'sharded RocksDB.'
        )
    if look.stats.totals is None:
        found.append(
            'Totals over all column families require an OSD that was started with rocksdb_perf.'
        )
    if look.not_put_back:
        names = ', '.join(look.not_put_back)
        found.append(f'Still enabled, and retried until restored: {names}.')
    elif look.switched_on:
        names = ', '.join(look.switched_on)
        found.append(f'Enabled temporarily: {names}.')
    return [paragraph(text) for text in found]


def _count(number: Optional[int]) -> str:
    return UNKNOWN if number is None else format_count(number)


def _stalls(family: ColumnFamilyStats) -> str:
    return _count(sum(family.stalls.values()) if family.stalls else None)


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

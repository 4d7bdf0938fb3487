"""One OSD in full: `osd <id>`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ...advise.limit import limited_by
from ...advise.records import Limit, OsdFacts, OsdOptions
from ...advise.whatif.tree import Modeled
from ...observe.latency import WriteLatency, parts
from ...observe.signals import Signals
from ...observe.starts import LastStart
from ...observe.trend import HORIZON, MIN_HISTORY_S, Forecast, Outlook
from ...options.grammar import OptionDifference
from ...units import (
    UNKNOWN,
    format_bytes,
    format_bytes_rate,
    format_count_rate,
    format_duration,
    format_ms,
    format_percent,
    format_ratio,
    format_span,
    format_used,
)
from ...workload.pressure import PRESSURE
from ...workload.records import Workload
from ..layout import Column, fields, paragraph, table
from ..subjects import OsdDetail
from ..summaries import difference, worst_first
from .osds import deep_look
from .phrases import (
    COMMAND,
    UNNAMED_OPTIONS,
    changes_table,
    estimated,
    measured_value,
    objects_written_to,
    sections,
    severity_mark,
    workload_line,
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
                    for r in detail.recommendations
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
    facts, modeled = detail.facts, detail.modeled
    source = '' if signals.compaction_source is None else f' ({signals.compaction_source})'
    age = format_duration(signals.age_s(detail.taken_s))
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
    whole_ms = latency.client_op_ms
    rows = [
        ('. ' * _DEPTHS[part.part] + part.part, format_ms(part.ms), format_percent(share))
        for part in parts(latency)
        for share in [None if part.ms is None else part.ms / whole_ms]
        if share is not None and share >= _MIN_SHARE
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
        changes = difference(options.running, options.next_start) or ()
    return sections(fields(pairs), changes_table(changes, 'RUNNING', 'NEXT START'))


def _source(options: OsdOptions) -> str:
    text = options.source
    if options.overruled:
        return f'{text}; it overrides the config store'
    if options.deciding_who is None:
        return text
    when = ', at the next start the' if options.pending_restart else ','
    return f'{text}{when} entry of {options.deciding_who}'

"""One OSD in full: `osd <id>`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ...advise.records import OsdFacts, OsdOptions, Recommendation
from ...advise.whatif.tree import Modeled
from ...observe.latency import WriteLatency, bottleneck, parts
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
from ...workload.records import Workload
from ..difference import difference
from ..layout import Column, fields, paragraph, table
from ..subjects import OsdDetail
from ..summaries import worst_first
from .deep import deep_look
from .estimates import estimated, objects_written_to
from .phrases import (
    COMMAND,
    NO_SIGNALS,
    UNNAMED_OPTIONS,
    changes_table,
    finding_text,
    limited_by,
    measured_value,
    sections,
    workload_cells,
)

_SHARDED = {None: UNKNOWN, True: 'yes', False: 'no: RocksDB is not sharded'}


def osd(detail: OsdDetail) -> str:
    """An OSD in full."""
    facts = detail.facts
    info = facts.info
    signals = facts.signals or NO_SIGNALS
    state = ', '.join(('up' if info.up else 'down', 'in' if info.in_cluster else 'out'))
    limited = limited_by(detail.limit)
    version = f'{info.version or UNKNOWN} ({info.release or "unknown release"})'
    head = fields(
        [
            (f'osd.{info.osd_id}', state),
            ('Host', info.host or UNKNOWN),
            ('Failure domain', str(info.failure_domain or UNKNOWN)),
            ('Device class', info.device_class or UNKNOWN),
            ('Version', version),
            ('Object store', info.objectstore or UNKNOWN),
            ('Devices', _devices(facts)),
            ('Column families', _SHARDED[facts.sharded]),
            *([('Last start', _last_start(facts.last_start))] if facts.last_start else []),
            ('Workload', _workload_line(facts.workload)),
            *([('Limited by', limited)] if limited else []),
        ]
    )
    return sections(
        head,
        _evidence(facts.workload),
        _signal_fields(signals, facts, detail.taken_s) if facts.signals else _not_measured(facts),
        _latency_table(facts.write_latency),
        _model_fields(detail.modeled) if detail.modeled else '',
        deep_look(detail.deep, sharded=facts.sharded) if detail.deep else '',
        _option_fields(facts.options),
        '\n'.join(finding_text(finding) for finding in worst_first(detail.findings)),
        _recommendation_pointers(detail.recommendations),
    )


def _model_fields(found: Modeled) -> str:
    return fields(
        [
            ('Model', ''),
            ('  DB write amp', estimated(found.write_amplification, format_ratio)),
            ('  Objects written to', objects_written_to(found.working_set)),
        ]
    )


def _last_start(start: LastStart) -> str:
    least, most = format_span(start.away_s), format_span(start.away_most_s)
    # Without a sample while it was down only the upper bound is known.
    away = f'for at most {most}' if not start.away_s else least
    if start.away_s and least != most:
        away += f' (at most {most})'
    return f'was down {away}' + (', with most OSDs of its host' if start.host_away else '')


def _workload_line(found: Optional[Workload]) -> str:
    workload_class, confidence = workload_cells(found)
    return workload_class if confidence == UNKNOWN else f'{workload_class}, confidence {confidence}'


def _evidence(found: Optional[Workload]) -> str:
    if found is None or not found.evidence:
        return ''
    lines = [
        paragraph(
            f'{e.statement} ({measured_value(e.signal, e.value, e.unit, e.window_s)})', 2, '- '
        )
        for e in found.evidence
    ]
    return '\n'.join(lines)


def _devices(facts: OsdFacts) -> str:
    info = facts.info
    if info.dedicated_db is None:
        return UNKNOWN
    db = 'dedicated DB device' if info.dedicated_db else 'DB on the data device'
    if info.db_device_bytes is not None:
        db += f' ({format_bytes(info.db_device_bytes)})'
    return f'{db}, dedicated WAL device' if info.dedicated_wal else db


def _signal_fields(signals: Signals, facts: OsdFacts, taken_s: Optional[float]) -> str:
    source = '' if signals.compaction_source is None else f' ({signals.compaction_source})'
    return fields(
        [
            (
                'Window',
                _window(signals, taken_s),
            ),
            ('Client writes', _client(signals.write_iops, signals.write_bytes_per_s)),
            ('  mean size', format_bytes(signals.write_bytes_avg)),
            ('  latency', format_ms(signals.op_w_latency_ms)),
            ('Client reads', _client(signals.read_iops, signals.read_bytes_per_s)),
            ('  mean size', format_bytes(signals.read_bytes_avg)),
            ('Class calls', _client(signals.rw_iops, signals.rw_bytes_per_s)),
            ('Recovery', _client(signals.recovery_ops_per_s, signals.recovery_bytes_per_s)),
            (
                'KV sync',
                f'{format_ms(signals.kv_sync_ms)} (flush {format_ms(signals.kv_flush_ms)})',
            ),
            ('  thread busy', format_percent(signals.kv_sync_busy)),
            ('Commit', format_ms(signals.commit_ms)),
            ('WAL writes', format_bytes_rate(signals.wal_bytes_per_s)),
            ('  per client byte', format_ratio(signals.wal_bytes_per_client_byte)),
            ('  per write', format_bytes(signals.wal_bytes_per_write_op)),
            ('SST writes', format_bytes_rate(signals.sst_bytes_per_s)),
            ('  by compaction', format_bytes_rate(signals.compaction_bytes_per_s) + source),
            ('  to slow device', format_bytes_rate(signals.slow_bytes_per_s)),
            ('DB write amp', _write_amp(signals)),
            ('DB used', format_used(signals.db_used_bytes, signals.db_total_bytes)),
            *([('  full', _forecast(facts.forecast))] if facts.forecast else []),
            ('WAL used', format_used(signals.wal_used_bytes, signals.wal_total_bytes)),
            ('Slow used', format_used(signals.slow_used_bytes, signals.slow_total_bytes)),
            *_memory(facts),
        ]
    )


def _memory(facts: OsdFacts) -> list[tuple[str, str]]:
    details = facts.details
    if details is None or details.memory_target_bytes is None:
        return []
    mapped = format_bytes(details.memory_mapped_bytes)
    return [('Memory', f'{mapped} mapped, target {format_bytes(details.memory_target_bytes)}')]


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


_INDENTS = {
    'client-op': 0,
    **dict.fromkeys(('osd-queue', 'osd-prepare', 'bluestore', 'replicas'), 1),
    **dict.fromkeys(('prepare', 'data-write', 'kv'), 2),
    **dict.fromkeys(('throttle', 'kv-queue', 'kv-flush', 'kv-commit'), 3),
    **dict.fromkeys(('wal-sync', 'memtable-insert'), 4),
}


def _latency_table(latency: Optional[WriteLatency]) -> str:
    """The latency of a write by stage; empty without client writes."""
    if latency is None or not latency.client_op_ms:
        return ''
    whole_ms = latency.client_op_ms
    rows = table(
        (Column('WRITE STAGE'), Column('MEAN', 'r'), Column('SHARE', 'r')),
        (
            (
                '. ' * _INDENTS[part.part] + part.part,
                format_ms(part.ms),
                format_percent(None if part.ms is None else part.ms / whole_ms),
            )
            for part in parts(latency)
        ),
    )
    found = bottleneck(latency)
    named = (
        '' if found is None else paragraph(f'{found.part}: {found.statement}.', 4, 'Bottleneck: ')
    )
    over = f'Over {format_duration(latency.window_s)}; flush, commit, sync: of one kv_sync round.'
    return sections(rows, '\n'.join(text for text in (named, over) if text))


def _not_measured(facts: OsdFacts) -> str:
    return 'No samples yet.' if facts.info.up else 'No samples: the OSD is down.'


def _window(signals: Signals, taken_s: Optional[float]) -> str:
    age = f'newest sample {format_duration(signals.age_s(taken_s))} old'
    return f'{format_duration(signals.window_s)}, {age}'


def _client(ops_per_s: Optional[float], bytes_per_s: Optional[float]) -> str:
    if ops_per_s is None and bytes_per_s is None:
        return UNKNOWN
    return f'{format_count_rate(ops_per_s)}, {format_bytes_rate(bytes_per_s)}'


def _write_amp(signals: Signals) -> str:
    text = format_ratio(signals.db_write_amp)
    if signals.db_write_amp is None or signals.db_write_amp_window_s is None:
        return text
    return f'{text} over {format_duration(signals.db_write_amp_window_s)}'


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


def _recommendation_pointers(recommendations: Sequence[Recommendation]) -> str:
    return '\n'.join(
        f'Recommended: {r.kind.value} {r.profile or ""}'.rstrip()
        + f' (see "{COMMAND} recommend {r.recommendation_id}")'
        for r in recommendations
    )

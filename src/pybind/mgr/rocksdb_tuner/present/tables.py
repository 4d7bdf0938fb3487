"""Records as text for a terminal, in the form of Ceph's own commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, Optional

from ..advise.profiles import Profile, PublishedEvidence, SuitabilityRule
from ..advise.records import (
    Finding,
    FindingEvidence,
    OsdFacts,
    OsdOptions,
    Prediction,
    Reason,
    Recommendation,
)
from ..observe.signals import Signals
from ..options.grammar import OptionDifference
from ..rollout.history import HistoryRecord
from ..rollout.records import Phase, RolloutState
from ..snapshot import Mode, Sampling, Snapshot
from ..workload.records import Workload, WorkloadClass
from .difference import difference
from .layout import Column, fields, paragraph, shell_command, table
from .subjects import OsdDetail, Plan
from .summaries import (
    OptionsInUse,
    common_domain,
    options_in_use,
    osds_finished,
    suited_workloads,
    worst_first,
)
from .units import (
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
    format_percent_range,
    format_plural,
    format_ratio,
    format_time,
    format_used,
)

_COMMAND = 'ceph rocksdb-tuner'
_UNNAMED_OPTIONS = 'custom'
_PENDING_MARK = '*'
_SUPERSEDED_MARK = '*'
_NO_SIGNALS = Signals(osd_id=-1)
#: Names of OSDs in a sentence; more than that are shown as a number.
_RANGES_SHOWN_CHARS = 48

_MODES = {
    Mode.OFF: 'nothing is read, nothing is changed',
    Mode.OBSERVE: 'measures and recognises the workload',
    Mode.RECOMMEND: 'measures and advises; changes something only when asked to',
    Mode.AUTO_APPLY: 'measures, advises, and applies recommendations of low risk by itself',
}

_SEVERITY_MARKS = {'error': '[ERR]', 'warning': '[WRN]', 'info': '[INF]'}


def status(snapshot: Snapshot) -> str:
    """The whole on one screen."""
    head = fields(
        [
            ('Mode', f'{snapshot.mode.value} ({_MODES[snapshot.mode]})'),
            ('Release', snapshot.release or 'not known to this module'),
            ('Sampling', _sampling(snapshot.mode, snapshot.sampling)),
            ('Findings', _finding_counts(snapshot)),
            ('Recommendations', _recommendation_count(snapshot)),
            ('Rollout', _rollout_line(snapshot.rollout)),
        ]
    )
    return _sections(head, _groups(snapshot), _notices(snapshot.notices))


def osds(snapshot: Snapshot) -> str:
    """A row per OSD."""
    if not snapshot.osds:
        return _nothing_known(snapshot.mode)
    columns = (
        Column('ID', 'r'),
        Column('HOST', flexible=True),
        Column('CLASS', flexible=True, min_width=5),
        Column('WORKLOAD', flexible=True, min_width=15),
        Column('WR OP/S', 'r'),
        Column('WR SIZE', 'r'),
        Column('KV SYNC', 'r'),
        Column('BUSY', 'r'),
        Column('WAL/S', 'r'),
        Column('WA', 'r'),
        Column('DB', 'r'),
        Column('SLOW', 'r'),
        Column('OPTIONS', flexible=True, min_width=10),
    )
    domain = common_domain(facts.info.host for facts in snapshot.osds)
    text = table(columns, (_osd_cells(facts, domain) for facts in snapshot.osds))
    pending = options_in_use(snapshot.osds).pending_restart
    return _sections(text, _pending_note(pending))


def osd(detail: OsdDetail) -> str:
    """All that is known of one OSD."""
    facts = detail.facts
    info = facts.info
    signals = facts.signals or _NO_SIGNALS
    state = ', '.join(('up' if info.up else 'down', 'in' if info.in_cluster else 'out'))
    version = f'{info.version or UNKNOWN} ({info.release or "release not known"})'
    head = fields(
        [
            (f'osd.{info.osd_id}', state),
            ('Host', info.host or UNKNOWN),
            ('Device class', info.device_class or UNKNOWN),
            ('Version', version),
            ('Object store', info.objectstore or UNKNOWN),
            ('Devices', _devices(facts)),
            ('Workload', _workload_line(facts.workload)),
        ]
    )
    return _sections(
        head,
        _evidence(facts.workload),
        _signal_fields(signals) if facts.signals else _not_measured(facts),
        _option_fields(facts.options),
        '\n'.join(_finding(finding) for finding in worst_first(detail.findings)),
        _recommendation_pointers(detail.recommendations),
    )


def workload(snapshot: Snapshot) -> str:
    """What the clients do, by group and by OSD, with the evidence."""
    if not snapshot.osds:
        return _nothing_known(snapshot.mode)
    by_group = table(
        (
            Column('GROUP', flexible=True),
            Column('OSDS', 'r'),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
            Column('EVIDENCE', flexible=True, wrap=True, min_width=40),
        ),
        (
            row
            for group in snapshot.groups
            for row in _workload_rows((group.who, str(len(group.osds))), group.workload)
        ),
    )
    by_osd = table(
        (
            Column('ID', 'r'),
            Column('HOST', flexible=True),
            Column('CLASS', flexible=True, min_width=5),
            Column('WORKLOAD'),
            Column('CONFIDENCE', 'r'),
            Column('FIRST EVIDENCE', flexible=True, min_width=30),
        ),
        (
            (
                str(facts.info.osd_id),
                facts.info.host or UNKNOWN,
                facts.info.device_class or UNKNOWN,
                *_osd_workload_cells(facts),
            )
            for facts in snapshot.osds
        ),
    )
    return _sections(by_group if snapshot.groups else '', by_osd)


def findings(snapshot: Snapshot) -> str:
    """What an expert would point out, worst first."""
    if not snapshot.findings:
        if not snapshot.osds:
            return _nothing_known(snapshot.mode)
        unread = [f.info.osd_id for f in snapshot.osds if f.options is None]
        if unread:
            return paragraph(
                f'Nothing to point out so far; the options of {_osd_names(unread)} are not known.'
            )
        return 'Nothing to point out.'
    return '\n'.join(_finding(finding) for finding in worst_first(snapshot.findings))


def recommend(snapshot: Snapshot) -> str:
    """What should change, or why nothing needs to."""
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return (
            f'Nothing is recommended in mode {snapshot.mode.value}; '
            f'see "{_COMMAND} mode recommend".'
        )
    if not snapshot.assessments:
        return _nothing_known(snapshot.mode)
    if not snapshot.recommendations:
        return _sections('No change is recommended.', _conclusions(snapshot))
    text = table(
        (
            Column('ID'),
            Column('KIND'),
            Column('WHO', flexible=True),
            Column('OSDS', 'r'),
            Column('PROFILE', flexible=True),
            Column('EXPECTED', flexible=True, wrap=True, min_width=16),
            Column('RISK'),
            Column('RESTART'),
        ),
        (
            (
                r.recommendation_id,
                r.kind.value,
                r.who,
                str(len(r.osds)),
                r.profile or _UNNAMED_OPTIONS,
                _expected(r),
                r.risk.value,
                'yes' if r.restart_required else 'no',
            )
            for r in snapshot.recommendations
        ),
    )
    more = f'In full, with the exact commands and undo: {_COMMAND} show <id>'
    return _sections(text, _conclusions(snapshot), more)


def rollout(state: Optional[RolloutState]) -> str:
    """The rollout under way, or the last one."""
    if state is None:
        return 'There was no rollout yet.'
    request = state.request
    pairs = [
        ('Rollout', state.rollout_id),
        ('Recommendation', f'{request.recommendation_id} ({request.kind.value})'),
        ('Who', request.who),
        ('Asked for by', request.actor),
        ('Phase', _phase(state)),
    ]
    if state.paused_reason is not None:
        pairs.append(('Waits because', state.paused_reason))
    if state.failure is not None:
        pairs.append(('What happened', state.failure))
    if state.last_error is not None and not state.ended:
        pairs.append(('Last error', state.last_error))
    pairs += [
        ('Verdict', 'none yet' if state.verdict is None else state.verdict.value),
        ('Started', format_time(state.started_s) or UNKNOWN),
        ('Updated', format_time(state.updated_s) or UNKNOWN),
        ('Progress', _progress(state)),
    ]
    return _sections(fields(pairs), _rollout_osds(state))


def show(recommendation: Recommendation) -> str:
    """One recommendation in full: what, why, what to expect, how to do it and to undo it."""
    r = recommendation
    head = fields(
        [
            ('Recommendation', r.recommendation_id),
            ('What', r.kind.value),
            ('Who', f'{r.who} ({format_plural(len(r.osds), "OSD")}: {format_ids(r.osds)})'),
            ('Profile', r.profile or f'{_UNNAMED_OPTIONS} (no known one)'),
            ('Risk', r.risk.value),
            ('Restart', 'every OSD, one at a time' if r.restart_required else 'none'),
            ('Options now', r.options_from or '(empty)'),
            ('Options then', r.options_to or '(empty)'),
        ]
    )
    changes = difference(r.options_from, r.options_to)
    return _sections(
        head,
        _difference(changes),
        _titled('Why', _reasons(r.reasons)),
        _titled('Expected', _prediction(r.prediction)),
        _titled('Commands', _commands(r.commands)),
        _titled('To undo it', _commands(r.undo_commands)),
        f'To carry it out with verification, one OSD at a time: {_COMMAND} apply '
        f'{r.recommendation_id}',
    )


def plan(planned: Plan) -> str:
    """What `apply` would do, and in which order."""
    r = planned.recommendation
    duration = format_duration(planned.expected_duration_s)
    pairs = [
        ('Dry run', 'nothing was changed'),
        ('Recommendation', f'{r.recommendation_id} ({r.kind.value})'),
        ('Who', r.who),
        ('Profile', r.profile or f'{_UNNAMED_OPTIONS} (no known one)'),
        ('Risk', r.risk.value),
        ('OSDs', f'{format_plural(len(r.osds), "OSD")}, one at a time, lowest risk first'),
        ('Order', ', '.join(f'osd.{osd_id}' for osd_id in r.osds)),
        (
            'Duration',
            f'about {duration} if nothing has to wait',
        ),
    ]
    steps = [
        'Wait until all placement groups are active and clean and the OSD is ok to stop.',
        'Set the option for this OSD alone, and restart it.',
        'Go on only when it is up with the new value running and all placement groups are clean.',
    ]
    return _sections(
        fields(pairs),
        _titled('For each OSD', _list(steps)),
        _titled('Commands', _commands(r.commands)),
        _titled('To undo it', _commands(r.undo_commands)),
    )


def history(records: Sequence[HistoryRecord]) -> str:
    """Every change, oldest first."""
    if not records:
        return 'Nothing was ever changed by this module.'
    return '\n\n'.join(_history_record(record) for record in records)


def mode(current: Mode) -> str:
    """The mode in force, and what it means."""
    return f'{current.value}: {_MODES[current]}'


def profile_list(profiles: Sequence[Profile]) -> str:
    """The known option sets, the best-tested first."""
    text = table(
        (
            Column('NAME', flexible=True, min_width=12),
            Column('DEFAULT OF', flexible=True, wrap=True),
            Column('SUITS', flexible=True, wrap=True, min_width=15),
            Column('TITLE', flexible=True, wrap=True, min_width=30),
        ),
        (
            (
                p.name + ('' if p.superseded is None else _SUPERSEDED_MARK),
                ', '.join(p.release_defaults) or UNKNOWN,
                ', '.join(w.value for w in suited_workloads(p)) or UNKNOWN,
                p.title,
            )
            for p in profiles
        ),
    )
    superseded = any(p.superseded is not None for p in profiles)
    note = (
        f'{_SUPERSEDED_MARK} superseded, some only on newer releases: '
        f'see "{_COMMAND} profile show <name>"'
    )
    return _sections(text, note if superseded else '')


def profile(shown: Profile) -> str:
    """One option set with whom it suits and what was published of it."""
    pairs = [
        ('Profile', shown.name),
        ('Title', shown.title),
        ('Default of', ', '.join(shown.release_defaults) or 'no release'),
    ]
    if shown.superseded is not None:
        since = shown.superseded_from_rocksdb
        when = '' if since is None else f' (from RocksDB {since} on)'
        pairs.append(('Superseded', f'{shown.superseded}{when}'))
    pairs += [('Options', shown.options or '(empty)'), ('Source', shown.source)]
    return _sections(
        fields(pairs),
        _titled('Suits', '\n'.join(_suitability(shown.suitability))),
        _titled('Hardware', _list(_hardware(shown))),
        _titled('Published', '\n'.join(_published(figure) for figure in shown.evidence)),
        _titled('Cautions', _list(shown.cautions)),
    )


def _sections(*parts: str) -> str:
    return '\n\n'.join(part for part in parts if part)


def _nothing_known(current: Mode) -> str:
    if current is Mode.OFF:
        return f'Mode is off: nothing is read. See "{_COMMAND} mode observe".'
    return 'Nothing is known yet: the first sample of the OSDs is still to come.'


def _sampling(current: Mode, sampling: Sampling) -> str:
    if current is Mode.OFF:
        return 'off'
    parts = [
        format_plural(sampling.osds, 'OSD'),
        f'every {format_duration(sampling.interval_s)}',
        'no sample yet'
        if sampling.last_sample_age_s is None
        else f'newest sample {format_duration(sampling.last_sample_age_s)} old',
    ]
    if sampling.tick_ms is not None:
        parts.append(f'last tick took {format_ms(sampling.tick_ms)} of CPU')
    return ', '.join(parts)


def _finding_counts(snapshot: Snapshot) -> str:
    if not snapshot.findings:
        return 'none'
    counts = [
        (severity, sum(f.severity.value == severity for f in snapshot.findings))
        for severity in _SEVERITY_MARKS
    ]
    texts = [
        f'{count} info' if severity == 'info' else format_plural(count, severity)
        for severity, count in counts
        if count
    ]
    return f'{", ".join(texts)} (see "{_COMMAND} findings")'


def _recommendation_count(snapshot: Snapshot) -> str:
    count = len(snapshot.recommendations)
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return f'not in mode {snapshot.mode.value}'
    if not count:
        return 'none' if snapshot.assessments else 'none yet'
    return f'{count} (see "{_COMMAND} recommend")'


def _rollout_line(state: Optional[RolloutState]) -> str:
    if state is None:
        return 'none yet'
    text = f'{state.rollout_id} for {state.request.who}: {_phase(state)}'
    if not state.ended:
        text += f', {_progress(state)}'
    why = state.failure if state.ended else state.paused_reason
    return f'{text}; {why}' if why else text


def _progress(state: RolloutState) -> str:
    total = format_plural(len(state.osds), 'OSD')
    # How far it came before it ended is told OSD by OSD.
    return total if state.ended else f'{osds_finished(state)} of {total} finished'


def _phase(state: RolloutState) -> str:
    phase = state.phase.value
    if state.paused_reason is not None:
        return f'{phase} (in {state.stage.value})'
    if state.outcome is not None and state.outcome.value != phase:
        return f'{phase} ({state.outcome.value})'
    return phase


def _groups(snapshot: Snapshot) -> str:
    if not snapshot.osds:
        return '' if snapshot.mode is Mode.OFF else _nothing_known(snapshot.mode)
    rows = []
    for group in snapshot.groups:
        in_use = options_in_use(group.osds)
        rows.append(
            (
                group.who,
                str(len(group.osds)),
                *_workload_cells(group.workload),
                _options_cell(in_use),
                _source_cell(in_use),
            )
        )
    columns = (
        Column('GROUP', flexible=True),
        Column('OSDS', 'r'),
        Column('WORKLOAD'),
        Column('CONFIDENCE', 'r'),
        Column('OPTIONS', flexible=True, wrap=True, min_width=20),
        Column('SOURCE'),
    )
    in_no_group = [f.info.osd_id for f in snapshot.osds if f.info.device_class is None]
    pending = options_in_use(snapshot.osds).pending_restart
    return _sections(
        table(columns, rows) if rows else '',
        paragraph(f'No device class, so in no group: {_osd_names(in_no_group)}.')
        if in_no_group
        else '',
        _pending_note(pending),
    )


def _options_cell(in_use: OptionsInUse) -> str:
    if not in_use.variants:
        return UNKNOWN
    by_profile: dict[str, int] = {}
    for variant in in_use.variants:
        name = variant.profile or _UNNAMED_OPTIONS
        by_profile[name] = by_profile.get(name, 0) + len(variant.osds)
    mark = _PENDING_MARK if in_use.pending_restart else ''
    if len(by_profile) == 1:
        return next(iter(by_profile)) + mark
    return ', '.join(f'{name} ({count})' for name, count in by_profile.items()) + mark


def _source_cell(in_use: OptionsInUse) -> str:
    if not in_use.variants:
        return UNKNOWN
    return in_use.source or 'mixed'


def _pending_note(osd_ids: Sequence[int]) -> str:
    if not osd_ids:
        return ''
    return paragraph(f'{_PENDING_MARK} other options wait for a restart of {_osd_names(osd_ids)}')


def _osd_names(osd_ids: Sequence[int]) -> str:
    ranges = format_ids(osd_ids)
    return f'osd.{ranges}' if len(ranges) <= _RANGES_SHOWN_CHARS else f'{len(osd_ids)} OSDs'


def _notices(notices: Sequence[str]) -> str:
    return '\n'.join(paragraph(notice, indent=2, first='! ') for notice in notices)


def _osd_cells(facts: OsdFacts, domain: str) -> Sequence[str]:
    signals = facts.signals or _NO_SIGNALS
    return (
        str(facts.info.osd_id),
        (facts.info.host or UNKNOWN)[: -len(domain) or None],
        facts.info.device_class or UNKNOWN,
        _osd_workload_cells(facts)[0],
        format_count(signals.write_iops),
        format_bytes_short(signals.write_bytes_avg),
        format_ms(signals.kv_sync_ms),
        format_percent(signals.kv_sync_busy),
        format_bytes_short(signals.wal_bytes_per_s),
        format_ratio(signals.db_write_amp),
        _db_used_cell(signals),
        format_bytes_short(signals.slow_used_bytes),
        _profile_cell(facts.options),
    )


def _db_used_cell(signals: Signals) -> str:
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        return format_bytes_short(signals.db_used_bytes)
    return format_percent(signals.db_used_bytes / signals.db_total_bytes)


def _profile_cell(options: Optional[OsdOptions]) -> str:
    if options is None:
        return UNKNOWN
    mark = _PENDING_MARK if options.pending_restart else ''
    return f'{options.profile or _UNNAMED_OPTIONS}{mark}'


def _workload_cells(found: Optional[Workload]) -> tuple[str, str]:
    if found is None or found.workload_class is WorkloadClass.UNKNOWN:
        return WorkloadClass.UNKNOWN.value, UNKNOWN
    return found.workload_class.value, format_percent(found.confidence)


def _osd_workload_cells(facts: OsdFacts) -> tuple[str, str, str]:
    if not facts.info.up:
        return '(down)', UNKNOWN, UNKNOWN
    evidence = () if facts.workload is None else facts.workload.evidence
    return (*_workload_cells(facts.workload), evidence[0].statement if evidence else UNKNOWN)


def _workload_rows(
    head: tuple[str, str], found: Optional[Workload]
) -> Iterable[tuple[str, str, str, str, str]]:
    """One row per piece of evidence; what is above it is not repeated."""
    statements = [e.statement for e in found.evidence] if found is not None else []
    workload_class, confidence = _workload_cells(found)
    yield (*head, workload_class, confidence, statements[0] if statements else UNKNOWN)
    for statement in statements[1:]:
        yield '', '', '', '', statement


def _workload_line(found: Optional[Workload]) -> str:
    workload_class, confidence = _workload_cells(found)
    return workload_class if confidence == UNKNOWN else f'{workload_class}, confidence {confidence}'


def _evidence(found: Optional[Workload]) -> str:
    if found is None or not found.evidence:
        return ''
    lines = [
        paragraph(f'{e.statement} ({_value(e.signal, e.value, e.unit, e.window_s)})', 2, '- ')
        for e in found.evidence
    ]
    return '\n'.join(lines)


def _value(signal: str, value: object, unit: str, window_s: Optional[float]) -> str:
    text = f'{signal} {_number(value, "" if unit == signal else unit)}'
    return text if window_s is None else f'{text} over {format_duration(window_s)}'


_FORMATS: Mapping[str, Callable[[Optional[float]], str]] = {
    'bytes': format_bytes,
    'B': format_bytes,
    'bytes/s': format_bytes_rate,
    'B/s': format_bytes_rate,
    'ms': format_ms,
    's': format_duration,
    'ratio': format_percent,
    'ops/s': format_count_rate,
    'op/s': format_count_rate,
}


def _number(value: object, unit: str) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, (int, float)):
        formatter = _FORMATS.get(unit)
        if formatter is not None:
            return formatter(value)
        return f'{format_count(value)} {unit}'.rstrip()
    return str(value)


def _devices(facts: OsdFacts) -> str:
    info = facts.info
    if info.dedicated_db is None:
        return UNKNOWN
    db = 'DB on a device of its own' if info.dedicated_db else 'DB shares the device of the data'
    if info.db_device_bytes is not None:
        db += f' ({format_bytes(info.db_device_bytes)})'
    return f'{db}, WAL on a device of its own' if info.dedicated_wal else db


def _signal_fields(signals: Signals) -> str:
    source = '' if signals.compaction_source is None else f' ({signals.compaction_source})'
    return fields(
        [
            (
                'Window',
                _window(signals),
            ),
            ('Client writes', _client(signals.write_iops, signals.write_bytes_per_s)),
            ('  mean size', format_bytes(signals.write_bytes_avg)),
            ('  latency', format_ms(signals.op_w_latency_ms)),
            ('Client reads', _client(signals.read_iops, signals.read_bytes_per_s)),
            ('  mean size', format_bytes(signals.read_bytes_avg)),
            ('Class calls', format_count_rate(signals.rw_iops)),
            ('Recovery', _client(signals.recovery_ops_per_s, signals.recovery_bytes_per_s)),
            (
                'KV sync',
                f'{format_ms(signals.kv_sync_ms)}, of that flush {format_ms(signals.kv_flush_ms)}',
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
            ('WAL used', format_used(signals.wal_used_bytes, signals.wal_total_bytes)),
            ('Slow used', format_used(signals.slow_used_bytes, signals.slow_total_bytes)),
        ]
    )


def _not_measured(facts: OsdFacts) -> str:
    return (
        'Nothing was measured on it yet.' if facts.info.up else 'Nothing is measured: it is down.'
    )


def _window(signals: Signals) -> str:
    age = f'newest sample {format_duration(signals.sample_age_s)} old'
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
        return 'The options it runs are not known.'
    pairs = [
        ('Profile', options.profile or f'{_UNNAMED_OPTIONS} (no known one)'),
        ('Source', _source(options)),
        ('Running', options.running or '(empty)'),
    ]
    if options.annex:
        pairs.append(('Of that, annex', options.annex))
    changes: Sequence[OptionDifference] = ()
    if options.next_start is None:
        pairs.append(('Next start', 'what it would run cannot be told'))
    elif options.pending_restart:
        pairs.append(('Next start', options.next_start or '(empty)'))
        changes = difference(options.running, options.next_start) or ()
    return _sections(fields(pairs), _changes(changes, 'RUNNING', 'NEXT START'))


def _source(options: OsdOptions) -> str:
    text = options.source
    if options.overruled:
        return f'{text}; it beats the config store'
    if options.deciding_who is None:
        return text
    when = ', at the next start the' if options.pending_restart else ','
    return f'{text}{when} entry of {options.deciding_who}'


def _changes(changes: Sequence[OptionDifference], before: str, after: str) -> str:
    if not changes:
        return ''
    return table(
        (
            Column('OPTION', flexible=True, min_width=20),
            Column(before, flexible=True, wrap=True, min_width=16),
            Column(after, flexible=True, wrap=True, min_width=16),
        ),
        ((c.option, _option_value(c.value_from), _option_value(c.value_to)) for c in changes),
    )


def _option_value(value: Optional[str]) -> str:
    # Not a dash: that it is not in the string is known.
    return '(unset)' if value is None else value or '(empty)'


def _difference(changes: Optional[Sequence[OptionDifference]]) -> str:
    if changes is None:
        return 'The two cannot be compared: one of them is no option string that Ceph accepts.'
    return _changes(changes, 'NOW', 'THEN') or 'No option value changes.'


def _titled(title: str, text: str) -> str:
    return f'{title}:\n{text}' if text else ''


def _reasons(reasons: Sequence[Reason]) -> str:
    return '\n'.join(
        paragraph(f'{reason.statement} [{reason.source}]', 4, '  - ') for reason in reasons
    )


def _prediction(prediction: Optional[Prediction]) -> str:
    if prediction is None:
        return paragraph('Nothing is predicted: no published measurement fits.', 4, '  - ')
    change = format_percent_range(prediction.low_percent, prediction.high_percent)
    return '\n'.join(
        (
            paragraph(f'{prediction.metric}: {change}', 4, '  - '),
            paragraph(f'Basis: {prediction.basis}', 4, '  - '),
        )
    )


def _commands(commands: Sequence[str]) -> str:
    """Not indented: a command that is continued on the next line must stay what it is."""
    return '\n'.join(shell_command(command) for command in commands)


def _finding(finding: Finding) -> str:
    """In the form of `ceph health detail`."""
    mark = _SEVERITY_MARKS[finding.severity.value]
    lines = [paragraph(f'{finding.finding_id}: {finding.summary}', 6, f'{mark} ')]
    lines += [
        paragraph(_finding_evidence(evidence), 16, '    evidence:') for evidence in finding.evidence
    ]
    lines.append(paragraph(finding.remedy, 16, '    remedy:'))
    lines.append(paragraph(finding.source, 16, '    source:'))
    return '\n'.join(lines)


def _finding_evidence(evidence: FindingEvidence) -> str:
    return _value(evidence.signal, evidence.value, evidence.unit, evidence.window_s)


def _conclusions(snapshot: Snapshot) -> str:
    return '\n'.join(
        paragraph(assessment.conclusion, indent=4, first=f'{assessment.who}: ')
        for assessment in snapshot.assessments
    )


def _expected(recommendation: Recommendation) -> str:
    prediction = recommendation.prediction
    if prediction is None:
        return UNKNOWN
    change = format_percent_range(prediction.low_percent, prediction.high_percent)
    return f'{prediction.metric} {change}'


def _recommendation_pointers(recommendations: Sequence[Recommendation]) -> str:
    return '\n'.join(
        f'Recommended: {r.kind.value} {r.profile or ""}'.rstrip()
        + f' (see "{_COMMAND} show {r.recommendation_id}")'
        for r in recommendations
    )


def _rollout_osds(state: RolloutState) -> str:
    """OSDs by phase: what a thousand of them have in common takes one line."""
    steps = {osd.osd_id: osd.step.value for osd in state.osds}
    by_phase: dict[Phase, list[int]] = {}
    for batch in state.batches:
        by_phase.setdefault(batch.phase, []).extend(batch.osds)
    rows = [
        (
            phase.value,
            str(len(ids)),
            format_ids(ids),
            ', '.join(sorted({steps[osd_id] for osd_id in ids})),
        )
        for phase, ids in by_phase.items()
    ]
    return table(
        (
            Column('PHASE'),
            Column('OSDS', 'r'),
            Column('IDS', flexible=True, wrap=True, min_width=20),
            Column('STEP', flexible=True, wrap=True),
        ),
        rows,
    )


def _list(sentences: Iterable[str]) -> str:
    return '\n'.join(paragraph(sentence, 4, '  - ') for sentence in sentences)


def _suitability(rules: Sequence[SuitabilityRule]) -> Iterable[str]:
    """Rules that say the same of several workloads are one entry."""
    by_content: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        where = f'RocksDB {_versions(rule)}, score {rule.score:.2f}'
        if rule.only_as_release_default:
            where += ', only as the default of the release'
        by_content.setdefault((where, rule.reasons), []).append(rule.workload.value)
    for (where, reasons), workloads in by_content.items():
        yield paragraph(f'{", ".join(workloads)} ({where})', 4, '  - ')
        yield from (paragraph(reason, 6) for reason in reasons)


def _versions(rule: SuitabilityRule) -> str:
    if rule.rocksdb_max is None:
        return f'{rule.rocksdb_min} and later'
    if rule.rocksdb_max == rule.rocksdb_min:
        return rule.rocksdb_min
    return f'{rule.rocksdb_min} to {rule.rocksdb_max}'


def _hardware(shown: Profile) -> Iterable[str]:
    cores = shown.hardware.loses_at_cores_per_osd
    if cores is not None:
        yield f'A loss was published for {format_plural(cores, "core")} for each OSD or fewer.'
    yield from shown.hardware.notes


def _published(figure: PublishedEvidence) -> str:
    change = format_percent_range(figure.change_percent, figure.change_percent)
    text = f'{figure.workload.value}, {figure.metric}: {change} against {figure.baseline}'
    if figure.baseline_value is not None:
        # Figures of a publication stand as they were published, not rounded.
        unit = '' if figure.unit == 'ratio' else f' {figure.unit}'
        text += f' ({figure.value:,.12g}{unit} against {figure.baseline_value:,.12g})'
    source = figure.source
    return '\n'.join(
        (
            paragraph(text, 4, '  - '),
            paragraph(figure.setup, 6),
            paragraph(f'{source.author}, {source.title}, {source.year}, {source.section}', 6),
        )
    )


def _history_record(record: HistoryRecord) -> str:
    when = format_time(record.time_s) or UNKNOWN
    head = paragraph(
        f'{when} {record.rollout_id} {record.who} {record.outcome.value}, '
        f'asked for by {record.actor}'
    )
    pairs = [
        ('Change', _change_line(record.options_from, record.options_to)),
        ('Predicted', record.prediction or 'nothing'),
        ('Measured', record.measured or 'nothing'),
    ]
    if record.reason is not None:
        pairs.append(('Reason', record.reason))
    return f'{head}\n{fields(pairs, indent=4)}'


def _change_line(before: str, after: str) -> str:
    changes = difference(before, after)
    if changes is None:
        return f'from {before or "(empty)"} to {after or "(empty)"}'
    if not changes:
        return 'none of the option values; only who sets them'
    return ', '.join(
        f'{c.option}={_option_value(c.value_from)}->{_option_value(c.value_to)}' for c in changes
    )

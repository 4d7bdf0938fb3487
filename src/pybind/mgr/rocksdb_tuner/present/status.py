"""The module: `status`, `mode`, `doctor` and `report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ..advise.records import Decision, Severity
from ..doctor import DoctorCheck
from ..notes import AsTime, Count, Named
from ..observe.report_interval import Reports
from ..operations.history import TrackRecord, track_record
from ..snapshot import Mode, Sampling, Snapshot
from ..units import format_duration, format_ms, format_plural
from ..version import VERSION
from .advice import decisions_of
from .layout import Column, fields, joined, paragraph, sections, table
from .operations import OperationSummary, operation_summary_of
from .osd import Group, groups_of
from .phrases import (
    COMMAND,
    PENDING_MARK,
    OptionsInUse,
    decision_text,
    nothing_known,
    options_in_use,
    options_name,
    osd_names,
    pending_note,
    workload_text,
)


@dataclass(frozen=True)
class FindingCounts:
    """Number of findings by severity."""

    error: Count
    warning: Count
    info: Count


@dataclass(frozen=True)
class Status:
    """Overview of the module."""

    time_s: Annotated[Optional[float], Named('time'), AsTime(), 'Time of the data. ISO 8601, UTC.']
    mode: Annotated[Mode, 'Operating mode of the module.']
    release: Annotated[
        Optional[str], 'Release of the active mgr; null if the module does not support it.'
    ]
    version: Annotated[str, 'Version of the module.']
    sampling: Annotated[Sampling, 'Sampling of the OSDs.']
    decisions: Annotated[
        tuple[Decision, ...], 'What to do about each group; one for all OSDs if there is no group.'
    ]
    groups: Annotated[tuple[Group, ...], 'OSDs by device class.']
    findings: Annotated[FindingCounts, 'Number of findings by severity.']
    recommendations: Annotated[Count, 'Number of recommendations.']
    operation: Annotated[
        Optional[OperationSummary],
        'The operation under way, or the last one; null before the first.',
    ]
    track_record: Annotated[TrackRecord, 'Accuracy of the predictions for all ended changes.']
    notices: Annotated[tuple[str, ...], 'Limitations and problems of the module.']


@dataclass(frozen=True)
class ModeInForce:
    """Operating mode of the module."""

    mode: Annotated[Mode, 'Current mode.']
    possible: Annotated[tuple[Mode, ...], 'All modes.'] = tuple(Mode)


@dataclass(frozen=True)
class Report:
    """All collected data in one document."""

    format: Annotated[Literal['ceph-rocksdb-tuner-report'], 'Document format.']
    version: Annotated[Literal[1], 'Version of the format.']
    anonymous: Annotated[bool, 'Whether names were replaced and free text dropped.']
    module_version: Annotated[str, 'Version of the module.']
    collection: Annotated[
        Mapping[str, object], "The module's records, for `python3 -m rocksdb_tuner.offline`."
    ]


def status_of(snapshot: Snapshot) -> Status:
    found, state = Counter(one.severity for one in snapshot.findings), snapshot.operation
    return Status(
        time_s=snapshot.taken_s,
        mode=snapshot.mode,
        release=snapshot.release,
        version=VERSION,
        sampling=snapshot.sampling,
        decisions=decisions_of(snapshot),
        groups=groups_of(snapshot),
        findings=FindingCounts(*(found[severity] for severity in Severity)),
        recommendations=len(snapshot.recommendations),
        operation=None if state is None else operation_summary_of(state),
        track_record=track_record(snapshot.history),
        notices=snapshot.all_notices,
    )


#: Decisions shown with reasons, gains and losses; an overview fits one screen.
_IN_FULL = 2
_MODES = {
    Mode.OFF: 'no sampling, no changes',
    Mode.OBSERVE: 'samples OSDs and classifies workloads',
    Mode.RECOMMEND: 'recommends changes, and applies them on request',
    Mode.AUTO_APPLY: 'applies low-risk recommendations automatically',
}


def mode(current: Mode) -> str:
    """The current mode and its meaning."""
    return f'{current.value}: {_MODES[current]}'


def status(snapshot: Snapshot) -> str:
    """An overview on one screen."""
    known = status_of(snapshot)
    decisions, advice, brief = known.decisions, known.recommendations, known.operation
    operation = 'none yet'
    if brief is not None:
        what = f'{brief.kind} {brief.id} of {brief.who}: {brief.phase}, {brief.progress}'
        operation = joined(what, brief.paused_reason or brief.failure, by='; ')
    found = ', '.join(f'{n} {severity}' for severity, n in vars(known.findings).items() if n)
    return sections(
        *(decision_text(d, paragraph(d.who)) for d in decisions[:_IN_FULL]),
        joined(*(paragraph(d.do, 4, f'{d.who}: ') for d in decisions[_IN_FULL:])),
        fields(
            ('Mode', f'{known.mode.value} ({_MODES[known.mode]})'),
            ('Release', known.release or 'unknown to this module'),
            ('Module version', VERSION),
            ('Sampling', _sampling(known.mode, known.sampling)),
            ('Findings', f'{found} (see "{COMMAND} findings")' if snapshot.findings else 'none'),
            ('Recommendations', f'{advice} (see "{COMMAND} recommend")' if advice else None),
            ('Operation', operation),
        ),
        joined(
            *(
                paragraph(f'Not auto-applied yet: {refusal.recommendation_id}: {refusal.reason}.')
                for refusal in snapshot.auto_apply_refusals
            )
        ),
        _groups(snapshot, known.groups),
        joined(*(paragraph(notice, 2, '! ') for notice in known.notices)),
    )


def _sampling(current: Mode, sampling: Sampling) -> str:
    if current is Mode.OFF:
        return 'off'
    every, age_s = sampling.interval_s, sampling.last_sample_age_s
    return joined(
        format_plural(sampling.osds, 'OSD')
        + (' from files' if every is None else f' every {format_duration(every)}'),
        'no sample yet' if age_s is None else f'newest sample {format_duration(age_s)} old',
        'OSDs do not report' if sampling.reports is Reports.NONE else '',
        'OSDs report too rarely' if sampling.reports is Reports.SLOW else '',
        '' if sampling.tick_ms is None else f'tick {format_ms(sampling.tick_ms)} CPU',
        by=', ',
    )


_GROUPS: Sequence[Column[Group]] = (
    Column('GROUP', 'group.who'),
    Column('OSDS', lambda g: len(g.group.osds), 'r'),
    Column('WORKLOAD', lambda g: workload_text(g.workload)),
    Column('OPTIONS', lambda g: _options(g.options)),
    Column('SOURCE', lambda g: g.options.source or ('mixed' if g.options.variants else None)),
    Column('LIMITED BY', 'group.limit.resource'),
)


def _groups(snapshot: Snapshot, groups: Sequence[Group]) -> str:
    if not snapshot.osds:
        return '' if snapshot.mode is Mode.OFF else nothing_known(snapshot.mode)
    in_no_group = [f.info.osd_id for f in snapshot.osds if f.info.device_class is None]
    return sections(
        table(_GROUPS, groups),
        paragraph(f'OSDs without a device class, in no group: {osd_names(in_no_group)}.')
        if in_no_group
        else '',
        pending_note(options_in_use(snapshot.osds).pending_restart),
    )


def _options(in_use: OptionsInUse) -> Optional[str]:
    by_profile: Counter[str] = Counter()
    for variant in in_use.variants:
        by_profile[options_name(variant)] += len(variant.osds)
    one = len(by_profile) == 1
    texts = (name if one else f'{name} ({count})' for name, count in by_profile.items())
    return ', '.join(texts) + (PENDING_MARK if in_use.pending_restart else '') or None


#: Of the states.
_WIDTH = 9
_STATES = {True: 'ok', None: 'unknown'}


def doctor(checks: Sequence[DoctorCheck]) -> str:
    """A line per check, with the remedy below those that failed."""
    lines = []
    for check in checks:
        state = _STATES.get(check.ok, 'off' if check.optional else 'FAILED')
        lines.append(paragraph(f'{check.check_id}: {check.summary}', _WIDTH, state))
        if check.ok is False and check.remedy is not None:
            lines.append(paragraph(check.remedy, _WIDTH + 8, f'{" " * _WIDTH}remedy:'))
    return joined(*lines)

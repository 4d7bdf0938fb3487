"""The module: `status`, `mode`, `doctor`, and all of it in one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ..advise.limit import limited_by
from ..advise.records import Decision, Finding, GroupFacts, Limit, Severity
from ..doctor import DoctorCheck
from ..notes import AsTime, Count, InPlace, Named, Picked
from ..observe.report_interval import ReportInterval, Reports
from ..operations.experiment.records import ExperimentState
from ..operations.history import TrackRecord, track_record
from ..operations.rollout.records import RolloutState
from ..snapshot import Mode, Sampling, Snapshot
from ..units import format_duration, format_ms, format_plural
from ..version import VERSION
from ..workload.records import UNKNOWN_WORKLOAD, Workload
from .advice import Recommendation, findings_of, recommendations_of
from .decisions import decisions_of
from .experiment import summary_of
from .layout import Column, fields, joined, paragraph, sections, table, titled
from .operations import OperationSummary, operation_summary_of
from .osd import OsdRow, Workloads, rows_of, workloads_of
from .phrases import (
    COMMAND,
    PENDING_MARK,
    UNNAMED_OPTIONS,
    OptionsInUse,
    decision_text,
    nothing_known,
    options_in_use,
    osd_names,
    pending_note,
    phase_of,
    progress_of,
    workload_text,
)


@dataclass(frozen=True)
class Group:
    """The OSDs of one device class."""

    group: Annotated[GroupFacts, InPlace('who', 'osd_ids', 'limit')]
    workload: Annotated[Workload, Picked('workload_class', 'confidence')]
    options: Annotated[OptionsInUse, 'Running options of the OSDs.']


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
    possible: Annotated[tuple[Mode, ...], 'All modes.']


@dataclass(frozen=True)
class Overview:
    """The answers to several commands at once."""

    status: Annotated[Status, 'As of status.']
    osd: Annotated[tuple[OsdRow, ...], 'As of osd.']
    workload: Annotated[Workloads, 'As of workload.']
    findings: Annotated[tuple[Finding, ...], 'As of findings.']
    recommend: Annotated[tuple[Recommendation, ...], 'As of recommend.']


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
    found = Counter(finding.severity for finding in snapshot.findings)
    return Status(
        time_s=snapshot.taken_s,
        mode=snapshot.mode,
        release=snapshot.release,
        version=VERSION,
        sampling=snapshot.sampling,
        decisions=decisions_of(snapshot),
        groups=tuple(
            Group(group, group.workload or UNKNOWN_WORKLOAD, options_in_use(group.osds))
            for group in snapshot.groups
        ),
        findings=FindingCounts(*(found[severity] for severity in Severity)),
        recommendations=len(snapshot.recommendations),
        operation=operation_summary_of(snapshot.operation),
        track_record=track_record(snapshot.history),
        notices=snapshot.all_notices,
    )


def mode_of(current: Mode) -> ModeInForce:
    return ModeInForce(current, tuple(Mode))


def overview_of(snapshot: Snapshot) -> Overview:
    return Overview(
        status_of(snapshot),
        rows_of(snapshot),
        workloads_of(snapshot),
        findings_of(snapshot),
        recommendations_of(snapshot),
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
    decisions, advice = decisions_of(snapshot), len(snapshot.recommendations)
    return sections(
        *(decision_text(d, paragraph(d.who)) for d in decisions[:_IN_FULL]),
        joined(*(paragraph(d.do, 4, f'{d.who}: ') for d in decisions[_IN_FULL:])),
        fields(
            ('Mode', f'{snapshot.mode.value} ({_MODES[snapshot.mode]})'),
            ('Release', snapshot.release or 'unknown to this module'),
            ('Module version', VERSION),
            ('Sampling', _sampling(snapshot.mode, snapshot.sampling)),
            ('Findings', _finding_counts(snapshot.findings)),
            ('Recommendations', f'{advice} (see "{COMMAND} recommend")' if advice else None),
            ('Operation', _operation(snapshot)),
        ),
        joined(
            *(
                paragraph(f'Not auto-applied yet: {refusal.recommendation_id}: {refusal.reason}.')
                for refusal in snapshot.auto_apply_refusals
            )
        ),
        _groups(snapshot, [decision.limit for decision in decisions]),
        joined(*(paragraph(notice, 2, '! ') for notice in snapshot.all_notices)),
    )


def _sampling(current: Mode, sampling: Sampling) -> str:
    if current is Mode.OFF:
        return 'off'
    every, age_s = sampling.interval_s, sampling.last_sample_age_s
    from_where = ' from files' if every is None else f' every {format_duration(every)}'
    known, reports = ReportInterval(sampling.report_interval_s), ''
    if sampling.reports is Reports.NONE:
        reports = 'OSDs do not report'
    elif known.unusual:
        rarely = ', too rarely to be judged' if sampling.reports is Reports.SLOW else ''
        reports = f'OSDs report every {format_duration(known.interval_s)}{rarely}'
    return joined(
        format_plural(sampling.osds, 'OSD') + from_where,
        'no sample yet' if age_s is None else f'newest sample {format_duration(age_s)} old',
        reports,
        '' if sampling.tick_ms is None else f'tick {format_ms(sampling.tick_ms)} CPU',
        by=', ',
    )


def _finding_counts(findings: Sequence[Finding]) -> str:
    if not findings:
        return 'none'
    counts = Counter(finding.severity for finding in findings)
    texts = (
        f'{counts[one]} info' if one is Severity.INFO else format_plural(counts[one], one.value)
        for one in Severity
        if counts[one]
    )
    return f'{", ".join(texts)} (see "{COMMAND} findings")'


def _operation(snapshot: Snapshot) -> str:
    """The operation under way, or the last one."""
    state = snapshot.operation
    if state is None:
        return 'none yet'
    waits_for = None
    if isinstance(state, RolloutState):
        text = joined(phase_of(state), '' if state.ended else progress_of(state), by=', ')
    elif isinstance(state, ExperimentState):
        text = summary_of(state)
    else:
        text = f'{state.phase.value}, {state.finished} of {format_plural(len(state.osds), "OSD")}'
        waits_for = snapshot.campaign_waits_for
    reasons = (state.failure,) if state.ended else (state.paused_reason, waits_for)
    return joined(f'{state.operation_id} for {state.request.who}: {text}', *reasons, by='; ')


_GROUPS: Sequence[Column[tuple[GroupFacts, OptionsInUse]]] = (
    Column('GROUP', lambda row: row[0].who),
    Column('OSDS', lambda row: len(row[0].osds), 'r'),
    Column('WORKLOAD', lambda row: workload_text(row[0].workload, '{} ({})')),
    Column('OPTIONS', lambda row: _options(row[1])),
    Column('SOURCE', lambda row: (row[1].source or 'mixed') if row[1].variants else None),
)


def _groups(snapshot: Snapshot, told: Sequence[Optional[Limit]]) -> str:
    """A row per group, and what limits those whose decision does not tell."""
    if not snapshot.osds:
        return '' if snapshot.mode is Mode.OFF else nothing_known(snapshot.mode)
    in_no_group = [f.info.osd_id for f in snapshot.osds if f.info.device_class is None]
    return sections(
        table(_GROUPS, ((group, options_in_use(group.osds)) for group in snapshot.groups)),
        paragraph(f'OSDs without a device class, in no group: {osd_names(in_no_group)}.')
        if in_no_group
        else '',
        pending_note(options_in_use(snapshot.osds).pending_restart),
        titled(
            'Limited by',
            joined(
                *(
                    paragraph(limited_by(group.limit), 4, f'  {group.who}: ')
                    for group in snapshot.groups
                    if group.limit not in told and limited_by(group.limit)
                )
            ),
        ),
    )


def _options(in_use: OptionsInUse) -> Optional[str]:
    by_profile: Counter[str] = Counter()
    for variant in in_use.variants:
        known = 'default' if variant.source == 'default' else variant.profile
        by_profile[known if variant.profile and known else UNNAMED_OPTIONS] += len(variant.osds)
    if not by_profile:
        return None
    one = len(by_profile) == 1
    texts = (name if one else f'{name} ({count})' for name, count in by_profile.items())
    return ', '.join(texts) + (PENDING_MARK if in_use.pending_restart else '')


#: Of the states.
_WIDTH = 9


def doctor(checks: Sequence[DoctorCheck]) -> str:
    """A line per check, with the remedy below those that failed."""
    return joined(
        *(
            joined(
                paragraph(f'{check.check_id}: {check.summary}', _WIDTH, _state(check)),
                paragraph(check.remedy, _WIDTH + 8, f'{" " * _WIDTH}remedy:')
                if check.ok is False and check.remedy is not None
                else '',
            )
            for check in checks
        )
    )


def _state(check: DoctorCheck) -> str:
    if check.ok is None:
        return 'unknown'
    if check.ok:
        return 'ok'
    return 'off' if check.optional else 'FAILED'

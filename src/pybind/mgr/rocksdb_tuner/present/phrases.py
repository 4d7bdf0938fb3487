"""Summaries of many records in one line.

The differences between two option strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ..advise.limit import limited_by
from ..advise.records import Decision, Finding, FindingEvidence, GroupFacts, OsdFacts, Severity
from ..judge.records import SoakPlan
from ..lsm.records import Estimate
from ..notes import OsdId
from ..observe.signals import Signals
from ..operations.phases import Phase
from ..operations.rollout.history import TrackRecord
from ..operations.rollout.records import RolloutState, batches
from ..options.grammar import OptionDifference
from ..plan.batches import LEAST_FILLS
from ..plan.records import Purpose
from ..snapshot import Mode
from ..units import (
    UNKNOWN,
    format_bytes,
    format_bytes_rate,
    format_count,
    format_count_rate,
    format_duration,
    format_ids,
    format_ms,
    format_percent,
    format_plural,
)
from ..workload.records import Workload, WorkloadClass
from .layout import Column, paragraph, shell_command, table

SEVERITIES = tuple(Severity)
_PHASES_OF_FINISHED_OSDS = frozenset({Phase.DONE, Phase.ROLLED_BACK})


@dataclass(frozen=True)
class Variant:
    """OSDs that run the same profile from the same source."""

    profile: Annotated[Optional[str], 'Name of the profile; null if it matches none.']
    source: Annotated[
        str,
        'Source of the running value: "default", "mon", "file", "env", "cmdline" or "override".',
    ]
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']


@dataclass(frozen=True)
class OptionsInUse:
    """Running options of the OSDs of a group.

    OSDs whose options are not known are in none of them.
    """

    variants: Annotated[
        tuple[Variant, ...],
        'Variants, most frequent first; without OSDs whose options are unknown.',
    ]
    pending_restart: Annotated[
        tuple[OsdId, ...], 'OSDs whose configured options a restart would apply.'
    ]

    @property
    def profile(
        self,
    ) -> Annotated[
        Optional[str], 'Profile that all of them run; null if they differ or match no profile.'
    ]:
        profiles = {variant.profile for variant in self.variants}
        return profiles.pop() if len(profiles) == 1 else None

    @property
    def source(
        self,
    ) -> Annotated[
        Optional[str], 'Source of the options of all OSDs; null if it differs or is unknown.'
    ]:
        sources = {variant.source for variant in self.variants}
        return sources.pop() if len(sources) == 1 else None


def options_in_use(osds: Iterable[OsdFacts]) -> OptionsInUse:
    """The options of a group, by profile and source."""
    found: dict[tuple[Optional[str], str], list[int]] = {}
    pending = []
    for facts in osds:
        if facts.options is None:
            continue
        key = (facts.options.profile, facts.options.source)
        found.setdefault(key, []).append(facts.info.osd_id)
        if facts.options.pending_restart:
            pending.append(facts.info.osd_id)
    variants = [Variant(profile, source, tuple(ids)) for (profile, source), ids in found.items()]
    variants.sort(key=lambda variant: -len(variant.osds))
    return OptionsInUse(tuple(variants), tuple(pending))


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings sorted by severity, otherwise in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def osds_finished(state: RolloutState) -> int:
    """The number of OSDs that a rollout or rollback has finished."""
    return sum(
        len(batch.osds) for batch in batches(state) if batch.phase in _PHASES_OF_FINISHED_OSDS
    )


def common_domain(hosts: Iterable[Optional[str]]) -> str:
    """The common domain of host names (".example.com"), or ""."""
    names = [host for host in hosts if host is not None]
    split = [host.partition('.') for host in names]
    domains = {dot + domain if name else '' for name, dot, domain in split}
    return domains.pop() if len(domains) == 1 else ''


#: The prefix of all commands.
COMMAND = 'ceph rocksdb-tuner'
#: For an OSD without samples.
NO_SIGNALS = Signals(osd_id=-1)
#: Options that do not match any known profile.
UNNAMED_OPTIONS = 'yours'
#: Marks options that change with a restart; `pending_note` explains it.
PENDING_MARK = '*'
#: The length of a list of OSDs in a sentence; longer ones are shown as a number.
_RANGES_SHOWN_CHARS = 48

#: As in `ceph health detail`.
SEVERITY_MARKS = {'error': '[ERR]', 'warning': '[WRN]', 'info': '[INF]'}

#: By unit; a value with any other unit is printed as is.
_FORMATS: Mapping[str, Callable[[Optional[float]], str]] = {
    'bytes': format_bytes,
    'bytes/s': format_bytes_rate,
    'ms': format_ms,
    's': format_duration,
    'ratio': format_percent,
    'operations/s': format_count_rate,
}


def sections(*parts: str) -> str:
    """Parts separated by a blank line; empty ones are omitted."""
    return '\n\n'.join(part for part in parts if part)


def purpose(of_change: Purpose) -> str:
    """The purpose of a change and what it requires of the canary."""
    if of_change is Purpose.GAIN:
        return 'gain: the canary must improve'
    return 'safety: the canary must not regress'


def flushes_in(soak: SoakPlan, fill_s: Optional[float]) -> str:
    """The number of memtable flushes in the minimum soak time; empty if unknown."""
    if fill_s is None:
        return ''
    fewer = soak.least_s < LEAST_FILLS * fill_s
    count = f'soak_max allows fewer than {LEAST_FILLS}' if fewer else f'at least {LEAST_FILLS}'
    return f' ({count} memtable flushes; memtables take {format_duration(fill_s)} to fill)'


def decision_text(decision: Decision, title: str) -> str:
    """A decision under its title."""
    shown = (
        ('Do', decision.do),
        ('Because', decision.because),
        ('Gain', decision.gain or (decision.risk and 'not predicted')),
        ('Loss', decision.loss or (decision.risk and 'unknown')),
        ('Risk', decision.risk),
        ('Next', decision.next_command),
    )
    lines = [paragraph(text, 11, f'  {label}:') for label, text in shown if text]
    return '\n'.join((title, *lines))


def titled(title: str, text: str) -> str:
    """``text`` under a title; empty without text."""
    return f'{title}:\n{text}' if text else ''


def bullets(sentences: Iterable[str]) -> str:
    """One item per sentence."""
    return '\n'.join(paragraph(sentence, 4, '  - ') for sentence in sentences)


def nothing_known(current: Mode) -> str:
    """The answer without any samples."""
    if current is Mode.OFF:
        return f'The mode is off: OSDs are not sampled. See "{COMMAND} mode observe".'
    return 'No samples yet: waiting for the first reports of OSDs.'


def osd_names(osd_ids: Sequence[int]) -> str:
    """ "osd.0-2,5", or their number if that would be long."""
    ranges = ids_if_short(osd_ids)
    return f'{len(osd_ids)} OSDs' if ranges == UNKNOWN else f'osd.{ranges}'


def ids_if_short(ids: Sequence[int]) -> str:
    """ "0-2,5", or a dash beside their number."""
    ranges = format_ids(ids)
    return ranges if len(ranges) <= _RANGES_SHOWN_CHARS else UNKNOWN


def pending_note(osd_ids: Sequence[int]) -> str:
    """The meaning of PENDING_MARK; empty if no restart is pending."""
    if not osd_ids:
        return ''
    return paragraph(f'{PENDING_MARK} different options after a restart of {osd_names(osd_ids)}')


def limits_of_groups(groups: Iterable[GroupFacts]) -> str:
    """The limiting resource of each group."""
    return titled(
        'Limited by',
        '\n'.join(
            paragraph(text, indent=4, first=f'  {group.who}: ')
            for group in groups
            for text in [limited_by(group.limit)]
            if text
        ),
    )


def workload_line(found: Optional[Workload]) -> str:
    workload_class, confidence = workload_cells(found)
    return workload_class if confidence == UNKNOWN else f'{workload_class}, confidence {confidence}'


def workload_cells(found: Optional[Workload]) -> tuple[str, str]:
    """Class and confidence."""
    if found is None or found.workload_class is WorkloadClass.UNKNOWN:
        return WorkloadClass.UNKNOWN.value, UNKNOWN
    return found.workload_class.value, format_percent(found.confidence)


def measured_value(signal: str, value: object, unit: str, window_s: Optional[float]) -> str:
    """A piece of evidence: "kv_sync_busy 97% over 60s"."""
    text = f'{signal} {_number(value, "" if unit == signal else unit)}'
    return text if window_s is None else f'{text} over {format_duration(window_s)}'


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


def severity_mark(finding: Finding) -> str:
    return f'{SEVERITY_MARKS[finding.severity.value]} '


def finding_text(finding: Finding) -> str:
    """In the form of `ceph health detail`."""
    lines = [paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding))]
    lines += [
        paragraph(_finding_evidence(evidence), 16, '    evidence:') for evidence in finding.evidence
    ]
    lines.append(paragraph(finding.remedy, 16, '    remedy:'))
    lines += [shell_command(c) for c in finding.commands if c not in finding.remedy]
    if finding.do_not:
        lines.append(paragraph(finding.do_not, 16, '    do not:'))
    lines.append(paragraph(finding.source, 16, '    source:'))
    return '\n'.join(lines)


def _finding_evidence(evidence: FindingEvidence) -> str:
    return measured_value(evidence.signal, evidence.value, evidence.unit, evidence.window_s)


def changes_table(changes: Sequence[OptionDifference], before: str, after: str) -> str:
    """Option by option; ``before`` and ``after`` are the titles of the two sides."""
    if not changes:
        return ''
    return table(
        (
            Column('OPTION'),
            Column(before),
            Column(after),
        ),
        ((c.option, option_value(c.value_from), option_value(c.value_to)) for c in changes),
    )


def option_value(value: Optional[str]) -> str:
    """The value of an option; None if it is not in the string."""
    # Not a dash, which means unknown.
    return '(unset)' if value is None else value or '(empty)'


def phase_of(state: RolloutState) -> str:
    """The phase, with the stage of a waiting rollout and the outcome of an ended one."""
    phase = state.phase.value
    if state.paused_reason is not None:
        return f'{phase} (in {state.stage.value})'
    if state.outcome is not None and state.outcome.value != phase:
        return f'{phase} ({state.outcome.value})'
    return phase


def track_record_line(record: TrackRecord) -> str:
    """The accuracy of predictions in a sentence."""
    if not record.compared:
        after = f' after {format_plural(record.changes, "change")}' if record.changes else ''
        return f'no predictions compared with measurements yet{after}'
    parts = [
        f'{record.right} of {format_plural(record.compared, "prediction")} right',
        *([f'{record.direction} in direction only'] if record.direction else []),
        *([f'{record.wrong} wrong'] if record.wrong else []),
    ]
    if record.interval_score is not None and record.naive_interval_score is not None:
        parts.append(
            f'interval score {record.interval_score:.0f}, compared with '
            f'{record.naive_interval_score:.0f} for a forecast of no change'
        )
    if record.not_compared:
        parts.append(f'{format_plural(record.not_compared, "change")} without a comparison')
    return ', '.join(parts)


def progress_of(state: RolloutState) -> str:
    """The number of finished OSDs."""
    total = format_plural(len(state.osds), 'OSD')
    # The table of OSDs shows the progress of an ended rollout.
    return total if state.ended else f'{osds_finished(state)} of {total} finished'


def estimated(found: Optional[Estimate], form: Callable[[Optional[float]], str]) -> str:
    """ "1.9x (1.7x to 2.1x)" """
    if found is None:
        return UNKNOWN
    low, value, high = form(found.low), form(found.value), form(found.high)
    return value if low == high == value else f'{value} ({low} to {high})'


def objects_written_to(found: Estimate) -> str:
    return f'{estimated(found, format_count)}, estimated from writes'

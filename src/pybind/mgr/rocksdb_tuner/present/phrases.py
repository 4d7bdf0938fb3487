"""Phrases, cells and summaries that several answers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional, Union

from ..advise.records import Decision, Finding, OsdFacts, Severity
from ..judge.records import SoakPlan
from ..lsm.records import Estimate
from ..notes import OsdId
from ..observe.signals import Signals
from ..operations.compaction.records import CampaignState
from ..operations.history import TrackRecord
from ..operations.phases import Phase
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
from .layout import Column, joined, paragraph, shell_command, table

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
SEVERITIES = tuple(Severity)
#: As in `ceph health detail`.
SEVERITY_MARKS = {'error': '[ERR]', 'warning': '[WRN]', 'info': '[INF]'}
_PHASES_OF_FINISHED_OSDS = frozenset({Phase.DONE, Phase.ROLLED_BACK})

#: What a change requires of the canary.
PURPOSES = {
    Purpose.GAIN: 'gain: the canary must improve',
    Purpose.SAFETY: 'safety: the canary must not regress',
}
#: By unit; a value with any other unit is printed as is.
_FORMATS: Mapping[str, Callable[[Optional[float]], str]] = {
    'bytes': format_bytes,
    'bytes/s': format_bytes_rate,
    'ms': format_ms,
    's': format_duration,
    'ratio': format_percent,
    'operations/s': format_count_rate,
}


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
        return common(variant.profile for variant in self.variants)

    @property
    def source(
        self,
    ) -> Annotated[
        Optional[str], 'Source of the options of all OSDs; null if it differs or is unknown.'
    ]:
        return common(variant.source for variant in self.variants)


def options_in_use(osds: Iterable[OsdFacts]) -> OptionsInUse:
    """The options of a group, by profile and source."""
    found: dict[tuple[Optional[str], str], list[int]] = {}
    pending = []
    for info, options in ((facts.info, facts.options) for facts in osds if facts.options):
        found.setdefault((options.profile, options.source), []).append(info.osd_id)
        if options.pending_restart:
            pending.append(info.osd_id)
    variants = (Variant(*key, tuple(ids)) for key, ids in found.items())
    return OptionsInUse(
        tuple(sorted(variants, key=lambda variant: -len(variant.osds))), tuple(pending)
    )


def common(values: Iterable[Optional[str]]) -> Optional[str]:
    """The only value; None if there are several."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings sorted by severity, otherwise in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def severity_mark(finding: Finding) -> str:
    return f'{SEVERITY_MARKS[finding.severity.value]} '


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


def options_or_empty(options: str) -> str:
    return options or '(empty)'


def profile_or_none(name: Optional[str]) -> str:
    return name or f'{UNNAMED_OPTIONS} (no known profile)'


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
    return joined(title, *(paragraph(text, 11, f'  {label}:') for label, text in shown if text))


def workload_cells(found: Optional[Workload]) -> tuple[str, str]:
    """Class and confidence."""
    if found is None or found.workload_class is WorkloadClass.UNKNOWN:
        return WorkloadClass.UNKNOWN.value, UNKNOWN
    return found.workload_class.value, format_percent(found.confidence)


def workload_text(found: Optional[Workload], form: str = '{}, confidence {}') -> str:
    workload_class, confidence = workload_cells(found)
    return workload_class if confidence == UNKNOWN else form.format(workload_class, confidence)


def measured_value(signal: str, value: object, unit: str, window_s: Optional[float]) -> str:
    """A piece of evidence: "kv_sync_busy 97% over 60s"."""
    text = f'{signal} {_number(value, "" if unit == signal else unit)}'
    return text if window_s is None else f'{text} over {format_duration(window_s)}'


def _number(value: object, unit: str) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if not isinstance(value, (int, float)):
        return str(value)
    formatter = _FORMATS.get(unit)
    return formatter(value) if formatter else f'{format_count(value)} {unit}'.rstrip()


def finding_text(finding: Finding) -> str:
    """In the form of `ceph health detail`."""
    evidence = [measured_value(*one) for one in finding.evidence]
    return joined(
        paragraph(f'{finding.finding_id}: {finding.summary}', 6, severity_mark(finding)),
        *(paragraph(text, 16, '    evidence:') for text in evidence),
        paragraph(finding.remedy, 16, '    remedy:'),
        *(shell_command(c) for c in finding.commands if c not in finding.remedy),
        paragraph(finding.do_not, 16, '    do not:') if finding.do_not else '',
        paragraph(finding.source, 16, '    source:'),
    )


def changes_table(changes: Sequence[OptionDifference], before: str, after: str) -> str:
    """Option by option; ``before`` and ``after`` are the titles of the two sides."""
    columns: Sequence[Column[OptionDifference]] = (
        Column('OPTION', 'option'),
        Column(before, lambda c: option_value(c.value_from)),
        Column(after, lambda c: option_value(c.value_to)),
    )
    return table(columns, changes)


def option_value(value: Optional[str]) -> str:
    """The value of an option; None if it is not in the string."""
    # Not a dash, which means unknown.
    return '(unset)' if value is None else options_or_empty(value)


def times_of(soak: SoakPlan, judged: bool = True) -> str:
    """The minimum soak time, and the maximum if a verdict may end it."""
    least = format_duration(soak.least_s)
    return f'{least} to {format_duration(max(soak.least_s, soak.most_s))}' if judged else least


def flushes_in(soak: SoakPlan, fill_s: Optional[float]) -> str:
    """The number of memtable flushes in the minimum soak time; empty if unknown."""
    if fill_s is None:
        return ''
    fewer = soak.least_s < LEAST_FILLS * fill_s
    count = f'soak_max allows fewer than {LEAST_FILLS}' if fewer else f'at least {LEAST_FILLS}'
    return f' ({count} memtable flushes; memtables take {format_duration(fill_s)} to fill)'


def phase_of(state: Union[RolloutState, CampaignState]) -> str:
    """The phase, with the stage of a waiting operation and the outcome of an ended one."""
    phase = state.phase.value
    if state.paused_reason is not None:
        return f'{phase} (in {state.stage.value})'
    if state.outcome is not None and state.outcome.value != phase:
        return f'{phase} ({state.outcome.value})'
    return phase


def osds_finished(state: RolloutState) -> int:
    """The number of OSDs that a rollout or rollback has finished."""
    return sum(len(b.osds) for b in batches(state) if b.phase in _PHASES_OF_FINISHED_OSDS)


def progress_of(state: RolloutState) -> str:
    """The number of finished OSDs."""
    total = format_plural(len(state.osds), 'OSD')
    # The table of OSDs shows the progress of an ended rollout.
    return total if state.ended else f'{osds_finished(state)} of {total} finished'


def track_record_line(record: TrackRecord) -> str:
    """The accuracy of predictions in a sentence."""
    if not record.compared:
        after = f' after {format_plural(record.changes, "change")}' if record.changes else ''
        return f'no predictions compared with measurements yet{after}'
    score, naive, missed = record.interval_score, record.naive_interval_score, record.not_compared
    return joined(
        f'{record.right} of {format_plural(record.compared, "prediction")} right',
        f'{record.direction} in direction only' if record.direction else '',
        f'{record.wrong} wrong' if record.wrong else '',
        ''
        if score is None or naive is None
        else f'interval score {score:.0f}, compared with {naive:.0f} for a forecast of no change',
        f'{format_plural(missed, "change")} without a comparison' if missed else '',
        by=', ',
    )


def estimated(found: Optional[Estimate], form: Callable[[Optional[float]], str]) -> str:
    """ "1.9x (1.7x to 2.1x)" """
    if found is None:
        return UNKNOWN
    low, value, high = form(found.low), form(found.value), form(found.high)
    return value if low == high == value else f'{value} ({low} to {high})'


def objects_written_to(found: Estimate) -> str:
    return f'{estimated(found, format_count)}, estimated from writes'

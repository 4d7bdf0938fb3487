"""Phrases, cells and summaries that several answers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Optional, Union

from ..advise.records import Decision, Finding, OsdFacts, OsdOptions, Severity
from ..judge.records import SoakPlan
from ..lsm.records import Estimate
from ..notes import OsdId
from ..operations.phases import Phase
from ..operations.rollout.records import RolloutState, batches
from ..options.grammar import OptionDifference
from ..plan.records import Purpose
from ..snapshot import Mode
from ..units import UNKNOWN, format_duration, format_ids, format_percent
from ..workload.records import Workload, WorkloadClass
from .layout import EMPTY, Column, in_unit, joined, paragraph, table

#: The prefix of all commands.
COMMAND = 'ceph rocksdb-tuner'
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
    """Running options of the OSDs of a group."""

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
    note = f'{PENDING_MARK} different options after a restart of {osd_names(osd_ids)}'
    return paragraph(note) if osd_ids else ''


def options_name(of: Union[OsdOptions, Variant]) -> str:
    """Options from other sources than the release's default have the name of their profile."""
    if of.profile is None:
        return UNNAMED_OPTIONS
    return 'default' if of.source == 'default' else of.profile


def options_or_empty(options: str) -> str:
    return options or EMPTY


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


def workload_text(found: Optional[Workload]) -> str:
    """ "rbd-small-write (92%)" """
    if found is None or found.workload_class is WorkloadClass.UNKNOWN:
        return WorkloadClass.UNKNOWN.value
    return f'{found.workload_class.value} ({format_percent(found.confidence)})'


def measured_value(signal: str, value: object, unit: str, window_s: Optional[float]) -> str:
    """A piece of evidence: "kv_sync_busy 97% over 60s"."""
    unit = '' if unit == signal else unit
    text = f'{signal} {in_unit(value, unit.replace("/s", "_per_s"), unit)}'
    return text if window_s is None else f'{text} over {format_duration(window_s)}'


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


def osds_finished(state: RolloutState) -> int:
    """The number of OSDs that a rollout or rollback has finished."""
    return sum(len(b.osds) for b in batches(state) if b.phase in _PHASES_OF_FINISHED_OSDS)


def estimated(found: Optional[Estimate], form: Callable[[Optional[float]], str]) -> str:
    """ "1.9x (1.7x to 2.1x)" """
    if found is None:
        return UNKNOWN
    low, value, high = form(found.low), form(found.value), form(found.high)
    return value if low == high == value else f'{value} ({low} to {high})'

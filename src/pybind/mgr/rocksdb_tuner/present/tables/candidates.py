"""Candidate option strings and the choice: `candidates`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...advise.assessment import Assessment
from ...advise.experiment_arms import plan_command, rivals
from ...advise.records import Resource
from ...advise.usage import at_most
from ...advise.weighing import RESOURCES, Bars, Origin, Weighed, Weighing, effect_of
from ...snapshot import Mode, Snapshot
from ...units import UNKNOWN, format_change, format_effect
from ..layout import WIDE, Column, paragraph, table
from .phrases import COMMAND, bullets, nothing_known, sections, titled

__all__ = ['candidates', 'experiment_hint']


def candidates(snapshot: Snapshot) -> str:
    """The candidates of each group, and why one was chosen."""
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return f'No candidates in mode {snapshot.mode.value}; see "{COMMAND} mode recommend".'
    if not snapshot.assessments:
        return nothing_known(snapshot.mode)
    return sections(*(_group(assessment) for assessment in snapshot.assessments))


def _group(assessment: Assessment) -> str:
    weighing = assessment.weighing
    conclusion = paragraph(f'{assessment.who}: {assessment.conclusion}')
    if weighing is None:
        return sections(conclusion, paragraph('No candidates were compared.'))
    bars = weighing.bars
    head = paragraph(
        f'Goal: lower the {RESOURCES[weighing.resource]} by at least {bars.min_gain:.0%}, at '
        f'the cost of at most {bars.max_loss:.0%} of any other resource (80% intervals).'
    )
    feasible = [w for w in weighing.weighed if not w.infeasible]
    infeasible = [w for w in weighing.weighed if w.infeasible]
    return sections(
        conclusion,
        head,
        _table(weighing, feasible),
        _unconstrained(feasible, bars),
        experiment_hint(assessment),
        *([titled('Infeasible', _infeasible(infeasible))] if infeasible else []),
    )


def experiment_hint(assessment: Assessment) -> str:
    """The command to measure what the model cannot rank; empty if it can, or without a choice."""
    names = rivals(assessment.weighing)
    if not names:
        return ''
    return paragraph(
        f'The model cannot tell whether {names[0]} or {names[1]} is better for {assessment.who}. '
        f'An experiment can: "{plan_command(assessment.who, names)}"'
    )


def _unconstrained(feasible: Sequence[Weighed], bars: Bars) -> str:
    """Use of resources that does not count as a loss."""
    costs = [
        f'{w.candidate.name} {format_change(100 * (ratio.value - 1))}'
        for resource in sorted(bars.plenty)
        for w in feasible
        for ratio in [w.of(resource)]
        if ratio is not None and at_most(ratio) > 1 + bars.max_loss
    ]
    if not costs:
        return ''
    return paragraph(
        'The number of cores is unknown, so additional CPU time of RocksDB does not rule out a '
        f'candidate: {", ".join(costs)}.'
    )


def _table(weighing: Weighing, feasible: Iterable[Weighed]) -> str:
    return table(
        (
            Column('CANDIDATE', flexible=True, wrap=True, min_width=24),
            Column('GAIN', 'r'),
            Column('WORST LOSS', 'r'),
            Column('OF', flexible=True),
            Column('VERDICT', flexible=True, wrap=True, min_width=30),
        ),
        (
            (
                w.candidate.name,
                _gain(w, weighing.resource),
                *_worst(w, weighing.resource, weighing.bars),
                _verdict(w, weighing),
            )
            for w in feasible
            if w == weighing.chosen or not _is_like_the_best(w, weighing)
        ),
        width=WIDE,
    )


def _is_like_the_best(weighed: Weighed, weighing: Weighing) -> bool:
    """A variant of the best candidate with the same prediction."""
    best = weighing.best
    is_neighbor = weighed.candidate.origin is Origin.NEIGHBOR
    return is_neighbor and best is not None and weighed != best and weighed.usages == best.usages


def _gain(weighed: Weighed, resource: Resource) -> str:
    ratio = weighed.of(resource)
    if ratio is None:
        return UNKNOWN
    value, low, high = (100 * (1 - end) for end in (ratio.value, ratio.high, ratio.low))
    return format_effect(value, low, high)


def _worst(weighed: Weighed, resource: Resource, bars: Bars) -> tuple[str, str]:
    others = [u for u in weighed.usages if u.resource not in {resource, *bars.plenty}]
    if not others:
        return UNKNOWN, ''
    worst = max(others, key=lambda u: at_most(u.ratio))
    return effect_of(worst.ratio), worst.resource.value


def _verdict(weighed: Weighed, weighing: Weighing) -> str:
    if weighed == weighing.chosen:
        return 'recommended'
    if weighed.candidate.origin is Origin.RUNNING:
        return 'running'
    return weighed.short or ''


def _infeasible(candidates: Iterable[Weighed]) -> str:
    """Each reason on a line of its own."""
    return '\n'.join(
        f'{paragraph(f"{w.candidate.name}:", 2, "  ")}\n{bullets(w.infeasible)}' for w in candidates
    )

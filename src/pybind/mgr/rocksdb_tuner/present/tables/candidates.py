"""Candidate option strings and the choice: `recommend --all`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...advise.records import Resource
from ...advise.usage import at_most
from ...advise.weighing import RESOURCES, Assessment, Bars, Origin, Weighed, Weighing, effect_of
from ...snapshot import Mode, Snapshot
from ...units import UNKNOWN, format_change, format_effect
from ..layout import Column, paragraph, table
from .phrases import COMMAND, bullets, decision_text, nothing_known, sections, titled


def candidates(snapshot: Snapshot) -> str:
    """The candidates of each group, and why one was chosen."""
    if snapshot.mode in {Mode.OFF, Mode.OBSERVE}:
        return f'No candidates in mode {snapshot.mode.value}; see "{COMMAND} mode recommend".'
    if not snapshot.assessments:
        return nothing_known(snapshot.mode)
    return sections(*(_group(assessment) for assessment in snapshot.assessments))


def _group(assessment: Assessment) -> str:
    weighing = assessment.weighing
    conclusion = decision_text(assessment.conclusion, paragraph(assessment.who))
    if weighing is None:
        return sections(conclusion, paragraph('No candidates were compared.'))
    bars = weighing.bars
    head = paragraph(
        f'Goal: save at least {bars.min_gain:.0%} of a resource, at the cost of at most '
        f'{bars.max_loss:.0%} of any other (80% intervals). GAIN is on the '
        f'{RESOURCES[weighing.shown_resource]}.'
    )
    others = [w for w in weighing.weighed if w.candidate.origin is not Origin.RUNNING]
    feasible = [w for w in others if not w.infeasible]
    why_not = (
        (w.candidate.name, reason)
        for w in others
        for reason in w.infeasible or filter(None, (w.short,))
    )
    return sections(
        conclusion,
        head,
        _table(weighing, feasible),
        _unconstrained(feasible, bars),
        titled('Not chosen', bullets(f'{name}: {reason}' for name, reason in why_not)),
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
            Column('CANDIDATE'),
            Column('GAIN', 'r'),
            Column('WORST LOSS', 'r'),
            Column('OF'),
        ),
        (
            (
                w.candidate.name,
                _gain(w, weighing.shown_resource),
                *_worst(w, weighing.shown_resource, weighing.bars),
            )
            for w in feasible
        ),
    )


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

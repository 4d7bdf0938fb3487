"""Recommendations for entries of single OSDs and for annexes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..plan.commands import ShownSteps
from ..plan.records import ANNEX
from .case import Case
from .changed import changed, proposed
from .choice import default_target, fixed
from .cohort import own_entry_cohorts, redundant_annex_cohorts
from .objections import AGAINST_OWN_ENTRIES
from .overrides import by_hand, other_affected_osds, redundant_annex_entry, redundant_entry
from .proposal import recommendation
from .records import Decision, GroupFacts, Kind, OsdFacts, Priority, Recommendation, Risk
from .strings import recognize


def own_entries_advice(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Recommendation, ...]:
    """Recommendations for entries of single OSDs, one per running option string."""
    return tuple(
        advice
        for cohort in own_entry_cohorts(group, orchestrated=orchestrated, shown_steps=shown_steps)
        for advice in [_own_entry_advice(Case(cohort))]
        if advice is not None
    )


def annex_advice(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool,
    shown_steps: ShownSteps,
) -> tuple[tuple[Recommendation, ...], tuple[str, ...]]:
    """Recommend to remove annexes that equal the default of this release.

    Also returns remarks on annexes that need manual removal.
    """
    found: list[Recommendation] = []
    remarks: list[str] = []
    for cohort in redundant_annex_cohorts(
        group, orchestrated=orchestrated, shown_steps=shown_steps
    ):
        reason = redundant_annex_entry(cohort)
        text = cohort.release.default_options
        who = cohort.deciding_entries[0]
        others = [] if cohort.own_entries else other_affected_osds(who, cohort, all_osds)
        if others:
            remarks.append(by_hand(who, ANNEX, reason, others))
            continue
        found.append(
            recommendation(
                cohort,
                Kind.REMOVE_OVERRIDE,
                who=cohort.group.who if len(cohort.deciding_entries) > 1 else who,
                options_to=text,
                profile=recognize(text, cohort.release),
                reasons=(reason,),
                predictions=(),
                risk=Risk.LOW,
                priority=Priority.OPTIONAL,
                annex=cohort.annex,
            )
        )
    return tuple(found), tuple(remarks)


def _own_entry_advice(case: Case) -> Optional[Recommendation]:
    cohort = case.cohort
    redundant = redundant_entry(cohort)
    if redundant is not None:
        return proposed(
            case,
            Kind.REMOVE_OVERRIDE,
            default_target(case),
            (redundant,),
            (),
            Risk.LOW,
            priority=Priority.OPTIONAL,
        )
    standing = case.standing(case.running)
    target = fixed(case, standing) if AGAINST_OWN_ENTRIES & {o.name for o in standing} else None
    advice = None if target is None else changed(case, (), standing, target)
    return None if isinstance(advice, Decision) else advice

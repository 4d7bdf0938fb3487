"""The recommendation for a group of OSDs, or why nothing should change. Pure.

In this order: can anything be recommended, is there an objection to the running options, did an
experiment find a better string, does a candidate qualify, and is the entry redundant? Otherwise the
running options stay, and "nothing to change" comes with its reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional, Union

from ..plan.commands import ShownSteps
from ..plan.records import ANNEX
from .candidates import weighing
from .case import Case
from .choice import Target, default_target, fixed, target_of
from .cohort import (
    by_hand,
    group_cohort,
    other_affected_osds,
    own_entry_cohorts,
    redundant_annex_cohorts,
    redundant_annex_entry,
    redundant_entry,
)
from .decision import nothing, wait_for
from .experimented import reason_from, runs_winner, winner_for
from .no_change import none_gains, why_nothing
from .objections import AGAINST_OWN_ENTRIES, Name
from .profiles import Profile
from .proposal import changed, recommended
from .reasons import outweighed
from .records import (
    Decision,
    GroupFacts,
    MeasuredArm,
    OsdFacts,
    Reason,
    Recommendation,
)
from .strings import recognize
from .weighing import Assessment, Bars, Weighing


def assess(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool = True,
    rollout_under_way: bool = False,
    shown_steps: Optional[ShownSteps] = None,
    custom_profiles: Sequence[Profile] = (),
    bars: Optional[Bars] = None,
    measured: Sequence[MeasuredArm] = (),
) -> Assessment:
    """Assess ``group``.

    ``all_osds``: to find other OSDs that share an entry. ``orchestrated``: whether an orchestrator
    can restart daemons, which affects the commands. ``rollout_under_way``: ignore entries of single
    OSDs, since they may be the rollout's. ``shown_steps``: steps of displayed recommendations.
    ``custom_profiles``: custom profiles. ``bars``: required gain and allowed loss. ``measured``:
    results of experiments on this cluster.
    """
    shown = shown_steps or ShownSteps()
    own: tuple[Recommendation, ...] = ()
    remarks: tuple[str, ...] = ()
    if not rollout_under_way:
        own = own_entries_advice(group, orchestrated=orchestrated, shown_steps=shown)
        annexes, remarks = annex_advice(
            group, all_osds, orchestrated=orchestrated, shown_steps=shown
        )
        own = (*annexes, *own)
    cohort = group_cohort(group, all_osds, orchestrated, shown)
    if isinstance(cohort, str):
        blocked = wait_for(group.who, 'no change is possible yet', ' '.join((cohort, *remarks)))
        return Assessment(group.who, blocked, own)
    case = Case(cohort, bars or Bars(), tuple(measured))
    weighed = weighing(case) if _may_tune(case, case.running) else None
    advice = _advice(case, all_osds, custom_profiles, weighed)
    if isinstance(advice, Decision):
        advice = replace(advice, because=' '.join((advice.because, *cohort.remarks)))
        return Assessment(group.who, advice, own, weighed)
    return Assessment(group.who, advice.decision, (advice, *own), weighed)


def _may_tune(case: Case, running: str) -> bool:
    """Whether the clients may benefit from other options than ``running``, and these are known."""
    return case.writer is not None and case.why_no_tuning is None and bool(case.effective(running))


def _advice(
    case: Case,
    all_osds: Sequence[OsdFacts],
    custom_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, Decision]:
    target = fixed(case, case.objections) if case.objections else None
    if target is not None:
        target = _settled(case, target)
        against = [o.reason for o in case.objections]
        return changed(case, all_osds, (*against, *_solved(case, target)), target)
    gain = _gain(case, all_osds, custom_profiles, weighed)
    if not isinstance(gain, Decision):
        return gain
    if case.objections:
        return _not_fixed(case)
    redundant = redundant_entry(case.cohort) if case.cohort.deciding_entries else None
    if redundant is None:
        return gain
    return recommended(case, all_osds, default_target(case), (redundant,))


def _solved(case: Case, target: Target) -> tuple[Reason, ...]:
    """Objections under this workload that ``target`` settles."""
    left = {o.name for o in case.under_workload(target.options)}
    return tuple(o.reason for o in case.under_workload(case.running) if o.name not in left)


def _settled(case: Case, target: Target) -> Target:
    """``target``, or what would be recommended to OSDs that run it: one change is enough."""
    if not _may_tune(case, target.options):
        return target
    chosen = weighing(case, target.options).chosen
    return target if chosen is None else target_of(case, chosen.candidate)


def _not_fixed(case: Case) -> Decision:
    who, first = case.cohort.group.who, case.objections[0].reason.statement
    if case.objections[0].name is Name.MISFIT:
        return Decision(
            who,
            'Give the OSDs more space',
            f'{first}. No option string that passes the checks fits.',
        )
    return Decision(
        who,
        'Correct the running options manually',
        f'The checks warn about them ({first}), and there is no other objection to them.',
        next_command='ceph rocksdb-tuner findings',
    )


def _gain(
    case: Case,
    all_osds: Sequence[OsdFacts],
    custom_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, Decision]:
    """A better option string for the workload, or why none is known."""
    winner, who = winner_for(case), case.cohort.group.who
    if winner is not None:
        return _by_experiment(case, all_osds, winner, custom_profiles)
    if case.writer is not None and case.why_no_tuning is not None:
        return nothing(who, case.why_no_tuning.statement, case.limit)
    if weighed is None:
        return why_nothing(case, custom_profiles)
    if weighed.chosen is None:
        return none_gains(case, weighed)
    target = target_of(case, weighed.chosen.candidate)
    solved = _solved(case, target) or (outweighed(weighed),)
    return changed(case, all_osds, solved, target, weighed=weighed)


def _by_experiment(
    case: Case,
    all_osds: Sequence[OsdFacts],
    winner: MeasuredArm,
    custom_profiles: Sequence[Profile],
) -> Union[Recommendation, Decision]:
    """The winner of an experiment, regardless of the model."""
    if case.alike(winner.options, case.running):
        return nothing(case.cohort.group.who, runs_winner(winner), case.limit)
    own = (p for p in custom_profiles if case.alike(p.options, winner.options))
    profile = recognize(winner.options, case.release) or next(own, None)
    target = Target(winner.options, profile, ())
    return changed(case, all_osds, (reason_from(winner),), target, measured=True)


def own_entries_advice(
    group: GroupFacts, *, orchestrated: bool, shown_steps: ShownSteps
) -> tuple[Recommendation, ...]:
    """Recommendations for entries of single OSDs, one per running option string."""
    return tuple(
        advice
        for cohort in own_entry_cohorts(group, orchestrated=orchestrated, shown_steps=shown_steps)
        for advice in [_own_entry_advice(Case(cohort))]
        if isinstance(advice, Recommendation)
    )


def _own_entry_advice(case: Case) -> Union[Recommendation, Decision, None]:
    redundant = redundant_entry(case.cohort)
    if redundant is not None:
        return recommended(case, (), default_target(case), (redundant,))
    standing = case.standing(case.running)
    target = fixed(case, standing) if AGAINST_OWN_ENTRIES & {o.name for o in standing} else None
    return None if target is None else changed(case, (), [o.reason for o in standing], target)


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
        reason, who = redundant_annex_entry(cohort), cohort.deciding_entries[0]
        others = [] if cohort.own_entries else other_affected_osds(who, cohort, all_osds)
        if others:
            remarks.append(by_hand(who, ANNEX, reason, others))
            continue
        case = Case(cohort)
        advice = recommended(case, all_osds, default_target(case), (reason,))
        assert isinstance(advice, Recommendation)
        found.append(advice)
    return tuple(found), tuple(remarks)

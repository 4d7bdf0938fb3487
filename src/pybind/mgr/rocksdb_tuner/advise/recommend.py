"""The recommendation for a group of OSDs, or why nothing should change. Pure.

The checks are in this order: can anything be recommended, is there an objection to the running
options, and which options should replace them. Without a named objection the running options stay,
and "nothing to change" comes with its reasons. The target does not depend on the running options,
so one change is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from ..plan.steps import ShownSteps
from ..workload.writer import Writer
from .assessment import Assessment
from .candidates import BEYOND_ROCKSDB, objectives, weighed_for
from .case import Case
from .changed import changed, removed
from .choice import (
    Target,
    default_target,
    fitting,
    only_compressed,
    published_target,
    repaired,
    resized,
    target_for,
    target_of,
)
from .cohort import Cohort, group_cohort
from .entry_advice import annex_advice, own_entries_advice
from .experimented import objection_from, runs_winner, winner_for
from .no_change import beyond_rocksdb, none_gains, suits_best, why_nothing
from .objections import Name, Objection
from .overrides import redundant_entry
from .profiles import Profile
from .reasons import outweighed
from .records import GroupFacts, MeasuredArm, OsdFacts, Recommendation, Risk
from .strings import recognize
from .weighing import Bars, Weighing


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
        return Assessment(group.who, ' '.join((cohort, *remarks)), own)
    case = Case(cohort, bars or Bars(), tuple(measured))
    weighed = _weighed(case)
    advice = _advice(case, all_osds, custom_profiles, weighed)
    if isinstance(advice, str):
        return Assessment(group.who, _with_remarks(advice, cohort), own, weighed)
    return Assessment(
        group.who, _with_remarks('A change is recommended.', cohort), (advice, *own), weighed
    )


def _weighed(case: Case) -> Optional[Weighing]:
    """None if there is no resource to relieve, or no option string may be chosen."""
    if case.why_no_tuning is not None or case.running_misfits:
        return None
    if not case.effective(case.running):
        # The effective options are unknown.
        return None
    return weighed_for(case, objectives(case))


def _with_remarks(text: str, cohort: Cohort) -> str:
    return ' '.join((text, *cohort.remarks))


def _advice(
    case: Case,
    all_osds: Sequence[OsdFacts],
    custom_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    cohort = case.cohort
    chosen = bool(cohort.deciding_entries)
    redundant = redundant_entry(cohort) if chosen else None
    if redundant is not None:
        gain = _gain(case, all_osds, custom_profiles, weighed)
        if not isinstance(gain, str):
            # Change the entry instead, which saves a second change.
            return gain
        return removed(case, all_osds, default_target(case), (redundant,), (), Risk.LOW)
    standing = case.standing(case.running) if chosen else ()
    if standing:
        found = _in_place_of(case, standing)
        if not isinstance(found, str):
            fits = fitting(case, found) or fitting(case, target_for(case))
            return changed(case, all_osds, standing, fits or found)
        if not case.running_misfits:
            return found
    return _gain(case, all_osds, custom_profiles, weighed)


def _gain(
    case: Case,
    all_osds: Sequence[OsdFacts],
    custom_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    """A better option string for the workload, or why none is known."""
    misfits = case.running_misfits
    if misfits:
        return _fitted(case, all_osds, misfits)
    winner = winner_for(case)
    if winner is not None:
        return _by_experiment(case, all_osds, winner, custom_profiles)
    objections = case.under_workload(case.running)
    if weighed is None and not objections:
        return why_nothing(case, custom_profiles)
    if case.why_no_tuning is not None:
        return f'Nothing to change: {case.why_no_tuning.statement}'
    if case.limit.resource in BEYOND_ROCKSDB:
        return beyond_rocksdb(case.limit)
    if weighed is None or not weighed.knows:
        if not objections or case.writer is None:
            return why_nothing(case, custom_profiles)
        return _by_publication(case, all_osds, objections, case.writer)
    if weighed.chosen is None:
        return none_gains(weighed)
    target = target_of(case, weighed.chosen.candidate)
    solved = _solved(case, objections, target)
    return changed(case, all_osds, solved or (outweighed(weighed),), target, weighed=weighed)


def _by_experiment(
    case: Case,
    all_osds: Sequence[OsdFacts],
    winner: MeasuredArm,
    custom_profiles: Sequence[Profile],
) -> Union[Recommendation, str]:
    """The winner of an experiment, regardless of the model."""
    if case.alike(winner.options, case.running):
        return runs_winner(winner)
    own = (p for p in custom_profiles if case.alike(p.options, winner.options))
    profile = recognize(winner.options, case.release) or next(own, None)
    target = Target(winner.options, profile, ())
    return changed(case, all_osds, (objection_from(winner),), target, measured=True)


def _solved(case: Case, objections: Sequence[Objection], target: Target) -> tuple[Objection, ...]:
    left = {o.name for o in case.under_workload(target.options)}
    return tuple(o for o in objections if o.name not in left)


def _by_publication(
    case: Case, all_osds: Sequence[OsdFacts], objections: Sequence[Objection], writer: Writer
) -> Union[Recommendation, str]:
    """The recommendation for a workload without a model."""
    target = None
    runs_default = case.alike(case.running, case.release.default_options)
    if not runs_default and [o.name for o in objections] == [Name.UNCOMPRESSED]:
        target = only_compressed(case)
    target = target or published_target(case, writer)
    solved = _solved(case, objections, target)
    if not solved or case.alike(target.options, case.running):
        return suits_best(case)
    return changed(case, all_osds, solved, target)


def _fitted(
    case: Case, all_osds: Sequence[OsdFacts], misfits: Sequence[Objection]
) -> Union[Recommendation, str]:
    """Replace options that do not fit the OSDs.

    No gain is required: the cost is part of the reasons and determines the risk.
    """
    target = resized(case) or fitting(case, target_for(case))
    if target is None:
        return (
            f'Nothing is recommended: {misfits[0].reason.statement}. No option string fits: give '
            'the OSDs more space.'
        )
    objections = (*misfits, *case.under_workload(case.running))
    left = {o.name for o in case.under_workload(target.options)}
    return changed(case, all_osds, [o for o in objections if o.name not in left], target)


def _in_place_of(case: Case, standing: Sequence[Objection]) -> Union[Target, str]:
    """The replacement of a string with objections, or why there is none."""
    if Name.SUPERSEDED not in {o.name for o in standing}:
        found = repaired(case, standing)
        if found is not None and _is_settled(case, found.options):
            return found
        if all(o.name is Name.HARMFUL for o in standing) and found is None:
            return (
                'Nothing is recommended: the checks warn about the running options '
                f'({standing[0].reason.statement}), and there is no other objection to them. Fix '
                'them manually, see "ceph rocksdb-tuner findings".'
            )
    return target_for(case)


def _is_settled(case: Case, options: str) -> bool:
    """Whether no further change would be recommended after this one."""
    if case.under_workload(options):
        return False
    weighed = weighed_for(case, objectives(case), options)
    return weighed is None or weighed.chosen is None

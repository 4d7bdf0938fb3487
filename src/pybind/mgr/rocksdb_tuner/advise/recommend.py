"""What should change for a group of OSDs, or why nothing should. Pure.

The order of the questions is the order of trust: first whether anything may be advised at all,
then whether something speaks against what runs, and only then what should run instead. Without a
named objection what runs stays, whoever wrote it: "nothing to change" is an answer with reasons of
its own. What is advised is what these OSDs should run whatever they run now, so one change is
enough.
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
from .no_change import beyond_rocksdb, none_gains, suits_best, why_nothing
from .objections import Name, Objection
from .overrides import redundant_entry
from .profiles import Profile
from .reasons import outweighed
from .records import GroupFacts, OsdFacts, Recommendation, Risk
from .weighing import Bars, Weighing


def assess(
    group: GroupFacts,
    all_osds: Sequence[OsdFacts],
    *,
    orchestrated: bool = True,
    rollout_under_way: bool = False,
    shown_steps: Optional[ShownSteps] = None,
    own_profiles: Sequence[Profile] = (),
    bars: Optional[Bars] = None,
) -> Assessment:
    """What to do for ``group``.

    ``all_osds`` shows whom an entry wider than the group serves; ``orchestrated`` is whether an
    orchestrator can restart daemons, which decides how the commands read. While a rollout is
    under way the entries of single OSDs may be its own: nothing is said of them. ``shown_steps``
    remembers how what was recommended before would be done; ``own_profiles`` are operators';
    ``bars`` are what a change for gain must bring and what it may cost.
    """
    shown = shown_steps or ShownSteps()
    own: tuple[Recommendation, ...] = ()
    told: tuple[str, ...] = ()
    if not rollout_under_way:
        own = own_entries_advice(group, orchestrated=orchestrated, shown_steps=shown)
        going, told = annex_advice(group, all_osds, orchestrated=orchestrated, shown_steps=shown)
        own = (*going, *own)
    cohort = group_cohort(group, all_osds, orchestrated, shown)
    if isinstance(cohort, str):
        return Assessment(group.who, ' '.join((cohort, *told)), own)
    case = Case(cohort, bars or Bars())
    weighed = _weighed(case)
    advice = _advice(case, all_osds, own_profiles, weighed)
    if isinstance(advice, str):
        return Assessment(group.who, _with_remarks(advice, cohort), own, weighed)
    return Assessment(
        group.who, _with_remarks('A change is recommended.', cohort), (advice, *own), weighed
    )


def _weighed(case: Case) -> Optional[Weighing]:
    """None where nothing is to be relieved, or no option set may be chosen."""
    if case.why_no_tuning is not None or case.misfits(case.running):
        return None
    if not case.effective(case.running):
        # What RocksDB makes of it is unknown.
        return None
    return weighed_for(case, objectives(case))


def _with_remarks(text: str, cohort: Cohort) -> str:
    return ' '.join((text, *cohort.remarks))


def _advice(
    case: Case,
    all_osds: Sequence[OsdFacts],
    own_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    cohort = case.cohort
    chosen = bool(cohort.deciding_entries)
    redundant = redundant_entry(cohort) if chosen else None
    if redundant is not None:
        gain = _gain(case, all_osds, own_profiles, weighed)
        if not isinstance(gain, str):
            # What sets another string needs the entry: without it there would be two changes.
            return gain
        return removed(case, all_osds, default_target(case), (redundant,), (), Risk.LOW)
    standing = case.standing(case.running) if chosen else ()
    if standing:
        found = _in_place_of(case, standing)
        if not isinstance(found, str):
            return changed(case, all_osds, standing, fitting(case, found) or found)
        if not case.misfits(case.running):
            return found
    return _gain(case, all_osds, own_profiles, weighed)


def _gain(
    case: Case,
    all_osds: Sequence[OsdFacts],
    own_profiles: Sequence[Profile],
    weighed: Optional[Weighing],
) -> Union[Recommendation, str]:
    """What would serve what clients write better than what runs, or why nothing is known to."""
    misfits = case.misfits(case.running)
    if misfits:
        return _fitted(case, all_osds, misfits)
    objections = case.under_workload(case.running)
    if weighed is None and not objections:
        return why_nothing(case, own_profiles)
    if case.why_no_tuning is not None:
        return f'Nothing to change: {case.why_no_tuning.statement}'
    if case.limit.resource in BEYOND_ROCKSDB:
        return beyond_rocksdb(case.limit)
    if weighed is None or not weighed.knows:
        if not objections or case.writer is None:
            return why_nothing(case, own_profiles)
        return _by_publication(case, all_osds, objections, case.writer)
    if weighed.chosen is None:
        return none_gains(weighed)
    target = target_of(case, weighed.chosen.candidate)
    solved = _solved(case, objections, target)
    return changed(case, all_osds, solved or (outweighed(weighed),), target, weighed=weighed)


def _solved(case: Case, objections: Sequence[Objection], target: Target) -> tuple[Objection, ...]:
    left = {o.name for o in case.under_workload(target.options)}
    return tuple(o for o in objections if o.name not in left)


def _by_publication(
    case: Case, all_osds: Sequence[OsdFacts], objections: Sequence[Objection], writer: Writer
) -> Union[Recommendation, str]:
    """Where there is no model of what clients write."""
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
    """A set with the room that there is, in place of one that has too little of it.

    That is no gain that must be expected: what it costs is told, and makes the risk.
    """
    target = resized(case) or fitting(case, target_for(case))
    if target is None:
        return (
            f'Nothing is recommended: {misfits[0].reason.statement}; no option set fits: give '
            'the OSDs more room.'
        )
    objections = (*misfits, *case.under_workload(case.running))
    left = {o.name for o in case.under_workload(target.options)}
    return changed(case, all_osds, [o for o in objections if o.name not in left], target)


def _in_place_of(case: Case, standing: Sequence[Objection]) -> Union[Target, str]:
    """What to run instead of a string that something speaks against, or why nothing is known."""
    if Name.SUPERSEDED not in {o.name for o in standing}:
        found = repaired(case, standing)
        if found is not None and _is_settled(case, found.options):
            return found
        if all(o.name is Name.HARMFUL for o in standing) and found is None:
            return (
                'Nothing is recommended: the checks warn of what runs '
                f'({standing[0].reason.statement}), and the rest of it is not known to be '
                'worse than any other set: fix it manually, see "ceph rocksdb-tuner findings".'
            )
    return target_for(case)


def _is_settled(case: Case, options: str) -> bool:
    """Whether nothing better would be advised once these run."""
    if case.under_workload(options):
        return False
    weighed = weighed_for(case, objectives(case), options)
    return weighed is None or weighed.chosen is None

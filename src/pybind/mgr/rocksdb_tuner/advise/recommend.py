"""The recommendation for a group of OSDs, or why nothing should change. Pure.

In this order: can anything be recommended, is there an objection to the running options, did an
experiment find a better string, does a candidate qualify, and is the entry redundant? Otherwise the
running options stay, and "nothing to change" comes with its reasons.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Union

from ..workload.classify import writer_of
from ..workload.records import WorkloadClass
from .candidates import weighing
from .case import MIN_CONFIDENCE, Case, Circumstances, entry_cases, group_case
from .choice import Target, default_target, fixed, redundant_entry, target_of
from .decision import nothing, wait_for
from .objections import AGAINST_OWN_ENTRIES, Name
from .profiles import Profile, recognize
from .proposal import change_by, changed, lost_experiment, outweighed, recommended
from .records import Decision, GroupFacts, MeasuredArm, Recommendation
from .weighing import Assessment, Weighing

#: Workloads without clear client work, which are no reason for a change unless their kind of writes
#: is known.
NO_ADVICE_FOR = frozenset(
    {
        WorkloadClass.IDLE,
        WorkloadClass.RECOVERY,
        WorkloadClass.MIXED,
        WorkloadClass.UNKNOWN,
    }
)
_WORKLOAD = 'ceph rocksdb-tuner workload'


def assess(
    group: GroupFacts, known: Circumstances, *, rollout_under_way: bool = False
) -> Assessment:
    """Assess ``group``.

    ``rollout_under_way``: ignore entries of single OSDs, since they may be the rollout's.
    """
    own: list[Recommendation] = []
    remarks: list[str] = []
    for case in () if rollout_under_way else entry_cases(group, known):
        advice = _of_entries(case)
        if isinstance(advice, Recommendation):
            own.append(advice)
        elif advice is not None and case.annex is not None:
            # To remove by hand.
            remarks.append(advice.because)
    found = group_case(group, known)
    if isinstance(found, str):
        blocked = wait_for(group.who, 'no change is possible yet', ' '.join((found, *remarks)))
        return Assessment(group.who, blocked, tuple(own))
    weighed = weighing(found) if _may_tune(found, found.running) else None
    advice = _advice(found, weighed)
    if isinstance(advice, Decision):
        advice = replace(advice, because=' '.join((advice.because, *found.remarks)))
        return Assessment(group.who, advice, tuple(own), weighed)
    return Assessment(group.who, advice.decision, (advice, *own), weighed)


def _of_entries(case: Case) -> Union[Recommendation, Decision, None]:
    """What to do about entries by themselves; None if they may stay."""
    redundant, standing = redundant_entry(case), case.standing_now
    if redundant is not None:
        return recommended(case, default_target(case), (redundant,))
    if AGAINST_OWN_ENTRIES & {o.name for o in standing}:
        target = fixed(case, standing)
        return target and changed(case, [o.reason for o in standing], target)
    return None


def _may_tune(case: Case, running: str) -> bool:
    """Whether the clients may benefit from other options than ``running``, and these are known."""
    return case.writer is not None and case.why_no_tuning is None and bool(case.effective(running))


def _advice(case: Case, weighed: Optional[Weighing]) -> Union[Recommendation, Decision]:
    target = fixed(case, case.objections) if case.objections else None
    if target is not None:
        if _may_tune(case, target.options):
            # What would be recommended to OSDs that run it: one change is enough.
            chosen = weighing(case, target.options).chosen
            target = target if chosen is None else target_of(case, chosen)
        against = (*case.objections, *case.solved(case.running, target.options))
        return changed(case, [o.reason for o in against], target)
    gain = _gain(case, weighed)
    if isinstance(gain, Recommendation):
        return gain
    if case.objections:
        return _not_fixed(case)
    redundant = redundant_entry(case) if case.deciding_entries else None
    return gain if redundant is None else recommended(case, default_target(case), (redundant,))


def _not_fixed(case: Case) -> Decision:
    who, first = case.group.who, case.objections[0].reason.statement
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


def _gain(case: Case, weighed: Optional[Weighing]) -> Union[Recommendation, Decision]:
    """A better option string for the workload, or why none is known."""
    if case.winner is not None:
        return _by_experiment(case, case.winner)
    if case.writer is not None and case.why_no_tuning is not None:
        return nothing(case.group.who, case.why_no_tuning.statement, case.limit)
    if weighed is None:
        return _nothing_known(case)
    if weighed.chosen is None:
        return _none_gains(case, weighed)
    target = target_of(case, weighed.chosen)
    solved = [o.reason for o in case.solved(case.running, target.options)]
    return changed(case, solved or [outweighed(weighed)], target, weighed=weighed)


def _by_experiment(case: Case, winner: MeasuredArm) -> Union[Recommendation, Decision]:
    """The winner of an experiment, regardless of the model."""
    if case.alike(winner.options, case.running):
        text = (
            f'The running options won experiment {winner.experiment_id}, which measured a change '
            f'of the {change_by(winner)}.'
        )
        return nothing(case.group.who, text, case.limit)
    profile = recognize(winner.options, case.release) or _custom_profile(case, winner.options)
    target = Target(winner.options, profile, ())
    return changed(case, [lost_experiment(winner)], target, measured=True)


def _custom_profile(case: Case, options: str) -> Optional[Profile]:
    return next((p for p in case.known.custom_profiles if case.alike(p.options, options)), None)


def _none_gains(case: Case, weighed: Weighing) -> Decision:
    """Why no candidate qualifies; names the best one only if it may gain enough."""
    saved, bars, best = 'any resource', weighed.bars, weighed.best
    if case.thread_share is not None:
        saved = 'the space of RocksDB (none shortens flushes and syncs)'
    elif case.reads:
        saved = 'any resource besides the CPU time of writes (these clients also read)'
    text = (
        f'No option string considered ({len(weighed.weighed) - 1}) is certain to save '
        f'{bars.min_gain:.0%} of {saved} at the cost of at most {bars.max_loss:.0%} of another.'
    )
    main = None if best is None else best.main(weighed.resource, bars)
    if best is not None and main is not None and main.ratio.value <= 1 - bars.min_gain:
        text = f'{text} The best is {best.name}: {best.short}'
    return nothing(case.group.who, text, case.limit, 'ceph rocksdb-tuner recommend --all')


def _nothing_known(case: Case) -> Decision:
    """Why there is no objection to the running options."""
    who, workload = case.group.who, case.group.workload
    writer = writer_of(workload)
    found = writer or workload
    if found is None or found.workload_class is WorkloadClass.UNKNOWN:
        because = 'A recommendation needs a workload that lasts.'
        return wait_for(who, 'no workload has lasted long enough', because, _WORKLOAD)
    name = found.workload_class.value
    if writer is not None and case.writer is None:
        because = (
            f'It looks like {name}, with a confidence of {writer.confidence:.2f}; recommendations '
            f'need {MIN_CONFIDENCE:.2f}.'
        )
        return wait_for(who, 'the workload is not clear enough', because, _WORKLOAD)
    known, own = recognize(case.running, case.release), _custom_profile(case, case.running)
    running = 'the running option string' if own is None else f'the custom profile {own.name}'
    text = f'There is no known objection to {running} for {name}.'
    if writer is None and found.workload_class in NO_ADVICE_FOR:
        text = f'The workload is {name}, for which no option string is known to help.'
    elif known is not None:
        text = f'{known.title} suits {name} best among the known profiles.'
    return nothing(who, text, case.limit)

"""Texts for "nothing to change". Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..workload.classify import writer_of
from ..workload.records import WorkloadClass
from .case import MIN_CONFIDENCE, Case
from .decision import nothing, wait_for
from .profiles import Profile
from .records import Decision
from .strings import recognize
from .weighing import Weighing

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


def none_gains(case: Case, weighed: Weighing) -> Decision:
    """Why no candidate qualifies; names the best one only if it may gain enough."""
    text = (
        f'No option string considered ({len(weighed.weighed) - 1}) is certain to save '
        f'{weighed.bars.min_gain:.0%} of any resource at the cost of at most '
        f'{weighed.bars.max_loss:.0%} of another.'
    )
    best = weighed.best
    main = None if best is None else best.main(weighed.resource)
    if best is not None and main is not None and main.ratio.value <= 1 - weighed.bars.min_gain:
        text = f'{text} The best is {best.candidate.name}: {best.short}'
    return nothing(case.cohort.group.who, text, case.limit, 'ceph rocksdb-tuner recommend --all')


def why_nothing(case: Case, custom_profiles: Sequence[Profile]) -> Decision:
    """Why there is no objection to the running options."""
    who, workload = case.cohort.group.who, case.cohort.group.workload
    title = _title(case, custom_profiles)
    writer = writer_of(workload)
    if writer is None:
        if workload is None or workload.workload_class is WorkloadClass.UNKNOWN:
            return wait_for(
                who,
                'no workload has lasted long enough',
                'A recommendation needs a workload that lasts.',
                _WORKLOAD,
            )
        name = workload.workload_class.value
        if workload.workload_class in NO_ADVICE_FOR:
            return nothing(
                who,
                f'The workload is {name}, for which no option string is known to help.',
                case.limit,
            )
        return _no_better(case, title, name)
    name = writer.workload_class.value
    if writer.confidence < MIN_CONFIDENCE:
        return wait_for(
            who,
            'the workload is not clear enough',
            f'It looks like {name}, with a confidence of {writer.confidence:.2f}; recommendations '
            f'need {MIN_CONFIDENCE:.2f}.',
            _WORKLOAD,
        )
    return _no_better(case, title, name)


def _title(case: Case, custom_profiles: Sequence[Profile]) -> str:
    known = recognize(case.running, case.release)
    if known is not None:
        return known.title
    for own in custom_profiles:
        if case.alike(own.options, case.running):
            return f'the custom profile {own.name}'
    return 'the running option string'


def _no_better(case: Case, title: str, workload: str) -> Decision:
    if recognize(case.running, case.release) is None:
        text = f'There is no known objection to {title} for {workload}.'
    else:
        text = f'{title} suits {workload} best among the known profiles.'
    return nothing(case.cohort.group.who, text, case.limit)

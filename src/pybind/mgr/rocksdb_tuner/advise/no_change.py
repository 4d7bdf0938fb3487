"""Texts for "nothing to change". Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..units import format_plural
from ..workload.classify import writer_of
from ..workload.records import WorkloadClass
from .case import MIN_CONFIDENCE, Case
from .profiles import Profile
from .records import Limit, Resource
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


def beyond_rocksdb(limit: Limit) -> str:
    what = {
        Resource.DATA_DEVICE: 'the data devices limit these clients',
        Resource.NETWORK: 'the network limits these clients',
    }[limit.resource]
    evidence = ' '.join(e.statement for e in limit.evidence)
    return f'Nothing to change: {what}, which no RocksDB option relieves. {evidence}'.strip()


def none_gains(weighed: Weighing) -> str:
    """Why no candidate qualifies; names the best one only if it may gain enough."""
    considered = format_plural(len(weighed.weighed) - 1, 'option string')
    text = (
        f'Nothing to change: none of {considered} considered is certain to save '
        f'{weighed.bars.min_gain:.0%} of any resource at the cost of at most '
        f'{weighed.bars.max_loss:.0%} of another.'
    )
    best = weighed.best
    main = None if best is None else best.main(weighed.resource)
    if best is None or main is None or main.ratio.value > 1 - weighed.bars.min_gain:
        return text
    return f'{text} The best is {best.candidate.name}: {best.short}'


def why_nothing(case: Case, custom_profiles: Sequence[Profile]) -> str:
    """Why there is no objection to the running options."""
    workload = case.cohort.group.workload
    title = _title(case, custom_profiles)
    writer = writer_of(workload)
    if writer is None:
        if workload is None or workload.workload_class is WorkloadClass.UNKNOWN:
            return 'Nothing to change yet: no workload has lasted long enough.'
        name = workload.workload_class.value
        if workload.workload_class in NO_ADVICE_FOR:
            return (
                f'Nothing to change: the workload is {name}, for which no option string is known '
                'to help.'
            )
        return _no_better(case, title, name)
    name = writer.workload_class.value
    if writer.confidence < MIN_CONFIDENCE:
        return (
            f'Nothing to change yet: the workload looks like {name}, with a confidence of '
            f'{writer.confidence:.2f}; recommendations need {MIN_CONFIDENCE:.2f}.'
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


def _no_better(case: Case, title: str, workload: str) -> str:
    if recognize(case.running, case.release) is None:
        return f'Nothing to change: there is no known objection to {title} for {workload}.'
    return f'Nothing to change: {title} suits {workload} best among the known profiles.'

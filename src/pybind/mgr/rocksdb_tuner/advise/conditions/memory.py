"""Conditions of memtable memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Optional

from ...options.memtables import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
)
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from .declaration import Condition, condition
from .facts import ClusterFacts, RunningString


@condition('memtables-exceed-memory')
def memtables_exceed_memory(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Memtables of a configured string that may exceed their share of osd_memory_target."""
    share = condition.limit('share_of_target', cluster.limits)
    for running in cluster.chosen_strings:
        over = [o for o in _with_memory(running) if o.bound > share * left_of_target(o.target)]
        over = [o for o in over if o.bound > DEFAULT_BOUND_BYTES]
        if over:
            ids = tuple(o.osd.info.osd_id for o in over)
            yield condition.finding(
                f'memtables of {name_osds(ids)} may take more memory than the OSD has',
                ids,
                _memory(over[0]),
            )


@condition('memory-target-small')
def memory_target_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An osd_memory_target that is too small for the memtables of any default."""
    small = [
        o
        for running in cluster.strings
        for o in _with_memory(running)
        if left_of_target(o.target) < o.bound <= DEFAULT_BOUND_BYTES
    ]
    if small:
        ids = tuple(sorted(o.osd.info.osd_id for o in small))
        least = min(small, key=lambda o: (o.target, o.osd.info.osd_id))
        yield condition.finding(
            f'osd_memory_target of {name_osds(ids)} leaves too little for memtables',
            ids,
            _memory(least),
        )


class _OfMemory(NamedTuple):
    """An OSD with the bound of its memtables and its memory target."""

    osd: OsdFacts
    bound: int
    target: int
    mapped: Optional[int]


def _with_memory(running: RunningString) -> Iterator[_OfMemory]:
    checked = running.checked
    if checked is None or not checked.accepted:
        return
    one = full_bytes(checked.effective)
    for osd in running.osds:
        details = osd.details
        if details is not None and details.memory_target_bytes is not None:
            number = 1 if osd.sharded is False else DEFAULT_FAMILIES
            bound = bound_bytes(checked.effective, number * one, number)
            yield _OfMemory(osd, bound, details.memory_target_bytes, details.memory_mapped_bytes)


def _memory(of: _OfMemory) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('memtables', of.bound, 'bytes', None),
        FindingEvidence('osd_memory_target', of.target, 'bytes', None),
        FindingEvidence('memory_mapped', of.mapped, 'bytes', None),
    )

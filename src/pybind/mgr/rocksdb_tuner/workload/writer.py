"""Who writes metadata, in whatever mixture of operations. Pure.

Reads do not make writes cheap, so option sets go by what writes, whatever share of the operations
that is.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from .records import Evidence, Workload, WorkloadClass

__all__ = ['Writer', 'writer_evidence', 'writer_of']

#: Workloads whose name tells that somebody writes metadata, and who.
_WRITERS = frozenset(
    {
        WorkloadClass.RBD_SMALL_WRITE,
        WorkloadClass.RGW_METADATA,
        WorkloadClass.CEPHFS_METADATA,
    }
)
_BY_NAME = {who.value: who for who in _WRITERS}
_SIGNAL = 'writer:'


class Writer(NamedTuple):
    workload_class: WorkloadClass
    confidence: float


def writer_evidence(writer: Writer, window_s: float) -> Evidence:
    """To be kept with a workload whose class does not tell who writes."""
    name = writer.workload_class.value
    return Evidence(
        f'{_SIGNAL}{name}',
        writer.confidence,
        'confidence',
        window_s,
        f'Among other operations, the writes are {name}.',
    )


def writer_of(workload: Optional[Workload]) -> Optional[Writer]:
    """Who writes metadata; None where nobody does, or that is not known."""
    if workload is None or workload.workload_class is WorkloadClass.UNKNOWN:
        return None
    if workload.workload_class in _WRITERS:
        return Writer(workload.workload_class, workload.confidence)
    for found in workload.evidence:
        if found.signal.startswith(_SIGNAL):
            who = _BY_NAME.get(found.signal[len(_SIGNAL) :])
            return None if who is None else Writer(who, min(found.value, _doubt(workload)))
    return None


def _doubt(workload: Workload) -> float:
    """1, and less for what the newest look speaks against or that was hardly seen."""
    # A mixture is a mixture: that its class is no sure one says nothing of who writes in it.
    return 1.0 if workload.confidence >= 0.5 else workload.confidence

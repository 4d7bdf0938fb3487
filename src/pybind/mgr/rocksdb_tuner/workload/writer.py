"""The source of metadata writes in a mixed workload. Pure.

Reads do not make writes cheaper, so profiles are chosen by the writer, regardless of its share of
the operations.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from .records import Evidence, Workload, WorkloadClass

__all__ = ['Writer', 'writer_evidence', 'writer_of']

#: Workloads that name a writer of metadata.
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
    """Evidence for a workload whose class does not name the writer."""
    name = writer.workload_class.value
    return Evidence(
        f'{_SIGNAL}{name}',
        writer.confidence,
        'confidence',
        window_s,
        f'Among other operations, the writes are {name}.',
    )


def writer_of(workload: Optional[Workload]) -> Optional[Writer]:
    """The writer of metadata; None if there is none or it is unknown."""
    if workload is None or workload.workload_class is WorkloadClass.UNKNOWN:
        return None
    if workload.workload_class in _WRITERS:
        return Writer(workload.workload_class, workload.confidence)
    for found in workload.evidence:
        if found.signal.startswith(_SIGNAL):
            who = _BY_NAME.get(found.signal.removeprefix(_SIGNAL))
            return None if who is None else Writer(who, min(found.value, _doubt(workload)))
    return None


def _doubt(workload: Workload) -> float:
    """1, or less if the newest sample contradicts the workload."""
    # A low confidence in MIXED alone does not make the writer less certain.
    return 1.0 if workload.confidence >= 0.5 else workload.confidence

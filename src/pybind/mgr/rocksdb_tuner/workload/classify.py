"""Classification of client and recovery activity: class, confidence, evidence. Pure.

Reads do not make writes cheaper, so profiles are chosen by the writer of metadata in a mixed
workload, regardless of its share of the operations.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import NamedTuple, Optional

from ..observe.signals import Signals
from .pools import CEPHFS_METADATA, RBD, RGW, PoolContext
from .records import (
    UNKNOWN_WORKLOAD,
    Evidence,
    Workload,
    WorkloadClass,
    evidence_of,
    thresholds,
)


class Activity(NamedTuple):
    """Client operations and recovery of ``osds`` OSDs, per second, over ``window_s``.

    A sum, so that the distribution of primaries does not matter: replicated writes show in an OSD's
    WAL, but not in its client operations.
    """

    osds: int
    window_s: float
    writes_per_s: float
    class_calls_per_s: float
    reads_per_s: float
    write_bytes_per_s: float
    class_call_bytes_per_s: float
    read_bytes_per_s: float
    recovery_per_s: float

    @property
    def changes_per_s(self) -> float:
        """Operations that write: plain writes and class calls."""
        return self.writes_per_s + self.class_calls_per_s

    @property
    def operations_per_s(self) -> float:
        return self.changes_per_s + self.reads_per_s

    @property
    def written_bytes_per_s(self) -> float:
        return self.write_bytes_per_s + self.class_call_bytes_per_s

    @property
    def bytes_per_s(self) -> float:
        return self.written_bytes_per_s + self.read_bytes_per_s

    @property
    def mean_write_bytes(self) -> Optional[float]:
        return self.write_bytes_per_s / self.writes_per_s if self.writes_per_s else None

    @property
    def mean_class_call_bytes(self) -> Optional[float]:
        """Large only if calls carry data: most of them set keys and count no bytes."""
        calls_per_s = self.class_calls_per_s
        return self.class_call_bytes_per_s / calls_per_s if calls_per_s else None


def activity(signals: Iterable[Signals]) -> Optional[Activity]:
    """None if no OSD has a window with known client operations."""
    osds = 0
    window_s = writes = calls = reads = written = called = read = recovery = 0.0
    for s in signals:
        if (
            s.window_s is None
            or s.write_iops is None
            or s.read_iops is None
            or s.rw_iops is None
            or s.write_bytes_per_s is None
            or s.rw_bytes_per_s is None
            or s.read_bytes_per_s is None
        ):
            continue
        osds += 1
        window_s = max(window_s, s.window_s)
        writes += s.write_iops
        calls += s.rw_iops
        reads += s.read_iops
        written += s.write_bytes_per_s
        called += s.rw_bytes_per_s
        read += s.read_bytes_per_s
        recovery += s.recovery_ops_per_s or 0.0
    if not osds:
        return None
    return Activity(osds, window_s, writes, calls, reads, written, called, read, recovery)


#: Workloads that name a writer of metadata, by the kind of its pools.
_WRITERS = {
    RBD: WorkloadClass.RBD_SMALL_WRITE,
    RGW: WorkloadClass.RGW_METADATA,
    CEPHFS_METADATA: WorkloadClass.CEPHFS_METADATA,
}
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
    if workload.workload_class in _WRITERS.values():
        return Writer(workload.workload_class, workload.confidence)
    # The newest sample may contradict the workload; a low confidence in MIXED alone does not make
    # the writer less certain.
    most = 1.0 if workload.confidence >= 0.5 else workload.confidence
    named = (e for e in workload.evidence if e.signal.startswith(_SIGNAL))
    found = next(named, None)
    if found is None:
        return None
    name = found.signal.removeprefix(_SIGNAL)
    who = next((writer for writer in _WRITERS.values() if writer.value == name), None)
    return None if who is None else Writer(who, min(found.value, most))


#: Confidence if all signals agree; counters never give certainty.
HIGH = 0.95
_WITHOUT_WRITER = frozenset({WorkloadClass.MIXED, WorkloadClass.READ_MOSTLY})
#: Minimum share of writes for a kind of pool to be the writer of a mixed workload.
_MOST_CHANGES = 0.5


def classify(seen: Optional[Activity], pools: PoolContext) -> Workload:
    """The client workload; UNKNOWN if signals contradict each other."""
    if seen is None:
        return UNKNOWN_WORKLOAD
    limits = thresholds()
    rate, changes_per_s = seen.recovery_per_s, seen.changes_per_s
    if rate > 0.5 and rate >= limits.recovery_ops_share * changes_per_s:
        recovery = _evidence(seen, 'recovery_ops_per_s', rate, rate, changes_per_s)
        return Workload(WorkloadClass.RECOVERY, HIGH, (recovery,))
    if (
        seen.operations_per_s <= limits.noise_ops_per_s * seen.osds
        and seen.bytes_per_s <= limits.noise_bytes_per_s * seen.osds
    ):
        return Workload(WorkloadClass.IDLE, HIGH, (_operations(seen),))
    workload_class, certainty, reasons = _client_work(seen, pools, limits)
    enough = _enough(seen, limits)
    if workload_class in _WITHOUT_WRITER:
        writer = _writer(seen, pools, limits)
        if writer is not None:
            sure = Writer(writer.workload_class, round(writer.confidence * enough, 3))
            reasons = (*reasons, writer_evidence(sure, seen.window_s))
    confidence = round(certainty * enough, 3)
    return Workload(workload_class, confidence, (*reasons, _operations(seen)))


def _client_work(seen: Activity, pools: PoolContext, limits: SimpleNamespace) -> Workload:
    operations_per_s = seen.operations_per_s
    changes_share = seen.changes_per_s / operations_per_s if operations_per_s else 0.0
    reads_dominate = operations_per_s > 0 and 1 - changes_share >= limits.read_share
    # Large writes are few, so they are classified by bytes, not by operations.
    size = _large_writes(seen, limits)
    if (
        size is not None
        and seen.written_bytes_per_s >= seen.read_bytes_per_s
        and seen.written_bytes_per_s > limits.noise_bytes_per_s * seen.osds
    ):
        if reads_dominate:
            return Workload(WorkloadClass.MIXED, 0.7, (size, _shares(seen)))
        # An MDS writes its journal in large pieces, and omap keys later.
        journal = pools.shares.get(CEPHFS_METADATA) if pools.shares else None
        share = journal.write_bytes if journal else 0.0
        if share < limits.dominant_kind_share:
            return Workload(WorkloadClass.LARGE_WRITE, HIGH, (size,))
        certainty = _beyond(share, limits.dominant_kind_share)
        of_journal = _evidence(seen, 'pools', share, 100 * share)
        return Workload(WorkloadClass.CEPHFS_METADATA, certainty, (of_journal, size))
    if reads_dominate:
        certainty = _beyond(1 - changes_share, limits.read_share)
        return Workload(WorkloadClass.READ_MOSTLY, certainty, (_shares(seen),))
    if changes_share < limits.write_share:
        return Workload(WorkloadClass.MIXED, 0.7, (_shares(seen),))
    if pools.leading is None:
        return _small_changes(seen, pools, limits)
    kind, share, statement = pools.leading
    of_pools = Evidence('pools', share, 'share', seen.window_s, statement)
    if share < limits.dominant_kind_share:
        certainty = _beyond(1 - share, 1 - limits.dominant_kind_share)
        return Workload(WorkloadClass.MIXED, certainty, (of_pools,))
    # The other kinds have little load, so they are ignored.
    found = _small_changes(seen, _only(kind), limits)
    certainty = min(found.confidence, _beyond(share, limits.dominant_kind_share))
    return Workload(found.workload_class, certainty, (of_pools, *found.evidence))


def _only(kind: str) -> PoolContext:
    return PoolContext(frozenset({kind} & _WRITERS.keys()))


def _small_changes(seen: Activity, pools: PoolContext, limits: SimpleNamespace) -> Workload:
    mean_bytes = seen.mean_write_bytes
    shares, size = _shares(seen), _write_size(seen)
    call_share = seen.class_calls_per_s / seen.changes_per_s
    if call_share >= limits.class_call_share:
        calls = _evidence(seen, 'rw_iops', seen.class_calls_per_s, 100 * call_share)
        if RGW in pools.kinds:
            certainty = _beyond(call_share, limits.class_call_share)
            return Workload(WorkloadClass.RGW_METADATA, certainty, (calls, shares))
        # RBD and CephFS use few class calls: these are librados clients with custom classes.
        return Workload(WorkloadClass.UNKNOWN, 0.0, (calls, shares))
    if mean_bytes is None or mean_bytes < 1:
        # Omap keys and values, which only metadata pools hold.
        evidence = (_evidence(seen, 'no_data', 0.0),)
        who = _one_writer(pools.kinds & {RGW, CEPHFS_METADATA})
        unknown = Workload(WorkloadClass.UNKNOWN, 0.0, evidence)
        return Workload(who, HIGH, evidence) if who else unknown
    if mean_bytes > limits.small_write_bytes and CEPHFS_METADATA not in pools.kinds:
        return Workload(WorkloadClass.MIXED, 0.7, (size, shares))
    # The gateway writes without class calls only if nobody else does.
    small = _one_writer(pools.kinds & {RBD, CEPHFS_METADATA} or pools.kinds)
    if small is None:
        return Workload(WorkloadClass.UNKNOWN, 0.0, (size, shares))
    # With several kinds of pools the lack of class calls is evidence too.
    certainty = _beyond(1 - call_share, 1 - limits.class_call_share)
    certainty *= 0.97 if len(pools.kinds) > 1 else 1.0
    return Workload(small, certainty, (size, shares))


def _writer(seen: Activity, pools: PoolContext, limits: SimpleNamespace) -> Optional[Writer]:
    """The writer of a mixed workload; None if writes are few, large, or without a main source."""
    if seen.changes_per_s <= limits.noise_ops_per_s * seen.osds:
        return None
    if _large_writes(seen, limits) is not None:
        return None
    certainty = HIGH
    if pools.leading is not None:
        kind, share, _ = pools.leading
        if share < _MOST_CHANGES:
            return None
        certainty, pools = _beyond(share, _MOST_CHANGES), _only(kind)
    # Writes below the size of large writes cost a metadata transaction each.
    larger = SimpleNamespace(**{**vars(limits), 'small_write_bytes': limits.large_write_bytes})
    found = _small_changes(seen, pools, larger)
    if found.workload_class in (WorkloadClass.UNKNOWN, WorkloadClass.MIXED):
        return None
    return Writer(found.workload_class, min(certainty, found.confidence))


def _one_writer(kinds: frozenset[str]) -> Optional[WorkloadClass]:
    """The only possible source of writes; None if there is none, or several."""
    return _WRITERS[min(kinds)] if len(kinds) == 1 else None


def _beyond(share: float, threshold: float) -> float:
    """Confidence by the distance of a share from its threshold: 0.75 at it, up to HIGH."""
    return min(HIGH, 0.75 + (share - threshold) * 1.5)


def _enough(seen: Activity, limits: SimpleNamespace) -> float:
    """Confidence factor: low with few operations, unless they have many bytes."""
    by_operations = seen.operations_per_s / seen.osds / limits.full_confidence_ops_per_s
    by_bytes = seen.bytes_per_s / seen.osds / (16 * limits.noise_bytes_per_s)
    return float(min(1.0, 0.7 + 0.3 * max(by_operations, by_bytes)))


def _evidence(seen: Activity, signal: str, value: float, *figures: float) -> Evidence:
    return evidence_of(signal, value, seen.window_s, *figures)


def _operations(seen: Activity) -> Evidence:
    per_osd = seen.operations_per_s / seen.osds
    return _evidence(seen, 'write_iops', per_osd, per_osd, seen.bytes_per_s / 1024)


def _large_writes(seen: Activity, limits: SimpleNamespace) -> Optional[Evidence]:
    """Evidence of large writes; RGW overwrites objects by class calls."""
    if (seen.mean_write_bytes or 0.0) >= limits.large_write_bytes:
        return _write_size(seen)
    mean = seen.mean_class_call_bytes or 0.0
    if mean < limits.large_write_bytes:
        return None
    return _evidence(seen, 'rw_bytes_per_s', seen.class_call_bytes_per_s, mean / 1024)


def _shares(seen: Activity) -> Evidence:
    kinds = (seen.writes_per_s, seen.class_calls_per_s, seen.reads_per_s)
    percents = (100 * rate / (seen.operations_per_s or 1.0) for rate in kinds)
    return _evidence(seen, 'read_iops', seen.reads_per_s, *percents)


def _write_size(seen: Activity) -> Evidence:
    mean = seen.mean_write_bytes or 0.0
    return _evidence(seen, 'write_bytes_avg', mean, mean / 1024)

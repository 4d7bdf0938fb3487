"""The accuracy of the workload classification: recordings through the module's own pipeline. Pure.

Evaluated are windows within one span of a recording, so that they have one true name, and the class
that the module shows for them: after its hysteresis, with its confidence.

A span has the workload of the whole cluster. It is also the workload of a single OSD that had a
share in it; an OSD without one was idle (`had_no_work`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from rocksdb_tuner.observe.load_history import PoolHistory
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.classifier import Classifier
from rocksdb_tuner.workload.classify import Activity, activity

from .replay import DEVICE_CLASS, Recording, Span

UNKNOWN = 'unknown'
IDLE = ('idle',)
#: The times of the samplings against those of the reports.
OFFSETS_S = (0.0, 2.5, 5.0, 7.5)
#: A span of at least this length is long enough for a class to be due in it.
DUE_S = 60.0
#: Spans that are further apart than this have something else between them.
GAP_S = 5.0
#: Bounds of the bins of the reliability table.
BINS = (0.0, 0.5, 0.75, 0.9, 1.0)
NOT_CLIENTS = frozenset({'idle', 'recovery', UNKNOWN})
#: The background work of an OSD varies: up to so many times its idle work.
IDLE_FACTOR = 2.0


@dataclass(frozen=True)
class Seen:
    """The module's answer at one sampling; times are those of the recording."""

    now_s: float
    #: The span of the newest windows; None if there are none.
    window: Optional[tuple[float, float]]
    workload_class: str
    confidence: float
    #: The total work of all sampled OSDs, which the name is based on.
    activity: Optional[Activity]
    #: WAL bytes of all of them, including replicas' writes and recovered objects.
    wal_bytes_per_s: float = 0.0


@dataclass(frozen=True)
class Judged:
    """One window whose true name is known."""

    run: str
    span: Span
    seen: Seen

    @property
    def right(self) -> bool:
        return self.seen.workload_class in self.span.labels

    @property
    def truth(self) -> str:
        """The given one of several correct names, or else the intended one."""
        return self.seen.workload_class if self.right else self.span.labels[0]


@dataclass(frozen=True)
class Onset:
    """How a span of at least `DUE_S` was recognized."""

    run: str
    span: Span
    #: From its begin to the first right class; None: never.
    right_after_s: Optional[float]
    #: Of the class shown, from the end of the span before to the end of this one.
    changes: int
    #: The true changes: this span started, and if there is time between the spans, there was
    #: another workload (a client fills its data before reading, and verifies its writes). Of two
    #: correct names, that of recovery and of a client, one may follow the other.
    true_changes: int


def watch(recording: Recording, offset_s: float = 0.0, osd_id: Optional[int] = None) -> list[Seen]:
    """The shown class of the device class, or of one OSD, at every sampling."""
    classifier, pools = Classifier(), PoolHistory()
    shown = []
    for look in recording.samples(offset_s):
        pools.add(look.pool_counters, look.now_s)
        found = classifier.recognize(
            look.signals, look.cluster_map, look.now_s, pool_rates=pools.rates()
        )
        if osd_id is None:
            workload, of = found.per_group.get(DEVICE_CLASS), list(look.signals.values())
        else:
            workload = found.per_osd.get(osd_id)
            of = [s for s in look.signals.values() if s.osd_id == osd_id]
        if workload is None:
            continue
        shown.append(
            Seen(
                look.now_s,
                covered(of),
                workload.workload_class.value,
                workload.confidence,
                activity(of),
                sum(s.wal_bytes_per_s or 0.0 for s in of),
            )
        )
    return shown


def covered(signals: Sequence[Signals]) -> Optional[tuple[float, float]]:
    """From when to when the windows of all these OSDs reach; None where there is none."""
    ends = [
        (s.sampled_s, s.window_s)
        for s in signals
        if s.window_s is not None and s.sampled_s is not None
    ]
    if not ends:
        return None
    return min(end_s - window_s for end_s, window_s in ends), max(end_s for end_s, _ in ends)


def judge(recording: Recording, shown: Iterable[Seen]) -> list[Judged]:
    """The windows that lie within one span."""
    found = []
    for seen in shown:
        span = span_of(recording, seen.window)
        if span is not None:
            found.append(Judged(recording.name, span, seen))
    return found


def span_of(recording: Recording, window: Optional[tuple[float, float]]) -> Optional[Span]:
    """The span that holds all of a window; None where there is none."""
    if window is None:
        return None
    begin_s, end_s = window
    return next((s for s in recording.spans if s.begin_s <= begin_s and end_s <= s.end_s), None)


def judge_osd(recording: Recording, shown: Sequence[Seen]) -> list[Judged]:
    """The same of one OSD, by what it carried of what went on in the cluster."""
    found = judge(recording, shown)
    idle = [j.seen for j in found if j.span.labels == IDLE]
    return [
        replace(j, span=replace(j.span, labels=IDLE)) if had_no_work(j.seen, idle) else j
        for j in found
    ]


def had_no_work(seen: Seen, idle: Sequence[Seen]) -> bool:
    """Whether an OSD did no more than its background work, which is ``idle``.

    By its own counters, not by the module's thresholds: it recovered nothing, and neither served
    more client operations nor wrote more to its WAL, as a replica or a recovery target does.
    """
    now = seen.activity
    known = [(s.activity, s.wal_bytes_per_s) for s in idle if s.activity is not None]
    if now is None or not known:
        return False
    operations_per_s = max(activity.operations_per_s for activity, _ in known)
    return (
        now.recovery_per_s == 0.0
        and now.operations_per_s <= IDLE_FACTOR * operations_per_s
        and seen.wal_bytes_per_s <= IDLE_FACTOR * max(wal for _, wal in known)
    )


def onsets(recording: Recording, shown: Sequence[Seen]) -> list[Onset]:
    """When each long span got a right name, and how often the name changed meanwhile.

    What is shown before anything is known is no change.
    """
    found = []
    before_s = shown[0].now_s
    for span in recording.spans:
        since_s, before_s = before_s, span.end_s
        if span.end_s - span.begin_s < DUE_S:
            continue
        inside = [s for s in shown if span.begin_s <= s.now_s <= span.end_s]
        before = [s.workload_class for s in shown if s.now_s <= since_s][-1:]
        between = [s.workload_class for s in shown if since_s < s.now_s <= span.end_s]
        names = [*before, *between]
        if not any(name != UNKNOWN for name in before):
            first = next((i for i, n in enumerate(names) if n != UNKNOWN), 0)
            names = names[first:]
        right = [s.now_s for s in inside if s.workload_class in span.labels]
        found.append(
            Onset(
                recording.name,
                span,
                right[0] - span.begin_s if right else None,
                sum(a != b for a, b in zip(names, names[1:])),
                len(span.labels) + (span.begin_s - since_s >= GAP_S),
            )
        )
    return found


def f1_scores(judged: Sequence[Judged]) -> list[float]:
    """Of each class that truly occurs."""
    counts = Counter((j.truth, j.seen.workload_class) for j in judged)
    found = []
    for name in {truth for truth, _ in counts}:
        right = counts[name, name]
        shown = sum(n for (_, seen), n in counts.items() if seen == name)
        true = sum(n for (truth, _), n in counts.items() if truth == name)
        found.append(2 * right / (shown + true))
    return found


def macro_f1(judged: Sequence[Judged]) -> float:
    found = f1_scores(judged)
    return sum(found) / len(found) if found else 0.0


def reliability(judged: Iterable[Judged]) -> list[tuple[float, float, int, int]]:
    """(from, to, windows, right ones) by confidence. UNKNOWN claims nothing and is left out."""
    counts: dict[int, list[int]] = {i: [0, 0] for i in range(len(BINS) - 1)}
    for j in judged:
        if j.seen.workload_class == UNKNOWN:
            continue
        i = max(i for i in counts if j.seen.confidence >= BINS[i])
        counts[i][0] += 1
        counts[i][1] += j.right
    return [(BINS[i], BINS[i + 1], all_, right) for i, (all_, right) in counts.items()]


def taken_for_clients(judged: Iterable[Judged]) -> list[Judged]:
    """Windows without any client that were given the name of client work."""
    return [
        j
        for j in judged
        if set(j.span.labels) <= {'idle', 'recovery'} and j.seen.workload_class not in NOT_CLIENTS
    ]

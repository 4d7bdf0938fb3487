"""The ranges of recorded values for the workload thresholds.

Only recordings of the part `set` are read (tests/workload/data of the module, whose README
describes their origin). A threshold separates two sets of windows by their true class: it may be
anything between the largest value of the one set and the smallest of the other.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from rocksdb_tuner.observe.load_history import PoolHistory
from rocksdb_tuner.tests.workload import evaluation, replay
from rocksdb_tuner.tests.workload.replay import DEVICE_CLASS, Recording, Span
from rocksdb_tuner.workload.classify import Activity, activity
from rocksdb_tuner.workload.pools import CEPHFS_METADATA, Share, pool_context
from rocksdb_tuner.workload.records import thresholds

from .cli import run_main
from .errors import HarnessError
from .evaluate_workload import names_of
from .recording_plan import SET

#: Of recordings without spans: the class of each client, and whether it begins its work at once. It
#: checks what it wrote at the end then; another one first makes what it reads or deletes.
CLIENTS: Final[Mapping[str, tuple[str, bool]]] = {
    'rbd-randread': ('read-mostly', False),
    'rbd-randwrite': ('rbd-small-write', True),
    'rbd-seqwrite': ('large-write', True),
    's3-delete': ('rgw-metadata', False),
    's3-large-put': ('large-write', True),
    's3-list': ('read-mostly', False),
    's3-put': ('rgw-metadata', True),
}
#: For so long at that end of its load a client certainly does what it is for.
CERTAIN_S = 45.0
#: A gateway that starts reads and writes for itself.
GATEWAY_START_S = 30.0

_IDLE = frozenset(evaluation.IDLE)
_RBD = frozenset({'rbd-small-write'})
_RGW = frozenset({'rgw-metadata'})
_LARGE = frozenset({'large-write'})
_READS = frozenset({'read-mostly'})
_RECOVERY = frozenset({'recovery'})
_SMALL_WRITERS = _RBD | _RGW
_SMALL_OR_JOURNAL = _SMALL_WRITERS | {'cephfs-metadata'}
_WRITERS = _SMALL_OR_JOURNAL | _LARGE
_CLIENTS = _WRITERS | _READS | {'mixed'}
#: Distinguished from idle by operations: large writes, including journal writes, are few.
_OPERATIONS = _CLIENTS - _LARGE - {'cephfs-metadata'}
#: Of the changes; a kind of pools with less is only there.
_AT_WORK = 0.05


@dataclass(frozen=True)
class Window:
    """The work of OSDs during a known workload: of a device class, or of one OSD."""

    run: str
    what: str
    truth: str
    activity: Activity
    wal_bytes_per_s: float
    #: Of each kind of pools in the changes; None where that was not known.
    shares: Mapping[str, Share] | None = None
    of_osd: bool = False


@dataclass(frozen=True)
class Boundary:
    """The range of a threshold: the signal, and the windows on either side."""

    signal: Callable[[Window], float | None]
    below: Callable[[Window], bool]
    above: Callable[[Window], bool]


@dataclass(frozen=True)
class Side:
    """The windows on one side of a threshold, and the one that is nearest to it."""

    windows: int
    nearest: float
    run: str
    what: str


@dataclass(frozen=True)
class Range:
    """Between what a threshold may lie."""

    threshold: str
    value: float
    below: Side
    above: Side

    @property
    def holds(self) -> bool:
        return self.below.nearest < self.value <= self.above.nearest

    @property
    def margins(self) -> tuple[float, float]:
        """By which factor the threshold is from either side; infinite from nothing."""
        low = self.value / self.below.nearest if self.below.nearest else math.inf
        return low, self.above.nearest / self.value


def _of_classes(classes: frozenset[str]) -> Callable[[Window], bool]:
    return lambda w: not w.of_osd and w.truth in classes


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _mean_write(w: Window) -> float | None:
    return w.activity.mean_write_bytes


def _reads(w: Window) -> float | None:
    return _share(w.activity.reads_per_s, w.activity.operations_per_s)


def _changes(w: Window) -> float | None:
    return _share(w.activity.changes_per_s, w.activity.operations_per_s)


def _class_calls(w: Window) -> float | None:
    return _share(w.activity.class_calls_per_s, w.activity.changes_per_s)


def _recovery(w: Window) -> float | None:
    return _share(w.activity.recovery_per_s, w.activity.changes_per_s)


def _share_of_kind(w: Window) -> float | None:
    """Of the kind of pools that does most: in the changes, or in the bytes of a journal."""
    if not w.shares:
        return None
    journal = w.shares.get(CEPHFS_METADATA)
    if journal is not None and (_mean_write(w) or 0.0) >= thresholds().large_write_bytes:
        return journal.write_bytes
    return max(share.changes for share in w.shares.values())


def _reads_and_writes(w: Window) -> bool:
    return not w.of_osd and w.truth == 'mixed' and not _two_applications(w)


def _is_replica(w: Window) -> bool:
    """An OSD without clients of its own, in a time in which clients write."""
    noise = w.activity.operations_per_s <= thresholds().noise_ops_per_s
    return w.of_osd and w.truth in _WRITERS and noise


def _two_applications(w: Window) -> bool:
    """Mixed by clients, not by reads and writes."""
    kinds = w.shares.values() if w.shares else ()
    return w.truth == 'mixed' and sum(share.changes > _AT_WORK for share in kinds) > 1


#: By threshold. `full_confidence_ops_per_s` is missing: it does not separate windows.
BOUNDARIES: Final[Mapping[str, Boundary]] = {
    'noise_ops_per_s': Boundary(
        lambda w: w.activity.operations_per_s / w.activity.osds,
        _of_classes(_IDLE),
        _of_classes(_OPERATIONS),
    ),
    'noise_bytes_per_s': Boundary(
        lambda w: w.activity.bytes_per_s / w.activity.osds,
        _of_classes(_IDLE),
        _of_classes(_LARGE),
    ),
    'small_write_bytes': Boundary(_mean_write, _of_classes(_SMALL_WRITERS), _of_classes(_LARGE)),
    'large_write_bytes': Boundary(_mean_write, _of_classes(_SMALL_WRITERS), _of_classes(_LARGE)),
    'read_share': Boundary(_reads, _of_classes(_CLIENTS - _READS), _of_classes(_READS)),
    'write_share': Boundary(_changes, _reads_and_writes, _of_classes(_WRITERS)),
    'class_call_share': Boundary(_class_calls, _of_classes(_RBD), _of_classes(_RGW)),
    'recovery_ops_share': Boundary(_recovery, _of_classes(_CLIENTS), _of_classes(_RECOVERY)),
    'dominant_kind_share': Boundary(
        _share_of_kind,
        _two_applications,
        lambda w: w.shares is not None and w.truth in _SMALL_OR_JOURNAL,
    ),
    'replica_wal_bytes_per_s': Boundary(
        lambda w: w.wal_bytes_per_s,
        lambda w: w.of_osd and w.truth in _IDLE,
        _is_replica,
    ),
}


def windows(names: Iterable[str]) -> Iterator[Window]:
    """Those that lie within one span, of the device class and of each OSD."""
    for name in names:
        recording = _with_spans(replay.load(name))
        for offset_s in evaluation.OFFSETS_S:
            yield from _windows(recording, offset_s)


def _windows(recording: Recording, offset_s: float) -> Iterator[Window]:
    pools = PoolHistory()
    for look in recording.samples(offset_s):
        pools.add(look.pool_counters, look.now_s)
        of_class = list(look.signals.values())
        done = activity(of_class)
        span = evaluation.span_of(recording, evaluation.covered(of_class))
        # Where two names are correct, the side of a window is undefined.
        if done is None or span is None or len(span.labels) > 1:
            continue
        context = pool_context(look.cluster_map, DEVICE_CLASS, pools.rates(), done.changes_per_s)
        wal = sum(s.wal_bytes_per_s or 0.0 for s in of_class)
        truth = span.labels[0]
        yield Window(recording.name, span.what, truth, done, wal, context.shares)
        for s in of_class:
            own = activity([s])
            if own is not None:
                yield Window(
                    recording.name, span.what, truth, own, s.wal_bytes_per_s or 0.0, of_osd=True
                )


def _with_spans(recording: Recording) -> Recording:
    """With what is certain of a recording that came without spans."""
    if recording.spans:
        return recording
    start_s, end_s = recording.load_start_s, recording.load_end_s
    spans = [Span('nobody', evaluation.IDLE, 0.0, recording.client_start_s)]
    if recording.client == 'idle':
        spans = [Span('nobody', evaluation.IDLE, GATEWAY_START_S, end_s)]
    elif recording.client in CLIENTS and end_s - start_s >= CERTAIN_S:
        label, at_once = CLIENTS[recording.client]
        begin_s = start_s if at_once else end_s - CERTAIN_S
        spans.append(Span(recording.client, (label,), begin_s, begin_s + CERTAIN_S))
    return replace(recording, spans=tuple(spans))


def recordings() -> list[str]:
    """Those by which thresholds may be chosen."""
    return [
        *replay.names(),
        *names_of(SET),
    ]


def ranges(seen: Iterable[Window]) -> list[Range]:
    """For every boundary, in the order of BOUNDARIES."""
    all_windows, kept = list(seen), thresholds()._asdict()
    return [
        Range(
            name,
            kept[name],
            side(boundary.signal, boundary.below, all_windows, largest=True),
            side(boundary.signal, boundary.above, all_windows, largest=False),
        )
        for name, boundary in BOUNDARIES.items()
    ]


def side(
    signal: Callable[[Window], float | None],
    belongs: Callable[[Window], bool],
    seen: Iterable[Window],
    *,
    largest: bool,
) -> Side:
    """The windows that belong to one side, by the one with the largest or the least signal."""
    values = ((signal(w), w) for w in seen if belongs(w))
    found = [(value, w) for value, w in values if value is not None]
    if not found:
        raise HarnessError('no recording has a window on one side of a threshold')
    value, window = (max if largest else min)(found, key=itemgetter(0))
    return Side(len(found), value, window.run, window.what)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='qa/derive-workload-thresholds', description=__doc__)
    return parser.parse_args(argv)


def _work() -> int:
    names = recordings()
    print(f'{len(names)} recordings of the part {SET!r}: {", ".join(names)}\n')
    print(f'{"threshold":<26} {"value":>9} {"below":>10} {"above":>10}  margins; nearest windows')
    all_valid = True
    for found in ranges(windows(names)):
        low, high = found.margins
        print(
            f'{found.threshold:<26} {found.value:>9g} {found.below.nearest:>10.4g} '
            f'{found.above.nearest:>10.4g}  x{low:.3g}, x{high:.3g}; '
            f'{found.below.run} ({found.below.what}), {found.above.run} ({found.above.what})'
            + ('' if found.holds else '  OUTSIDE')
        )
        all_valid = all_valid and found.holds
    return 0 if all_valid else 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 1 if a threshold is out of its range."""
    _parse(argv)
    return run_main('qa/derive-workload-thresholds', _work)

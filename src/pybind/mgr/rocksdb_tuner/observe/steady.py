"""Whether an OSD works at the pace of its newest window, told by two counters instead of all."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..mgr.protocols import CounterReader
from .counters import ALL_OPERATIONS, CounterNames
from .history import OsdHistory
from .report_interval import DEFAULT, ReportInterval
from .sample import Sample

#: A pace is the same within this share of it, beyond the small numbers below, which are chance.
#: Time in rounds of the kv_sync thread varies more than counts do under one steady load.
COUNT_SHARE, TIME_SHARE = 0.25, 1.0
#: Operations, or rounds of the kv_sync thread; and time in these rounds.
CHANCE_COUNT, CHANCE_TIME_S = 10, 0.1


class Progress(NamedTuple):
    """What an OSD did since its process started, at one time."""

    time_s: float
    #: Of clients, of all kinds.
    operations: int
    #: Nanoseconds, and rounds.
    kv_sync: tuple[int, int]


class Pace(NamedTuple):
    """What an OSD did until the first and until the last sample of its newest window."""

    first: Progress
    last: Progress


def steady_report_s(
    reader: CounterReader,
    osd_id: int,
    names: CounterNames,
    history: OsdHistory,
    now_s: float,
    reports: ReportInterval = DEFAULT,
) -> Optional[float]:
    """Time of the newest report of an OSD that works as in the newest window of ``history``.

    None if it works at another pace, or if that is unknown.
    """
    # Not kept: one for each of 10,000 OSDs would cost more than it saves.
    pace = pace_of(history)
    # Without a pace nothing that is read could be compared.
    if pace is None:
        return None
    done, kv_sync = reader.latest(osd_id, (ALL_OPERATIONS, names.kv_sync))
    if (
        done is None
        or done.avgcount is not None
        or kv_sync is None
        or kv_sync.avgcount is None
        or kv_sync.time_s != done.time_s
        or now_s - done.time_s > reports.stale_s
    ):
        return None
    now = Progress(done.time_s, done.value, (kv_sync.value, kv_sync.avgcount))
    return now.time_s if as_before(pace, now) else None


def progress_of(sample: Sample) -> Optional[Progress]:
    """None if any of its counters is unknown."""
    if sample.op_w is None or sample.op_r is None or sample.op_rw is None or sample.kv_sync is None:
        return None
    return Progress(sample.time_s, sample.op_w + sample.op_r + sample.op_rw, sample.kv_sync)


def pace_of(history: OsdHistory) -> Optional[Pace]:
    """None without a window, or if any of its counters is unknown."""
    recent = history.recent
    if len(recent) < 2:
        return None
    first, last = progress_of(recent[0]), progress_of(recent[-1])
    return None if first is None or last is None else Pace(first, last)


def as_before(pace: Optional[Pace], now: Optional[Progress]) -> bool:
    """Whether the work since the last sample has the same pace; False if that is unknown.

    Client operations of any kind, rounds of the kv_sync thread and the time in them are compared:
    an OSD that does anything else than before also commits more or fewer transactions.
    """
    if pace is None or now is None or now.time_s < pace.last.time_s:
        return False
    first, last = pace
    share = (now.time_s - last.time_s) / (last.time_s - first.time_s)
    return (
        _alike(
            now.operations - last.operations,
            (last.operations - first.operations) * share,
            COUNT_SHARE,
            CHANCE_COUNT,
        )
        and _alike(
            now.kv_sync[1] - last.kv_sync[1],
            (last.kv_sync[1] - first.kv_sync[1]) * share,
            COUNT_SHARE,
            CHANCE_COUNT,
        )
        and _alike(
            (now.kv_sync[0] - last.kv_sync[0]) / 1e9,
            (last.kv_sync[0] - first.kv_sync[0]) / 1e9 * share,
            TIME_SHARE,
            CHANCE_TIME_S,
        )
    )


def _alike(found: float, expected: float, share: float, chance: float) -> bool:
    # A counter that decreased was reset.
    return found >= 0 and abs(found - expected) <= share * expected + chance

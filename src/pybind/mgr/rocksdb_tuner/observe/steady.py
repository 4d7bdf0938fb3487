"""Whether an OSD works at the pace of its newest window, told by two counters instead of all."""

from __future__ import annotations

from typing import Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint
from .counters import ALL_OPERATIONS, CounterNames
from .history import OsdHistory
from .sample import MAX_REPORT_AGE_S, Sample
from .window import Window

#: A pace is the same within this share of it, beyond the small numbers below, which are chance.
#: Times vary more than counts: of kv_sync, between two windows of one steady load.
COUNT_SHARE, TIME_SHARE = 0.25, 0.5
#: Operations, or rounds of the kv_sync thread; and time in these rounds.
CHANCE_COUNT, CHANCE_TIME_S = 10, 0.1


def is_steady(
    reader: CounterReader, osd_id: int, names: CounterNames, history: OsdHistory, now_s: float
) -> bool:
    """Whether the process of ``history`` works as in its newest window; False if that is unknown.

    Client operations of any kind, rounds of the kv_sync thread and the time in them are compared:
    an OSD that does anything else than before also commits more or fewer transactions.
    """
    before, window = history.newest, history.short
    if before is None or window is None:
        return False
    done, kv_sync = reader.latest(osd_id, (ALL_OPERATIONS, names.kv_sync))
    return as_before(before, window, done, kv_sync, now_s)


def as_before(
    before: Sample,
    window: Window,
    done: Optional[CounterPoint],
    kv_sync: Optional[CounterPoint],
    now_s: float,
) -> bool:
    """The same, of two points; ``done`` counts all client operations."""
    if (
        done is None
        or done.avgcount is not None
        or kv_sync is None
        or kv_sync.avgcount is None
        or kv_sync.time_s != done.time_s
        or now_s - before.time_s > MAX_REPORT_AGE_S
        or window.kv_sync is None
        or before.kv_sync is None
        or window.op_w is None
        or window.op_r is None
        or window.op_rw is None
        or before.op_w is None
        or before.op_r is None
        or before.op_rw is None
    ):
        return False
    passed_s = done.time_s - before.time_s
    if passed_s < 0:
        return False
    share = passed_s / window.window_s
    operations = window.op_w + window.op_r + window.op_rw
    return (
        _alike(
            done.value - before.op_w - before.op_r - before.op_rw,
            operations * share,
            COUNT_SHARE,
            CHANCE_COUNT,
        )
        and _alike(
            kv_sync.avgcount - before.kv_sync[1],
            window.kv_sync.operations * share,
            COUNT_SHARE,
            CHANCE_COUNT,
        )
        and _alike(
            (kv_sync.value - before.kv_sync[0]) / 1e9,
            window.kv_sync.total_s * share,
            TIME_SHARE,
            CHANCE_TIME_S,
        )
    )


def _alike(found: float, expected: float, share: float, chance: float) -> bool:
    # A counter that decreased was reset.
    return found >= 0 and abs(found - expected) <= share * expected + chance

"""Measurements of changed OSDs and controls over the same times, the input of a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import sub
from statistics import median
from typing import NamedTuple, Optional

from ..observe.details import SlowEvents
from ..observe.window import Window
from .signals import JudgedSignal


class Measured(NamedTuple):
    """One OSD over one block of time; None: unknown, or too few writes for a mean."""

    op_w_latency_ms: Optional[float] = None
    kv_sync_ms_per_txn: Optional[float] = None
    db_bytes_per_txn: Optional[float] = None
    #: At the end of the block.
    db_used_bytes: Optional[float] = None
    #: Maximum number of slow ops at a time.
    slow_ops: Optional[float] = None
    #: Transactions with a very long commit, as in a RocksDB write stall.
    slow_commits: Optional[float] = None
    #: 1 if any SST file was written, else 0.
    flushed: Optional[float] = None


#: For an OSD that did not report, or restarted within the block.
NOTHING = Measured()


@dataclass(frozen=True)
class Block:
    """A span of time, the same for all OSDs; blocks do not overlap."""

    by_osd: Mapping[int, Measured]
    #: When it ended, in seconds since the epoch; None: unknown.
    end_s: Optional[float] = None

    def of(self, osd_id: int) -> Measured:
        return self.by_osd.get(osd_id, NOTHING)


def logarithms(signal: JudgedSignal, block: Block) -> Mapping[int, float]:
    """Of the signal on each OSD, without those of which it is unknown."""
    found = ((n, getattr(measured, signal.name)) for n, measured in block.by_osd.items())
    return {n: math.log(max(v, signal.floor)) for n, v in found if v is not None and v > 0}


@dataclass(frozen=True)
class Evidence:
    """Blocks before the change of a batch, and after its last OSD settled."""

    rollout_id: str
    #: Number of the batch; 0 is the canary.
    batch: int
    changed: tuple[int, ...]
    controls: tuple[int, ...]
    block_s: float
    before: tuple[Block, ...] = ()
    after: tuple[Block, ...] = ()

    @property
    def osds(self) -> tuple[int, ...]:
        return (*self.changed, *self.controls)


def moved(evidence: Evidence, by_s: float) -> Evidence:
    """The same blocks, by a wall clock that was set by ``by_s``."""

    def at_new_times(blocks: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(
            replace(block, end_s=None if block.end_s is None else block.end_s + by_s)
            for block in blocks
        )

    return replace(
        evidence, before=at_new_times(evidence.before), after=at_new_times(evidence.after)
    )


def fresh(blocks: Sequence[Block], now_s: float, most_age_s: float) -> tuple[Block, ...]:
    """The blocks that are not too old, by the wall clock: it also counts between two managers.

    If it was set between two managers, the age of earlier blocks is unknown: they are not fresh.
    """
    return tuple(b for b in blocks if b.end_s is not None and abs(now_s - b.end_s) <= most_age_s)


def spacing_s(blocks: Sequence[Block]) -> float:
    """The usual time from block to block: where samples are rare, longer than planned."""
    ends_s = [block.end_s for block in blocks if block.end_s is not None]
    return median(map(sub, ends_s[1:], ends_s)) if len(ends_s) > 1 else 0.0


def measured(
    window: Optional[Window],
    db_used_bytes: Optional[int],
    least_writes: float,
    slow_events: Sequence[SlowEvents] = (),
) -> Measured:
    """Measure one OSD in ``window``; means over fewer than ``least_writes`` are unknown.

    ``slow_events``: its reports within the window, oldest first.
    """
    if window is None:
        return NOTHING
    latency, commits = window.op_w_latency, window.commit
    txns = commits.operations if commits and commits.operations >= least_writes else None
    written = (window.bytes_written_wal, window.bytes_written_sst)
    return Measured(
        op_w_latency_ms=latency.mean_ms if latency and latency.operations >= least_writes else None,
        kv_sync_ms_per_txn=window.kv_sync.total_s * 1e3 / txns if txns and window.kv_sync else None,
        db_bytes_per_txn=sum(n for n in written if n is not None) / txns
        if txns and None not in written
        else None,
        db_used_bytes=db_used_bytes,
        slow_ops=max((t.slow_ops for t in slow_events if t.slow_ops is not None), default=None),
        slow_commits=_slow_commits(slow_events),
        flushed=None if window.bytes_written_sst is None else min(1, window.bytes_written_sst),
    )


def _slow_commits(slow_events: Sequence[SlowEvents]) -> Optional[int]:
    """Increase of the counter; None if either end is unknown or the counter was reset."""
    if len(slow_events) < 2:
        return None
    first, last = slow_events[0].slow_commits, slow_events[-1].slow_commits
    return last - first if first is not None and last is not None and last >= first else None

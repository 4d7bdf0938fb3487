"""Blocks of unchanged OSDs from their history, the basis of an experiment's noise. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Optional

from ..observe.load_history import KeptWork, Work
from .evidence import Block, Measured
from .noise import LEAST_OSDS
from .signals import limits

#: Intervals of the history vary with the sampling interval.
_ABOUT = 0.9


def history_blocks(kept: KeptWork, block_s: float) -> tuple[Block, ...]:
    """Consecutive blocks of about ``block_s``, oldest first; the last one ends with the history."""
    found: list[Block] = []
    end = len(kept.times_s) - 1
    for begin in range(end - 1, -1, -1):
        if kept.times_s[end] - kept.times_s[begin] < _ABOUT * block_s:
            continue
        found.append(Block({n: _measured(work[begin:end]) for n, work in kept.by_osd.items()}))
        end = begin
    return tuple(reversed(found))


def undisturbed(
    blocks: Sequence[Block], signals: Collection[str], least_blocks: int
) -> tuple[Block, ...]:
    """The newest of ``blocks`` without restarts and gaps; empty if fewer than ``least_blocks``.

    An OSD without a value in every block has no noise, so a longer history is only taken if it
    costs at most a tenth of the OSDs.
    """
    if len(blocks) < least_blocks:
        return ()
    enough = 0.9 * _complete(blocks[-least_blocks:], signals)
    if enough < LEAST_OSDS * 0.9:
        return ()
    longest = next(
        n
        for n in range(len(blocks), least_blocks - 1, -1)
        if _complete(blocks[-n:], signals) >= enough
    )
    return tuple(blocks[-longest:])


def _complete(blocks: Sequence[Block], signals: Collection[str]) -> int:
    """Number of OSDs with a value of each signal in every block."""
    osds = {n for block in blocks for n in block.by_osd}
    return sum(
        all(getattr(block.of(n), signal) for block in blocks for signal in signals) for n in osds
    )


def _measured(work: Sequence[Work]) -> Measured:
    least = limits().least_writes
    txns, writes = _sum([w.txns for w in work]), _sum([w.writes for w in work])
    return Measured(
        op_w_latency_ms=_mean(_sum([w.write_s for w in work]), writes, least, 1e3),
        kv_sync_ms_per_txn=_mean(_sum([w.kv_sync_s for w in work]), txns, least, 1e3),
        db_bytes_per_txn=_mean(_sum([w.db_bytes for w in work]), txns, least, 1.0),
        db_used_bytes=work[-1].db_used_bytes,
    )


def _sum(values: Collection[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean(
    total: Optional[float], count: Optional[float], least: float, unit: float
) -> Optional[float]:
    if total is None or count is None or count < least:
        return None
    return total * unit / count

"""The result of a run at real size, from its steady state on. Pure.

A run is short against what compactions take, so that it matters where it is cut. Each column family
is counted for itself, by the writes of clients: flushes from the end of one to the end of another,
compactions from the end of one of level 0 to the end of another. The first of them comes when the
PG logs are as long as they may be, and level 1 is there.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from bench_model_trials import Trial

#: Columns that got less than this of level 0 make little difference.
LEFT_OUT = 0.1


@dataclass(frozen=True)
class Look:
    """An OSD's counters at one time."""

    micros: int
    writes: int
    write_bytes: int
    onodes: int
    #: RocksDB's tickers.
    wal_bytes: int
    flush_bytes: int
    compaction_bytes: int
    #: BlueFS's counters, which the module goes by.
    bluefs_wal_bytes: int
    bluefs_sst_bytes: int
    sst_bytes: int
    wal_allocated_bytes: int


@dataclass(frozen=True)
class ColumnSeen:
    """The activity of all column families of one column; None: no such activity."""

    name: str
    families: int
    full_flushes: int
    early_flushes: int
    #: Of one flush of full memtables, and of one triggered by the limit of the WAL.
    full_flush_memory_bytes: float | None
    full_flush_file_bytes: float | None
    early_flush_memory_bytes: float | None
    early_flush_file_bytes: float | None
    #: Of all flushes since the steady state: memory, keys and values, level 0 files.
    flushed_memory_bytes: int
    flushed_data_bytes: int
    level_0_bytes: int
    #: For each write, from the end of one flush to that of another, or from the start to that of
    #: the only one: what the memtables held, and what level 0 got; None: no family flushed.
    data_bytes_per_write: float | None
    level_0_bytes_per_write: float | None
    #: Writes from one flush of a family to its next.
    writes_per_flush: float | None
    #: Writes from the start to the middle of what these rates are of.
    rates_at_writes: float | None
    #: The same of what compactions wrote, from the end of one of level 0 to that of another; None:
    #: there were no two.
    compaction_bytes_per_write: float | None
    level_0_compactions: int
    #: After a full compaction.
    live_bytes: int
    live_keys: int
    live_data_bytes: int


@dataclass(frozen=True)
class Made:
    """The inputs of a run, and its result."""

    trial: Trial
    version: str
    placement_groups: int
    objects: int
    sst_bytes_compacted: int


@dataclass(frozen=True)
class RealRun:
    trial: Trial
    version: str
    placement_groups: int
    objects: int
    #: Until the steady state, and from then on.
    writes_before: int
    writes: float
    seconds: float
    write_bytes_avg: float
    wal_bytes: float
    #: Tickers and BlueFS's counters over the whole run: WAL, flushes, compactions; WAL, SST.
    ticker_bytes: list[int]
    bluefs_bytes: list[int]
    #: SST files: on average from the steady state on, at the end, and after a full compaction.
    sst_bytes_mean: float
    sst_bytes_after: int
    sst_bytes_compacted: int
    wal_peak_bytes: int | None
    wal_peak_allocated_bytes: int
    wal_limit_met: int
    columns: list[ColumnSeen]

    @property
    def compacted(self) -> bool:
        """Whether the full compaction had ended; Tentacle answers before it has."""
        return self.sst_bytes_compacted != self.sst_bytes_after

    @property
    def data_bytes(self) -> float:
        """The content of the database as counted by RocksDB: deleted files stay some seconds."""
        if not self.compacted:
            return self.sst_bytes_mean
        return float(sum(column.live_bytes for column in self.columns))

    @property
    def flushes(self) -> float | None:
        """Bytes for each byte in the WAL; None: too few of them to compare."""
        found = [(c.level_0_bytes_per_write, c.level_0_bytes) for c in self.columns]
        return self._for_each_wal_byte(found)

    @property
    def compactions(self) -> float | None:
        """The same of what compactions wrote."""
        found = [(c.compaction_bytes_per_write, c.level_0_bytes) for c in self.columns]
        return self._for_each_wal_byte(found)

    @property
    def write_amplification(self) -> float | None:
        if self.flushes is None or self.compactions is None:
            return None
        return 1 + self.flushes + self.compactions

    def _for_each_wal_byte(self, found: Sequence[tuple[float | None, int]]) -> float | None:
        """Columns of which nothing is known may be left out where they are a small part."""
        whole = sum(size for _, size in found)
        left_out = sum(size for rate, size in found if rate is None)
        if not whole or left_out > LEFT_OUT * whole:
            return None
        return sum(rate or 0.0 for rate, _ in found) / (self.wal_bytes / self.writes)


def column_of(family: str) -> str:
    """The column of a family: "O" of "O-2"."""
    head, _, shard = family.rpartition('-')
    return head if shard.isdigit() and head else family


def at(looks: Sequence[Look], micros: float, name: str) -> float:
    """A counter at any time: interpolated linearly between two samples."""
    times = [look.micros for look in looks]
    place = min(max(bisect.bisect_right(times, micros), 1), len(looks) - 1)
    before, after = looks[place - 1], looks[place]
    span = after.micros - before.micros
    part = min(max((micros - before.micros) / span, 0.0), 1.0) if span else 0.0
    low, high = getattr(before, name), getattr(after, name)
    return float(low + part * (high - low))

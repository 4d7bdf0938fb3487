"""The result of a run at real size, from its steady state on. Pure.

A run is short against what compactions take, so that it matters where it is cut. Each column family
is counted for itself, by the writes of clients: flushes from the end of one to the end of another,
compactions from the end of one of level 0 to the end of another. The first of them comes when the
PG logs are as long as they may be, and level 1 is there.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench_model_trials import Trial

from bench_model_events import Compaction, Events, Flush, LiveFiles

#: `osd_pg_log_dups_tracked`: a placement group that saw so many writes adds nothing to its log.
LOG_IS_FULL = 3000
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


def _full_from(looks: Sequence[Look], placement_groups: int) -> int:
    """When every log is as long as it may be; after a third of all writes, where that is first."""
    made = looks[-1].writes - looks[0].writes
    needed = looks[0].writes + min(LOG_IS_FULL * placement_groups, made // 3)
    return next((look.micros for look in looks if look.writes >= needed), looks[-1].micros)


def _last_write(looks: Sequence[Look]) -> int:
    """The first sample after the clients had ended."""
    return next(look.micros for look in looks if look.writes == looks[-1].writes)


def real_run(made: Made, looks: Sequence[Look], events: Events) -> RealRun:
    end = _last_write(looks)
    since = min(_full_from(looks, made.placement_groups), end)
    all_flushes = [f for f in events.flushes if looks[0].micros <= f.ended_micros <= end]
    flushes = [f for f in all_flushes if f.ended_micros >= since]
    compactions = [c for c in events.compactions if since <= c.ended_micros <= end]
    steady = [look.sst_bytes for look in looks if since <= look.micros <= end]

    def grown(name: str, first: float, last: float) -> float:
        return at(looks, last, name) - at(looks, first, name)

    first_sample, last_sample = looks[0], looks[-1]
    writes = grown('writes', since, end)
    families = {f.column_family for f in events.flushes} | set(events.live)
    return RealRun(
        trial=made.trial,
        version=made.version,
        placement_groups=made.placement_groups,
        objects=made.objects,
        writes_before=round(grown('writes', first_sample.micros, since)),
        writes=round(writes),
        seconds=round((end - since) / 1e6, 1),
        write_bytes_avg=round(grown('write_bytes', since, end) / writes, 1) if writes else 0.0,
        wal_bytes=round(grown('wal_bytes', since, end)),
        ticker_bytes=[
            getattr(last_sample, name) - getattr(first_sample, name)
            for name in ('wal_bytes', 'flush_bytes', 'compaction_bytes')
        ],
        bluefs_bytes=[
            getattr(last_sample, name) - getattr(first_sample, name)
            for name in ('bluefs_wal_bytes', 'bluefs_sst_bytes')
        ],
        sst_bytes_mean=round(statistics.mean(steady)) if steady else last_sample.sst_bytes,
        sst_bytes_after=last_sample.sst_bytes,
        sst_bytes_compacted=made.sst_bytes_compacted,
        wal_peak_bytes=max((size for size, _ in events.wal_sizes), default=None),
        wal_peak_allocated_bytes=max(look.wal_allocated_bytes for look in looks),
        wal_limit_met=len(events.wal_limits),
        columns=[
            _column(
                name,
                sorted(f for f in families if column_of(f) == name),
                [f for f in flushes if column_of(f.column_family) == name],
                [c for c in compactions if column_of(c.column_family) == name],
                events,
                looks,
                _rates(
                    [f for f in all_flushes if column_of(f.column_family) == name],
                    sum(column_of(family) == name for family in families),
                    looks,
                    since,
                ),
            )
            for name in sorted({column_of(family) for family in families})
        ],
    )


def _from_level_0(compaction: Compaction) -> bool:
    return compaction.from_level == 0 and compaction.to_level > 0


def _column(
    name: str,
    families: Sequence[str],
    flushes: Sequence[Flush],
    compactions: Sequence[Compaction],
    events: Events,
    looks: Sequence[Look],
    rates: _Rates | None,
) -> ColumnSeen:
    full = [f for f in flushes if f.full]
    early = [f for f in flushes if not f.full]
    live = sum((events.live.get(family, LiveFiles()) for family in families), LiveFiles())
    return ColumnSeen(
        name=name,
        families=len(families),
        full_flushes=len(full),
        early_flushes=len(early),
        full_flush_memory_bytes=_median([f.memory_bytes for f in full]),
        full_flush_file_bytes=_median([f.file_bytes or 0 for f in full]),
        early_flush_memory_bytes=_median([f.memory_bytes for f in early]),
        early_flush_file_bytes=_median([f.file_bytes or 0 for f in early]),
        flushed_memory_bytes=sum(f.memory_bytes for f in flushes),
        flushed_data_bytes=sum(f.data_bytes for f in flushes),
        level_0_bytes=sum(f.file_bytes or 0 for f in flushes),
        data_bytes_per_write=rates.data_bytes if rates else None,
        level_0_bytes_per_write=rates.level_0_bytes if rates else None,
        writes_per_flush=rates.writes_per_flush if rates else None,
        rates_at_writes=rates.at_writes if rates else None,
        compaction_bytes_per_write=_compaction_rate(families, compactions, looks),
        level_0_compactions=sum(map(_from_level_0, compactions)),
        live_bytes=live.bytes,
        live_keys=live.keys,
        live_data_bytes=live.data_bytes,
    )


@dataclass(frozen=True)
class _Rates:
    """For each write of clients, of a whole column."""

    data_bytes: float
    level_0_bytes: float
    writes_per_flush: float
    at_writes: float


def _rates(
    flushes: Sequence[Flush], shards: int, looks: Sequence[Look], since: int
) -> _Rates | None:
    """Of whole windows between flushes; the flushed families represent all, assuming they are
    alike.
    """
    found = []
    for family in sorted({flush.column_family for flush in flushes}):
        own = sorted(
            (f for f in flushes if f.column_family == family), key=lambda f: f.ended_micros
        )
        begins = [looks[0].micros, *(f.ended_micros for f in own)]
        # The last one, however early it started, if there is no other.
        windows = [pair for pair in zip(begins, own) if pair[0] >= since] or [(begins[-2], own[-1])]
        first = at(looks, windows[0][0], 'writes')
        writes = at(looks, windows[-1][1].ended_micros, 'writes') - first
        if writes <= 0 or windows[-1][1].ended_micros < since:
            continue
        data = sum(flush.data_bytes for _, flush in windows)
        files = sum(flush.file_bytes or 0 for _, flush in windows)
        middle = first + writes / 2 - looks[0].writes
        found.append(_Rates(data / writes, files / writes, writes / len(windows), middle))
    if not found:
        return None
    return _Rates(
        round(shards * statistics.mean(f.data_bytes for f in found), 2),
        round(shards * statistics.mean(f.level_0_bytes for f in found), 2),
        round(statistics.mean(f.writes_per_flush for f in found)),
        round(statistics.mean(f.at_writes for f in found)),
    )


def _compaction_rate(
    families: Sequence[str], compactions: Sequence[Compaction], looks: Sequence[Look]
) -> float | None:
    """Compaction bytes per client write; see _rates."""
    found = []
    for family in families:
        own = [c for c in compactions if c.column_family == family]
        ends = sorted(c.ended_micros for c in own if _from_level_0(c))
        writes = at(looks, ends[-1], 'writes') - at(looks, ends[0], 'writes') if ends else 0.0
        if writes > 0:
            counted = sum(c.output_bytes for c in own if ends[0] < c.ended_micros <= ends[-1])
            found.append(counted / writes)
    return round(len(families) * statistics.mean(found), 2) if found else None


def _median(values: Sequence[int]) -> float | None:
    return float(statistics.median(values)) if values else None

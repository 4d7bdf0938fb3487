"""The measurements of the demo before and after the change, as a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from enum import Enum
from typing import Any

#: Smaller changes of DB space are not worth restarts.
LEAST_SPACE = 0.05
#: Of bytes per request, and of CPU time per request: runs of a minute without a change differ by
#: less, on shared cores too.
NOISE, CPU_NOISE = 0.1, 0.25


@dataclass(frozen=True)
class Counted:
    """Counters of OSDs: bytes that BlueFS wrote for RocksDB, and CPU time of threads."""

    wal_bytes: int = 0
    sst_bytes: int = 0
    #: Flushes and compactions.
    background_s: float = 0.0
    kv_sync_s: float = 0.0

    def plus(self, other: Counted) -> Counted:
        return Counted(*(a + b for a, b in zip(astuple(self), astuple(other))))

    def since(self, before: Counted) -> Counted:
        return Counted(*(a - b for a, b in zip(astuple(self), astuple(before))))


@dataclass(frozen=True)
class DbSpace:
    """The size of SST files, and of the keys and values in them."""

    file_bytes: int
    raw_bytes: int

    def plus(self, other: DbSpace) -> DbSpace:
        return DbSpace(self.file_bytes + other.file_bytes, self.raw_bytes + other.raw_bytes)

    @property
    def share(self) -> float:
        """Bytes on the device for a byte of keys and values, however much of it there is."""
        return self.file_bytes / self.raw_bytes


@dataclass(frozen=True)
class Load:
    """Requests of a client, and the counters of all OSDs meanwhile."""

    requests: int
    counted: Counted

    @property
    def db_bytes(self) -> float:
        """Bytes that all OSDs together wrote to their DBs for a request."""
        return (self.counted.wal_bytes + self.counted.sst_bytes) / self.requests

    @property
    def unflushed_bytes(self) -> float:
        """At most so many bytes for a request are still in memtables: all that the WAL took."""
        return self.counted.wal_bytes / self.requests

    @property
    def kv_sync_us(self) -> float:
        return 1e6 * self.counted.kv_sync_s / self.requests

    @property
    def cpu_us(self) -> float:
        return 1e6 * (self.counted.background_s + self.counted.kv_sync_s) / self.requests


@dataclass(frozen=True)
class Measured:
    """The results of a client; what the module and the OSDs measured in the same time."""

    client: dict[str, Any]
    recognized: str | None
    confidence: float | None
    load: Load | None = None


class Outcome(Enum):
    """Of a change, by its own measurement."""

    BETTER = 'better'
    SAME = 'same'
    WORSE = 'worse'


def judge(space: tuple[DbSpace, DbSpace], loads: Iterable[tuple[Load, Load]]) -> Outcome:
    """Whether a change was good: DB space, DB writes and kv_sync CPU per request, before and after.

    Worse if any of them is. What is still in memtables at the end of a run is neither saved nor
    spent. CPU time of flushes and compactions is not judged: a run is too short for as many of
    them before and after.
    """
    before, after = space
    better = after.share <= before.share * (1 - LEAST_SPACE)
    for old, new in loads:
        if new.db_bytes > (old.db_bytes + old.unflushed_bytes) * (1 + NOISE):
            return Outcome.WORSE
        if new.kv_sync_us > old.kv_sync_us * (1 + CPU_NOISE):
            return Outcome.WORSE
        better = better or new.db_bytes + new.unflushed_bytes < old.db_bytes * (1 - NOISE)
        better = better or new.kv_sync_us < old.kv_sync_us * (1 - CPU_NOISE)
    if after.share > before.share * (1 + LEAST_SPACE):
        return Outcome.WORSE
    return Outcome.BETTER if better else Outcome.SAME


def counted_table(before: Load, after: Load) -> str:
    """A row for each counter, for a request of the client and all OSDs together."""

    def of(label: str, name: str, scale: float = 1.0) -> tuple[str, float, float]:
        counts = (float(getattr(load.counted, name)) / load.requests for load in (before, after))
        old, new = (scale * count for count in counts)
        return label, old, new

    rows = [
        ('client requests', float(before.requests), float(after.requests)),
        of('WAL bytes per request', 'wal_bytes'),
        of('SST bytes per request', 'sst_bytes'),
        ('WAL and SST bytes per request', before.db_bytes, after.db_bytes),
        of('flush and compaction CPU, us', 'background_s', 1e6),
        of('kv_sync CPU, us', 'kv_sync_s', 1e6),
        ('all of these threads, us', before.cpu_us, after.cpu_us),
    ]
    return _lines(rows)


def space_row(before: DbSpace, after: DbSpace) -> str:
    """How much space a byte of keys and values takes."""
    return _lines(
        [
            ('keys and values, bytes', float(before.raw_bytes), float(after.raw_bytes)),
            ('SST files, bytes', float(before.file_bytes), float(after.file_bytes)),
            ('SST bytes per byte of data', before.share, after.share),
        ]
    )


def client_table(before: Measured, after: Measured) -> str:
    """What the client saw."""
    return _lines(
        [
            ('client operations per s', _client(before, 'ops_per_s'), _client(after, 'ops_per_s')),
            ('client mean latency, ms', _latency(before, 'mean'), _latency(after, 'mean')),
            ('client 99th percentile, ms', _latency(before, 'p99'), _latency(after, 'p99')),
        ]
    )


def _lines(rows: Sequence[tuple[str, float | None, float | None]]) -> str:
    lines = [f'{"":<34}{"before":>16}{"after":>16}{"change":>10}']
    for label, old, new in rows:
        change = '-' if not old or new is None else f'{100 * (new - old) / old:+.1f}%'
        lines.append(f'{label:<34}{_number(old):>16}{_number(new):>16}{change:>10}')
    return '\n'.join(lines)


def _client(measured: Measured, name: str) -> float | None:
    value = measured.client.get(name)
    return None if value is None else float(value)


def _latency(measured: Measured, name: str) -> float | None:
    value = (measured.client.get('latency_ms') or {}).get(name)
    return None if value is None else float(value)


def _number(value: float | None) -> str:
    if value is None:
        return '-'
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'

"""The measurements of the demo before and after the change, as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """The results of a client, and the module's measurements of the OSDs in the same time."""

    client: dict[str, Any]
    osds: tuple[dict[str, Any], ...]
    recognized: str | None
    confidence: float | None


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
    def cpu_us(self) -> float:
        return 1e6 * (self.counted.background_s + self.counted.kv_sync_s) / self.requests


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


def table(before: Measured, after: Measured) -> str:
    """A row for each figure of the client and, as the mean of all OSDs, of the module."""
    rows = [
        ('client operations per s', _client(before, 'ops_per_s'), _client(after, 'ops_per_s')),
        ('client mean latency, ms', _latency(before, 'mean'), _latency(after, 'mean')),
        ('client 99th percentile, ms', _latency(before, 'p99'), _latency(after, 'p99')),
    ]
    for label, signal_name in (
        ('kv_sync mean, ms', 'kv_sync_ms'),
        ('kv_sync busy, 0..1', 'kv_sync_busy'),
        ('WAL bytes per s', 'wal_bytes_per_s'),
        ('SST bytes per s', 'sst_bytes_per_s'),
        ('DB bytes used', 'db_used_bytes'),
    ):
        rows.append(
            (
                f'OSD mean: {label}',
                _osd_mean(before, signal_name),
                _osd_mean(after, signal_name),
            )
        )
    return _lines(rows)


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


def _osd_mean(measured: Measured, name: str) -> float | None:
    values = [o[name] for o in measured.osds if o.get(name) is not None]
    return sum(values) / len(values) if values else None


def _number(value: float | None) -> str:
    if value is None:
        return '-'
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'

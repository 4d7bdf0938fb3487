"""The measurements of the demo before and after the change, as a table. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """The results of a client, and the module's measurements of the OSDs in the same time."""

    client: dict[str, Any]
    osds: tuple[dict[str, Any], ...]
    recognized: str | None
    confidence: float | None


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

"""Reading fio's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .result import Latency, WorkloadError


@dataclass(frozen=True)
class FioRun:
    """One direction of a fio job. `ops` and `bytes` are those that completed."""

    seconds: float
    ops: int
    bytes: int
    latency_ms: Latency
    error: int
    began_s: float = 0.0
    """Unix time; set by the caller, since fio's output does not have it."""


def extract_json(text: str) -> dict[str, Any]:
    """The document in fio's output, which may begin and end with lines of plain text."""
    decoder = json.JSONDecoder()
    start = text.find('{')
    while start >= 0:
        try:
            document, _ = decoder.raw_decode(text, start)
        except ValueError:
            pass
        else:
            if isinstance(document, dict) and 'jobs' in document:
                return document
        start = text.find('{', start + 1)
    raise WorkloadError(f'fio printed no result: {text.strip()[-500:]!r}')


def read_run(text: str, direction: str) -> FioRun:
    """The run in fio's output; `direction` is 'read' or 'write'. One job is expected."""
    document = extract_json(text)
    try:
        job = document['jobs'][0]
        part = job[direction]
        ops = int(part['total_ios'])
        percentiles = part['clat_ns'].get('percentile', {})

        def ms(nanoseconds: float | None) -> float | None:
            return None if nanoseconds is None or not ops else round(nanoseconds / 1e6, 3)

        return FioRun(
            seconds=part['runtime'] / 1e3,
            ops=ops,
            bytes=int(part['io_bytes']),
            latency_ms=Latency(
                mean=ms(part['lat_ns']['mean']),
                p50=ms(percentiles.get('50.000000')),
                p99=ms(percentiles.get('99.000000')),
            ),
            error=int(job['error']),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise WorkloadError(f'fio printed another result than expected: {error!r}') from error

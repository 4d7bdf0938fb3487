"""The result of a workload, as seen by its client."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import HarnessError


class WorkloadError(HarnessError):
    """A client could not do its work at all."""


@dataclass(frozen=True)
class Latency:
    """For one operation, in ms; None if there was none."""

    mean: float | None
    p50: float | None
    p99: float | None


@dataclass(frozen=True)
class Verified:
    """The verification of written data. `what` is the method; `failed` counts among `checked`."""

    what: str
    checked: int
    failed: int


@dataclass(frozen=True)
class WorkloadResult:
    """One run. `seconds` is how long the client was at work, without preparing and verifying."""

    workload: str
    seconds: float
    ops: int
    ops_per_s: float
    bytes: int
    latency_ms: Latency
    errors: int
    error_messages: tuple[str, ...]
    verified: Verified | None
    parameters: dict[str, int]
    began_s: float
    """Unix time at which the measured work started."""

    @property
    def ok(self) -> bool:
        """The client did something, had no error, and found everything as it should be."""
        failed = self.verified.failed if self.verified else 0
        return self.ops > 0 and self.errors == 0 and failed == 0

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)


def result_from_client(
    workload: str, answer: dict[str, Any], parameters: dict[str, int]
) -> WorkloadResult:
    """The result of one of the programs in clients/, from the JSON that it prints."""
    seconds, ops = float(answer['seconds']), int(answer['ops'])
    return WorkloadResult(
        workload=workload,
        seconds=round(seconds, 3),
        ops=ops,
        ops_per_s=round(ops / seconds, 1) if seconds else 0.0,
        bytes=int(answer['bytes']),
        latency_ms=Latency(**answer['latency_ms']),
        errors=int(answer['errors']),
        error_messages=tuple(answer['error_messages']),
        verified=Verified(**answer['verified']),
        parameters=parameters,
        began_s=round(float(answer['began_s']), 3),
    )

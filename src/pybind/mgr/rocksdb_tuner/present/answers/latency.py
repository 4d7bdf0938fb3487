"""Breakdown of client write latency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...notes import Amount
from ...observe.latency import Bottleneck, bottleneck, parts
from ...observe.latency import WriteLatency as FoundLatency
from ...units import rounded
from .copies import like


@dataclass(frozen=True)
class LatencyPart:
    """One part of the write path."""

    part: Annotated[str, 'Stable name of the part, such as "kv-queue".']
    within: Annotated[Optional[str], 'The part that contains it; null for the whole write.']
    ms: Annotated[Optional[Amount], 'Mean in milliseconds; null if the release does not report it.']
    share: Annotated[Optional[Amount], 'Share of the whole write; null: unknown.']
    signal: Annotated[str, 'Source of the value.']


@dataclass(frozen=True)
class WriteLatency:
    """Breakdown of client write latency."""

    window_s: Annotated[Optional[Amount], 'Seconds between the two samples.']
    parts: Annotated[tuple[LatencyPart, ...], 'Parts in the order of the write path.']
    bottleneck: Annotated[
        Optional[Bottleneck],
        'The part with the highest latency; null without writes or with too little data.',
    ]


def write_latency_of(latency: Optional[FoundLatency]) -> Optional[WriteLatency]:
    if latency is None:
        return None
    whole_ms, most = latency.client_op_ms, bottleneck(latency)
    # Infinity and NaN count as unknown.
    known = most is not None and rounded(most.ms) is not None
    return WriteLatency(
        window_s=latency.window_s,
        parts=tuple(
            like(
                LatencyPart,
                part,
                share=part.ms / whole_ms if part.ms is not None and whole_ms else None,
            )
            for part in parts(latency)
        ),
        bottleneck=most if known else None,
    )

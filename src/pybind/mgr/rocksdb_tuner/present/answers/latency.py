"""Where the time of a client's write goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...observe.latency import WriteLatency as FoundLatency
from ...observe.latency import bottleneck, parts
from ...units import rounded
from .copies import like
from .notes import Amount


@dataclass(frozen=True)
class LatencyPart:
    """One part of the way of a write."""

    part: Annotated[str, 'Stable name, "kv-queue".']
    within: Annotated[Optional[str], 'The part that contains it; null for the whole.']
    ms: Annotated[
        Optional[Amount], 'Mean in milliseconds; null where the release does not send it.'
    ]
    share: Annotated[Optional[Amount], 'Of the whole; null where that is not known.']
    signal: Annotated[str, 'Where it comes from.']


@dataclass(frozen=True)
class Bottleneck:
    """The part that takes the most."""

    part: Annotated[str, 'Name of the part.']
    ms: Annotated[Amount, 'Its milliseconds.']
    share: Annotated[Optional[Amount], 'Of the whole, 0..1.']
    statement: Annotated[str, 'What that means.']


@dataclass(frozen=True)
class WriteLatency:
    """Where the time of a client's write goes."""

    window_s: Annotated[Optional[Amount], 'Seconds between the two looks.']
    parts: Annotated[tuple[LatencyPart, ...], 'In the order of the way.']
    bottleneck: Annotated[
        Optional[Bottleneck],
        'The part that takes the most; null without writes, or where too little is known.',
    ]


def write_latency_of(latency: Optional[FoundLatency]) -> Optional[WriteLatency]:
    if latency is None:
        return None
    whole_ms, most = latency.client_op_ms, bottleneck(latency)
    # A number that no JSON has is not known.
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
        bottleneck=like(Bottleneck, most) if known else None,
    )

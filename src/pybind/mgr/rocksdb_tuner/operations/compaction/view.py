"""The view of a cluster that the campaign's state machine works on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from ..cluster_view import ClusterView

#: No release reports the compaction counters to the manager, so they are queried. A Pacific OSD
#: handles commands one by one: while it compacts, the query waits, and an answer means that the
#: compaction is over. From Reef on it answers at once and reports whether one is running.
PROBE_COMMAND = 'perf dump'
PROBE_ARGUMENTS = {'logger': 'rocksdb'}
COMPACT_COMMAND = 'compact'


class Probe(NamedTuple):
    """The compaction counters of an OSD, after the last request."""

    #: The process in the OSD map at the time of the query.
    nonce: Optional[int]
    #: Compactions by command since its process started.
    started: int
    running: bool


#: Raised by a malformed answer.
_MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def parse_probe(text: str, nonce: Optional[int]) -> Probe:
    """Raises ValueError if ``text`` is not an answer to `PROBE_COMMAND`."""
    try:
        counters = json.loads(text)['rocksdb']
        return Probe(
            nonce,
            int(counters['compact']),
            # Pacific does not count running compactions: it does not answer during one.
            int(counters.get('compact_running', 0)) > 0
            or int(counters.get('compact_queue_len', 0)) > 0,
        )
    except _MALFORMED as error:
        raise ValueError(f'unexpected RocksDB counters ({type(error).__name__}: {error})') from None


class Measured(NamedTuple):
    """Measurements; see `View`."""

    used_bytes: Mapping[int, int]
    total_bytes: Mapping[int, int]
    latency_ms: Optional[float]
    unmeasured: Optional[int]


@dataclass(frozen=True)
class View:
    """The cluster at one time. Unknown values are missing."""

    #: Maps, health, gates; `waited_s` and the verdict's parts are not used.
    cluster: ClusterView
    probes: Mapping[int, Probe] = field(default_factory=dict)
    #: Used bytes of the DB, and the size of the device that it is on.
    used_bytes: Mapping[int, int] = field(default_factory=dict)
    total_bytes: Mapping[int, int] = field(default_factory=dict)
    #: Mean client write latency over all OSDs; None without writes, unless one is `unmeasured`.
    latency_ms: Optional[float] = None
    #: An OSD that is up and whose client writes are not known; None: there is none.
    unmeasured: Optional[int] = None
    #: How long this manager has been observing, and how long it has seen each OSD in its step.
    watched_s: float = 0.0
    in_step_s: Mapping[int, float] = field(default_factory=dict)
    #: How long it has seen each unfinished OSD down and out.
    away_s: Mapping[int, float] = field(default_factory=dict)

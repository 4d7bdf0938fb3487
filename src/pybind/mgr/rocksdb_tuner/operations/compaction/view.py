"""What the machine of a campaign sees of a cluster at one time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from ..cluster_view import ClusterView

#: The counters that tell of compactions have no priority in any release, so they are asked for.
#: On Pacific an OSD answers what it is asked one after the other: while it compacts, this question
#: waits, and its answer says that the compaction is over. From Reef on it answers at once, and
#: says whether one runs.
PROBE_COMMAND = 'perf dump'
PROBE_ARGUMENTS = {'logger': 'rocksdb'}
COMPACT_COMMAND = 'compact'


class Probe(NamedTuple):
    """What an OSD said of its compactions, after it was last asked to compact."""

    #: The process that the OSD map showed when it was asked.
    nonce: Optional[int]
    #: Compactions by command since its process started.
    begun: int
    running: bool


#: What reading a text of any other kind raises.
_NO_ANSWER = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def parse_probe(text: str, nonce: Optional[int]) -> Probe:
    """Raises ValueError for what is no answer to `PROBE_COMMAND`."""
    try:
        counters = json.loads(text)['rocksdb']
        return Probe(
            nonce,
            int(counters['compact']),
            # Pacific has no count of those that run: it does not answer then.
            int(counters.get('compact_running', 0)) > 0
            or int(counters.get('compact_queue_len', 0)) > 0,
        )
    except _NO_ANSWER as error:
        raise ValueError(
            f'the counters of its RocksDB are not as expected ({type(error).__name__}: {error})'
        ) from None


class Measured(NamedTuple):
    """What the module measured; see `View`."""

    used_bytes: Mapping[int, int]
    total_bytes: Mapping[int, int]
    latency_ms: Optional[float]


@dataclass(frozen=True)
class View:
    """One look. What is not known is missing."""

    #: Maps, health, gates; `waited_s` and the verdict's parts are not used.
    cluster: ClusterView
    probes: Mapping[int, Probe] = field(default_factory=dict)
    #: Of the DB, in bytes: used, and the size of a device of its own.
    used_bytes: Mapping[int, int] = field(default_factory=dict)
    total_bytes: Mapping[int, int] = field(default_factory=dict)
    #: Mean time of a client's write on all OSDs; None where nobody writes.
    latency_ms: Optional[float] = None
    #: How long this manager has been looking, and how long it has seen each OSD in its step.
    watched_s: float = 0.0
    in_step_s: Mapping[int, float] = field(default_factory=dict)
    #: How long it has seen each OSD down and out that is not finished.
    away_s: Mapping[int, float] = field(default_factory=dict)

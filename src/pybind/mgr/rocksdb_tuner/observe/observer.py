"""All that is observed of a cluster's OSDs, behind one object that a tick drives."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap
from .signals import Signals

#: The command (`ceph tell osd.N ...`) that answers a `DeepRequest`.
KV_STATS_COMMAND = 'dump_objectstore_kv_stats'


class DeepRequest(NamedTuple):
    """Ask this OSD for RocksDB's own statistics, and hand the answer back with this nonce."""

    osd_id: int
    nonce: int


class Observer:
    """Samples OSDs, keeps a bounded history, and says what each OSD does.

    Times are seconds of the mgr's wall clock: the one that stamps the OSDs' reports.
    Not thread-safe: one thread drives it; `signals()` is a snapshot that any thread may read.
    """

    def __init__(self) -> None:
        self._signals: Mapping[int, Signals] = {}

    def observe(self, reader: CounterReader, cluster_map: ClusterMap, now_s: float) -> None:
        """One tick: read the allow-listed counters of every OSD that is up."""
        raise NotImplementedError

    def signals(self) -> Mapping[int, Signals]:
        """By OSD, as of the last tick. OSDs that are down or never reported are absent."""
        return self._signals

    def deep_requests(self, now_s: float) -> tuple[DeepRequest, ...]:
        """The few OSDs (mostly none) to be sent `KV_STATS_COMMAND` now."""
        raise NotImplementedError

    def accept_kv_stats(self, osd_id: int, nonce: int, text: str, now_s: float) -> None:
        """Take the answer to a `DeepRequest`, whatever it is; it never raises."""
        raise NotImplementedError

    def kv_stats_failed(self, osd_id: int, reason: str, now_s: float) -> None:
        """The command failed (a CommandError): ask this OSD again much later."""
        raise NotImplementedError

    def kv_stats_unavailable(self, osd_id: int) -> Optional[str]:
        """Why this OSD gave no statistics when it was last asked; None if it gave them."""
        raise NotImplementedError

    def forget(self, osd_id: int) -> None:
        """Drop all that is known of an OSD."""
        raise NotImplementedError

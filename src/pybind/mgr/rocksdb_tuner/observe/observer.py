"""All that is observed of a cluster's OSDs, behind one object that a tick drives."""

from __future__ import annotations

from typing import Mapping, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap, OsdInfo
from .counters import names_for
from .deep import DeepRequest, DeepStatistics
from .history import OsdHistory
from .measure import signals
from .sample import take_sample
from .signals import Signals

__all__ = ['KV_STATS_COMMAND', 'DeepRequest', 'Observer']

#: The command (`ceph tell osd.N ...`) that answers a `DeepRequest`.
KV_STATS_COMMAND = 'dump_objectstore_kv_stats'


class _Watched:
    """One OSD: its history, and since when its present process is known."""

    def __init__(self, nonce: int, not_before_s: float) -> None:
        self.nonce = nonce
        self.not_before_s = not_before_s
        self.history = OsdHistory()


class Observer:
    """Samples OSDs, keeps a bounded history, and says what each OSD does.

    Times are seconds of the mgr's wall clock: the one that stamps the OSDs' reports.
    Not thread-safe: one thread drives it; `signals()` is a snapshot that any thread may read.
    """

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        self._deep = DeepStatistics()
        self._signals: Mapping[int, Signals] = {}

    def observe(self, reader: CounterReader, cluster_map: ClusterMap, now_s: float) -> None:
        """One tick: read the allow-listed counters of every OSD that is up."""
        found: dict[int, Signals] = {}
        for osd in cluster_map.osds:
            if not osd.up or osd.nonce is None:
                continue
            watched = self._watch(osd, osd.nonce, now_s)
            sample = take_sample(
                reader,
                osd.osd_id,
                osd.nonce,
                names_for(osd.release),
                now_s,
                watched.not_before_s,
            )
            if sample is None:
                watched.history.clear()
                continue
            watched.history.add(sample)
            found[osd.osd_id] = signals(
                osd,
                watched.history,
                self._deep.compaction(osd.osd_id, osd.nonce, now_s),
                now_s,
            )
        present = {osd.osd_id for osd in cluster_map.osds}
        for osd_id in [i for i in self._watched if i not in present]:
            self.forget(osd_id)
        self._signals = found

    def signals(self) -> Mapping[int, Signals]:
        """By OSD, as of the last tick. OSDs that are down or never reported are absent."""
        return self._signals

    def deep_requests(self, now_s: float) -> tuple[DeepRequest, ...]:
        """The few OSDs (mostly none) to be sent `KV_STATS_COMMAND` now."""
        return self._deep.next_requests(
            [(osd_id, self._watched[osd_id].nonce) for osd_id in self._signals], now_s
        )

    def accept_kv_stats(self, osd_id: int, nonce: int, text: str, now_s: float) -> None:
        """Take the answer to a `DeepRequest`, whatever it is; it never raises."""
        self._deep.accept(osd_id, nonce, text, now_s)

    def kv_stats_failed(self, osd_id: int, nonce: int, reason: str, now_s: float) -> None:
        """The command failed (a CommandError): ask this OSD again much later."""
        self._deep.fail(osd_id, nonce, reason, now_s)

    def kv_stats_unavailable(self, osd_id: int) -> Optional[str]:
        """Why this OSD gave no statistics when it was last asked; None if it gave them."""
        return self._deep.unavailable(osd_id)

    def forget(self, osd_id: int) -> None:
        """Drop all that is known of an OSD."""
        self._watched.pop(osd_id, None)
        self._deep.forget(osd_id)

    def _watch(self, osd: OsdInfo, nonce: int, now_s: float) -> _Watched:
        watched = self._watched.get(osd.osd_id)
        if watched is None:
            # Nothing is known of the time before: the mgr's counters are this process's.
            watched = _Watched(nonce, not_before_s=0.0)
        elif watched.nonce != nonce:
            watched = _Watched(nonce, not_before_s=now_s)
        else:
            return watched
        self._watched[osd.osd_id] = watched
        return watched

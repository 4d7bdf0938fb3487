"""Compactions of the OSDs of a `FakeCluster`, as seen on real ones.

* An OSD of Pacific executes commands one by one: `compact` returns when it is over, and
  later commands after that.
* From Reef on `compact` answers at once and runs on, and the counters say whether one does.
* Counters restart with a process, whose compaction ends with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Optional

from rocksdb_tuner.mgr.protocols import CommandError

if TYPE_CHECKING:
    from rocksdb_tuner.tests.fake_cluster import FakeCluster


@dataclass
class FakeAnswer:
    """Completed once ``look`` returns a value; a `CommandError` is raised."""

    look: Callable[[], Optional[str]]
    _found: Optional[str] = None

    def output(self) -> Optional[str]:
        if self._found is None:
            self._found = self.look()
        return self._found


@dataclass
class _Process:
    nonce: Optional[int]
    started: int = 0
    until_s: Optional[float] = None


@dataclass
class FakeCompactions:
    cluster: FakeCluster
    takes_s: float = 20.0
    #: The remaining share of the DB of an OSD that compacted.
    leaves: float = 0.6
    used_bytes: dict[int, int] = field(default_factory=dict)
    #: The OSDs that received `compact`, in order.
    requested: list[int] = field(default_factory=list)
    #: OSDs that refuse, and those in which the command is lost.
    refuses: set[int] = field(default_factory=set)
    loses: set[int] = field(default_factory=set)
    #: The most that ever ran at the same time.
    most_at_once: int = 0
    _processes: dict[int, _Process] = field(default_factory=dict)

    def running(self) -> set[int]:
        return {n for n in self.cluster.osds if self._until_s(n) is not None}

    def ask(self, osd_id: int, prefix: str) -> FakeAnswer:
        if prefix == 'compact':
            return self._compact(osd_id)
        requested_of = self._process(osd_id)
        blocks = self._blocks(osd_id)

        def look() -> Optional[str]:
            process = self._process(osd_id)
            if not self.cluster.osds[osd_id].up:
                raise CommandError(5, 'osd down')
            if process is not requested_of or (blocks and self._until_s(osd_id) is not None):
                return None
            counters = {'compact': process.started}
            if not blocks:
                counters['compact_running'] = int(self._until_s(osd_id) is not None)
                counters['compact_queue_len'] = 0
            return json.dumps({'rocksdb': counters})

        return FakeAnswer(look)

    def _compact(self, osd_id: int) -> FakeAnswer:
        self.requested.append(osd_id)
        process = self._process(osd_id)
        if osd_id in self.refuses:

            def refuse() -> Optional[str]:
                raise CommandError(22, 'no')

            return FakeAnswer(refuse)
        if not self.cluster.osds[osd_id].up or osd_id in self.loses:
            lost = osd_id in self.loses
            return FakeAnswer(lambda: '' if lost else None)
        process.started += 1
        process.until_s = max(process.until_s or 0.0, self.cluster.now_s) + self.takes_s
        self.most_at_once = max(self.most_at_once, len(self.running()))
        if not self._blocks(osd_id):
            return FakeAnswer(lambda: '')

        def look() -> Optional[str]:
            over = self._until_s(osd_id) is None and self._process(osd_id) is process
            return '{"elapsed_time": 20.0}' if over else None

        return FakeAnswer(look)

    def _blocks(self, osd_id: int) -> bool:
        return self.cluster.osds[osd_id].release == 'pacific'

    def _process(self, osd_id: int) -> _Process:
        nonce = self.cluster.osds[osd_id].nonce
        known = self._processes.get(osd_id)
        if known is None or known.nonce != nonce:
            known = self._processes[osd_id] = _Process(nonce)
        return known

    def _until_s(self, osd_id: int) -> Optional[float]:
        """Until when it compacts; None if it does not."""
        process = self._process(osd_id)
        if process.until_s is not None and self.cluster.now_s >= process.until_s:
            process.until_s = None
            used = self.used_bytes.get(osd_id)
            if used is not None:
                self.used_bytes[osd_id] = int(used * self.leaves)
        if process.until_s is None or not self.cluster.osds[osd_id].up:
            return None
        return process.until_s

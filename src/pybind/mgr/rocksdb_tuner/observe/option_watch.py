"""Running option strings of the OSDs, read once per OSD process.

RocksDB's options do not change while an OSD runs, so the first answer of a process stays valid.
Later answers can even be wrong: once the last entry of an option is removed from the config store,
`config show` prints "default" for an OSD that still runs the removed value (seen on 16.2.15). The
entries of the config store are polled.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Mapping, NamedTuple, Optional

from ..mgr.protocols import CommandError, ConfigStore
from ..mgr.records import ClusterMap, ConfigEntry, OsdInfo, RunningOption

POLL_S = 10.0
#: After a restart the mgr may still hold the old process's report: read again until then.
SETTLE_S = 20.0
#: Maximum of OSDs per tick (two monitor commands each), so that large clusters do not block the
#: mgr.
ASKED_PER_TICK = 40


class _Answer(NamedTuple):
    nonce: Optional[int]
    first_asked_s: float
    asked_s: float
    running: Mapping[str, RunningOption]


class KnownOptions(NamedTuple):
    """Entries and running options at one time."""

    entries: tuple[ConfigEntry, ...] = ()
    answers: Mapping[int, _Answer] = MappingProxyType({})

    def running(self, osd: OsdInfo) -> Optional[Mapping[str, RunningOption]]:
        """Running options of this OSD process; None if it is down or not read yet."""
        answer = self.answers.get(osd.osd_id)
        # A report of another process does not count.
        if answer is None or not osd.up or answer.nonce != osd.nonce:
            return None
        return answer.running


class OptionWatch:
    """Config store entries and running values of ``names``, at a bounded cost.

    Times are seconds of one clock. May block on a monitor.
    """

    def __init__(
        self, config: ConfigStore, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> None:
        self._config = config
        self._names = tuple(names)
        #: Options that are read only if they are set.
        self._if_set = tuple(if_set)
        #: Replaced, never modified: other threads read it.
        self.known = KnownOptions()
        self._polled_s: Optional[float] = None
        self._latest: Mapping[str, RunningOption] = {}
        #: How often a process was read for the first time, or differed from its last answer.
        self.changes = 0

    def entries_changed(self) -> None:
        """Poll the entries at the next refresh."""
        self._polled_s = None

    def refresh(self, cluster_map: ClusterMap, now_s: float) -> None:
        """Poll the entries if due, and read the options of new OSD processes."""
        if self._polled_s is None or abs(now_s - self._polled_s) >= POLL_S:
            entries = self._config.entries((*self._names, *self._if_set))
            if entries != self.known.entries:
                # Equal entries stay the same object: results derived from them are compared with
                # them for every OSD at every tick.
                self.known = self.known._replace(entries=entries)
            self._polled_s = now_s
        known = self.known.answers
        answers = {osd.osd_id: known[osd.osd_id] for osd in cluster_map.osds if osd.osd_id in known}
        due = [osd for osd in cluster_map.osds if osd.up and _is_due(known, osd, now_s)]
        for osd in due[:ASKED_PER_TICK]:
            answer = self._ask(osd, known.get(osd.osd_id), now_s)
            if answer is None:
                answers.pop(osd.osd_id, None)
            else:
                answers[osd.osd_id] = answer
        self.known = self.known._replace(answers=answers)

    def _ask(self, osd: OsdInfo, before: Optional[_Answer], now_s: float) -> Optional[_Answer]:
        same_process = before is not None and before.nonce == osd.nonce
        try:
            running = self._config.running(osd.osd_id, self._names, self._if_set)
        except CommandError:
            # Not reported yet, as for a moment after every boot: retried at the next tick. An
            # earlier answer of the same process stays, so that recommendations do not flap.
            return before if same_process else None
        # Most OSDs run with the same options: those are kept, and compared, as one object.
        if running != self._latest:
            self._latest = running
        running = self._latest
        if before is None or not same_process or before.running != running:
            self.changes += 1
        first_asked_s = before.first_asked_s if before and same_process else now_s
        return _Answer(osd.nonce, first_asked_s, now_s, running)


def _is_due(answers: Mapping[int, _Answer], osd: OsdInfo, now_s: float) -> bool:
    answer = answers.get(osd.osd_id)
    if answer is None or answer.nonce != osd.nonce:
        return True
    settled = answer.asked_s - answer.first_asked_s >= SETTLE_S
    return not settled and abs(now_s - answer.asked_s) >= POLL_S

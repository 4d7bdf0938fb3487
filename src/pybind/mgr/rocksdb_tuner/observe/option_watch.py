"""What option strings the OSDs run, asked once for each of their processes.

RocksDB's options do not change while an OSD runs, so what a process once reported holds until it
ends. To ask again would be worse than useless: as soon as the last entry for an option is removed
from the config store, `config show` says "default" of an OSD that still runs the removed value
(seen on 16.2.15). The config store's entries, which do change, are polled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Mapping, NamedTuple, Optional

from ..mgr.protocols import CommandError, ConfigStore
from ..mgr.records import ClusterMap, ConfigEntry, OsdInfo, RunningOption

#: Entries are polled this often; an operator sees a change of theirs within this time.
POLL_S = 10.0
#: After a restart the mgr may hold the old process's report: until then answers are renewed.
SETTLE_S = 20.0
#: Bound on OSDs asked in one tick (two monitor commands each), so that a thousand OSDs never
#: delay the mgr.
ASKED_PER_TICK = 40


@dataclass(frozen=True)
class _Answer:
    nonce: Optional[int]
    first_asked_s: float
    asked_s: float
    running: Mapping[str, RunningOption]


class KnownOptions(NamedTuple):
    """What was known up to one time."""

    entries: tuple[ConfigEntry, ...] = ()
    answers: Mapping[int, _Answer] = MappingProxyType({})

    def running(self, osd: OsdInfo) -> Optional[Mapping[str, RunningOption]]:
        """What this process of the OSD runs; None if it is down or was not asked yet."""
        answer = self.answers.get(osd.osd_id)
        # The report of a process that is gone, or may be, is not what the OSD runs.
        if answer is None or not osd.up or answer.nonce != osd.nonce:
            return None
        return answer.running


class OptionWatch:
    """Entries of the config store and running values of ``names``, at a bounded cost.

    Times are seconds of one clock. May wait for a monitor.
    """

    def __init__(
        self, config: ConfigStore, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> None:
        self._config = config
        self._names = tuple(names)
        #: Options of which it is enough to know when somebody set them.
        self._if_set = tuple(if_set)
        self._entries: tuple[ConfigEntry, ...] = ()
        self._polled_s: Optional[float] = None
        self._answers: dict[int, _Answer] = {}

    @property
    def entries(self) -> tuple[ConfigEntry, ...]:
        return self._entries

    def running(self, osd: OsdInfo) -> Optional[Mapping[str, RunningOption]]:
        """What this process of the OSD runs; None if it is down or was not asked yet."""
        return KnownOptions(self._entries, self._answers).running(osd)

    def kept(self) -> KnownOptions:
        """What is known now; later answers are not in it."""
        return KnownOptions(self._entries, dict(self._answers))

    def entries_changed(self) -> None:
        """Somebody changed an entry: poll them at the next refresh."""
        self._polled_s = None

    def refresh(self, cluster_map: ClusterMap, now_s: float) -> None:
        """Poll the entries if due, and ask the OSDs whose present process is not known."""
        if self._polled_s is None or abs(now_s - self._polled_s) >= POLL_S:
            self._entries = self._config.entries((*self._names, *self._if_set))
            self._polled_s = now_s
        present = {osd.osd_id for osd in cluster_map.osds}
        for osd_id in [i for i in self._answers if i not in present]:
            del self._answers[osd_id]
        due = [osd for osd in cluster_map.osds if osd.up and self._is_due(osd, now_s)]
        for osd in due[:ASKED_PER_TICK]:
            self._ask(osd, now_s)

    def _is_due(self, osd: OsdInfo, now_s: float) -> bool:
        answer = self._answers.get(osd.osd_id)
        if answer is None or answer.nonce != osd.nonce:
            return True
        settled = answer.asked_s - answer.first_asked_s >= SETTLE_S
        return not settled and abs(now_s - answer.asked_s) >= POLL_S

    def _ask(self, osd: OsdInfo, now_s: float) -> None:
        before = self._answers.get(osd.osd_id)
        same_process = before is not None and before.nonce == osd.nonce
        try:
            running = self._config.running(osd.osd_id, self._names, self._if_set)
        except CommandError:
            # Not reported yet, as for a moment after every boot: asked again at the next tick. What
            # this process has answered before stays: advice must not vanish for one tick.
            if not same_process:
                self._answers.pop(osd.osd_id, None)
            return
        first_asked_s = before.first_asked_s if before and same_process else now_s
        self._answers[osd.osd_id] = _Answer(osd.nonce, first_asked_s, now_s, running)

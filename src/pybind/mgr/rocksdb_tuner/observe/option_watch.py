"""What option strings the OSDs run, asked for only when something may have changed.

Each answer costs two monitor commands per OSD, so the config store's entries are polled (one
command) and an OSD is asked again when they changed, when it restarted, and once in a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Mapping, Optional

from ..mgr.protocols import CommandError, ConfigStore
from ..mgr.records import ClusterMap, ConfigEntry, OsdInfo, RunningOption

#: Entries are polled this often; an operator sees a change of theirs within this time.
POLL_S = 10.0
#: An OSD is asked again after this time though nothing seems to have changed.
MAX_AGE_S = 900.0
#: After a restart the mgr may hold the old process's report for some seconds.
SETTLE_S = 20.0
#: Bound on OSDs asked in one tick, so that a thousand OSDs never delay the mgr.
ASKED_PER_TICK = 40


@dataclass(frozen=True)
class _Answer:
    nonce: Optional[int]
    asked_s: float
    first_seen_s: float
    #: Which reading of the entries it was asked under.
    generation: int
    running: Mapping[str, RunningOption]


class OptionWatch:
    """Entries of the config store and running values of ``names``, kept fresh at a bounded cost.

    Times are seconds of a clock that never goes back. May wait for a monitor.
    """

    def __init__(self, config: ConfigStore, names: Sequence[str]) -> None:
        self._config = config
        self._names = tuple(names)
        self._entries: tuple[ConfigEntry, ...] = ()
        self._generation = 0
        self._polled_s: Optional[float] = None
        self._answers: dict[int, _Answer] = {}

    @property
    def entries(self) -> tuple[ConfigEntry, ...]:
        return self._entries

    def running(self, osd: OsdInfo) -> Optional[Mapping[str, RunningOption]]:
        """What this process of the OSD runs; None if it is down or was not asked yet."""
        answer = self._answers.get(osd.osd_id)
        # The report of a process that is gone, or may be, is not what the OSD runs.
        if answer is None or not osd.up or answer.nonce != osd.nonce:
            return None
        return answer.running

    def refresh(self, cluster_map: ClusterMap, now_s: float) -> None:
        """Poll the entries if due and ask the OSDs whose answer may be out of date."""
        if self._polled_s is None or now_s - self._polled_s >= POLL_S:
            entries = self._config.entries(self._names)
            self._generation += entries != self._entries
            self._entries = entries
            self._polled_s = now_s
        present = {osd.osd_id for osd in cluster_map.osds}
        for osd_id in [i for i in self._answers if i not in present]:
            del self._answers[osd_id]
        stale = [osd for osd in cluster_map.osds if osd.up and self._is_stale(osd, now_s)]
        for osd in stale[:ASKED_PER_TICK]:
            self._ask(osd, now_s)

    def _is_stale(self, osd: OsdInfo, now_s: float) -> bool:
        answer = self._answers.get(osd.osd_id)
        if answer is None or answer.nonce != osd.nonce:
            return True
        if answer.generation != self._generation:
            return True
        settling = answer.asked_s - answer.first_seen_s < SETTLE_S
        return now_s - answer.asked_s > (POLL_S if settling else MAX_AGE_S)

    def _ask(self, osd: OsdInfo, now_s: float) -> None:
        before = self._answers.get(osd.osd_id)
        try:
            running = self._config.running(osd.osd_id, self._names)
        except CommandError:
            # Not reported yet, as for a moment after every boot: asked again at the next tick.
            self._answers.pop(osd.osd_id, None)
            return
        same_process = before is not None and before.nonce == osd.nonce
        first_seen_s = before.first_seen_s if before and same_process else now_s
        self._answers[osd.osd_id] = _Answer(
            osd.nonce, now_s, first_seen_s, self._generation, running
        )

"""Whether an OSD that is down is starting: pure.

An OSD replays the log of its RocksDB, and more, before it talks to anybody (``OSD::init`` mounts
the store before it starts its messengers): no map and no report shows it, however long that takes.
What shows it is the orchestrator, which sees the process.
"""

from __future__ import annotations

from typing import Optional

from ...mgr.records import OrchestratedDaemon

#: An orchestrator is asked to look again after this time, and each time that it has passed again.
REFRESH_S = 60.0


class SignsOfLife:
    """What the orchestrator reported of one OSD since that was first seen down."""

    def __init__(self) -> None:
        self._key: object = None
        #: What it said first may be from before the OSD went down.
        self._stale: Optional[str] = None
        #: A process, and the look at which it was first seen.
        self._seen: Optional[tuple[Optional[str], str]] = None

    def look(self, key: object, told: Optional[OrchestratedDaemon]) -> Optional[bool]:
        """Whether its process lives; False: it does not; None: not known.

        It lives where two looks of the orchestrator found the same one: one that crashes and is
        started again and again is another each time.
        """
        if key != self._key:
            self._key, self._seen = key, None
            self._stale = None if told is None else told.refreshed
        if told is None or told.refreshed in {None, self._stale} or told.running is None:
            return None
        if not told.running:
            self._seen = None
            return False
        assert told.refreshed is not None
        if self._seen is None or self._seen[0] != told.started:
            self._seen = told.started, told.refreshed
        return True if self._seen[1] != told.refreshed else None

"""Whether an OSD that is down is starting. Pure.

An OSD replays the log of its RocksDB, and more, before it sends any message (``OSD::init`` mounts
the store before it starts its messengers). No map and no report shows that, however long it takes.
Only the orchestrator sees the process.
"""

from __future__ import annotations

from typing import Optional

from ...mgr.records import OrchestratedDaemon

#: Interval at which the orchestrator is asked to refresh.
REFRESH_S = 60.0


class Liveness:
    """The orchestrator's reports about one OSD since it was first seen down."""

    def __init__(self) -> None:
        self._key: object = None
        #: The first report may be from before the OSD went down.
        self._stale: Optional[str] = None
        #: A process, and the refresh that first showed it.
        self._seen: Optional[tuple[Optional[str], str]] = None

    def update(self, key: object, daemon: Optional[OrchestratedDaemon]) -> Optional[bool]:
        """Whether its process is running; None: unknown.

        It is running if two refreshes of the orchestrator show the same process: a crash loop shows
        a new one each time.
        """
        if key != self._key:
            self._key, self._seen = key, None
            self._stale = None if daemon is None else daemon.refreshed
        if daemon is None or daemon.refreshed in {None, self._stale} or daemon.running is None:
            return None
        if not daemon.running:
            self._seen = None
            return False
        assert daemon.refreshed is not None
        if self._seen is None or self._seen[0] != daemon.started:
            self._seen = daemon.started, daemon.refreshed
        return True if self._seen[1] != daemon.refreshed else None

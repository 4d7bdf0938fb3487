"""The restarts requested by the module, and what the orchestrator did for each."""

from __future__ import annotations

import re
from pathlib import Path

from fault_scenario import FaultScenario

_LINES = re.compile(
    r'rollout: RestartOsd\(osd_id=(?P<asked>\d+)\)'
    r'|restart osd\.(?P<done>\d+): stop '
    r'|osd\.(?P<stopped>\d+) is not started \(option nostart\)'
)
#: ("asked", "done" or "stopped", OSD)
Request = tuple[str, int]


class Requests:
    """The log lines of the active manager from now on, as long as it stays active."""

    def __init__(self, scenario: FaultScenario) -> None:
        log = scenario.cluster.layout.log(f'mgr.{scenario.active_manager()}')
        self._log: Path = scenario.cluster.host.outside(log)
        self._begin = self._log.stat().st_size

    def seen(self) -> list[Request]:
        """In the order in which it happened."""
        with self._log.open('rb') as file:
            file.seek(self._begin)
            text = file.read().decode(errors='replace')
        return [
            (kind, int(osd_id))
            for match in _LINES.finditer(text)
            for kind, osd_id in match.groupdict().items()
            if osd_id is not None
        ]


def restarted(*osds: int) -> list[Request]:
    """Each of these was requested once, and executed before the next request."""
    return [(kind, osd_id) for osd_id in osds for kind in ('asked', 'done')]

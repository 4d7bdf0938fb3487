"""The restarts that the module asked for, and what the orchestrator made of each."""

from __future__ import annotations

import re
from pathlib import Path

from fault_scene import Scene

_LINES = re.compile(
    r'rollout: RestartOsd\(osd_id=(?P<asked>\d+)\)'
    r'|restart osd\.(?P<done>\d+): stop '
    r'|osd\.(?P<stopped>\d+) is not started \(option nostart\)'
)
#: ("asked", "done" or "stopped", OSD)
Request = tuple[str, int]


class Requests:
    """What the log of the active manager tells from now on, as long as it stays active."""

    def __init__(self, scene: Scene) -> None:
        log = scene.cluster.layout.log(f'mgr.{scene.active_manager()}')
        self._log: Path = scene.cluster.host.outside(log)
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
    """Each of these was asked for once, and carried out before the next was asked for."""
    return [(kind, osd_id) for osd_id in osds for kind in ('asked', 'done')]

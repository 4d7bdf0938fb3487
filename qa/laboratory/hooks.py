"""What tests change in their own copy of the module, and nobody can in the module itself.

`harness.laboratory` copies the module, adds this file to the copy and lets the copy import it. The
settings are read anew at each use from a file beside it, so that a test changes them while the
manager runs. Nothing of this exists where the module is installed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from rocksdb_tuner import tuner
from rocksdb_tuner.advise import proposal
from rocksdb_tuner.advise.records import Recommendation
from rocksdb_tuner.mgr.adapter import MgrCluster
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.rollout.records import ChangeRequest

SETTINGS = Path(__file__).with_name('laboratory.json')


def _setting(name: str) -> Any:
    return json.loads(SETTINGS.read_text())[name]


def _offset_s() -> float:
    """The jump that the test asks for."""
    return float(_setting('clock_offset_s'))


def _clock() -> float:
    """The time of day, with the jump."""
    return time.time() + _offset_s()


def _stamped(self: MgrCluster, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
    """What OSDs report bears the manager's time: a clock that jumps takes the stamps along."""
    offset_s = _offset_s()
    return [
        point and point._replace(time_s=point.time_s + offset_s)
        for point in _latest(self, osd_id, paths)
    ]


def _remove_late(self: MgrCluster, who: str, name: str) -> None:
    """The monitors remove an entry at once, and answer when the test wants it."""
    _remove(self, who, name)
    time.sleep(float(_setting('late_removals_s')))


def _changed(request: ChangeRequest, options: str) -> ChangeRequest:
    """Another option string in place of the one that all checks accepted."""
    return replace(
        request,
        targets=tuple((osd_id, options) for osd_id, _ in request.targets),
        final_entries=tuple((who, value and options) for who, value in request.final_entries),
    )


def _unchecked_request(recommendation: Recommendation, actor: str) -> ChangeRequest:
    request = proposal.change_request(recommendation, actor)
    options = _setting('unchecked_options')
    return request if options is None else _changed(request, options)


_latest = MgrCluster.latest
MgrCluster.latest = _stamped  # type: ignore[method-assign]
_remove = MgrCluster.remove
MgrCluster.remove = _remove_late  # type: ignore[method-assign]
tuner.change_request = _unchecked_request  # type: ignore[attr-defined]
tuner.Tuner.__init__.__kwdefaults__['wall_clock'] = _clock  # type: ignore[index]

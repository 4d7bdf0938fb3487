"""A hook that tests add to a copy of the module: it waits before one command to OSDs.

What is to be caught in the middle stays there until the test takes the file ``held`` away, whose
content is the command.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rocksdb_tuner.mgr.adapter import MgrCluster

HELD = Path(__file__).with_name('held')


def _tell(self: MgrCluster, osd_id: int, prefix: str, args: Any) -> str:
    while _held() == prefix:
        time.sleep(0.1)
    return _real(self, osd_id, prefix, args)


def _held() -> str:
    try:
        return HELD.read_text()
    except FileNotFoundError:
        return ''


_real = MgrCluster.tell
MgrCluster.tell = _tell  # type: ignore[method-assign]

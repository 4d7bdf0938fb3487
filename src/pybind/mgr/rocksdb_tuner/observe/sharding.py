"""Whether an OSD's RocksDB is sharded into column families: asked once per OSD process.

No release exposes this in metadata, a health check or an option. A sharded database has a file
`sharding/def` in BlueFS (seen on 16.2.15 and 20.2.4; an OSD created with
`bluestore_rocksdb_cf=false` has none).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable, Mapping, NamedTuple, Optional

#: `ceph tell osd.N bluefs files list`
COMMAND = 'bluefs files list'
#: Maximum of OSDs per tick: a file list costs the OSD milliseconds, and the mgr about 100 KB.
ASKED_PER_TICK = 4
#: Retry of an OSD that did not answer.
RETRY_S = 3600.0

_SHARDING_FILE = 'sharding/def'


class ShardingRequest(NamedTuple):
    """Send `COMMAND` to this OSD; the answer belongs to this nonce."""

    osd_id: int
    nonce: int


@dataclass(frozen=True)
class _Asked:
    nonce: int
    asked_s: float
    #: None: no answer, or an unusable one.
    sharded: Optional[bool] = None


class KeptFiles(NamedTuple):
    """Answers of OSDs at one time."""

    asked: Mapping[int, _Asked]

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """None if this process was not asked or gave no usable answer."""
        return _sharded(self.asked.get(osd_id), nonce)


def _sharded(asked: Optional[_Asked], nonce: Optional[int]) -> Optional[bool]:
    return asked.sharded if asked is not None and asked.nonce == nonce else None


class ShardingWatch:
    """Schedules requests and keeps the answers. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}

    def next_requests(
        self,
        up_osds: Iterable[tuple[int, int]],
        now_s: float,
        able: Callable[[int], bool] = lambda _: True,
    ) -> tuple[ShardingRequest, ...]:
        """The requests that are due, usually none; ``up_osds`` are (OSD id, nonce).

        ``able`` is called only if a request is due: it is the slower check.
        """
        due: list[ShardingRequest] = []
        for osd_id, nonce in up_osds:
            if self._is_due(osd_id, nonce, now_s) and able(osd_id):
                due.append(ShardingRequest(osd_id, nonce))
                if len(due) == ASKED_PER_TICK:
                    break
        return tuple(due)

    def accept(self, request: ShardingRequest, text: str, now_s: float) -> None:
        """Process an answer of any content."""
        sharded = is_sharded(text)
        self._asked[request.osd_id] = _Asked(request.nonce, now_s, sharded)

    def fail(self, request: ShardingRequest, now_s: float) -> None:
        """The command failed: retry this OSD much later."""
        self._asked[request.osd_id] = _Asked(request.nonce, now_s)

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """None if this process was not asked or gave no usable answer."""
        return _sharded(self._asked.get(osd_id), nonce)

    def kept(self) -> KeptFiles:
        """A snapshot of the answers."""
        return KeptFiles(dict(self._asked))

    def _is_due(self, osd_id: int, nonce: int, now_s: float) -> bool:
        asked = self._asked.get(osd_id)
        if asked is None or asked.nonce != nonce:
            return True
        return asked.sharded is None and abs(now_s - asked.asked_s) >= RETRY_S

    def forget(self, osd_id: int) -> None:
        self._asked.pop(osd_id, None)


def is_sharded(text: str) -> Optional[bool]:
    """Whether a list of BlueFS files has the sharding file; None if it is invalid or empty."""
    try:
        files = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(files, list):
        return None
    found = [file.get('name') for file in files if isinstance(file, dict)]
    names = {name for name in found if isinstance(name, str)}
    # An empty list is invalid: RocksDB always has a CURRENT file.
    return _SHARDING_FILE in names if names else None

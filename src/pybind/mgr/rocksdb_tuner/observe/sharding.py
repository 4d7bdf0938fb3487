"""Whether an OSD's RocksDB is sharded into column families: asked once of each process.

No release tells it by its metadata, a health check or an option. The sign is a file: a sharded
database has `sharding/def` in its BlueFS (seen on 16.2.15 and 20.2.4; an OSD made with
`bluestore_rocksdb_cf=false` has none).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Mapping, NamedTuple, Optional

#: `ceph tell osd.N bluefs files list`
COMMAND = 'bluefs files list'
#: Bound on OSDs asked in one tick: a list of files takes the OSD milliseconds, and the mgr some
#: 100 KB.
ASKED_PER_TICK = 4
#: An OSD that did not answer is asked again after this.
RETRY_S = 3600.0

_SIGN = 'sharding/def'


class ShardingRequest(NamedTuple):
    """Ask this OSD for `COMMAND`, and hand the answer back with this nonce."""

    osd_id: int
    nonce: int


@dataclass(frozen=True)
class _Asked:
    nonce: int
    asked_s: float
    #: None: it did not answer, or not in a way that says so.
    sharded: Optional[bool] = None


class KeptFiles(NamedTuple):
    """What OSDs answered up to one time."""

    asked: Mapping[int, _Asked]

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """None where this process was not asked, or did not say."""
        asked = self.asked.get(osd_id)
        return asked.sharded if asked is not None and asked.nonce == nonce else None


class ShardingWatch:
    """Chooses whom to ask, and remembers the answers. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}

    def next_requests(
        self, up_osds: Iterable[tuple[int, int]], now_s: float
    ) -> tuple[ShardingRequest, ...]:
        """Whom to ask now, mostly nobody; ``up_osds`` are (OSD id, nonce)."""
        due: list[ShardingRequest] = []
        for osd_id, nonce in up_osds:
            if self._is_due(osd_id, nonce, now_s):
                due.append(ShardingRequest(osd_id, nonce))
                if len(due) == ASKED_PER_TICK:
                    break
        return tuple(due)

    def accept(self, request: ShardingRequest, text: str, now_s: float) -> None:
        """Take an answer, whatever it is."""
        sharded = is_sharded(text)
        self._asked[request.osd_id] = _Asked(request.nonce, now_s, sharded)

    def fail(self, request: ShardingRequest, now_s: float) -> None:
        """The command failed: ask this OSD again much later."""
        self._asked[request.osd_id] = _Asked(request.nonce, now_s)

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """None where this process was not asked, or did not say."""
        return KeptFiles(self._asked).sharded(osd_id, nonce)

    def kept(self) -> KeptFiles:
        """The answers so far; later ones are not in it."""
        return KeptFiles(dict(self._asked))

    def _is_due(self, osd_id: int, nonce: int, now_s: float) -> bool:
        asked = self._asked.get(osd_id)
        if asked is None or asked.nonce != nonce:
            return True
        return asked.sharded is None and abs(now_s - asked.asked_s) >= RETRY_S

    def forget(self, osd_id: int) -> None:
        self._asked.pop(osd_id, None)


def is_sharded(text: str) -> Optional[bool]:
    """What a list of BlueFS files says; None where it is none, or is empty."""
    try:
        files = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(files, list):
        return None
    found = [file.get('name') for file in files if isinstance(file, dict)]
    names = {name for name in found if isinstance(name, str)}
    # A BlueFS without files is no answer: RocksDB has a CURRENT at least.
    return _SIGN in names if names else None


def format_files(*, sharded: bool) -> list[dict[str, str]]:
    """A list of BlueFS files that says so, for `is_sharded`."""
    return [{'name': 'db/CURRENT'}, *([{'name': _SIGN}] if sharded else [])]

"""What is left of the keys that are written when a memtable is flushed. Pure.

A flush keeps the newest value of each key, so what it keeps depends on how many writes it waited
for: its window. BlueStore's keys meet one of three fates:

overwritten
    Onodes, extent map shards, the info of a placement group: of n writes to k keys, drawn alike,
    k (1 - e^(-n/k)) distinct ones are left.
logged
    Entries of the PG log: written once, removed once the log is as long as it may be. Of a window
    of n writes those younger than the log's length are left, and a tombstone for each removal:
    what a tombstone hides may lie deeper.
kept
    New keys, as those of a bucket index: all are left, however often each was written at once.

Files of level 0 that are merged are one window, as long as theirs together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Optional

__all__ = ['DUPS_TRACKED', 'Fate', 'KeyKind', 'Members', 'Population', 'left_bytes', 'live_bytes']


class Fate(str, Enum):
    OVERWRITTEN = 'overwritten'
    LOGGED = 'logged'
    KEPT = 'kept'


class Members(str, Enum):
    """What there are as many keys of as of."""

    OBJECTS = 'objects'
    PLACEMENT_GROUPS = 'placement-groups'
    LOG_ENTRIES = 'log-entries'
    #: Requests that are remembered after their entry was trimmed from a short log.
    LOG_DUPS = 'log-dups'
    #: As many as are measured, whatever the OSD holds.
    FIXED = 'fixed'


#: `osd_pg_log_dups_tracked` of all releases: requests remembered for each placement group, those in
#: its log included (PGLog::IndexedLog::trim() in src/osd/PGLog.cc).
DUPS_TRACKED = 3000


@dataclass(frozen=True)
class Population:
    """What one OSD holds that its clients write to."""

    objects: float
    placement_groups: float
    #: In the logs of all its placement groups together.
    log_entries: float

    def number(self, members: Members) -> float:
        # The model asks for it more often than for anything else.
        if members is Members.OBJECTS:
            return self.objects
        if members is Members.PLACEMENT_GROUPS:
            return self.placement_groups
        if members is Members.LOG_ENTRIES:
            return self.log_entries
        return self.log_dups if members is Members.LOG_DUPS else 1.0

    @property
    def log_dups(self) -> float:
        return max(0.0, DUPS_TRACKED * self.placement_groups - self.log_entries)


@dataclass(frozen=True)
class KeyKind:
    """Keys of a column that a client's write writes one of."""

    #: "onode"
    name: str
    fate: Fate
    #: What a write puts into the WAL for it, removals of older keys included.
    written_bytes: float
    #: In a file of level 0, uncompressed: a value that is left, and a removal.
    left_bytes: float
    tombstone_bytes: float
    #: Compressed over uncompressed, with LZ4 or Snappy.
    compressed: float
    members: Members
    #: Keys for each member.
    keys: float

    def total_keys(self, population: Population) -> float:
        return self.keys * population.number(self.members)


def left_bytes(kind: KeyKind, writes: float, population: Population) -> float:
    """SST bytes, uncompressed, that a window of ``writes`` leaves of a kind."""
    if kind.fate is Fate.KEPT:
        return kind.left_bytes * writes
    keys = kind.total_keys(population)
    if keys <= 0 or writes <= 0:
        return 0.0
    if kind.fate is Fate.LOGGED:
        return kind.left_bytes * min(writes, keys) + kind.tombstone_bytes * writes
    return kind.left_bytes * keys * -math.expm1(-writes / keys)


def live_bytes(kinds: Iterable[KeyKind], population: Population) -> Optional[float]:
    """Uncompressed SST bytes without what is old; None where they grow with every write."""
    total = 0.0
    for kind in kinds:
        if kind.fate is Fate.KEPT:
            return None
        total += kind.left_bytes * kind.total_keys(population)
    return total

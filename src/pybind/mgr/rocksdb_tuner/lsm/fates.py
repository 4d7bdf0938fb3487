"""Keys that survive a flush. Pure.

A flush keeps the newest value of each key, so its output depends on its window: the number of
writes since the last flush. BlueStore's keys are of three kinds:

overwritten
    Onodes, extent map shards, PG info: n uniform writes to k keys leave k (1 - e^(-n/k)) distinct
    keys.
logged
    PG log entries: written once, removed once the log has its full length. A window of n writes
    leaves the entries younger than the log's length, and a tombstone per removal, since the removed
    entry may be on a lower level.
kept
    New keys, such as bucket index entries: all of them are kept.

Merged level 0 files are one window, as long as their windows together.
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
    """The quantity that the number of keys is proportional to."""

    OBJECTS = 'objects'
    PLACEMENT_GROUPS = 'placement-groups'
    LOG_ENTRIES = 'log-entries'
    #: Dup entries, kept after a PG log entry is trimmed.
    LOG_DUPS = 'log-dups'
    #: The measured number, independent of the OSD's contents.
    FIXED = 'fixed'


#: `osd_pg_log_dups_tracked` in all releases: requests tracked per PG, log entries included
#: (PGLog::IndexedLog::trim() in src/osd/PGLog.cc).
DUPS_TRACKED = 3000


@dataclass(frozen=True)
class Population:
    """The contents of one OSD that its clients write to."""

    objects: float
    placement_groups: float
    #: In all PG logs together.
    log_entries: float

    def number(self, members: Members) -> float:
        # An if chain, since this is the model's hottest function.
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
    """A kind of key, one of which is written per client write."""

    #: "onode"
    name: str
    fate: Fate
    #: WAL bytes per write, removals of older keys included.
    written_bytes: float
    #: Uncompressed bytes in a level 0 file: a value, and a tombstone.
    left_bytes: float
    tombstone_bytes: float
    #: Compressed over uncompressed, with LZ4 or Snappy.
    compressed: float
    members: Members
    #: Keys per member.
    keys: float

    def total_keys(self, population: Population) -> float:
        return self.keys * population.number(self.members)


def left_bytes(kind: KeyKind, writes: float, population: Population) -> float:
    """Uncompressed SST bytes of a kind after a window of ``writes``."""
    if kind.fate is Fate.KEPT:
        return kind.left_bytes * writes
    keys = kind.total_keys(population)
    if keys <= 0 or writes <= 0:
        return 0.0
    if kind.fate is Fate.LOGGED:
        return kind.left_bytes * min(writes, keys) + kind.tombstone_bytes * writes
    return kind.left_bytes * keys * -math.expm1(-writes / keys)


def live_bytes(kinds: Iterable[KeyKind], population: Population) -> Optional[float]:
    """Uncompressed live SST bytes; None if they grow with every write."""
    total = 0.0
    for kind in kinds:
        if kind.fate is Fate.KEPT:
            return None
        total += kind.left_bytes * kind.total_keys(population)
    return total

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

Size of an object's onode and extent map, by the writes it received.

The extent map has an extent per separately written block, blobs of up to 64 KiB
(`bluestore_max_blob_size_ssd`), and checksums of each blob from its first 4 KiB to the last one
written, gaps included (BlueStore::_do_alloc_write()). A map above
`bluestore_extent_map_shard_max_size` (1200 bytes) is split into shards, each with its own key. A
sparsely written object has a small map, a fully written one a large map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Optional

from ..options.catalogue import NO_COMPRESSION


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
    keys: float

    def total_keys(self, population: Population) -> float:
        return self.keys * population.number(self.members)

    def packed(self, compression: str) -> float:
        """Compressed over uncompressed bytes."""
        return 1.0 if compression == NO_COMPRESSION else self.compressed


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


#: Default object size of an RBD image.
OBJECT_BYTES = 4 << 20
#: Size of one checksum (`bluestore_csum_type` crc32c) and of the block it covers.
CHECKSUM_BYTES = 4
BLOCK_BYTES = 4 << 10
BLOB_BYTES = 64 << 10
SHARD_MAX_BYTES = 1200
ONODE, SHARD = 'onode', 'extent map shard'


@dataclass(frozen=True)
class Onodes:
    """Measured sizes of keys and values before compression."""

    #: An onode without its extents.
    onode_bytes: float
    #: A blob without its checksums, and an extent in it.
    blob_bytes: float
    extent_bytes: float
    shard_bytes: float
    #: Compressed over uncompressed, with LZ4 or Snappy, without extents and checksums, which are
    #: incompressible.
    compressed: float

    def map_bytes(self, write_bytes: float, writes: Optional[float]) -> float:
        """Extent map size after this many random writes to the object; None: fully written."""
        extent = _extent_bytes(write_bytes)
        blobs = OBJECT_BYTES / BLOB_BYTES
        covered = blobs * BLOB_BYTES * _reached(extent / BLOB_BYTES, writes, blobs)
        return (
            self.blob_bytes * _filled(blobs, writes)
            + self.extent_bytes * _filled(OBJECT_BYTES / extent, writes)
            + CHECKSUM_BYTES * covered / BLOCK_BYTES
        )

    def packed(self, write_bytes: float, writes: Optional[float]) -> float:
        """Compression ratio of an onode with its extent map."""
        extent = _extent_bytes(write_bytes)
        random = _filled(OBJECT_BYTES / extent, writes) * (
            self.extent_bytes + CHECKSUM_BYTES * extent / BLOCK_BYTES
        )
        whole = self.onode_bytes + self.map_bytes(write_bytes, writes)
        random = min(random, whole)
        return (random + self.compressed * (whole - random)) / whole

    def kinds(self, write_bytes: float, writes: Optional[float]) -> tuple[KeyKind, ...]:
        """Keys that a write changes: the onode, and one shard of its extent map."""
        of_map = self.map_bytes(write_bytes, writes)
        onode = KeyKind(
            name=ONODE,
            fate=Fate.OVERWRITTEN,
            written_bytes=self.onode_bytes,
            left_bytes=self.onode_bytes,
            tombstone_bytes=0.0,
            compressed=self.packed(write_bytes, writes),
            members=Members.OBJECTS,
            keys=1.0,
        )
        if of_map <= SHARD_MAX_BYTES:
            whole = self.onode_bytes + of_map
            return (replace(onode, written_bytes=whole, left_bytes=whole),)
        shard = replace(
            onode,
            name=SHARD,
            written_bytes=self.shard_bytes,
            left_bytes=self.shard_bytes,
            keys=of_map / self.shard_bytes,
        )
        return onode, shard


def _extent_bytes(write_bytes: float) -> float:
    return min(max(write_bytes, BLOCK_BYTES), BLOB_BYTES)


def _filled(places: float, writes: Optional[float]) -> float:
    """Expected number of distinct places after this many random writes."""
    return places if writes is None else places * -math.expm1(-writes / places)


def _reached(part: float, writes: Optional[float], blobs: float) -> float:
    """Mean part of a blob up to the end of its last write; ``part``: size of a write.

    The last of n random writes to a blob is at 1 - (1 - e^-n) / n.
    """
    if writes is None:
        return 1.0
    each = writes / blobs
    if each <= 0:
        return 0.0
    met = -math.expm1(-each)
    return min(1.0, 1 - met / each + met * part / 2)

"""How large the onode of an object and its extent map are, by what was written to it. Pure.

BlueStore keeps where an object's blocks lie in an extent map: an extent for each block that was
written by itself, blobs that hold what was written to the same 64 KiB
(`bluestore_max_blob_size_ssd`), and the checksums of each blob from its first 4 KiB to the last one
that was written, also of what lies between (BlueStore::_do_alloc_write()). A map of more than some
hundred bytes is kept in shards, keys of their own (`bluestore_extent_map_shard_max_size`, 1200). So
an object that was written here and there has a small map, and one of which every block was written
a large one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Optional

from .fates import Fate, KeyKind, Members

__all__ = ['BLOCK_BYTES', 'Onodes']

#: Objects of an RBD image, unless it was made with others.
OBJECT_BYTES = 4 << 20
#: Of one checksum (`bluestore_csum_type` crc32c), and what it is of: what is allocated at once.
CHECKSUM_BYTES = 4
BLOCK_BYTES = 4 << 10
BLOB_BYTES = 64 << 10
SHARD_MAX_BYTES = 1200
ONODE, SHARD = 'onode', 'extent map shard'


@dataclass(frozen=True)
class Onodes:
    """Bytes of keys with values in the database, before compression; measured."""

    #: Of an object without its extents.
    onode_bytes: float
    #: Of a blob without its checksums, and of an extent in it.
    blob_bytes: float
    extent_bytes: float
    #: Of one shard, on average.
    shard_bytes: float
    #: Compressed over uncompressed, with LZ4 or Snappy, of all but extents and checksums, which
    #: are as good as random.
    compressed: float

    def map_bytes(self, write_bytes: float, writes: Optional[float]) -> float:
        """Of the extent map of an object that got so many writes at random; None: all it holds."""
        extent = _extent_bytes(write_bytes)
        blobs = OBJECT_BYTES / BLOB_BYTES
        covered = blobs * BLOB_BYTES * _reached(extent / BLOB_BYTES, writes, blobs)
        return (
            self.blob_bytes * _filled(blobs, writes)
            + self.extent_bytes * _filled(OBJECT_BYTES / extent, writes)
            + CHECKSUM_BYTES * covered / BLOCK_BYTES
        )

    def packed(self, write_bytes: float, writes: Optional[float]) -> float:
        """Compressed over uncompressed of an onode with its extent map."""
        extent = _extent_bytes(write_bytes)
        random = _filled(OBJECT_BYTES / extent, writes) * (
            self.extent_bytes + CHECKSUM_BYTES * extent / BLOCK_BYTES
        )
        whole = self.onode_bytes + self.map_bytes(write_bytes, writes)
        random = min(random, whole)
        return (random + self.compressed * (whole - random)) / whole

    def kinds(self, write_bytes: float, writes: Optional[float]) -> tuple[KeyKind, ...]:
        """Of a write, the onode, and the one shard of its extent map that changes."""
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
    """Of so many places, those that so many writes at random have met."""
    return places if writes is None else places * -math.expm1(-writes / places)


def _reached(part: float, writes: Optional[float], blobs: float) -> float:
    """How far into a blob its last write reaches on average, as a part of the blob; ``part``: of a
    write. Of n writes at random to a blob the last lies at 1 - (1 - e^-n) / n."""
    if writes is None:
        return 1.0
    each = writes / blobs
    if each <= 0:
        return 0.0
    met = -math.expm1(-each)
    return min(1.0, 1 - met / each + met * part / 2)

"""How large onodes are by what was written to an object."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.keys import Onodes

KIB = 1 << 10
ONODES = Onodes(
    onode_bytes=650.0, blob_bytes=52.0, extent_bytes=4.0, shard_bytes=650.0, compressed=0.4
)
SIZES = st.integers(1, 1 << 20)


@pytest.mark.parametrize('writes', [5, 50, 500, 5000])
def test_map_holds_the_written_blocks_and_blobs(writes: int) -> None:
    """Counted one by one: blobs, extents, and checksums up to the last block of each blob."""
    rng = random.Random(writes)
    total = 0.0
    for _ in range(200):
        blocks = {rng.randrange(1024) for _ in range(writes)}
        blobs = {block // 16 for block in blocks}
        checksums = sum(1 + max(b % 16 for b in blocks if b // 16 == blob) for blob in blobs)
        total += 52.0 * len(blobs) + 4.0 * len(blocks) + 4.0 * checksums
    assert ONODES.map_bytes(4096.0, writes) == pytest.approx(total / 200, rel=0.05)


def test_fully_written_object_needs_the_most() -> None:
    """Blocks of 16 KiB have a quarter of the extents and as many checksums."""
    assert ONODES.map_bytes(4 * KIB, None) == 64 * 52 + 1024 * 8
    assert ONODES.map_bytes(16 * KIB, None) == 64 * 52 + 256 * 4 + 1024 * 4


def test_small_map_is_part_of_the_onode() -> None:
    (onode,) = ONODES.kinds(4 * KIB, 5.0)
    assert onode.written_bytes == pytest.approx(650 + ONODES.map_bytes(4 * KIB, 5.0))


def test_write_changes_one_shard_of_a_sharded_map() -> None:
    onode, shard = ONODES.kinds(4 * KIB, None)
    assert onode.written_bytes + shard.written_bytes == 1300
    assert shard.keys * shard.left_bytes == pytest.approx(ONODES.map_bytes(4 * KIB, None))


@given(SIZES, SIZES, st.one_of(st.none(), st.floats(0, 1e7)))
def test_more_writes_and_smaller_ones_never_make_a_smaller_map(
    one: int, other: int, writes: float | None
) -> None:
    small, large = sorted((one, other))
    assert ONODES.map_bytes(small, None) >= ONODES.map_bytes(large, None) * (1 - 1e-9)
    if writes is not None:
        more = ONODES.map_bytes(small, writes * 2)
        assert 0 <= ONODES.map_bytes(small, writes) <= more * (1 + 1e-9)
        assert more <= ONODES.map_bytes(small, None) * (1 + 1e-9)


def test_checksums_and_extents_do_not_compress() -> None:
    """So a map of which all is written does hardly, and a sparse one well."""
    full, sparse = ONODES.packed(4 * KIB, None), ONODES.packed(4 * KIB, 20.0)
    random = 1024 * (4 + 4)
    whole = 650 + ONODES.map_bytes(4 * KIB, None)
    assert full == pytest.approx((random + 0.4 * (whole - random)) / whole)
    assert 0.4 < sparse < full < 1


def test_unknown_writes_have_the_measured_size() -> None:
    """Writes of 4 KiB to all blocks: the columns of the file."""
    workload = replace(calibration().workloads['rbd-randwrite'], onodes=ONODES)
    assert workload.of_writes(None, None) is workload
    assert workload.of_writes(None, 10.0) == workload.of_writes(4096.0, 10.0)
    few = (
        workload.of_writes(4096.0, 10.0)
        .columns['O']
        .live_bytes(workload.population, 'kNoCompression')
    )
    assert few < workload.of_writes(4096.0, None).columns['O'].live_bytes(
        workload.population, 'kNoCompression'
    )

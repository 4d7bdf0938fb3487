"""A modeled flush keeps the same data as an exact memtable under the same writes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.lsm.keys import (
    DUPS_TRACKED,
    Fate,
    KeyKind,
    Members,
    Population,
    left_bytes,
)

OVERWRITTEN = KeyKind(
    name='onode',
    fate=Fate.OVERWRITTEN,
    written_bytes=500.0,
    left_bytes=500.0,
    tombstone_bytes=0.0,
    compressed=1.0,
    members=Members.OBJECTS,
    keys=1.0,
)
LOGGED = replace(
    OVERWRITTEN,
    name='log entry',
    fate=Fate.LOGGED,
    left_bytes=250.0,
    tombstone_bytes=20.0,
    members=Members.LOG_ENTRIES,
)
KEPT = replace(OVERWRITTEN, name='key', fate=Fate.KEPT, left_bytes=100.0, members=Members.FIXED)
KINDS = st.sampled_from([OVERWRITTEN, LOGGED, KEPT])
POPULATIONS = st.builds(Population, st.floats(1, 1e7), st.floats(1, 1000), st.floats(1, 1e6))
WRITES = st.floats(1, 1e9)


@pytest.mark.parametrize('writes', [100, 1000, 5000, 20000])
def test_distinct_onodes_are_counted_per_memtable(writes: int) -> None:
    """Uniform draws from 3,000 objects, counted one by one."""
    rng = random.Random(writes)
    distinct = len({rng.randrange(3000) for _ in range(writes)})
    left = left_bytes(OVERWRITTEN, writes, Population(3000, 100, 1))
    assert left / OVERWRITTEN.left_bytes == pytest.approx(distinct, rel=0.05)


@pytest.mark.parametrize('writes', [100, 1000, 5000, 20000])
def test_log_entries_are_counted_per_memtable(writes: int) -> None:
    """A log of 3,000 entries in its steady state, written and trimmed one by one."""
    memtable: dict[int, bool] = {}
    for number in range(3000, 3000 + writes):
        memtable[number] = True
        memtable[number - 3000] = False
    entries, removals = sum(memtable.values()), sum(not put for put in memtable.values())
    counted = entries * LOGGED.left_bytes + removals * LOGGED.tombstone_bytes
    assert left_bytes(LOGGED, writes, Population(1, 1, 3000)) == pytest.approx(counted)


@given(KINDS, WRITES, st.floats(1, 100), POPULATIONS)
def test_a_longer_window_leaves_more_but_less_of_each_write(
    kind: KeyKind, writes: float, factor: float, held: Population
) -> None:
    short, long = left_bytes(kind, writes, held), left_bytes(kind, writes * factor, held)
    assert short <= long * (1 + 1e-9)
    assert long / (writes * factor) <= short / writes * (1 + 1e-9)


@given(KINDS, WRITES, st.integers(1, 64), POPULATIONS)
def test_files_that_are_merged_are_no_larger_than_together(
    kind: KeyKind, writes: float, files: int, held: Population
) -> None:
    merged = left_bytes(kind, writes * files, held)
    assert merged <= files * left_bytes(kind, writes, held) * (1 + 1e-9)


@pytest.mark.parametrize(
    ('placement_groups', 'log_entries', 'dups'),
    [(100, 300_000, 0), (32, 18_750, 32 * DUPS_TRACKED - 18_750), (1200, 300_000, 3_300_000)],
)
def test_dup_entries_are_kept_only_for_short_logs(
    placement_groups: int, log_entries: int, dups: int
) -> None:
    assert Population(1, placement_groups, log_entries).log_dups == dups

"""How the noise of a group is measured before a plan, and the blocks of its history for that."""

from __future__ import annotations

import math
import random
from typing import Optional

import pytest

from rocksdb_tuner.judge.evidence import NOTHING, Block, Measured
from rocksdb_tuner.judge.noise import Noise, history_blocks, measured_noise, undisturbed
from rocksdb_tuner.observe.load_history import KeptWork, Work

SIGNAL = 'op_w_latency_ms'


def blocks(osds: int, count: int, noise: Noise, seed: int = 1) -> list[Block]:
    """OSDs that change once, in the middle, in addition to a common change."""
    rng = random.Random(seed)
    moved = {n: [rng.gauss(0, noise.persistent) for _ in range(2)] for n in range(osds)}
    found = []
    for i in range(count):
        together = rng.gauss(0, 0.5)
        found.append(
            Block(
                {
                    n: Measured(
                        op_w_latency_ms=math.exp(
                            n + together + moved[n][2 * i // count] + rng.gauss(0, noise.block)
                        )
                    )
                    for n in range(osds)
                }
            )
        )
    return found


@pytest.mark.parametrize('true', [Noise(0.05, 0.0), Noise(0.02, 0.05)])
def test_both_noise_components_are_separated_from_cluster_wide_changes(true: Noise) -> None:
    """With many OSDs; a move in the middle counts a little as scatter, too."""
    found = measured_noise(SIGNAL, blocks(300, 12, true))
    assert found is not None
    assert found.group.block == pytest.approx(true.block, rel=0.3)
    assert found.group.persistent == pytest.approx(true.persistent, rel=0.15, abs=0.01)
    assert len(found.by_osd) == 300


def test_osd_with_more_variance_stands_out() -> None:
    """By its own blocks."""
    found = blocks(8, 12, Noise(0.01, 0.0))
    loud = [
        Block({**b.by_osd, 3: Measured(op_w_latency_ms=math.exp(0.3 * (-1) ** i))})
        for i, b in enumerate(found)
    ]
    noise = measured_noise(SIGNAL, loud)
    assert noise is not None
    assert max(noise.by_osd, key=lambda n: noise.by_osd[n]) == 3


def test_too_few_blocks_or_osds_give_no_noise() -> None:
    """Nor does an OSD that was not measured all the time."""
    found = blocks(3, 4, Noise(0.01, 0.0))
    assert measured_noise(SIGNAL, found) is not None
    assert measured_noise(SIGNAL, found[:3]) is None
    gap = [*found[:3], Block({**found[3].by_osd, 1: NOTHING})]
    assert measured_noise(SIGNAL, gap) is None


# -- blocks of the history

KV_SYNC = 'kv_sync_ms_per_txn'
UNKNOWN = Work(*(None for _ in Work._fields))


def work(kv_sync_s: float = 0.6, txns: float = 300.0) -> Work:
    return Work(kv_sync_s, txns, 100.0, 0.5, 3000.0, 7e9)


def kept(rows: dict[int, list[Work]], step_s: float = 30.0) -> KeptWork:
    count = max(map(len, rows.values()))
    times_s = tuple(1000 + step_s * number for number in range(count + 1))
    return KeptWork(times_s, step_s, {n: tuple(row) for n, row in rows.items()})


def test_block_has_the_means_of_its_intervals() -> None:
    found = history_blocks(kept({0: [work(), work(1.2), work(0.3), work(0.3)]}), 60)
    assert [block.of(0).kv_sync_ms_per_txn for block in found] == pytest.approx([3.0, 1.0])
    first = found[0].of(0)
    assert first.op_w_latency_ms == pytest.approx(5.0)
    assert first.db_bytes_per_txn == pytest.approx(10.0)
    assert first.db_used_bytes == 7e9
    assert (first.slow_ops, first.slow_commits, first.flushed) == (None, None, None)


def test_blocks_end_with_the_history_and_drop_the_oldest_remainder() -> None:
    found = history_blocks(kept({0: [work(9.0), work(), work()]}), 60)
    assert [block.of(0).kv_sync_ms_per_txn for block in found] == pytest.approx([2.0])
    assert history_blocks(kept({0: []}), 60) == ()
    assert history_blocks(KeptWork((), 30, {0: ()}), 60) == ()


@pytest.mark.parametrize(
    ('intervals', 'expected'),
    [
        ([work(), UNKNOWN], None),
        ([work(txns=24), work(txns=25)], None),
        ([work(0.1, 25), work(0.1, 25)], 4.0),
        ([work()._replace(kv_sync_s=None), work()], None),
    ],
)
def test_mean_over_a_restart_or_few_writes_is_unknown(
    intervals: list[Work], expected: Optional[float]
) -> None:
    found = history_blocks(kept({0: intervals}), 60)[0].of(0)
    value = found.kv_sync_ms_per_txn
    assert value is None if expected is None else value == pytest.approx(expected)


def test_longest_undisturbed_history_is_used() -> None:
    """A restart of most OSDs ends it; one of many OSDs is left out instead."""
    steady = [work()] * 12
    most = {n: [*[UNKNOWN] * 3, *[work()] * 9] for n in range(4)}
    found = history_blocks(kept({**most, 9: steady}), 30)
    assert len(undisturbed(found, KV_SYNC, 4)) == 9
    one = dict.fromkeys(range(20), steady) | {20: [*[work()] * 5, UNKNOWN, *[work()] * 6]}
    found = history_blocks(kept(one), 30)
    assert len(undisturbed(found, KV_SYNC, 4)) == 12
    noise = measured_noise(KV_SYNC, undisturbed(found, KV_SYNC, 4))
    assert noise is not None
    assert 20 not in noise.by_osd


def test_short_history_gives_the_blocks_there_are_and_few_osds_none() -> None:
    found = history_blocks(kept({n: [work()] * 5 for n in range(3)}), 30)
    assert len(undisturbed(found, KV_SYNC, 5)) == 5
    assert len(undisturbed(found, KV_SYNC, 6)) == 5
    two = history_blocks(kept({n: [work()] * 5 for n in range(2)}), 30)
    assert undisturbed(two, KV_SYNC, 2) == ()
    idle = history_blocks(kept({n: [work(txns=1)] * 5 for n in range(9)}), 30)
    assert undisturbed(idle, KV_SYNC, 2) == ()
    assert undisturbed((), KV_SYNC, 2) == ()

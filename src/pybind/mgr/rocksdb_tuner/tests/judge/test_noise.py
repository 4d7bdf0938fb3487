"""How the noise of a group is measured before an experiment is planned on it."""

from __future__ import annotations

import math
import random

import pytest

from rocksdb_tuner.judge.evidence import NOTHING, Block, Measured
from rocksdb_tuner.judge.noise import Noise, measured_noise

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


def test_mean_of_more_blocks_varies_less_except_for_persistent_noise() -> None:
    """The variance of a period."""
    assert Noise(0.2, 0.1).variance(4) == pytest.approx(0.02)

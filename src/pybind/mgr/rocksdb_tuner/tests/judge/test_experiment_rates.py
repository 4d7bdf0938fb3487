"""How often experiments find a true effect, and one that does not exist.

Groups are planned, and experiments on them ended, by the module's own code, evaluated at every
block. OSDs vary as recorded ones do (`simulated.py`), each with a random piece of long tracks. No
recording of minutes shows how OSDs drift over hours: each also wanders by itself around its level
(an Ornstein-Uhlenbeck process).

`python -m rocksdb_tuner.tests.judge.test_experiment_rates 220 > experiment-simulated.json` gives
the rates of so many experiments each, with their exact 95% intervals.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple, Optional

import pytest
from scipy import stats

from rocksdb_tuner.judge.arms import Arm, Conclusion, compare, conclude
from rocksdb_tuner.judge.evidence import Block, Measured
from rocksdb_tuner.judge.noise import measured_noise
from rocksdb_tuner.judge.records import Effect
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.plan.experiment_design import ExperimentPlan, plan_experiment
from rocksdb_tuner.plan.order import Candidate

from .simulated import MEANS, RECORDINGS, WINDOW_S, drawn, source

SEED = 20270
GOAL, BLOCK_S, POOL_BLOCKS, HISTORY_BLOCKS, WANDER_BLOCKS, HOSTS = MEANS[1], 600.0, 400, 24, 6, 10
#: The first size of a group with which the experiment is not refused.
GROUPS = (40, 60, 80, 120)
MIN_EFFECT, UNSAFE, UNSAFE_BLOCKS = 0.1, 0.2, 3
#: Share of blocks with slow requests.
SLOW = 0.1
ARMS = tuple(Arm(name, '') for name in 'abcde')

#: True effects in logarithms, by arm and signal.
Effects = Mapping[str, Mapping[str, float]]
#: The best of five by the least effect, one of the others 5% worse than the old options.
BEST: Effects = {'c': {GOAL: -math.log1p(MIN_EFFECT)}, 'd': {GOAL: 0.05}}


class Condition(NamedTuple):
    """How much less alike OSDs are than recorded."""

    noise: float
    #: Standard deviation of the logarithm.
    wander: float


CONDITIONS = (
    Condition(1.0, 0.0),
    Condition(1.0, 0.015),
    Condition(4.0, 0.015),
    Condition(1.0, 0.03),
)


class Pool(NamedTuple):
    """Long tracks of logarithms by signal, one value for each block, of one recording."""

    common: Mapping[str, Sequence[float]]
    own: Mapping[str, Sequence[Sequence[float]]]


def pool(name: str, rng: random.Random) -> Pool:
    windows = round(BLOCK_S / WINDOW_S)

    def long(track: Sequence[float]) -> Sequence[float]:
        values = drawn(track, POOL_BLOCKS * windows, rng)
        means = [fmean(values[i : i + windows]) for i in range(0, len(values), windows)]
        return [mean - fmean(means) for mean in means]

    tracks = source(name).tracks
    return Pool(
        {signal: long(track.common) for signal, track in tracks.items()},
        {signal: [long(own) for own in track.own] for signal, track in tracks.items()},
    )


class Osds:
    """The work of some OSDs, block by block."""

    def __init__(
        self, ids: Sequence[int], drawn_from: Pool, condition: Condition, rng: random.Random
    ) -> None:
        self._pool, self._condition, self._rng = drawn_from, condition, rng
        self._at = {signal: rng.randrange(POOL_BLOCKS) for signal in MEANS}
        self._own = {
            (n, s): (rng.choice(drawn_from.own[s]), rng.randrange(POOL_BLOCKS), rng.gauss(0, 0.2))
            for n in ids
            for s in MEANS
        }
        self._wandered = {key: rng.gauss(0, condition.wander) for key in self._own}

    def block(self, effects: Mapping[int, Mapping[str, float]]) -> Block:
        """The next; ``effects`` in logarithms by OSD and signal."""
        kept = math.exp(-1 / WANDER_BLOCKS)
        fresh = self._condition.wander * math.sqrt(1 - kept**2)
        values: dict[int, dict[str, float]] = {}
        for (n, signal), (track, start, level) in self._own.items():
            self._wandered[n, signal] *= kept
            self._wandered[n, signal] += self._rng.gauss(0, fresh)
            at = self._at[signal]
            found = level + self._pool.common[signal][at % POOL_BLOCKS]
            found += track[(start + at) % POOL_BLOCKS] * self._condition.noise
            found += self._wandered[n, signal] + effects.get(n, {}).get(signal, 0.0)
            values.setdefault(n, {})[signal] = math.exp(found)
        self._at = {signal: at + 1 for signal, at in self._at.items()}
        return Block(
            {n: Measured(slow_ops=self._rng.random() < SLOW, **one) for n, one in values.items()}
        )


def planned(drawn_from: Pool, condition: Condition, rng: random.Random) -> ExperimentPlan:
    """The plan for the smallest group that has one, from what was measured of it before."""
    for osds in GROUPS:
        history = Osds(range(osds), drawn_from, condition, rng)
        blocks = [history.block({}) for _ in range(HISTORY_BLOCKS)]
        noises = {signal: noise for signal in MEANS if (noise := measured_noise(signal, blocks))}
        candidates = [
            Candidate(
                n, 'ssd', FailureDomain('host', f'h{n % HOSTS}'), 100.0, noises[GOAL].by_osd[n]
            )
            for n in range(osds)
        ]
        asked = ExperimentPlan('osd', ARMS, GOAL, '', BLOCK_S)
        plan = plan_experiment(candidates, asked, {s: noise.group for s, noise in noises.items()})
        if plan.refusal is None:
            break
    return plan


@dataclass
class Outcome:
    conclusion: Optional[Conclusion] = None
    #: Statements at any evaluation that are not true: better, worse, or ahead.
    wrong: bool = False
    #: After how many blocks an arm was dropped.
    dropped: dict[str, int] = field(default_factory=dict)


def run(
    plan: ExperimentPlan,
    effects: Effects,
    drawn_from: Pool,
    condition: Condition,
    rng: random.Random,
) -> Outcome:
    osds, outcome = Osds(plan.osds, drawn_from, condition, rng), Outcome()
    felt = {n: effects.get(arm.name, {}) for arm in plan.arms for n in arm.osds}
    before = [osds.block({}) for _ in range(plan.blocks)]
    for _ in range(plan.settle_blocks):
        osds.block(felt)
    after: list[Block] = []
    arms: Sequence[Arm] = plan.arms
    while outcome.conclusion is None:
        after.append(osds.block(felt))
        arms = compare(arms, plan.terms, before, after)
        over = len(after) == plan.blocks
        outcome.conclusion = conclude(arms, len(after), plan.min_effect, over)
        outcome.wrong = outcome.wrong or any(_untrue(arms, effects))
    truly = {arm.name: effects.get(arm.name, {}).get(GOAL, 0.0) for arm in arms if not arm.dropped}
    best = truly.pop(outcome.conclusion.winner or '', -math.inf)
    ahead = outcome.conclusion.ahead and any(gain <= best for gain in truly.values())
    outcome.wrong = outcome.wrong or ahead
    outcome.dropped = {arm.name: arm.dropped_after for arm in arms if arm.dropped_after is not None}
    return outcome


def _untrue(arms: Sequence[Arm], effects: Effects) -> Iterator[bool]:
    for arm in arms:
        for found in arm.signals:
            true = effects.get(arm.name, {}).get(found.name, 0.0)
            yield found.effect is Effect.BETTER and true >= 0
            yield found.effect is Effect.WORSE and true <= 0


#: For each set of true effects, what is right.
QUESTIONS: Mapping[str, Mapping[str, Callable[[Outcome], bool]]] = {
    'best': {
        'best-found': lambda o: o.conclusion is not None and o.conclusion.winner == 'c',
        'nothing-wrong-with-a-best': lambda o: not o.wrong,
    },
    'none': {
        'nothing-called-better': lambda o: o.conclusion is None or o.conclusion.winner is None,
        'nothing-wrong-at-any-look': lambda o: not o.wrong,
    },
    'unsafe': {'unsafe-off': lambda o: o.dropped.get('b', math.inf) <= UNSAFE_BLOCKS},
}


def _true(kind: str, trial: int) -> Effects:
    unsafe: Effects = {'b': {MEANS[trial % len(MEANS)]: math.log1p(UNSAFE)}}
    return {'best': BEST, 'none': {}, 'unsafe': unsafe}[kind]


def rates(condition: Condition, runs: int) -> dict[str, Any]:
    """So many experiments for each rate, and the size and duration of each plan."""
    rng = random.Random(SEED)
    pools = [pool(name, random.Random(SEED)) for name in RECORDINGS]
    plans = [planned(one, condition, rng) for one in pools]
    usable = [pair for pair in zip(plans, pools) if pair[0].refusal is None]
    found: dict[str, Any] = {}
    for kind, questions in QUESTIONS.items():
        outcomes = []
        for trial in range(runs):
            plan, drawn_from = usable[trial % len(usable)]
            outcomes.append(run(plan, _true(kind, trial), drawn_from, condition, rng))
        for name, right in questions.items():
            hits = sum(map(right, outcomes))
            ends = stats.binomtest(hits, runs).proportion_ci()
            found[name] = {'hits': hits, 'of': runs, 'interval': [round(end, 3) for end in ends]}
    shapes = [[len(plan.osds), plan.blocks, plan.duration_s] for plan in plans]
    return {**condition._asdict(), 'osds_blocks_seconds': shapes, 'rates': found}


@pytest.mark.parametrize('condition', CONDITIONS[3:])
def test_experiments_find_what_is_there_and_nothing_else(condition: Condition) -> None:
    found = {name: one['hits'] for name, one in rates(condition, runs=11)['rates'].items()}
    assert found.pop('best-found') >= 9
    assert set(found.values()) == {11}


if __name__ == '__main__':
    many = [rates(condition, int(sys.argv[1])) for condition in CONDITIONS]
    sys.stdout.write(json.dumps({'seed': SEED, 'conditions': many}, indent=1))

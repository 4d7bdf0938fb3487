"""Experiments on OSDs that vary as recorded ones do: planned, compared and ended by the module.

The recorded variation of OSDs is extended to long tracks by the stationary bootstrap of
`tests/judge/simulated.py`, block by block; each OSD of a trial is given a random piece of one. No
recording of minutes shows how OSDs drift over hours: each also wanders by itself around its level
(an Ornstein-Uhlenbeck process with a correlation time of `WANDER_BLOCKS`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple, Union

from rocksdb_tuner.judge.arms import (
    Answer,
    Comparison,
    Conclusion,
    Observed,
    compare,
    conclude,
    to_end,
)
from rocksdb_tuner.judge.evidence import Block, Measured
from rocksdb_tuner.judge.noise import measured_noise
from rocksdb_tuner.judge.signals import experiment_limits
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.plan.experiment_design import ExperimentPlan, Refusal, Terms, plan_experiment
from rocksdb_tuner.plan.order import Candidate
from rocksdb_tuner.tests.judge.simulated import MEANS, WINDOW_S, _drawn, source
from verdict_trials import read

RECORDINGS = Path(__file__).parent / 'recordings'
BLOCK_S = 600.0
POOL_BLOCKS = 400
WANDER_BLOCKS = 6
HOSTS = 10
#: The noise of a group is measured over so many blocks before the plan.
HISTORY_BLOCKS = 24
MINUTE_S = 60.0


class Condition(NamedTuple):
    """How much less alike OSDs are than recorded."""

    noise: float
    #: Standard deviation of the logarithm.
    wander: float


class Pool(NamedTuple):
    """Long tracks of logarithms by signal, one value for each block."""

    name: str
    common: Mapping[str, Sequence[float]]
    own: Mapping[str, Sequence[Sequence[float]]]


def pool(name: str, rng: random.Random) -> Pool:
    """Of a recording of minutes, or (``verdict-...``) of one of many OSDs."""
    if name.startswith('verdict'):
        tracks = _minutes(name)
        windows = round(BLOCK_S / MINUTE_S)
    else:
        tracks = {s: (t.common, t.own) for s, t in source(name).tracks.items()}
        windows = round(BLOCK_S / WINDOW_S)

    def drawn(track: Sequence[float]) -> Sequence[float]:
        values = _drawn(track, POOL_BLOCKS * windows, rng)
        means = [fmean(values[i : i + windows]) for i in range(0, len(values), windows)]
        middle = fmean(means)
        return [mean - middle for mean in means]

    return Pool(
        name,
        {signal: drawn(common) for signal, (common, _) in tracks.items()},
        {signal: [drawn(track) for track in own] for signal, (_, own) in tracks.items()},
    )


def _minutes(name: str) -> Mapping[str, tuple[Sequence[float], Sequence[Sequence[float]]]]:
    """Of the undisturbed OSDs, minute by minute."""
    recorded, _ = read(RECORDINGS / f'{name}.json.xz')
    begin_s, end_s = recorded.spans[0].begin_s, recorded.spans[-1].end_s
    osds = recorded.unchanged(begin_s, end_s)
    count = int((end_s - begin_s) / MINUTE_S)
    found = {}
    for signal in MEANS:
        logs = []
        for n in osds:
            means = (
                recorded.mean(n, begin_s + i * MINUTE_S, begin_s + (i + 1) * MINUTE_S, signal)
                for i in range(count)
            )
            known = [math.log(mean) for mean in means if mean]
            if len(known) == count:
                logs.append([value - median(known) for value in known])
        common = [fmean(at) for at in zip(*logs)]
        stretch = math.sqrt(len(logs) / (len(logs) - 1))
        found[signal] = common, [[stretch * (v - c) for v, c in zip(o, common)] for o in logs]
    return found


class Osds:
    """The work of some OSDs, block by block."""

    def __init__(
        self, ids: Sequence[int], drawn_from: Pool, condition: Condition, rng: random.Random
    ) -> None:
        self._pool, self._condition, self._rng = drawn_from, condition, rng
        self._at = 0
        self._common = {s: rng.randrange(POOL_BLOCKS) for s in MEANS}
        self._own = {
            (n, s): (rng.choice(drawn_from.own[s]), rng.randrange(POOL_BLOCKS), rng.gauss(0, 0.2))
            for n in ids
            for s in MEANS
        }
        self._wandered = {key: rng.gauss(0, condition.wander) for key in self._own}

    def block(self, effects: Mapping[int, Mapping[str, float]], without: frozenset[int]) -> Block:
        """The next; ``effects`` in logarithms by OSD and signal."""
        kept = math.exp(-1 / WANDER_BLOCKS)
        fresh = self._condition.wander * math.sqrt(1 - kept**2)
        values: dict[int, dict[str, float]] = {}
        for (n, signal), (track, start, level) in self._own.items():
            moved = self._wandered[n, signal] * kept + self._rng.gauss(0, fresh)
            self._wandered[n, signal] = moved
            if n in without:
                continue
            common = self._pool.common[signal][(self._common[signal] + self._at) % POOL_BLOCKS]
            own = track[(start + self._at) % POOL_BLOCKS] * self._condition.noise
            effect = effects.get(n, {}).get(signal, 0.0)
            values.setdefault(n, {})[signal] = math.exp(level + common + own + moved + effect)
        self._at += 1
        return Block({n: Measured(slow_ops=0, **of_osd) for n, of_osd in values.items()})


def planned(
    arms: int, osds: int, drawn_from: Pool, condition: Condition, rng: random.Random
) -> Union[ExperimentPlan, Refusal]:
    """The plan for a group of so many OSDs, from what was measured of them before."""
    history = Osds(range(osds), drawn_from, condition, rng)
    blocks = [history.block({}, frozenset()) for _ in range(HISTORY_BLOCKS)]
    noises = {signal: noise for signal in MEANS if (noise := measured_noise(signal, blocks))}
    terms = Terms(tuple('abcdefgh'[:arms]), MEANS[1], BLOCK_S, BLOCK_S)
    candidates = [
        Candidate(
            n,
            'ssd',
            FailureDomain('host', f'h{n % HOSTS}'),
            100.0,
            64,
            1 / 3,
            noises[terms.objective].by_osd[n],
        )
        for n in range(osds)
    ]
    return plan_experiment(candidates, terms, {s: noise.group for s, noise in noises.items()})


@dataclass(frozen=True)
class Outcome:
    conclusion: Conclusion
    #: Any statement at any evaluation that is not true: better, worse, or ahead of another.
    wrong: bool
    #: After how many blocks an arm was ended.
    ended: Mapping[str, int]
    looks: int


def run(
    plan: ExperimentPlan,
    effects: Mapping[str, Mapping[str, float]],
    drawn_from: Pool,
    condition: Condition,
    rng: random.Random,
    min_effect: float,
) -> Outcome:
    """Evaluated at every block. ``effects`` in logarithms, by arm and signal."""
    arms = dict(plan.arms)
    arm_of = {n: name for name, of_arm in plan.arms for n in of_arm}
    osds = Osds((*arm_of, *plan.controls), drawn_from, condition, rng)
    before = tuple(osds.block({}, frozenset()) for _ in range(plan.blocks))
    seen = Observed(arms, plan.controls, MEANS[1], min_effect, plan.blocks, before)
    felt = {n: effects.get(name, {}) for n, name in arm_of.items()}
    for _ in range(plan.settle_blocks):
        osds.block(felt, frozenset())
    ended: dict[str, int] = {}
    wrong = False
    for look in range(1, plan.blocks + 1):
        away = frozenset(n for n, name in arm_of.items() if name in ended)
        seen = replace(seen, after=(*seen.after, osds.block(felt, away)))
        found = compare(seen)
        wrong = wrong or _wrong(found, effects)
        for name in to_end(found):
            ended.setdefault(name, look)
        # As `operations/experiment/judging.py` does.
        early = look < experiment_limits().unsafe_blocks
        last = None if early else conclude(found, min_effect, look == plan.blocks, ended)
        if last is not None:
            return Outcome(last, wrong, ended, look)
    raise AssertionError(plan)


def _wrong(found: Comparison, effects: Mapping[str, Mapping[str, float]]) -> bool:
    def true(arm: str, signal: str = MEANS[1]) -> float:
        return effects.get(arm, {}).get(signal, 0.0)

    for arm in found.arms:
        gain = arm.gain
        if gain is not None and (
            (gain.below and true(arm.name) >= 0) or (gain.above and true(arm.name) <= 0)
        ):
            return True
        if any(true(arm.name, signal) <= 0 for signal in arm.worse):
            return True
    return any(lead.below and true(a) >= true(b) for (a, b), lead in found.pairs.items())


def won(outcome: Outcome, arm: str) -> bool:
    return outcome.conclusion.answer is Answer.WINNER and outcome.conclusion.winner == arm

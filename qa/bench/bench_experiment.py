#!/usr/bin/python3
"""How often experiments find a true effect, and one that does not exist.

Groups are planned, and experiments on them ended, by the module's own code, on OSDs that vary as
recorded ones do (see experiment_trials.py), evaluated at every block. Constants were set on the
recordings of the part `training`; `held-out` are others, with other seeds. Each rate is given with
its exact 95% interval.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(CHECKOUT / 'qa/bench'),
]

from experiment_trials import (  # noqa: E402 - after the path to it
    Condition,
    Outcome,
    Pool,
    planned,
    pool,
    run,
    won,
)
from rocksdb_tuner.plan.experiment_design import ExperimentPlan, Refusal  # noqa: E402
from rocksdb_tuner.tests.judge.simulated import MEANS  # noqa: E402
from verdict_bounds import clopper_pearson  # noqa: E402

PARTS = {
    'training': (
        'rbd-randwrite',
        'reef-rbd-randwrite',
        'rbd-seqwrite',
        's3-put',
        's3-delete',
        'reef-s3-put',
        'verdict-pacific',
    ),
    'held-out': (
        'rbd-randwrite-2',
        'tentacle-rbd-randwrite',
        's3-put-2',
        's3-put-3',
        'tentacle-s3-put',
        'verdict-loaded-pacific',
    ),
}
SEEDS = {'training': 1, 'held-out': 20261}
CONDITIONS = (
    Condition(1.0, 0.0),
    Condition(1.0, 0.015),
    Condition(4.0, 0.015),
    Condition(1.0, 0.03),
)
ARMS = 5
#: The first with which the experiment is not refused.
GROUPS = (40, 60, 80, 120)
MIN_EFFECT = 0.1
BETTER = -math.log1p(MIN_EFFECT)
UNSAFE = math.log1p(0.2)
UNSAFE_BLOCKS = 3

Effects = Mapping[str, Mapping[str, float]]


class Question(NamedTuple):
    """The question to the outcome, and the true answer."""

    right: Callable[[Outcome], bool]
    goal: str


#: The best of five by 10%, one of the others 5% worse than the old set.
BEST: Effects = {'c': {MEANS[1]: BETTER}, 'd': {MEANS[1]: 0.05}}
QUESTIONS = {
    'best-found': Question(lambda o: won(o, 'c'), 'at least 90%'),
    'nothing-wrong-with-a-best': Question(lambda o: not o.wrong, 'at least 95%'),
    'nothing-called-better': Question(lambda o: o.conclusion.winner is None, 'at least 95%'),
    'nothing-wrong-at-any-look': Question(lambda o: not o.wrong, 'at least 95%'),
    'unsafe-off': Question(lambda o: o.ended.get('b', math.inf) <= UNSAFE_BLOCKS, 'at least 95%'),
    'detectable-found': Question(lambda o: won(o, 'a'), 'as planned (95%), within 5 points'),
}


def _true(name: str, plan: ExperimentPlan, trial: int) -> Effects:
    """The true effects of the arms for this question."""
    if name == 'best-found':
        return BEST
    if name == 'unsafe-off':
        return {'b': {MEANS[trial % len(MEANS)]: UNSAFE}}
    if name == 'detectable-found':
        return {'a': {MEANS[1]: -math.log1p(plan.detectable)}}
    return {}


#: Evaluated on the same experiments.
TOGETHER = (
    ('best-found', 'nothing-wrong-with-a-best'),
    ('nothing-called-better', 'nothing-wrong-at-any-look'),
    ('unsafe-off',),
    ('detectable-found',),
)


def _planned(drawn_from: Pool, condition: Condition, rng: random.Random) -> dict[str, Any]:
    """The plan, and in which groups there was none."""
    refused: list[dict[str, Any]] = []
    for osds in GROUPS:
        found = planned(ARMS, osds, drawn_from, condition, rng)
        if isinstance(found, ExperimentPlan):
            return {'plan': found, 'osds': osds, 'refused': refused}
        refused.append(_shown(osds, found))
    return {'plan': None, 'osds': None, 'refused': refused}


def _shown(osds: int, refusal: Refusal) -> dict[str, Any]:
    return {
        'osds': osds,
        'reason': refusal.reason,
        'detectable': refusal.detectable,
        'would_take_osds': refusal.osds,
        'would_take_s': refusal.duration_s,
    }


def _asked(
    part: str, condition: Condition, pools: list[Pool], runs: int, seed: int
) -> dict[str, Any]:
    rng = random.Random(seed)
    plans = {one.name: _planned(one, condition, rng) for one in pools}
    usable = [one for one in pools if plans[one.name]['plan'] is not None]
    rates: dict[str, Any] = {}
    for names in TOGETHER:
        outcomes = []
        for trial in range(runs if usable else 0):
            drawn_from = usable[trial % len(usable)]
            plan = plans[drawn_from.name]['plan']
            # An effect below the least one is rightly called none.
            least = plan.detectable if names[0] == 'detectable-found' else MIN_EFFECT
            effects = _true(names[0], plan, trial)
            outcomes.append(run(plan, effects, drawn_from, condition, rng, least))
        for name in names:
            hits = sum(QUESTIONS[name].right(o) for o in outcomes)
            rates[name] = {
                'goal': QUESTIONS[name].goal,
                'hits': hits,
                'of': len(outcomes),
                'interval_percent': clopper_pearson(hits, len(outcomes)),
                'answers': dict(Counter(o.conclusion.answer.value for o in outcomes)),
            }
            print(part, *condition, name, f'{hits}/{len(outcomes)}', flush=True)
    return {
        'noise': condition.noise,
        'wander_percent': 100 * condition.wander,
        'plans': [
            {
                'recording': name,
                'osds': found['osds'],
                'refused': found['refused'],
                'arm_osds': found['plan'] and len(found['plan'].arms[0][1]),
                'controls': found['plan'] and len(found['plan'].controls),
                'blocks': found['plan'] and found['plan'].blocks,
                'detectable': found['plan'] and found['plan'].detectable,
                'duration_s': found['plan'] and found['plan'].duration_s,
            }
            for name, found in plans.items()
        ],
        'rates': rates,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--runs', type=int, default=200, help='for each rate')
    parser.add_argument('--part', choices=PARTS, default='training')
    parser.add_argument('--save', type=Path, help='a file of results, to which the part is added')
    arguments = parser.parse_args()
    seed = SEEDS[arguments.part]
    pools = [pool(name, random.Random(seed)) for name in PARTS[arguments.part]]
    found = [
        _asked(arguments.part, condition, pools, arguments.runs, seed + i)
        for i, condition in enumerate(CONDITIONS)
    ]
    if arguments.save is not None:
        saved = json.loads(arguments.save.read_text()) if arguments.save.exists() else {}
        saved[arguments.part] = {'runs': arguments.runs, 'seed': seed, 'conditions': found}
        arguments.save.write_text(json.dumps(saved, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/python3
"""How often the verdict on a canary is wrong, by soak time and number of controls.

Canaries and controls are drawn from what real OSDs were recorded to do; each soaks as a rollout
does, with a look at every block. Printed are shares of all verdicts: with a change of nothing how
many fail and how many are called better, with a true worsening how many fail and how many pass,
and how long the soak took. What is neither is inconclusive, which changes nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
]

from rocksdb_tuner.rollout.records import Verdict  # noqa: E402 - after the path to it
from rocksdb_tuner.rollout.verdict import is_better  # noqa: E402
from rocksdb_tuner.tests.rollout.simulated import (  # noqa: E402
    MEANS,
    RECORDINGS,
    Outcome,
    Source,
    Trial,
    run,
    source,
)

SOAKS_MIN = ((5, 10), (10, 30), (30, 60))
CONTROLS = (2, 4, 8)
#: As recorded, and less alike than OSDs that share a machine: (times the noise of each by itself,
#: by how much each drifts by itself).
UNLIKE = ((1.0, 0.0), (4.0, 0.0), (4.0, 0.03))
WORSENING = 0.2


def _outcomes(
    trial: Trial, sources: Sequence[Source], runs: int, rng: random.Random
) -> list[Outcome]:
    return [run(trial, sources[i % len(sources)], rng) for i in range(runs)]


def _share(outcomes: Sequence[Outcome], verdict: Verdict) -> float:
    return sum(o.judgement.verdict is verdict for o in outcomes) / len(outcomes) * 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--runs', type=int, default=220, help='for each line and each worsening')
    parser.add_argument('--seed', type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sources = [source(name) for name in RECORDINGS]
    print(f'seed {arguments.seed}, {arguments.runs} runs each, in percent of the runs')
    print(
        'soak min  controls  noise  drift %   nothing: fail  better  inconcl.   '
        f'+{WORSENING:.0%}: fail  pass  inconcl.  took min'
    )
    for least_min, most_min in SOAKS_MIN:
        for controls in CONTROLS:
            for noise, drift in UNLIKE:
                shape = Trial(
                    controls=controls,
                    before_blocks=max(8, 2 * least_min),
                    least_after=2 * least_min,
                    most_after=2 * most_min,
                    noise=noise,
                    drift=drift,
                )
                nothing = _outcomes(shape, sources, arguments.runs, rng)
                worse = [
                    outcome
                    for signal in MEANS
                    for outcome in _outcomes(
                        replace(shape, worsening=WORSENING, worsened=signal),
                        sources,
                        arguments.runs // len(MEANS),
                        rng,
                    )
                ]
                better = sum(is_better(o.judgement) for o in nothing) / len(nothing) * 100
                print(
                    f'{least_min:2d} to {most_min:2d}  {controls:8d}'
                    f'  {noise:5.0f}  {drift * 100:7.0f}'
                    f'  {_share(nothing, Verdict.FAILED):14.1f}  {better:6.1f}'
                    f'  {_share(nothing, Verdict.INCONCLUSIVE):8.1f}'
                    f'  {_share(worse, Verdict.FAILED):11.1f}'
                    f'  {_share(worse, Verdict.PASSED):4.1f}'
                    f'  {_share(worse, Verdict.INCONCLUSIVE):8.1f}'
                    f'  {median(o.after_blocks for o in worse) / 2:8.1f}',
                    flush=True,
                )
    return 0


if __name__ == '__main__':
    sys.exit(main())

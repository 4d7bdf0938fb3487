#!/usr/bin/python3
"""How often the verdict on a canary, or a batch, is wrong, by soak time and number of controls.

Canaries and controls are drawn from recordings of real OSDs; each soaks as in a rollout, evaluated
at every block. Printed are shares of all verdicts: how many null changes fail and how many are
called better, how many true worsenings fail and how many pass, and the duration of the soak. The
rest is inconclusive, which changes nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
]

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured  # noqa: E402 - after the path
from rocksdb_tuner.judge.records import Effect, Judgement, Verdict  # noqa: E402
from rocksdb_tuner.judge.verdict import judge  # noqa: E402
from rocksdb_tuner.tests.judge.simulated import (  # noqa: E402
    MEANS,
    RECORDINGS,
    Outcome,
    Source,
    Trial,
    run,
    source,
)

#: The second is the default of soak_min and soak_max.
SOAKS_MIN = ((5, 10), (10, 60), (30, 60))
CONTROLS = (2, 4, 8)
#: As recorded, and less alike than OSDs that share a machine: (times the noise of each by itself,
#: by how much each drifts by itself).
UNLIKE = ((1.0, 0.0), (4.0, 0.0), (4.0, 0.03))
WORSENING = 0.2
#: Shares of blocks in which an OSD has slow requests anyway.
EVENT_RATES = (0.0, 0.1, 0.3)
#: Changed OSDs that are compared, and with how many; and how many verdicts there are in all.
BATCHES = (1, 4)
BATCH_CONTROLS = (2, 4)
VERDICTS = (5, 20)


def _outcomes(
    trial: Trial, sources: Sequence[Source], runs: int, rng: random.Random
) -> list[Outcome]:
    return [run(trial, sources[i % len(sources)], rng) for i in range(runs)]


def _share(outcomes: Sequence[Outcome], verdict: Verdict) -> float:
    return sum(o.judgement.verdict is verdict for o in outcomes) / len(outcomes) * 100


def _harmless(outcomes: Sequence[Outcome]) -> float:
    return _share(outcomes, Verdict.NO_WORSE) + _share(outcomes, Verdict.BETTER)


def _worse(shape: Trial, sources: Sequence[Source], runs: int, rng: random.Random) -> list[Outcome]:
    """The same worsening in each signal in turn."""
    return [
        outcome
        for signal in MEANS
        for outcome in _outcomes(
            replace(shape, worsening=WORSENING, worsened=signal), sources, runs // len(MEANS), rng
        )
    ]


def _batches(sources: Sequence[Source], runs: int, rng: random.Random) -> None:
    """What of a batch is seen in a short soak, by how many verdicts share the rate of errors."""
    print(
        'OSDs  controls  verdicts  noise  drift %   nothing: fail  inconcl.   '
        f'+{WORSENING:.0%}: fail  pass  inconcl.'
    )
    for changed, controls, among, (noise, drift) in product(
        BATCHES, BATCH_CONTROLS, VERDICTS, UNLIKE
    ):
        shape = Trial(
            controls=controls,
            before_blocks=10,
            least_after=10,
            most_after=30,
            noise=noise,
            drift=drift,
            changed=changed,
            among=among,
        )
        nothing = _outcomes(shape, sources, runs, rng)
        worse = _worse(shape, sources, runs, rng)
        print(
            f'{changed:4d}  {controls:8d}  {among:8d}  {noise:5.0f}  {drift * 100:7.0f}'
            f'  {_share(nothing, Verdict.WORSE):14.1f}'
            f'  {_share(nothing, Verdict.INCONCLUSIVE):8.1f}'
            f'  {_share(worse, Verdict.WORSE):11.1f}  {_harmless(worse):4.1f}'
            f'  {_share(worse, Verdict.INCONCLUSIVE):8.1f}',
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--batches', action='store_true', help='on batches, not on canaries')
    parser.add_argument('--runs', type=int, default=220, help='for each line and each worsening')
    parser.add_argument('--seed', type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sources = [source(name) for name in RECORDINGS]
    print(f'seed {arguments.seed}, {arguments.runs} runs each, in percent of the runs')
    if arguments.batches:
        _batches(sources, arguments.runs, rng)
        return 0
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
                worse = _worse(shape, sources, arguments.runs, rng)
                better = _share(nothing, Verdict.BETTER)
                print(
                    f'{least_min:2d} to {most_min:2d}  {controls:8d}'
                    f'  {noise:5.0f}  {drift * 100:7.0f}'
                    f'  {_share(nothing, Verdict.WORSE):14.1f}  {better:6.1f}'
                    f'  {_share(nothing, Verdict.INCONCLUSIVE):8.1f}'
                    f'  {_share(worse, Verdict.WORSE):11.1f}'
                    f'  {_harmless(worse):4.1f}'
                    f'  {_share(worse, Verdict.INCONCLUSIVE):8.1f}'
                    f'  {median(o.after_blocks for o in worse) / 2:8.1f}',
                    flush=True,
                )
    _print_events(arguments.runs, rng)
    return 0


def _print_events(runs: int, rng: random.Random) -> None:
    """The same of slow requests: in ``rate`` of the blocks of every OSD, or more of the canary."""
    print('blocks with slow requests   of all: fail  better   of the canary: so many   fail')
    for rate in EVENT_RATES:
        nothing = [_slow(rate, rate, rng) for _ in range(runs * 10)]
        failed = sum(j.verdict is Verdict.WORSE for j in nothing) / len(nothing) * 100
        better = [s for j in nothing for s in j.signals if s.effect is Effect.BETTER]
        for more in (0.4, 0.7):
            worse = [_slow(rate, rate + more, rng) for _ in range(runs)]
            print(
                f'{rate:22.0%} {failed:17.1f}  {len(better) / len(nothing) * 100:6.1f}'
                f' {rate + more:26.0%} {_judged(worse):6.1f}',
                flush=True,
            )


def _judged(found: Sequence[Judgement]) -> float:
    return sum(j.verdict is Verdict.WORSE for j in found) / len(found) * 100


def _slow(rate: float, of_canary: float, rng: random.Random) -> Judgement:
    """A soak of 10 minutes with three controls, in which only slow requests count."""
    blocks = 20
    rates = {n: [rate] * blocks * 2 for n in range(4)}
    rates[0][blocks:] = [of_canary] * blocks
    slow = {n: _bursts(column, rng) for n, column in rates.items()}
    made = tuple(
        Block({n: Measured(5.0, 3.0, 4.0, 5.0, slow[n][i]) for n in slow})
        for i in range(blocks * 2)
    )
    return judge(Evidence('r1', 0, (0,), (1, 2, 3), 30.0, made[:blocks], made[blocks:]))


def _bursts(rates: Sequence[float], rng: random.Random) -> list[float]:
    """Slow requests come in runs of two blocks (a minute) in the mean."""
    found: list[float] = []
    for rate in rates:
        continues = found and rng.random() < 0.5
        found.append(found[-1] if continues else float(rng.random() < rate))
    return found


if __name__ == '__main__':
    sys.exit(main())

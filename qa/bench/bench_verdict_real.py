#!/usr/bin/python3
"""How often the verdict is wrong on real OSDs instead of simulations from recordings.

`record` runs a real cluster under a steady client and records the counters of its OSDs; in some
phases some of them are slower: each sync of their disk takes so many percent longer. `judge` uses
each OSD in turn as a canary, at every minute without a disturbance: a fail and a "better" are wrong
there. The same trials are repeated with a worsening added to the counters of the canary after the
change. For an OSD that really became slower, anything except a fail is wrong. Blocks are built and
judged by the module's own code, as in a rollout, evaluated at every block.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, Progress, staggered  # noqa: E402 - after the path to it
from harness.record import save  # noqa: E402
from harness.verdict_run import parse_phase, run, set_module_options  # noqa: E402
from rocksdb_tuner.judge.records import SoakPlan, Verdict  # noqa: E402
from rocksdb_tuner.judge.signals import limits  # noqa: E402
from rocksdb_tuner.judge.verdict import in_words  # noqa: E402
from rocksdb_tuner.tests.workload.replay import SAMPLE_INTERVAL_S  # noqa: E402
from verdict_trials import (  # noqa: E402
    SIGNALS,
    Case,
    Found,
    Recorded,
    before_s,
    cases,
    disjoint,
    moved,
    read,
    soak,
)

#: soak_min and soak_max; the first are the defaults.
SOAKS_S = ((600.0, 3600.0), (300.0, 900.0), (240.0, 240.0))
#: With OSDs that become slower, or are so no more.
SOAKS_CHANGED_S = ((600.0, 3600.0), (240.0, 900.0))
#: Every so often another change of nothing begins.
STRIDE_S = 60.0
#: As many controls as a rollout of a group of this size would have at least.
LEAST_CONTROLS = 3


def clopper_pearson(hits: int, of: int) -> tuple[float, float]:
    """The exact 95% interval of a share, in percent."""
    if of == 0:
        return 0.0, 100.0

    def at_most(k: int, share: float) -> float:
        return sum(math.comb(of, i) * share**i * (1 - share) ** (of - i) for i in range(k + 1))

    def where(falls_to: float, k: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(k, middle) > falls_to else (low, middle)
        return low

    low = where(0.975, hits - 1) if hits else 0.0
    high = where(0.025, hits) if hits < of else 1.0
    return round(100 * low, 1), round(100 * high, 1)


def _share(hits: int, of: int) -> dict[str, Any]:
    low, high = clopper_pearson(hits, of)
    percent = round(100 * hits / of, 1) if of else None
    return {'count': hits, 'percent': percent, 'low_percent': low, 'high_percent': high}


@dataclass
class Tally:
    """The outcomes of trials; those of one group of OSDs without common times are counted
    separately."""

    kinds: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _free_s: dict[tuple[int, ...], float] = field(default_factory=dict)

    def add(self, case: Case, found: Found) -> None:
        kind = found.kind
        self.kinds[kind] += 1
        if case.before_s >= self._free_s.get(case.changed, 0.0):
            self.apart[kind] += 1
            self._free_s[case.changed] = case.change_s + found.took_s

    def shares(self, *names: str) -> dict[str, Any]:
        return {
            part: {
                'trials': sum(kinds.values()),
                **{name: _share(kinds[name], sum(kinds.values())) for name in names},
                'counts': dict(sorted(kinds.items())),
            }
            for part, kinds in (('all', self.kinds), ('of_own_time', self.apart))
        }


def _cases(recorded: Recorded, plan: SoakPlan, size: int) -> Iterator[Case]:
    """Changes of nothing: every OSD (or every group of ``size``) again and again."""
    least_s = before_s(plan) + limits().warm_up_s + plan.least_s + 3 * SAMPLE_INTERVAL_S
    begin_s = recorded.spans[0].begin_s
    while begin_s + least_s <= recorded.spans[-1].end_s:
        most_s = least_s + plan.most_s - plan.least_s
        end_s = recorded.end_s(begin_s, most_s, size + LEAST_CONTROLS)
        if end_s - begin_s >= least_s:
            calm = recorded.unchanged(begin_s, end_s)
            for i in range(0, len(calm) - size + 1, size):
                changed = calm[i : i + size]
                controls = tuple(n for n in calm if n not in changed)[: limits().most_controls]
                yield Case(changed, controls, begin_s, begin_s + before_s(plan), end_s)
        begin_s += STRIDE_S


def _empty(recorded: Recorded, plan: SoakPlan, size: int) -> dict[str, Any]:
    nothing = Tally()
    imposed = {signal: Tally() for signal in SIGNALS}
    for case in _cases(recorded, plan, size):
        found = soak(recorded, case, plan)
        if found is None:
            continue
        nothing.add(case, found)
        if found.judgement.verdict is Verdict.WORSE or found.kind == 'better':
            nothing.wrong.append(
                f'{case.before_s:.0f} s {case.changed}: {in_words(found.judgement)}'
            )
        for signal, tally in imposed.items():
            worse = soak(recorded, case, plan, signal)
            if worse is not None:
                tally.add(case, worse)
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'changed_osds': size,
        'nothing': nothing.shares('fail', 'better'),
        'wrong': nothing.wrong,
        'reckoned_worse': {signal: tally.shares('fail') for signal, tally in imposed.items()},
    }


def _judged(
    recorded: Recorded, plan: SoakPlan, found: Sequence[tuple[str, Case]]
) -> dict[str, Any]:
    """The verdict on each case, and what was true of it; by what was done."""
    each: dict[str, list[dict[str, Any]]] = {}
    for kind, case in found:
        result = soak(recorded, case, plan)
        if result is None:
            continue
        true = moved(recorded, case)
        each.setdefault(kind, []).append(
            {
                'osd': case.changed[0],
                'at_s': round(case.change_s),
                'controls': list(case.controls),
                'true_percent': {
                    s: None if v is None else round(100 * v, 1) for s, v in true.items()
                },
                'verdict': result.kind,
                'over': result.over,
                'took_s': round(result.took_s),
                'told': in_words(result.judgement),
            }
        )
    return {kind: _told(judged) for kind, judged in sorted(each.items())}


def _told(judged: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = Counter(one['verdict'] for one in judged)
    true = {
        signal: _mean([v for one in judged if (v := one['true_percent'][signal]) is not None])
        for signal in SIGNALS
    }
    return {
        'trials': len(judged),
        'counts': dict(sorted(counts.items())),
        **{name: _share(counts[name], len(judged)) for name in ('fail', 'better')},
        'true_percent': true,
        'each': list(judged),
    }


def _mean(values: Sequence[float]) -> dict[str, Optional[float]]:
    """With the standard error; the values are in percent."""
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return {
        'mean': round(statistics.fmean(values), 1) if values else None,
        'standard_error': None if spread is None else round(spread, 1),
    }


def _changes(recorded: Recorded, plan: SoakPlan) -> dict[str, Any]:
    """Each OSD that became slower, or was so no more, or neither: all, and some without overlap."""
    found = list(cases(recorded, plan))
    by_kind = {kind: [f for f in found if f[0] == kind] for kind, _ in found}
    apart = [case for of_kind in by_kind.values() for case in disjoint(of_kind)]
    return {
        'soak_s': [plan.least_s, plan.most_s],
        'all': _judged(recorded, plan, found),
        'apart': _judged(recorded, plan, apart),
    }


def _judge(path: Path, out: Optional[Path]) -> None:
    recorded, document = read(path)
    result: dict[str, Any] = {
        'release': document['release'],
        'date': document['date'],
        'osds': len(recorded.osds),
        'hosts': document['cluster']['crush_hosts'],
        'rate_iops': document['rate_iops'],
        'spans': document['spans'],
        'changes': [_changes(recorded, SoakPlan(*soak_s)) for soak_s in SOAKS_CHANGED_S],
        'nothing': [
            _empty(recorded, SoakPlan(least_s, most_s), size)
            for least_s, most_s in SOAKS_S
            for size in (1, 3)
        ],
    }
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + '\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest='what', required=True)
    record = what.add_parser('record', help='run a cluster and write down what its OSDs count')
    record.add_argument('--dir', type=Path, required=True, help='folder of the cluster')
    record.add_argument('--release', default='pacific')
    record.add_argument('--osds', type=int, default=9)
    record.add_argument('--hosts', type=int, default=3)
    record.add_argument('--rate-iops', type=int, default=300)
    record.add_argument('--settle', type=float, default=60.0, help='seconds before it begins')
    record.add_argument('--option', action='append', default=[], help='of the module, NAME=VALUE')
    record.add_argument('--out', type=Path, required=True, help='a file, NAME.json.xz')
    record.add_argument(
        '--staggered',
        type=int,
        metavar='OSDS',
        help='instead of phases: so many OSDs in each of two groups that take turns to be slow',
    )
    record.add_argument('phases', nargs='*', help='"900", "330:0=25,4=30"')
    judged = what.add_parser('judge', help='hold the verdict against a recording')
    judged.add_argument('recording', type=Path)
    judged.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    if arguments.what == 'judge':
        _judge(arguments.recording, arguments.out)
        return 0
    size = arguments.staggered
    if bool(size) == bool(arguments.phases):
        parser.error('either phases are to be recorded, or --staggered')
    if size and 2 * size + LEAST_CONTROLS > arguments.osds:
        parser.error(f'two groups of {size} leave too few of {arguments.osds} OSDs unchanged')
    phases = [parse_phase(text) for text in arguments.phases]
    spec = ClusterSpec(
        release=arguments.release,
        osds=arguments.osds,
        crush_hosts=arguments.hosts,
        slow_sync=True,
    )
    with Cluster.up(spec, arguments.dir, Progress()) as cluster:
        set_module_options(cluster, arguments.option)
        if size:
            doing, seconds = staggered.phases(cluster, staggered.groups(size)), staggered.SECONDS
        else:
            doing, seconds = iter(phases), sum(phase.seconds for phase in phases)
        save(run(cluster, doing, seconds, arguments.rate_iops, arguments.settle), arguments.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())

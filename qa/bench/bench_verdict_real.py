#!/usr/bin/python3
"""How often the verdict is wrong on real OSDs instead of simulations from recordings.

`record` runs a real cluster under a steady client and records the counters of its OSDs; in some
phases some of them are slower: each sync of their disk takes so many percent longer. `judge` uses
each OSD in turn as a canary, at every minute without a disturbance: a fail and a "better" are wrong
there. The same trials are repeated with a worsening added to the counters of the canary after the
change. For an OSD that really became slower, anything except a fail is wrong. Blocks are built and
judged by the module's own code, as in a rollout, evaluated at every block.

`record --trials WINDOWS --out FOLDER` records windows of independent trials instead, a file for
each, and numbers them on from those in the folder: a run that was interrupted is continued, and
several add up. `judge FOLDER/*` takes all of them. How many windows there are to be has to be
decided before any is judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / part) for part in ('qa', 'qa/doubles', 'src/pybind/mgr')]

from harness import Cluster, ClusterSpec, Progress, trial_windows  # noqa: E402 - after the path to it
from harness.record import save  # noqa: E402
from harness.verdict_run import parse_phase, run, set_module_options  # noqa: E402
from rocksdb_tuner.judge.records import SoakPlan, Verdict  # noqa: E402
from rocksdb_tuner.judge.signals import limits  # noqa: E402
from rocksdb_tuner.judge.verdict import in_words  # noqa: E402
from rocksdb_tuner.tests.workload.replay import SAMPLE_INTERVAL_S  # noqa: E402
from verdict_bounds import mean, share  # noqa: E402
from verdict_independent import independent  # noqa: E402
from verdict_trials import (  # noqa: E402
    SIGNALS,
    Case,
    Found,
    Recorded,
    after_s,
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
#: Of independent trials: the default minimum, and no longer. With only 8 blocks on either side (240
#: s) a quarter of soaks has no verdict even on white noise, whose independence so few do not show.
SOAK_S = (600.0, 600.0)
#: By default 32 OSDs take all the asynchronous requests that Linux has (fs.aio-max-nr).
MANY_OSDS = (('bdev_aio_max_queue_depth', '64'),)
#: The name of a window's recording.
WINDOW = 'verdict-window-{}.json.xz'
#: After a window no OSD is slow any more, but requests of before are under way.
WASHOUT_S = 20.0
#: As many controls as a rollout of a group of this size would have at least.
LEAST_CONTROLS = 3


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
                **{name: share(kinds[name], sum(kinds.values())) for name in names},
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
        signal: mean([v for one in judged if (v := one['true_percent'][signal]) is not None])
        for signal in SIGNALS
    }
    return {
        'trials': len(judged),
        'counts': dict(sorted(counts.items())),
        **{name: share(counts[name], len(judged)) for name in ('fail', 'better')},
        'true_percent': true,
        'each': list(judged),
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


def _judge(paths: Sequence[Path], out: Optional[Path]) -> None:
    recordings = [read(path) for path in paths]
    if all('trials' in document for _, document in recordings):
        result = independent(recordings)
    elif len(recordings) == 1:
        result = _dependent(*recordings[0])
    else:
        raise SystemExit('recordings without drawn trials are judged one by one')
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + '\n')


def _dependent(recorded: Recorded, document: Mapping[str, Any]) -> dict[str, Any]:
    """All trials that can be cut out of a recording, most of which share OSDs and times."""
    return {
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


def windows(
    folder: Path, count: int, osds: int, soak_s: tuple[float, float]
) -> list[trial_windows.TrialWindow]:
    """So many windows beyond those that are recorded in the folder."""
    plan = SoakPlan(*soak_s)
    recorded = [
        int(path.name.split('-')[2].split('.')[0]) for path in folder.glob(WINDOW.format('*'))
    ]
    first = max(recorded, default=-1) + 1
    return [
        trial_windows.TrialWindow(
            number=number,
            groups=trial_windows.draw(osds, number),
            soak_s=soak_s,
            calm_s=WASHOUT_S + before_s(plan),
            slow_s=after_s(plan),
        )
        for number in range(first, first + count)
    ]


@contextmanager
def _cluster(spec: ClusterSpec, arguments: argparse.Namespace) -> Iterator[Cluster]:
    with Cluster.up(spec, arguments.dir, Progress()) as cluster:
        set_module_options(cluster, arguments.option)
        yield cluster


def _record_windows(spec: ClusterSpec, arguments: argparse.Namespace) -> None:
    """Each on fresh OSDs: memtables of 96 OSDs take 24 GiB within two windows."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    todo = windows(arguments.out, arguments.trials, arguments.osds, tuple(arguments.soak))
    for window in todo:
        with _cluster(spec, arguments) as cluster:
            document = trial_windows.record(cluster, window, arguments.rate_iops, arguments.settle)
            save(document, arguments.out / WINDOW.format(f'{window.number:02}'))


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
    record.add_argument('--out', type=Path, required=True, help='a file, NAME.json.xz, or a folder')
    record.add_argument(
        '--trials',
        type=int,
        metavar='WINDOWS',
        help='instead of phases: so many windows of independent trials, with one replica',
    )
    record.add_argument(
        '--soak',
        type=float,
        nargs=2,
        default=SOAK_S,
        metavar=('MIN', 'MAX'),
        help='soak of the trials in seconds (default: %(default)s)',
    )
    record.add_argument('phases', nargs='*', help='"900", "330:0=25,4=30"')
    judged = what.add_parser('judge', help='hold the verdict against recordings')
    judged.add_argument('recordings', type=Path, nargs='+')
    judged.add_argument('--out', type=Path, help='a JSON file')
    arguments = parser.parse_args()
    if arguments.what == 'judge':
        _judge(arguments.recordings, arguments.out)
        return 0
    count = arguments.trials
    if bool(count) == bool(arguments.phases):
        parser.error('either phases are to be recorded, or --trials')
    spec = ClusterSpec(
        release=arguments.release,
        osds=arguments.osds,
        crush_hosts=arguments.hosts,
        pool_size=1 if count else None,
        osd_conf=MANY_OSDS if count else (),
        slow_sync=True,
        few_mgr_modules=bool(count),
    )
    if count:
        _record_windows(spec, arguments)
        return 0
    with _cluster(spec, arguments) as cluster:
        phases = [parse_phase(text) for text in arguments.phases]
        seconds = sum(phase.seconds for phase in phases)
        save(
            run(cluster, iter(phases), seconds, arguments.rate_iops, arguments.settle),
            arguments.out,
        )
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/python3
"""Regret of the module's decisions, from the transactions that BlueStore gives RocksDB.

``regret_record.py`` records what an OSD counts under real clients, ``regret_replay.py`` gives
RocksDB alone such transactions: under the default, every published set and what the module decides,
side by side, at full speed and with real sizes. This asks the module for its decision in each cell
(a row of its policy table), and compares it with the best set that is allowed there: one that fits
the OSDs, as the module checks it, and that is measured to take at most ``max_loss`` more of any
other resource.

    bench_regret.py        (needs hypothesis and pytest)
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from regret_replay import DERIVED, RESULTS, sets  # noqa: E402 - after the path to it

from rocksdb_tuner.advise.candidates import infeasible, weighing  # noqa: E402
from rocksdb_tuner.advise.weighing import choice_thresholds  # noqa: E402
from rocksdb_tuner.tests.advise.test_policy import Row  # noqa: E402

#: The row of the policy table.
WORKLOADS = {
    'rbd-4k': 'rbd busy 72%',
    'rbd-16k': 'rbd busy 72%',
    'rbd-32k': 'rbd busy 72%',
    'rbd-70-30': 'rbd 30% reads',
    's3-small-put': 'rgw',
    's3-hybrid': 's3 45% gets',
    's3-list': 'rgw list',
    's3-delete': 'rgw',
    'cephfs-metadata': 'cephfs',
}
#: Whose transactions are those of another: an OSD counted the same for each.
ALIKE = {'rbd-16k': 'rbd-4k', 'rbd-32k': 'rbd-4k', 'rbd-70-30': 'rbd-4k'}
#: The row of the policy table.
FORMS = {
    'no limit': 'flash',
    'small WAL': 'wal 512 MiB',
    'small memory': 'memory 1 GiB',
    'DB device': 'db 8 of 10 GiB',
}
#: The row of the policy table, and whose replays count: both have the same column families.
RELEASES = {
    'pacific': ('pacific', 'pacific'),
    'reef 18.2.0': ('reef-18.2.2', 'tentacle'),
    'tentacle': ('tentacle', 'tentacle'),
}
GOAL_PERCENT = 3.0
MAX_LOSS = 1 + choice_thresholds().max_loss
#: Two-sided 95%, for four repetitions.
STUDENT_T = 3.182


class Decided(NamedTuple):
    """Option sets by name."""

    running: str
    chosen: str
    #: Why OSDs there must not run it.
    infeasible: Mapping[str, str]
    #: Resources of which more use is no loss.
    plenty: frozenset[str]
    #: Whether clients read so much that faster writes alone are no gain.
    reads: bool
    #: Whether a DB device has no space for more.
    full: bool


def decide(release: str, workload: str, hardware: str, sets: Mapping[str, str]) -> Decided:
    row = Row(release, 'default', workload, hardware)
    case, options = row.case(row.options), row.options
    advised = [r.options_to for r in row.answer(options).recommendations if r.options_to]

    def named(text: str) -> str:
        return next(name for name, known in sets.items() if case.alike(text, known))

    running = named(options)
    against = {n: infeasible(case, text, options) for n, text in sets.items() if n != running}
    return Decided(
        running,
        named(advised[0]) if advised else running,
        {name: why[0] for name, why in against.items() if why},
        frozenset(resource.value for resource in weighing(case).bars.plenty),
        case.reads,
        case.db_space_short is not None,
    )


class Measured:
    """All replays of one workload of one release: figures relative to the first set."""

    def __init__(self, runs: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        self._found: dict[str, dict[str, list[list[float]]]] = {}
        for rows in runs:
            base = rows[0]
            for row in rows:
                for figure in FIGURES:
                    pairs = zip(_repeated(row, figure), _repeated(base, figure))
                    logs = [math.log(one / other) for one, other in pairs]
                    self._found.setdefault(row['set'], {}).setdefault(figure, []).append(logs)

    def names(self) -> list[str]:
        return list(self._found)

    def ratio(self, one: str, other: str, figure: str) -> tuple[float, float, float]:
        """Of means, with 95% of confidence: low, value, high."""
        first, second = (self._mean(name, figure) for name in (one, other))
        differences = [a - b for a, b in zip(first, second)]
        middle = statistics.mean(differences)
        half = STUDENT_T * statistics.stdev(differences) / math.sqrt(len(differences))
        return math.exp(middle - half), math.exp(middle), math.exp(middle + half)

    def _mean(self, name: str, figure: str) -> list[float]:
        return [statistics.mean(logs) for logs in zip(*self._found[name][figure])]


def _repeated(row: Mapping[str, Any], figure: str) -> list[float]:
    background = row['flushes']['cpu_s'] + row['compactions']['cpu_s']
    reads = [one + two for one, two in zip(row['get_s'], row['next_s'])]
    if figure == 'kv-sync':
        return list(row['write_s'])
    if figure == 'all CPU':
        return [w + r + background / 4 for w, r in zip(row['write_s'], reads)]
    jobs = row['flushes']['bytes'] + row['compactions']['bytes']
    found = {
        'cores': background,
        'db-device': row['wal_bytes'] + jobs,
        'db-space': row['sst_bytes'],
    }
    return [max(1e-9, found[figure])] * 4


FIGURES = ('kv-sync', 'all CPU', 'cores', 'db-device', 'db-space')


def judge(path: Path) -> None:
    document = json.loads(path.read_text())
    document['cells'] = [
        cell
        for release, (_, replayed) in RELEASES.items()
        for workload in WORKLOADS
        for runs in [_runs(document, ALIKE.get(workload, workload), replayed)]
        if runs
        for form in FORMS
        for cell in [_cell(workload, release, form, Measured(runs))]
    ]
    path.write_text(json.dumps(document, indent=1) + '\n')
    for cell in document['cells']:
        print(*(f'{cell[name]}' for name in cell if name != 'ruled_out'), sep=', ')


def _runs(document: Mapping[str, Any], workload: str, release: str) -> list[Any]:
    return [
        rows
        for rows in document['replays']
        if (rows[0]['workload'], rows[0]['release']) == (workload, release)
    ]


def _cell(workload: str, release: str, form: str, measured: Measured) -> dict[str, Any]:
    found = decide(RELEASES[release][0], WORKLOADS[workload], FORMS[form], sets())
    figure = 'all CPU' if found.reads else 'kv-sync'
    ruled_out = dict(found.infeasible)
    for name in measured.names():
        for other in ('cores', 'db-device', 'db-space'):
            more = measured.ratio(name, found.running, other)[1]
            most = 1.01 if other == 'db-space' and found.full else MAX_LOSS
            if name not in ruled_out and other not in found.plenty and more > most:
                ruled_out[name] = f'{other} {100 * (more - 1):+.0f}%'
    published = {name for name in measured.names() if name not in {DERIVED, *ruled_out}}
    allowed = published | {found.running, found.chosen}
    best = min(allowed, key=lambda name: measured.ratio(name, found.chosen, figure)[1])
    behind = measured.ratio(found.chosen, best, figure)
    high = max(measured.ratio(found.chosen, name, figure)[2] for name in allowed)
    low_percent, percent, high_percent = (
        round(max(0.0, 100 * (end - 1)), 2) for end in (behind[0], behind[1], high)
    )
    gain = measured.ratio(found.chosen, found.running, figure)
    met, missed = high_percent <= GOAL_PERCENT, low_percent > GOAL_PERCENT
    return {
        'workload': workload,
        'release': release,
        'form': form,
        'figure': figure,
        'decision': found.chosen,
        'best': best,
        'regret_percent': percent,
        'low_percent': low_percent,
        'high_percent': high_percent,
        'result': 'met' if met else 'missed' if missed else 'open',
        'change_percent': round(100 * (gain[1] - 1), 2),
        'ruled_out': ruled_out,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=RESULTS, help='what was replayed; added to')
    judge(parser.parse_args().out)
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""How many faults made in the source, one at a time, do the unit tests notice?

    mutation.py run [--packages options,operations] [--shard 1/4] [--sample N --seed S]
    mutation.py score         by package, of what was run
    mutation.py survivors     with their differences
    mutation.py sample        a few minutes' worth over all packages; fails below a share

Results are kept under build/mutation and not repeated: after an interruption or a change only new
mutants are run. Mutants that survived are run again when a test changed. Equivalent mutants are
listed in `mutation_equivalent.json`, each with its reason.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / 'qa/bench')]

import mutation_run  # noqa: E402 - after the path to it
from mutants import Mutant, mutants_of  # noqa: E402
from mutation_run import Outcome, Patience, Tests  # noqa: E402

ROOT = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner'
#: The packages whose tests are run: its own, and these.
PACKAGES: Mapping[str, Sequence[str]] = {
    'options': ('options',),
    'judge': ('judge',),
    'plan': ('plan',),
    'operations': ('operations',),
    'workload': ('workload',),
    'advise': ('advise',),
    'collection': ('collection', 'offline'),
}
KEPT = CHECKOUT / 'build/mutation'
EQUIVALENT = CHECKOUT / 'qa/bench/mutation_equivalent.json'
RESULT = CHECKOUT / 'qa/bench/results/mutation.json'
#: A mutant that so many seconds of tests do not notice counts as survived.
MOST_S = 4.0
MOST_S_OF_A_SAMPLE = 1.0
PATIENCE, PATIENCE_OF_A_SAMPLE = Patience(2.0, 600.0), Patience(0.25, 2.5)
#: Of each package, and of tests where none is nearer to a file than others.
FILES_OF_A_SAMPLE, TESTS_OF_A_SAMPLE = 2, 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('what', choices=('run', 'score', 'survivors', 'sample'))
    parser.add_argument('--packages', default=','.join(PACKAGES), help='separated by commas')
    parser.add_argument('--files', default='', help='only these files, e.g. judge/verdict.py')
    parser.add_argument('--tests', default='', help='only these, e.g. judge/test_verdict.py')
    parser.add_argument('--shard', default='1/1', help='which part of how many')
    parser.add_argument('--sample', type=int, help='at most so many mutants of each package')
    parser.add_argument('--seed', type=int, help='of the sample; a new one is printed')
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=90, help='how long a sample takes')
    parser.add_argument('--least', type=float, default=0, help='percent killed that do')
    parser.add_argument('--write', action='store_true', help='keep the score in results/')
    asked = parser.parse_args()
    packages = [name for name in asked.packages.replace(',', ' ').split() if name]
    unknown = sorted(set(packages) - set(PACKAGES))
    if unknown:
        parser.error(f'no such package: {", ".join(unknown)}; there are {", ".join(PACKAGES)}')
    os.chdir(CHECKOUT)
    mutation_run.prepare()
    seed = random.SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    if asked.what == 'run':
        for package in packages:
            chosen = _chosen(package, asked.files.split(','), asked.shard)
            if asked.sample:
                print(f'{package}: a sample of {asked.sample}, seed {seed}')
                order = random.Random(f'{seed} {package}')
                chosen = order.sample(chosen, min(asked.sample, len(chosen)))
            _run(package, chosen, asked.workers, [t for t in asked.tests.split(',') if t])
        _print_score(packages)
    elif asked.what == 'score':
        table = _print_score(packages)
        if asked.write:
            _write(table)
    elif asked.what == 'survivors':
        _print_survivors(packages)
    else:
        return _sample(packages, seed, asked.seconds, asked.least)
    return 0


@lru_cache(maxsize=4096)
def _source(path: str) -> bytes:
    return (ROOT / path).read_bytes()


@lru_cache(maxsize=4096)
def _mutants(package: str) -> tuple[Mutant, ...]:
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).rglob('*.py'))
    return tuple(mutant for path in files for mutant in mutants_of(path, _source(path)))


@lru_cache(maxsize=4096)
def _by_identity(package: str) -> Mapping[str, Mutant]:
    return {mutant.identity(_source(mutant.path)): mutant for mutant in _mutants(package)}


def _chosen(package: str, files: Sequence[str], shard: str) -> list[Mutant]:
    """The shard of a mutant follows from what it is: each shard is the same everywhere."""
    part, _, parts = shard.partition('/')
    return [
        mutant
        for identity, mutant in _by_identity(package).items()
        if int(identity, 16) % int(parts) == int(part) - 1
        and (not any(files) or mutant.path in files)
        and _why_equivalent(mutant) is None
    ]


@lru_cache(maxsize=1)
def _equivalent() -> Mapping[tuple[str, str, str, str], str]:
    entries = json.loads(EQUIVALENT.read_text())['equivalent'] if EQUIVALENT.exists() else []
    return {(e['file'], e['function'], e['was'], e['now']): e['why'] for e in entries}


def _why_equivalent(mutant: Mutant) -> Optional[str]:
    reported = mutant.change(_source(mutant.path))
    return _equivalent().get((mutant.path, mutant.function, *reported))


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _tests(package: str, only: Sequence[str] = (), patience: Patience = PATIENCE) -> Tests:
    """The coverage of the tests; those in an unchanged file are not run again."""
    folders = [ROOT / 'tests' / name for name in PACKAGES[package]]
    helpers = sorted(
        path
        for found in ((ROOT / 'tests').glob('*.py'), *(f.rglob('*.py') for f in folders))
        for path in found
        if not path.name.startswith('test_')
    )
    common = _digest([*sorted((ROOT / package).rglob('*.py')), *helpers, *_data(folders)])
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).rglob('*.py'))
    kept: dict[str, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.rglob('test_*.py'))):
        name = str(path.relative_to(ROOT / 'tests'))
        if only and name not in only:
            continue
        name = name.replace('/', '.')
        folder = KEPT / f'tests-{patience.test_s:g}-{patience.file_s:g}' / package
        reported = folder / f'{name}-{common}-{_digest([path])}.json'
        kept[str(path.relative_to(CHECKOUT))] = reported
    new = {path: reported for path, reported in kept.items() if not reported.exists()}
    if new:
        _look(files, new, patience)
    return _joined(
        [Tests.from_json(json.loads(reported.read_text())) for reported in kept.values()]
    )


def _data(folders: Iterable[Path]) -> list[Path]:
    """The data of tests, in addition to their code."""
    found = (path for folder in folders for path in folder.rglob('*') if path.is_file())
    return sorted(path for path in found if path.suffix not in {'.py', '.pyc'})


def _look(files: Sequence[str], kept: Mapping[str, Path], patience: Patience) -> None:
    pid = os.fork()
    if pid == 0:
        mutation_run.inspect_tests(ROOT, files, kept, patience)
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit('the tests fail without a mutant')


def _joined(found: Sequence[Tests]) -> Tests:
    reached: dict[str, dict[tuple[int, int], list[str]]] = {}
    loading: dict[str, set[tuple[int, int]]] = {}
    for tests in found:
        for path, blocks in tests.reached.items():
            for block, names in blocks.items():
                reached.setdefault(path, {}).setdefault(block, []).extend(names)
        for path, early in tests.loading.items():
            loading.setdefault(path, set()).update(early)
    return Tests({n: s for tests in found for n, s in tests.seconds.items()}, reached, loading)


def _kept(package: str) -> dict[str, dict[str, Any]]:
    """The last result of each mutant that is still there."""
    path = KEPT / f'{package}.jsonl'
    lines = path.read_text().splitlines() if path.exists() else []
    found = {entry['id']: entry for entry in map(json.loads, lines)}
    return {i: found[i] for i in _by_identity(package) if i in found}


def _run(package: str, chosen: Sequence[Mutant], workers: int, only: Sequence[str]) -> None:
    tests = _tests(package, only)
    asked = hashlib.sha256(json.dumps(sorted(tests.seconds)).encode())
    folders = [ROOT / 'tests' / name for name in PACKAGES[package]]
    for folder in folders:
        asked.update(_digest(sorted(folder.rglob('*.py'))).encode())
    asked.update(_digest(_data(folders)).encode())
    state = asked.hexdigest()[:16]
    kept = _kept(package)
    number = {mutant: i for i, mutant in _by_identity(package).items()}
    left = [
        mutant
        for mutant in chosen
        if number[mutant] not in kept
        or (
            kept[number[mutant]]['outcome'] not in {'killed', 'timeout'}
            and kept[number[mutant]]['tests'] != state
        )
    ]
    print(f'{package}: {len(chosen)} mutants, {len(left)} to run', flush=True)
    begin = time.monotonic()
    found: collections.Counter[str] = collections.Counter()
    with (KEPT / f'{package}.jsonl').open('a') as results:
        for mutant, outcome in mutation_run.run(ROOT, left, tests, MOST_S, workers):
            entry = {'id': number[mutant], 'tests': state, **_told(mutant, outcome)}
            results.write(json.dumps(entry) + '\n')
            results.flush()
            found[outcome.outcome] += 1
            if sum(found.values()) % 100 == 0:
                print(f'  {sum(found.values())} of {len(left)}: {dict(found)}', flush=True)
    if left:
        took = time.monotonic() - begin
        print(f'  {dict(found)} in {took:.0f} s, {took / len(left):.2f} s each', flush=True)


def _sample(packages: Sequence[str], seed: int, seconds: float, least: float) -> int:
    """Some mutants of some files of each package, before the tests nearest to these."""
    print(f'a sample of {seconds:.0f} s, to be had again with --seed {seed}', flush=True)
    rng = random.Random(seed)
    found: collections.Counter[str] = collections.Counter()
    left_s = seconds
    for i, package in enumerate(packages):
        begin_s = _cpu_s()
        counts = collections.Counter(mutant.path for mutant in _mutants(package))
        files = set(rng.choices(list(counts), list(counts.values()), k=FILES_OF_A_SAMPLE))
        near = sorted({name for path in sorted(files) for name in _nearest(package, path, rng)})
        tests = _tests(package, near, PATIENCE_OF_A_SAMPLE)
        chosen = [
            mutant
            for mutant in _chosen(package, sorted(files), '1/1')
            if not tests.while_loading(mutant)
        ]
        rng.shuffle(chosen)
        share_s = left_s / (len(packages) - i)
        left_s -= _cpu_s() - begin_s
        share_s -= _cpu_s() - begin_s
        run = collections.Counter[str]()
        mutants = mutation_run.run(ROOT, chosen, tests, MOST_S_OF_A_SAMPLE, 1)
        with contextlib.closing(mutants):
            while share_s > 0 and (one := next(mutants, None)) is not None:
                mutant, outcome = one
                run[outcome.outcome] += 1
                share_s -= outcome.seconds
                left_s -= outcome.seconds
                if outcome.outcome == 'survived':
                    print(mutant.diff(_source(mutant.path)))
        print(f'{package}: {dict(run)} of {", ".join(sorted(files))}', flush=True)
        found += run
    killed = found['killed'] + found['timeout']
    percent = 100 * killed / max(killed + found['survived'], 1)
    print(f'{killed} of {killed + found["survived"]} noticed: {percent:.0f}%, least {least:.0f}%')
    return 0 if percent >= least and killed else 1


def _cpu_s() -> float:
    return sum(os.times()[:4])


def _nearest(package: str, path: str, rng: random.Random) -> Sequence[str]:
    """The tests of a file: of its name, or that import it; some of its package where none does."""
    dotted = f'{ROOT.name}.{path[:-3]}'.replace('/', '.').replace('.__init__', '')
    stem = Path(path).stem
    found: list[str] = []
    others: list[str] = []
    for folder in PACKAGES[package]:
        for test in sorted((ROOT / 'tests' / folder).rglob('test_*.py')):
            near = test.stem.startswith(f'test_{stem}') or re.search(
                rf'^from {re.escape(dotted)} import', test.read_text(), re.MULTILINE
            )
            (found if near else others).append(str(test.relative_to(ROOT / 'tests')))
    return found or rng.sample(others, min(len(others), TESTS_OF_A_SAMPLE))


def _told(mutant: Mutant, outcome: Outcome) -> dict[str, Any]:
    was, now = mutant.change(_source(mutant.path))
    reported = asdict(outcome)
    return {
        'file': mutant.path,
        'line': mutant.line,
        'function': mutant.function,
        'operator': mutant.operator,
        'was': was,
        'now': now,
        'outcome': reported['outcome'],
        'killer': reported['killer'],
        'asked': reported['tests'],
        'seconds': reported['seconds'],
    }


def _row(package: str) -> dict[str, Any]:
    kept = _kept(package)
    equivalent = {i for i, m in _by_identity(package).items() if _why_equivalent(m) is not None}
    outcomes = collections.Counter(e['outcome'] for i, e in kept.items() if i not in equivalent)
    killed = outcomes['killed'] + outcomes['timeout']
    run = sum(outcomes.values()) - outcomes['broken']
    low, high = _interval(killed, run)
    return {
        'mutants': len(_by_identity(package)),
        'equivalent': len(equivalent),
        'run': run,
        'killed': killed,
        'of_them_by_time': outcomes['timeout'],
        'survived': outcomes['survived'],
        'unreached': outcomes['unreached'],
        'broken': outcomes['broken'],
        'percent': round(100 * killed / run, 1) if run else None,
        'interval_95_percent': None
        if run >= len(_by_identity(package)) - len(equivalent)
        else [round(100 * low, 1), round(100 * high, 1)],
        'cpu_s': round(sum(e['seconds'] for e in kept.values())),
    }


def _interval(killed: int, run: int) -> tuple[float, float]:
    """Wilson's, for mutants that were not run."""
    if not run:
        return 0.0, 1.0
    z, share = 1.96, killed / run
    middle = (share + z * z / (2 * run)) / (1 + z * z / run)
    half = z / (1 + z * z / run) * math.sqrt(share * (1 - share) / run + (z / (2 * run)) ** 2)
    return middle - half, middle + half


def _print_score(packages: Sequence[str]) -> dict[str, Any]:
    table = {package: _row(package) for package in packages}
    print(
        f'{"package":<12}{"mutants":>8}{"equiv.":>8}{"run":>7}{"killed":>8}{"survived":>9}'
        f'{"unreached":>10}{"percent":>9}'
    )
    for package, row in table.items():
        between = row['interval_95_percent']
        reported = '' if between is None else f'  ({between[0]} to {between[1]})'
        print(
            f'{package:<12}{row["mutants"]:>8}{row["equivalent"]:>8}{row["run"]:>7}'
            f'{row["killed"]:>8}{row["survived"]:>9}{row["unreached"]:>10}'
            f'{"-" if row["percent"] is None else row["percent"]:>9}{reported}'
        )
    return table


def _survivors(package: str) -> Iterator[tuple[Mutant, dict[str, Any]]]:
    for identity, entry in _kept(package).items():
        mutant = _by_identity(package)[identity]
        if entry['outcome'] not in {'killed', 'timeout'} and _why_equivalent(mutant) is None:
            yield mutant, entry


def _print_survivors(packages: Sequence[str]) -> None:
    for package in packages:
        for mutant, entry in _survivors(package):
            print(f'# {entry["outcome"]} ({entry["asked"]} tests): {mutant.function}')
            print(mutant.diff(_source(mutant.path)))


def _write(table: Mapping[str, Any]) -> None:
    commit = subprocess.run(
        ['git', 'rev-parse', '--short=12', 'HEAD'], capture_output=True, text=True, check=True
    ).stdout.strip()
    document = json.loads(RESULT.read_text()) if RESULT.exists() else {'scores': []}
    day = time.strftime('%Y-%m-%d', time.gmtime())
    document['scores'].append({'commit': commit, 'day': day, 'packages': table})
    RESULT.write_text(json.dumps(document, indent=1) + '\n')


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/python3
"""The cost of `check` for one option string, and of loading the knowledge.

Strings are those recorded from the real binaries, each checked once, in time of the CPU:
other processes are no cost of the manager. Loading is timed by the clock, in processes of its own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
]

from rocksdb_tuner.options.checks import check  # noqa: E402 - after the path to it
from rocksdb_tuner.tests.options.oracle import (  # noqa: E402
    ROCKSDB_VERSIONS,
    recorded_answers,
)

#: The bounds of the project's own goals.
CHECK_MS, LOAD_MS = 2.0, 100.0
_LOADING = """
import sys, time
sys.path[:0] = sys.argv[1:]
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.options import catalogue, problems, releases
from rocksdb_tuner.advise import profiles
start = time.perf_counter()
loader.load_all()
catalogue.catalogue()
problems.rules()
releases.known_releases()
profiles.profiles()
print((time.perf_counter() - start) * 1e3)
"""


def _checks_ms() -> list[float]:
    for version in {*ROCKSDB_VERSIONS.values(), '9.10'}:
        check('', version)
    found = []
    for release, version in ROCKSDB_VERSIONS.items():
        for answer in recorded_answers(release):
            start = time.thread_time()
            check(answer.text, version)
            found.append((time.thread_time() - start) * 1e3)
    return found


def _loads_ms(times: int) -> list[float]:
    command = [sys.executable, '-c', _LOADING, *sys.path[:3]]
    return [
        float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(times)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--loads', type=int, default=7, help='processes that load the knowledge')
    arguments = parser.parse_args()
    checks, loads = _checks_ms(), _loads_ms(arguments.loads)
    _show(f'check of one string ({len(checks)} strings)', checks, CHECK_MS)
    _show(f'load of the knowledge ({len(loads)} processes)', loads, LOAD_MS)


def _show(what: str, found_ms: list[float], bound_ms: float) -> None:
    ordered = sorted(found_ms)
    print(
        f'{what}: median {statistics.median(ordered):.2f} ms, '
        f'99% {ordered[int(0.99 * (len(ordered) - 1))]:.2f} ms, worst {ordered[-1]:.2f} ms; '
        f'goal: below {bound_ms:g} ms'
    )


if __name__ == '__main__':
    main()

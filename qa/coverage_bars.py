"""Print the coverage of the unit tests by package, and fail where one is below its bar.

`tox run -e py3` measures line and branch coverage; this reads its report.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

#: The output of `tox run -e py3`.
REPORT = Path('build/coverage.json')
MODULE = 'src/pybind/mgr/rocksdb_tuner/'


@dataclass(frozen=True)
class Bar:
    """The least percentage of lines and branches together."""

    what: str
    percent: float
    #: Below the module; one may be a pattern.
    paths: tuple[str, ...]


#: The pure modules: the surrounding drivers, storage and texts have no separate bar.
ROLLOUT_MACHINE = (
    *('machine', 'rollback', 'collapse', 'admission', 'osd_step', 'records', 'rules', 'soak'),
    *('announce', 'recording'),
)
COMPACTION_MACHINE = ('machine', 'plan', 'records')
EXPERIMENT_MACHINE = ('machine', 'records')
BARS = (
    Bar('options', 100, ('options/*',)),
    Bar('judge', 100, ('judge/*',)),
    Bar('plan', 100, ('plan/*',)),
    Bar('store', 100, ('store/*',)),
    Bar(
        'operations/rollout: machine',
        100,
        tuple(f'operations/rollout/{name}.py' for name in ROLLOUT_MACHINE),
    ),
    Bar(
        'operations/compaction: machine',
        100,
        tuple(f'operations/compaction/{name}.py' for name in COMPACTION_MACHINE),
    ),
    Bar(
        'operations/experiment: machine',
        100,
        tuple(f'operations/experiment/{name}.py' for name in EXPERIMENT_MACHINE),
    ),
    Bar('the whole module', 98.5, ('*',)),
)


@dataclass(frozen=True)
class Reached:
    """Lines and branches that there are, and those of them that a test reached."""

    lines: int
    branches: int
    reached_lines: int
    reached_branches: int
    #: Each file with what of it was not: "options/wal.py: lines 3, 4; branches 7->9".
    missed: tuple[str, ...]

    @property
    def percent(self) -> float:
        there = self.lines + self.branches
        return 100.0 * (self.reached_lines + self.reached_branches) / there if there else 0.0


def reached(files: Mapping[str, Any], paths: Sequence[str]) -> Reached:
    """``files`` are those of a JSON report of coverage.py, by path below the module."""
    found = {
        name: file for name, file in files.items() if any(fnmatch(name, path) for path in paths)
    }
    sums = [file['summary'] for file in found.values()]
    return Reached(
        lines=sum(one['num_statements'] for one in sums),
        branches=sum(one['num_branches'] for one in sums),
        reached_lines=sum(one['covered_lines'] for one in sums),
        reached_branches=sum(one['covered_branches'] for one in sums),
        missed=tuple(
            f'{name}: {reported}'
            for name, file in sorted(found.items())
            if (reported := _missed(file))
        ),
    )


def _missed(file: Mapping[str, Any]) -> str:
    lines = file['missing_lines']
    # A branch to an unreached line adds nothing to that line; below 0 is the end.
    branches = [
        (at, to) for at, to in file['missing_branches'] if to not in lines and at not in lines
    ]
    parts = (
        ('lines', ', '.join(_ranges(lines))),
        ('branches', ', '.join(f'{at}->{to if to > 0 else "end"}' for at, to in branches)),
    )
    return '; '.join(f'{kind} {which}' for kind, which in parts if which)


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """ "3-5" for 3, 4 and 5."""
    first = None
    for number in numbers:
        first = number if first is None else first
        if number + 1 not in numbers:
            yield str(number) if number == first else f'{first}-{number}'
            first = None


def below(bar: Bar, found: Reached) -> bool:
    return found.percent < bar.percent


def table(found: Sequence[tuple[Bar, Reached]]) -> Iterator[str]:
    """A row per bar, with the missing parts under a failed one."""
    yield f'{"unit test coverage":32}{"lines":>8}{"branches":>10}{"covered":>11}{"bar":>8}'
    for bar, one in found:
        # Never rounded up: 99.999 is not all of it.
        percent = int(one.percent * 100) / 100
        yield (
            f'{bar.what:32}{one.lines:8,}{one.branches:10,}{percent:10.2f}%{bar.percent:7g}%'
            + ('  below its bar' if below(bar, one) else '')
        )
        if below(bar, one) and bar.paths != ('*',):
            yield from (f'    {line}' for line in one.missed)


def measured(report: Path) -> dict[str, Any]:
    """The files of a JSON report of coverage.py, by path below the module."""
    files = json.loads(report.read_text())['files']
    return {name.removeprefix(MODULE): file for name, file in files.items()}


def main() -> int:
    files = measured(REPORT)
    found = [(bar, reached(files, bar.paths)) for bar in BARS]
    print('\n'.join(table(found)))
    return int(any(below(bar, one) for bar, one in found))


if __name__ == '__main__':
    sys.exit(main())

"""Regret: how far the end of the tuner is behind the best option set. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench_choice_judge import Window
from regret_trials import DEFAULT, TUNER, Trial

from rocksdb_tuner.judge.statistics import percent

#: Student's t for a two-sided interval of 95%, from one degree of freedom on. A table, since the
#: pages are generated without scipy; its tests compare it with scipy.
T_95 = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
    2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09,
)  # fmt: skip


def student(freedom: int) -> float:
    """Student's t; beyond the table its last value, which is only slightly too wide."""
    return T_95[min(freedom, len(T_95)) - 1]


@dataclass(frozen=True)
class Run:
    trial: Trial
    version: str
    date: str
    machine_load: float
    #: The tuner's recommendation for OSDs with the default; None: no change.
    advice: str | None
    #: Why.
    conclusion: str | None
    #: By the name of the option set: the set, and what its OSD did.
    options: Mapping[str, str]
    did: Mapping[str, Window]
    #: The limiting resource that the tuner named; None: none was recorded.
    limit: str | None = None


#: Each for one write, less is better.
FIGURES: Mapping[str, Callable[[Window], float]] = {
    'kv_sync CPU': lambda did: did.kv_sync_cpu_s / did.writes,
    'WAL bytes': lambda did: did.wal_bytes / did.writes,
    'DB bytes': lambda did: (did.wal_bytes + did.sst_bytes) / did.writes,
    'DB space': lambda did: did.used_bytes / did.writes,
    'client latency': lambda did: did.waited_s / did.writes,
}
#: What clients see.
LATENCY = 'client latency'
#: Of the resource that bounds small writes.
LIMITING = 'kv_sync CPU'
_FIGURE_OF_LIMIT: Mapping[str, str] = {
    'db-device': 'DB bytes',
    'db-space': 'DB space',
    'data-device': LATENCY,
}


def recommended(runs: Sequence[Run]) -> int:
    """The number of runs in which the tuner recommended a change."""
    return sum(run.advice is not None for run in runs)


def limiting(runs: Sequence[Run]) -> str:
    """The figure of the resource that limited most of the runs."""
    figures = [_FIGURE_OF_LIMIT.get(run.limit or '', LIMITING) for run in runs]
    return max(figures, key=figures.count)


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios to the default, in percent of change; None: too few runs."""

    runs: int
    percent: float
    low_percent: float | None
    high_percent: float | None


def ratio(runs: Sequence[Run], name: str, figure: str) -> Ratio | None:
    """The figure of a set relative to that of the default beside it; None if it never ran."""
    of = FIGURES[figure]
    logs = [
        math.log(of(run.did[name]) / of(run.did[DEFAULT]))
        for run in runs
        if name in run.did and DEFAULT in run.did
    ]
    return change_of(logs)


def change_of(logs: Sequence[float]) -> Ratio | None:
    """Of logarithms of ratios; None without any."""
    if not logs:
        return None
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(1, percent(mean), None, None)
    half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(len(logs), percent(mean), percent(mean - half), percent(mean + half))


@dataclass(frozen=True)
class Regret:
    #: The set with the smallest figure; the default where none is smaller.
    best: str
    #: How much more the tuner's end takes than the best.
    percent: float


def regret(runs: Sequence[Run], figure: str | None = None) -> Regret | None:
    """Of a figure, of the limiting resource's by default; None until the tuner's end has run."""
    figure = figure or limiting(runs)
    names = {name for run in runs for name in run.did}
    found = {name: ratio(runs, name, figure) for name in names if name != DEFAULT}
    changes = {name: known.percent for name, known in found.items() if known is not None}
    changes[DEFAULT] = 0.0
    if TUNER not in changes:
        return None
    if all(run.options.get(TUNER) == run.options[DEFAULT] for run in runs):
        # The difference between two equal OSDs is no gain.
        changes[TUNER] = 0.0
    best = min(changes, key=lambda name: (changes[name], name != DEFAULT))
    behind = (100 + changes[TUNER]) / (100 + changes[best]) - 1
    return Regret(best, 100 * behind)

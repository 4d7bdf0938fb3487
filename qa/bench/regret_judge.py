"""Regret: how far the end of the tuner is behind the best option set. Pure.

*The comparison.* OSDs differ under equal options, since a load is never spread evenly. So CPU time
is divided by the transactions of the OSD, written bytes by those of its WAL, and each figure of
an OSD is compared with that of the same OSD in the first phase, when all of them had the default.
On a scale of logarithms a figure is the sum of a level of the OSD, of one of the phase, which all
OSDs share, and of the effect of the option set: least squares over all OSDs and phases of all runs
of a cell. The residuals give the interval, also of a single run. Runs beside other work are noisier
than others, so each counts with the inverse of its own residuals.

In the recorded runs of `bench_choice_proof.py`, whose OSDs have equal options first and swap them
later, the two halves disagree by 9.5% in the CPU time of kv_sync per write, and by 3.4% relative to
the same OSD before (root mean square; client latency: 7.6% and 4.2%). For the bytes written for
each of the WAL a level of the OSD is no help (5.3% and 9.9%): a flush falls into one window or into
another, and there is none in the first.

Two runs beside other work that took nearly all of the cores (the tests have them): under RBD writes
the CPU time of kv_sync differed by 20% between OSDs with equal options, per write as well as per
transaction, and residuals were 8.8% without levels and 3.1% with them. Under puts, gets and
listings of S3 it differed by 238% per write and by 10% per transaction, and residuals were 13.7%
per write and 3.8% per transaction, both with levels. Bytes of the WAL (3.0% and 3.4%) and rounds of
the thread (2.9% and 2.1%) would do as well there; but an option may change how many bytes there
are, and the load how many transactions share a round (above: 3.4% and 3.9%).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bench_choice_judge import Window
from least_squares import Difference, Fit, fit, student
from regret_trials import DEFAULT, READ_ONLY, TUNER, Trial, published

from rocksdb_tuner.judge.statistics import percent
from rocksdb_tuner.options.grammar import same_meaning


@dataclass(frozen=True)
class Run:
    trial: Trial
    version: str
    date: str
    minutes: float
    machine_load: float
    #: Cores that other processes and the hypervisor took from the machine during the phases.
    others_cores: float
    #: The tuner's recommendation for OSDs with the default; None: no change.
    advice: str | None
    #: Why.
    conclusion: str | None
    #: The limiting resource that the tuner named.
    limit: str
    #: Option sets by name.
    options: Mapping[str, str]
    #: What each OSD did: with the default, then by the phases of the trial.
    did: tuple[tuple[Window, ...], ...]

    @property
    def placed(self) -> tuple[tuple[str, ...], ...]:
        """The name of the set of each OSD in each phase; one name for equal sets."""
        known = {name: self._known_as(name) for name in self.options}
        first = (DEFAULT,) * len(self.did[0])
        return (first, *(tuple(known[name] for name in phase) for phase in self.trial.phases))

    def _known_as(self, name: str) -> str:
        profiles = (other for other in self.options if other not in {DEFAULT, TUNER})
        return next(
            (
                other
                for other in (DEFAULT, *profiles)
                if same_meaning(self.options[other], self.options[name], None)
            ),
            name,
        )

    @property
    def end(self) -> str:
        """Where the tuner ended, under the name that equal sets have."""
        return self._known_as(TUNER)


#: Figures of `Window.figure` by their names in tables; less is better.
FIGURES: Mapping[str, str] = {
    'kv-sync': 'kv_sync CPU',
    'cores': 'RocksDB CPU',
    'osd-cores': 'OSD CPU',
    'db-device': 'DB bytes',
    'db-space': 'DB space',
    'data-device': 'client latency',
}
#: What clients see.
LATENCY = 'data-device'
#: Of the resource that bounds small writes: where the tuner names one that no option set relieves.
LIMITING = 'kv-sync'
#: A level of the OSD is no help: see above.
_WITHOUT_LEVEL = frozenset({'db-device'})
#: In percent: of the limiting resource behind the best, and of what clients see after a change.
MOST_REGRET, MOST_LOSS = 3.0, 2.0
_LEAST_WORK = 50
_TAIL = 0.025


def recommended(runs: Sequence[Run]) -> int:
    """The number of runs in which the tuner recommended a change."""
    return sum(run.advice is not None for run in runs)


def limiting(runs: Sequence[Run]) -> str:
    """The figure of the resource that limited most of the runs."""
    if runs[0].trial.cell.workload in READ_ONLY:
        return 'osd-cores'
    figures = [run.limit if run.limit in FIGURES else LIMITING for run in runs]
    return max(figures, key=figures.count)


@dataclass(frozen=True)
class Ratio:
    """A ratio to the default, in percent of change; None: there is too little for an interval."""

    runs: int
    percent: float
    low_percent: float | None
    high_percent: float | None


def change_of(logs: Sequence[float]) -> Ratio | None:
    """The geometric mean, of logarithms of ratios; None without any."""
    if not logs:
        return None
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(1, percent(mean), None, None)
    half = student(_TAIL, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(len(logs), percent(mean), percent(mean - half), percent(mean + half))


@dataclass(frozen=True)
class Regret:
    #: The set with the smallest figure; the tuner's end where none is smaller.
    best: str
    #: How much more the tuner's end takes than the best; the ends are of 95%.
    percent: float
    low_percent: float | None
    high_percent: float | None


class Effects:
    """Of the sets of a cell on one figure."""

    def __init__(self, runs: Sequence[Run], figure: str) -> None:
        self._runs = tuple(runs)
        self._fit = _fit(self._runs, figure)
        placed = [name for run in runs for phase in run.placed for name in phase]
        self.names = tuple(sorted({*placed} - {DEFAULT}))

    def ratio(self, name: str) -> Ratio | None:
        """To the default; None: it never ran, or the figure is not known."""
        found = self._fit.difference(self._effect(name))
        if found is None:
            return None
        low, high = self._ends(found, _TAIL)
        runs = sum(name == TUNER or any(name in p for p in run.placed) for run in self._runs)
        return Ratio(runs, percent(found.value), _percent(low), _percent(high))

    def regret(self) -> Regret | None:
        """None where the tuner's end or another set cannot be compared.

        It is the most that the end takes more than any other set. So its upper end is the largest
        of theirs; its lower end is, too, but by Bonferroni, since each may exceed by chance.
        """
        behind = self._behind()
        known = {name: found for name, found in behind.items() if found is not None}
        if len(known) < len(behind) or len(known) < 2:
            return None
        worst = max(known, key=lambda name: (known[name].value, name == DEFAULT))
        most = known[worst].value
        ends = self._end_name()
        lows = [self._ends(found, _TAIL / (len(known) - 1))[0] for found in known.values()]
        highs = [self._ends(found, _TAIL)[1] for found in known.values()]
        return Regret(
            worst if most > 0 else ends,
            percent(max(0.0, most)),
            _percent(_most(lows)),
            _percent(_most(highs)),
        )

    def better_by(self, bound: float) -> tuple[str, ...]:
        """The sets that may take less than the tuner's end, by more than ``bound`` percent."""
        ends = {
            name: None if found is None else _percent(self._ends(found, _TAIL)[1])
            for name, found in self._behind().items()
        }
        return tuple(name for name, end in ends.items() if end is None or end > bound)

    def _behind(self) -> dict[str, Difference | None]:
        """How much more the tuner's end takes than each set."""
        end = self._effect(TUNER)
        others = {
            name: {key: end.get(key, 0.0) - of.get(key, 0.0) for key in {*end, *of}}
            for name in (DEFAULT, *self.names)
            for of in [self._effect(name)]
        }
        return {name: self._fit.difference(of) for name, of in others.items()}

    def _effect(self, name: str) -> dict[Hashable, float]:
        """Of a set, in terms of the fit; the tuner's end may differ from run to run."""
        if name != TUNER:
            return {} if name == DEFAULT else {('set', name): 1.0}
        found: dict[Hashable, float] = {}
        for run in self._runs:
            if run.end != DEFAULT:
                key = ('set', run.end)
                found[key] = found.get(key, 0.0) + 1 / len(self._runs)
        return found

    def _end_name(self) -> str:
        ends = [run.end for run in self._runs]
        return max(ends, key=ends.count)

    def _ends(self, found: Difference, tail: float) -> tuple[float | None, float | None]:
        if found.standard_error == 0:
            return found.value, found.value
        if self._fit.variance is None:
            return None, None
        half = student(tail, self._fit.degrees) * found.standard_error
        return found.value - half, found.value + half


def _percent(logarithm: float | None) -> float | None:
    return None if logarithm is None else percent(logarithm)


def _most(ends: Sequence[float | None]) -> float | None:
    known = [end for end in ends if end is not None]
    return max(0.0, *known) if len(known) == len(ends) else None


#: Terms and value of each row of a run.
_Rows = tuple[tuple[tuple[Hashable, ...], float], ...]
#: Fewer residuals say too little of a run, and smaller ones are rounding.
_LEAST_DEGREES, _LEAST_VARIANCE = 8, 1e-12


@lru_cache(maxsize=1024)
def _fit_of(runs: tuple[_Rows, ...], weights: tuple[float, ...]) -> Fit:
    rows = [(*row, weight) for of_run, weight in zip(runs, weights) for row in of_run]
    return fit(
        [dict.fromkeys(terms, weight) for terms, _, weight in rows],
        [weight * value for _, value, weight in rows],
    )


def _fit(runs: Sequence[Run], figure: str) -> Fit:
    levels = figure not in _WITHOUT_LEVEL
    if not levels and not any(did.sst_bytes for run in runs for phase in run.did for did in phase):
        # Without a flush anywhere nothing is known, rather than that there is no difference
        runs = ()
    rows = tuple(_rows(number, run, figure, levels=levels) for number, run in enumerate(runs))
    return _fit_of(rows, _weights(rows))


def _weights(runs: tuple[_Rows, ...]) -> tuple[float, ...]:
    """Of the quietest run 1, of others by standard deviation; all alike if one is unknown."""
    alike = (1.0,) * len(runs)
    if len(runs) < 2:
        return alike
    alone = [_fit_of((rows,), (1.0,)) for rows in runs]
    variances = [found.variance for found in alone if found.degrees >= _LEAST_DEGREES]
    known = [variance for variance in variances if variance and variance > _LEAST_VARIANCE]
    if len(known) < len(runs):
        return alike
    return tuple(math.sqrt(min(known) / variance) for variance in known)


def _rows(number: int, run: Run, figure: str, *, levels: bool) -> _Rows:
    rows: list[tuple[tuple[Hashable, ...], float]] = []
    for phase, (windows, names) in enumerate(zip(run.did, run.placed)):
        if phase == 0 and not levels:
            continue
        for osd, (did, name) in enumerate(zip(windows, names)):
            value = logarithm(did, figure)
            if value is None:
                continue
            terms: list[Hashable] = [('phase', number, phase)]
            if levels:
                terms.append(('osd', number, osd))
            if name != DEFAULT:
                terms.append(('set', name))
            rows.append((tuple(terms), value))
    return tuple(rows)


def logarithm(did: Window, figure: str) -> float | None:
    """Of a figure; None for an OSD that did too little for it. Space takes no work."""
    work = did.ops if figure in {'osd-cores', 'data-device'} else did.work
    if figure != 'db-space' and (work or 0) < _LEAST_WORK:
        return None
    value = did.figure(figure)
    return math.log(value) if value > 0 else None


#: Whether a goal is met, by the interval.
MET, MISSED, OPEN = 'met', 'missed', 'open'


def against(bound: float, low: float | None, high: float | None) -> str:
    """In percent; open as long as the interval has the bound in it."""
    if low is None or high is None:
        return OPEN
    if high <= bound:
        return MET
    return MISSED if low > bound else OPEN


@dataclass(frozen=True)
class Judgment:
    """A cell against the goals."""

    figure: str
    regret: Regret | None
    #: `MET`, `MISSED` or `OPEN`.
    near_best: str
    #: Of the client latency after the tuner's change; None: it recommended none.
    clients: Ratio | None
    unharmed: str

    @property
    def decided(self) -> bool:
        """Whether both goals are met or missed."""
        return OPEN not in {self.near_best, self.unharmed}


def judgment(runs: Sequence[Run]) -> Judgment:
    figure = limiting(runs)
    found = Effects(runs, figure).regret()
    near = OPEN if found is None else against(MOST_REGRET, found.low_percent, found.high_percent)
    if all(run.end == DEFAULT for run in runs):
        return Judgment(figure, found, near, None, MET)
    clients = Effects(runs, LATENCY).ratio(TUNER)
    harm = OPEN
    if clients is not None:
        harm = against(MOST_LOSS, clients.low_percent, clients.high_percent)
    return Judgment(figure, found, near, clients, harm)


#: With fewer sets than that, the tuner's end shares their places: all are compared with it.
_FEW = 4


def contenders(runs: Sequence[Run]) -> tuple[str, ...] | None:
    """The sets that share the places of the next run of a cell; None: all published profiles."""
    if not runs:
        return None
    found = judgment(runs)
    if found.decided:
        return None
    better: tuple[str, ...] = ()
    if found.near_best == OPEN:
        better = Effects(runs, found.figure).better_by(MOST_REGRET)
    names = tuple(name for name in published(runs[0].trial.cell.release) if name in better)
    if DEFAULT in better or found.unharmed == OPEN:
        names = (*names, DEFAULT)
    return names if len(names) >= _FEW else (*names, TUNER)

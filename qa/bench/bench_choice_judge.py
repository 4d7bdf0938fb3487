"""Whether a run confirms the choice: limit, recommendation and predicted change. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench_choice_trials import FIGURES, ProofTrial

from rocksdb_tuner.advise.usage import at_most
from rocksdb_tuner.lsm.records import Estimate

#: Sets published as a whole, which may be recommended.
TRIED = frozenset({'default', 'profile', 'derived'})
#: From here on a round of the kv_sync thread waits for its device (knowledge/limits.json).
SLOW_ROUND_MS = 5.0
#: Percentages are shown to a tenth.
_ROUNDING = 0.1


@dataclass(frozen=True)
class Window:
    """The work of one OSD between two samples of its counters."""

    seconds: float
    writes: int
    wal_bytes: int
    sst_bytes: int
    kv_sync_cpu_s: float
    rocksdb_cpu_s: float
    #: Rounds of the kv_sync thread, and how long they took.
    rounds: int
    rounds_s: float
    #: Time that clients waited for their writes, over all of them.
    waited_s: float
    #: Mean of the BlueFS usage over the samples, on any device; the maximum of the DB device.
    used_bytes: float
    db_fill: float | None
    #: Transactions of BlueStore, all operations of clients, the time these took, and CPU time of
    #: the whole OSD; None: older results do not have them.
    transactions: int | None = None
    ops: int | None = None
    ops_waited_s: float | None = None
    osd_cpu_s: float | None = None

    @property
    def work(self) -> int:
        """What CPU time is divided by: transactions.

        Writes of clients are not all alike: that of an object is also some of its bucket's index,
        by a class method that does not count as a write. An OSD has more of one or the other.
        """
        return self.writes if self.transactions is None else self.transactions

    @property
    def round_ms(self) -> float | None:
        return 1000 * self.rounds_s / self.rounds if self.rounds else None

    @property
    def kv_sync_busy(self) -> float:
        return self.rounds_s / self.seconds

    def figure(self, name: str) -> float:
        """Raises ZeroDivisionError where nothing was done."""
        if name == 'kv-sync':
            return self.kv_sync_cpu_s / self.work
        if name == 'cores':
            return self.rocksdb_cpu_s / self.work
        if name == 'osd-cores':
            return (self.osd_cpu_s or 0.0) / (self.ops or 0)
        if name == 'data-device':
            if self.ops_waited_s is not None:
                return self.ops_waited_s / (self.ops or 0)
            return self.waited_s / self.writes
        if name == 'db-device':
            return (self.wal_bytes + self.sst_bytes) / self.wal_bytes
        if name == 'db-space':
            return self.used_bytes
        raise ValueError(name)


@dataclass(frozen=True)
class Effect:
    """Percent of change of the use of one resource."""

    resource: str
    estimate: float
    low: float
    high: float

    @property
    def ratio(self) -> Estimate:
        return Estimate(*(1 + percent / 100 for percent in (self.low, self.estimate, self.high)))


@dataclass(frozen=True)
class Weighed:
    """A candidate as reported by the module."""

    name: str
    origin: str
    options: str
    chosen: bool
    infeasible: bool
    effects: tuple[Effect, ...]

    def effect(self, resource: str) -> Effect | None:
        return next((effect for effect in self.effects if effect.resource == resource), None)


@dataclass(frozen=True)
class Reported:
    """The module's answers on one group of OSDs, of the last sample except for ``limits``."""

    #: By the samples, in order.
    limits: tuple[str, ...]
    workload: str | None
    #: The resource to relieve; None: nothing was weighed.
    resource: str | None
    conclusion: str
    min_gain: float
    max_loss: float
    candidates: tuple[Weighed, ...]
    #: Targets of what is recommended that has to restart OSDs.
    recommended: tuple[str, ...]

    @property
    def limit(self) -> str | None:
        """In most samples; the later of two with equal counts."""
        counted = Counter(reversed(self.limits))
        return counted.most_common(1)[0][0] if counted else None

    @property
    def chosen(self) -> Weighed | None:
        return next((c for c in self.candidates if c.chosen), None)


@dataclass(frozen=True)
class ProofRun:
    """All that is kept of a run."""

    trial: ProofTrial
    version: str
    date: str
    machine_load: float
    told: Reported
    idle: Reported
    #: The tested set, and its prediction. Of idle OSDs nothing.
    to_name: str
    to_options: str
    predicted: tuple[Effect, ...]
    #: Of both OSDs: before, while the first runs the other set, while the second does.
    first: tuple[Window, ...]
    second: tuple[Window, ...]

    def halves(self, figure: str) -> tuple[float, float]:
        """The OSD with the other set relative to its neighbor, the first time and the second."""
        first, second = (
            [window.figure(figure) for window in windows] for windows in (self.first, self.second)
        )
        return first[1] / second[1], second[2] / first[2]

    def measured(self, figure: str) -> float:
        """Percent of change of one figure."""
        return 100 * (math.sqrt(math.prod(self.halves(figure))) - 1)

    @property
    def figure(self) -> str | None:
        """None: nothing was changed."""
        return FIGURES.get(self.trial.scenario)

    @property
    def prediction(self) -> Effect | None:
        if self.figure == 'data-device':
            reach = 100 * self.told.min_gain
            return Effect('data-device', 0.0, -reach, reach)
        return next((e for e in self.predicted if e.resource == self.figure), None)

    @property
    def limit_is_confirmed(self) -> bool:
        if self.told.limit == ('none' if self.trial.scenario == 'idle' else self.trial.scenario):
            return True
        rounds = [windows[0].round_ms for windows in (self.first, self.second) if windows]
        waited = bool(rounds) and all(ms is not None and ms >= SLOW_ROUND_MS for ms in rounds)
        return self.trial.scenario == 'kv-sync' and self.told.limit == 'db-device' and waited

    @property
    def advice_is_consistent(self) -> bool:
        return not contradictions(self.told)

    @property
    def effect_is_confirmed(self) -> bool:
        predicted, figure = self.prediction, self.figure
        if figure is None:
            return True
        return predicted is not None and within(self.measured(figure), predicted)

    @property
    def holds(self) -> bool:
        return self.limit_is_confirmed and self.advice_is_consistent and self.effect_is_confirmed

    @property
    def idle_is_confirmed(self) -> bool:
        return self.idle.limit == 'none' and not self.idle.recommended


def within(percent: float, predicted: Effect) -> bool:
    return predicted.low - _ROUNDING / 2 <= percent <= predicted.high + _ROUNDING / 2


def contradictions(told: Reported) -> tuple[str, ...]:
    """Where the recommendation does not follow from the reported effects."""
    chosen = told.chosen
    found = []
    if told.limit in {'data-device', 'network', 'none'} and (told.recommended or told.candidates):
        found.append('something is weighed or recommended where RocksDB is not what limits')
    if chosen is None and told.recommended:
        found.append('something is recommended that was not chosen')
    if chosen is not None and told.recommended != (chosen.options,):
        found.append('what was chosen is not what is recommended')
    if told.resource is None:
        return tuple(found)
    if chosen is not None and not any(
        at_most(e.ratio) <= 1 - told.min_gain + _ROUNDING / 100 for e in chosen.effects
    ):
        found.append(f'{chosen.name} was chosen, and does not gain enough')
    if chosen is not None and _losses(chosen, told) - {'cores'}:
        found.append(f'{chosen.name} was chosen, and loses too much')
    if chosen is None:
        found += [
            f'{c.name} was not chosen, and gains enough at no loss'
            for c in told.candidates
            if c.origin in TRIED and not c.infeasible and _gains(c, told) and not _losses(c, told)
        ]
    return tuple(found)


def _gains(candidate: Weighed, told: Reported) -> bool:
    effect = candidate.effect(told.resource or '')
    return effect is not None and at_most(effect.ratio) <= 1 - told.min_gain + _ROUNDING / 100


def _losses(candidate: Weighed, told: Reported) -> set[str]:
    return {
        effect.resource
        for effect in candidate.effects
        if effect.resource != told.resource
        and at_most(effect.ratio) > 1 + told.max_loss + _ROUNDING / 100
    }


@dataclass(frozen=True)
class Option:
    """A set that may be forced: what is predicted, and how long a cycle of it takes."""

    weighed: Weighed
    cycle_s: float | None


def forced(options: Sequence[Option], resource: str, window_s: float) -> Option | None:
    """What changes most of what shows within a window, or else of what shows soonest.

    None: nothing changes anything.
    """

    def moves(option: Option) -> float:
        effect = option.weighed.effect(resource)
        return 0.0 if effect is None else abs(math.log(effect.ratio.value))

    open_to = [
        option
        for option in options
        if not option.weighed.infeasible
        and option.weighed.origin != 'running'
        and option.cycle_s is not None
        and moves(option) > 0
    ]
    soonest = min((_cycle_s(option) for option in open_to), default=0.0)
    limit_s = max(window_s / 2, soonest)
    return max((o for o in open_to if _cycle_s(o) <= limit_s), key=moves, default=None)


def _cycle_s(option: Option) -> float:
    return math.inf if option.cycle_s is None else option.cycle_s


def report(runs: Sequence[ProofRun]) -> list[str]:
    """A line for each run, and the sums."""
    lines = []
    for run in runs:
        limit = run.told.limit if run.limit_is_confirmed else f'{run.told.limit} (wrong)'
        recommended = 'recommended' if run.told.recommended else 'nothing'
        advice = recommended if run.advice_is_consistent else f'{recommended} (contradicts itself)'
        lines.append(
            f'{run.trial.name:<16} {run.version:<8} {limit:<12} {advice:<12} {_effect(run)}'
        )
    for name, held in (
        ('limit', sum(run.limit_is_confirmed for run in runs)),
        ('recommendation', sum(run.advice_is_consistent for run in runs)),
        ('measured within the interval', sum(run.effect_is_confirmed for run in runs)),
        ('all three', sum(run.holds for run in runs)),
        ('the idle OSD', sum(run.idle_is_confirmed for run in runs)),
    ):
        lines.append(f'{name}: {held} of {len(runs)}')
    for figure in ('kv-sync', 'db-space', 'db-device', 'cores'):
        compared = [
            within(run.measured(figure), effect)
            for run in runs
            for effect in run.predicted
            if effect.resource == figure
        ]
        lines.append(f'{figure} in all runs, also where it is not what counts: '
                     f'{sum(compared)} of {len(compared)}')  # fmt: skip
    return lines


def _effect(run: ProofRun) -> str:
    predicted, figure = run.prediction, run.figure
    if figure is None:
        return ''
    interval = (
        'no prediction'
        if predicted is None
        else f'{predicted.estimate:+.1f} ({predicted.low:+.1f} to {predicted.high:+.1f})'
    )
    halves = ', '.join(f'{100 * (half - 1):+.1f}' for half in run.halves(figure))
    return (
        f'{run.to_name:<37} {figure:<11} {interval:<24} measured {run.measured(figure):+.1f} '
        f'({halves}) {"within" if run.effect_is_confirmed else "outside"}'
    )

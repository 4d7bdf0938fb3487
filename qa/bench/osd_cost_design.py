"""The comparison of the cost of RocksDB's statistics on OSDs, and what it shows. Pure.

Each OSD has one *setting* per period, and all OSDs share one load. A square is as many periods as
there are OSDs: each OSD has each setting once, each period has each setting once, and each setting
follows each other one equally often (Williams). So differences between OSDs and between periods
cancel out, and so does what a setting leaves behind for the next one.

``collect_*`` and the on and off of ``rocksdb_perf`` take effect in a running OSD (design RUNNING).
RocksDB's tickers need the option at startup, and a thread that has once measured for
``rocksdb_perf`` goes on measuring when the option is off again; so the other design (RESTARTED)
restarts all OSDs for each period.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from least_squares import student
from regret_judge import Ratio

from rocksdb_tuner.judge.statistics import percent

OSDS = 4
PERF = 'rocksdb_perf'
COLLECT = (
    'rocksdb_collect_compaction_stats',
    'rocksdb_collect_extended_stats',
    'rocksdb_collect_memory_stats',
)
ALL = (PERF, *COLLECT)
RUNNING_ALL = 'all, running'
#: Of four treatments.
_WILLIAMS = (0, 1, 3, 2)
#: Intervals are of 95%, with two sides.
_TAIL = 0.025
PERF_DUMP, KV_STATS = 'perf dump', 'dump_objectstore_kv_stats'


@dataclass(frozen=True)
class Setting:
    """Statistics options of an OSD for a period."""

    name: str
    #: In the config store when the OSD starts.
    at_start: tuple[str, ...] = ()
    #: Enabled in the running OSD.
    running: tuple[str, ...] = ()
    #: Enabled in the running OSD for one reading, and disabled before the measurement.
    once: tuple[str, ...] = ()

    @property
    def _on(self) -> tuple[str, ...]:
        return (*self.at_start, *self.running)

    @property
    def answers(self) -> bool:
        """Whether `dump_objectstore_kv_stats` has an answer."""
        return PERF in self._on and bool({*COLLECT} & {*self._on})


@dataclass(frozen=True)
class Design:
    name: str
    #: The first is what the others are compared with.
    settings: tuple[Setting, ...]
    restarts: bool

    def setting(self, osd: int, period: int) -> Setting:
        return self.settings[(_WILLIAMS[period % OSDS] + osd) % OSDS]


RUNNING = Design(
    'running',
    (
        Setting('off'),
        Setting(PERF, running=(PERF,)),
        Setting('rocksdb_collect_*', running=COLLECT),
        Setting(RUNNING_ALL, running=ALL),
    ),
    restarts=False,
)
RESTARTED = Design(
    'restarted',
    (
        Setting('never on'),
        Setting('read once', once=ALL),
        Setting(RUNNING_ALL, running=ALL),
        Setting('all, at startup', at_start=ALL),
    ),
    restarts=True,
)
DESIGNS = (RUNNING, RESTARTED)


@dataclass(frozen=True)
class Cell:
    """The work of one OSD in one period."""

    design: str
    period: int
    osd: int
    setting: str
    seconds: float
    writes: int
    commits: int
    #: All writes together, from arrival to answer.
    waited_s: float
    #: By thread, see `THREADS`.
    cpu_s: Mapping[str, float]


@dataclass(frozen=True)
class Reading:
    """A command to one OSD, repeated."""

    design: str
    period: int
    osd: int
    setting: str
    command: str
    calls: int
    #: Of the thread that answers.
    cpu_s: float
    seconds: float
    #: Of one answer.
    answer_bytes: int


@dataclass(frozen=True)
class Run:
    version: str
    date: str
    machine: str
    machine_load: float
    rate_iops: int
    cells: tuple[Cell, ...]
    readings: tuple[Reading, ...]


KV_SYNC, WORKERS, ADMIN = 'bstore_kv_sync', 'tp_osd_tp', 'admin_socket'
BACKGROUND = ('rocksdb:high', 'rocksdb:low')
THREADS = (KV_SYNC, WORKERS, *BACKGROUND, ADMIN)
OSD_CPU = 'OSD CPU'
#: Each for one write.
FIGURES: Mapping[str, Callable[[Cell], float]] = {
    'kv_sync CPU': lambda did: did.cpu_s[KV_SYNC] / did.writes,
    'worker CPU': lambda did: did.cpu_s[WORKERS] / did.writes,
    'RocksDB CPU': lambda did: sum(did.cpu_s[name] for name in BACKGROUND) / did.writes,
    OSD_CPU: lambda did: did.cpu_s['all'] / did.writes,
    'latency': lambda did: did.waited_s / did.writes,
}


def cells_of(run: Run, design: Design) -> list[Cell]:
    """Of complete squares, which alone are balanced."""
    found = [cell for cell in run.cells if cell.design == design.name]
    whole = len({cell.period for cell in found}) // OSDS * OSDS
    return [cell for cell in found if cell.period < whole]


@dataclass(frozen=True)
class Effect:
    """A setting compared with the first one of its design."""

    setting: str
    change: Ratio


def effects(cells: Sequence[Cell], design: Design, figure: str) -> list[Effect]:
    """Of all settings but the first; none without a square, or if a value is not above 0.

    Logarithms are taken to be sums of an OSD, a period and a setting.
    """
    values = {(cell.osd, cell.period): FIGURES[figure](cell) for cell in cells}
    if not values or min(values.values()) <= 0:
        return []
    logs = {place: math.log(value) for place, value in values.items()}
    of_setting = {(cell.osd, cell.period): cell.setting for cell in cells}
    everything = statistics.fmean(logs.values())
    by_osd = _means(logs, {place: place[0] for place in logs})
    by_period = _means(logs, {place: place[1] for place in logs})
    by_setting = _means(logs, of_setting)
    squares = sum(
        (
            log
            - by_osd[place[0]]
            - by_period[place[1]]
            - by_setting[of_setting[place]]
            + 2 * everything
        )
        ** 2
        for place, log in logs.items()
    )
    freedom = len(logs) - len(by_osd) - len(by_period) - len(by_setting) + 2
    each = len(logs) // len(by_setting)
    half = student(_TAIL, freedom) * math.sqrt(squares / freedom * 2 / each)
    base = by_setting[design.settings[0].name]
    return [
        Effect(
            setting.name,
            Ratio(
                each,
                percent(by_setting[setting.name] - base),
                percent(by_setting[setting.name] - base - half),
                percent(by_setting[setting.name] - base + half),
            ),
        )
        for setting in design.settings[1:]
    ]


def _means(
    logs: Mapping[tuple[int, int], float], group: Mapping[tuple[int, int], object]
) -> dict[object, float]:
    return {
        name: statistics.fmean(log for place, log in logs.items() if group[place] == name)
        for name in set(group.values())
    }


@dataclass(frozen=True)
class Level:
    """A mean with its interval of 95%."""

    value: float
    half: float


def level(values: Sequence[float]) -> Level | None:
    """None for fewer than two values."""
    if len(values) < 2:
        return None
    half = student(_TAIL, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Level(statistics.fmean(values), half)


@dataclass(frozen=True)
class Cost:
    """The cost of a command to an OSD."""

    command: str
    setting: str
    calls: int
    cpu_ms: Level | None
    wall_ms: Level | None
    answer_bytes: float


def reading_costs(readings: Sequence[Reading]) -> list[Cost]:
    """By command and setting; the counters are the same with any setting."""
    groups: dict[tuple[str, str], list[Reading]] = {}
    for reading in readings:
        setting = '' if reading.command == PERF_DUMP else reading.setting
        groups.setdefault((reading.command, setting), []).append(reading)
    return [
        Cost(
            command,
            setting,
            sum(one.calls for one in of),
            level([1000 * one.cpu_s / one.calls for one in of]),
            level([1000 * one.seconds / one.calls for one in of]),
            statistics.fmean(one.answer_bytes for one in of),
        )
        for (command, setting), of in sorted(groups.items(), reverse=True)
    ]

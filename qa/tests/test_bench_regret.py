"""Regret from runs whose outcome is known; what is drawn is balanced; the page is current."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace

import bench_regret
import pytest
import results_page
from bench_choice_judge import Window
from regret_judge import LIMITING, T_95, Run, limiting, ratio, regret
from regret_trials import CLIENTS, DEFAULT, OSDS, TUNER, Cell, trial
from scipy.stats import t

from harness.workloads import complete

CELL = Cell('rbd-4k', 'pacific', 'one device')
PROFILES = ('lz4-2025', 'variant-2022-d')


def window(kv_sync_cpu_s: float) -> Window:
    return Window(
        seconds=90.0, writes=1000, wal_bytes=4_000_000, sst_bytes=0, kv_sync_cpu_s=kv_sync_cpu_s,
        rocksdb_cpu_s=kv_sync_cpu_s, rounds=500, rounds_s=1.0, waited_s=2.0, used_bytes=1e6,
        db_fill=None,
    )  # fmt: skip


def run(number: int, cpu_s: Mapping[str, float]) -> Run:
    return Run(
        trial=trial(CELL, number, PROFILES), version='16.2.15', date='2026-11-25T09:00+00:00',
        machine_load=1.0, advice='t', conclusion=None, options={name: name for name in cpu_s},
        did={name: window(spent) for name, spent in cpu_s.items()},
    )  # fmt: skip


def test_regret_is_the_excess_of_the_result_over_the_best() -> None:
    """The profile takes 20% less than the default, the tuner 10% less: 12.5% behind."""
    runs = [run(0, {DEFAULT: 1.0, TUNER: 0.9, 'lz4-2025': 0.8})]
    found = regret(runs)
    assert found is not None
    assert found.best == 'lz4-2025'
    assert found.percent == pytest.approx(12.5)


def test_unbeaten_default_is_the_best() -> None:
    """An end that is worse than the default is behind it, and an equal one is not."""
    worse = regret([run(0, {DEFAULT: 1.0, TUNER: 1.02, 'lz4-2025': 1.3})])
    assert worse is not None
    assert (worse.best, round(worse.percent, 6)) == (DEFAULT, 2.0)
    equal = regret([run(0, {DEFAULT: 1.0, TUNER: 1.0, 'lz4-2025': 1.3})])
    assert equal is not None
    assert equal.best == DEFAULT
    assert equal.percent == pytest.approx(0.0)


def test_default_as_result_is_neither_better_nor_worse_than_itself() -> None:
    """Two OSDs with the same set differ by noise, which must not count as a gain."""
    made = run(0, {DEFAULT: 1.0, TUNER: 0.9, 'lz4-2025': 0.95})
    found = regret([replace(made, options=dict.fromkeys(made.options, 'default'))])
    assert found is not None
    assert found.best == 'lz4-2025'
    assert found.percent == pytest.approx(100 / 0.95 - 100)


def test_no_regret_without_a_result_of_the_tuner() -> None:
    """Unknown is None, not 0."""
    assert regret([run(0, {DEFAULT: 1.0, 'lz4-2025': 0.8})]) is None


def test_interval_needs_two_runs_and_is_students() -> None:
    """With two runs of -10% and +10% in logarithms, t is 12.71."""
    runs = [run(n, {DEFAULT: 1.0, TUNER: math.exp(log)}) for n, log in enumerate((-0.1, 0.1))]
    one, both = ratio(runs[:1], TUNER, LIMITING), ratio(runs, TUNER, LIMITING)
    assert one is not None
    assert both is not None
    assert (one.low_percent, one.high_percent) == (None, None)
    assert both.percent == pytest.approx(0.0)
    assert both.high_percent == pytest.approx(100 * (math.exp(12.71 * 0.1) - 1))


def test_table_of_students_t_matches_scipy() -> None:
    exact = [t.ppf(0.975, degrees) for degrees in range(1, len(T_95) + 1)]
    assert list(T_95) == pytest.approx(exact, abs=0.005)


def test_interval_of_many_runs_uses_the_end_of_the_table() -> None:
    logs = [0.1 * (-1) ** n for n in range(40)]
    runs = [run(n, {DEFAULT: 1.0, TUNER: math.exp(log)}) for n, log in enumerate(logs)]
    many = ratio(runs, TUNER, LIMITING)
    assert many is not None
    assert many.high_percent is not None
    half = math.log(1 + many.high_percent / 100)
    assert half == pytest.approx(T_95[-1] * statistics.stdev(logs) / math.sqrt(40))


def test_each_set_visits_every_osd_once_in_a_full_cycle() -> None:
    """Differences between OSDs cancel out, and all profiles take turns."""
    for first in (0, OSDS):
        orders = [trial(CELL, number, PROFILES).order for number in range(first, first + OSDS)]
        for osd in range(OSDS):
            assert len({order[osd] for order in orders}) == OSDS
    assert {trial(CELL, n, PROFILES).profile for n in range(2 * OSDS)} == set(PROFILES)


@pytest.mark.parametrize('name', CLIENTS)
def test_clients_take_the_parameters_of_their_workload(name: str) -> None:
    for client in CLIENTS[name]:
        complete(client.workload, 60.0, client.parameters)
    programs = [client.workload for client in CLIENTS[name]]
    assert len({*programs}) == len(programs), 'two runs of one would overwrite each other'


def test_regret_is_of_the_resource_that_limited_most_runs() -> None:
    runs = [
        replace(run(n, {DEFAULT: 1.0}), limit=limit)
        for n, limit in enumerate(('db-device', 'db-device', 'kv-sync'))
    ]
    assert limiting(runs) == 'DB bytes'
    assert limiting([replace(runs[0], limit=None)]) == LIMITING


def test_completed_run_is_not_repeated() -> None:
    """A measurement that was stopped goes on where it was; other cells do not count."""
    made = [run(1, {DEFAULT: 1.0, TUNER: 1.0})]
    assert [t.number for t in bench_regret.due(made, CELL, 3)] == [0, 2]
    other = Cell('rgw-index', 'pacific', 'one device')
    assert [t.number for t in bench_regret.due(made, other, 2)] == [0, 1]


def test_committed_page_and_pictures_are_current() -> None:
    """Run "make measurements" after a new measurement or an edit of its text."""
    for path, content in results_page.files().items():
        assert path.read_text(encoding='utf-8') == content

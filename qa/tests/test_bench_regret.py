"""Regret from runs whose outcome is known; what is drawn is balanced; the page is current."""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import bench_regret
import pytest
import results_page
from bench_choice_judge import Window
from bench_choice_proof import read_results
from least_squares import Term, fit, student
from regret_judge import (
    LATENCY,
    LIMITING,
    MET,
    MISSED,
    OPEN,
    Effects,
    Run,
    against,
    change_of,
    contenders,
    judgment,
    limiting,
    logarithm,
)
from regret_trials import (
    CLIENTS,
    DEFAULT,
    FORMS,
    OSDS,
    PHASES,
    READ_ONLY,
    RELEASES,
    TUNER,
    WORKLOADS,
    Cell,
    cells,
    published,
    trial,
)

from harness.workloads import complete

CELL = Cell('rbd-4k', 'pacific', 'one device')
#: What the OSDs do for equal options: index and data are not spread alike.
SPREAD = (0.72, 1.28, 0.85, 1.0, 1.19, 0.94)
OTHERS = published('pacific')
#: Runs beside other work that took nearly all of the cores.
DATA = Path(__file__).parent / 'data/regret-unequal-osds.json'


def window(cost: float = 1.0, spread: float = 1.0, transactions: int = 10_000) -> Window:
    """``cost`` is of everything for each transaction; a client write is ``spread`` of them."""
    writes = max(1, round(transactions / spread))
    cpu_s, wal_bytes = 1e-4 * cost * transactions, 4000 * transactions
    return Window(
        seconds=45.0, writes=writes, wal_bytes=wal_bytes, sst_bytes=round(wal_bytes * cost),
        kv_sync_cpu_s=cpu_s, rocksdb_cpu_s=2 * cpu_s, rounds=500, rounds_s=1.0, waited_s=2.0,
        used_bytes=1e6 * cost, db_fill=None, transactions=transactions, ops=writes,
        ops_waited_s=1e-3 * writes * cost, osd_cpu_s=1e-3 * cost * writes,
    )  # fmt: skip


def run(
    number: int = 0,
    cost: Mapping[str, float] | None = None,
    *,
    changes: bool = True,
    levels: tuple[float, ...] = (1.0,) * OSDS,
    noise: float = 0.0,
    sets: tuple[str, ...] | None = None,
) -> Run:
    """``cost`` is by the name of the set, 1 by default; ``noise`` is of logarithms."""
    rng, known = random.Random(number), trial(CELL, number, sets)
    of = cost or {}

    def did(osd: int, name: str, phase_level: float) -> Window:
        chance = math.exp(rng.gauss(0.0, noise)) if noise else 1.0
        return window(of.get(name, 1.0) * levels[osd] * phase_level * chance, SPREAD[osd])

    phases = []
    for names in ((DEFAULT,) * OSDS, *known.phases):
        level = 1 + rng.random()
        phases.append(tuple(did(osd, name, level) for osd, name in enumerate(names)))
    options = {name: f'ttl={at}' for at, name in enumerate((DEFAULT, TUNER, *OTHERS), 1)}
    if not changes:
        options[TUNER] = options[DEFAULT]
    return Run(
        trial=known, version='16.2.15', date='2026-11-26T09:00+00:00', minutes=7.5,
        machine_load=1.0, others_cores=0.1, advice=options[TUNER] if changes else None,
        conclusion=None, limit='kv-sync', options=options, did=tuple(phases),
    )  # fmt: skip


def test_unequal_osds_with_equal_options_come_out_equal() -> None:
    """OSDs that are 28% less and more busy than others, and differ in cost, and no set does."""
    runs = [run(number, levels=SPREAD) for number in range(2)]
    per_write = [did.kv_sync_cpu_s / did.writes for did in runs[0].did[0]]
    assert max(per_write) / min(per_write) > 1.5
    for figure in ('kv-sync', 'cores', 'osd-cores', 'db-space', LATENCY):
        effects = Effects(runs, figure)
        for name in (TUNER, *OTHERS):
            found = effects.ratio(name)
            assert found is not None
            assert found.percent == pytest.approx(0.0, abs=1e-6), figure


def test_recorded_osds_with_equal_options_come_out_equal() -> None:
    """The tuner ended with the default: if it counts as a set of its own, it has no effect."""
    for made, differ in zip(bench_regret.read_runs(DATA), (1.2, 3.3)):
        assert made.end == DEFAULT
        per_write = [did.kv_sync_cpu_s / did.writes for did in made.did[0]]
        assert max(per_write) / min(per_write) > differ
        other = replace(made, options={**made.options, TUNER: 'ttl=1'})
        for figure in ('kv-sync', 'cores', 'osd-cores', 'db-space'):
            found = Effects([other], figure).ratio(TUNER)
            assert found is not None
            assert abs(found.percent) < 6, (made.trial.name, figure)


def test_transactions_are_the_denominator_where_index_and_data_are_apart() -> None:
    """Under S3; a put is a transaction on one OSD, and two of the index on another."""
    _, of_s3 = bench_regret.read_runs(DATA)
    assert of_s3.trial.cell.workload == 's3-hybrid'
    first = of_s3.did[0]
    for work, differ in (('writes', 2.38), ('transactions', 0.10)):
        found = [did.kv_sync_cpu_s / getattr(did, work) for did in first]
        assert max(found) / min(found) - 1 == pytest.approx(differ, abs=0.01)


@pytest.mark.parametrize('figure', ['kv-sync', 'db-device', 'db-space', 'osd-cores', LATENCY])
def test_effect_of_a_set_is_found_on_unequal_osds(figure: str) -> None:
    levels = SPREAD if figure != 'db-device' else (1.0,) * OSDS
    found = Effects([run(0, {'lz4-2025': 0.8}, levels=levels)], figure).ratio('lz4-2025')
    assert found is not None
    if figure == 'db-device':
        assert found.percent < -5
    else:
        assert found.percent == pytest.approx(-20.0)


def test_interval_has_the_truth_as_often_as_it_says() -> None:
    """Of unequal OSDs with 2% noise; 95% of 100 runs would be 95."""
    held = 0
    for number in range(100):
        made = run(number, {'variant-2022-d': 0.95}, levels=SPREAD, noise=0.02)
        found = Effects([made], LIMITING).ratio('variant-2022-d')
        assert found is not None
        assert found.low_percent is not None
        assert found.high_percent is not None
        held += found.low_percent <= -5.0 <= found.high_percent
    assert 88 <= held <= 99


def test_noisy_run_beside_a_quiet_one_neither_spoils_it_nor_is_believed() -> None:
    """15% noise beside 2%: the interval is about that of the quiet run, and has the truth in it."""
    held, widths = 0, []

    def interval(*runs: Run) -> tuple[float, float]:
        found = Effects(runs, LIMITING).ratio('variant-2022-d')
        assert found is not None
        assert found.low_percent is not None
        assert found.high_percent is not None
        return found.low_percent, found.high_percent

    for number in range(0, 200, 2):
        cost = {'variant-2022-d': 0.95}
        quiet = run(number, cost, levels=SPREAD, noise=0.02)
        alone = interval(quiet)
        both = interval(run(number + 1, cost, levels=SPREAD, noise=0.15), quiet)
        held += both[0] <= -5.0 <= both[1]
        widths.append((both[1] - both[0]) / (alone[1] - alone[0]))
    assert 88 <= held <= 99
    assert statistics.fmean(widths) < 1.1
    assert max(widths) < 1.5


def test_interval_of_the_regret_has_the_truth_as_often_as_it_says() -> None:
    """The best of nine noisy figures is not taken at its word."""
    held = 0
    for number in range(60):
        made = run(number, {'lz4-2025': 0.98}, changes=False, noise=0.02)
        found = Effects([made], LIMITING).regret()
        assert found is not None
        assert found.low_percent is not None
        assert found.high_percent is not None
        held += found.low_percent <= 100 / 0.98 - 100 <= found.high_percent
    assert held >= 55


def test_own_level_helps_recorded_osds() -> None:
    """Two OSDs that ran equal options, then two sets in turn: both turns must agree."""
    runs, _ = read_results(bench_regret.BENCH / 'results/choice-proof.json')
    raw, own = [], []
    for proof in runs:
        if len(proof.first) < 3:
            continue
        before, first, second = (
            math.log(a.figure('kv-sync') / b.figure('kv-sync'))
            for a, b in zip(proof.first, proof.second)
        )
        raw.append((first + second) / 2)
        own.append((first + second) / 2 - before)
    assert len(raw) == 12

    def spread(halves: list[float]) -> float:
        return 100 * math.sqrt(statistics.fmean(half * half for half in halves))

    assert (round(spread(raw), 1), round(spread(own), 1)) == (9.5, 3.4)


def test_regret_is_the_excess_of_the_result_over_the_best() -> None:
    """The profile takes 20% less than the default, the tuner 10% less: 12.5% behind."""
    found = Effects([run(0, {TUNER: 0.9, 'lz4-2025': 0.8})], LIMITING).regret()
    assert found is not None
    assert found.best == 'lz4-2025'
    assert found.percent == pytest.approx(12.5)


def test_unbeaten_default_is_the_best() -> None:
    worse = Effects([run(0, {TUNER: 1.02})], LIMITING).regret()
    assert worse is not None
    assert worse.percent == pytest.approx(2.0)
    dear = dict.fromkeys(OTHERS, 1.3)
    only = Effects([run(0, {TUNER: 1.02, **dear})], LIMITING).regret()
    assert only is not None
    assert only.best == DEFAULT


def test_best_end_has_no_regret() -> None:
    found = Effects([run(0, {TUNER: 0.5})], LIMITING).regret()
    assert found is not None
    assert (found.best, found.percent) == (TUNER, 0.0)


def test_default_as_result_is_neither_better_nor_worse_than_itself() -> None:
    """Two OSDs with the same set differ by noise, which must not count as a gain."""
    runs = [run(0, {'lz4-2025': 0.95}, changes=False, levels=SPREAD, noise=0.001)]
    assert TUNER not in Effects(runs, LIMITING).names
    change = Effects(runs, LIMITING).ratio(TUNER)
    assert change is not None
    assert (change.percent, change.low_percent, change.high_percent) == (0.0, 0.0, 0.0)
    found = Effects(runs, LIMITING).regret()
    assert found is not None
    assert found.best == 'lz4-2025'
    assert found.percent == pytest.approx(100 / 0.95 - 100, abs=0.3)


def test_recommended_profile_is_the_same_set() -> None:
    made = run(0, {TUNER: 0.9, 'lz4-2025': 0.9})
    made = replace(made, options={**made.options, TUNER: made.options['lz4-2025']})
    assert made.end == 'lz4-2025'
    assert TUNER not in Effects([made], LIMITING).names


def test_change_in_one_of_two_runs_counts_half() -> None:
    runs = [run(0, {TUNER: 0.81}), run(1, changes=False)]
    found = Effects(runs, LIMITING).ratio(TUNER)
    assert found is not None
    assert found.percent == pytest.approx(-10.0)


def test_osd_that_hardly_worked_has_no_figure() -> None:
    """A metadata journal may be on other OSDs: their figures still count."""
    assert logarithm(window(transactions=20), LIMITING) is None
    assert logarithm(window(transactions=20), 'db-space') is not None
    idle = replace(window(), ops=0, ops_waited_s=0.0, osd_cpu_s=0.0)
    assert logarithm(idle, LATENCY) is None
    assert logarithm(idle, LIMITING) is not None
    made = run(0, {'lz4-2025': 0.8}, levels=SPREAD)
    first = (window(transactions=0), *made.did[0][1:])
    found = Effects([replace(made, did=(first, *made.did[1:]))], LIMITING).ratio('lz4-2025')
    assert found is not None
    assert found.percent == pytest.approx(-20.0)


def test_nothing_is_said_without_figures() -> None:
    made = run(0)
    idle = tuple(tuple(window(transactions=0) for _ in phase) for phase in made.did)
    nothing = Effects([replace(made, did=idle)], LIMITING)
    assert nothing.ratio(TUNER) is None
    assert nothing.regret() is None
    judged = judgment([replace(made, did=idle)])
    assert (judged.near_best, judged.unharmed) == (OPEN, OPEN)


def test_without_a_flush_nothing_is_known_of_the_bytes() -> None:
    made = run(0)
    dry = tuple(tuple(replace(did, sst_bytes=0) for did in phase) for phase in made.did)
    assert Effects([replace(made, did=dry)], 'db-device').ratio('lz4-2025') is None
    assert Effects([made], 'db-device').ratio('lz4-2025') is not None


def test_goal_is_met_or_missed_only_by_the_whole_interval() -> None:
    assert against(3.0, 0.0, 3.0) == MET
    assert against(3.0, 3.1, 9.0) == MISSED
    assert against(3.0, 0.0, 3.1) == OPEN
    assert against(3.0, None, None) == OPEN


def test_judgment_has_both_goals() -> None:
    """An end that takes 10% more than the default, and clients wait 10% longer."""
    judged = judgment([run(n, {TUNER: 1.1}, noise=0.001) for n in range(2)])
    assert (judged.near_best, judged.unharmed) == (MISSED, MISSED)
    assert judged.clients is not None
    assert judged.clients.percent == pytest.approx(10.0, abs=0.5)
    none = judgment([run(0, {'variant-2022-a': 1.5}, changes=False, noise=0.001)])
    assert (none.near_best, none.clients, none.unharmed) == (MET, None, MET)


def test_geometric_mean_needs_two_for_an_interval() -> None:
    one, both = change_of([0.1]), change_of([-0.1, 0.1])
    assert one is not None
    assert both is not None
    assert (one.low_percent, one.high_percent) == (None, None)
    assert both.high_percent == pytest.approx(100 * math.expm1(12.706 * 0.1), rel=1e-4)
    assert change_of([]) is None


@pytest.mark.parametrize('release', RELEASES)
def test_each_published_profile_takes_turns_on_all_osds(release: str) -> None:
    profiles = published(release)
    assert len(profiles) == 8
    known = trial(Cell('rbd-4k', release, 'one device'), 3)
    count = Counter(name for phase in known.phases for name in phase)
    assert count == {DEFAULT: PHASES, TUNER: PHASES, **dict.fromkeys(profiles, 2)}
    for phase in known.phases:
        assert len({*phase}) == OSDS
    places = Counter((osd, name) for phase in known.phases for osd, name in enumerate(phase))
    assert max(places.values()) == 1, 'a set is on an OSD once'


def test_one_run_determines_all_effects() -> None:
    made = run(0, noise=0.01)
    effects = Effects([made], LIMITING)
    assert {*effects.names} == {TUNER, *OTHERS}
    for name in effects.names:
        found = effects.ratio(name)
        assert found is not None
        assert found.low_percent is not None


def test_documented_precision_is_that_of_the_design() -> None:
    """Half of the interval for residuals of 1%, as `bench_regret.py` has it."""
    (line,) = [one for one in bench_regret.__doc__.splitlines() if 'published profile ' in one]
    documented = [float(word) for word in line.split()[-4:]]
    exact = []
    for count in range(1, 5):
        rows: list[Term] = []
        for number in range(count):
            phases = ((DEFAULT,) * OSDS, *trial(CELL, number).phases)
            rows += [
                dict.fromkeys(
                    (('phase', number, at), ('osd', number, osd), *{name} - {DEFAULT}), 1.0
                )
                for at, phase in enumerate(phases)
                for osd, name in enumerate(phase)
            ]
        design = replace(fit(rows, [0.0] * len(rows)), variance=1.0)
        found = [design.difference({TUNER: 1.0, name: -1.0}) for name in OTHERS]
        errors = [one.standard_error for one in found if one is not None]
        exact.append(max(errors) * student(0.025, design.degrees))
    assert documented == pytest.approx(exact, abs=0.06)


@pytest.mark.parametrize('name', CLIENTS)
def test_clients_take_the_parameters_of_their_workload(name: str) -> None:
    for client in CLIENTS[name]:
        complete(client.workload, 60.0, client.parameters)
    programs = [client.workload for client in CLIENTS[name]]
    assert len({*programs}) == len(programs), 'two runs of one would overwrite each other'


def test_regret_is_of_the_resource_that_limited_most_runs() -> None:
    limits = ('db-device', 'db-device', 'kv-sync')
    runs = [replace(run(n), limit=limit) for n, limit in enumerate(limits)]
    assert limiting(runs) == 'db-device'
    assert limiting([replace(runs[0], limit='cores')]) == 'cores'
    assert limiting([replace(runs[0], limit='none')]) == LIMITING
    reads = replace(runs[0].trial, cell=Cell(next(iter(READ_ONLY)), 'reef', 'one device'))
    assert limiting([replace(runs[0], trial=reads)]) == 'osd-cores'


def test_completed_run_is_not_repeated() -> None:
    """A measurement that was stopped goes on where it was; other cells do not count."""
    made = [run(1)]
    assert [t.number for t in bench_regret.due(made, [CELL], 3)] == [0, 2]
    other = Cell('rgw-index', 'pacific', 'one device')
    assert [t.number for t in bench_regret.due(made, [other], 2)] == [0, 1]


def test_all_cells_are_run_once_before_any_is_run_twice() -> None:
    wanted = [cell for cell in cells() if cell.form == 'one device']
    due = list(bench_regret.due([run(0)], wanted, 2))
    every = 3 * len(WORKLOADS)
    assert len(due) == 2 * every - 1
    assert all(planned.number == 0 for planned in due[: every - 1])
    assert due[every - 1].cell == CELL
    assert due[every - 1].number == 1
    assert len({planned.name for planned in due}) == len(due)


@pytest.mark.parametrize(
    ('order', 'planned'),
    [
        ('', ['rbd-4k, pacific, one device, run 1']),
        ('--release reef', ['rbd-4k, reef, one device, run 0', 'rbd-4k, reef, one device, run 1']),
        ('--recorded', ['rbd-4k, pacific, one device, run 1']),
        ('--recorded --release reef', []),
        ('--all --cells 1', ['rbd-4k, pacific, one device, run 1']),
    ],
)
def test_plan_has_the_runs_that_are_not_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    order: str,
    planned: list[str],
) -> None:
    results = tmp_path / 'regret.json'
    results.write_text(json.dumps(bench_regret.document([run(0)])))
    words = ['bench_regret.py', '--out', str(results), 'plan', '--runs', '2', *order.split()]
    monkeypatch.setattr(sys, 'argv', words)
    assert bench_regret.main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition(': ')[2] for line in shown] == planned


def test_each_release_and_each_workload_is_among_the_first_cells() -> None:
    """Those of three hours."""
    first = list(cells())[:21]
    assert {cell.workload for cell in first} == {*WORKLOADS}
    assert {(cell.workload, cell.release) for cell in first} >= {
        (load, release) for load in ('rbd-4k', 's3-hybrid') for release in RELEASES
    }
    assert len({*cells()}) == len(list(cells())) == len(WORKLOADS) * 3 * len(FORMS)


def test_cell_is_decided_when_both_goals_are() -> None:
    dear = dict.fromkeys(OTHERS, 1.2)
    assert not bench_regret.decided([], CELL)
    assert bench_regret.decided([run(0, dear, changes=False, noise=0.001)], CELL)
    assert not bench_regret.decided([run(0, changes=False, noise=0.1)], CELL)


def test_next_run_is_of_the_sets_that_may_be_better() -> None:
    """With few of them the tuner's end has some of the places."""
    dear = dict.fromkeys(OTHERS, 1.2)
    close = {**dear, 'lz4-2025': 0.97, 'variant-2022-a': 0.97}
    made = run(0, close, changes=False, noise=0.001)
    assert contenders([]) is None
    assert contenders([run(0, dear, changes=False, noise=0.001)]) is None, 'decided'
    few = contenders([made])
    assert few is not None
    assert {*few} == {'lz4-2025', 'variant-2022-a', TUNER}
    count = Counter(name for phase in trial(CELL, 1, few).phases for name in phase)
    assert count[DEFAULT] == PHASES
    assert sum(count.values()) == PHASES * OSDS
    assert min(count[name] for name in few) >= 5
    all_of_them = contenders([run(0, changes=False, noise=0.1)])
    assert all_of_them is not None
    assert {*all_of_them} == {*OTHERS}


def test_next_run_compares_the_default_where_clients_may_lose() -> None:
    """The end is the best by far, but what clients see of it is open."""
    made = run(0, {**dict.fromkeys(OTHERS, 1.3), TUNER: 0.9}, noise=0.001)
    chance = random.Random(1)

    def waits(did: Window) -> Window:
        return replace(did, ops_waited_s=1e-3 * did.writes * chance.uniform(0.9, 1.2))

    noisy = tuple(tuple(map(waits, windows)) for windows in made.did)
    assert contenders([replace(made, did=noisy)]) == (DEFAULT, TUNER)


def test_focused_runs_find_what_others_find() -> None:
    """A second run of the undecided sets alone narrows their intervals."""
    cost = {**dict.fromkeys(OTHERS, 1.1), 'lz4-2025': 0.99, 'variant-2022-c': 0.99}
    first = run(0, cost, changes=False, noise=0.02, levels=SPREAD)
    few = contenders([first])
    assert few is not None

    def half(runs: list[Run]) -> float:
        found = Effects(runs, LIMITING).ratio('lz4-2025')
        assert found is not None
        assert found.low_percent is not None
        assert found.high_percent is not None
        assert found.low_percent < -1.0 < found.high_percent
        return found.high_percent - found.low_percent

    focused = run(1, cost, changes=False, noise=0.02, levels=SPREAD, sets=few)
    assert half([first, focused]) < half([first, run(1, cost, changes=False, noise=0.02)])
    assert {*Effects([first, focused], LIMITING).names} == {*OTHERS}


def test_minutes_are_those_of_the_closest_runs() -> None:
    other = Cell('s3-hybrid', 'reef', 'one device')
    assert bench_regret.minutes_of([], other) == bench_regret.USUAL_MINUTES
    assert bench_regret.minutes_of([run(0)], other) == 7.5
    close = replace(run(1), minutes=9.0)
    assert bench_regret.minutes_of([run(0), close, close], CELL) == 9.0


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [run(1, noise=0.01), run(0, changes=False)]
    path = tmp_path / 'regret.json'
    path.write_text(json.dumps(bench_regret.document(runs)))
    assert bench_regret.read_runs(path) == [runs[1], runs[0]]
    assert bench_regret.read_runs(tmp_path / 'none.json') == []
    assert asdict(runs[0])['trial']['cell'] == asdict(CELL)


def test_summary_says_what_is_missed_and_what_is_open() -> None:
    other = Cell('rbd-16k', 'reef', 'one device')
    text = results_page.summary(
        {
            CELL: [run(n, {TUNER: 1.1}, noise=0.001) for n in range(2)],
            other: [run(0, changes=False, noise=0.05)],
        }
    )
    assert 'on the limiting resource: met in 0 of 2 cells.' in text
    assert 'Missed (1): rbd-4k, pacific, one device.' in text
    assert 'has the bound in it (1): rbd-16k, reef, one device.' in text
    assert 'above the default: met in 1 of 2 cells.' in text
    assert 'no change' in text
    assert results_page.summary({}).startswith('No cell was measured yet.')


def test_report_has_a_line_for_each_set() -> None:
    lines = bench_regret.report([run(0, {'lz4-2025': 0.8}, noise=0.001)])
    assert lines[0].startswith('rbd-4k, pacific, one device (runs: 1): regret of the kv_sync CPU ')
    assert len(lines) == 1 + 1 + len(OTHERS)
    assert all('(one run)' not in line for line in lines)


def test_committed_page_and_pictures_are_current() -> None:
    """Run "make results" after a new measurement or an edit of its text."""
    for path, content in results_page.files().items():
        assert path.read_text(encoding='utf-8') == content

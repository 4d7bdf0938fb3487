"""Cost of statistics on OSDs, from cells with a known effect; the comparison is balanced."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest
from bench_osd_cost import report, run_of
from osd_cost_design import (
    ALL,
    DESIGNS,
    FIGURES,
    KV_STATS,
    OSD_CPU,
    OSDS,
    PERF_DUMP,
    RESTARTED,
    RUNNING,
    RUNNING_ALL,
    THREADS,
    Cell,
    Design,
    Reading,
    Run,
    cells_of,
    effects,
    level,
    reading_costs,
)

Cpu = Callable[[int, int, str], float]


def cells(design: Design, periods: int, cpu_s: Cpu) -> list[Cell]:
    found = []
    for period in range(periods):
        for osd in range(OSDS):
            name = design.setting(osd, period).name
            spent = cpu_s(osd, period, name)
            found.append(
                Cell(
                    design=design.name, period=period, osd=osd, setting=name, seconds=60.0,
                    writes=10_000, commits=5_000, waited_s=10 * spent,
                    cpu_s=dict.fromkeys((*THREADS, 'all'), spent),
                )
            )  # fmt: skip
    return found


def run(made: list[Cell], readings: tuple[Reading, ...] = ()) -> Run:
    return Run('16.2.15', '2026-11-26T03:00+00:00', '2 cores', 1.5, 800, tuple(made), readings)


@pytest.mark.parametrize('design', DESIGNS)
def test_each_square_is_balanced(design: Design) -> None:
    """Each OSD and each period has each setting once, and each follows each other one once."""
    for first in (0, OSDS):
        periods = range(first, first + OSDS)
        for osd in range(OSDS):
            assert len({design.setting(osd, period).name for period in periods}) == OSDS
        for period in periods:
            assert len({design.setting(osd, period).name for osd in range(OSDS)}) == OSDS
        followed = Counter(
            (design.setting(osd, period).name, design.setting(osd, period + 1).name)
            for osd in range(OSDS)
            for period in periods[:-1]
        )
        assert set(followed.values()) == {1}
        assert len(followed) == OSDS * (OSDS - 1)


def test_every_option_of_the_module_is_compared() -> None:
    from rocksdb_tuner.deep.reader import OPTIONS  # noqa: PLC0415

    assert set(ALL) == set(OPTIONS)
    assert {option for setting in RUNNING.settings for option in setting.running} == set(OPTIONS)
    assert RESTARTED.settings[-1].at_start == ALL


def test_only_settings_with_both_kinds_of_options_have_an_answer() -> None:
    """Otherwise an OSD has nothing to dump, and the duration of that is no cost."""
    assert [setting.answers for setting in RUNNING.settings] == [False, False, False, True]
    assert [setting.answers for setting in RESTARTED.settings] == [False, False, True, True]


@pytest.mark.parametrize('figure', FIGURES)
def test_effect_is_found_beside_differences_of_osds_and_periods(figure: str) -> None:
    """OSDs that differ by a factor of four and periods that differ by two do not disturb it."""

    def spent(osd: int, period: int, name: str) -> float:
        return (1 + osd) * (1 + 0.1 * period) * (1.05 if name == RUNNING_ALL else 1.0)

    found = {
        effect.setting: effect.change
        for effect in effects(cells(RUNNING, 2 * OSDS, spent), RUNNING, figure)
    }
    assert found[RUNNING_ALL].percent == pytest.approx(5.0)
    assert found[RUNNING_ALL].low_percent == pytest.approx(5.0)
    assert found['rocksdb_perf'].percent == pytest.approx(0.0)


def test_intervals_hold_the_effect_as_often_as_they_say() -> None:
    """Noise of 3%: of 400 intervals of 95%, at most one in 12 misses the truth."""
    draw = random.Random(17)
    missed = trials = 0
    for _ in range(200):
        made = cells(
            RESTARTED,
            OSDS,
            lambda osd, _period, name: (
                (1 + osd) * math.exp(draw.gauss(0.1 if name == 'read once' else 0.0, 0.03))
            ),
        )
        for effect in effects(made, RESTARTED, OSD_CPU)[:2]:
            truth = 100 * math.expm1(0.1) if effect.setting == 'read once' else 0.0
            assert effect.change.low_percent is not None
            assert effect.change.high_percent is not None
            trials += 1
            missed += not effect.change.low_percent <= truth <= effect.change.high_percent
    assert trials == 400
    assert 0.02 <= missed / trials <= 1 / 12


def test_incomplete_square_does_not_count() -> None:
    """Its settings are not balanced."""
    made = run(cells(RUNNING, OSDS + 2, lambda *_: 1.0))
    assert {cell.period for cell in cells_of(made, RUNNING)} == set(range(OSDS))
    assert effects(cells_of(made, RESTARTED), RESTARTED, OSD_CPU) == []


def test_thread_without_work_has_no_ratio() -> None:
    """A window without a flush is not a gain of 100%."""
    made = cells(RUNNING, OSDS, lambda osd, *_: float(osd > 0))
    assert effects(made, RUNNING, OSD_CPU) == []


def reading(cpu_s: float, command: str = KV_STATS) -> Reading:
    return Reading('running', 0, 0, RUNNING_ALL, command, 10, cpu_s, 2 * cpu_s, 2048)


def test_cost_of_reading_is_that_of_a_call() -> None:
    costs = reading_costs([reading(0.02), reading(0.04), reading(0.01, PERF_DUMP)])
    assert [cost.command for cost in costs] == [PERF_DUMP, KV_STATS]
    assert costs[0].cpu_ms is None
    assert costs[1].cpu_ms is not None
    assert costs[1].wall_ms is not None
    assert costs[1].calls == 20
    assert costs[1].cpu_ms.value == pytest.approx(3.0)
    assert costs[1].cpu_ms.half == pytest.approx(12.7062 * 1.0, rel=1e-4)
    assert costs[1].wall_ms.value == pytest.approx(6.0)
    assert level([1.0]) is None


def test_results_round_trip() -> None:
    made = run(cells(RUNNING, OSDS, lambda *_: 1.0), (reading(0.1),))
    stored = json.loads(json.dumps(asdict(made)))
    assert run_of(stored) == made


def test_run_without_a_square_has_no_effect() -> None:
    made = replace(run(cells(RUNNING, 1, lambda *_: 1.0)), readings=())
    assert not any('%' in line for line in report(made))


def test_report_names_every_setting() -> None:
    made = run(
        [cell for design in DESIGNS for cell in cells(design, OSDS, lambda *_: 1.0)],
        (reading(0.1),),
    )
    text = '\n'.join(report(made))
    assert all(setting.name in text for design in DESIGNS for setting in design.settings)
    assert KV_STATS in text

"""Tables of the costs on OSDs and of the time to truth; what is not measured is said to be so."""

from __future__ import annotations

from pathlib import Path

import cost_tables
import pytest
from bench_time_to_truth import Results
from osd_cost_design import DESIGNS, KV_STATS, OSDS, PERF, RUNNING_ALL, THREADS, Cell, Reading, Run
from time_to_truth_judge import Classes, Enabling, Event, Onset, Rollout, Taken

COSTS = {RUNNING_ALL: 1.1, PERF: 0.9}
CELLS = tuple(
    Cell(
        design=design.name, period=period, osd=osd, setting=name, seconds=60.0, writes=10_000,
        commits=5_000, waited_s=10.0, cpu_s=dict.fromkeys((*THREADS, 'all'), spent_s),
    )
    for design in DESIGNS
    for period in range(OSDS)
    for osd in range(OSDS)
    for name in [design.setting(osd, period).name]
    for spent_s in [COSTS.get(name, 1.0) * (1 + 0.001 * ((osd * 7 + period * 3) % 5))]
)  # fmt: skip
READING = Reading('running', 0, 0, RUNNING_ALL, KV_STATS, 10, 0.1, 0.2, 2048)
RUN = Run('16.2.15', '2026-11-26T03:00+00:00', '2 cores', 1.5, 800, CELLS, (READING, READING))

TAKEN = Taken('16.2.15', '2026-11-26T03:00+00:00', '2 cores', 1.5, 1)
ENABLING = Enabling(4.0, 6.0, 8.0, 9.5, ('stale-options',))
ONSET = Onset('s3-put', 'rgw-metadata', 10.0, 90.0, ((-3.0, 'idle'), (21.0, 'rgw-metadata')))
EVENTS = (
    Event(2.0, 'osd.0 gets its new options'),
    Event(4.0, 'osd.0 is restarting'),
    Event(94.0, 'osd.0 boot'),
    Event(98.0, 'osd.0 runs its new options'),
    Event(100.0, 'done'),
)


def rollout(phase: str) -> Rollout:
    return Rollout(
        taken=TAKEN, options={'soak_max': '0'}, recommendation='r', batches=((0,),),
        baseline_s=0.0, canary_s=0.0, batch_s=0.0, events=EVENTS, looks=(), phase=phase,
    )  # fmt: skip


def test_cost_table_has_every_setting_and_a_conclusion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_tables, '_runs', lambda: [RUN])
    shown = cost_tables.osd_cost()
    assert all(setting.name in shown for design in DESIGNS for setting in design.settings)
    assert '"all, running" compared with "off" costs' in shown
    assert '"rocksdb_perf" compared with "off" takes' in shown
    assert 'no cost shown' in shown
    assert KV_STATS in cost_tables.osd_reading()


def test_times_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(
        (Classes(TAKEN, ENABLING, (ONSET,)),), (rollout('done'), rollout('failed'))
    )  # fmt: skip
    monkeypatch.setattr(cost_tables, 'read', lambda _: results)
    assert 'rgw-metadata' in cost_tables.time_to_class()
    assert '``stale-options``' in cost_tables.time_to_finding()
    shown = cost_tables.time_of_rollout()
    assert '10.0%' in shown
    assert 'the rollout ended as failed' in shown
    assert 'The target is met in 0 of 1 rollouts.' in shown


def test_page_without_results_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cost_tables, 'TIMES', tmp_path / 'none.json')
    monkeypatch.setattr(cost_tables, '_runs', list)
    assert {made() for made in cost_tables.SECTIONS.values()} == {cost_tables.NONE}

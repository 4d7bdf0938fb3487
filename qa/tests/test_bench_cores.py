"""The runs that show which OSDs are short of cores: what is drawn, and what counts as proven."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bench_cores import RESULTS, read
from bench_cores_judge import group_of, verdicts
from bench_cores_runs import OsdSeen, Run, document, runs_of
from bench_cores_trials import DESIGN, KINDS, Load, Throttle, Trial, committed, drawn
from bench_cores_trials import document as draw_document

from rocksdb_tuner.advise.limit import limit_of
from rocksdb_tuner.advise.records import Resource


def test_committed_draw_matches_the_seed() -> None:
    """Held-out runs cannot be changed without a trace after they were evaluated."""
    assert committed() == drawn()
    assert json.loads(DESIGN.read_text()) == json.loads(json.dumps(draw_document(drawn())))


def test_half_of_each_kind_and_all_of_tentacle_are_held_out() -> None:
    """Neither thresholds nor their test are left without a kind of run."""
    first = [trial for trial in drawn() if trial.release == 'pacific']
    for kind in KINDS:
        held_out = [trial.held_out for trial in first if trial.kind == kind]
        assert sum(held_out) == len(held_out) // 2 > 0
    assert all(trial.held_out for trial in drawn() if trial.release == 'tentacle')
    assert len({trial.name for trial in drawn()}) == len(drawn())


def made(
    kind: str,
    hold: Throttle,
    cpu_s: float,
    waited_s: float,
    idle_first: float = 0.5,
    kv_sync_waited_s: float = 2.0,
) -> Run:
    trial = Trial('t', 'pacific', kind, hold, Load('write', 4, 32, 1))
    counters: dict[str, float | list[float]] = {'osd.op_w': 100, 'osd.op_w_latency': [1.5, 100]}
    osd = OsdSeen(0, 10.0, counters, cpu_s, waited_s, 0.1, kv_sync_waited_s)
    return Run(trial, '16.2.15', 0.5, idle_first, [osd])


@pytest.mark.parametrize(
    ('run', 'proven'),
    [
        # 2.6 s of the 3 s that an OSD may use in ten seconds.
        (made('cores', Throttle('cpu-quota', 30), 2.5, 9.0), True),
        (made('cores', Throttle('cpu-quota', 30), 2.4, 9.0), False),
        (made('cores', Throttle('cpu-shared', 1), 1.0, 0.5, 0.1), True),
        (made('cores', Throttle('cpu-shared', 1), 1.0, 0.5, 0.11), False),
        (made('device', Throttle('disk-mib', 1), 1.0, 5.0), True),
        (made('kv-sync', Throttle('slow-sync', 1), 1.0, 5.1), False),
        (made('kv-sync', Throttle('slow-sync', 1), 1.0, 5.0, 0.5, 2.1), False),
        (made('kv-sync', Throttle('kv-quota', 1), 1.0, 5.0, 0.5, 9.0), True),
    ],
)
def test_run_counts_only_if_the_intended_limit_held_clients_back(run: Run, proven: bool) -> None:
    """An OSD with a quota that it does not use is not short of cores, and a full machine is."""
    assert run.is_proven is proven


def test_results_round_trip() -> None:
    """Runs are made at different times, and added to those that are there."""
    run = made('cores', Throttle('cpu-quota', 30), 2.6, 0.5)
    runs = [run, replace(run, idle=0.4)]
    assert runs_of(json.loads(json.dumps(document(runs, None)))) == runs


@pytest.mark.parametrize('held_out', [False, True])
def test_no_run_of_pacific_is_misnamed(held_out: bool) -> None:
    """Cores are named only where they were short; where they were, it is they or nothing."""
    runs, first_looked = read(RESULTS)
    assert first_looked is not None
    found = verdicts(
        [r for r in runs if r.trial.held_out is held_out and r.trial.release == 'pacific']
    )
    assert [verdict.run.trial.name for verdict in found if verdict.is_wrong] == []
    named = [v for v in found if v.resource is Resource.CORES]
    short = [v for v in found if v.run.trial.kind == 'cores']
    assert len(short) / 2 <= len(named) <= len(short) < len(found)


def test_runs_with_enough_cores_never_blame_cores() -> None:
    """Tentacle prepares writes faster: a shortage is not seen there, and none is made up."""
    runs, _ = read(RESULTS)
    named = [r for r in runs if limit_of(group_of(r)).resource is Resource.CORES]
    assert {run.trial.kind for run in named} == {'cores'}
    assert {run.trial.release for run in named} == {'pacific'}

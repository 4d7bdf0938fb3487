"""The proof of the choice: what is drawn, what is forced, and when a run counts as right."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from bench_choice_judge import (
    Effect,
    Option,
    ProofRun,
    Reported,
    Weighed,
    Window,
    contradictions,
    forced,
    report,
)
from bench_choice_proof import _add, document, due, lean, read_results
from bench_choice_runs import Look, NotMadeError, effects_at, reported_by, spec_of, window
from bench_choice_trials import DESIGN, SCENARIOS, SEEDS, ProofTrial, committed, plan

from rocksdb_tuner.advise.strings import check
from rocksdb_tuner.options.hardware import Hardware
from rocksdb_tuner.options.verdict import find_release
from rocksdb_tuner.tests.advise.builders import workload
from rocksdb_tuner.tests.advise.test_choice import LZ4, RGW, case, osd

TRIALS = [trial for name in SEEDS for place in plan(name) for trial in place]


def test_committed_draw_matches_the_seed() -> None:
    for name in SEEDS:
        assert committed(name) == plan(name)
        assert len(plan(name)) == 15


def test_no_two_runs_have_the_same_sizes() -> None:
    assert len({(t.release, t.options, t.objects, t.keys) for t in TRIALS}) == len(TRIALS)
    assert {trial.scenario for trial in TRIALS} == set(SCENARIOS)


@pytest.mark.parametrize('trial', TRIALS, ids=lambda t: t.name)
def test_running_string_has_no_objections_at_the_start(trial: ProofTrial) -> None:
    """Warnings would be fixed first, whatever limits the OSDs."""
    version = find_release(trial.release).rocksdb_version
    hardware = Hardware(
        memory_target_bytes=1 << 30,
        wal_device_bytes=None,
        db_device_bytes=trial.db_bytes or None,
    )
    problems = check(trial.options, version, hardware).problems
    assert [p for p in problems if p.severity != 'info'] == []


def test_only_rotational_devices_count_as_hard_disks() -> None:
    """The idle OSD is of another class than those under load."""
    for trial in TRIALS:
        spec = spec_of(trial)
        assert spec.class_of_osd(0) == spec.class_of_osd(1) != spec.class_of_osd(2)
        assert (spec.class_of_osd(0) == 'hdd') is (trial.scenario == 'data-device')
        enforced = dict(spec.osd_conf).get('bluestore_debug_enforce_settings')
        assert (enforced == 'ssd') is (trial.scenario != 'data-device')


def look(at_s: float, writes: int, used_bytes: int = 0) -> Look:
    return Look(at_s, writes, 10 * writes, 5 * writes, writes / 1e4, writes / 5e3, writes, 1.0,
                writes / 50, used_bytes, None, 2 * writes, 4 * writes, writes / 25,
                writes / 1e3)  # fmt: skip


def test_window_has_the_difference_since_its_start() -> None:
    looks = [look(0, 0), look(10, 1000, 7), look(12, 2000, 8), look(14, 3500, 12)]
    found = window(looks, 10)
    assert (found.seconds, found.writes, found.wal_bytes) == (4, 2500, 25_000)
    assert found.used_bytes == pytest.approx(9)
    assert found.figure('db-device') == pytest.approx(1.5)
    assert found.figure('kv-sync') == pytest.approx(5e-5)
    assert found.figure('cores') == pytest.approx(1e-4)
    assert found.figure('osd-cores') == pytest.approx(2.5e-4)
    assert found.figure('db-space') == pytest.approx(9)
    assert found.figure('data-device') == pytest.approx(0.01)
    assert found.db_fill is None


def test_result_without_transactions_has_its_figures_per_write() -> None:
    """As it was recorded before the transactions were."""
    found = seen(writes=1000, kv_s=1.0, ms=9)
    assert found.figure('kv-sync') == pytest.approx(1e-3)
    assert found.figure('data-device') == pytest.approx(9e-3)
    with pytest.raises(ZeroDivisionError):
        found.figure('osd-cores')


@pytest.mark.parametrize(
    'looks',
    [[look(0, 0), look(12, 5000)], [look(n, n) for n in range(20)]],
    ids=['one sample', 'few writes'],
)
def test_window_without_work_is_no_run(looks: list[Look]) -> None:
    with pytest.raises(NotMadeError):
        window(looks, 10)


def effect(resource: str, estimate: float, reach: float = 2.0) -> Effect:
    return Effect(resource, estimate, estimate - reach, estimate + reach)


def weighed(name: str, *effects: Effect, origin: str = 'derived', chosen: bool = False) -> Weighed:
    return Weighed(name, origin, f'ttl={name}', chosen, False, effects)


def told(
    *candidates: Weighed, limit: str = 'kv-sync', recommended: tuple[str, ...] = ()
) -> Reported:
    resource = 'kv-sync' if candidates else None
    return Reported((limit,), 'rbd-small-write', resource, '', 0.1, 0.05, candidates, recommended)


RUNNING = weighed('0', origin='running')
#: Correct cases of each decision, and contradictions.
GAINS = effect('kv-sync', -20)
LOW_LOAD = effect('kv-sync', -10)


@pytest.mark.parametrize(
    ('message', 'complaints'),
    [
        (told(RUNNING, weighed('1', GAINS, chosen=True), recommended=('ttl=1',)), 0),
        (told(RUNNING, weighed('1', GAINS, chosen=True), recommended=('ttl=2',)), 1),
        (told(RUNNING, weighed('1', GAINS, chosen=True)), 1),
        (told(RUNNING, weighed('1', LOW_LOAD, chosen=True), recommended=('ttl=1',)), 1),
        (
            told(
                RUNNING,
                weighed('1', GAINS, effect('memory', 9), chosen=True),
                recommended=('ttl=1',),
            ),
            1,
        ),
        (told(RUNNING, weighed('1', LOW_LOAD)), 0),
        (told(RUNNING, weighed('1', GAINS)), 1),
        (told(RUNNING, weighed('1', GAINS, effect('memory', 9))), 0),
        (told(RUNNING, replace(weighed('1', GAINS), infeasible=True)), 0),
        # It was never run: for an experiment.
        (told(RUNNING, weighed('1', GAINS, origin='neighbor')), 0),
        (told(RUNNING, weighed('1', LOW_LOAD), recommended=('ttl=1',)), 1),
        (told(limit='data-device'), 0),
        (told(RUNNING, weighed('1', LOW_LOAD), limit='data-device'), 1),
        (told(limit='none', recommended=('ttl=1',)), 2),
    ],
)
def test_recommendation_follows_from_the_reported_facts(message: Reported, complaints: int) -> None:
    assert len(contradictions(message)) == complaints


def test_limit_of_most_samples_counts() -> None:
    message = told(RUNNING)
    assert replace(message, limits=('unknown', 'kv-sync', 'kv-sync')).limit == 'kv-sync'
    assert replace(message, limits=()).limit is None


def option(name: str, percent: float, cycle_s: float | None, origin: str = 'derived') -> Option:
    return Option(weighed(name, effect('db-device', percent), origin=origin), cycle_s)


def test_largest_change_within_the_window_is_forced() -> None:
    """Or else what shows first; what is out of the question, or changes nothing, never is."""
    out = Option(replace(weighed('5', effect('db-device', -80)), infeasible=True), 1.0)
    options = [
        option('0', -90, 1.0, origin='running'),
        option('1', -20, 10.0),
        option('2', 40, 30.0),
        option('3', -60, 31.0),
        option('4', -70, None),
        out,
    ]

    def name(options: list[Option], window_s: float) -> str | None:
        found = forced(options, 'db-device', window_s)
        return None if found is None else found.weighed.name

    assert name(options, 60) == '2'
    assert name(options, 62) == '3'
    assert name(options, 10) == '1'
    assert name([option('1', 0, 1.0), out], 60) is None
    assert forced(options, 'memory', 60) is None


def seen(
    writes: int = 1000, kv_s: float = 1.0, used: float = 100.0, round_ms: float = 3, ms: float = 9
) -> Window:
    return Window(
        60, writes, 1000, 1000, kv_s, 2 * kv_s, 1000, round_ms, writes * ms / 1e3, used, None
    )


def run_of(scenario: str, predicted: Effect, **more: Window) -> ProofRun:
    trial = next(trial for trial in TRIALS if trial.scenario == scenario)
    return ProofRun(
        trial=trial,
        version='16.2.15',
        date='2026-11-23',
        machine_load=2.0,
        told=told(RUNNING, weighed('1', LOW_LOAD), limit=scenario),
        idle=Reported(('none',), 'idle', None, '', 0.1, 0.05, (), ()),
        to_name='1',
        to_options='ttl=1',
        predicted=(predicted,),
        first=(more.get('before', seen()), more.get('changed', seen()), more.get('last', seen())),
        second=(seen(), more.get('beside', seen()), more.get('swapped', seen())),
    )


def test_change_is_compared_with_the_neighbor_osd_in_both_directions() -> None:
    """The second takes half as much again for a write, and all get slower meanwhile."""
    run = run_of(
        'kv-sync',
        effect('kv-sync', -8),
        changed=seen(kv_s=0.9),
        beside=seen(writes=500, kv_s=0.75),
        last=seen(kv_s=2.0),
        swapped=seen(writes=500, kv_s=1.35),
    )
    assert run.halves('kv-sync') == pytest.approx((0.6, 1.35))
    assert run.measured('kv-sync') == pytest.approx(-10)
    assert run.measured('db-device') == pytest.approx(0)
    assert run.effect_is_confirmed
    assert not replace(run, predicted=(effect('kv-sync', -3),)).effect_is_confirmed
    assert not replace(run, predicted=(effect('cores', -8),)).effect_is_confirmed


def test_runs_are_held_out_as_a_whole() -> None:
    run = run_of(
        'db-space', effect('db-space', -40), changed=seen(used=60.0), swapped=seen(used=60.0)
    )
    other = replace(run, second=(seen(), seen(), seen()))
    assert run.holds
    assert run.idle_is_confirmed
    assert not replace(run, told=replace(run.told, limits=('kv-sync',))).holds
    assert not replace(run, told=replace(run.told, recommended=('ttl=9',))).holds
    assert not other.holds
    assert not replace(run, idle=replace(run.idle, limits=('unknown',))).idle_is_confirmed
    assert 'all three: 1 of 2' in report([run, other])


@pytest.mark.parametrize(('ms', 'right'), [(9.8, True), (10.2, False), (8.2, True), (8.0, False)])
def test_hard_disks_confirm_that_no_option_set_helps(ms: float, right: bool) -> None:
    """Unless it makes writes a tenth slower or faster for clients."""
    run = run_of('data-device', effect('db-device', -40), changed=seen(ms=ms), swapped=seen(ms=ms))
    run = replace(run, told=told(limit='data-device'))
    assert run.holds is right


def test_only_the_reported_state_counts_for_idle_osds() -> None:
    run = replace(run_of('idle', effect('cores', 0)), first=(), second=(), predicted=())
    run = replace(run, told=told(limit='none'))
    assert run.holds
    assert not replace(run, told=told(limit='unknown')).holds
    assert not replace(run, told=replace(run.told, recommended=('ttl=9',))).holds
    assert 'all three: 1 of 1' in report([run])


@pytest.mark.parametrize(('round_ms', 'right'), [(4.9, False), (5.1, True)])
def test_slow_disk_excuses_only_one_limit(round_ms: float, right: bool) -> None:
    run = run_of('kv-sync', effect('kv-sync', 0), before=seen(round_ms=round_ms))
    run = replace(run, second=(seen(round_ms=round_ms), seen(), seen()))
    assert replace(run, told=replace(run.told, limits=('db-device',))).limit_is_confirmed is right
    assert not replace(run, told=replace(run.told, limits=('cores',))).limit_is_confirmed


def test_answers_of_the_module_are_parsed() -> None:
    group = {'workload': {'class': 'idle', 'confidence': 0.9}}
    decision = {
        'resource': 'kv-sync',
        'decision': {'because': 'Nothing to change'},
        'min_gain_percent': 10.0,
        'max_loss_percent': 5.0,
        'candidates': [
            {
                'name': 'derived', 'origin': 'derived', 'options': 'ttl=1', 'chosen': False,
                'infeasible': ['no room'],
                'effects': [{'resource': 'memory', 'estimate_percent': 1.0, 'low_percent': 0.0,
                             'high_percent': 2.0}],
            }
        ],
    }  # fmt: skip
    advice = [
        {'options_to': 'ttl=2', 'restart_required': True},
        {'options_to': 'ttl=3', 'restart_required': False},
    ]
    found = reported_by(['none'], group, decision, advice)
    assert (found.workload, found.recommended, found.min_gain) == ('idle', ('ttl=2',), 0.1)
    assert found.candidates[0].infeasible
    assert found.candidates[0].effect('memory') == Effect('memory', 1.0, 0.0, 2.0)
    assert math.isclose(found.candidates[0].effects[0].ratio.high, 1.02)


def test_results_round_trip(tmp_path: Path) -> None:
    """One after the other, with what could not be made; sets out of the question are left out."""
    out = tmp_path / 'results.json'
    first = run_of('kv-sync', effect('kv-sync', -8))
    second = run_of('cores', effect('cores', -8))
    _add(out, [second], [])
    _add(out, [], [{'trial': 'x', 'why': 'no cluster'}])
    _add(out, [first], [])
    runs, not_made = read_results(out)
    assert runs == [first, second]
    assert not_made == [{'trial': 'x', 'why': 'no cluster'}]
    assert document(runs, not_made)['runs'][0]['trial']['name'] == first.trial.name
    one_out = replace(first.told.candidates[1], infeasible=True)
    reported_out = replace(first.told, candidates=(RUNNING, one_out))
    assert lean(replace(first, told=reported_out)).told.candidates == (RUNNING,)


def test_wal_is_a_smaller_part_of_a_larger_database() -> None:
    """Compression then takes more of the whole."""
    plain = LZ4.options.replace('kLZ4Compression', 'kNoCompression')
    asked = case(osd(text=plain, signals={'db_used_bytes': 300 << 20}), does=workload(RGW))
    small, large = (
        next(e for e in effects_at(asked, LZ4.options, used) if e.resource == 'db-space')
        for used in (300 << 20, 3 << 30)
    )
    assert large.estimate < small.estimate < 0


def test_each_place_of_the_plan_is_made_once() -> None:
    """And again with the next seed, where a run could not be made."""
    first, second, third = plan('proof')[0]
    places = [[first, second, third]]
    assert due(places, set(), set()) == [first]
    assert due(places, set(), {first.name}) == [second]
    assert due(places, {second.name}, {first.name}) == []
    assert due(places, set(), {t.name for t in places[0]}) == []
    assert DESIGN.exists()

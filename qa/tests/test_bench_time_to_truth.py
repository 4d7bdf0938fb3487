"""Onsets and rollouts whose times are known; the parts of a rollout are its whole duration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from bench_time_to_truth import Results, report, results_of
from bench_time_to_truth_runs import SOAKS, WORKLOADS
from time_to_truth_judge import (
    Classes,
    Enabling,
    Event,
    Look,
    NotSplitError,
    Onset,
    Rollout,
    Taken,
    events_of,
    known,
    minimums,
    split,
)

from harness.workloads import complete
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.present.answers.rollout import soak_of
from rocksdb_tuner.settings import SETTINGS
from rocksdb_tuner.workload.records import WorkloadClass

TAKEN = Taken('16.2.15', '2026-11-26T03:00+00:00', '2 cores', 1.5, 2)
ENABLING = Enabling(4.0, 6.0, 8.0, 9.5, ('stale-options',))
#: Two OSDs, a soak of 60 s each, and a restart that leaves placement groups unclean for 3 s.
EVENTS = (
    (0.5, 'operator applies set-profile-1 (set-profile) for osd to 2 OSD(s), osd.1 first'),
    (2.0, 'planned -> preflight'),
    (65.0, 'preflight -> canary'),
    (65.0, 'osd.1 gets its new options'),
    (67.0, 'osd.1 is restarting'),
    (70.0, 'osd.1 boot'),
    (80.0, 'osd.1 runs its new options'),
    (82.0, 'canary -> soaking'),
    (205.0, 'soaking -> promoting'),
    (205.0, 'osd.0 gets its new options'),
    (207.0, 'osd.0 is restarting'),
    (211.0, 'osd.0 boot'),
    (219.0, 'osd.0 runs its new options'),
    (281.0, 'promoting -> collapsing'),
    (287.0, 'done'),
)
LOOKS = (
    Look(0.0, True, (None, None)),
    Look(71.0, False, (None, None)),
    Look(74.0, True, (None, None)),
    Look(200.0, True, ('pass', None)),
    Look(279.0, True, ('pass', 'inconclusive')),
)


def rollout(events: Sequence[tuple[float, str]] = EVENTS, looks: Sequence[Look] = LOOKS) -> Rollout:
    return Rollout(
        taken=TAKEN, options={'soak_min': '60'}, recommendation='set-profile-1',
        batches=((1,), (0,)), baseline_s=60.0, canary_s=60.0, batch_s=30.0,
        events=tuple(Event(*event) for event in events), looks=tuple(looks), phase='done',
    )  # fmt: skip


def test_parts_of_a_rollout_are_exact() -> None:
    """Baseline 2 to 62, soaks 80 to 200 and 219 to 279, restarts 67 to 74 and 207 to 211."""
    found = split(rollout())
    assert found.soak_s == pytest.approx(60 + 60 + 30)
    assert found.longer_s == pytest.approx(60 + 30)
    assert found.restarts_s == pytest.approx(7 + 4)
    assert found.own_s == pytest.approx(287 - 240 - 11)
    assert found.total_s == pytest.approx(287)
    assert found.share == pytest.approx(36 / 287)


def test_everything_but_restarts_is_the_modules_own_without_a_soak() -> None:
    looks = [replace(look, verdicts=(None, None)) for look in LOOKS]
    found = split(replace(rollout(looks=looks), baseline_s=0.0, canary_s=0.0, batch_s=0.0))
    assert (found.soak_s, found.longer_s) == (0.0, 0.0)
    assert found.own_s == pytest.approx(287 - 11)


def test_soak_without_a_verdict_lasts_until_the_next_change() -> None:
    """Batches that are not judged have none."""
    found = split(rollout(looks=LOOKS[:3]))
    assert found.soak_s + found.longer_s == pytest.approx(60 + (205 - 80) + (281 - 219))


def test_soak_that_ends_early_is_no_longer_than_it_was() -> None:
    found = split(replace(rollout(), canary_s=600.0))
    assert found.soak_s == pytest.approx(60 + 120 + 30)


def test_waiting_for_clean_placement_groups_is_part_of_the_restart() -> None:
    """They never were clean until the OSD was verified."""
    found = split(rollout(looks=(*LOOKS[:2], *LOOKS[3:])))
    assert found.restarts_s == pytest.approx((80 - 67) + 4)


def test_osd_that_did_not_boot_restarts_until_it_is_verified() -> None:
    found = split(rollout(events=[event for event in EVENTS if event[1] != 'osd.1 boot']))
    assert found.restarts_s == pytest.approx((80 - 67) + 4)


@pytest.mark.parametrize(
    'broken',
    [
        replace(rollout(), phase='waiting'),
        rollout(events=EVENTS[:-1]),
        rollout(events=EVENTS[-1:]),
        rollout(events=()),
    ],
)
def test_incomplete_rollout_is_not_split(broken: Rollout) -> None:
    with pytest.raises(NotSplitError):
        split(broken)


@pytest.mark.parametrize(
    ('plan', 'expected'),
    [
        (SoakPlan(60.0, 300.0, batches=SoakPlan(30.0, 90.0)), (60.0, 60.0, 30.0)),
        (SoakPlan(60.0, 300.0), (60.0, 60.0, 0.0)),
        (SoakPlan(60.0, 0.0, batches=SoakPlan(30.0, 90.0)), (0.0, 0.0, 0.0)),
    ],
)
def test_minimums_are_those_that_status_shows(
    plan: SoakPlan, expected: tuple[float, float, float]
) -> None:
    """Without a soak there is no baseline either."""
    shown = {**asdict(soak_of(plan, None)), 'baseline_least_s': plan.least_s}
    assert minimums(shown) == expected


LOG = """\
2026-11-26T03:00:00.000000+0000 mon.a (mon.0) 1 : cluster [INF] osd.1 [v2:127.0.0.1:1/2] boot
2026-11-26T03:00:12.500000+0000 mgr.x (mgr.41) 9 : cluster [INF] rocksdb_tuner: rollout r2: done
2026-11-26T03:00:11.000000+0000 mon.a (mon.0) 3 : cluster [INF] osd.3 [v2:127.0.0.1:1/2] boot
2026-11-26T03:00:11.500000+0000 mgr.x (mgr.41) 8 : cluster [WRN] rocksdb_tuner: rollout r2: waits
2026-11-26T03:00:11.700000+0000 mgr.x (mgr.41) 8 : cluster [INF] rocksdb_tuner: rollout r1: done
2026-11-26T03:00:11.800000+0000 mgr.x (mgr.41) 8 : cluster [INF] rocksdb_tuner: rollout r22: done
2026-11-26T03:00:12.000000+0000 mgr.x (mgr.41) 8 : cluster [DBG] pgmap v7: 1 pgs: 1 active+clean
not a line of the log
"""


def test_events_are_of_one_rollout_in_order() -> None:
    """Managers and monitors log at different times; lines from before the start are another's."""
    began_s = 1795662010.0
    assert events_of(LOG.splitlines(), 'r2', began_s) == [
        Event(1.0, 'osd.3 boot'),
        Event(1.5, 'waits'),
        Event(2.5, 'done'),
    ]


def onset(*classes: tuple[float, str | None]) -> Onset:
    return Onset('s3-put', 'rgw-metadata', 10.0, 90.0, classes)


def test_class_is_known_from_its_first_correct_look() -> None:
    found = known(onset((-3.0, 'idle'), (21.0, 'rgw-metadata')))
    assert (found.first_s, found.stays_s, found.others) == (21.0, 21.0, ())


def test_class_that_is_lost_in_between_stays_from_its_return() -> None:
    found = known(
        onset((-3.0, 'idle'), (10.0, 'mixed'), (21.0, 'rgw-metadata'), (40.0, 'mixed'),
              (50.0, 'rgw-metadata'), (95.0, 'idle'))
    )  # fmt: skip
    assert (found.first_s, found.stays_s, found.others) == (21.0, 50.0, ('mixed',))


@pytest.mark.parametrize('classes', [(), ((-3.0, 'idle'), (30.0, 'mixed')), ((5.0, None),)])
def test_class_that_was_never_right_is_not_known(
    classes: tuple[tuple[float, str | None], ...],
) -> None:
    found = known(onset(*classes))
    assert (found.first_s, found.stays_s) == (None, None)


def test_class_that_was_wrong_at_the_end_did_not_stay() -> None:
    found = known(onset((20.0, 'rgw-metadata'), (80.0, 'mixed')))
    assert (found.first_s, found.stays_s) == (20.0, None)


RESULTS = Results(
    (Classes(TAKEN, ENABLING, (onset((-3.0, 'idle'), (21.0, 'rgw-metadata')),)),),
    (rollout(), replace(rollout(), phase='failed')),
)


def test_results_round_trip() -> None:
    assert results_of(json.loads(json.dumps(asdict(RESULTS)))) == RESULTS


def test_workloads_and_classes_are_known() -> None:
    for name, expected in WORKLOADS.items():
        complete(name, 60.0, {})
        assert expected in {known_class.value for known_class in WorkloadClass}


def test_soaks_are_options_of_the_module() -> None:
    names = {setting.name for setting in SETTINGS}
    for options in SOAKS.values():
        assert set(options) <= names


def test_report_shows_rollouts_that_failed() -> None:
    text = '\n'.join(report(RESULTS))
    assert '12.5%' in text
    assert 'the rollout ended as failed' in text

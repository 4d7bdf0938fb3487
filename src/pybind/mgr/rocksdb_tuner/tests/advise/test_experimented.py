"""Results of experiments as evidence: they replace predictions, and a winner is recommended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.candidates import expected_usages, weighing
from rocksdb_tuner.advise.case import Case, Circumstances
from rocksdb_tuner.advise.facts import release_of_osd
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import MeasuredArm, Recommendation, Resource, Risk
from rocksdb_tuner.plan.records import Purpose

from .builders import PACIFIC, group, workload
from .experiment_builders import member
from .test_choice import RBD, D, case
from .test_policy import Row

CUSTOM = f'{PACIFIC},max_background_jobs=3'
WON = MeasuredArm(
    experiment_id='E7',
    time_s=1.77e9,
    name='mine',
    options=CUSTOM,
    options_from=PACIFIC,
    who='osd/class:ssd',
    release='pacific',
    workload='rbd-small-write',
    signal='kv_sync_ms_per_txn',
    change_percent=-13.0,
    low_percent=-18.0,
    high_percent=-6.0,
    won=True,
)


def members(text: str = PACIFIC) -> list[Any]:
    return [member(n, text=text) for n in range(4)]


def with_results(*measured: MeasuredArm, text: str = PACIFIC) -> Case:
    return case(*members(text), does=workload(RBD), measured=measured)


def assessed(*measured: MeasuredArm, text: str = PACIFIC, profiles: Any = ()) -> Any:
    osds = members(text)
    known = group(*osds, does=workload(RBD))
    return assess(known, Circumstances(osds, measured=measured, custom_profiles=profiles))


@pytest.mark.parametrize(
    'other',
    [
        {'who': 'osd/class:hdd'},
        {'release': 'reef'},
        {'workload': 'rgw-metadata'},
        {'workload': None},
        {'options_from': D.options},
        {'options': D.options},
    ],
)
def test_result_applies_to_its_group_release_workload_and_change(other: Any) -> None:
    assert with_results(WON).measured(PACIFIC, CUSTOM) == WON
    elsewhere = with_results(WON._replace(**other))
    assert elsewhere.measured(PACIFIC, CUSTOM) is None


def test_newest_result_of_a_change_counts() -> None:
    """An experiment that no longer finds a gain takes the recommendation back."""
    later = WON._replace(experiment_id='E9', time_s=1.78e9, won=False, change_percent=1.0)
    for order in ((WON, later), (later, WON)):
        assert with_results(*order).measured(PACIFIC, CUSTOM) == later
        assert with_results(*order).winner is None
    assert with_results(WON).winner == WON


@pytest.mark.parametrize(
    ('signal', 'resource'),
    [
        ('kv_sync_ms_per_txn', Resource.KV_SYNC),
        ('db_bytes_per_txn', Resource.DB_DEVICE),
        ('db_used_bytes', Resource.DB_SPACE),
        ('op_w_latency_ms', None),
    ],
)
def test_measured_interval_replaces_the_prediction(
    signal: str, resource: Optional[Resource]
) -> None:
    arm = WON._replace(options=D.options, signal=signal)
    modeled = {u.resource: u.ratio for u in expected_usages(with_results(), D.options)}
    found = {u.resource: u.ratio for u in expected_usages(with_results(arm), D.options)}
    changed = {name for name in found if found[name] != modeled[name]}
    assert changed == ({resource} if resource else set())
    if resource is not None:
        assert found[resource].ends == pytest.approx((0.82, 0.87, 0.94))


def test_candidates_name_the_experiment_that_measured_them() -> None:
    arm = WON._replace(options=D.options)
    found = weighing(with_results(arm))
    assert {w.name: w.measured_in for w in found.weighed}[D.name] == 'E7'
    assert weighing(with_results()).weighed[1].measured_in is None


def test_winner_is_recommended_with_its_interval_whatever_the_model_predicts() -> None:
    own = replace(D, name='e7-winner', options=CUSTOM, own_releases=('pacific',))
    found = assessed(WON, profiles=(own,))
    (advice,) = found.recommendations
    assert isinstance(advice, Recommendation)
    assert (advice.profile, advice.risk) == ('e7-winner', Risk.MEDIUM)
    prediction = advice.predictions[0]
    assert (prediction.metric, prediction.signal) == ('kv_sync time per write', 'kv_sync_busy')
    assert (prediction.low_percent, prediction.high_percent) == (-18.0, -6.0)
    assert prediction.basis.startswith('experiment: experiment E7 on this cluster, 2026-02-')
    assert advice.reasons[0].statement == (
        'In experiment E7 the new options changed the kv_sync time per write by -13% (-18 to -6%).'
    )
    assert advice.change is not None
    assert advice.change.promised == 'kv_sync_ms_per_txn'
    assert advice.change.purpose is Purpose.GAIN
    assert [p.metric for p in advice.predictions].count('kv_sync thread time per write') == 0


@pytest.mark.parametrize(
    ('work', 'from_default', 'stays'),
    [
        ('rbd busy 72%', True, True),
        ('idle', True, True),
        # It won under another workload, or against a string that is superseded, too.
        ('rgw', True, False),
        ('rbd busy 72%', False, False),
    ],
)
def test_superseded_winner_stays(work: str, from_default: bool, stays: bool) -> None:
    """Otherwise its removal and the change back to it would be recommended in turn."""
    row = Row('tentacle', 'd-lz4', work, 'flash')
    members, osds = row.group(row.options)
    release = release_of_osd(osds[0].info)
    assert release is not None
    before = release.default_options if from_default else PACIFIC
    won = WON._replace(
        options=row.options, options_from=before, who=members.who, release=release.name
    )
    found = assess(members, Circumstances(osds, measured=(won,)))
    assert (found.recommendations == ()) is stays


def test_running_winner_leaves_nothing_to_recommend() -> None:
    found = assessed(WON, text=CUSTOM)
    assert found.recommendations == ()
    assert found.conclusion.do == 'Nothing to change'
    assert found.conclusion.because.startswith(
        'The running options won experiment E7, which measured a change of the '
        'kv_sync time per write by -13% (-18 to -6%).'
    )

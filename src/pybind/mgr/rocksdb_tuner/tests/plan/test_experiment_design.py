"""Plans of experiments: OSDs, duration, detectable effects, and refusals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.judge.arms import Arm
from rocksdb_tuner.judge.noise import Noise
from rocksdb_tuner.judge.signals import experiment_limits
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.plan.experiment_design import (
    ExperimentPlan,
    Refusal,
    Shape,
    detectable,
    plan_experiment,
    too_small,
)
from rocksdb_tuner.plan.order import Candidate, choose, usable

QUIET = Noise(0.01, 0.005)
LOUD = Noise(0.02, 0.024)
ARMS = tuple(Arm(name, '') for name in 'abcde')
TERMS = ExperimentPlan('osd', ARMS[:2], 'kv_sync_ms_per_txn', '', 600.0)


def group(osds: int, hosts: int = 10) -> list[Candidate]:
    return [
        Candidate(n, 'ssd', FailureDomain('host', f'h{n % hosts}'), 100.0 + n, 0.01)
        for n in range(osds)
    ]


def planned(
    osds: int = 24,
    terms: ExperimentPlan = TERMS,
    noise: Noise = QUIET,
    candidates: Optional[Sequence[Candidate]] = None,
) -> ExperimentPlan:
    noises = {terms.objective: noise, 'op_w_latency_ms': noise}
    found = plan_experiment(candidates or group(osds), terms, noises)
    assert found.refusal is None
    return found


def refused(
    osds: int = 24,
    terms: ExperimentPlan = TERMS,
    noise: Noise = QUIET,
    candidates: Optional[Sequence[Candidate]] = None,
) -> tuple[ExperimentPlan, Refusal]:
    noises = {terms.objective: noise, 'op_w_latency_ms': noise}
    found = plan_experiment(candidates or group(osds), terms, noises)
    assert found.refusal is not None
    return found, found.refusal


@settings(deadline=None, max_examples=30)
@given(
    st.integers(8, 60),
    st.integers(2, 12),
    st.integers(1, 5),
    st.floats(0.001, 0.05),
    st.floats(0.0, 0.03),
)
def test_every_plan_keeps_its_terms(
    osds: int, hosts: int, arms: int, block: float, persistent: float
) -> None:
    """Share, time, failure domains, controls, and the detectable effect."""
    terms = replace(TERMS, arms=ARMS[:arms])
    noises = {terms.objective: Noise(block, persistent)}
    found = plan_experiment(group(osds, hosts), terms, noises)
    if found.refusal is not None:
        assert found.refusal.reason
        return
    assert found.detectable_percent is not None
    assert found.unsafe_percent is not None
    assert found.measuring_s <= terms.max_duration_s
    assert found.detectable_percent <= terms.min_effect_percent
    assert found.unsafe_percent <= 100 * experiment_limits().unsafe
    columns = [arm.osds for arm in found.arms]
    assert tuple(replace(arm, osds=()) for arm in found.arms) == terms.arms
    assert sorted(found.changed) == sorted(n for column in columns for n in column)
    assert len(set(found.changed)) == len(found.changed) <= terms.share * osds
    assert not set(found.changed) & set(found.controls)
    for column in columns:
        assert len(column) >= experiment_limits().least_arm_osds
        assert len({n % hosts for n in column}) == len(column)
    assert len(set(found.controls)) == len(found.controls) >= len(columns[0])


def test_quiet_osds_need_only_the_minimum() -> None:
    """Two OSDs in each arm, and three blocks."""
    found = planned()
    assert [len(arm.osds) for arm in found.arms] == [2, 2]
    assert (len(found.controls), found.blocks) == (16, 3)
    assert found.measuring_s == (3 + 1 + 3) * 600


def advised(found: Refusal) -> float:
    """The minimum effect that the refusal says would be detectable."""
    _, _, rest = found.reason.partition('--min-effect ')
    return int(rest.split()[0]) / 100


def test_plan_that_needs_more_osds_reports_the_number() -> None:
    """With so many there is a plan."""
    plan, found = refused(24, noise=LOUD)
    assert plan.detectable_percent is not None
    assert plan.detectable_percent > TERMS.min_effect_percent
    assert found.reason.startswith('a difference of 10% is not detectable; --min-effect ')
    assert found.osds is not None
    assert planned(found.osds, noise=LOUD)
    assert planned(24, replace(TERMS, min_effect=advised(found)), LOUD)


def test_plan_that_needs_more_time_reports_the_duration() -> None:
    """Blocks that scatter average out; with so much time there is a plan."""
    scattered = Noise(0.03, 0.0)
    short = replace(TERMS, max_duration_s=7 * 600.0, min_effect=0.05)
    _, found = refused(40, short, scattered)
    assert found.duration_s is not None
    assert planned(40, replace(short, max_duration_s=found.duration_s), scattered)
    assert planned(40, replace(short, min_effect=advised(found)), scattered)


def test_plan_without_time_is_refused() -> None:
    """A baseline and as many blocks again."""
    plan, found = refused(24, replace(TERMS, max_duration_s=600.0))
    assert found.reason == 'the time is too short for a baseline and as much again'
    assert plan.detectable_percent is None
    assert found.duration_s == 7 * 600


def test_long_run_of_an_unsafe_arm_is_refused() -> None:
    """Though a long experiment would detect a small effect."""
    plan, found = refused(24, noise=Noise(0.08, 0.0))
    assert found.reason == (
        'an arm that is 20% worse would not be detected within 3 blocks, with 3 OSDs per arm and '
        '16 controls that are similar enough'
    )
    assert plan.unsafe_percent is not None
    assert plan.unsafe_percent > 20


def test_diverging_osds_cannot_be_planned() -> None:
    """Neither OSDs nor time in any number that is worth a thought."""
    _, found = refused(24, noise=Noise(0.5, 0.5))
    assert (found.osds, found.duration_s) == (None, None)
    assert '--min-effect' not in found.reason


def test_groups_that_are_too_small_are_refused() -> None:
    """A quarter of them has to hold all arms."""
    assert too_small(16, TERMS) is None
    found = too_small(15, TERMS)
    assert found is not None
    assert found.osds == 16
    assert '25%' in found.reason


def test_nothing_to_plan_without_noise() -> None:
    found = plan_experiment(group(24), TERMS, {})
    assert found.refusal is not None
    assert found.refusal.reason == 'the noise of kv_sync_ms_per_txn is unknown'


def test_osds_that_differ_from_the_others_are_excluded() -> None:
    """Another class or load, more noise, or an unknown place or noise."""
    odd = group(30)
    odd[0] = replace(odd[0], device_class='hdd')
    odd[1] = replace(odd[1], domain=None)
    odd[2] = replace(odd[2], write_iops=900.0)
    odd[3] = replace(odd[3], noise=0.2)
    odd[4] = replace(odd[4], noise=None)
    found = {c.osd_id for c in usable(odd)}
    assert found == set(range(5, 30))
    assert usable([replace(c, noise=None, device_class=None) for c in odd]) == ()


def test_too_few_similar_osds_or_domains_are_refused() -> None:
    """One host, or a group of which hardly any OSDs are known."""
    assert 'failure domains' in refused(candidates=group(24, hosts=1))[1].reason
    unknown = [c if c.osd_id < 5 else replace(c, noise=None) for c in group(24)]
    assert (
        '5 of the 24 OSDs of the group are similar enough' in refused(candidates=unknown)[1].reason
    )


def test_matched_osds_of_the_arms_share_a_failure_domain_if_large_enough() -> None:
    """And controls are spread over the domains."""
    chosen = choose(group(24, hosts=4), 3, 2, 8)
    assert chosen is not None
    for matched in zip(*chosen.columns):
        assert len({n % 4 for n in matched}) == 1
    assert set(Counter(n % 4 for n in chosen.controls).values()) == {2}


@given(st.integers(1, 4), st.integers(2, 5), st.integers(4, 16), st.integers(3, 20))
def test_more_of_anything_tells_smaller_effects(
    arms: int, arm_osds: int, controls: int, blocks: int
) -> None:
    """OSDs, controls, and time."""
    shape = Shape(arms, arm_osds, controls, blocks)
    reported = effect_of(shape, Noise(0.03, 0.01))
    if math.isinf(reported):
        return
    for field in ('arm_osds', 'controls', 'blocks'):
        more = shape._replace(**{field: getattr(shape, field) + 1})
        assert effect_of(more, Noise(0.03, 0.01)) < reported * 1.001
    assert effect_of(shape, Noise(0.06, 0.02)) == pytest.approx(
        math.expm1(2 * math.log1p(reported)), rel=1e-6
    )


def effect_of(shape: Shape, noise: Noise) -> float:
    return detectable(shape, {TERMS.objective: noise}, TERMS.objective)[0]


def test_too_few_osds_detect_no_effect() -> None:
    """No degrees of freedom are left."""
    found = detectable(Shape(1, 1, 1, 3), {TERMS.objective: QUIET}, TERMS.objective)
    assert found == (math.inf, math.inf)

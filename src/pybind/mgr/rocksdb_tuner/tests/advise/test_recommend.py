"""Recommendations, and above all when there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.case import Circumstances
from rocksdb_tuner.advise.profiles import profile, profiles
from rocksdb_tuner.advise.proposal import change_request
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import (
    GroupFacts,
    Kind,
    OsdFacts,
    Recommendation,
)
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.collection.records import Collection
from rocksdb_tuner.evaluate import conclude, snapshot_of
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import ClusterMap
from rocksdb_tuner.options.checks import safe_to_apply
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.plan.commands import ShownSteps
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.snapshot import Sampling
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..fake_cluster import DEFAULTS
from .builders import ALL, PACIFIC, entry, facts, group, osd_info, workload

RBD = workload(WorkloadClass.RBD_SMALL_WRITE)
RGW = workload(WorkloadClass.RGW_METADATA)
ALTERNATE = profile('alternate-2019').options
REEF = DEFAULTS['reef']
OWN = f'{REEF},max_background_jobs=6'
IDLE = workload(WorkloadClass.IDLE)


def on_pacific(does: Workload, **options: object) -> Assessment:
    osds = tuple(facts(osd_info(i), **options) for i in range(3))  # type: ignore[arg-type]
    return assess(group(*osds, does=does), Circumstances(osds))


def only(assessment: Assessment) -> Recommendation:
    (recommendation,) = assessment.recommendations
    return recommendation


def test_advice_does_not_oscillate_between_two_workloads_of_a_group() -> None:
    applied = only(on_pacific(RGW)).options_to
    entries = (entry(ALL, applied),)
    assert on_pacific(RBD, value=applied, source='mon', entries=entries).recommendations == ()


def _of_class(device_class: str, *osds: OsdFacts) -> GroupFacts:
    return GroupFacts(device_class, IDLE, osds)


def test_override_equal_to_the_default_is_removed_for_all_classes_at_once() -> None:
    """It changes nothing for any of them; OSDs with another default need it."""
    entries = (entry('osd', PACIFIC),)
    ssd, hdd = (
        facts(osd_info(i, device_class=name), PACIFIC, 'mon', entries)
        for i, name in enumerate(('ssd', 'hdd'))
    )
    cluster_map = ClusterMap(1, frozenset(), None, (ssd.info, hdd.info), ())
    collection = Collection(0.0, cluster_map, entries=entries, orchestrated=True)
    nothing = snapshot_of(collection, (ssd, hdd), None, Sampling(None, 2, None, None))
    found = conclude(nothing, collection, {}, {}).assessments
    (advice,) = (r for a in found for r in a.recommendations)
    assert (advice.kind, advice.who) == (Kind.REMOVE_OVERRIDE, 'osd')
    assert not advice.restart_required
    for other in (
        facts(osd_info(1, 'reef', device_class='hdd'), PACIFIC, 'mon', entries),
        facts(osd_info(1, None, device_class='hdd'), PACIFIC, 'mon', entries),
    ):
        kept = assess(_of_class('ssd', ssd), Circumstances((ssd, other)))
        assert kept.recommendations == ()
        assert 'osd.1, which this change would not reach' in kept.conclusion.because
        assert 'ceph config rm osd bluestore_rocksdb_options' in kept.conclusion.because


def test_same_advice_keeps_its_id_and_other_advice_differs() -> None:
    assert only(on_pacific(RBD)).recommendation_id == only(on_pacific(RBD)).recommendation_id
    assert only(on_pacific(RBD)).recommendation_id == only(on_pacific(RGW)).recommendation_id
    entries = (entry(ALL, f'{PACIFIC},compaction_readahead_size=0'),)
    other = on_pacific(IDLE, value=entries[0].value, source='mon', entries=entries)
    assert only(on_pacific(RBD)).recommendation_id != only(other).recommendation_id


def test_recommendation_contains_the_request_of_dry_run_and_apply() -> None:
    """Made once: apply only adds the actor."""
    recommendation = only(on_pacific(RGW))
    assert recommendation.change is not None
    assert plan_of(recommendation, SoakPlan()).change is recommendation.change
    sent = change_request(recommendation, 'operator')
    assert sent == replace(recommendation.change, actor='operator')
    assert (sent.order, sent.targets) == (recommendation.osds, recommendation.targets)
    assert dict(sent.targets) == dict.fromkeys(recommendation.osds, recommendation.options_to)


def test_no_built_in_profile_leads_to_an_unsafe_recommendation() -> None:
    """Safety rule 1, for every profile and every release that it suits."""
    for version, name in (('16.2.15', 'pacific'), ('18.2.7', 'reef'), ('20.2.4', 'tentacle')):
        release = release_of(version, name)
        assert release is not None
        for known in profiles():
            if known.suitability:
                assert safe_to_apply(known.options, release.rocksdb_version) == (), known.name


VALUES = st.sampled_from([None, PACIFIC, ALTERNATE])


@given(
    common=VALUES,
    of_class=VALUES,
    own=st.lists(VALUES, min_size=4, max_size=4),
    does=st.sampled_from([RBD, RGW, workload(WorkloadClass.IDLE)]),
)
def test_no_osd_is_in_two_recommendations_of_one_moment(
    common: Optional[str],
    of_class: Optional[str],
    own: list[Optional[str]],
    does: Workload,
) -> None:
    by_who = {
        ALL: common,
        'osd/class:ssd': of_class,
        **{f'osd.{i}': value for i, value in enumerate(own)},
    }
    entries = tuple(entry(who, value) for who, value in by_who.items() if value is not None)
    osds = []
    for i, value in enumerate(own):
        decided = value or of_class or common
        osds.append(
            facts(osd_info(i), decided or PACIFIC, 'mon' if decided else 'default', entries)
        )
    advice = assess(group(*osds, does=does), Circumstances(osds)).recommendations
    named = [osd_id for recommendation in advice for osd_id in recommendation.osds]
    assert len(named) == len(set(named))


def test_shown_plan_stays_while_loads_change_slightly() -> None:
    shown = ShownSteps()

    def order(*loads: float) -> tuple[int, ...]:
        osds = tuple(facts(osd_info(i), write_iops=load) for i, load in enumerate(loads))
        (found,) = assess(
            group(*osds, does=RBD), Circumstances(osds, shown_steps=shown)
        ).recommendations
        return found.osds

    first = order(100.0, 90.0, 95.0)
    assert first[0] == 1
    assert order(90.0, 100.0, 95.0) == first

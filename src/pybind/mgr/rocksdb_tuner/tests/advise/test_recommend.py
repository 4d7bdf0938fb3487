"""Recommendations, and above all when there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profile, profiles
from rocksdb_tuner.advise.proposal import change_request
from rocksdb_tuner.advise.recommend import assess
from rocksdb_tuner.advise.records import (
    GroupFacts,
    Kind,
    OsdFacts,
    Recommendation,
    Risk,
)
from rocksdb_tuner.advise.weighing import Assessment
from rocksdb_tuner.collection.records import Collection
from rocksdb_tuner.evaluate import conclude
from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.records import ClusterMap, ConfigEntry
from rocksdb_tuner.options.checks import safe_to_apply
from rocksdb_tuner.options.grammar import same_meaning
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.plan.commands import ShownSteps
from rocksdb_tuner.present.advice import plan_of
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
    return assess(group(*osds, does=does), osds)


def only(assessment: Assessment) -> Recommendation:
    (recommendation,) = assessment.recommendations
    return recommendation


def test_class_that_is_not_the_whole_cluster_keeps_an_entry_per_osd() -> None:
    """No OSD starts with an entry for its class, so such an entry would be lost at a restart."""
    ssds = tuple(facts(osd_info(i)) for i in range(2))
    hdd = facts(osd_info(2, device_class='hdd'))
    recommendation = only(assess(group(*ssds, does=RBD), (*ssds, hdd)))
    assert recommendation.who == 'osd/class:ssd'
    assert recommendation.final_entries == tuple(
        (f'osd.{i}', recommendation.options_to) for i in (0, 1)
    )
    assert not any('class:' in command for command in recommendation.commands)
    assert not any('config rm' in command for command in recommendation.commands)


def test_advice_does_not_oscillate_between_two_workloads_of_a_group() -> None:
    applied = only(on_pacific(RGW)).options_to
    entries = (entry(ALL, applied),)
    assert on_pacific(RBD, value=applied, source='mon', entries=entries).recommendations == ()


def _of_class(device_class: str, *osds: OsdFacts) -> GroupFacts:
    return GroupFacts(device_class, IDLE, osds)


@pytest.mark.parametrize('masked', [None, 'osd/class:hdd'])
def test_stale_override_of_two_classes_goes_with_the_last_of_them(masked: Optional[str]) -> None:
    """A rollout compares OSDs of one group; none waits for the other. A class mask is no entry."""
    shared = (entry('osd', ALTERNATE), *((entry(masked, 'x=1'),) if masked else ()))

    def now(osd_id: int, device_class: str, value: str, *own: ConfigEntry) -> OsdFacts:
        info = osd_info(osd_id, 'reef', device_class=device_class)
        return facts(info, value, 'mon', (*shared, *own))

    ssd, hdd = now(0, 'ssd', ALTERNATE), now(1, 'hdd', ALTERNATE)
    for device_class, osd in (('ssd', ssd), ('hdd', hdd)):
        first = only(assess(_of_class(device_class, osd), (ssd, hdd)))
        n = osd.info.osd_id
        assert (first.kind, first.who) == (Kind.SET_PROFILE, f'osd/class:{device_class}')
        assert first.final_entries == ((f'osd.{n}', REEF),)
        assert f'also applies to osd.{1 - n}' in first.reasons[-1].statement
    moved = now(0, 'ssd', REEF, entry('osd.0', REEF))
    assert assess(_of_class('ssd', moved), (moved, hdd)).recommendations == ()
    last = only(assess(_of_class('hdd', hdd), (moved, hdd)))
    assert (last.kind, last.final_entries) == (Kind.REMOVE_OVERRIDE, (('osd', None),))
    alone = facts(osd_info(0, 'reef'), REEF, 'mon', (entry('osd.0', REEF),))
    default = facts(osd_info(1, 'reef', device_class='hdd'), REEF)
    end = only(assess(_of_class('ssd', alone), (alone, default)))
    assert (end.kind, end.restart_required) == (Kind.REMOVE_OVERRIDE, False)


def test_override_goes_although_the_other_class_wants_to_keep_its_own_string() -> None:
    """OSDs with entries of their own do not need the shared one."""
    shared = entry('osd', ALTERNATE)
    ssd = facts(osd_info(0, 'reef'), ALTERNATE, 'mon', (shared,))
    own = (shared, entry('osd.1', OWN))
    hdd = facts(osd_info(1, 'reef', device_class='hdd'), OWN, 'mon', own)
    found = only(assess(_of_class('ssd', ssd), (ssd, hdd)))
    assert (found.kind, found.final_entries) == (Kind.REMOVE_OVERRIDE, (('osd', None),))


def test_override_equal_to_the_default_is_removed_for_all_classes_at_once() -> None:
    """It changes nothing for any of them; OSDs with another default need it."""
    entries = (entry('osd', PACIFIC),)
    ssd, hdd = (
        facts(osd_info(i, device_class=name), PACIFIC, 'mon', entries)
        for i, name in enumerate(('ssd', 'hdd'))
    )
    cluster_map = ClusterMap(1, frozenset(), None, (ssd.info, hdd.info), ())
    collection = Collection(0.0, cluster_map, entries=entries, orchestrated=True)
    found = conclude(collection, (ssd, hdd), {}, {}).assessments
    (advice,) = (r for a in found for r in a.recommendations)
    assert (advice.kind, advice.who) == (Kind.REMOVE_OVERRIDE, 'osd')
    assert not advice.restart_required
    for other in (
        facts(osd_info(1, 'reef', device_class='hdd'), PACIFIC, 'mon', entries),
        facts(osd_info(1, None, device_class='hdd'), PACIFIC, 'mon', entries),
    ):
        kept = assess(_of_class('ssd', ssd), (ssd, other))
        assert kept.recommendations == ()
        assert 'osd.1, which this change would not reach' in kept.conclusion.because
        assert 'ceph config rm osd bluestore_rocksdb_options' in kept.conclusion.because


@pytest.mark.parametrize('text', [REEF, ALTERNATE])
def test_override_stays_for_an_osd_that_ceph_conf_overrules(text: str) -> None:
    """It would start with the entry once its ceph.conf is corrected; a rollout refuses that too."""
    entries = (entry('osd', ALTERNATE),)
    osds = (
        facts(osd_info(0, 'reef'), ALTERNATE, 'mon', entries),
        facts(osd_info(1, 'reef'), text, 'file', entries),
    )
    found = only(assess(group(*osds, does=IDLE), osds))
    assert (found.kind, found.final_entries) == (Kind.SET_PROFILE, (('osd.0', REEF),))
    assert any('also applies to osd.1' in reason.statement for reason in found.reasons)


def test_override_stays_for_an_osd_whose_options_were_not_read_yet() -> None:
    entries = (entry('osd', ALTERNATE),)
    reported = tuple(facts(osd_info(i, 'reef'), ALTERNATE, 'mon', entries) for i in range(2))
    silent = facts(osd_info(2, 'reef'))._replace(options=None)
    found = assess(group(*reported, silent, does=IDLE), (*reported, silent))
    assert found.recommendations == ()
    assert 'osd.2, which this change would not reach' in found.conclusion.because


@pytest.mark.parametrize('in_cluster', [True, False])
def test_override_is_removed_although_an_osd_is_down(in_cluster: bool) -> None:
    """Its running options are unknown, which is said; the rollout waits for it."""
    entries = (entry('osd', ALTERNATE),)
    reported = tuple(facts(osd_info(i, 'reef'), ALTERNATE, 'mon', entries) for i in range(2))
    down = facts(osd_info(2, 'reef', up=False, in_cluster=in_cluster))._replace(options=None)
    found = only(assess(group(*reported, down, does=IDLE), (*reported, down)))
    assert (found.kind, found.who) == (Kind.REMOVE_OVERRIDE, 'osd')
    named = [r.statement for r in found.reasons if r.statement.startswith('Down: osd.2.')]
    assert len(named) == in_cluster


def test_stale_string_in_entries_of_single_osds_is_removed_in_one_recommendation() -> None:
    own = (entry('osd.1', ALTERNATE), entry('osd.2', ALTERNATE))
    osds = (
        facts(osd_info(0, 'reef'), DEFAULTS['reef']),
        *(facts(osd_info(i, 'reef'), ALTERNATE, 'mon', own) for i in (1, 2)),
    )
    advice = only(assess(group(*osds, does=workload(WorkloadClass.IDLE)), osds))
    assert (advice.kind, advice.who) == (Kind.REMOVE_OVERRIDE, 'osd/class:ssd')
    assert advice.final_entries == (('osd.1', None), ('osd.2', None))
    assert advice.options_to == DEFAULTS['reef']
    assert advice.commands[-2:] == tuple(
        f'ceph config rm osd.{i} bluestore_rocksdb_options' for i in (1, 2)
    )
    undo = [c for c in advice.undo_commands if 'config set' in c]
    assert undo == [
        f"ceph config set osd.{i} bluestore_rocksdb_options '{ALTERNATE}'" for i in (1, 2)
    ]


def test_entries_of_a_running_rollout_are_not_reported() -> None:
    osds = (facts(osd_info(0), PACIFIC, 'mon', (entry('osd.0', PACIFIC),)),)
    idle = group(*osds, does=workload(WorkloadClass.IDLE))
    assert assess(idle, osds).recommendations
    assert assess(idle, osds, rollout_under_way=True).recommendations == ()


def test_redundant_own_entry_of_one_osd_is_named_and_needs_no_restart() -> None:
    own = (entry('osd.1', PACIFIC),)
    osds = (facts(osd_info(0)), facts(osd_info(1), PACIFIC, 'mon', own))
    advice = only(assess(group(*osds, does=workload(WorkloadClass.IDLE)), osds))
    assert (advice.who, advice.restart_required, advice.risk) == ('osd.1', False, Risk.LOW)


@pytest.mark.parametrize(
    ('value', 'more', 'annex'),
    [
        pytest.param('compression=kLZ4Compression', (), '', id='a string of the operator'),
        pytest.param(ALTERNATE, (entry(ALL, ALTERNATE),), '', id='another entry beneath'),
        pytest.param(ALTERNATE, (entry('osd/rack:a', PACIFIC),), '', id='perhaps one beneath'),
        pytest.param(ALTERNATE, (), 'ttl=1', id='an annex'),
    ],
)
def test_own_entry_stays_if_possibly_intended_or_if_rollback_is_not_the_default(
    value: str, more: tuple[ConfigEntry, ...], annex: str
) -> None:
    entries = (entry('osd.1', value), *more)
    osds = (facts(osd_info(1), value, 'mon', entries, annex),)
    assert assess(group(*osds, does=workload(WorkloadClass.IDLE)), osds).recommendations == ()


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


def test_every_recommendation_is_safe_and_differs_from_the_running_options() -> None:
    for does in (
        RBD,
        RGW,
        workload(WorkloadClass.LARGE_WRITE),
        workload(WorkloadClass.READ_MOSTLY),
    ):
        for running in [PACIFIC, *(p.options for p in profiles())]:
            entries = () if running == PACIFIC else (entry(ALL, running),)
            source = 'mon' if entries else 'default'
            assessment = on_pacific(does, value=running, source=source, entries=entries)
            for recommendation in assessment.recommendations:
                assert safe_to_apply(recommendation.options_to, '6.8') == ()
                same = same_meaning(running, recommendation.options_to, '6.8')
                assert recommendation.restart_required is not same


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
    advice = assess(group(*osds, does=does), tuple(osds)).recommendations
    named = [osd_id for recommendation in advice for osd_id in recommendation.osds]
    assert len(named) == len(set(named))


def test_shown_plan_stays_while_loads_change_slightly() -> None:
    shown = ShownSteps()

    def order(*loads: float) -> tuple[int, ...]:
        osds = tuple(facts(osd_info(i), write_iops=load) for i, load in enumerate(loads))
        (found,) = assess(group(*osds, does=RBD), osds, shown_steps=shown).recommendations
        return found.osds

    first = order(100.0, 90.0, 95.0)
    assert first[0] == 1
    assert order(90.0, 100.0, 95.0) == first

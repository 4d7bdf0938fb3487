"""JSON documents match the published schemas and names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rocksdb_tuner import present
from rocksdb_tuner.advise.profiles import profiles
from rocksdb_tuner.advise.records import FindingEvidence, Kind
from rocksdb_tuner.advise.whatif.compare import Side, compare
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.situation import Overrides, situation_of_osd
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.collection.report import report
from rocksdb_tuner.deep.reader import OsdDeepStats
from rocksdb_tuner.doctor import examine
from rocksdb_tuner.observe.kv_stats import parse_deep_stats
from rocksdb_tuner.observe.trend import TREND_SIGNALS, GrowthPoints, Trend
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.verdict import find_option, judge
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.present.osd import detail_of, facts_of, growth_of, trends_of, worst_osds
from rocksdb_tuner.snapshot import Snapshot
from rocksdb_tuner.workload.records import WorkloadClass

from ..test_tuner import World
from . import experiment_samples as experiments
from . import samples
from .cases import DATA, sampled_in_detail

SCHEMAS = {
    path.name[: -len('.schema.json')]: json.loads(path.read_text())
    for path in (Path(present.__file__).parent / 'schemas').glob('*.schema.json')
}

TREND = Trend((1.0, 31.0), dict.fromkeys(TREND_SIGNALS, (None, 1 / 3)))

SITUATION = situation_of_osd(
    None, known_releases()[-1], Overrides(workload=WorkloadClass.RGW_METADATA, cores=4)
)

#: By rollouts.
EXECUTED = frozenset({Kind.SET_PROFILE, Kind.REMOVE_OVERRIDE})


def of_its_kind(error: jsonschema.ValidationError) -> list[jsonschema.ValidationError]:
    """The error, or those against the alternative of its own kind."""
    if error.validator != 'anyOf':
        return [error]
    by_alternative: dict[Any, list[jsonschema.ValidationError]] = {}
    for one in error.context:
        by_alternative.setdefault(one.schema_path[0], []).append(one)
    return next(
        errors
        for errors in by_alternative.values()
        if not any(one.validator == 'const' for one in errors)
    )


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name])


def documents(snapshot: Snapshot) -> Iterator[tuple[str, Any]]:
    """Every document that can be made of a snapshot, as it leaves the module."""
    answers: list[tuple[str, str]] = [
        ('status', views.show('status', snapshot)),
        ('osd', views.show('osd', worst_osds(snapshot))),
        ('workload', views.show('workload', snapshot)),
        ('findings', views.show('findings', snapshot)),
        ('recommend', views.show('recommend', snapshot)),
        ('recommend-all', views.show('recommend-all', snapshot)),
        ('operation', views.show('operation', snapshot)),
        ('history', views.show('history', snapshot.history)),
        ('mode', views.show('mode', snapshot.mode)),
        ('doctor', views.show('doctor', examine(snapshot, samples.ENVIRONMENT))),
        ('osd-map', views.show('osd-map', snapshot)),
    ]
    answers += [
        ('osd-detail', views.show('osd-detail', detail_of(snapshot, facts.info.osd_id)))
        for facts in snapshot.osds
    ]
    for recommendation in snapshot.recommendations:
        answers.append(('recommend-detail', views.show('recommend-detail', recommendation)))
        if recommendation.change is not None and recommendation.kind in EXECUTED:
            answers.append(('plan', views.show('plan', plan_of(recommendation, samples.SOAK))))
    for name, text in answers:
        yield name, json.loads(text)


def report_document() -> str:
    world = World()
    world.run(30)
    return report(world.tuner.collection(), anonymous=False)


def growth_document() -> str:
    points = GrowthPoints((1e9, 1e9 + 1800), (5, 6), 1 << 30, 0)
    return views.show('growth', growth_of(facts_of(samples.small_cluster(), 0), points))


def comparison_document() -> str:
    a, b = (Side(p.name, p.options) for p in profiles()[:2])
    return views.show('profile-diff', compare(a, b, known_releases()[-1]))


#: Documents not generated from a snapshot.
OTHERS: dict[str, Callable[[], str]] = {
    'report': report_document,
    'profile-ls': lambda: views.show('profile-ls', profiles()),
    'profile-show': lambda: views.show('profile-show', profiles()[0]),
    'profile-derive': lambda: views.show('profile-derive', derive(SITUATION)),
    'profile-diff': comparison_document,
    'check': lambda: views.show('check', judge('ttl=1', known_releases())),
    'explain': lambda: views.show('explain', find_option('compression')),
    'explain-ls': lambda: views.show('explain-ls', [find_option('compression')]),
    'model': lambda: views.show('model', tree('ttl=1', SITUATION)),
    'trend': lambda: views.show('trend', trends_of((3, None, TREND))),
    'growth': growth_document,
    'compact-plan': lambda: views.show('compact-plan', samples.compaction_plan()),
    'experiment-plan': lambda: views.show('experiment-plan', experiments.possible()),
}


def document(name: str) -> Any:
    """One document of the small cluster, or of the profiles."""
    if name in OTHERS:
        return json.loads(OTHERS[name]())
    return next(found for kind, found in documents(samples.small_cluster()) if kind == name)


@pytest.mark.parametrize('name', sorted(SCHEMAS))
def test_every_schema_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


def states() -> dict[str, Snapshot]:
    operations = {
        'waiting': samples.operating(samples.waiting_rollout()),
        'failed': samples.operating(samples.failed_rollout()),
        'compacting': samples.operating(None, samples.compacting()),
        'in detail': sampled_in_detail(),
        **{
            f'experiment {name}': samples.operating(experiment=state)
            for name, state in experiments.all_states().items()
        },
    }
    return {**samples.all_snapshots(), **operations}


@pytest.mark.parametrize('state', sorted(states()))
def test_documents_of_every_state_match_their_schema(state: str) -> None:
    for name, found in documents(states()[state]):
        validator(name).validate(found)


@pytest.mark.parametrize('name', sorted(OTHERS))
def test_other_documents_match_their_schema(name: str) -> None:
    validator(name).validate(document(name))


def test_refused_plan_of_an_experiment_matches_the_schema() -> None:
    """What is unknown of it is null, not 0."""
    found = json.loads(views.show('experiment-plan', experiments.impossible()))
    validator('experiment-plan').validate(found)
    assert (found['duration_s'], found['restarts'], found['detectable_percent']) == (None,) * 3


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
@pytest.mark.parametrize('name', ['compaction_only', 'extended'])
def test_deep_statistics_of_each_release_match_the_schema(release: str, name: str) -> None:
    stats = parse_deep_stats((DATA / release / f'{name}.txt').read_text())
    seen = OsdDeepStats(0, samples.NOW_S, stats)
    found = json.loads(views.show('osd-detail', detail_of(samples.small_cluster(), 0, seen)))
    validator('osd-detail').validate(found)
    shown = [family['name'] for family in found['deep']['column_families']]
    assert shown == [family.name for family in stats.column_families]


def test_all_profiles_match_their_schema() -> None:
    validator('profile-ls').validate(document('profile-ls'))
    for profile in profiles():
        validator('profile-show').validate(json.loads(views.show('profile-show', profile)))


#: The contract: what others read. Names may be added to documents, none of these may go.
CONTRACT = {
    'status': """
        mode release sampling.interval_s sampling.osds sampling.last_sample_age_s sampling.tick_ms
        sampling.report_interval_s sampling.reports
        groups.who groups.osds groups.workload.class groups.workload.confidence
        groups.options.profile groups.options.source findings.error findings.warning findings.info
        recommendations operation.id operation.kind operation.phase
    """,
    'osd': """
        osd host device_class up workload.class workload.confidence kv_sync_ms kv_sync_busy
        write_iops write_bytes_avg wal_bytes_per_s sst_bytes_per_s compaction_bytes_per_s
        db_write_amp db_used_bytes db_total_bytes slow_used_bytes options.profile
        options.pending_restart
    """,
    'findings': """
        id severity summary osds evidence.signal evidence.value evidence.unit evidence.window_s
        remedy source
    """,
    'recommend': """
        id who kind profile options_from options_to reasons prediction risk restart_required
        commands undo_commands
    """,
    'operation': """
        id kind recommendation phase who batches.osds batches.phase verdict started updated
        paused_reason
    """,
    'experiment-plan': """
        id phase who arms controls winner conclusion detectable_percent duration_s started ended
        arms.name arms.options arms.osds arms.verdict arms.effect
    """,
    'history': 'id time who from to actor outcome prediction measured',
}


@pytest.mark.parametrize('name', sorted(CONTRACT))
def test_documents_have_the_names_of_the_contract(name: str) -> None:
    for path in CONTRACT[name].split():
        found = document(name)
        for key in path.split('.'):
            found = found[0] if isinstance(found, list) else found
            assert key in found, path
            found = found[key]


def test_unknown_is_null() -> None:
    """An OSD that never booted has no number anywhere, and no false "no" either."""
    snapshot = samples.partial_cluster()
    found = json.loads(views.show('osd-detail', detail_of(snapshot, 1)))
    numbers = {
        key: value
        for key, value in found.items()
        if key.endswith(('_ms', '_s', '_bytes', '_iops', '_avg', '_busy', '_amp', '_op', '_byte'))
    }
    assert len(numbers) > 25
    assert set(numbers.values()) == {None}
    assert set(found['options'].values()) == {None}
    assert found['dedicated_db'] is None
    assert found['workload'] == {'class': 'unknown', 'confidence': 0, 'evidence': []}


def test_no_operation_is_null() -> None:
    assert views.show('operation', samples.operating()) == 'null'


@pytest.mark.parametrize(
    ('value', 'shown'),
    [
        (math.nan, None),
        (1 / 3, 0.333333),
        (True, True),
        ('text', 'text'),
        ((1, 2), [1, 2]),
        ({'a': 0.1}, {'a': 0.1}),
        (WorkloadClass.IDLE, 'idle'),
        (3j, '3j'),
    ],
)
def test_evidence_of_any_kind_is_valid_json(value: object, shown: object) -> None:
    finding = replace(samples.FINDINGS[0], evidence=(FindingEvidence('x', value, 'y', None),))
    snapshot = replace(samples.small_cluster(), findings=(finding,))
    found = json.loads(views.show('findings', snapshot))
    validator('findings').validate(found)
    assert found[0]['evidence'][0]['value'] == shown


# Not shrunk: of so large a record that takes minutes, and a failure names the answer anyway.
@settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_snapshot_can_be_told_in_strict_json(data: st.DataObject) -> None:
    """No value of a record, however odd, breaks a document or puts a non-number in it."""
    snapshot = data.draw(samples.any_snapshot())
    for name, found in documents(snapshot):
        errors = [
            error
            for found_error in validator(name).iter_errors(found)
            for error in of_its_kind(found_error)
            # Records may hold any number; that real ones are not negative is observe's business.
            if error.validator not in {'minimum', 'maximum'}
        ]
        assert not errors, (name, [(list(e.path), e.message) for e in errors])

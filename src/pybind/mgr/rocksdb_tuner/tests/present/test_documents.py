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
from rocksdb_tuner.advise.records import FindingEvidence, Kind, Limit, Resource
from rocksdb_tuner.advise.whatif.compare import Side, compare
from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.overrides import Overrides
from rocksdb_tuner.advise.whatif.situation import situation_without_osd
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.collection.report import read_report, report
from rocksdb_tuner.doctor import examine
from rocksdb_tuner.observe.trend import TREND_SIGNALS, GrowthPoints, Trend
from rocksdb_tuner.offline.cli import overview
from rocksdb_tuner.offline.judge import judge as judge_files
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.verdict import find_option, judge
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import findings_named, in_full, plan_of
from rocksdb_tuner.present.osd import detail_of, facts_of, growth_of, trends_of, worst_osds
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.workload.records import WorkloadClass

from ..test_tuner import World
from . import experiment_samples as experiments
from . import samples
from .test_tables import sampled_in_detail

SCHEMAS = {
    path.name[: -len('.schema.json')]: json.loads(path.read_text())
    for path in (Path(present.__file__).parent / 'schemas').glob('*.schema.json')
}

TREND = Trend((1.0, 31.0), dict.fromkeys(TREND_SIGNALS, (None, 1 / 3)))

SITUATION = situation_without_osd(
    known_releases()[-1], Overrides(workload=WorkloadClass.RGW_METADATA, cores=4)
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
        *(
            ('finding', views.show('finding', findings_named(snapshot, found.finding_id)))
            for found in snapshot.findings
        ),
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
        answers.append(
            (
                'recommend-detail',
                views.show('recommend-detail', in_full(recommendation, samples.SOAK)),
            )
        )
        if recommendation.change is not None and recommendation.kind in EXECUTED:
            answers.append(('plan', views.show('plan', plan_of(recommendation, samples.SOAK))))
    for name, text in answers:
        yield name, json.loads(text)


def written_by_the_module(name: str) -> str:
    """A report, or what `offline` makes of it at once."""
    world = World()
    world.run(30)
    text = report(world.tuner.collection(), anonymous=False)
    if name == 'report':
        return text
    return overview(judge_files(read_report(json.loads(text))).snapshot, 'json')


def growth_document() -> str:
    points = GrowthPoints((1e9, 1e9 + 1800), (5, 6), 1 << 30, 0)
    return views.show('growth', growth_of(facts_of(samples.small_cluster(), 0), points))


def comparison_document() -> str:
    a, b = (Side(p.name, p.options) for p in profiles()[:2])
    return views.show('profile-diff', compare(a, b, known_releases()[-1]))


#: Documents not generated from a snapshot.
OTHERS: dict[str, Callable[[], str]] = {
    'report': lambda: written_by_the_module('report'),
    'offline': lambda: written_by_the_module('offline'),
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


@pytest.mark.parametrize('state', sorted(samples.all_snapshots()))
def test_documents_of_every_state_match_their_schema(state: str) -> None:
    for name, found in documents(samples.all_snapshots()[state]):
        validator(name).validate(found)


@pytest.mark.parametrize(
    'rollout', [samples.rollout(), samples.waiting_rollout(), samples.failed_rollout(), None]
)
def test_rollouts_of_every_kind_match_their_schema(rollout: Any) -> None:
    found = json.loads(views.show('operation', samples.operating(rollout)))
    validator('operation').validate(found)
    status = views.show('status', replace(samples.small_cluster(), rollout=rollout))
    validator('status').validate(json.loads(status))


def test_all_profiles_match_their_schema() -> None:
    validator('profile-ls').validate(document('profile-ls'))
    for profile in profiles():
        validator('profile-show').validate(json.loads(views.show('profile-show', profile)))


def objects_of(schema: Any, place: str = '') -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema that describes an object."""
    if isinstance(schema, dict):
        if 'properties' in schema and isinstance(schema.get('type'), (str, list)):
            yield place, schema
        for key, part in schema.items():
            yield from objects_of(part, f'{place}/{key}')
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from objects_of(part, f'{place}/{number}')


@pytest.mark.parametrize('name', sorted(SCHEMAS))
def test_schemas_have_exactly_the_documented_names(name: str) -> None:
    """A name that is not published cannot appear, one that is published is always there."""
    found = list(objects_of(SCHEMAS[name]))
    assert found
    for place, schema in found:
        assert schema['additionalProperties'] is False, place
        assert sorted(schema['required']) == sorted(schema['properties']), place


def without(found: Any, key: str) -> Any:
    target = found[0] if isinstance(found, list) else found
    del target[key]
    return found


def with_value(found: Any, key: str, value: Any) -> Any:
    target = found[0] if isinstance(found, list) else found
    target[key] = value
    return found


@pytest.mark.parametrize('name', sorted(SCHEMAS))
def test_document_with_a_missing_name_is_refused(name: str) -> None:
    found = document(name)
    assert validator(name).is_valid(found)
    first = next(iter(found[0] if isinstance(found, list) else found))
    assert not validator(name).is_valid(without(found, first))


@pytest.mark.parametrize('name', sorted(SCHEMAS))
def test_document_with_an_unknown_name_is_refused(name: str) -> None:
    assert not validator(name).is_valid(with_value(document(name), 'surprise', 1))


@pytest.mark.parametrize(
    ('name', 'key', 'value'),
    [
        ('status', 'mode', 'on'),
        ('status', 'recommendations', -1),
        ('status', 'time', 1770000000),
        ('osd', 'kv_sync_ms', '0.7 ms'),
        ('osd', 'write_iops', -1),
        ('osd', 'db_used_bytes', 0.5),
        ('osd', 'up', None),
        ('osd-detail', 'compaction_source', 'guessed'),
        ('findings', 'severity', 'fatal'),
        ('recommend', 'kind', 'set-options'),
        ('recommend', 'prediction', '20%'),
        ('recommend-detail', 'targets', None),
        ('plan', 'batches', [{'osds': [0], 'phase': 'done'}]),
        ('operation', 'phase', 'running'),
        ('operation', 'verdict', 'ok'),
        ('operation', 'kind', 'compaction'),
        ('history', 'outcome', 'pass'),
        ('mode', 'mode', 'auto'),
        ('profile-show', 'workloads', ['small']),
    ],
)
def test_document_with_a_wrong_value_is_refused(name: str, key: str, value: Any) -> None:
    assert not validator(name).is_valid(with_value(document(name), key, value))


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


def test_status_matches_the_snapshot() -> None:
    found = document('status')
    assert found['mode'] == 'recommend'
    assert found['time'] == '2026-02-02T02:40:00Z'
    assert found['groups'] == [
        {
            'who': 'osd/class:ssd',
            'osds': [0, 1, 2],
            'workload': {'class': 'rbd-small-write', 'confidence': 0.923457},
            'limit': {
                'resource': 'unknown',
                'part': None,
                'relief': None,
                'confidence': 0.0,
                'evidence': [],
                'thread_share': None,
            },
            'options': {
                'profile': 'pacific-default',
                'source': 'default',
                'pending_restart': [],
                'variants': [
                    {'profile': 'pacific-default', 'source': 'default', 'osds': [0, 1, 2]}
                ],
            },
        }
    ]
    assert found['findings'] == {'error': 1, 'warning': 1, 'info': 1}
    assert found['recommendations'] == 1
    assert found['operation']['osds_finished'] == 1


def test_mixed_group_has_no_profile_but_all_its_variants() -> None:
    found = json.loads(views.show('status', samples.large_cluster()))
    hdd = found['groups'][0]['options']
    assert hdd['profile'] is None
    assert hdd['source'] is None
    assert [(v['profile'], v['source'], len(v['osds'])) for v in hdd['variants']] == [
        ('pacific-default', 'default', 38),
        (None, 'mon', 2),
    ]
    assert hdd['pending_restart'] == [4, 9]


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


def test_zero_stays_zero() -> None:
    assert document('osd')[0]['slow_used_bytes'] == 0


def test_numbers_are_rounded_without_losing_meaning() -> None:
    row = document('osd')[0]
    assert row['kv_sync_ms'] == 0.731235
    assert row['write_iops'] == 271.123
    assert row['db_used_bytes'] == 1288490188


def test_osd_detail_has_only_data_of_this_osd() -> None:
    found = json.loads(views.show('osd-detail', detail_of(samples.small_cluster(), 1)))
    assert [f['id'] for f in found['findings']] == ['unstartable-options']
    assert found['recommendations'] == ['ssd-1a2b3c']


def test_show_compares_options_one_by_one() -> None:
    changes = {
        c['option']: (c['from'], c['to']) for c in document('recommend-detail')['difference']
    }
    assert changes['compression'] == ('kNoCompression', 'kLZ4Compression')
    assert changes['max_background_jobs'] == (None, '4')
    assert 'max_total_wal_size' not in changes
    # 2MB and 2097152 are the same.
    assert 'compaction_readahead_size' not in changes


def test_unparsable_options_are_not_compared() -> None:
    broken = replace(samples.recommendation(), options_from='compression')
    found = json.loads(views.show('recommend-detail', in_full(broken, None)))
    validator('recommend-detail').validate(found)
    assert found['difference'] is None


def test_plan_keeps_the_order_of_the_recommendation() -> None:
    found = json.loads(
        views.show('plan', plan_of(samples.recommendation(osds=(2, 0, 1)), samples.SOAK))
    )
    assert [batch['osds'] for batch in found['batches']] == [[2], [0], [1]]
    assert found['expected_duration_most_s'] >= found['expected_duration_s'] > 0
    assert (found['canary'], found['controls']) == (None, [])
    judged = samples.changing(samples.recommendation(osds=(2, 0, 1)), controls=(1, 0))
    shown = json.loads(views.show('recommend-detail', in_full(judged, samples.SOAK)))
    assert (shown['plan']['canary'], shown['plan']['controls']) == (2, [1, 0])
    assert json.loads(views.show('recommend-detail', in_full(judged, None)))['plan'] is None


def test_rollout_shows_the_progress_of_each_osd() -> None:
    found = document('operation')
    assert [(osd['osd'], osd['step']) for osd in found['osds']] == [
        (0, 'verified'),
        (1, 'restarting'),
        (2, 'pending'),
    ]
    assert found['osds'][0]['from'] == samples.PACIFIC_DEFAULT
    assert found['osds'][0]['to'] == samples.LZ4
    assert found['verdict'] is None


def test_waiting_rollout_has_its_reason() -> None:
    last = samples.operating(samples.waiting_rollout())
    found = json.loads(views.show('operation', last))
    assert found['phase'] == 'waiting'
    assert 'restart osd.1' in found['paused_reason']


def test_no_operation_is_null() -> None:
    assert views.show('operation', samples.operating()) == 'null'


def test_document_modes_are_all_modes() -> None:
    found = document('mode')
    assert found['possible'] == [mode.value for mode in Mode]


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


def test_detailed_osd_sample_is_in_its_document() -> None:
    found = json.loads(views.show('osd-detail', detail_of(sampled_in_detail(), 0)))
    validator('osd-detail').validate(found)
    assert found['sharded'] is False
    assert found['forecast']['outlook'] == 'filling'
    assert found['forecast']['full_in_s'] == 864000.0
    assert found['write_latency']['bottleneck']['part'] == 'kv-queue'
    by_part = {part['part']: part for part in found['write_latency']['parts']}
    assert by_part['wal-sync']['ms'] == 0.58
    assert by_part['kv-queue']['within'] == 'kv'
    assert found['memory_target_bytes'] == 4 << 30
    assert found['last_start'] == {'away_s': 250.0, 'away_most_s': 258.5, 'host_away': False}
    unknown = json.loads(views.show('osd-detail', detail_of(samples.small_cluster(), 0)))
    assert (unknown['write_latency'], unknown['forecast'], unknown['sharded']) == (None,) * 3
    assert unknown['last_start'] is None


def test_client_limit_is_shown_per_group_and_recommendation() -> None:
    """The same of a group and of what is recommended for it."""
    limit = Limit(Resource.KV_SYNC, 0.8, samples.SMALL_WRITES.evidence)
    cluster = samples.small_cluster()
    advised = replace(cluster.assessments[0].recommendations[0], limit=limit)
    reported = replace(
        cluster,
        groups=tuple(replace(group, limit=limit) for group in cluster.groups),
        assessments=(replace(cluster.assessments[0], recommendations=(advised,)),),
    )
    status = json.loads(views.show('status', reported))
    recommended = json.loads(views.show('recommend', reported))
    validator('status').validate(status)
    validator('recommend').validate(recommended)
    assert status['groups'][0]['limit']['resource'] == 'kv-sync'
    assert recommended[0]['limit'] == status['groups'][0]['limit']
    assert len(recommended[0]['limit']['evidence']) == len(samples.SMALL_WRITES.evidence)

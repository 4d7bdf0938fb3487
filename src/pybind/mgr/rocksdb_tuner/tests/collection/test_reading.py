"""The content read from each file, and the full error message for it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Mapping, Optional

import pytest

from rocksdb_tuner.advise.facts import (
    WATCHED_IF_SET,
)
from rocksdb_tuner.collection.counters import (
    MEMTABLE_TIME,
    format_perf_dump,
    parse_perf_dump,
    wanted_paths,
)
from rocksdb_tuner.collection.module_state import kept_state_of, parse_module_state
from rocksdb_tuner.collection.names import FileName, Kind, file_name, parse_name
from rocksdb_tuner.collection.read import (
    Problem,
    Reading,
    SourceFile,
    UnreadableError,
    read,
    unpack,
)
from rocksdb_tuner.collection.records import CounterDump, KvStatsText, OsdCollection
from rocksdb_tuner.collection.shapes import ShapeError
from rocksdb_tuner.mgr.records import CounterPoint, RunningOption
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.present.to_json import to_json
from rocksdb_tuner.store.errors import StoredStateError

from .whole import whole

OSD_DUMP: dict[str, Any] = {
    'epoch': 3,
    'flags': 'noout',
    'osds': [{'osd': 0, 'up': 1, 'in': 1}, {'osd': 7, 'up': 0, 'in': 1}],
    'pools': [],
}
OP_W = {'osd': {'op_w': 5}}
METADATA: list[dict[str, Any]] = [
    {'id': 0, 'hostname': 'a', 'default_device_class': 'ssd'},
    {'id': 7},
]


def source(name: str, content: object, modified_s: Optional[float] = 1e9) -> SourceFile:
    """A text as it is, and anything else as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return SourceFile(name, text.encode(), modified_s)


def reading(**files: object) -> Reading:
    """Of these files, by their names with two underscores for each dot, with an OSD dump."""
    sources: dict[str, object] = {'osd_dump.json': OSD_DUMP}
    sources.update({name.replace('__', '.'): content for name, content in files.items()})
    return read(source(name, content) for name, content in sources.items())


def refused(**files: object) -> tuple[Problem, ...]:
    with pytest.raises(UnreadableError) as error:
        reading(**files)
    assert str(error.value) == '; '.join(f'{p.name}: {p.reason}' for p in error.value.problems)
    return error.value.problems


PRINTS_DUMP = 'is not the output of "ceph osd dump --format json": '
PRINTS_PERF = 'is not the output of "ceph tell osd.N perf dump": '


@pytest.mark.parametrize(
    ('name', 'content', 'reason'),
    [
        ('osd_dump.json', '', 'is empty'),
        ('osd_dump.json', ' \n', 'is empty'),
        (
            'health.json',
            '{"checks": ',
            'is not JSON, or truncated: Expecting value: line 1 column 12 (char 11)',
        ),
        ('health.json', '{"checks": NaN}', 'is not JSON, or truncated: NaN is not a number'),
        (
            'health.json',
            '[' * 100_000,
            'is nested too deeply to be the output of a Ceph command',
        ),
        ('osd_dump.json', '[]', PRINTS_DUMP + 'the document is a list and should be an object'),
        (
            'osd_dump.json',
            {**OSD_DUMP, 'epoch': 'x'},
            PRINTS_DUMP + '"epoch" is a string and should',
        ),
        (
            'osd_dump.json',
            {**OSD_DUMP, 'osds': OSD_DUMP['osds'] * 2},
            'contains an OSD more than once',
        ),
        (
            'osd.9.perf_dump.1795217000.json',
            OP_W,
            None,
        ),
        ('osd_metadata.json', {'x': {}}, 'its keys are not OSD ids'),
        ('osd_metadata.json', {'\u0663': {}}, 'its keys are not OSD ids'),
        ('osd_metadata.json', {'id': {}}, 'its keys are not OSD ids'),
        ('osd_metadata.json', 5, 'the document is a whole number and should be an object'),
        ('osd_metadata.json', [{}], '"[0].id" is missing'),
        ('osd_metadata.json', {'0': {'hostname': 3}}, '"0.hostname" is a whole number'),
        ('osd.0.bluefs_files.json', [], 'bluefs files list": it names no file'),
        ('osd.0.bluefs_files.json', {}, 'bluefs files list": the document is an object'),
        ('osd.0.config_show.json', [{'name': 'x'}], '"[0].value" is missing'),
        ('osd.0.perf_dump.1795217000.json', {}, PRINTS_PERF + 'no OSD counters found'),
        ('osd.0.perf_dump.1795217000.json', [], PRINTS_PERF + 'the document is not an object'),
        (
            'module.json',
            {},
            'is not the output of "ceph rocksdb-tuner report": "taken_s" is missing',
        ),
    ],
)
def test_errors_in_a_file_are_reported(name: str, content: object, reason: Optional[str]) -> None:
    problems = refused(**{name.replace('.', '__'): content})
    if reason is None:
        assert problems == (Problem('osd_dump.json', 'does not contain osd.9, which has files'),)
        return
    assert [problem.name for problem in problems] == [name]
    assert reason in problems[0].reason


def test_invalid_utf_8_is_reported_with_its_position() -> None:
    for name in ('health.json', 'osd.0.kv_stats.1795217000.txt'):
        files = [source('osd_dump.json', OSD_DUMP), SourceFile(name, b'ab\xff', 1e9)]
        with pytest.raises(UnreadableError) as error:
            read(files)
        assert error.value.problems == (Problem(name, 'is not text: byte 2 is not UTF-8'),)


def test_missing_osd_map_is_reported_with_the_command_that_prints_it() -> None:
    with pytest.raises(UnreadableError) as error:
        read([source('health.json', {'checks': {}})])
    (problem,) = error.value.problems
    assert problem == Problem(
        'osd_dump.json',
        'is missing, and required for OSDs and pools: save the output of "ceph osd dump --format '
        'json"',
    )
    # A broken one is not missing.
    assert [p.reason for p in refused(osd_dump__json='')] == ['is empty']


def test_first_osd_missing_from_the_map_is_named() -> None:
    (problem,) = refused(
        osd__16__config_show__json=[], osd__9__config_show__json=[], osd__7__config_show__json=[]
    )
    assert problem.reason == 'does not contain osd.9, which has files'


def test_problems_are_ordered_by_name() -> None:
    names = [p.name for p in refused(health__json='', config_dump__json='', osd_dump__json='{')]
    assert names == ['config_dump.json', 'health.json', 'osd_dump.json']


def test_two_files_with_the_same_content_are_ambiguous() -> None:
    (twice,) = refused(osd_dump__txt=OSD_DUMP)
    assert twice == Problem('osd_dump.txt', 'duplicates osd_dump.json: remove one of them')
    for kind in ('perf_dump', 'kv_stats'):
        files = {f'osd__0__{kind}__{t}__json': OP_W for t in ('1795217000', '1795217000__0')}
        (same,) = refused(**files)
        assert same == Problem(
            f'osd.0.{kind}.1795217000.0.json',
            'another file of this OSD has the same time: remove one of them',
        )


def test_file_without_a_time_requires_that_of_the_file_system() -> None:
    files = [source('osd_dump.json', OSD_DUMP), source('osd.0.perf_dump.json', OP_W, 5.0)]
    found = read([*files, source('osd.7.kv_stats.x.txt', 'said', 6.0)])
    assert found.times_of_files == {0, 7}
    assert [dump.time_s for dump in found.collection.osds[0].dumps] == [5.0]
    assert found.collection.osds[7].kv_stats == (KvStatsText(6.0, 'said'),)
    with pytest.raises(UnreadableError) as error:
        read([files[0], source('osd.0.perf_dump.json', OP_W, None)])
    assert error.value.problems == (
        Problem(
            'osd.0.perf_dump.json',
            'the name has no time: use "osd.0.perf_dump.1795217531.json" (seconds since the epoch) '
            'or "osd.0.perf_dump.20261121T083000Z.json"',
        ),
    )


def test_all_available_files_are_read() -> None:
    shown = [
        {'name': OPTION, 'value': 'ttl=1', 'source': 'mon'},
        {'name': WATCHED_IF_SET[0], 'value': '5', 'source': 'default'},
        {'name': 'osd_data', 'value': '/x', 'source': 'file'},
    ]
    entries = [
        {'section': 'osd', 'mask': 'class:ssd', 'name': ANNEX, 'value': 'ttl=1'},
        {'section': 'mgr', 'name': 'mgr/orchestrator/orchestrator', 'value': 'cephadm'},
        {'section': 'osd', 'name': 'osd_data', 'value': '/x'},
    ]
    found = reading(
        osd__0__perf_dump__1795217600__json={'osd': {'op_w': 9}},
        osd__0__perf_dump__1795217000__json=OP_W,
        osd__0__kv_stats__1795217600__txt='later',
        osd__0__kv_stats__1795217000__txt='before',
        osd__0__config_show__json=shown,
        osd__0__bluefs_files__json=[{'name': 'sharding/def'}],
        osd__7__bluefs_files__json=[{'name': 'db/CURRENT'}],
        config_dump__json=entries,
        health__json={'checks': {'OSD_DOWN': {}}},
        osd_metadata__json=METADATA,
        notes__txt='x',
        a__log='x',
    )
    collection = found.collection
    assert collection.osds == {
        0: OsdCollection(
            dumps=tuple(
                CounterDump(time_s, {'osd.op_w': CounterPoint(time_s, value)})
                for time_s, value in ((1795217000.0, 5), (1795217600.0, 9))
            ),
            kv_stats=(KvStatsText(1795217000.0, 'before'), KvStatsText(1795217600.0, 'later')),
            running={
                OPTION: RunningOption('ttl=1', 'mon', ignores_mon=False),
                WATCHED_IF_SET[0]: RunningOption('5', 'default', ignores_mon=False),
            },
            sharded=True,
        ),
        7: OsdCollection(sharded=False),
    }
    assert [(e.who, e.name) for e in collection.entries or ()] == [('osd/class:ssd', ANNEX)]
    assert collection.orchestrated is True
    assert collection.health_codes == frozenset({'OSD_DOWN'})
    assert [(o.osd_id, o.host, o.device_class) for o in collection.cluster_map.osds] == [
        (0, 'a', 'ssd'),
        (7, None, None),
    ]
    assert (found.ignored, found.classes_guessed) == (('a.log', 'notes.txt'), True)
    assert found.times_of_files == frozenset()


def test_missing_values_are_unknown() -> None:
    bare = reading()
    collection = bare.collection
    assert (collection.entries, collection.orchestrated, collection.health_codes) == (None,) * 3
    assert bare.kinds == frozenset({Kind.OSD_DUMP})
    assert (bare.classes_guessed, collection.module) == (False, None)
    without = reading(config_dump__json=[], osd_crush_dump__json={'devices': [], 'rules': []})
    assert (without.collection.entries, without.collection.orchestrated) == ((), False)
    both = reading(osd_crush_dump__json={'devices': [], 'rules': []}, osd_metadata__json=METADATA)
    assert not both.classes_guessed
    assert [osd.device_class for osd in both.collection.cluster_map.osds] == [None, None]
    unset = [{'section': 'mgr', 'name': 'mgr/orchestrator/orchestrator', 'value': ''}]
    assert reading(config_dump__json=unset).collection.orchestrated is False


@pytest.mark.parametrize(
    'metadata', [METADATA[0], METADATA, {'00': METADATA[0]}, {'0': {**METADATA[0], 'id': 0}}]
)
def test_metadata_is_read_for_one_osd_for_all_and_from_the_manager(metadata: object) -> None:
    found = reading(osd_metadata__json=metadata).collection.cluster_map
    assert found.osds[0].host == 'a'


@pytest.mark.parametrize(
    ('document', 'message'),
    [
        ({'format': 'x', 'version': 1, 'files': {}}, '"format" is "x" and should be "ceph-rocksdb'),
        (
            {'format': 'ceph-rocksdb-tuner-report', 'version': 2, 'files': {}},
            'has version 2, but this program reads version 1: use the release of the mod',
        ),
        ({'format': 'ceph-rocksdb-tuner-report', 'version': 1}, '"files" is missing'),
    ],
)
def test_document_of_another_kind_is_refused(document: object, message: str) -> None:
    with pytest.raises(UnreadableError) as error:
        unpack('ticket', json.dumps(document).encode())
    (problem,) = error.value.problems
    assert problem.name == 'ticket'
    assert message in problem.reason


def test_statistics_may_be_text_or_json() -> None:
    files = {
        'osd_dump.json': OSD_DUMP,
        'osd.0.kv_stats.1795217000.txt': {'a': 1},
        'osd.0.kv_stats.1795217001.txt': 'text',
        'osd.0.perf_dump.1795217000.json': {
            'bluestore': {'kv_sync_lat': {'avgcount': 3, 'sum': 0.1}}
        },
    }
    document = {'format': 'ceph-rocksdb-tuner-report', 'version': 1, 'files': files}
    osd = read(unpack('x', json.dumps(document).encode())).collection.osds[0]
    assert [answer.text for answer in osd.kv_stats] == ['{"a": 1}', 'text']
    assert osd.dumps[0].points['bluestore.kv_sync_lat'].value == 100_000_000


# -- counters


@pytest.mark.parametrize(
    ('value', 'found'),
    [
        (0, (0, None)),
        ((1 << 64) - 1, ((1 << 64) - 1, None)),
        (1 << 64, None),
        (-1, None),
        (True, None),
        (Decimal('1.5'), None),
        ('1', None),
        ([], None),
        ({'avgcount': 2, 'sum': 3}, (3_000_000_000, 2)),
        ({'avgcount': 0, 'sum': 0}, (0, 0)),
        # Exactly, to the nanosecond.
        ({'avgcount': 2, 'sum': Decimal('17.707198619')}, (17_707_198_619, 2)),
        ({'avgcount': 2, 'sum': Decimal('0.0000000006')}, (1, 2)),
        ({'avgcount': 2, 'sum': Decimal('-0.000000001')}, None),
        ({'avgcount': -1, 'sum': 3}, None),
        ({'avgcount': True, 'sum': 3}, None),
        ({'sum': 3}, None),
        ({'avgcount': 2}, None),
        ({'avgcount': 2, 'sum': '3'}, None),
        ({'avgcount': 2, 'sum': Decimal('18446744073.709551615')}, ((1 << 64) - 1, 2)),
        ({'avgcount': 2, 'sum': Decimal('18446744073.709551616')}, None),
        # As text it would take that many digits.
        ({'avgcount': 2, 'sum': Decimal('1e999999')}, None),
    ],
)
def test_counter_is_a_count_or_an_average(
    value: object, found: Optional[tuple[int, Optional[int]]]
) -> None:
    dump = {'osd': {'op_w': value, 'nope': 1}, 'mon': {'op_w': 1}}
    if found is None:
        with pytest.raises(ShapeError, match=r'^"osd.op_w" is neither a count nor an average$'):
            parse_perf_dump(dump, 5.0)
    else:
        assert parse_perf_dump(dump, 5.0) == {'osd.op_w': CounterPoint(5.0, *found)}


@pytest.mark.parametrize(
    'dump', [{}, {'osd': {}}, {'osd': []}, {'osd': {'op_w': None}}, {'mon': {'op_w': 1}}]
)
def test_dump_without_a_used_counter_is_none(dump: object) -> None:
    with pytest.raises(ShapeError, match=r'^no OSD counters found$'):
        parse_perf_dump(dump, 1.0)


def test_counters_of_any_release_are_kept_as_printed() -> None:
    paths = {'bluestore.commit_lat', 'bluestore.txc_commit_lat', 'osd.op_w', MEMTABLE_TIME}
    assert paths <= wanted_paths()
    points = {'osd.op_w': CounterPoint(5.0, 3), MEMTABLE_TIME: CounterPoint(5.0, 1_500_000_000, 2)}
    written = format_perf_dump(points)
    assert written == {
        'osd': {'op_w': 3},
        'rocksdb': {'rocksdb_write_memtable_time': {'avgcount': 2, 'sum': 1.5}},
    }
    exact = json.loads(json.dumps(written), parse_float=Decimal)
    assert parse_perf_dump(exact, 5.0) == points


# -- names of files


@pytest.mark.parametrize(
    ('name', 'found'),
    [
        ('osd_dump.json', FileName(Kind.OSD_DUMP)),
        ('osd_dump.txt', FileName(Kind.OSD_DUMP)),
        ('osd_dump.yaml', None),
        ('xosd_dump.json', None),
        ('osd_dump.1795217000.json', None),
        ('perf_dump.json', None),
        ('osd.0.osd_dump.json', None),
        ('osd.0.config_show.json', FileName(Kind.CONFIG_SHOW, 0)),
        ('osd.12.bluefs_files.txt', FileName(Kind.BLUEFS_FILES, 12)),
        ('osd.999999999.perf_dump.json', FileName(Kind.PERF_DUMP, 999_999_999)),
        ('osd.1234567890.perf_dump.json', None),
        ('osd.x.perf_dump.json', None),
        ('osd.0.perf_dump.1795217531.5.json', FileName(Kind.PERF_DUMP, 0, 1795217531.5)),
        ('osd.0.perf_dump.123456789.json', FileName(Kind.PERF_DUMP, 0)),
        ('osd.0.perf_dump.12345678901.json', FileName(Kind.PERF_DUMP, 0)),
        ('osd.0.perf_dump.5.25.json', FileName(Kind.PERF_DUMP, 0, 5.25)),
        ('osd.0.kv_stats.20261121T083000Z.txt', FileName(Kind.KV_STATS, 0, 1795249800.0)),
        ('osd.0.kv_stats.2026-11-21T08:30:00Z.txt', FileName(Kind.KV_STATS, 0, 1795249800.0)),
        ('osd.0.kv_stats.20261121T083000.txt', FileName(Kind.KV_STATS, 0)),
        ('osd.0.kv_stats.20260230T083000Z.txt', FileName(Kind.KV_STATS, 0)),
        ('osd.0.kv_stats.20261121T243000Z.txt', FileName(Kind.KV_STATS, 0)),
        ('osd.0.kv_stats.before.txt', FileName(Kind.KV_STATS, 0)),
        ('osd.0.kv_stats..txt', None),
    ],
)
def test_file_name_parts_are_parsed(name: str, found: Optional[FileName]) -> None:
    assert parse_name(name) == found


def test_written_names_are_parsed() -> None:
    assert file_name(Kind.HEALTH) == 'health.json'
    assert file_name(Kind.CONFIG_SHOW, 0) == 'osd.0.config_show.json'
    assert file_name(Kind.PERF_DUMP, 3, 0) == 'osd.3.perf_dump.0.0.json'
    assert file_name(Kind.KV_STATS, 3, 1.25) == 'osd.3.kv_stats.1.25.txt'


# -- what the module knows of itself


def module_document(**changes: object) -> dict[str, Any]:
    module = whole().module
    assert module is not None
    return {**json.loads(json.dumps(to_json(kept_state_of(module)))), **changes}


GROWTH: Mapping[str, Any] = {
    'times_s': [1, 2],
    'used_bytes': [3, 4],
    'total_bytes': 5,
    'slow_used_bytes': 6,
}
START: Mapping[str, Any] = {'away_s': 5, 'away_most_s': 6, 'host_away': None}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'mode': 'x'}, '"mode" is "x" instead of one of off, '),
        (
            {'growth': {'x': GROWTH}},
            '"growth.x" is not a number',
        ),
        ({'growth': {'\u0663': GROWTH}}, 'is not a number'),
        ({'growth': {'9' * 5000: GROWTH}}, 'is not a number'),
        ({'pending_since_s': {'-1': 5}}, '"pending_since_s.-1" is not a number'),
        (
            {'growth': {'1': {**GROWTH, 'times_s': [1]}}},
            '"growth.1" has different numbers of "used_bytes" and "times_s"',
        ),
        (
            {'growth': {'1': {**GROWTH, 'times_s': [], 'used_bytes': []}}},
            '"growth.1" has different numbers of "used_bytes" and "times_s"',
        ),
        (
            {'growth': {'1': {**GROWTH, 'times_s': [2, 1]}}},
            '"growth.1" has "times_s" that are not ascending',
        ),
        (
            {'growth': {'1': {**GROWTH, 'times_s': [1, 3, 2], 'used_bytes': [1, 2, 3]}}},
            '"growth.1" has "times_s" that are not ascending',
        ),
        (
            {'growth': {'1': {**GROWTH, 'times_s': [2, 2]}}},
            '"growth.1" has "times_s" that are not ascending',
        ),
        (
            {'advised_on': {'ssd': {'class': 'x', 'confidence': 1, 'evidence': []}}},
            '"advised_on.ssd.class" is "x" instead of one of idle, rbd-small-write, ',
        ),
        ({'interval_s': 'x'}, '"interval_s" is "x" instead of a number'),
        ({'interval_s': 1e300}, '"interval_s" is 1e+300 instead of a number that Ceph prints'),
        ({'managers': [{'name': 'x'}]}, '"managers[0].host" is missing'),
        ({'starts': {'x': START}}, '"starts.x" is not a number'),
        (
            {'starts': {'1': {**START, 'host_away': 1}}},
            '"starts.1.host_away" is 1 instead of true or false',
        ),
    ],
)
def test_errors_in_module_output_are_reported(changes: dict[str, object], message: str) -> None:
    with pytest.raises((ShapeError, StoredStateError)) as error:
        parse_module_state(module_document(**changes))
    assert message in str(error.value)


def test_module_output_is_parsed_with_the_right_number_types() -> None:
    state = parse_module_state(
        module_document(
            growth={'1': GROWTH}, interval_s=5, tick_ms=None, limits={'x': 1}, taken_s=7
        )
    )
    growth = state.growth[1]
    assert (growth.times_s, growth.used_bytes) == ((1.0, 2.0), (3, 4))
    assert (growth.total_bytes, growth.slow_used_bytes) == (5, 6)
    assert (repr(state.interval_s), state.tick_ms, repr(state.taken_s)) == ('5.0', None, '7.0')
    assert repr(state.limits['x']) == '1.0'
    kept = whole().module
    assert kept is not None
    again = parse_module_state(module_document())
    assert (again.managers, again.pool_rates) == (kept.managers, kept.pool_rates)
    assert again.pending_since_s == kept.pending_since_s
    assert again.starts == kept.starts
    believed = again.memories.osds[3].believed.evidence
    assert [(e.value, e.window_s, e.statement) for e in believed] == [
        (500.0, 30.0, '500 of 600.'),
        (0.7, 30.0, 'Of alices.mail on NODE7.'),
    ]


def test_report_from_before_start_tracking_has_no_starts() -> None:
    """It is read as it always was."""
    document = module_document()
    del document['starts']
    assert parse_module_state(document).starts == {}


def test_fields_of_a_later_module_are_ignored() -> None:
    """A report is read with an older release as far as that knows what is in it."""
    document = module_document(added=1)
    document['managers'][0]['added'] = 2
    assert parse_module_state(document) == parse_module_state(module_document())

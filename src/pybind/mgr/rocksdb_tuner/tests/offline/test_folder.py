"""The content read from each file, and the full error message for it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.facts import WATCHED_IF_SET
from rocksdb_tuner.collection.records import Collection, OsdCollection
from rocksdb_tuner.collection.report import UnreadableError
from rocksdb_tuner.mgr.records import CounterPoint, RunningOption
from rocksdb_tuner.observe.kv_stats import DeepStats, KvStats
from rocksdb_tuner.offline.files import FileName, parse_name
from rocksdb_tuner.offline.folder import (
    MEMTABLE_TIME,
    parse_perf_dump,
    read_files,
    wanted_paths,
)
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.store.codec import StoredStateError

from .test_files import BEFORE

OSD_DUMP: dict[str, Any] = {
    'epoch': 3,
    'flags': 'noout',
    'osds': [{'osd': 0, 'up': 1, 'in': 1}, {'osd': 7, 'up': 0, 'in': 1}],
    'pools': [],
}
WITH_NONCE: dict[str, Any] = {**OSD_DUMP['osds'][0], 'public_addrs': {'addrvec': [{'nonce': 5}]}}
OP_W = {'osd': {'op_w': 5}}
METADATA: list[dict[str, Any]] = [
    {'id': 0, 'hostname': 'a', 'default_device_class': 'ssd'},
    {'id': 7},
]


def reading(**files: object) -> Collection:
    """Of these files, by their names with two underscores for each dot, with an OSD dump.

    A text as it is, and anything else as JSON.
    """
    contents = {'osd_dump__json': OSD_DUMP, **files}
    texts = {n: c if isinstance(c, str) else json.dumps(c) for n, c in contents.items()}
    return read_files({name.replace('__', '.'): partial(str, text) for name, text in texts.items()})


def refused(**files: object) -> tuple[str, ...]:
    with pytest.raises(UnreadableError) as error:
        reading(**files)
    assert str(error.value) == '; '.join(error.value.problems)
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
        ('health.json', '[' * 100_000, 'is nested too deeply to be the output of a Ceph command'),
        ('osd_dump.json', '[]', PRINTS_DUMP + 'it has another structure'),
        ('osd_dump.json', '{}', PRINTS_DUMP + '"osds" is missing'),
        (
            'osd_dump.json',
            {**OSD_DUMP, 'epoch': 'x'},
            PRINTS_DUMP + '"epoch" is "x" instead of a non-negative integer',
        ),
        (
            'osd_dump.json',
            {**OSD_DUMP, 'osds': OSD_DUMP['osds'] * 2},
            'contains an OSD more than once',
        ),
        ('osd.9.perf_dump.1795217000.json', OP_W, None),
        ('osd_crush_dump.json', {}, '"devices" is missing'),
        (
            'osd_crush_dump.json',
            {'devices': [{'id': 0, 'class': 5}], 'rules': []},
            '"osds[0].device_class" is 5 instead of a string',
        ),
        ('osd_metadata.json', {'x': {}}, 'it has another structure'),
        ('osd_metadata.json', 5, 'it has another structure'),
        ('osd_metadata.json', [{}], '"id" is missing'),
        ('osd_metadata.json', [{'id': 0, 'hostname': 3}], '"osds[0].host" is 3 instead of a'),
        ('config_dump.json', [{'name': OPTION}], '"section" is missing'),
        ('health.json', {}, '"checks" is missing'),
        ('osd.0.bluefs_files.json', [], 'bluefs files list": it names no file'),
        ('osd.0.bluefs_files.json', {}, 'bluefs files list": it names no file'),
        ('osd.0.config_show.json', [{'name': OPTION}], '"value" is missing'),
        ('osd.0.config_show.json', [5], 'it has another structure'),
        ('osd.0.perf_dump.1795217000.json', {}, PRINTS_PERF + 'no OSD counters found'),
        ('osd.0.perf_dump.1795217000.json', [], PRINTS_PERF + 'it has another structure'),
    ],
)
def test_errors_in_a_file_are_reported(name: str, content: object, reason: Optional[str]) -> None:
    problems = refused(**{name.replace('.', '__'): content})
    if reason is None:
        assert problems == ('osd_dump.json: does not contain osd.9, which has files',)
        return
    (problem,) = problems
    assert problem.startswith(f'{name}: ')
    assert reason in problem


def test_missing_osd_map_is_reported_with_the_command_that_prints_it() -> None:
    with pytest.raises(UnreadableError) as error:
        read_files({'health.json': partial(str, '{"checks": {}}')})
    (problem,) = error.value.problems
    assert problem == (
        'osd_dump.json: is missing, and required for OSDs and pools: save the output of "ceph osd '
        'dump --format json"'
    )
    # A broken one is not missing.
    assert refused(osd_dump__json='') == ('osd_dump.json: is empty',)


def test_problems_are_ordered_by_name() -> None:
    problems = refused(health__json='', config_dump__json='', osd_dump__json='{')
    assert [p.partition(':')[0] for p in problems] == [
        *('config_dump.json', 'health.json', 'osd_dump.json')
    ]


def test_all_available_files_are_read() -> None:
    shown = [
        {'name': OPTION, 'value': 'ttl=1', 'source': 'mon'},
        {'name': ANNEX, 'value': '', 'source': 'default'},
        {'name': WATCHED_IF_SET[0], 'value': '5', 'source': 'default'},
        {'name': 'osd_data', 'value': '/x', 'source': 'file'},
    ]
    entries = [
        {'section': 'osd', 'mask': 'class:ssd', 'name': ANNEX, 'value': 'ttl=1'},
        {'section': 'osd', 'name': 'osd_data', 'value': '/x'},
    ]
    dump, insert = (
        {'osd': {'op_w': 9}},
        {'rocksdb_write_memtable_time': {'avgcount': 2, 'sum': 1.5}},
    )
    collection = reading(
        osd_dump__json={**OSD_DUMP, 'osds': [WITH_NONCE, OSD_DUMP['osds'][1]]},
        osd__0__perf_dump__1795217600__json={**dump, 'rocksdb': insert},
        osd__0__perf_dump__1795217000__json=OP_W,
        osd__0__kv_stats__1795217600__txt='{".": "rocksdb.compact.write.bytes COUNT : 7"}',
        osd__0__kv_stats__1795217000__txt='before',
        osd__0__config_show__json=shown,
        osd__0__bluefs_files__json=[{'name': 'sharding/def'}],
        osd__7__bluefs_files__json=[{'name': 'db/CURRENT'}],
        config_dump__json=entries,
        health__json={'checks': {'OSD_DOWN': {}}},
        osd_metadata__json=METADATA,
        osd_crush_dump__json={'devices': [{'id': 0, 'class': 'ssd'}], 'rules': []},
        notes__txt='x',
        a__log='x',
    )
    osd = collection.osds[0]
    assert osd.evidence is not None
    assert [(s.time_s, s.nonce, s.op_w) for s in osd.evidence.samples] == [
        (1795217000.0, 5, 5),
        (1795217600.0, 5, 9),
    ]
    totals = KvStats(None, 7, None, None, None)
    counted = replace(totals, memtable_insert=(1.5, 2))
    assert osd.evidence.deep == ((1795217600.0, counted),)
    assert osd.statistics == (1795217600.0, DeepStats(totals=totals))
    assert osd.running == {
        OPTION: RunningOption('ttl=1', 'mon', ignores_mon=False),
        ANNEX: RunningOption('', 'default', ignores_mon=False),
        WATCHED_IF_SET[0]: RunningOption('5', 'default', ignores_mon=False),
    }
    assert osd.sharded is True
    assert collection.osds[7] == OsdCollection(sharded=False)
    assert [(e.who, e.name) for e in collection.entries or ()] == [('osd/class:ssd', ANNEX)]
    assert collection.health_codes == frozenset({'OSD_DOWN'})
    assert [(o.osd_id, o.host, o.device_class) for o in collection.cluster_map.osds] == [
        (0, 'a', 'ssd'),
        (7, None, None),
    ]
    assert collection.taken_s == 1795217600.0
    assert 'Ignored because of their names: a.log, notes.txt.' in collection.limitations


def test_missing_values_are_unknown() -> None:
    bare = reading()
    assert (bare.entries, bare.module, bare.taken_s) == (None, None, None)
    assert bare.osds[0] == OsdCollection()
    assert reading(config_dump__json=[]).entries == ()
    both = reading(osd_crush_dump__json={'devices': [], 'rules': []}, osd_metadata__json=METADATA)
    assert [osd.device_class for osd in both.cluster_map.osds] == [None, None]


# -- counters


@pytest.mark.parametrize(
    ('value', 'found'),
    [
        (0, (0, None)),
        ((1 << 64) - 1, ((1 << 64) - 1, None)),
        (1 << 65, None),
        (-1, None),
        (True, None),
        (1.5, None),
        ('1', None),
        ([], None),
        ({'avgcount': 2, 'sum': 3}, (3_000_000_000, 2)),
        ({'avgcount': 0, 'sum': 0}, (0, 0)),
        ({'avgcount': 2, 'sum': 17.707198619}, (17_707_198_619, 2)),
        ({'avgcount': 2, 'sum': -0.000000001}, None),
        ({'avgcount': -1, 'sum': 3}, None),
        ({'avgcount': True, 'sum': 3}, None),
        ({'sum': 3}, None),
        ({'avgcount': 2}, None),
        ({'avgcount': 2, 'sum': '3'}, None),
        ({'avgcount': 2, 'sum': 2e10}, None),
        ({'avgcount': 2, 'sum': 1e308}, None),
    ],
)
def test_counter_is_a_count_or_an_average(
    value: object, found: Optional[tuple[int, Optional[int]]]
) -> None:
    dump = {'osd': {'op_w': value, 'nope': 1}, 'mon': {'op_w': 1}}
    if found is None:
        with pytest.raises(
            StoredStateError, match=r'^"osd.op_w" is neither a count nor an average$'
        ):
            parse_perf_dump(dump, 5.0)
    else:
        assert parse_perf_dump(dump, 5.0) == {'osd.op_w': CounterPoint(5.0, *found)}


def test_counters_of_any_release_are_kept() -> None:
    paths = {'bluestore.commit_lat', 'bluestore.txc_commit_lat', 'osd.op_w', MEMTABLE_TIME}
    assert paths <= wanted_paths()


# -- names of files


@pytest.mark.parametrize(
    ('name', 'found'),
    [
        ('osd_dump.json', FileName('osd_dump.json')),
        ('osd_dump.yaml', None),
        ('xosd_dump.json', None),
        ('osd_dump.1795217000.json', None),
        ('osd.0.osd_dump.json', None),
        ('osd.N.config_show.json', None),
        ('osd.0.config_show.json', FileName('osd.N.config_show.json', 0)),
        ('osd.12.bluefs_files.json', FileName('osd.N.bluefs_files.json', 12)),
        ('osd.01.bluefs_files.json', None),
        ('osd.999999999.config_show.json', FileName('osd.N.config_show.json', 999_999_999)),
        ('osd.1234567890.config_show.json', None),
        ('osd.x.config_show.json', None),
        (BEFORE, FileName('osd.N.perf_dump.TIME.json', 0, 1795217000.0)),
        ('osd.0.perf_dump.json', None),
        ('osd.0.perf_dump.before.json', None),
        ('osd.0.perf_dump.123456789.json', None),
        ('osd.0.perf_dump.12345678901.json', None),
        ('osd.0.kv_stats.1795217000.txt', FileName('osd.N.kv_stats.TIME.txt', 0, 1795217000.0)),
    ],
)
def test_file_name_parts_are_parsed(name: str, found: Optional[FileName]) -> None:
    assert parse_name(name) == found

"""Any input, stored data or measurement: no traceback, no hang, a bounded answer, the right errno.

A few examples of each in the unit tests. ``make fuzz`` runs for ROCKSDB_TUNER_FUZZ_SECONDS, from
ROCKSDB_TUNER_FUZZ_SEED (printed), one target after the other. A failure prints the smallest example
and its seed; its findings stay below as separate examples.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from rocksdb_tuner import Module
from rocksdb_tuner.collection.report import UnreadableError, read_report, report
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.deep.reader import OsdOverrides
from rocksdb_tuner.mgr.adapter import MgrCluster, counter_point, understood
from rocksdb_tuner.mgr.parse import parse_upgrade
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.deep import is_sharded
from rocksdb_tuner.observe.kv_stats import KvStatsUnavailableError, parse_kv_stats
from rocksdb_tuner.offline.files import parse_json
from rocksdb_tuner.offline.judge import judge as judge_files
from rocksdb_tuner.operations.compaction.machine import parse_probe
from rocksdb_tuner.operations.phases import Phase as RolloutPhase
from rocksdb_tuner.present import views
from rocksdb_tuner.present.osd import worst_osds
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import Stored

from .fake_cluster import FakeStore
from .test_tuner import World, statistics_off

SECONDS = float(os.environ.get('ROCKSDB_TUNER_FUZZ_SECONDS', '0'))
SEED = int(os.environ.get('ROCKSDB_TUNER_FUZZ_SEED', '0')) or random.SystemRandom().randrange(
    1 << 32
)
#: At a time, in the unit tests and between two checks of the clock.
EXAMPLES = 15
#: For one answer, on a machine with other load.
ANSWER_S = 10.0
ANSWER_CHARS = 8 << 20
FINE = {errno.EINVAL, errno.ENOENT, errno.EEXIST, errno.EBUSY, errno.EPERM, errno.EAGAIN}

NASTY = (
    '', ' ', '\x00', '\x1b[2J\x1b]0;owned\x07', '\x9b31m', '\r\n', '\u202egnp.exe', '\ud800',
    '💩' * 9, 'İı', 'a\u0300' * 50, '-1', '0x1p1023', '1e308', 'nan', 'inf', '9' * 5000, '\u0663',
    '²', '../../etc/passwd', '"', "'", '$(reboot)', '`id`', '%s%n', '{', '}' * 99, '=', ',,', 'a=b',
    'compression=kLZ4Compression', 'osd.0', 'osd.-1', '0', 'osd.99999999999999999999', 'osd/host:x',
    'reef', '18.2', 'plain', 'json', 'json-pretty', 'ssd', 'lz4-2025', 'x' * 70000, '[' * 10000,
)  # fmt: skip
texts = st.sampled_from(NASTY) | st.text(max_size=40)
numbers = st.sampled_from([0, 1, -1, 1 << 63, -(1 << 64), 10**4000, 1e308]) | st.integers()
json_values = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts.filter(lambda text: '\ud800' not in text),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
Targets = dict[str, tuple[Any, Callable[[Any], None]]]


class Complaints(logging.Handler):
    """Tracebacks that only reach the log."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.found.append(self.format(record))


@contextlib.contextmanager
def no_traceback() -> Iterator[None]:
    complaints = Complaints()
    log = logging.getLogger('rocksdb_tuner')
    log.addHandler(complaints)
    began_s = time.process_time()
    try:
        yield
    finally:
        log.removeHandler(complaints)
    assert not complaints.found, complaints.found[0]
    assert time.process_time() - began_s < ANSWER_S


def mutated(value: Any, draw: st.DrawFn) -> Any:
    """With one part anywhere in it replaced, or gone."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(sorted(value, key=str)))
        if not draw(st.integers(0, 6)):
            return {k: v for k, v in value.items() if k != name}
        return {**value, name: mutated(value[name], draw)}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        index = draw(st.integers(0, len(value) - 1))
        following = index + 1
        return [*value[:index], mutated(value[index], draw), *value[following:]]
    return draw(json_values)


@st.composite
def documents(draw: st.DrawFn, valid: str) -> str:
    """Near a valid document: cut off, of another type, with a part replaced, or very deep."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return valid[: draw(st.integers(0, len(valid)))]
    if kind == 1:
        return draw(st.sampled_from(['[' * 10000, '{"a":' * 10000, '[' * 10000 + ']' * 10000]))
    if kind == 2:
        return draw(texts)
    with no_digit_limit():
        return json.dumps(mutated(json.loads(valid), draw))


@contextlib.contextmanager
def no_digit_limit() -> Iterator[None]:
    """For numbers of thousands of digits, which others may write."""
    import sys  # noqa: PLC0415 - not in Python 3.9

    limit = getattr(sys, 'get_int_max_str_digits', lambda: 0)()
    set_limit = getattr(sys, 'set_int_max_str_digits', lambda _: None)
    set_limit(0)
    try:
        yield
    finally:
        set_limit(limit)


# -- commands

option_texts = st.lists(
    st.sampled_from(
        ['write_buffer_size', 'compression_opts', 'max_bytes_for_level_multiplier', 'ttl', 'a', '{']
    )
    | texts,
    max_size=6,
).map('='.join) | st.text('=,;{}: abc019.-kMe', max_size=60)


def a_world() -> World:
    made = World()
    made.recommended_for_rbd()
    statistics_off(made)
    return made


def module() -> Any:
    """A module that has seen a cluster; what waits for its loop is done at once.

    A new one for each example: what one sets off must not decide what another finds.
    """
    made: Any = Module('rocksdb_tuner', '', '')
    made._tuner = a_world().tuner
    made._tuner.submit = lambda work: work()
    return made


NAMES = sorted(COMMANDS)


@st.composite
def commands(draw: st.DrawFn) -> tuple[Any, Any]:
    name = draw(st.sampled_from(NAMES) | texts)
    known = list(COMMANDS[name].parameters) if name in COMMANDS else []
    values = texts | numbers | st.booleans() | st.none() | json_values
    arguments = {
        argument: draw(option_texts if argument == 'options' else texts | values)
        for argument in known
        if draw(st.integers(0, 3))
    }
    if draw(st.integers(0, 9)) == 0:
        arguments[draw(texts)] = draw(values)
    if 'format' in known and draw(st.booleans()):
        arguments['format'] = draw(st.sampled_from(['plain', 'json', 'json-pretty']))
    return name, arguments


def check_command(asked: tuple[Any, Any]) -> None:
    name, arguments = asked
    with no_traceback():
        answer = module().remote_command(name, arguments)
    check_answer(answer, arguments)


def check_answer(answer: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    assert -answer['retval'] in FINE | {0}, answer
    assert (answer['retval'] == 0) == (answer['stderr'] == ''), answer
    assert len(answer['stdout']) < ANSWER_CHARS
    assert len(answer['stderr']) < 10000
    for text in (answer['stdout'], answer['stderr']):
        # A terminal obeys none of it.
        assert all(line.isprintable() for line in text.split('\n')), arguments
    if answer['retval'] == 0 and arguments.get('format') != 'plain':
        json.loads(answer['stdout'])


# -- what is stored, measured, mapped, sent as files


STORED: dict[str, str] = {}


def stored() -> dict[str, str]:
    """A rollout halfway, with a history."""
    if not STORED:
        made = World()
        made.apply(made.recommended_for_rbd())
        made.run_until(RolloutPhase.CANARY)
        STORED.update(made.store.values)
    assert STORED
    return STORED


@st.composite
def stores(draw: st.DrawFn) -> dict[str, str]:
    whole = stored()
    key = draw(st.sampled_from(sorted(whole)))
    value = draw(documents(whole[key]) if whole[key][:1] in '{[' else texts)
    # The monitor keeps no more under one key.
    return {**whole, key: value.encode(errors='replace')[:65536].decode(errors='replace')}


def check_stored(values: Mapping[str, str]) -> None:
    world = World()
    world.store.values = dict(values)
    with no_traceback():
        world.takeover()
        world.run(10)
        for output_format in ('plain', 'json'):
            views.show('status', world.tuner.snapshot, output_format)
            views.show('history', world.tuner.snapshot.history, output_format)
            views.show('operation', world.tuner.snapshot, output_format)


points = st.lists(
    numbers | st.floats() | texts | st.none() | st.lists(st.integers(), max_size=2), max_size=4
)


@st.composite
def counters(draw: st.DrawFn) -> list[tuple[int, Any]]:
    return draw(st.lists(st.tuples(st.integers(0, 300), points), min_size=1, max_size=8))


def check_counters(sent: list[tuple[int, Any]]) -> None:
    world = World()
    world.load_ops_per_s = 800
    world.run(30)
    with no_traceback():
        for place, point in sent:
            found = counter_point(point)
            key = sorted(world.cluster.counters)[place % len(world.cluster.counters)]
            if found is None:
                world.cluster.counters.pop(key)
            else:
                world.cluster.counters[key] = CounterPoint(*found)
            world.cluster.advance(2)
            world.tuner.tick()
        views.show('osd', worst_osds(world.tuner.snapshot), 'plain')
        views.show('osd', worst_osds(world.tuner.snapshot))


RECORDED = Path(__file__).parent / 'mgr/data/reef'
MAPS: dict[str, Any] = {
    **{
        name: json.loads((RECORDED / f'{name}.json').read_text(encoding='utf-8'))
        for name in ('osd_map', 'osd_map_crush', 'osd_metadata')
    },
    'pg_status': {'num_pgs': 1, 'pgs_by_state': [{'state_name': 'active+clean', 'count': 1}]},
    'df': {'pools': [{'id': 1, 'stats': {'rd': 1, 'rd_bytes': 1, 'wr': 1, 'wr_bytes': 1}}]},
    'mgr_map': {'active_name': 'x',
                'standbys': [{'name': 'y', 'available_modules': [{'name': 'm'}]}],
                'available_modules': [{'name': 'rocksdb_tuner'}]},
    'health': {'json': '{"checks": {"OSD_DOWN": {"severity": "HEALTH_WARN"}}}'},
}  # fmt: skip


@st.composite
def maps(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(MAPS)))
    return {**MAPS, name: mutated(MAPS[name], draw)}


def check_maps(data: dict[str, Any]) -> None:
    """Read, or refused as an invalid answer of the cluster."""
    made: Any = Module('rocksdb_tuner', '', '')
    made.data = data
    made.get_metadata = lambda *_: {'hostname': 'h'}
    cluster = MgrCluster(made)
    with no_traceback():
        for look in (
            cluster.cluster_map,
            cluster.pg_summary,
            cluster.pool_counters,
            cluster.managers,
            cluster.slow_ops,
            cluster.health_codes,
        ):
            with contextlib.suppress(CommandError):
                look()


REPORT: list[str] = []


@st.composite
def reports(draw: st.DrawFn) -> str:
    if not REPORT:
        REPORT.append(report(a_world().tuner.collection(), anonymous=False))
    return draw(documents(REPORT[0]))


def check_report(text: str) -> None:
    with no_traceback(), contextlib.suppress(UnreadableError):
        snapshot = judge_files(read_report(parse_json(text))).snapshot
        for output_format in ('plain', 'json'):
            for view in ('status', 'findings', 'osd', 'recommend'):
                answer = views.show(view, snapshot, output_format)
                assert all(line.isprintable() for line in answer.split('\n'))


def check_texts(text: str) -> None:
    """The answers of OSDs to `tell`."""
    with no_traceback():
        with contextlib.suppress(KvStatsUnavailableError):
            parse_kv_stats(text)
        is_sharded(text)
        parse_upgrade(text)
        with contextlib.suppress(ValueError):
            parse_probe(text, None)
        with contextlib.suppress(StoredStateError):
            Stored(FakeStore(), 'note', OsdOverrides).decoded(text)


TARGETS: Targets = {
    'commands': (commands(), check_command),
    'stored': (stores(), check_stored),
    'counters': (counters(), check_counters),
    'maps': (maps(), check_maps),
    'reports': (reports(), check_report),
    'texts': (documents('[{"name": "db/CURRENT", "db": 1}]'), check_texts),
}


def run(name: str, number: int) -> int:
    """How many examples of a target were tried, from a seed."""
    strategy, check = TARGETS[name]
    tried = 0

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def fuzz(value: Any) -> None:
        nonlocal tried
        tried += 1
        check(value)

    try:
        fuzz()
    except BaseException:
        print(f'\nROCKSDB_TUNER_FUZZ_SEED={number} target {name}')  # noqa: T201
        raise
    return tried


@pytest.mark.parametrize('name', TARGETS)
def test_no_hostile_input_makes_a_command_fail(name: str) -> None:
    """With ROCKSDB_TUNER_FUZZ_SECONDS each target for its part of that time, from another seed."""
    number, tried = SEED if SECONDS else 20260, 0
    until_s = time.monotonic() + SECONDS / len(TARGETS)
    while not tried or time.monotonic() < until_s:
        tried += run(name, number)
        number += 1
    print(f'{name}: {tried} executions from ROCKSDB_TUNER_FUZZ_SEED={SEED}')  # noqa: T201


# -- what was found


@pytest.mark.parametrize(
    ('name', 'arguments', 'expected_error'),
    [
        ('profile_add', {'inbuf': '[' * 10000}, 'the profile is not valid JSON'),
        ('osd', {'osd_id': 3}, '"osd_id" should be a string, not int'),
        ('osd', {'nope': 3}, 'unknown argument "nope"'),
        ('apply', {}, '"recommendation_id" is missing'),
        ('model', {'options': 'ttl=1', 'cores': True}, '"cores" should be a whole number'),
        ('check', {'options': ['a']}, '"options" should be a string'),
        ('explain', {'option': 'x' * 70000}, 'more than 65536'),
        ('osd', {'osd_id': '9' * 5000}, 'invalid OSD id'),
        ('check', {'options': 'a', 'release': '18.' + '9' * 5000}, 'unknown release'),
        ('check', {'options': 'a', 'release': '18.²'}, 'unknown release'),
        ('osd\x1b[2J', {}, 'no command "osd?[2J"'),
        ('recommend', {'recommendation_id': '\x1b]0;owned\x07'}, r'"\x1b]0;owned\x07"'),
    ],
)
def test_wrong_arguments_of_another_module_are_refused_by_name(
    name: str, arguments: dict[str, Any], expected_error: str
) -> None:
    """They raised TypeError or ValueError, and control characters came back."""
    with no_traceback():
        answer = module().remote_command(name, arguments)
    assert -answer['retval'] in FINE
    assert expected_error in answer['stderr']
    check_answer(answer, arguments)


def test_invalid_map_is_refused_without_a_traceback() -> None:
    with pytest.raises(CommandError, match='the OSD map') as refused, understood('the OSD map'):
        json.loads('{}')['osds']
    assert refused.value.errno == errno.EPROTO

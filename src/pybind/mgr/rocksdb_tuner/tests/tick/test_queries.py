"""Queries in the background: OSDs that do not answer, and the actor of a change."""

from __future__ import annotations

import errno
import json
import threading
import time
from dataclasses import replace
from typing import Any, Callable

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.mgr.adapter import MgrCluster
from rocksdb_tuner.mgr.parse import parse_audit_log
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import AuditLine
from rocksdb_tuner.operations.phases import OperationRefused, Phase
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tick import queries
from rocksdb_tuner.tick.queries import OSD_SPACING_S, Queries, in_a_thread, sender

from ..query_command import ask
from ..test_loop import wait_for
from ..test_tuner import World, statistics_off


class Hanging(World):
    """Some OSDs do not answer until released; queries run in real threads."""

    def __init__(self, *silent: int) -> None:
        self.release = threading.Event()
        self.waiting: list[int] = []
        super().__init__()
        self.run_in_background = in_a_thread
        self.takeover()
        statistics_off(self)
        for n in self.cluster.osds:
            self.cluster.tell_answers[n, 'bluefs files list'] = '[{"name": "sharding/def"}]'
        tell = self.cluster.tell

        def slow(osd_id: int, prefix: str, args: Any) -> str:
            if osd_id in silent and not self.release.is_set():
                self.waiting.append(osd_id)
                self.release.wait(60)
                raise CommandError(errno.ETIMEDOUT, f'osd.{osd_id} did not answer')
            return tell(osd_id, prefix, args)

        self.cluster.tell = slow  # type: ignore[method-assign]

    def run(self, seconds: float, step_s: float = 2.0) -> None:
        until_s = self.cluster.now_s + seconds
        while self.cluster.now_s < until_s:
            super().run(step_s, step_s)
            # Threads that answer at once have the time for it.
            time.sleep(0.002)


def test_hanging_osd_delays_neither_ticks_nor_others() -> None:
    world = Hanging(0)
    started_s = time.monotonic()
    world.run(120)
    try:
        assert time.monotonic() - started_s < 30
        assert world.waiting
        sharded = {o.info.osd_id: o.sharded for o in world.tuner.snapshot.osds}
        assert sharded == {0: None, 1: True, 2: True}
        world.apply(world.recommended_for_rbd())
        world.run(60)
        assert world.cluster.commands
    finally:
        world.release.set()


def test_queries_from_before_mode_off_are_dropped() -> None:
    world = Hanging(0, 1, 2)
    world.run(20)
    assert world.waiting
    world.settings = replace(world.settings, mode=Mode.OFF)
    world.run(4)
    asked = len(world.waiting)
    world.release.set()
    wait_for(lambda: world.tuner.osd_queries.free(0) and world.tuner.osd_queries.free(1))
    world.settings = replace(world.settings, mode=Mode.RECOMMEND)
    world.run(2)
    assert len(world.waiting) == asked
    world.run(30)
    assert {o.sharded for o in world.tuner.snapshot.osds} == {True}


def test_query_timeout_ends_it_and_restores_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, 'ANSWER_WAIT_S', 0.2)
    world = Hanging(1)
    world.run(10)
    with pytest.raises(OperationRefused, match='did not answer within') as refusal:
        world.tuner.deep_stats.read(1)
    assert refusal.value.errno == errno.ETIMEDOUT
    with pytest.raises(OperationRefused, match='did not answer yet'):
        world.tuner.deep_stats.read(1)
    assert world.tuner.deep_stats.read(2).osd_id == 2
    world.release.set()
    wait_for(lambda: world.tuner.deep_stats.free(1))
    world.cluster.advance(OSD_SPACING_S)
    assert world.tuner.deep_stats.read(1).not_put_back == ()
    assert world.store.keys('deep/') == []


def test_refused_query_sends_nothing_to_the_osd() -> None:
    world = World()
    statistics_off(world)
    world.run(10)
    world.tuner.deep_stats.read(1)
    world.cluster.tell_commands.clear()
    with pytest.raises(OperationRefused, match='retry in 30s') as refusal:
        world.tuner.deep_stats.read(1)
    assert refusal.value.errno == errno.EAGAIN
    assert world.cluster.tell_commands == []
    assert world.tuner.deep_stats.read(2).osd_id == 2


def test_open_queries_are_limited_with_one_per_osd() -> None:
    started: list[Callable[[], None]] = []
    queries = Queries(2, started.append)
    answers: list[int] = []
    assert queries.ask(0, lambda: 10, answers.append)
    assert not queries.ask(0, lambda: 11, answers.append)
    assert queries.ask(1, lambda: 12, answers.append)
    assert not queries.ask(2, lambda: 13, answers.append)
    for work in started:
        work()
    assert answers == []
    queries.take_answers()
    assert answers == [10, 12]
    assert queries.free(0)


def test_nothing_is_held_if_no_thread_can_be_started() -> None:
    def fail(work: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    queries = Queries(2, fail)
    assert not queries.ask(0, lambda: 1)
    assert queries.free(0)


def test_module_shutdown_ends_the_wait_for_an_osd() -> None:
    module: Any = Module('rocksdb_tuner', '', '')
    module.send_command = lambda *_: None
    cluster: MgrCluster = module._cluster
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            cluster.tell(0, 'version', {})
        except CommandError as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    module.shutdown()
    thread.join(10)
    assert not thread.is_alive()
    assert ended


def test_osd_deep_answers_the_command_line_and_the_dashboard() -> None:
    module: Any = Module('rocksdb_tuner', '', '')
    world = World()
    statistics_off(world)
    world.run(10)
    module._tuner = world.tuner
    assert ask(module, 'osd_deep', '1', 'json').retval == 0
    answer = module.remote_command('osd_deep', {'osd_id': '2'}, 'dashboard:alice')
    assert answer['retval'] == 0, answer


# The actor of a change, by the audit log of the cluster

APPLY = {'prefix': 'rocksdb-tuner apply', 'recommendation_id': 'osd-1'}


def line(entity: str = 'client.alice', time_s: float = 100.0, **changed: str) -> AuditLine:
    return AuditLine(time_s, entity, {**APPLY, 'target': ['mon-mgr', ''], **changed})


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ([line()], 'client.alice'),
        ([line(), line(time_s=101.0)], 'client.alice'),
        ([], None),
        ([line(), line('client.bob')], None),
        ([line(), line('client.bob', time_s=10.0)], 'client.alice'),
        ([line(), line('client.bob', recommendation_id='osd-2')], 'client.alice'),
        ([line(prefix='rocksdb-tuner recommend')], None),
        ([line(time_s=200.0)], None),
    ],
)
def test_sender_is_named_only_if_unique(lines: list[AuditLine], expected: str) -> None:
    assert sender(lines, APPLY, 101.0) == expected


def test_log_lines_are_parsed_as_written_by_16_2_15() -> None:
    stamp = '2026-11-22T11:16:05.278364+0000'
    reported = (
        "from='client.4171 -' entity='client.admin' "
        'cmd=[{"prefix": "rocksdb-tuner apply", "recommendation_id": "osd-1", '
        '"target": ["mon-mgr", ""]}]: dispatch'
    )
    broken = [
        {'stamp': stamp, 'message': reported.replace('}]', '')},
        {'stamp': 'x', 'message': reported},
        {'message': reported},
        {'stamp': stamp, 'message': reported.replace('admin', 'a\x1b[31m')},
        {'stamp': stamp},
    ]
    (found,) = parse_audit_log([{'stamp': stamp, 'message': reported}, *broken])
    assert (found.entity, found.time_s) == ('client.admin', 1795346165.278364)
    assert found.command['recommendation_id'] == 'osd-1'
    assert parse_audit_log({'not': 'a list'}) == ()


def test_audit_log_is_read_from_the_monitors() -> None:
    module: Any = Module('rocksdb_tuner', '', '')
    module.mon_answers = [(0, json.dumps([]), '')]
    assert MgrCluster(module).audited() == ()
    (command,) = module.mon_commands
    assert (command['prefix'], command['channel']) == ('log last', 'audit')


def applied(world: World, actor: str = '') -> Any:
    """`apply` on the command line, or by another module."""
    module: Any = Module('rocksdb_tuner', '', '')
    recommendation_id = world.recommended_for_rbd()
    module._tuner = world.tuner
    command = {'prefix': 'rocksdb-tuner apply', 'recommendation_id': recommendation_id}
    world.cluster.audit.append(AuditLine(world.cluster.now_s, 'client.alice', command))

    def send() -> None:
        if actor:
            module.remote_command('apply', {'recommendation_id': recommendation_id}, actor)
        else:
            assert ask(module, 'apply', recommendation_id, format='json').retval == 0

    world.tuner.submit = lambda work: work()  # type: ignore[method-assign]
    send()
    world.run(4)
    return world


def test_history_names_the_client_that_sent_apply() -> None:
    world = applied(World())
    (record,) = world.tuner.snapshot.history
    assert record.actor == 'client.alice'
    world.takeover()
    assert world.tuner.snapshot.history[0].actor == 'client.alice'
    world.run_until(Phase.DONE)
    assert world.tuner.snapshot.history[0].actor == 'client.alice'


def test_caller_of_another_module_stays_named() -> None:
    world = applied(World(), 'dashboard:bob')
    assert world.tuner.snapshot.history[0].actor == 'dashboard:bob'


def test_unreadable_log_blocks_nothing() -> None:
    world = World()
    world.cluster.errors['log last'] = CommandError(13, 'access denied')
    applied(world)
    assert world.tuner.snapshot.history[0].actor == 'operator'
    world.run_until(Phase.DONE)

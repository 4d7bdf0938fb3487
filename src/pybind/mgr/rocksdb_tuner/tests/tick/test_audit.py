"""The actor of a change, by the audit log of the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.mgr.adapter import MgrCluster
from rocksdb_tuner.mgr.parse import parse_audit_log
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import AuditLine
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.tick.queries import sender

from ..query_command import ask
from ..test_tuner import World

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

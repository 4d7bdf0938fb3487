"""The command handlers: bad input is named, and nothing is done that was answered with an error."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from mgr_module import HandleCommandResult

from rocksdb_tuner import Module
from rocksdb_tuner.commands import COMMANDS
from rocksdb_tuner.commands.command import TAB_NOTICE_S
from rocksdb_tuner.module import SELF_TESTED
from rocksdb_tuner.operations.phases import OperationRefused
from rocksdb_tuner.settings import SettingError
from rocksdb_tuner.snapshot import Mode

from .query_command import ask

RECORDED = Path(__file__).parent / 'mgr/data/reef'

Call = Callable[[Any], HandleCommandResult]


@pytest.fixture
def module() -> Any:
    # Any: the double shows what the real mgr keeps to itself.
    return Module('rocksdb_tuner', '', '')


READS: dict[str, Call] = {
    'status': lambda m: ask(m, 'status', 'json'),
    'osd': lambda m: ask(m, 'osd', format='json'),
    'workload': lambda m: ask(m, 'workload', format='json'),
    'findings': lambda m: ask(m, 'findings', format='json'),
    'recommend': lambda m: ask(m, 'recommend', format='json'),
    'recommend --all': lambda m: ask(m, 'recommend', all=True, format='json'),
    'history': lambda m: ask(m, 'history', 'json'),
    'operation status': lambda m: ask(m, 'operation_status', 'json'),
    'profile ls': lambda m: ask(m, 'profile_ls', 'json'),
    'profile show': lambda m: ask(m, 'profile_show', 'lz4-2025', 'json'),
    'profile diff': lambda m: ask(m, 'profile_diff', 'lz4-2025', 'variant-2022-d', format='json'),
    'mode': lambda m: ask(m, 'mode', format='json'),
    'doctor': lambda m: ask(m, 'doctor', 'json'),
    'model': lambda m: ask(m, 'model', 'ttl=1', format='json'),
    'profile derive': lambda m: ask(m, 'profile_derive', format='json'),
    'check': lambda m: ask(m, 'check', 'compression=kLZ4Compression', format='json'),
    'check of one release': lambda m: ask(m, 'check', '', 'reef', format='json'),
    'explain': lambda m: ask(m, 'explain', format='json'),
    'explain one': lambda m: ask(m, 'explain', 'compression', 'json'),
}


@pytest.mark.parametrize('name', READS)
def test_every_read_command_answers_before_the_first_tick(module: Any, name: str) -> None:
    result = READS[name](module)
    assert result.retval == 0, result.stderr
    json.loads(result.stdout)


@pytest.mark.parametrize(
    ('call', 'code', 'named'),
    [
        (lambda m: ask(m, 'status', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'osd', 'seven'), errno.EINVAL, '"seven"'),
        (lambda m: ask(m, 'osd', 'osd.99'), errno.ENOENT, '99'),
        (lambda m: ask(m, 'osd_deep', 'osd.99'), errno.ENOENT, '99'),
        (lambda m: ask(m, 'osd_deep', 'seven'), errno.EINVAL, '"seven"'),
        (lambda m: ask(m, 'report', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'doctor', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'recommend', 'nope'), errno.ENOENT, '"nope"'),
        (lambda m: ask(m, 'findings', 'nope'), errno.ENOENT, 'findings: none at present'),
        (lambda m: ask(m, 'findings', 'nope', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'apply', 'nope'), errno.ENOENT, '"nope"'),
        (lambda m: ask(m, 'operation_status', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'apply', 'nope', dry_run=True), errno.ENOENT, '"nope"'),
        (lambda m: ask(m, 'profile_show', 'nope'), errno.ENOENT, 'lz4-2025'),
        (lambda m: ask(m, 'profile_diff', 'nope', 'lz4-2025'), errno.ENOENT, 'lz4-2025'),
        (lambda m: ask(m, 'profile_diff', 'lz4-2025'), errno.EINVAL, '--osd'),
        (lambda m: ask(m, 'profile_diff', 'lz4-2025', osd='99'), errno.ENOENT, 'osd.99'),
        (lambda m: ask(m, 'profile_add'), errno.EINVAL, '-i'),
        (lambda m: ask(m, 'profile_add', 'xml', inbuf='{}'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'profile_rm', 'nope', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'mode', 'sometimes'), errno.EINVAL, 'auto-apply'),
        (lambda m: ask(m, 'check', 'a=b', 'nautilus'), errno.EINVAL, '"nautilus"'),
        (lambda m: ask(m, 'check', 'a=b', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'explain', 'nope'), errno.ENOENT, '"nope"'),
        (lambda m: ask(m, 'mode', 'off', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'rollback', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'model', 'ttl=1', osd='seven'), errno.EINVAL, '"seven"'),
        (lambda m: ask(m, 'model', 'ttl=1', osd='99'), errno.ENOENT, 'osd.99'),
        (lambda m: ask(m, 'model', 'typo=1'), errno.EINVAL, 'typo'),
        (lambda m: ask(m, 'model', 'ttl=1', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: ask(m, 'profile_derive', workload='nope'), errno.EINVAL, '"nope"'),
    ],
)
def test_bad_input_is_named_with_the_right_errno(
    module: Any, call: Call, code: int, named: str
) -> None:
    before = dict(module.options)
    result = call(module)
    assert result.retval == -code
    assert named in result.stderr
    assert result.stdout == ''
    assert module.options == before


@pytest.mark.parametrize('mode', list(Mode))
def test_mode_is_set_and_returned(module: Any, mode: Mode) -> None:
    assert ask(module, 'mode', mode.value).retval == 0
    assert json.loads(ask(module, 'mode', format='json').stdout)['mode'] == mode.value


def test_unexpected_failure_shows_no_traceback(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError('secret detail')

    monkeypatch.setattr('rocksdb_tuner.commands.reads.shown', broken)
    result = ask(module, 'status')
    assert result.retval == -errno.EIO
    assert 'Traceback' not in result.stderr
    assert 'secret detail' not in result.stderr


def test_sections_are_separated_by_a_non_empty_line(module: Any) -> None:
    """Empty ones do not reach the terminal: `ceph -s` has a blank in each."""
    text = ask(module, 'profile_show', 'lz4-2025').stdout
    assert '\n \n' in text
    assert '\n\n' not in text


def test_constructor_does_not_query_the_cluster(module: Any) -> None:
    assert module.mon_commands == []
    assert module.health_checks == {}


HELP = {
    name: command.run.__doc__ or ''
    for name, command in COMMANDS.items()
    if 'format' in command.parameters
}


@pytest.mark.parametrize('name', sorted(HELP))
def test_help_of_each_command_reads_like_that_of_ceph(name: str) -> None:
    """An imperative, in at most 70 characters, with no full stop."""
    verb, text = HELP[name].split()[0], HELP[name]
    assert verb in {
        'Add', 'Apply', 'Check', 'Compact', 'Compare', 'Derive', 'End', 'List', 'Model',
        'Pause', 'Remove', 'Restore', 'Resume', 'Show',
    }  # fmt: skip
    assert len(text) <= 70
    assert not text.endswith('.')


@pytest.mark.parametrize('verb', ['pause', 'resume', 'abort'])
def test_operation_is_controlled(module: Any, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """The command reaches the running operation, and its refusal the client."""

    def refused(*_: Any) -> Any:
        raise OperationRefused(errno.ENOENT, f'nothing to {verb}')

    monkeypatch.setattr(module._tuner, 'submit', lambda work: work())
    monkeypatch.setattr(module._tuner.operations, verb, refused)
    answer = ask(module, f'operation_{verb}')
    assert (answer.retval, answer.stderr) == (-errno.ENOENT, f'nothing to {verb}')
    monkeypatch.setattr(module._tuner.operations, verb, lambda *_: None)
    assert ask(module, f'operation_{verb}', 'json').stdout == 'null'


def test_calling_module_is_the_actor_for_that_command_only(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def pause(actor: str) -> Any:
        seen.append(actor)
        raise OperationRefused(errno.ENOENT, 'nothing to pause')

    monkeypatch.setattr(module._tuner, 'submit', lambda work: work())
    monkeypatch.setattr(module._tuner.operations, 'pause', pause)
    assert (
        module.remote_command('operation_pause', {}, 'dashboard:alice')['retval'] == -errno.ENOENT
    )
    assert module.remote_command('operation_pause', {})['retval'] == -errno.ENOENT
    ask(module, 'operation_pause')
    assert seen == ['dashboard:alice', 'operator', 'operator']


def test_view_is_requested_like_a_command(module: Any) -> None:
    answer = module.remote_command('osd_map', {})
    assert (answer['retval'], json.loads(answer['stdout'])['osds']) == (0, [])
    assert json.loads(module.remote_command('trend', {'device_class': 'ssd'})['stdout']) == []
    assert module.remote_command('nope', {})['retval'] == -errno.EINVAL


def test_tab_that_cannot_be_placed_is_shown_in_the_status(module: Any) -> None:
    assert json.loads(ask(module, 'status', 'json').stdout)['notices'] == []
    module.tab_has_no_place()
    module.tab_has_no_place()
    (notice,) = json.loads(ask(module, 'status', 'json').stdout)['notices']
    assert 'cannot be added' in notice
    assert 'cannot be added' in ' '.join(ask(module, 'status').stdout.split())


def test_tab_notice_clears_by_itself(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is not reported, and the report of its start may have been wrong."""
    module.tab_has_no_place()
    later_s = time.monotonic() + TAB_NOTICE_S + 1
    monkeypatch.setattr('rocksdb_tuner.commands.command.time.monotonic', lambda: later_s)
    assert json.loads(ask(module, 'status', 'json').stdout)['notices'] == []


@pytest.mark.parametrize(
    ('inbuf', 'given', 'named'),
    [
        ('', {'prefix': 'status', 'format': 'xml'}, 'invalid format "xml"; formats: plain'),
        ('', {'prefix': 'mode', 'mode': 'x'}, 'invalid mode "x"; modes: off, observe'),
        ('{}', {'prefix': 'status'}, 'Input file data (-i) not supported'),
        ('', {'prefix': 'nonsense'}, 'cannot parse'),
    ],
)
def test_arguments_that_no_command_line_checked_are_refused_in_words(
    module: Any, inbuf: str, given: dict[str, str], named: str
) -> None:
    """Ceph's dispatcher would answer with a traceback: its client does not check --format."""
    given['prefix'] = f'rocksdb-tuner {given["prefix"]}'
    result = module._handle_command(inbuf, given)
    assert result.retval == -errno.EINVAL
    assert named in result.stderr
    assert 'Traceback' not in result.stderr


def test_input_of_a_command_reaches_its_handler(module: Any) -> None:
    """It is no argument of the grammar."""
    result = module._handle_command('{', {'prefix': 'rocksdb-tuner profile add'})
    assert 'the profile is not valid JSON' in result.stderr


# `ceph mgr self-test module rocksdb_tuner`: silent if all is well, else it names what is not


@pytest.fixture
def in_a_cluster() -> Any:
    """With the maps of a recorded cluster of one OSD."""
    made: Any = Module('rocksdb_tuner', '', '')
    for name in ('osd_map', 'osd_map_crush', 'osd_metadata'):
        made.data[name] = json.loads((RECORDED / f'{name}.json').read_text(encoding='utf-8'))
    made.data['pg_status'] = {'num_pgs': 1, 'pgs_by_state': []}
    return made


def test_healthy_module_passes_and_changes_nothing(in_a_cluster: Any) -> None:
    in_a_cluster.self_test()
    assert in_a_cluster.mon_commands == []
    assert in_a_cluster.stored == {}


def test_unparsable_map_fails_the_self_test(in_a_cluster: Any) -> None:
    in_a_cluster.data['osd_map'] = {}
    with pytest.raises(Exception, match='cannot parse the OSD map'):
        in_a_cluster.self_test()


def test_invalid_option_fails_the_self_test(in_a_cluster: Any) -> None:
    in_a_cluster.options['mode'] = 'sometimes'
    with pytest.raises(SettingError, match='sometimes'):
        in_a_cluster.self_test()


@pytest.mark.parametrize('name', SELF_TESTED)
def test_failing_command_is_named(
    in_a_cluster: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def answer(command: str, _: object) -> dict[str, Any]:
        return {'retval': -22 if command == name else 0, 'stdout': '', 'stderr': 'broken'}

    monkeypatch.setattr(in_a_cluster, 'remote_command', answer)
    with pytest.raises(RuntimeError, match=f'{name}: broken'):
        in_a_cluster.self_test()

"""The command handlers: bad input is named, and nothing is done that was answered with an error."""

from __future__ import annotations

import errno
import json
import time
from typing import Any, Callable

import pytest
from mgr_module import HandleCommandResult

from rocksdb_tuner import Module
from rocksdb_tuner.advise.conditions.catalogue import limit_options
from rocksdb_tuner.module import TAB_NOTICE_S
from rocksdb_tuner.rollout.errors import RolloutRefused
from rocksdb_tuner.snapshot import Mode

Call = Callable[[Any], HandleCommandResult]


@pytest.fixture
def module() -> Any:
    # Any: the double shows what the real mgr keeps to itself.
    return Module('rocksdb_tuner', '', '')


READS: dict[str, Call] = {
    'status': lambda m: m.cmd_status('json'),
    'osd': lambda m: m.cmd_osd(format='json'),
    'workload': lambda m: m.cmd_workload('json'),
    'findings': lambda m: m.cmd_findings('json'),
    'recommend': lambda m: m.cmd_recommend('json'),
    'history': lambda m: m.cmd_history('json'),
    'rollout status': lambda m: m.cmd_rollout_status('json'),
    'profile ls': lambda m: m.cmd_profile_ls('json'),
    'profile show': lambda m: m.cmd_profile_show('lz4-2025', 'json'),
    'profile diff': lambda m: m.cmd_profile_diff('lz4-2025', 'variant-2022-d', format='json'),
    'mode': lambda m: m.cmd_mode(format='json'),
    'model': lambda m: m.cmd_model('ttl=1', format='json'),
    'profile derive': lambda m: m.cmd_profile_derive(format='json'),
    'check': lambda m: m.cmd_check('compression=kLZ4Compression', format='json'),
    'check of one release': lambda m: m.cmd_check('', 'reef', format='json'),
    'explain': lambda m: m.cmd_explain(format='json'),
    'explain one': lambda m: m.cmd_explain('compression', 'json'),
}


@pytest.mark.parametrize('name', READS)
def test_every_read_answers_before_the_first_tick(module: Any, name: str) -> None:
    result = READS[name](module)
    assert result.retval == 0, result.stderr
    json.loads(result.stdout)


@pytest.mark.parametrize(
    ('call', 'code', 'named'),
    [
        (lambda m: m.cmd_status('xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_osd('seven'), errno.EINVAL, '"seven"'),
        (lambda m: m.cmd_osd('osd.99'), errno.ENOENT, '99'),
        (lambda m: m.cmd_osd('osd.99', deep=True), errno.ENOENT, '99'),
        (lambda m: m.cmd_osd(deep=True), errno.EINVAL, '--deep'),
        (lambda m: m.cmd_osd_deep('osd.99'), errno.ENOENT, '99'),
        (lambda m: m.cmd_osd_deep('seven'), errno.EINVAL, '"seven"'),
        (lambda m: m.cmd_report(format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_show('nope'), errno.ENOENT, '"nope"'),
        (lambda m: m.cmd_apply('nope'), errno.ENOENT, '"nope"'),
        (lambda m: m.cmd_apply('nope', dry_run=True), errno.ENOENT, '"nope"'),
        (lambda m: m.cmd_profile_show('nope'), errno.ENOENT, 'lz4-2025'),
        (lambda m: m.cmd_profile_diff('nope', 'lz4-2025'), errno.ENOENT, 'lz4-2025'),
        (lambda m: m.cmd_profile_diff('lz4-2025'), errno.EINVAL, '--osd'),
        (lambda m: m.cmd_profile_diff('lz4-2025', osd='99'), errno.ENOENT, 'osd.99'),
        (lambda m: m.cmd_profile_add(), errno.EINVAL, '-i'),
        (lambda m: m.cmd_profile_add('xml', inbuf='{}'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_profile_rm('nope', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_mode('sometimes'), errno.EINVAL, 'auto-apply'),
        (lambda m: m.cmd_check('a=b', 'nautilus'), errno.EINVAL, '"nautilus"'),
        (lambda m: m.cmd_check('a=b', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_explain('nope'), errno.ENOENT, '"nope"'),
        (lambda m: m.cmd_mode('off', 'xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_rollback(format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_model('ttl=1', osd='seven'), errno.EINVAL, '"seven"'),
        (lambda m: m.cmd_model('ttl=1', osd='99'), errno.ENOENT, 'osd.99'),
        (lambda m: m.cmd_model('typo=1'), errno.EINVAL, 'typo'),
        (lambda m: m.cmd_model('ttl=1', format='xml'), errno.EINVAL, '"xml"'),
        (lambda m: m.cmd_profile_derive(workload='nope'), errno.EINVAL, '"nope"'),
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
def test_a_mode_is_set_and_answered(module: Any, mode: Mode) -> None:
    assert module.cmd_mode(mode.value).retval == 0
    assert json.loads(module.cmd_mode(format='json').stdout)['mode'] == mode.value


def test_an_unexpected_failure_is_no_traceback_to_the_user(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError('secret detail')

    monkeypatch.setattr('rocksdb_tuner.module.render.status', broken)
    result = module.cmd_status()
    assert result.retval == -errno.EIO
    assert 'Traceback' not in result.stderr
    assert 'secret detail' not in result.stderr


def test_the_constructor_asks_the_cluster_nothing(module: Any) -> None:
    assert module.mon_commands == []
    assert module.health_checks == {}


def test_every_module_option_has_a_description_and_a_default(module: Any) -> None:
    for option in module.MODULE_OPTIONS:
        assert option['desc']
        assert 'default' in option
        assert option['runtime'] is True


def test_thresholds_of_conditions_are_module_options(module: Any) -> None:
    options = {option['name']: option for option in Module.MODULE_OPTIONS}
    for limit in limit_options():
        assert options[limit.name]['default'] == limit.default
        assert limit.minimum <= limit.default <= limit.maximum
        assert options[limit.name]['desc']
    module.set_module_option('db_used_limit', 0.5)
    assert module._settings().limits['db_used_limit'] == 0.5


def test_who_asks_for_another_module_is_the_actor_and_only_for_that_command(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def pause(actor: str) -> Any:
        seen.append(actor)
        raise RolloutRefused(errno.ENOENT, 'nothing to pause')

    monkeypatch.setattr(module._tuner, 'submit', lambda work: work())
    monkeypatch.setattr(module._tuner, 'pause', pause)
    assert module.remote_command('rollout_pause', {}, 'dashboard:alice')['retval'] == -errno.ENOENT
    assert module.remote_command('rollout_pause', {})['retval'] == -errno.ENOENT
    module.cmd_rollout_pause()
    assert seen == ['dashboard:alice', 'operator', 'operator']


def test_a_view_is_asked_for_as_a_command_is(module: Any) -> None:
    answer = module.remote_command('osd_map', {})
    assert (answer['retval'], json.loads(answer['stdout'])['osds']) == (0, [])
    assert json.loads(module.remote_command('trend', {'device_class': 'ssd'})['stdout']) == []
    assert module.remote_command('nope', {})['retval'] == -errno.EINVAL


def test_a_tab_that_cannot_be_placed_is_said_in_the_status(module: Any) -> None:
    assert json.loads(module.cmd_status('json').stdout)['notices'] == []
    module.tab_has_no_place()
    module.tab_has_no_place()
    (notice,) = json.loads(module.cmd_status('json').stdout)['notices']
    assert 'cannot be placed' in notice
    assert 'cannot be placed' in ' '.join(module.cmd_status().stdout.split())


def test_that_notice_goes_away_by_itself(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says that it is over, and whoever said that it began may have been wrong."""
    module.tab_has_no_place()
    later_s = time.monotonic() + TAB_NOTICE_S + 1
    monkeypatch.setattr('rocksdb_tuner.module.time.monotonic', lambda: later_s)
    assert json.loads(module.cmd_status('json').stdout)['notices'] == []

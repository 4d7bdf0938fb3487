"""Commands of experiments in a module over a cluster in memory."""

from __future__ import annotations

import errno
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.advise.custom_profiles import CustomProfiles
from rocksdb_tuner.commands import Context
from rocksdb_tuner.commands.command import _READ
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.settings import SETTINGS
from rocksdb_tuner.snapshot import Mode

from .query_command import ask
from .test_tuner import World, automatically

ARMS = 'variant-2022-d'
OPTIONS = {
    **{setting.name: setting.default for setting in SETTINGS},
    'soak_min': 30,
}


class Commanded:
    """The part of the module that commands use."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.context = Context(
            lambda: world.tuner,
            CustomProfiles(world.store),
            OPTIONS.__getitem__,
            lambda _: None,
            lambda: None,
        )

    def ask(self, name: str, *arguments: Any, **named: Any) -> tuple[int, Any]:
        """errno or 0, and the answer or the error; the module ticks meanwhile."""
        found: list[Any] = []
        thread = threading.Thread(
            target=lambda: found.append(ask(self, name, *arguments, format='json', **named))
        )
        thread.start()
        while thread.is_alive():
            self.world.tuner.take_requests()
            thread.join(0.01)
        (result,) = found
        return -result.retval, json.loads(result.stdout) if result.stdout else result.stderr


@pytest.fixture(scope='module')
def commanded() -> Commanded:
    """Eight OSDs with a steady load for as long as a plan needs."""
    world = World(8)
    module = Commanded(world)
    world.load_ops_per_s = 800
    world.run(60)
    code, error = module.ask('experiment_plan', arms=ARMS)
    assert code == errno.EAGAIN
    assert 'try again in' in error
    world.run(2700, step_s=5.0)
    return module


def test_plan_is_shown_and_changes_nothing(commanded: Commanded) -> None:
    for name, more in (('experiment_plan', {}), ('experiment_start', {'dry_run': True})):
        code, found = commanded.ask(name, arms=ARMS, **more)
        assert code == 0, found
        assert (found['phase'], found['refusal']) == ('planned', None)
        assert len(found['arms'][0]['osds']) >= 2
        assert not set(found['arms'][0]['osds']) & set(found['controls'])
    assert commanded.ask('operation_status') == (0, None)


def test_invalid_arguments_are_refused(commanded: Commanded) -> None:
    for arguments, code in (
        ({'who': 'osd/class:hdd'}, errno.ENOENT),
        ({'arms': 'nonesuch'}, errno.ENOENT),
        ({'arms': f'{ARMS},{ARMS}'}, errno.EINVAL),
        ({'signal': 'iops'}, errno.EINVAL),
        ({'min_effect': 'x'}, errno.EINVAL),
        ({'max_duration': 'x'}, errno.EINVAL),
    ):
        assert commanded.ask('experiment_plan', **arguments)[0] == code, arguments
    for name in ('pause', 'resume', 'abort'):
        code, error = commanded.ask(f'operation_{name}')
        assert (code, error) == (errno.ENOENT, 'no operation is under way')


def test_impossible_plan_is_not_started(commanded: Commanded) -> None:
    arms = f'{ARMS},variant-2022-c,variant-2022-b'
    code, found = commanded.ask('experiment_plan', arms=arms)
    assert (code, found['refusal']['osds']) == (0, 24)
    code, error = commanded.ask('experiment_start', arms=arms)
    assert code == errno.EINVAL
    assert 'not possible here' in error


def test_nothing_is_planned_before_the_first_tick() -> None:
    code, error = Commanded(World(3)).ask('experiment_plan')
    assert code == errno.EAGAIN
    assert 'not sampled the cluster yet' in error


def test_experiment_is_started_paused_resumed_and_aborted(commanded: Commanded) -> None:
    """All changes up to then are reverted."""
    world = commanded.world
    code, started = commanded.ask('experiment_start', arms=ARMS, adopt=True)
    assert code == 0, started
    assert started['adopt'] is True
    assert commanded.ask('experiment_start', arms=ARMS)[0] == errno.EBUSY
    world.run(20)
    assert commanded.ask('operation_status')[1]['phase'] == 'baseline'
    assert commanded.ask('operation_pause')[1]['phase'] == 'waiting'
    assert world.tuner.operations.changing
    assert commanded.ask('operation_resume')[1]['phase'] != 'waiting'
    assert commanded.ask('operation_abort')[0] == 0
    world.run(30)
    ended = commanded.ask('operation_status')[1]
    assert (ended['phase'], ended['outcome']) == ('aborted', 'aborted')
    assert ended['id'] == started['id']
    assert world.cluster.entries_of() == {}
    # Numbers go on after it.
    assert [r.rollout_id for r in world.tuner.snapshot.history] == ['E1']
    assert world.tuner.operations.driver.next_number() == '2'


def test_auto_apply_never_starts_an_experiment() -> None:
    """Even with two candidates that only an experiment could distinguish, while it runs."""
    world = World(8)
    world.settings = replace(
        world.settings, mode=Mode.AUTO_APPLY, auto_apply=automatically(60.0, cooldown_s=0.0)
    )
    world.load_ops_per_s = 800
    world.run(1500, step_s=5.0)
    assert world.tuner.operations.experiment.state is None
    assert all(record.experiment is None for record in world.tuner.snapshot.history)


@pytest.mark.parametrize(
    ('name', 'text', 'value'),
    [
        *(('min_effect', '10', 0.1), ('min_effect', '7.5%', 0.075), ('min_effect', ' 20% ', 0.2)),
        *(('max_duration', '43200', 43200), ('max_duration', '12h', 43200)),
        *(('max_duration', '90m', 5400), ('max_duration', '2d', 172800)),
    ],
)
def test_minimum_effect_is_in_percent_and_a_duration_has_a_unit_or_is_in_seconds(
    name: str, text: str, value: float
) -> None:
    assert _READ[name](text) == pytest.approx(value)


@pytest.mark.parametrize(
    ('name', 'texts', 'reason'),
    [
        ('min_effect', ('', 'x', '-5', '1e3', '5 %', '10%%', '٣'), 'use percent, as in'),
        ('max_duration', ('', 'h', '-5', '12w', '1h30m', '٣h'), 'use seconds, or a number with'),
    ],
)
def test_invalid_percentage_or_duration_is_refused(
    name: str, texts: tuple[str, ...], reason: str
) -> None:
    for text in texts:
        with pytest.raises(BadQuestionError, match=reason) as error:
            _READ[name](text)
        assert error.value.errno == errno.EINVAL

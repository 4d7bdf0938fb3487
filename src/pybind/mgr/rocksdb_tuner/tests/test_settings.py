"""Each option is declared once: its registration, its use and the manual agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rocksdb_tuner import Module, settings
from rocksdb_tuner.judge.records import Inconclusive, NoBenefit, SoakPlan
from rocksdb_tuner.setting import Setting, SettingError
from rocksdb_tuner.settings import SETTINGS, read_mode, read_settings
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.steps import Steps

MANUAL = (Path(__file__).parents[5] / 'doc/mgr/rocksdb_tuner/options.rst').read_text()
BOUNDED = [setting for setting in SETTINGS if setting.maximum is not None]


def given(**values: Any) -> Any:
    """Reads options of which ``values`` were set."""
    return lambda name: values.get(name, defaults()[name])


def defaults() -> dict[str, Any]:
    return {setting.name: setting.default for setting in SETTINGS}


def test_manual_describes_each_option_once() -> None:
    """An option that was added or removed must be, too; its fields come from the declaration."""
    described = re.findall(r'^\.\. confval:: (\w+)$', MANUAL, re.MULTILINE)
    assert sorted(described) == sorted(defaults())


def test_every_declared_option_is_registered_with_ceph() -> None:
    """A declaration missing in every list would be an option that cannot be set."""
    declared = {s.name for s in vars(settings).values() if isinstance(s, Setting)}
    names = [setting.name for setting in SETTINGS]
    assert declared <= set(names)
    assert len(names) == len(set(names))
    assert [option['name'] for option in Module.MODULE_OPTIONS] == names


@pytest.mark.parametrize('setting', SETTINGS, ids=lambda s: s.name)
def test_each_default_is_within_its_bounds(setting: Setting[Any]) -> None:
    """A default that is refused would stop everything."""
    assert setting.read(given()) == setting.convert(setting.default)
    assert setting.read(lambda _: None) == setting.convert(setting.default)


@pytest.mark.parametrize('setting', BOUNDED, ids=lambda s: s.name)
def test_value_out_of_bounds_is_refused_with_its_name(setting: Setting[Any]) -> None:
    """A configuration file can hold what monitors would refuse."""
    assert setting.minimum is not None
    assert setting.maximum is not None
    for bound in (setting.minimum, setting.maximum):
        assert setting.read(given(**{setting.name: bound})) == bound
    for beyond in (setting.minimum - 1, setting.maximum + 1, float('nan')):
        with pytest.raises(SettingError, match=setting.name):
            setting.read(given(**{setting.name: beyond}))


def test_invalid_choice_is_refused_with_the_valid_ones() -> None:
    """The error has the valid form."""
    with pytest.raises(SettingError, match=r'invalid mode "sometimes"; allowed: .*auto-apply'):
        read_mode(given(mode='sometimes'))
    assert read_mode(given(mode='')) is Mode.RECOMMEND


def test_value_of_another_type_is_refused() -> None:
    """It must not end as an internal error."""
    with pytest.raises(SettingError, match='invalid restarts_per_day "many"'):
        read_settings(given(restarts_per_day='many'))


def test_every_option_reaches_the_decision_it_configures() -> None:
    """Two options that were swapped would be found here."""
    found = read_settings(
        given(
            mode='observe',
            sample_interval=11,
            auto_apply_after=61,
            auto_apply_cooldown=13,
            auto_apply_confidence=0.85,
            restart_timeout=31,
            gate_alarm_after=15,
            soak_min=500,
            soak_max=5000,
            soak_inconclusive='promote',
            soak_no_benefit='rollback',
            batch_soak_min=50,
            batch_soak_max=600,
            batch_soak_inconclusive='wait',
            compaction_parallel=2,
            maintenance_days='sat',
            maintenance_hours='22:00-04:00',
            restarts_per_day=17,
            workload_memory=18,
            min_gain=0.2,
            max_loss=0.3,
            db_used_limit=0.5,
        )
    )
    assert (found.mode, found.sample_interval_s) == (Mode.OBSERVE, 11)
    policy = found.auto_apply
    assert (policy.after_s, policy.cooldown_s, policy.least_confidence) == (61, 13, 0.85)
    assert (found.restart_timeout_s, found.gate_alarm_after_s) == (31, 15)
    assert found.soak == SoakPlan(
        500,
        5000,
        Inconclusive.PROMOTE,
        batches=SoakPlan(50, 600, Inconclusive.WAIT),
        no_benefit=NoBenefit.ROLLBACK,
    )
    assert (found.compaction_parallel, found.restarts_per_day) == (2, 17)
    assert (found.maintenance.days, found.maintenance.hours) == ('sat', '22:00-04:00')
    assert found.workload_memory_s == 18
    assert [found.limits[name] for name in ('min_gain', 'max_loss', 'db_used_limit')] == [
        0.2,
        0.3,
        0.5,
    ]


def test_batch_is_never_watched_longer_than_the_canary() -> None:
    """As documented for both options."""
    soak = read_settings(given(soak_min=10, soak_max=20)).soak
    assert soak.batches is not None
    assert (soak.batches.least_s, soak.batches.most_s) == (10, 20)


def test_step_that_fails_for_an_option_names_it() -> None:
    """The text of a refused option is for operators; that of other errors is not shown."""
    steps = Steps(lambda: 0.0)
    steps.run('settings', lambda: read_settings(given(soak_min=-1)))
    (failure,) = steps.failing
    assert failure.reason == 'soak_min = -1 is out of range; allowed: 0 to 604800'
    assert not failure.refused

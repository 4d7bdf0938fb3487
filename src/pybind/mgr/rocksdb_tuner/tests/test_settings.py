"""Each option is declared once: its registration and its use agree."""

from __future__ import annotations

from typing import Any

import pytest

from rocksdb_tuner import Module
from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.settings import SETTINGS, Setting, SettingError, read_mode, read_settings
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.steps import Steps

BOUNDED = [setting for setting in SETTINGS if setting.maximum is not None]


def given(**values: Any) -> Any:
    """Reads options of which ``values`` were set."""
    return lambda name: values.get(name, defaults()[name])


def defaults() -> dict[str, Any]:
    return {setting.name: setting.default for setting in SETTINGS}


def test_every_declared_option_is_registered_with_ceph() -> None:
    """A declaration missing in every list would be an option that cannot be set."""
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))
    assert [option['name'] for option in Module.MODULE_OPTIONS] == names
    assert all(option['desc'] and option['runtime'] for option in Module.MODULE_OPTIONS)


@pytest.mark.parametrize('setting', SETTINGS, ids=lambda s: s.name)
def test_each_default_is_within_its_bounds(setting: Setting) -> None:
    """A default that is refused would stop everything."""
    assert setting.read(given()) == setting.convert(setting.default)
    assert setting.read(lambda _: None) == setting.convert(setting.default)


@pytest.mark.parametrize('setting', BOUNDED, ids=lambda s: s.name)
def test_value_out_of_bounds_is_refused_with_its_name(setting: Setting) -> None:
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
            restart_timeout=31,
            soak_min=500,
            soak_max=5000,
            soak_inconclusive='promote',
            maintenance_days='sat',
            maintenance_hours='22:00-04:00',
            restarts_per_day=17,
            workload_memory=18,
            min_gain=0.2,
            max_loss=0.3,
        )
    )
    assert (found.mode, found.sample_interval_s) == (Mode.OBSERVE, 11)
    assert (found.auto_apply.after_s, found.restart_timeout_s) == (61, 31)
    assert found.soak == SoakPlan(
        500,
        5000,
        Inconclusive.PROMOTE,
        batches=SoakPlan(250, 1250, Inconclusive.PROMOTE),
    )
    assert found.restarts_per_day == 17
    assert (found.maintenance.days, found.maintenance.hours) == ('sat', '22:00-04:00')
    assert found.workload_memory_s == 18
    assert found.limits == {'min_gain': 0.2, 'max_loss': 0.3}


@pytest.mark.parametrize(
    ('least_s', 'most_s', 'batches'), [(600, 600, (300, 300)), (600, 0, (300, 0)), (0, 60, (0, 15))]
)
def test_soak_of_batches_is_a_part_of_that_of_the_canary(
    least_s: int, most_s: int, batches: tuple[int, int]
) -> None:
    """A verdict is possible whenever it is for the canary, and there is none without a soak."""
    soak = read_settings(given(soak_min=least_s, soak_max=most_s)).soak
    assert soak.batches is not None
    assert (soak.batches.least_s, soak.batches.most_s) == batches


def test_a_site_has_few_options_to_learn() -> None:
    assert len(SETTINGS) <= 18


def test_step_that_fails_for_an_option_names_it() -> None:
    """The text of a refused option is for operators; that of other errors is not shown."""
    steps = Steps(lambda: 0.0)
    steps.run('settings', lambda: read_settings(given(soak_min=-1)))
    (failure,) = steps.failing
    assert failure.reason == 'soak_min = -1 is out of range; allowed: 0 to 604800'
    assert not failure.refused

"""Module options, each declared once with type, default, bounds, text and conversion. Pure."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Mapping, Optional, Type, Union

from .advise.weighing import choice_thresholds
from .judge.records import Inconclusive, SoakPlan
from .operations.rollout.automatic import MaintenanceWindow, Policy
from .snapshot import Mode
from .steps import ExplainedError

#: As in mgr_module, for an option of any declared type.
OptionValue = Optional[Union[bool, int, float, str]]
#: Returns the value of an option by name.
ReadOption = Callable[[str], OptionValue]


class SettingError(ExplainedError):
    """An option has an invalid value."""

    errno = errno.EINVAL


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    'secs': float,
    'float': float,
    'uint': int,
    'int': int,
    'bool': bool,
    'str': str,
}


@dataclass(frozen=True)
class Setting:
    """A module option: bounds are enforced on reading, in one place."""

    name: str
    #: Ceph's name of the type.
    type: str
    default: Union[bool, int, float, str]
    #: One-line description in `ceph config help`.
    text: str
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    #: The allowed values of a text, if not any.
    among: Optional[Type[Enum]] = None
    detail: Optional[str] = None

    @property
    def choices(self) -> tuple[str, ...]:
        return () if self.among is None else tuple(str(one.value) for one in self.among)

    def convert(self, value: Any) -> Any:
        """Ceph's value as the module's; raises TypeError or ValueError."""
        return (self.among or _CONVERSIONS[self.type])(value)

    def declaration(self) -> dict[str, Any]:
        """Keyword arguments for Ceph's `Option`."""
        known = {
            'name': self.name,
            'type': self.type,
            'default': self.default,
            'min': self.minimum,
            'max': self.maximum,
            'enum_allowed': list(self.choices) or None,
            'desc': self.text,
            'long_desc': self.detail,
            'runtime': True,
        }
        return {name: value for name, value in known.items() if value is not None}

    def read(self, option: ReadOption) -> Any:
        """The current value of the option; raises SettingError."""
        # Any: the value, of any type, is checked below.
        given: Any = option(self.name)
        if given is None or (self.choices and not given):
            given = self.default
        if self.choices and given not in self.choices:
            raise SettingError(f'invalid {self.name} "{given}"; allowed: {", ".join(self.choices)}')
        try:
            value = self.convert(given)
        except (TypeError, ValueError):
            raise SettingError(
                f'invalid {self.name} "{given}"; expected a value of type {self.type}'
            ) from None
        too_small = self.minimum is not None and not given >= self.minimum
        too_large = self.maximum is not None and not given <= self.maximum
        if too_small or too_large:
            raise SettingError(
                f'{self.name} = {given} is out of range; allowed: {self.minimum} to {self.maximum}'
            )
        return value


_DAY_S = 86400
_MONTH_S = 31 * _DAY_S
# fmt: off
#: Options that standby mgrs use, too.
METRICS = (
    Setting('metrics', 'bool', False,
            'serve Prometheus metrics over plain HTTP, without TLS or authentication'),
    Setting('metrics_addr', 'str', '127.0.0.1',
            'IP address to serve metrics on; "::" for all addresses, if Prometheus runs elsewhere'),
    Setting('metrics_port', 'uint', 9789,
            'port to serve metrics on; change it if another service has it', 1, 65535),
    Setting('metrics_osd_limit', 'uint', 3000,
            'maximum number of OSDs in the cluster for per-OSD metrics, which are omitted beyond '
            'it; depends on the size of Prometheus', 0, 100000),
)
#: Ceph rejects negative values of a uint, but not of an int.
SETTINGS = (
    Setting('mode', 'str', Mode.RECOMMEND.value,
            'what the module may do; auto-apply lets it change OSDs without being asked',
            among=Mode,
            detail='off: read nothing and pause rollouts; observe: measure and classify workloads; '
            'recommend: also recommend changes, and apply them on request; auto-apply: also apply '
            'low-risk recommendations after auto_apply_after'),
    Setting('sample_interval', 'secs', 0,
            'interval between samples of the OSDs; 0: depends on their number; raise it if the '
            'manager is busy', 0, 3600),
    Setting('workload_memory', 'secs', _DAY_S,
            'how long recommendations for an idle group use its last client workload; raise it if '
            'clients are away for days', 0, _MONTH_S),
    Setting('min_gain', 'float', choice_thresholds().min_gain,
            'minimum saving of any resource (as a share, with 80% probability) to recommend a '
            'change; raise it if restarts are expensive', 0.01, 0.9),
    Setting('max_loss', 'float', choice_thresholds().max_loss,
            'maximum additional use of any other resource (as a share, with 80% probability); '
            'raise it if other resources are plentiful', 0.0, 1.0),
    Setting('auto_apply_after', 'secs', _DAY_S,
            'how long a recommendation must persist before auto-apply applies it; raise it if the '
            'workload changes over the week', 60, _MONTH_S),
    Setting('restart_timeout', 'secs', 300,
            'how long an OSD may take to restart before its change is rolled back; raise it if '
            'OSDs start slowly', 30, 3600),
    Setting('restarts_per_day', 'uint', 0,
            'maximum number of OSD restarts by the module in 24 hours; 0: no limit; set it to '
            'spread restarts over days', 0, 10000),
    Setting('maintenance_days', 'str', '',
            'days on which OSDs may be changed, for example "sat,sun" or "mon-fri"; empty: every '
            'day'),
    Setting('maintenance_hours', 'str', '',
            'hours in local time in which OSDs may be changed, for example "22:00-04:00"; empty: '
            'all day'),
    Setting('soak_min', 'secs', 600,
            'minimum baseline and soak time of the first changed OSD, and block length of '
            'experiments; raise it for unsteady load', 0, 7 * _DAY_S),
    Setting('soak_max', 'secs', 3600,
            'maximum time to wait for a verdict on the first changed OSD; 0: no soak and no '
            'verdict; raise it for little load', 0, _MONTH_S),
    Setting('soak_inconclusive', 'str', Inconclusive.WAIT.value,
            'action if there is no verdict after soak_max; change it if nobody would answer',
            among=Inconclusive,
            detail='wait: for the operator; promote: change the other OSDs anyway; rollback: '
            'restore the changed OSD'),
    *METRICS,
)
# fmt: on
_BY_NAME = {setting.name: setting for setting in SETTINGS}
#: Later batches soak for half and a quarter of the canary's times: what the canary showed is only
#: confirmed, and a large group has many batches.
_BATCH_SOAK_MIN, _BATCH_SOAK_MAX = 1 / 2, 1 / 4


@dataclass(frozen=True)
class Settings:
    """Current values of the options, read once per tick."""

    mode: Mode = Mode.RECOMMEND
    #: 0: depends on the number of OSDs.
    sample_interval_s: float = 0.0
    auto_apply: Policy = field(default_factory=Policy)
    #: An OSD that takes longer to restart counts as failed.
    restart_timeout_s: float = 300.0
    #: Recommendations for an idle group use its last client workload for this long.
    workload_memory_s: float = 86400.0
    soak: SoakPlan = field(default_factory=SoakPlan)
    maintenance: MaintenanceWindow = field(default_factory=MaintenanceWindow)
    #: 0: no limit.
    restarts_per_day: int = 0
    #: Required gain and allowed loss, by module option.
    limits: Mapping[str, float] = field(default_factory=dict)


def read(name: str, option: ReadOption) -> Any:
    """One option, of its type; raises SettingError."""
    return _BY_NAME[name].read(option)


def read_mode(option: ReadOption) -> Mode:
    """Read only the mode; raises SettingError."""
    mode: Mode = read('mode', option)
    return mode


def read_settings(option: ReadOption) -> Settings:
    """Raises SettingError."""
    return Settings(
        mode=read_mode(option),
        sample_interval_s=read('sample_interval', option),
        auto_apply=Policy(after_s=read('auto_apply_after', option)),
        restart_timeout_s=read('restart_timeout', option),
        workload_memory_s=read('workload_memory', option),
        soak=soak_plan(option),
        maintenance=MaintenanceWindow(
            days=read('maintenance_days', option), hours=read('maintenance_hours', option)
        ),
        restarts_per_day=read('restarts_per_day', option),
        limits={name: read(name, option) for name in ('min_gain', 'max_loss')},
    )


def soak_plan(option: ReadOption) -> SoakPlan:
    min_s, max_s = read('soak_min', option), read('soak_max', option)
    batch_min_s = min_s * _BATCH_SOAK_MIN
    batch_max_s = max(batch_min_s, max_s * _BATCH_SOAK_MAX) if max_s else 0.0
    return SoakPlan(
        min_s,
        max_s,
        read('soak_inconclusive', option),
        # The canary has a verdict.
        batches=SoakPlan(batch_min_s, batch_max_s, Inconclusive.PROMOTE),
    )

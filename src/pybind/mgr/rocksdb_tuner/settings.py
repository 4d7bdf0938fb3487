"""Module options, each declared once with type, default, bounds, text and conversion. Pure."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Generic, Mapping, Optional, TypeVar, Union

from .advise.usage import choice_thresholds
from .judge.records import Inconclusive, SoakPlan
from .operations.rollout.automatic import MaintenanceWindow, Policy
from .snapshot import Mode
from .steps import ExplainedError

_T = TypeVar('_T')
_Choice = TypeVar('_Choice', bound=Enum)
#: As in mgr_module, for an option of any declared type.
OptionValue = Optional[Union[bool, int, float, str]]
#: Returns the value of an option by name.
ReadOption = Callable[[str], OptionValue]


class SettingError(ExplainedError):
    """An option has an invalid value."""

    errno = errno.EINVAL


@dataclass(frozen=True)
class Setting(Generic[_T]):
    """A module option: bounds are enforced on reading, in one place."""

    name: str
    #: Ceph's name of the type.
    type: str
    default: Union[bool, int, float, str]
    #: One-line description in `ceph config help`.
    text: str
    #: Converts Ceph's value to the module's.
    convert: Callable[[Any], _T]
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    choices: tuple[str, ...] = ()
    detail: Optional[str] = None

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

    def read(self, option: ReadOption) -> _T:
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


def in_seconds(name: str, default: int, minimum: int, maximum: int, text: str) -> Setting[float]:
    """A duration or an age."""
    return Setting(name, 'secs', default, text, float, minimum, maximum)


def share(name: str, default: float, minimum: float, maximum: float, text: str) -> Setting[float]:
    return Setting(name, 'float', default, text, float, minimum, maximum)


def count(name: str, default: int, minimum: int, maximum: int, text: str) -> Setting[int]:
    # Ceph rejects negative values of a uint, but not of an int.
    return Setting(name, 'uint', default, text, int, minimum, maximum)


def free_text(name: str, default: str, text: str) -> Setting[str]:
    return Setting(name, 'str', default, text, str)


def one_of(name: str, default: _Choice, text: str, detail: str) -> Setting[_Choice]:
    kind = type(default)
    choices = tuple(str(member.value) for member in kind)
    return Setting(name, 'str', default.value, text, kind, choices=choices, detail=detail)


_DAY_S = 86400
_MONTH_S = 31 * _DAY_S

_MODE = one_of(
    'mode',
    Mode.RECOMMEND,
    'what the module may do; auto-apply lets it change OSDs without being asked',
    'off: read nothing and pause rollouts; observe: measure and classify workloads; recommend: '
    'also recommend changes, and apply them on request; auto-apply: also apply low-risk '
    'recommendations after auto_apply_after',
)
_SAMPLE_INTERVAL = in_seconds(
    'sample_interval',
    0,
    0,
    3600,
    'interval between samples of the OSDs; 0: depends on their number; raise it if the manager '
    'is busy',
)
_WORKLOAD_MEMORY = in_seconds(
    'workload_memory',
    _DAY_S,
    0,
    _MONTH_S,
    'how long recommendations for an idle group use its last client workload; raise it if clients '
    'are away for days',
)
_MIN_GAIN = share(
    'min_gain',
    choice_thresholds().min_gain,
    0.01,
    0.9,
    'minimum saving of any resource (as a share, with 80% probability) to recommend a change; '
    'raise it if restarts are expensive',
)
_MAX_LOSS = share(
    'max_loss',
    choice_thresholds().max_loss,
    0.0,
    1.0,
    'maximum additional use of any other resource (as a share, with 80% probability); raise it if '
    'other resources are plentiful',
)
_AUTO_APPLY_AFTER = in_seconds(
    'auto_apply_after',
    _DAY_S,
    60,
    _MONTH_S,
    'how long a recommendation must persist before auto-apply applies it; raise it if the workload '
    'changes over the week',
)
_RESTART_TIMEOUT = in_seconds(
    'restart_timeout',
    300,
    30,
    3600,
    'how long an OSD may take to restart before its change is rolled back; raise it if OSDs start '
    'slowly',
)
_RESTARTS_PER_DAY = count(
    'restarts_per_day',
    0,
    0,
    10000,
    'maximum number of OSD restarts by the module in 24 hours; 0: no limit; set it to spread '
    'restarts over days',
)
_MAINTENANCE_DAYS = free_text(
    'maintenance_days',
    '',
    'days on which OSDs may be changed, for example "sat,sun" or "mon-fri"; empty: every day',
)
_MAINTENANCE_HOURS = free_text(
    'maintenance_hours',
    '',
    'hours in local time in which OSDs may be changed, for example "22:00-04:00"; empty: all day',
)
_COMPACTION_PARALLEL = Setting(
    'compaction_parallel',
    'int',
    1,
    'maximum number of OSDs per failure domain to compact at the same time; raise it for large '
    'failure domains',
    int,
    1,
    16,
)
_SOAK_MIN = in_seconds(
    'soak_min',
    600,
    0,
    7 * _DAY_S,
    'minimum baseline and soak time of the first changed OSD, and block length of experiments; '
    'raise it for unsteady load',
)
_SOAK_MAX = in_seconds(
    'soak_max',
    3600,
    0,
    _MONTH_S,
    'maximum time to wait for a verdict on the first changed OSD; 0: no soak and no verdict; raise '
    'it for little load',
)
_SOAK_INCONCLUSIVE = one_of(
    'soak_inconclusive',
    Inconclusive.WAIT,
    'action if there is no verdict after soak_max; change it if nobody would answer',
    'wait: for the operator; promote: change the other OSDs anyway; rollback: restore the changed '
    'OSD',
)

SERVED = Setting(
    'metrics',
    'bool',
    False,
    'serve Prometheus metrics over plain HTTP, without TLS or authentication',
    bool,
)
METRICS_ADDRESS = free_text(
    'metrics_addr',
    '127.0.0.1',
    'IP address to serve metrics on; "::" for all addresses, if Prometheus runs elsewhere',
)
METRICS_PORT = count(
    'metrics_port', 9789, 1, 65535, 'port to serve metrics on; change it if another service has it'
)
METRICS_OSD_LIMIT = count(
    'metrics_osd_limit',
    3000,
    0,
    100000,
    'maximum number of OSDs in the cluster for per-OSD metrics, which are omitted beyond it; '
    'depends on the size of Prometheus',
)

#: Gain and loss that decide on a change.
_LIMITS: tuple[Setting[float], ...] = (_MIN_GAIN, _MAX_LOSS)
#: Options that standby mgrs use, too.
METRICS: tuple[Setting[Any], ...] = (SERVED, METRICS_ADDRESS, METRICS_PORT, METRICS_OSD_LIMIT)
SETTINGS: tuple[Setting[Any], ...] = (
    _MODE,
    _SAMPLE_INTERVAL,
    _WORKLOAD_MEMORY,
    *_LIMITS,
    _AUTO_APPLY_AFTER,
    _RESTART_TIMEOUT,
    _RESTARTS_PER_DAY,
    _MAINTENANCE_DAYS,
    _MAINTENANCE_HOURS,
    _COMPACTION_PARALLEL,
    _SOAK_MIN,
    _SOAK_MAX,
    _SOAK_INCONCLUSIVE,
    *METRICS,
)
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
    #: OSDs per failure domain that compact at the same time.
    compaction_parallel: int = 1
    maintenance: MaintenanceWindow = field(default_factory=MaintenanceWindow)
    #: 0: no limit.
    restarts_per_day: int = 0
    #: Required gain and allowed loss, by module option.
    limits: Mapping[str, float] = field(default_factory=dict)


def read_mode(option: ReadOption) -> Mode:
    """Read only the mode; raises SettingError."""
    return _MODE.read(option)


def read_settings(option: ReadOption) -> Settings:
    """Raises SettingError."""
    return Settings(
        mode=_MODE.read(option),
        sample_interval_s=_SAMPLE_INTERVAL.read(option),
        auto_apply=Policy(after_s=_AUTO_APPLY_AFTER.read(option)),
        restart_timeout_s=_RESTART_TIMEOUT.read(option),
        workload_memory_s=_WORKLOAD_MEMORY.read(option),
        soak=soak_plan(option),
        compaction_parallel=_COMPACTION_PARALLEL.read(option),
        maintenance=MaintenanceWindow(
            days=_MAINTENANCE_DAYS.read(option), hours=_MAINTENANCE_HOURS.read(option)
        ),
        restarts_per_day=_RESTARTS_PER_DAY.read(option),
        limits={setting.name: setting.read(option) for setting in _LIMITS},
    )


def soak_plan(option: ReadOption) -> SoakPlan:
    least_s, most_s = _SOAK_MIN.read(option), _SOAK_MAX.read(option)
    batch_least_s = least_s * _BATCH_SOAK_MIN
    batch_most_s = max(batch_least_s, most_s * _BATCH_SOAK_MAX) if most_s else 0.0
    return SoakPlan(
        least_s,
        most_s,
        _SOAK_INCONCLUSIVE.read(option),
        # The canary has a verdict.
        batches=SoakPlan(batch_least_s, batch_most_s, Inconclusive.PROMOTE),
    )

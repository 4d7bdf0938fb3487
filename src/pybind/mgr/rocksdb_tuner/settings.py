"""The options of the module, each declared once: its type, default, bounds, text, and what it sets.

Pure. What Ceph is told of them is made of the declarations (`Setting.declaration`), and what Ceph
answers is read through them, so that a value out of bounds is refused in one place.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Callable, Generic, Mapping, Optional, TypeVar, Union

from .advise.conditions.declaration import LimitOption
from .advise.conditions.registry import limit_options
from .advise.usage import choice_thresholds
from .judge.records import Inconclusive, NoBenefit, SoakPlan
from .operations.rollout.automatic import Policy
from .operations.rollout.maintenance import MaintenanceWindow
from .snapshot import Mode
from .steps import ExplainedError

__all__ = [
    'METRICS',
    'SETTINGS',
    'Setting',
    'SettingError',
    'Settings',
    'read_mode',
    'read_settings',
]

_T = TypeVar('_T')
_Choice = TypeVar('_Choice', bound=Enum)
#: Gives the value of an option, by its name.
ReadOption = Callable[[str], Any]

_DAY_S = 86400
_MONTH_S = 31 * _DAY_S


class SettingError(ExplainedError):
    """An option has a value that it may not have."""

    errno = errno.EINVAL


@dataclass(frozen=True)
class Setting(Generic[_T]):
    """One option of the module."""

    name: str
    #: Ceph's name of it.
    type: str
    default: Union[bool, int, float, str]
    #: What Ceph shows of it, on one line.
    text: str
    #: Makes what the module goes by of what Ceph gives.
    convert: Callable[[Any], _T]
    least: Optional[float] = None
    most: Optional[float] = None
    choices: tuple[str, ...] = ()
    detail: Optional[str] = None

    def declaration(self) -> dict[str, Any]:
        """The keywords of Ceph's `Option`."""
        known = {
            'name': self.name,
            'type': self.type,
            'default': self.default,
            'min': self.least,
            'max': self.most,
            'enum_allowed': list(self.choices) or None,
            'desc': self.text,
            'long_desc': self.detail,
            'runtime': True,
        }
        return {name: value for name, value in known.items() if value is not None}

    def read(self, option: ReadOption) -> _T:
        """The value that the option has now; raises SettingError."""
        given = option(self.name)
        if given is None or (self.choices and not given):
            given = self.default
        if self.choices and given not in self.choices:
            raise SettingError(
                f'the option {self.name} is "{given}"; values: {", ".join(self.choices)}'
            )
        try:
            value = self.convert(given)
        except (TypeError, ValueError):
            raise SettingError(
                f'the option {self.name} is "{given}", which is not of the type {self.type}'
            ) from None
        too_small = self.least is not None and not given >= self.least
        too_large = self.most is not None and not given <= self.most
        if too_small or too_large:
            raise SettingError(
                f'the option {self.name} is {given}; it may be {self.least} to {self.most}'
            )
        return value


def _seconds(name: str, default: int, least: int, most: int, text: str) -> Setting[float]:
    return Setting(name, 'secs', default, text, float, least, most)


def _share(name: str, default: float, least: float, most: float, text: str) -> Setting[float]:
    return Setting(name, 'float', default, text, float, least, most)


def _count(name: str, default: int, least: int, most: int, text: str) -> Setting[int]:
    # Of an int Ceph would take a negative value for what it is, and of an uint refuse it.
    return Setting(name, 'uint', default, text, int, least, most)


def _text(name: str, default: str, text: str) -> Setting[str]:
    return Setting(name, 'str', default, text, str)


def _choice(name: str, default: _Choice, text: str, detail: str) -> Setting[_Choice]:
    kind = type(default)
    choices = tuple(str(member.value) for member in kind)
    return Setting(name, 'str', default.value, text, kind, choices=choices, detail=detail)


def _threshold(limit: LimitOption) -> Setting[float]:
    """A threshold of a condition, as the operator may set it."""
    text = f'{limit.meaning} ({limit.unit})'
    if limit.unit == 's':
        return _seconds(
            limit.name, int(limit.default), int(limit.minimum), int(limit.maximum), text
        )
    return _share(limit.name, limit.default, limit.minimum, limit.maximum, text)


_MODE = _choice(
    'mode',
    Mode.RECOMMEND,
    'what the module may do',
    'off: read nothing and pause rollouts; observe: measure and classify workloads; recommend: '
    'also recommend changes, and apply them on request; auto-apply: also apply low-risk '
    'recommendations that have stood long enough',
)
_SAMPLE_INTERVAL = _seconds(
    'sample_interval',
    0,
    0,
    3600,
    'seconds between two samples of every OSD; 0: chosen by the number of OSDs',
)
_AUTO_APPLY_AFTER = _seconds(
    'auto_apply_after',
    _DAY_S,
    60,
    _MONTH_S,
    'how long a recommendation must have stood before auto-apply applies it',
)
_AUTO_APPLY_COOLDOWN = _seconds(
    'auto_apply_cooldown',
    _DAY_S,
    0,
    _MONTH_S,
    'how long auto-apply waits after the end of any change',
)
_AUTO_APPLY_CONFIDENCE = _share(
    'auto_apply_confidence',
    0.9,
    0.8,
    1.0,
    'minimum confidence in the workload for auto-apply',
)
_RESTART_TIMEOUT = _seconds(
    'restart_timeout',
    300,
    30,
    3600,
    'how long an OSD may take to restart before its setting is rolled back',
)
_GATE_ALARM_AFTER = _seconds(
    'gate_alarm_after',
    1800,
    0,
    7 * _DAY_S,
    'how long a rollout or compaction campaign may wait for a gate before a health check is '
    'raised; 0: forever',
)
_SOAK_MIN = _seconds(
    'soak_min',
    600,
    0,
    7 * _DAY_S,
    'minimum time to watch the first changed OSD, and to measure it before the change',
)
_SOAK_MAX = _seconds(
    'soak_max',
    3600,
    0,
    _MONTH_S,
    'maximum time to wait for a verdict on it; 0: no soak and no verdict',
)
_SOAK_INCONCLUSIVE = _choice(
    'soak_inconclusive',
    Inconclusive.WAIT,
    'action if there is no verdict by then',
    'wait: for the operator; promote: change the other OSDs anyway; rollback: restore the changed '
    'OSD',
)
_SOAK_NO_BENEFIT = _choice(
    'soak_no_benefit',
    NoBenefit.AUTO,
    'action if the first changed OSD became neither worse nor better',
    'auto: rollback if a gain was predicted, promote if the change was made for safety; wait: for '
    'the operator; promote: change the other OSDs; rollback: restore the changed OSD',
)
_BATCH_SOAK_MIN = _seconds(
    'batch_soak_min',
    300,
    0,
    7 * _DAY_S,
    'minimum time to watch each batch after that; at most soak_min',
)
_BATCH_SOAK_MAX = _seconds(
    'batch_soak_max',
    900,
    0,
    _MONTH_S,
    'maximum time to wait for a verdict on a batch; at most soak_max; 0: batches are not watched',
)
_BATCH_SOAK_INCONCLUSIVE = _choice(
    'batch_soak_inconclusive',
    Inconclusive.PROMOTE,
    'action if there is no verdict on a batch by then',
    'promote: continue with the next batch, since the first OSD was judged already; wait: for the '
    'operator; rollback: restore all changed OSDs',
)
_COMPACTION_PARALLEL = Setting(
    'compaction_parallel',
    'int',
    1,
    'maximum number of OSDs of one failure domain that compact at once',
    int,
    1,
    16,
)
_MAINTENANCE_DAYS = _text(
    'maintenance_days',
    '',
    'days on which OSDs may be changed, for example "sat,sun" or "mon-fri"; empty: any',
)
_MAINTENANCE_HOURS = _text(
    'maintenance_hours',
    '',
    'hours of those days, for example "22:00-04:00", in local time; empty: all',
)
_RESTARTS_PER_DAY = _count(
    'restarts_per_day',
    0,
    0,
    10000,
    'maximum number of restarts by this module in 24 hours; 0: no limit',
)
_WORKLOAD_MEMORY = _seconds(
    'workload_memory',
    _DAY_S,
    0,
    _MONTH_S,
    'how long recommendations use the last client workload of an idle group',
)
_MIN_GAIN = _share(
    'min_gain',
    choice_thresholds().min_gain,
    0.01,
    0.9,
    'minimum relief of the limiting resource, as a share, with 80% probability, for a change to be '
    'recommended',
)
_MAX_LOSS = _share(
    'max_loss',
    choice_thresholds().max_loss,
    0.0,
    1.0,
    'maximum additional use of any other resource, as a share, with 80% probability',
)

SERVED = Setting(
    'metrics',
    'bool',
    False,
    'serve metrics to Prometheus, over HTTP without TLS or login',
    bool,
)
METRICS_ADDRESS = _text(
    'metrics_addr', '127.0.0.1', 'IP address to serve metrics on; :: for all addresses of the host'
)
METRICS_PORT = _count('metrics_port', 9789, 1, 65535, 'port to serve metrics on')
METRICS_OSD_LIMIT = _count(
    'metrics_osd_limit',
    3000,
    0,
    100000,
    'with more OSDs than this, metrics of single OSDs are omitted',
)

#: What an operator sets of the bars of a choice and of the thresholds of conditions, by name.
_LIMITS: tuple[Setting[float], ...] = (
    _MIN_GAIN,
    _MAX_LOSS,
    *(_threshold(limit) for limit in limit_options()),
)
#: The options that a standby manager has too.
METRICS: tuple[Setting[Any], ...] = (SERVED, METRICS_ADDRESS, METRICS_PORT, METRICS_OSD_LIMIT)
SETTINGS: tuple[Setting[Any], ...] = (
    _MODE,
    _SAMPLE_INTERVAL,
    _AUTO_APPLY_AFTER,
    _AUTO_APPLY_COOLDOWN,
    _AUTO_APPLY_CONFIDENCE,
    _RESTART_TIMEOUT,
    _GATE_ALARM_AFTER,
    _SOAK_MIN,
    _SOAK_MAX,
    _SOAK_INCONCLUSIVE,
    _SOAK_NO_BENEFIT,
    _BATCH_SOAK_MIN,
    _BATCH_SOAK_MAX,
    _BATCH_SOAK_INCONCLUSIVE,
    _COMPACTION_PARALLEL,
    _MAINTENANCE_DAYS,
    _MAINTENANCE_HOURS,
    _RESTARTS_PER_DAY,
    _WORKLOAD_MEMORY,
    *METRICS,
    *_LIMITS,
)


@dataclass(frozen=True)
class Settings:
    """The options that decide, read once a tick."""

    mode: Mode = Mode.RECOMMEND
    #: Seconds; 0 lets the module choose by the number of OSDs.
    sample_interval_s: float = 0.0
    #: What auto-apply may take.
    auto_apply: Policy = field(default_factory=Policy)
    #: How long an OSD may take to restart before it counts as not coming back.
    restart_timeout_s: float = 300.0
    #: How long a gate may stay closed before that is a health check; 0: forever.
    gate_alarm_after_s: float = 1800.0
    #: An idle group keeps its last client workload as the reason for advice this long.
    workload_memory_s: float = 86400.0
    #: How long a changed OSD is watched before the others follow.
    soak: SoakPlan = field(default_factory=SoakPlan)
    #: How many OSDs of one failure domain compact at once.
    compaction_parallel: int = 1
    #: When an OSD may be begun.
    maintenance: MaintenanceWindow = field(default_factory=MaintenanceWindow)
    #: 0: no limit.
    restarts_per_day: int = 0
    #: Bars and thresholds that the operator set, by module option.
    limits: Mapping[str, float] = field(default_factory=dict)


def read_mode(option: ReadOption) -> Mode:
    """Raises SettingError, as `read_settings`."""
    return _MODE.read(option)


def read_settings(option: ReadOption) -> Settings:
    return Settings(
        mode=_MODE.read(option),
        sample_interval_s=_SAMPLE_INTERVAL.read(option),
        auto_apply=Policy(
            after_s=_AUTO_APPLY_AFTER.read(option),
            cooldown_s=_AUTO_APPLY_COOLDOWN.read(option),
            least_confidence=_AUTO_APPLY_CONFIDENCE.read(option),
        ),
        restart_timeout_s=_RESTART_TIMEOUT.read(option),
        gate_alarm_after_s=_GATE_ALARM_AFTER.read(option),
        workload_memory_s=_WORKLOAD_MEMORY.read(option),
        soak=_soak(option),
        compaction_parallel=_COMPACTION_PARALLEL.read(option),
        maintenance=MaintenanceWindow(
            days=_MAINTENANCE_DAYS.read(option), hours=_MAINTENANCE_HOURS.read(option)
        ),
        restarts_per_day=_RESTARTS_PER_DAY.read(option),
        limits={setting.name: setting.read(option) for setting in _LIMITS},
    )


def _soak(option: ReadOption) -> SoakPlan:
    least_s, most_s = _SOAK_MIN.read(option), _SOAK_MAX.read(option)
    return SoakPlan(
        least_s,
        most_s,
        _SOAK_INCONCLUSIVE.read(option),
        batches=SoakPlan(
            min(least_s, _BATCH_SOAK_MIN.read(option)),
            min(most_s, _BATCH_SOAK_MAX.read(option)),
            _BATCH_SOAK_INCONCLUSIVE.read(option),
        ),
        no_benefit=_SOAK_NO_BENEFIT.read(option),
    )

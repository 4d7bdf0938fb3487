"""Module options, each declared once with type, default, bounds, text and conversion. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from .advise.conditions.declaration import LimitOption, limit_options
from .advise.usage import choice_thresholds
from .judge.records import Inconclusive, NoBenefit, SoakPlan
from .operations.rollout.automatic import Policy
from .operations.rollout.maintenance import MaintenanceWindow
from .setting import ReadOption, Setting, count, free_text, in_seconds, one_of, share
from .snapshot import Mode

_DAY_S = 86400
_MONTH_S = 31 * _DAY_S


def _threshold(limit: LimitOption) -> Setting[float]:
    """The module option for a threshold of a condition."""
    text = f'{limit.meaning} ({limit.unit})'
    if limit.unit == 's':
        return in_seconds(
            limit.name, int(limit.default), int(limit.minimum), int(limit.maximum), text
        )
    return share(limit.name, limit.default, limit.minimum, limit.maximum, text)


_MODE = one_of(
    'mode',
    Mode.RECOMMEND,
    'what the module may do',
    'off: read nothing and pause rollouts; observe: measure and classify workloads; recommend: '
    'also recommend changes, and apply them on request; auto-apply: also apply low-risk '
    'recommendations after auto_apply_after',
)
_SAMPLE_INTERVAL = in_seconds(
    'sample_interval',
    0,
    0,
    3600,
    'interval between samples of the OSDs; 0: depends on the number of OSDs',
)
_AUTO_APPLY_AFTER = in_seconds(
    'auto_apply_after',
    _DAY_S,
    60,
    _MONTH_S,
    'how long a recommendation must persist before auto-apply applies it',
)
_AUTO_APPLY_COOLDOWN = in_seconds(
    'auto_apply_cooldown',
    _DAY_S,
    0,
    _MONTH_S,
    'how long auto-apply waits after any operation ends',
)
_AUTO_APPLY_CONFIDENCE = share(
    'auto_apply_confidence',
    0.9,
    0.8,
    1.0,
    'minimum confidence of the workload classification for auto-apply',
)
_RESTART_TIMEOUT = in_seconds(
    'restart_timeout',
    300,
    30,
    3600,
    'how long an OSD may take to restart before its change is rolled back',
)
_GATE_ALARM_AFTER = in_seconds(
    'gate_alarm_after',
    1800,
    0,
    7 * _DAY_S,
    'how long a rollout or compaction campaign may wait for a gate before a health check is '
    'raised; 0: never raise it',
)
_SOAK_MIN = in_seconds(
    'soak_min',
    600,
    0,
    7 * _DAY_S,
    'minimum soak time of the first changed OSD, and minimum baseline time before the change',
)
_SOAK_MAX = in_seconds(
    'soak_max',
    3600,
    0,
    _MONTH_S,
    'maximum time to wait for a verdict on the first changed OSD; 0: no soak and no verdict',
)
_SOAK_INCONCLUSIVE = one_of(
    'soak_inconclusive',
    Inconclusive.WAIT,
    'action if there is no verdict after soak_max',
    'wait: for the operator; promote: change the other OSDs anyway; rollback: restore the changed '
    'OSD',
)
_SOAK_NO_BENEFIT = one_of(
    'soak_no_benefit',
    NoBenefit.AUTO,
    'action if the first changed OSD is neither better nor worse',
    'auto: rollback if a gain was predicted, promote if the change is for safety; wait: for '
    'the operator; promote: change the other OSDs; rollback: restore the changed OSD',
)
_BATCH_SOAK_MIN = in_seconds(
    'batch_soak_min',
    300,
    0,
    7 * _DAY_S,
    'minimum soak time of each later batch; at most soak_min',
)
_BATCH_SOAK_MAX = in_seconds(
    'batch_soak_max',
    900,
    0,
    _MONTH_S,
    'maximum time to wait for a verdict on a later batch; at most soak_max; 0: no soak of batches',
)
_BATCH_SOAK_INCONCLUSIVE = one_of(
    'batch_soak_inconclusive',
    Inconclusive.PROMOTE,
    'action if there is no verdict on a batch after batch_soak_max',
    'promote: continue with the next batch, since the first OSD has a verdict; wait: for the '
    'operator; rollback: restore all changed OSDs',
)
_COMPACTION_PARALLEL = Setting(
    'compaction_parallel',
    'int',
    1,
    'maximum number of OSDs per failure domain to compact at the same time',
    int,
    1,
    16,
)
_EXPERIMENT_SHARE = share(
    'experiment_share',
    0.25,
    0.05,
    0.75,
    'maximum share of the OSDs of a group that an experiment may change at a time',
)
_EXPERIMENT_BLOCK_MIN = in_seconds(
    'experiment_block_min',
    600,
    30,
    _DAY_S,
    'minimum length of a block, the time over which an experiment compares OSDs; it is at least '
    'three memtable flushes',
)
_MAINTENANCE_DAYS = free_text(
    'maintenance_days',
    '',
    'days of the maintenance window, for example "sat,sun" or "mon-fri"; empty: every day',
)
_MAINTENANCE_HOURS = free_text(
    'maintenance_hours',
    '',
    'hours of the maintenance window in local time, for example "22:00-04:00"; empty: all day',
)
_RESTARTS_PER_DAY = count(
    'restarts_per_day',
    0,
    0,
    10000,
    'maximum number of OSD restarts by the module in 24 hours; 0: no limit',
)
_WORKLOAD_MEMORY = in_seconds(
    'workload_memory',
    _DAY_S,
    0,
    _MONTH_S,
    'how long recommendations for an idle group use its last client workload',
)
_MIN_GAIN = share(
    'min_gain',
    choice_thresholds().min_gain,
    0.01,
    0.9,
    'minimum saving of any resource (as a share, with 80% probability) to recommend a change',
)
_MAX_LOSS = share(
    'max_loss',
    choice_thresholds().max_loss,
    0.0,
    1.0,
    'maximum additional use of any other resource (as a share, with 80% probability)',
)

SERVED = Setting(
    'metrics',
    'bool',
    False,
    'serve Prometheus metrics over plain HTTP, without TLS or authentication',
    bool,
)
METRICS_ADDRESS = free_text(
    'metrics_addr', '127.0.0.1', 'IP address to serve metrics on; "::" for all addresses'
)
METRICS_PORT = count('metrics_port', 9789, 1, 65535, 'port to serve metrics on')
METRICS_OSD_LIMIT = count(
    'metrics_osd_limit',
    3000,
    0,
    100000,
    'maximum number of OSDs in the cluster for per-OSD metrics; with more, they are omitted',
)

#: Thresholds for choosing a profile and for conditions.
_LIMITS: tuple[Setting[float], ...] = (
    _MIN_GAIN,
    _MAX_LOSS,
    *(_threshold(limit) for limit in limit_options()),
)
#: Options that standby mgrs use, too.
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
    _EXPERIMENT_SHARE,
    _EXPERIMENT_BLOCK_MIN,
    _MAINTENANCE_DAYS,
    _MAINTENANCE_HOURS,
    _RESTARTS_PER_DAY,
    _WORKLOAD_MEMORY,
    *METRICS,
    *_LIMITS,
)


@dataclass(frozen=True)
class Settings:
    """Current values of the options, read once per tick."""

    mode: Mode = Mode.RECOMMEND
    #: 0: depends on the number of OSDs.
    sample_interval_s: float = 0.0
    auto_apply: Policy = field(default_factory=Policy)
    #: An OSD that takes longer to restart counts as failed.
    restart_timeout_s: float = 300.0
    #: A gate closed for longer raises a health check; 0: never.
    gate_alarm_after_s: float = 1800.0
    #: Recommendations for an idle group use its last client workload for this long.
    workload_memory_s: float = 86400.0
    soak: SoakPlan = field(default_factory=SoakPlan)
    #: OSDs per failure domain that compact at the same time.
    compaction_parallel: int = 1
    #: Maximum share of a group that an experiment changes at a time.
    experiment_share: float = 0.25
    experiment_block_min_s: float = 600.0
    maintenance: MaintenanceWindow = field(default_factory=MaintenanceWindow)
    #: 0: no limit.
    restarts_per_day: int = 0
    #: Thresholds by module option.
    limits: Mapping[str, float] = field(default_factory=dict)


def read_mode(option: ReadOption) -> Mode:
    """Read only the mode; raises SettingError."""
    return _MODE.read(option)


def read_settings(option: ReadOption) -> Settings:
    """Raises SettingError."""
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
        experiment_share=_EXPERIMENT_SHARE.read(option),
        experiment_block_min_s=_EXPERIMENT_BLOCK_MIN.read(option),
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

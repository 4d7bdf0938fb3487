"""Recommendations, findings, and the facts that they are based on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Mapping, NamedTuple, Optional

from ..mgr.records import ConfigEntry, OsdInfo, Place
from ..notes import Amount, Named, OsdId
from ..observe.deep import RocksdbTimes
from ..observe.details import Details
from ..observe.latency import WriteLatency
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..observe.trend import Forecast
from ..plan.records import ANNEX, OPTION, ChangeRequest
from ..workload.records import Evidence, Workload


class Severity(str, Enum):
    ERROR = 'error'
    WARNING = 'warning'
    INFO = 'info'


class Kind(str, Enum):
    """Kind of a recommendation."""

    SET_PROFILE = 'set-profile'
    REMOVE_OVERRIDE = 'remove-override'
    COMPACT = 'compact'
    #: A remedy other than a configuration change.
    MANUAL = 'manual'


class Risk(str, Enum):
    LOW = 'low'
    MEDIUM = 'medium'
    HIGH = 'high'


class Priority(str, Enum):
    """How much a recommendation matters."""

    #: The running options are a hazard, or the change relieves what limits the clients.
    NOW = 'now'
    #: A gain on something that will limit, or a string that is no longer recommended.
    PLANNED = 'planned'
    #: With the next restart.
    OPTIONAL = 'optional'


class Resource(str, Enum):
    """The resource that limits the clients of a group of OSDs."""

    KV_SYNC = 'kv-sync'
    CORES = 'cores'
    DB_DEVICE = 'db-device'
    DB_SPACE = 'db-space'
    WAL_SPACE = 'wal-space'
    MEMORY = 'memory'
    DATA_DEVICE = 'data-device'
    NETWORK = 'network'
    #: None of the measured resources.
    NONE = 'none'
    UNKNOWN = 'unknown'


@dataclass(frozen=True)
class Limit:
    resource: Resource
    #: 0..1, 0 for UNKNOWN.
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    #: The part of a write that takes the time in it; None: unknown, or no matter of time.
    part: Optional[str] = None


UNKNOWN_LIMIT = Limit(Resource.UNKNOWN, 0.0)


@dataclass(frozen=True)
class NextStart:
    """The configured options of one OSD: the option string with its annex, judged as one."""

    #: Option string after the next start; None: unknown.
    next_start: Optional[str]
    #: The part of it from `bluestore_rocksdb_options_annex`.
    next_annex: str
    #: The config store entry in force for this OSD; None if there is none.
    deciding_who: Optional[str]
    #: The config store entry of this OSD's annex; None if there is none.
    annex_who: Optional[str]
    #: Whether the OSD would start with it; None: unknown.
    starts: Optional[bool]
    #: The config store entries because of which that is not certain.
    culprits: tuple[ConfigEntry, ...]


@dataclass(frozen=True)
class OsdOptions(NextStart):
    """The option string of one OSD: running, after the next restart, and its source.

    Strings are ``bluestore_rocksdb_options`` with the annex appended.
    """

    osd_id: int
    running: str
    #: Of the main option: "default", "mon", "file", "env", "cmdline" or "override".
    source: str
    #: A restart would apply the configured options; None: unknown.
    pending_restart: Optional[bool]
    #: ceph.conf, the environment or the command line overrides the config store.
    overruled: bool
    #: The part of ``running`` from `bluestore_rocksdb_options_annex`.
    annex: str
    #: Name of the profile of ``running``; None if it is not a known profile.
    profile: Optional[str]
    #: The OSD's own entry is in force, and without it the release's default would be.
    own_entry_only: bool = False
    #: Without the entry of its annex this OSD would start without an annex.
    annex_by_entry_only: bool = False

    @property
    def kept_annex(self) -> str:
        """The annex that any other option string would be joined with."""
        return self.annex if self.next_start is None else self.next_annex


class Setting(NamedTuple):
    """A non-default option of an OSD."""

    value: str
    #: The config store entry that sets it; None for another source.
    who: Optional[str]


class OsdFacts(NamedTuple):
    """Everything known about one OSD at one time."""

    info: OsdInfo
    signals: Optional[Signals]
    workload: Optional[Workload]
    options: Optional[OsdOptions]
    #: The latest detailed sample.
    details: Optional[Details] = None
    #: Only for an OSD with a dedicated DB device.
    forecast: Optional[Forecast] = None
    #: RocksDB's own statistics, if enabled.
    rocksdb_times: Optional[RocksdbTimes] = None
    #: Whether RocksDB is sharded into column families.
    sharded: Optional[bool] = None
    #: The watched options that are set, by name; None: not reported yet.
    settings: Optional[Mapping[str, Setting]] = None
    #: The last observed start.
    last_start: Optional[LastStart] = None

    @property
    def write_latency(self) -> Optional[WriteLatency]:
        """Breakdown of the write latency, including RocksDB's own times if available."""
        latency = self.details.latency if self.details else None
        if latency is None or self.rocksdb_times is None:
            return latency
        return latency._replace(
            wal_sync_ms=self.rocksdb_times.wal_sync_ms,
            memtable_insert_ms=self.rocksdb_times.memtable_insert_ms,
        )


@dataclass(frozen=True)
class GroupFacts:
    """OSDs of one device class, with similar hardware and mostly the same workload."""

    device_class: str
    workload: Optional[Workload]
    osds: tuple[OsdFacts, ...]
    #: The limit of its clients under this workload.
    limit: Limit = UNKNOWN_LIMIT
    #: Per OSD. Not reported by any daemon, so known only from an operator's override.
    cores: Optional[int] = None

    @property
    def who(self) -> str:
        """The config mask of this group."""
        return f'osd/class:{self.device_class}'


class FindingEvidence(NamedTuple):
    """A measurement or setting behind a finding."""

    signal: Annotated[str, 'Name of the signal or setting.']
    value: Annotated[object, 'The value, in the given unit; null: unknown.']
    unit: Annotated[str, 'Unit or kind of the value.']
    window_s: Annotated[
        Optional[Amount], 'Length of the measurement, in seconds; null: a state.'
    ] = None


@dataclass(frozen=True)
class Finding:
    """A condition that requires attention."""

    finding_id: Annotated[str, 'Stable id of the condition.', Named('id')]
    severity: Annotated[Severity, 'Severity.']
    summary: Annotated[str, 'Summary, as a sentence.']
    osds: Annotated[tuple[OsdId, ...], 'Affected OSDs.']
    evidence: Annotated[tuple[FindingEvidence, ...], 'Evidence.']
    remedy: Annotated[str, 'Remedy.']
    source: Annotated[str, 'Documentation or measurement behind the condition.']
    commands: Annotated[tuple[str, ...], 'The exact commands of the remedy, if any.'] = ()
    do_not: Annotated[Optional[str], 'What would make it worse; null: nothing known.'] = None


class MeasuredArm(NamedTuple):
    """Effect of one option string in an experiment on a group."""

    experiment_id: str
    #: When it was started.
    time_s: float
    name: str
    options: str
    #: Option string of the group.
    options_from: str
    who: str
    #: Release and workload of the group at that time, by name.
    release: str
    workload: Optional[str]
    #: A judged signal, with its change and simultaneous 95% interval.
    signal: str
    change_percent: float
    low_percent: float
    high_percent: float
    #: Whether the experiment found it to be the best.
    won: bool


@dataclass(frozen=True)
class Reason:
    """A reason in one sentence, with its source."""

    statement: str
    source: str


@dataclass(frozen=True)
class Prediction:
    """Predicted change of one signal in percent, with an interval.

    The model's interval covers 80% of the comparisons with real OSDs. For a published effect
    ``low_percent`` may be 0, since other hardware may not gain.
    """

    #: In words: "4 KiB random write IOPS".
    metric: str
    #: The measured signal as in `osd`: "write_iops".
    signal: str
    estimate_percent: float
    low_percent: float
    high_percent: float
    basis: str


@dataclass(frozen=True)
class Decision:
    """What to do about a group of OSDs; every answer shows it in these words."""

    who: Annotated[str, 'Config mask of the OSDs.']
    do: Annotated[str, 'What to do: a change, "Nothing to change", or "Wait: ...".']
    because: Annotated[str, 'Reason, with what limits the clients if that is known.']
    gain: Annotated[Optional[str], 'Expected gains; null if none is predicted.'] = None
    loss: Annotated[Optional[str], 'Expected losses; null if they are unknown.'] = None
    risk: Annotated[
        Optional[str], 'Risk, with what the OSDs go through; null without a change.'
    ] = None
    next_command: Annotated[Optional[str], 'The command to run next; null if there is none.'] = None


@dataclass(frozen=True)
class Recommendation:
    """A change of option strings with its reasons, risk, commands and rollback."""

    #: The same recommendation has the same id at every tick and after a failover.
    recommendation_id: str
    kind: Kind
    #: The final mask, for `ceph config set`.
    who: str
    #: In rollout order, the canary first.
    osds: tuple[int, ...]
    #: None if the result is no known profile.
    profile: Optional[str]
    options_from: str
    options_to: str
    reasons: tuple[Reason, ...]
    #: Published effects first, then the model's.
    predictions: tuple[Prediction, ...]
    risk: Risk
    priority: Priority
    #: The request for `apply`, without the actor; None: no rollout applies it.
    change: Optional[ChangeRequest]
    commands: tuple[str, ...]
    undo_commands: tuple[str, ...]
    decision: Decision
    #: Place of each OSD, the basis of order and batches.
    places: tuple[tuple[int, Place], ...] = ()
    #: Confidence in the workload behind the change, 0..1; None without one.
    confidence: Optional[float] = None
    #: The limit of the clients under that workload; None without one.
    limit: Optional[Limit] = None
    #: The annex to set or remove; None: the option itself changes.
    annex: Optional[str] = None

    @property
    def restart_required(self) -> bool:
        return self.change is not None and self.change.restart

    @property
    def targets(self) -> tuple[tuple[int, str], ...]:
        """Value to set for each OSD: the annex, or else ``options_to``."""
        if self.change is None:
            return tuple((osd_id, self.options_to) for osd_id in self.osds)
        return self.change.targets

    @property
    def final_entries(self) -> tuple[tuple[str, Optional[str]], ...]:
        """Final config store entries: (who, value), None for a removed entry."""
        return () if self.change is None else self.change.final_entries

    @property
    def prediction(self) -> Optional[Prediction]:
        """The prediction that the outcome is compared with."""
        return self.predictions[0] if self.predictions else None

    @property
    def option(self) -> str:
        """The changed option."""
        return OPTION if self.annex is None else ANNEX

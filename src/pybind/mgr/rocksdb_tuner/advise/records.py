"""What the module advises, and the facts it advises on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import OsdInfo, Place
from ..observe.deep import RocksdbTimes
from ..observe.details import Details
from ..observe.growth import Forecast
from ..observe.latency import WriteLatency
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..plan.records import ANNEX, OPTION, ChangeRequest
from ..workload.records import Evidence, Workload


class Severity(str, Enum):
    ERROR = 'error'
    WARNING = 'warning'
    INFO = 'info'


class Kind(str, Enum):
    """What a recommendation asks for."""

    SET_PROFILE = 'set-profile'
    REMOVE_OVERRIDE = 'remove-override'
    COMPACT = 'compact'
    #: A remedy that no configuration change gives.
    MANUAL = 'manual'


class Risk(str, Enum):
    LOW = 'low'
    MEDIUM = 'medium'
    HIGH = 'high'


class Resource(str, Enum):
    """What bounds the clients of a group of OSDs."""

    KV_SYNC = 'kv-sync'
    CORES = 'cores'
    DB_DEVICE = 'db-device'
    DB_SPACE = 'db-space'
    WAL_SPACE = 'wal-space'
    MEMORY = 'memory'
    DATA_DEVICE = 'data-device'
    NETWORK = 'network'
    #: Of what is measured, nothing does.
    NONE = 'none'
    UNKNOWN = 'unknown'


@dataclass(frozen=True)
class Limit:
    resource: Resource
    #: 0..1, 0 for UNKNOWN.
    confidence: float
    evidence: tuple[Evidence, ...] = ()


UNKNOWN_LIMIT = Limit(Resource.UNKNOWN, 0.0)


@dataclass(frozen=True)
class OsdOptions:
    """The RocksDB option string of one OSD: what runs, what would run next, and who says so.

    Texts are effective strings: ``bluestore_rocksdb_options`` with the annex appended.
    """

    osd_id: int
    running: str
    #: "default", "mon", "file", "env", "cmdline" or "override" (of the main option)
    source: str
    #: What this OSD would run after its next start; None if that is unknown.
    next_start: Optional[str]
    #: The config store's entry that decides for this OSD, None if there is none.
    deciding_who: Optional[str]
    #: The value in force needs a restart to take effect; None: not known.
    pending_restart: Optional[bool]
    #: ceph.conf, the environment or the command line beats the config store.
    overruled: bool
    #: The part of both texts that came from `bluestore_rocksdb_options_annex`.
    annex: str
    #: Name of the profile that ``running`` is, None if it is no known one.
    profile: Optional[str]
    #: An entry of its own decides, and without it the release's default would.
    own_entry_only: bool = False
    #: The config store's entry that sets the annex of this OSD, None if there is none.
    annex_who: Optional[str] = None
    #: That entry alone sets what runs as annex: without it this OSD would start with none.
    annex_by_entry_only: bool = False


class Setting(NamedTuple):
    """An option that is in force in an OSD and not at its default."""

    value: str
    #: The entry of the config store that sets it; None where something else does.
    who: Optional[str]


class OsdFacts(NamedTuple):
    """All that is known of one OSD at one time."""

    info: OsdInfo
    signals: Optional[Signals]
    workload: Optional[Workload]
    options: Optional[OsdOptions]
    #: The newest close look.
    details: Optional[Details] = None
    #: Only of an OSD with a DB device of its own.
    forecast: Optional[Forecast] = None
    #: RocksDB's own statistics, where they are on.
    rocksdb_times: Optional[RocksdbTimes] = None
    #: Whether RocksDB is sharded into column families.
    sharded: Optional[bool] = None
    #: The watched options that somebody set, by name; None until the OSD was asked.
    settings: Optional[Mapping[str, Setting]] = None
    #: The last one that was watched from the process before.
    last_start: Optional[LastStart] = None

    @property
    def write_latency(self) -> Optional[WriteLatency]:
        """Where the time of a write goes, with RocksDB's own times where its statistics are on."""
        latency = self.details.latency if self.details else None
        if latency is None or self.rocksdb_times is None:
            return latency
        return latency._replace(
            wal_sync_ms=self.rocksdb_times.wal_sync_ms,
            memtable_insert_ms=self.rocksdb_times.memtable_insert_ms,
        )


@dataclass(frozen=True)
class GroupFacts:
    """OSDs of one device class: alike in hardware, and mostly in what they do."""

    device_class: str
    workload: Optional[Workload]
    osds: tuple[OsdFacts, ...]
    #: What bounds its clients under this workload.
    limit: Limit = UNKNOWN_LIMIT
    #: For each OSD. No daemon tells, so only where somebody said.
    cores: Optional[int] = None

    @property
    def who(self) -> str:
        """The mask that addresses this group."""
        return f'osd/class:{self.device_class}'


@dataclass(frozen=True)
class FindingEvidence:
    signal: str
    value: Optional[object]
    unit: str
    window_s: Optional[float]


@dataclass(frozen=True)
class Finding:
    """A condition that deserves attention."""

    #: Name of the condition, "restart-pending"; stable, used in silences and documents.
    finding_id: str
    severity: Severity
    summary: str
    osds: tuple[int, ...]
    evidence: tuple[FindingEvidence, ...]
    remedy: str
    source: str
    #: The exact commands of the remedy, where there are any.
    commands: tuple[str, ...] = ()
    #: What would make it worse.
    do_not: Optional[str] = None


@dataclass(frozen=True)
class Reason:
    """One sentence of why, with the figure behind it where there is one."""

    statement: str
    source: str


@dataclass(frozen=True)
class Prediction:
    """What a change does to one signal, as an interval of percent change.

    By the model both ends hold in 80% of the comparisons with real OSDs. Of what was published
    ``low_percent`` may be 0: gains on other hardware need not appear here.
    """

    #: In words: "4 KiB random write IOPS".
    metric: str
    #: As `osd` names what is measured of it: "write_iops".
    signal: str
    #: What is most likely.
    estimate_percent: float
    low_percent: float
    high_percent: float
    basis: str


@dataclass(frozen=True)
class Recommendation:
    """Who goes from which option set to which, why, at what risk, and how to undo it."""

    #: The same advice has the same id at every tick and after a failover.
    recommendation_id: str
    kind: Kind
    #: What `ceph config set` takes: the mask that holds the setting at the end.
    who: str
    #: In the order in which they would be changed, the canary first.
    osds: tuple[int, ...]
    #: None where the result is no known profile.
    profile: Optional[str]
    options_from: str
    options_to: str
    reasons: tuple[Reason, ...]
    #: What was published of just this change first, then what the model says.
    predictions: tuple[Prediction, ...]
    risk: Risk
    #: What `apply` carries out, but for who asks for it; None: no rollout does.
    change: Optional[ChangeRequest]
    commands: tuple[str, ...]
    undo_commands: tuple[str, ...]
    #: Where each OSD is, as far as that decided the order and the batches.
    places: tuple[tuple[int, Place], ...] = ()
    #: In the workload that is the reason, 0..1; None where no workload is.
    confidence: Optional[float] = None
    #: What bounds the clients under the workload that was advised on; None where neither counted.
    limit: Optional[Limit] = None
    #: The annex that is set, or that goes, where that is the change; None: the option itself is.
    annex: Optional[str] = None

    @property
    def restart_required(self) -> bool:
        return self.change is not None and self.change.restart

    @property
    def targets(self) -> tuple[tuple[int, str], ...]:
        """What each OSD's option is set to, or has until its entry goes where nothing restarts.

        With ``annex`` that, and not ``options_to``.
        """
        if self.change is None:
            return tuple((osd_id, self.options_to) for osd_id in self.osds)
        return self.change.targets

    @property
    def final_entries(self) -> tuple[tuple[str, Optional[str]], ...]:
        """What the config store holds at the end: (who, value), None where the entry goes."""
        return () if self.change is None else self.change.final_entries

    @property
    def prediction(self) -> Optional[Prediction]:
        """What the outcome is held against."""
        return self.predictions[0] if self.predictions else None

    @property
    def option(self) -> str:
        """The option that is written."""
        return OPTION if self.annex is None else ANNEX

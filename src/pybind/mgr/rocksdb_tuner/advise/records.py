"""Recommendations, findings, and the facts that they are based on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Mapping, NamedTuple, Optional

from ..judge.records import Predicted
from ..knowledge import loader
from ..mgr.records import ConfigEntry, OsdInfo, Place
from ..notes import Amount, InPlace, Named, NotEmpty, OsdId, Picked, Share
from ..observe.deep import RocksdbTimes
from ..observe.details import Details, WriteLatency
from ..observe.signals import Signals
from ..observe.starts import LastStart
from ..observe.trend import Forecast
from ..options.grammar import OptionDifference, difference
from ..plan.records import ANNEX, OPTION, ChangeRequest
from ..units import format_change_range
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
    """Current bottleneck of the clients."""

    resource: Annotated[
        Resource,
        'Limiting resource; "none": no measured resource is limiting; "unknown": not enough data.',
    ]
    confidence: Annotated[Share, 'Confidence, 0..1; 0 for "unknown".']
    evidence: Annotated[tuple[Evidence, ...], 'Measurements that support it.'] = ()
    part: Annotated[
        Optional[str],
        'Part of a write that takes the time in it, such as "flushing the data device"; null: '
        'unknown.',
    ] = None
    relief: Annotated[
        Optional[str], 'What would relieve it; null if nothing is known to limit.'
    ] = None
    thread_share: Annotated[
        Optional[Share], 'Share of a commit that options can shorten; null: all of it, or unknown.'
    ] = None

    @property
    def of_options(self) -> Optional[Resource]:
        """The resource, if it is one whose use options decide."""
        return self.resource if self.thread_share is None else None


UNKNOWN_LIMIT = Limit(Resource.UNKNOWN, 0.0)


@dataclass(frozen=True)
class NextStart:
    """The configured options of one OSD: the option string with its annex, judged as one."""

    next_start: Annotated[Optional[str], 'Option string after the next start; null: unknown.']
    #: The part of it from `bluestore_rocksdb_options_annex`.
    next_annex: str
    deciding_who: Annotated[
        Optional[str], 'Config mask of the entry that takes precedence for the OSD.'
    ]
    #: The config store entry of this OSD's annex; None if there is none.
    annex_who: Optional[str]
    starts: Annotated[Optional[bool], 'Whether the OSD would start with it; null: unknown.']
    #: The config store entries because of which that is not certain.
    culprits: tuple[ConfigEntry, ...]
    #: The masked entry of which it is unknown whether the OSD starts with it.
    unknown_entry: Optional[ConfigEntry]


@dataclass(frozen=True)
class OsdOptions(NextStart):
    """Running options of an OSD, and its options after the next start.

    Strings are ``bluestore_rocksdb_options`` with the annex appended.
    """

    osd_id: int
    running: Annotated[str, 'Running option string, including the annex.']
    source: Annotated[
        str,
        'Source of the running value: "default", "mon", "file", "env", "cmdline" or "override".',
    ]
    pending_restart: Annotated[
        Optional[bool],
        'Whether a restart would apply the configured options; false if the OSD would not '
        'start with them.',
    ]
    overruled: Annotated[
        bool, 'Whether ceph.conf, the environment or the command line overrides the config store.'
    ]
    annex: Annotated[str, 'bluestore_rocksdb_options_annex, as part of the option strings.']
    profile: Annotated[Optional[str], 'Name of the running profile; null: none, or unknown.']
    #: The OSD's own entry is in force, and without it the release's default would be.
    own_entry_only: bool = False
    #: Without the entry of its annex this OSD would start without an annex.
    annex_by_entry_only: bool = False

    @property
    def difference(
        self,
    ) -> Annotated[
        Optional[tuple[OptionDifference, ...]], 'Changes at the next restart; null: unknown.'
    ]:
        return None if self.next_start is None else difference(self.running, self.next_start)

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

    info: Annotated[OsdInfo, InPlace()]
    signals: Annotated[Optional[Signals], InPlace()]
    workload: Optional[Workload]
    options: Annotated[Optional[OsdOptions], Picked()]
    details: Annotated[Optional[Details], InPlace()] = None
    forecast: Annotated[
        Optional[Forecast], 'Forecast of a full DB device; null without a dedicated device.'
    ] = None
    rocksdb_times: Annotated[Optional[RocksdbTimes], InPlace()] = None
    sharded: Annotated[Optional[bool], 'Whether its RocksDB is sharded into column families.'] = (
        None
    )
    #: The watched options that are set, by name; None: not reported yet.
    settings: Optional[Mapping[str, Setting]] = None
    last_start: Annotated[
        Optional[LastStart], 'The last restart that the active mgr observed; null: none.'
    ] = None

    @property
    def write_latency(
        self,
    ) -> Annotated[
        Optional[WriteLatency],
        'Breakdown of client write latency; null before two detailed samples.',
    ]:
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
    """The OSDs of one device class."""

    device_class: str
    workload: Optional[Workload]
    osds: tuple[OsdFacts, ...]
    limit: Annotated[Limit, 'Current bottleneck of the clients of the group.'] = UNKNOWN_LIMIT

    @property
    def who(self) -> Annotated[str, 'Config mask of the group.']:
        return f'osd/class:{self.device_class}'

    @property
    def osd_ids(self) -> Annotated[tuple[OsdId, ...], Named('osds'), 'Ids of the OSDs.']:
        return tuple(facts.info.osd_id for facts in self.osds)


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
    """A reason for the change."""

    statement: Annotated[str, 'The reason, as a sentence.']
    source: Annotated[str, 'Source of the statement.']

    @classmethod
    def of(cls, name: str, **fill: object) -> Reason:
        """A reason of ``knowledge/reasons.json``."""
        entry = _reasons()[name]
        return cls(entry['statement'].format_map(fill), entry['source'].format_map(fill))


@cache
def _reasons() -> Mapping[str, Mapping[str, str]]:
    return {entry['name']: entry for entry in loader.load('reasons')['reasons']}


@cache
def names(which: str) -> frozenset[str]:
    """Names of options or rules; their meaning: ``knowledge/choice.json``."""
    return frozenset(loader.load('choice')['names'][which]['values'])


#: In all other predicted signals lower is better.
_MORE_IS_BETTER = frozenset({'write_iops', 'rw_iops'})


@dataclass(frozen=True)
class Prediction:
    """Predicted effect of a change on one signal.

    The model's interval covers 80% of the comparisons with real OSDs. For a published effect
    ``low_percent`` may be 0, since other hardware may not gain.
    """

    metric: Annotated[str, 'The metric that would change.']
    signal: Annotated[str, 'Name of the corresponding signal in the osd command.']
    estimate_percent: Annotated[float, 'Most likely change, in percent.']
    low_percent: Annotated[float, 'Lower end of the expected change, in percent.']
    high_percent: Annotated[float, 'Upper end of the expected change, in percent.']
    basis: Annotated[str, 'Published measurement or model behind the prediction.']

    @property
    def is_gain(self) -> bool:
        """Whether it is predicted to be better, and its interval excludes worse."""
        if self.signal in _MORE_IS_BETTER:
            return self.estimate_percent > 0 and self.low_percent >= 0
        return self.estimate_percent < 0 and self.high_percent <= 0

    @property
    def text(self) -> str:
        """For the history."""
        return f'{self.metric}: {format_change_range(self.low_percent, self.high_percent)}'

    @property
    def predicted(self) -> Predicted:
        """The same in numbers."""
        return Predicted(self.metric, self.low_percent, self.high_percent)


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
    #: What ``because`` names as the limit.
    limit: Optional[Limit] = None
    #: Whether nothing can be recommended or changed until something else happens.
    waits: bool = False


@dataclass(frozen=True)
class Recommendation:
    """A change of option strings with its reasons, risk, commands and rollback."""

    #: The same recommendation has the same id at every tick and after a failover.
    recommendation_id: Annotated[
        str, Named('id'), 'Id of the recommendation; stable as long as the advice is the same.'
    ]
    kind: Annotated[Kind, 'Kind of change; "manual": a remedy other than a configuration change.']
    who: Annotated[str, 'Config mask that the final setting applies to.']
    #: In rollout order, the canary first.
    osds: Annotated[tuple[OsdId, ...], 'OSDs in the order in which they would be changed.']
    #: None if the result is no known profile.
    profile: Annotated[
        Optional[str], 'Profile of the new option string; null if it matches no profile.'
    ]
    options_from: Annotated[str, 'Running option string.']
    options_to: Annotated[str, 'Option string after the change.']
    reasons: Annotated[tuple[Reason, ...], 'Reasons for the change.']
    #: Published effects first, then the model's.
    predictions: tuple[Prediction, ...]
    risk: Annotated[Risk, 'Risk of the change.']
    priority: Annotated[
        Priority,
        '"now": a hazard, or it relieves what limits; "planned": a clear gain on something '
        'that will limit; "optional": with the next restart.',
    ]
    #: The request for `apply`, without the actor; None: no rollout applies it.
    change: Optional[ChangeRequest]
    commands: Annotated[tuple[str, ...], 'The exact commands, in order.']
    undo_commands: Annotated[
        tuple[str, ...], 'The exact commands to restore the previous settings.'
    ]
    decision: Annotated[Decision, 'The change in short, as in status.']
    #: Place of each OSD, the basis of order and batches.
    places: tuple[tuple[int, Place], ...] = ()
    #: Confidence in the workload behind the change, 0..1; None without one.
    confidence: Annotated[
        Optional[Share],
        'Confidence in the workload behind the advice; null if it does not depend on a workload.',
    ] = None
    limit: Annotated[
        Optional[Limit],
        'Bottleneck of the clients under the workload behind the advice; null if the advice '
        'does not depend on it.',
    ] = None
    #: The annex to set or remove; None: the option itself changes.
    annex: Optional[str] = None

    @property
    def restart_required(self) -> Annotated[bool, 'Whether the OSDs must restart.']:
        return self.change is not None and self.change.restart

    @property
    def predicted(
        self,
    ) -> Annotated[
        Optional[Annotated[tuple[Prediction, ...], NotEmpty()]],
        Named('prediction'),
        'Predicted effects: first published measurements of this change on similar hardware '
        'and the same release, then estimates of the model; null if there are none.',
    ]:
        return self.predictions or None

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
    def option(
        self,
    ) -> Annotated[
        str, 'Option to change: the option string, or the annex that OSDs append to it.'
    ]:
        return OPTION if self.annex is None else ANNEX

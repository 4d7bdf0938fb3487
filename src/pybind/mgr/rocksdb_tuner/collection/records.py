"""Records of collected cluster data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap, ConfigEntry, CounterPoint, ManagerInfo, RunningOption
from ..observe.growth import GrowthPoints
from ..observe.pool_rates import PoolRates
from ..observe.report_interval import Reports
from ..observe.slow_events import AlertingOsd
from ..observe.starts import LastStart
from ..operations.experiment.records import ExperimentState
from ..operations.history import HistoryRecord
from ..operations.rollout.records import RolloutState
from ..snapshot import Mode
from ..workload.classifier import Memories
from ..workload.records import Workload


class CounterDump(NamedTuple):
    """The counters of one OSD at one time, by path ("bluestore.kv_sync_lat")."""

    time_s: float
    points: Mapping[str, CounterPoint]


class KvStatsText(NamedTuple):
    """Output of `dump_objectstore_kv_stats` of one OSD."""

    time_s: float
    text: str


@dataclass(frozen=True)
class OsdCollection:
    """Collected data of one OSD, in order of time."""

    dumps: tuple[CounterDump, ...] = ()
    kv_stats: tuple[KvStatsText, ...] = ()
    #: Output of `config show`; None: not collected.
    running: Optional[Mapping[str, RunningOption]] = None
    #: Whether RocksDB is sharded; None: unknown.
    sharded: Optional[bool] = None


@dataclass(frozen=True)
class ModuleState:
    """State of the module that no Ceph command reports.

    Times are seconds since the epoch.
    """

    taken_s: float
    #: Time of the last sample.
    sampled_s: float
    mode: Mode
    #: As reported by the mgr: "16.2.15" and "pacific".
    manager_version: str
    manager_release: str
    managers: tuple[ManagerInfo, ...]
    interval_s: float
    #: Age of the newest report of an OSD at ``taken_s``.
    last_sample_age_s: Optional[float]
    tick_ms: Optional[float]
    report_interval_s: Optional[float]
    reports: Optional[Reports]
    orchestrated: bool
    rollout_under_way: bool
    #: Thresholds of conditions, by module option.
    limits: Mapping[str, float]
    #: Problems with stored data.
    notices: tuple[str, ...]
    #: Since when OSDs have had a restart pending.
    pending_since_s: Mapping[int, float]
    #: Workload behind the recommendations, by device class.
    advised_on: Mapping[str, Workload]
    #: State of the workload classifier.
    memories: Memories
    #: Client I/O at the last sample, by pool id.
    pool_rates: Mapping[int, PoolRates]
    #: Only OSDs with a dedicated DB device.
    growth: Mapping[int, GrowthPoints]
    #: The last observed start of each OSD.
    starts: Mapping[int, LastStart]
    #: OSDs with Ceph's alert for slow operations, at ``taken_s``.
    alerting: Mapping[int, AlertingOsd]


@dataclass(frozen=True)
class Collection:
    """Collected data of a cluster at one time."""

    cluster_map: ClusterMap
    osds: Mapping[int, OsdCollection] = field(default_factory=dict)
    #: Entries of the config store for the watched options; None: not collected.
    entries: Optional[tuple[ConfigEntry, ...]] = None
    #: Codes of raised Ceph health checks; None: not collected.
    health_codes: Optional[frozenset[str]] = None
    #: OSDs that Ceph's alert for slow operations names, if not from the module.
    alerting: frozenset[int] = frozenset()
    #: Whether the config store has an orchestrator backend; None: not collected.
    orchestrated: Optional[bool] = None
    #: None: the files were not written by the module.
    module: Optional[ModuleState] = None
    #: For readers of the report; not used in the evaluation.
    history: tuple[HistoryRecord, ...] = ()
    rollout: Optional[RolloutState] = None
    experiment: Optional[ExperimentState] = None

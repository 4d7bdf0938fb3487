"""What was collected of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap, ConfigEntry, CounterPoint, ManagerInfo, RunningOption
from ..observe.growth import GrowthPoints
from ..observe.pool_rates import PoolRates
from ..observe.starts import LastStart
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
    """What one OSD answered to `dump_objectstore_kv_stats`."""

    time_s: float
    text: str


@dataclass(frozen=True)
class OsdCollection:
    """What was collected of one OSD; times rise."""

    dumps: tuple[CounterDump, ...] = ()
    kv_stats: tuple[KvStatsText, ...] = ()
    #: What `config show` said; None: it is not there.
    running: Optional[Mapping[str, RunningOption]] = None
    #: Whether RocksDB is sharded; None: not known.
    sharded: Optional[bool] = None


@dataclass(frozen=True)
class ModuleState:
    """What the module knows that no command of Ceph tells: of before, and of itself.

    Times are seconds since the epoch.
    """

    taken_s: float
    #: When the OSDs were last sampled.
    sampled_s: float
    mode: Mode
    #: As the manager names them, "16.2.15" and "pacific".
    manager_version: str
    manager_release: str
    managers: tuple[ManagerInfo, ...]
    interval_s: float
    tick_ms: Optional[float]
    orchestrated: bool
    rollout_under_way: bool
    #: Thresholds of conditions, by module option.
    limits: Mapping[str, float]
    #: What is wrong with what the module keeps.
    notices: tuple[str, ...]
    #: Since when OSDs have been waiting for a restart.
    pending_since_s: Mapping[int, float]
    #: The workload to advise on, by device class.
    advised_on: Mapping[str, Workload]
    #: What is believed of workloads.
    memories: Memories
    #: What clients did to each pool, by its id, when the OSDs were last sampled.
    pool_rates: Mapping[int, PoolRates]
    #: Of OSDs with a DB device of their own.
    growth: Mapping[int, GrowthPoints]
    #: The last start of each OSD, as far as it was watched.
    starts: Mapping[int, LastStart]


@dataclass(frozen=True)
class Collection:
    """A cluster at one time, as far as it was collected."""

    cluster_map: ClusterMap
    osds: Mapping[int, OsdCollection] = field(default_factory=dict)
    #: Entries of the config store for the options that are watched; None: not there.
    entries: Optional[tuple[ConfigEntry, ...]] = None
    #: Codes of Ceph's own health checks that are raised; None: not there.
    health_codes: Optional[frozenset[str]] = None
    #: Whether an orchestrator is set, as far as the config store tells; None: not there.
    orchestrated: Optional[bool] = None
    #: None: the files were not written by the module.
    module: Optional[ModuleState] = None
    #: For whoever reads the report; nothing is concluded from them.
    history: tuple[HistoryRecord, ...] = ()
    rollout: Optional[RolloutState] = None

"""Records of collected cluster data. `report` writes them, `offline` judges them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional

from ..mgr.records import ClusterMap, ConfigEntry, ManagerInfo, RunningOption
from ..observe.details import AlertingOsd
from ..observe.kv_stats import DeepStats
from ..observe.observer import Evidence
from ..observe.starts import LastStart
from ..observe.trend import GrowthPoints
from ..operations.compaction.records import CampaignState
from ..operations.experiment.records import ExperimentState
from ..operations.history import HistoryRecord
from ..operations.rollout.records import RolloutState
from ..snapshot import Mode, Sampling
from ..workload.records import Recognition, Workload


@dataclass(frozen=True)
class OsdCollection:
    """Data of one OSD; None: unknown."""

    #: Of the running process.
    evidence: Optional[Evidence] = None
    running: Optional[Mapping[str, RunningOption]] = None
    #: Whether RocksDB is sharded.
    sharded: Optional[bool] = None
    #: From files: all statistics of RocksDB at a time; the module keeps totals only.
    statistics: Optional[tuple[float, DeepStats]] = None


@dataclass(frozen=True)
class ModuleState:
    """State of the module that no Ceph command reports."""

    #: Time of the last sample.
    sampled_s: float
    mode: Mode
    #: As reported by the mgr: "16.2.15" and "pacific".
    manager_version: str
    manager_release: str
    managers: tuple[ManagerInfo, ...]
    sampling: Sampling
    rollout_under_way: bool
    #: Required gain and allowed loss, by module option.
    limits: Mapping[str, float]
    #: Problems with stored data.
    notices: tuple[str, ...]
    #: Since when OSDs have had a restart pending.
    pending_since_s: Mapping[int, float]
    #: Workload behind the recommendations, by device class.
    advised_on: Mapping[str, Workload]
    workloads: Recognition
    #: Only OSDs with a dedicated DB device.
    growth: Mapping[int, GrowthPoints]
    #: The last observed start of each OSD.
    starts: Mapping[int, LastStart]


@dataclass(frozen=True)
class Collection:
    """Collected data of a cluster at one time."""

    #: None: no file has a time.
    taken_s: Optional[float]
    cluster_map: ClusterMap
    osds: Mapping[int, OsdCollection] = field(default_factory=dict)
    #: Entries of the config store for the watched options; None: not collected.
    entries: Optional[tuple[ConfigEntry, ...]] = None
    #: Codes of raised Ceph health checks.
    health_codes: frozenset[str] = frozenset()
    #: OSDs with Ceph's alert for slow operations.
    alerting: Mapping[int, AlertingOsd] = field(default_factory=dict)
    #: Whether an orchestrator can restart daemons. Unknown counts as no: commands without one work
    #: everywhere.
    orchestrated: bool = False
    #: None: collected without the module.
    module: Optional[ModuleState] = None
    history: tuple[HistoryRecord, ...] = ()
    rollout: Optional[RolloutState] = None
    campaign: Optional[CampaignState] = None
    experiment: Optional[ExperimentState] = None
    #: What cannot be known or done here: for want of files, or with a mgr of an unknown release.
    limitations: tuple[str, ...] = ()

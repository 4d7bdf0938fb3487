"""What the cluster is, as the mgr reports it: immutable records, no mgr API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Optional


class CounterPoint(NamedTuple):
    """The newest value of one perf counter of one daemon.

    For a latency counter (an average in Ceph's terms) ``value`` is the sum in nanoseconds and
    ``count`` the number of operations, both since the daemon started. For any other counter
    ``avgcount`` is None.
    """

    time_s: float
    value: int
    avgcount: Optional[int] = None


class FailureDomain(NamedTuple):
    """The bucket in which a placement group has at most one copy."""

    #: Type in the CRUSH map: "host", "rack", ...; "osd" where every OSD is one by itself.
    kind: str
    #: "r1", "osd.3"
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == 'osd' else f'{self.kind} {self.name}'


class Place(NamedTuple):
    """Where an OSD is; None: not known."""

    host: Optional[str]
    domain: Optional[FailureDomain]


@dataclass(frozen=True)
class OsdInfo:
    """One OSD as the OSD map, the CRUSH map and its own metadata describe it.

    None is "not known" (an OSD that never booted has no metadata), never "no".
    """

    osd_id: int
    up: bool
    in_cluster: bool
    #: Changes with every process of the OSD; `up_from` also changes without a restart.
    nonce: Optional[int]
    host: Optional[str]
    #: From the CRUSH map: the metadata's default_device_class is only what the OSD guessed.
    device_class: Optional[str]
    #: Short version, "16.2.15".
    version: Optional[str]
    #: Release name, "pacific".
    release: Optional[str]
    dedicated_db: Optional[bool]
    dedicated_wal: Optional[bool]
    #: Size of the dedicated DB device; None where there is none.
    db_device_bytes: Optional[int]
    objectstore: Optional[str]
    wal_device_bytes: Optional[int] = None
    #: The device of the data.
    main_device_bytes: Optional[int] = None
    #: What the kernel says of the device of the data, and of that of the DB (the same where
    #: they share one).
    main_rotational: Optional[bool] = None
    db_rotational: Optional[bool] = None
    #: Fixed when the OSD was made.
    min_alloc_size_bytes: Optional[int] = None
    #: The release that made it ("16.2.15"): its column families are that release's unless it was
    #: resharded. Kept since 16.2.11, 17.2.6 and Reef; None of OSDs made before.
    created_version: Optional[str] = None
    #: The definition of its column families, from releases on whose OSDs report it.
    sharding: Optional[str] = None
    #: What the daemon runs on, as os-release names it: "debian", "centos".
    distribution: Optional[str] = None
    #: By the CRUSH rules of the pools that store data on it, else its host.
    failure_domain: Optional[FailureDomain] = None
    #: Stays with the OSD; one that is purged and made again has the same id and another uuid.
    uuid: Optional[str] = None

    @property
    def place(self) -> Place:
        return Place(self.host, self.failure_domain)


@dataclass(frozen=True)
class PoolInfo:
    pool_id: int
    name: str
    applications: tuple[str, ...]
    size: int
    min_size: int
    #: Device classes its CRUSH rule takes from; empty means any.
    device_classes: tuple[str, ...]
    #: True for the metadata pool of a CephFS.
    cephfs_metadata: bool
    #: Id of its CRUSH rule.
    crush_rule: int


@dataclass(frozen=True)
class PoolCounters:
    """What clients did to a pool since it was made, as its PGs last told.

    Each part of an operation counts: a class call that sets keys is one write or more.
    """

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int


@dataclass(frozen=True)
class CrushBucket:
    """A node of a CRUSH tree; one in the shadow tree of a device class is named "r1~ssd"."""

    #: Below 0.
    bucket_id: int
    name: str
    #: "root", "rack", "host"
    kind: str
    #: Ids of buckets and, from 0, of OSDs.
    items: tuple[int, ...]

    @property
    def plain_name(self) -> str:
        """Without the device class of a shadow tree."""
        return self.name.partition('~')[0]


class CrushChoice(NamedTuple):
    """A step of a rule that chooses buckets or OSDs."""

    #: "chooseleaf_firstn"
    op: str
    #: Type of what is chosen: "host", "osd".
    kind: str


@dataclass(frozen=True)
class CrushDraw:
    """The steps of a rule from a `take` to its `emit`."""

    root_id: int
    root_name: str
    choices: tuple[CrushChoice, ...]


@dataclass(frozen=True)
class CrushRule:
    rule_id: int
    draws: tuple[CrushDraw, ...]


@dataclass(frozen=True)
class CrushMap:
    """Which buckets hold which OSDs, and how rules choose among them."""

    buckets: tuple[CrushBucket, ...] = ()
    rules: tuple[CrushRule, ...] = ()


@dataclass(frozen=True)
class ClusterMap:
    """The OSD map with what CRUSH and the daemons' metadata add to it."""

    epoch: int
    #: Names of the flags set for the whole cluster ("noout", "pauserd", ...).
    flags: frozenset[str]
    require_osd_release: Optional[str]
    osds: tuple[OsdInfo, ...]
    pools: tuple[PoolInfo, ...]
    #: Empty where it is not known.
    crush: CrushMap = CrushMap()


@dataclass(frozen=True)
class DaemonVersions:
    """Versions of all daemons of one kind that run now ("16.2.15"), each once."""

    kind: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class AuditLine:
    """A command in the audit log of the cluster."""

    time_s: float
    #: Whoever sent it, as in "client.admin".
    entity: str
    #: Its prefix and arguments.
    command: Mapping[str, Any]


@dataclass(frozen=True)
class ManagerInfo:
    """One ceph-mgr of the cluster."""

    name: str
    #: None where the manager has not told.
    host: Optional[str]
    active: bool
    #: Whether it found this module's files when it started.
    has_module: bool


@dataclass(frozen=True)
class PgSummary:
    """Counts of placement groups, from the mgr's own digest (no scan of PGs)."""

    total: int
    active_clean: int
    #: State as Ceph prints it ("active+clean+scrubbing") and how many PGs are in it.
    by_state: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class OrchestratedDaemon:
    """What the orchestrator reports of one daemon; times are texts as it writes them."""

    #: Whether its process runs, as of ``refreshed``; None: not known.
    running: Optional[bool]
    #: When its process began.
    started: Optional[str] = None
    #: When the orchestrator last looked.
    refreshed: Optional[str] = None
    #: When it last carried out something on this daemon. cephadm keeps up to five of these, in the
    #: memory of its manager; Pacific's does not add one whose text it has already.
    carried_out: tuple[str, ...] = ()
    #: Whether something is still to be carried out on it, as far as that is stored (cephadm);
    #: None: not known.
    scheduled: Optional[bool] = None
    #: Nothing is carried out before an operator resumes the orchestrator.
    paused: bool = False
    #: When its process began, as it was stored together with ``scheduled``.
    stored_started: Optional[str] = None


@dataclass(frozen=True)
class ConfigEntry:
    """One entry of the mon's config store.

    ``who`` is what `ceph config set` takes: "global", "osd", "osd.3", "osd/class:ssd",
    "osd/host:node7", "osd/class:ssd/host:node7".
    """

    who: str
    name: str
    value: str


_BEFORE_CONFIG_STORE = frozenset({'file', 'env', 'cmdline', 'override'})


@dataclass(frozen=True)
class RunningOption:
    """The value of one option inside a running OSD, and who decided it."""

    value: str
    #: "default", "mon", "file", "env", "cmdline" or "override"
    source: str
    #: The config store has a value that this process does not use.
    ignores_mon: bool

    @property
    def beats_config_store(self) -> bool:
        """Whether it comes from where an entry of the config store changes nothing."""
        return self.source in _BEFORE_CONFIG_STORE

"""Immutable records of the cluster's state as the mgr reports it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Mapping, NamedTuple, Optional

from ..notes import Count, Named, OsdId


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
    """The CRUSH bucket in which a placement group has at most one copy."""

    kind: Annotated[
        str,
        Named('type'),
        'CRUSH type: host, rack, ...; osd if each OSD is its own failure domain.',
    ]
    name: Annotated[str, 'Name of the bucket, or of the OSD.']

    def __str__(self) -> str:
        return self.name if self.kind == 'osd' else f'{self.kind} {self.name}'


class Place(NamedTuple):
    """Location of an OSD; None: unknown. Stored with operations."""

    host: Optional[str]
    domain: Optional[FailureDomain]


class Daemon(NamedTuple):
    """What runs the process of an OSD, and where; None: unknown, or no pod."""

    host: Optional[str]
    containerized: bool = False
    pod_namespace: Optional[str] = None


@dataclass(frozen=True)
class OsdInfo:
    """One OSD as described by the OSD map, the CRUSH map and its own metadata.

    None is "unknown" (an OSD that never booted has no metadata), never "no".
    """

    osd_id: Annotated[OsdId, Named('osd'), 'Id of the OSD.']
    up: Annotated[bool, 'Whether the OSD is up.']
    in_cluster: Annotated[bool, 'Whether the OSD is in.']
    #: Changes with every process of the OSD; `up_from` also changes without a restart.
    nonce: Optional[int]
    host: Annotated[Optional[str], 'Name of its host.']
    #: From the CRUSH map: default_device_class in the metadata is only the OSD's guess.
    device_class: Annotated[Optional[str], 'Device class, from the CRUSH map.']
    version: Annotated[Optional[str], 'Ceph version, such as "16.2.15".']
    release: Annotated[Optional[str], 'Ceph release, such as "pacific".']
    dedicated_db: Annotated[Optional[bool], 'Whether the DB has a dedicated device.']
    dedicated_wal: Annotated[Optional[bool], 'Whether the WAL has a dedicated device.']
    db_device_bytes: Annotated[Optional[Count], 'Size of the dedicated DB device in bytes.']
    objectstore: Annotated[Optional[str], 'Object store, such as "bluestore".']
    wal_device_bytes: Optional[int] = None
    #: The data device.
    main_device_bytes: Optional[int] = None
    #: According to the kernel, for the data device and the DB device (possibly the same).
    main_rotational: Optional[bool] = None
    db_rotational: Optional[bool] = None
    #: Fixed at OSD creation.
    min_alloc_size_bytes: Optional[int] = None
    #: The release that created it ("16.2.15"), which determines its column families unless it was
    #: resharded. Recorded since 16.2.11, 17.2.6 and Reef; None for older OSDs.
    created_version: Optional[str] = None
    #: Definition of its column families, in releases whose OSDs report it.
    sharding: Optional[str] = None
    #: ID of the distribution in os-release: "debian", "centos".
    distribution: Optional[str] = None
    #: Whether its metadata names a container image: it is run by cephadm or Rook.
    containerized: bool = False
    #: Kubernetes namespace of its pod: it is run by Rook.
    pod_namespace: Optional[str] = None
    failure_domain: Annotated[
        Optional[FailureDomain],
        'Failure domain by the CRUSH rules of its pools, or its host without pools; null: unknown.',
    ] = None
    #: A recreated OSD can have the same id, but it has another uuid.
    uuid: Optional[str] = None
    #: Kernel names of all its devices on its host, without partitions and volumes: "sda".
    devices: tuple[str, ...] = ()
    #: Epoch of the OSD map since which it is up.
    up_from: Optional[int] = None

    @property
    def place(self) -> Place:
        return Place(self.host, self.failure_domain)

    @property
    def daemon(self) -> Daemon:
        return Daemon(self.host, self.containerized, self.pod_namespace)


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
    """Client I/O of a pool since its creation, as last reported by its PGs.

    Each part of an operation counts: a class call that sets keys is one write or more.
    """

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int


@dataclass(frozen=True)
class ClusterMap:
    """The OSD map, enriched from the CRUSH map and the daemons' metadata."""

    epoch: int
    #: Names of the flags set for the whole cluster ("noout", "pauserd", ...).
    flags: frozenset[str]
    require_osd_release: Optional[str]
    osds: tuple[OsdInfo, ...]
    pools: tuple[PoolInfo, ...]

    @cached_property
    def by_id(self) -> Mapping[int, OsdInfo]:
        return {osd.osd_id: osd for osd in self.osds}

    @cached_property
    def down(self) -> frozenset[int]:
        return frozenset(osd.osd_id for osd in self.osds if not osd.up)

    @cached_property
    def down_and_out(self) -> frozenset[int]:
        return frozenset(osd.osd_id for osd in self.osds if not osd.up and not osd.in_cluster)

    def with_known_osds(self, before: ClusterMap) -> ClusterMap:
        """An equal map in which unchanged OSDs are the same objects as in an earlier one.

        Results derived from an OSD are cached until the OSD changes, and each tick compares them:
        comparing an object with itself takes a tenth of the time.
        """
        known = before.by_id
        pairs = ((osd, known.get(osd.osd_id)) for osd in self.osds)
        return replace(self, osds=tuple(old if old == new else new for new, old in pairs))


@dataclass(frozen=True)
class DaemonVersions:
    """Distinct running versions ("16.2.15") of one daemon type."""

    kind: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class AuditLine:
    """A command in the audit log of the cluster."""

    time_s: float
    #: The sender, such as "client.admin".
    entity: str
    #: Its prefix and arguments.
    command: Mapping[str, Any]


@dataclass(frozen=True)
class ManagerInfo:
    """One ceph-mgr of the cluster."""

    name: str
    #: None if not reported.
    host: Optional[str]
    active: bool
    #: Whether this module was installed at its start, and can run there.
    has_module: bool


@dataclass(frozen=True)
class ManagerHost:
    """The active mgr itself, and what is installed on its host."""

    dashboard_enabled: bool
    #: The controllers and the script of this module's dashboard tab.
    tab_installed: bool


@dataclass(frozen=True)
class PgSummary:
    """Counts of placement groups, from the mgr's own digest (no scan of PGs)."""

    total: int
    active_clean: int
    #: State as Ceph prints it ("active+clean+scrubbing") and how many PGs are in it.
    by_state: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class OrchestratedDaemon:
    """The orchestrator's view of one daemon; times are strings as it prints them."""

    #: Whether its process runs, as of ``refreshed``; None: unknown.
    running: Optional[bool]
    #: Start time of its process.
    started: Optional[str] = None
    #: Time of the orchestrator's last refresh.
    refreshed: Optional[str] = None
    #: Times of the last actions on this daemon. cephadm keeps up to five, in the memory of its mgr;
    #: Pacific's does not add one with an identical text.
    executed: tuple[str, ...] = ()
    #: Whether an action is still scheduled, if stored (cephadm); None: unknown.
    scheduled: Optional[bool] = None
    #: The orchestrator executes nothing until an operator resumes it.
    paused: bool = False
    #: Start time of its process, as stored together with ``scheduled``.
    stored_started: Optional[str] = None


@dataclass(frozen=True)
class ConfigEntry:
    """One entry of the mon's config store.

    ``who`` has the form of `ceph config set`: "global", "osd", "osd.3", "osd/class:ssd",
    "osd/host:node7", "osd/class:ssd/host:node7".
    """

    who: str
    name: str
    value: str


_BEFORE_CONFIG_STORE = frozenset({'file', 'env', 'cmdline', 'override'})


@dataclass(frozen=True)
class RunningOption:
    """The value of one option in a running OSD, and its source."""

    value: str
    #: "default", "mon", "file", "env", "cmdline" or "override"
    source: str
    #: The config store has a value that this process ignores.
    ignores_mon: bool

    @property
    def beats_config_store(self) -> bool:
        """Whether its source takes precedence over the config store."""
        return self.source in _BEFORE_CONFIG_STORE

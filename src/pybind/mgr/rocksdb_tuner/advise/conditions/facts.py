"""Input of the conditions, and common functions of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import AbstractSet, Callable, Mapping, NamedTuple, Optional

from ...mgr.records import ConfigEntry
from ...observe.details import AlertingOsd
from ...options.checks import CheckResult
from ...options.releases import KnownRelease
from ...options.wal import DEFAULT_BOUND_BYTES, left_of_target
from ...plan.records import ANNEX, OPTION
from ...workload.records import WorkloadClass
from ..facts import next_start, release_of_osd
from ..records import FindingEvidence, GroupFacts, NextStart, OsdFacts
from ..strings import check

#: RocksDB of the first release that compacts on deletion by default.
_COMPACTS_ON_DELETION_FROM = 7


@dataclass(frozen=True)
class RunningString:
    """An option string, and the OSDs of one release that run it."""

    text: str
    #: Not set by any configuration source.
    is_default: bool
    release: Optional[KnownRelease]
    osds: tuple[OsdFacts, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(osd.info.osd_id for osd in self.osds)

    def set_by(self, names: Iterable[str]) -> tuple[str, str]:
        """Entry and option that set the named options in the first OSD, for a command."""
        options = self.osds[0].options
        assert options is not None
        by_annex = options.source == 'default' or any(
            re.search(rf'\b{re.escape(name)}\b', options.annex) for name in names
        )
        if options.annex and by_annex:
            return options.annex_who or '<who>', ANNEX
        return options.deciding_who or '<who>', OPTION

    @property
    def checked(self) -> Optional[CheckResult]:
        """Result of the checks; None for an unknown RocksDB version."""
        return check(self.text, self.release.rocksdb_version) if self.release else None


def is_enabled(value: str) -> bool:
    """A boolean option, in any spelling that Ceph accepts."""
    return value.strip().lower() in {'true', '1', 'yes', 'on'}


@dataclass(frozen=True)
class ClusterFacts:
    """Input of the conditions."""

    osds: tuple[OsdFacts, ...]
    #: Config store entries of the watched options.
    entries: tuple[ConfigEntry, ...]
    #: Ceph's own health checks that are raised.
    health_codes: frozenset[str] = frozenset()
    #: OSDs with Ceph's alert for slow operations.
    alerting: Mapping[int, AlertingOsd] = field(default_factory=dict)
    #: Seconds for which each OSD has been pending a restart.
    pending_s: Mapping[int, float] = field(default_factory=dict)
    #: With the limits of their clients.
    groups: tuple[GroupFacts, ...] = ()
    #: OSDs with a recommendation.
    advised: AbstractSet[int] = frozenset()

    @cached_property
    def strings(self) -> tuple[RunningString, ...]:
        """The running strings; a cluster has a handful, each of which is checked once."""
        groups: dict[tuple[object, ...], list[OsdFacts]] = {}
        for osd in self.osds:
            options, info = osd.options, osd.info
            if options is not None:
                is_default = options.source == 'default'
                key = (options.running, options.annex, is_default, info.version, info.release)
                groups.setdefault(key, []).append(osd)
        found = []
        for osds in groups.values():
            options = osds[0].options
            assert options is not None
            found.append(
                RunningString(
                    options.running,
                    options.source == 'default' and not options.annex,
                    release_of_osd(osds[0].info),
                    tuple(osds),
                )
            )
        return tuple(found)

    @cached_property
    def next_starts(self) -> Mapping[int, NextStart]:
        """The configured options by OSD id, also of OSDs that are down and were not queried."""
        return {
            osd.info.osd_id: osd.options or next_start(osd.info, self.entries, {})
            for osd in self.osds
            if osd.options or not osd.info.up
        }

    @cached_property
    def chosen_strings(self) -> tuple[RunningString, ...]:
        """The running strings that are not the default."""
        return tuple(running for running in self.strings if not running.is_default)


def compacts_on_deletion(release: KnownRelease) -> bool:
    """Whether OSDs of this release compact on deletion by default."""
    return int(release.rocksdb_version.split('.')[0]) >= _COMPACTS_ON_DELETION_FROM


def effective_options(osd: OsdFacts) -> Optional[Mapping[str, str]]:
    """Effective options of the running string; None if unknown."""
    release = release_of_osd(osd.info)
    if osd.options is None or release is None:
        return None
    checked = check(osd.options.running, release.rocksdb_version)
    return checked.effective if checked.accepted else None


def shown_string(text: Optional[str], name: str = OPTION) -> FindingEvidence:
    return FindingEvidence(name, text, 'option string')


#: Units of figures that are shown under their own names.
_UNITS = {
    'kv_sync_busy': 'ratio',
    'fragmentation': 'ratio',
    'write_bytes_avg': 'bytes',
    'write_iops': 'operations/s',
    'omap_seeks': 'seeks',
    'bluefs_fallbacks': 'allocations',
}
_SUFFIXES = {'_per_s': 'bytes/s', '_bytes': 'bytes', '_ms': 'ms'}


class Readings(NamedTuple):
    """Figures of a record, as evidence only for the finding's worst OSD."""

    record: object
    names: tuple[str, ...]
    window_s: Optional[float]

    def shown(self) -> Iterator[FindingEvidence]:
        for name in self.names:
            unit = _UNITS.get(name) or next(u for end, u in _SUFFIXES.items() if name.endswith(end))
            yield FindingEvidence(name, getattr(self.record, name), unit, self.window_s)


def readings(record: object, *names: str, window_s: Optional[float] = None) -> tuple[Readings, ...]:
    """Figures of a record as evidence."""
    return (Readings(record, names, window_s),)


#: Workloads that mainly write metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


def _small_target(osd: OsdFacts) -> bool:
    target = osd.details.memory_target_bytes if osd.details else None
    return target is not None and left_of_target(target) < DEFAULT_BOUND_BYTES


#: What a condition of the present state needs in at least one OSD: else it is not looked for.
NEEDS: Mapping[str, Callable[[OsdFacts], object]] = {
    'db_device': lambda osd: osd.info.dedicated_db,
    'small_memory_target': _small_target,
    'metadata_work': lambda osd: osd.workload and osd.workload.workload_class in METADATA_WORK,
    'statistics': lambda osd: osd.rocksdb_times,
    'signals': lambda osd: osd.signals,
    'details': lambda osd: osd.details,
    'last_start': lambda osd: osd.last_start,
    'small_units': lambda osd: osd.details and osd.details.bluefs_fallbacks,
}
#: Of the cluster.
HEALTH_CHECK = 'health_check'


def present_needs(cluster: ClusterFacts) -> frozenset[str]:
    found = {name for name, has in NEEDS.items() if any(map(has, cluster.osds))}
    return frozenset({*found, *([HEALTH_CHECK] if cluster.health_codes else [])})

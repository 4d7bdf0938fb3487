"""A cohort of OSDs with everything that the choice of options depends on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Mapping, Optional

from ..options.checks import Problem
from ..options.problems import Hardware
from ..options.releases import KnownRelease
from ..units import format_plural
from ..workload.classify import Writer, writer_of
from ..workload.records import Evidence, limit_thresholds
from .cohort import Cohort, name_osds
from .conditions import ClusterFacts
from .conditions.declaration import conditions
from .facts import with_wal_room
from .limit import common_storage, kv_sync_busy, limit_of, read_share
from .objections import (
    Objection,
    misfit_objections,
    of_hardware,
    standing_objections,
    workload_objections,
)
from .profiles import PublishedEvidence, Storage, few_cores, predict
from .records import UNKNOWN_LIMIT, Limit, MeasuredArm, OsdFacts, Reason
from .strings import check, recognize, same_meaning
from .weighing import Bars
from .whatif.compare import hardware_of_osd
from .whatif.derive import wal_bound_bytes
from .whatif.overrides import Overrides
from .whatif.situation import Situation, situation_of_osd

#: A workload with less confidence is no reason to restart OSDs.
MIN_CONFIDENCE = 0.8
#: Share of the DB device that is reserved for compaction.
_ROOM_TO_COMPACT = 0.15


@dataclass(frozen=True)
class Case:
    """A cohort with the inputs of the choice, computed on demand."""

    cohort: Cohort
    #: Required gain and allowed loss of a change for gain.
    bars: Bars = field(default_factory=Bars)
    #: Results of experiments on this cluster.
    measured: tuple[MeasuredArm, ...] = ()

    @property
    def release(self) -> KnownRelease:
        return self.cohort.release

    @property
    def running(self) -> str:
        return self.cohort.running

    @property
    def osds(self) -> Sequence[OsdFacts]:
        return self.cohort.osds

    @cached_property
    def writer(self) -> Optional[Writer]:
        """The clients' kind of writes, if known with sufficient confidence."""
        found = writer_of(self.cohort.group.workload)
        return found if found is not None and found.confidence >= MIN_CONFIDENCE else None

    @cached_property
    def busy(self) -> Optional[Evidence]:
        return kv_sync_busy(self.cohort.group)

    @cached_property
    def limit(self) -> Limit:
        group = self.cohort.group
        return limit_of(group) if group.limit == UNKNOWN_LIMIT else group.limit

    @cached_property
    def thread_share(self) -> Optional[float]:
        """Share of the kv_sync thread's time that options can shorten; None: all of it."""
        share = self.limit.thread_share
        return None if share is None else round(share, 1)

    @cached_property
    def reads(self) -> bool:
        """Whether clients read so much that faster writes alone are no gain."""
        return bool(read_share(self.cohort.group.workload) >= limit_thresholds().reads)

    @cached_property
    def storage(self) -> Optional[Storage]:
        return common_storage(self.osds)

    @cached_property
    def situation(self) -> Situation:
        """The tightest limits of all OSDs, since a recommendation has to fit each of them."""
        workload = self.writer.workload_class if self.writer else None
        overrides = Overrides(workload=workload, cores=self.cohort.group.cores)
        first, *others = self._alike
        found = situation_of_osd(first, self.release, overrides)
        for osd in others:
            # Only devices and memory matter here; without signals no needless fit.
            room = osd._replace(signals=None)
            found = _tighter(found, situation_of_osd(room, self.release, overrides))
        return found

    @cached_property
    def _alike(self) -> tuple[OsdFacts, ...]:
        """One OSD of each distinct kind."""
        return tuple({_resources(o): o for o in map(with_wal_room, self.osds)}.values())

    @cached_property
    def hardware(self) -> tuple[Hardware, ...]:
        """Hardware of each kind of OSD, without related options, which no string affects."""
        return tuple(replace(hardware_of_osd(osd), related_options=()) for osd in self._alike)

    def published(self, text: str, base: str) -> Optional[PublishedEvidence]:
        """The published effect of a change from ``base`` on such OSDs; None if there is none."""
        profile = recognize(text, self.release)
        if profile is None or self.writer is None:
            return None
        return predict(
            profile,
            self.writer.workload_class,
            release=self.release,
            storage=self.storage,
            running=self.effective(base),
        )

    def effective(self, text: str) -> Mapping[str, str]:
        """Effective options; empty if an OSD would not start."""
        return check(text, self.release.rocksdb_version).effective

    def standing(self, text: str) -> tuple[Objection, ...]:
        return standing_objections(text, self.release)

    def alike(self, one: str, other: str) -> bool:
        """Whether two strings configure RocksDB of these OSDs identically."""
        return same_meaning(one, other, self.release.rocksdb_version)

    def broken(self, text: str) -> Mapping[str, Problem]:
        """Bounds of the devices or memory of any of these OSDs that it exceeds, by rule."""
        version = self.release.rocksdb_version
        return {
            problem.rule: problem
            for hardware in self.hardware
            for problem in check(text, version, hardware).problems
            if of_hardware(problem)
        }

    def misfits(self, text: str) -> tuple[Objection, ...]:
        return misfit_objections(self.broken(text).values())

    @cached_property
    def objections(self) -> tuple[Objection, ...]:
        """Objections to the running options, independent of any gain."""
        chosen = bool(self.cohort.deciding_entries)
        return (*(self.standing(self.running) if chosen else ()), *self.misfits(self.running))

    def under_workload(self, text: str) -> tuple[Objection, ...]:
        if self.writer is None:
            return ()
        busy = self.busy if self.thread_share is None else None
        return workload_objections(self.effective(text), self.writer, busy)

    @cached_property
    def why_no_tuning(self) -> Optional[Reason]:
        """Why no option string improves these OSDs; None if one may."""
        cores = self.cohort.group.cores
        cluster = ClusterFacts(tuple(self.osds), ())
        for name in ('unoptimised-build', 'deferred-write-regression'):
            for found in conditions()[name].evaluate(cluster):
                return Reason.of('no-string-helps', found=found)
        if self.storage is Storage.HDD:
            return Reason.of('on-hard-disks')
        if cores is not None and few_cores(cores):
            return Reason.of('few-cores', cores=format_plural(cores, 'core'))
        return None

    @cached_property
    def db_space_short(self) -> Optional[str]:
        """Evidence that DB devices are short of space; None if there is none."""
        devices = [o.signals for o in self.osds if o.info.dedicated_db and o.signals]
        spilled = [s.osd_id for s in devices if s.slow_used_bytes]
        if spilled:
            return f'RocksDB data of {name_osds(spilled)} spilled over to the slow device.'
        full = max(
            ((s.db_used_bytes or 0) / s.db_total_bytes for s in devices if s.db_total_bytes),
            default=0.0,
        )
        # A full compaction needs space for its output.
        short = full >= limit_thresholds().db_full_share - _ROOM_TO_COMPACT
        return f'The fullest DB device is {full:.0%} full.' if short else None

    @cached_property
    def db_space_plentiful(self) -> bool:
        """Whether RocksDB takes so little of all devices that some more of it is no loss."""
        share = limit_thresholds().db_plenty_share
        return all(
            (found := osd.signals) is not None
            and found.db_used_bytes is not None
            and found.db_used_bytes <= share * (found.db_total_bytes or 0)
            for osd in self.osds
        )


def _resources(osd: OsdFacts) -> tuple[object, ...]:
    """OSDs that share these differ only in their data."""
    target = osd.details.memory_target_bytes if osd.details else None
    info = osd.info
    return (
        target,
        info.dedicated_db,
        info.dedicated_wal,
        info.db_device_bytes,
        info.wal_device_bytes,
        osd.sharded,
    )


def _tighter(a: Situation, b: Situation) -> Situation:
    """``a`` with the limits of ``b`` if these are tighter."""
    targets = [s.memory_target_bytes for s in (a, b) if s.memory_target_bytes is not None]
    a = replace(a, memory_target_bytes=min(targets, default=None))
    if wal_bound_bytes(b) < wal_bound_bytes(a):
        return replace(a, devices=b.devices, osd_id=b.osd_id)
    return a

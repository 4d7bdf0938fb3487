"""OSDs of a group that one change can reach, with all that the choice of options depends on. Pure.

A group without such OSDs has a reason instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Mapping, Optional, Union

from ..options.checks import Problem
from ..options.problems import Hardware
from ..options.releases import KnownRelease
from ..plan.commands import ShownSteps, removal
from ..plan.entries import is_own_entry
from ..workload.classify import Writer, writer_of
from ..workload.records import Evidence, limit_thresholds
from .conditions import ClusterFacts
from .conditions.declaration import conditions
from .facts import first_remove, name_osds, redundant_annex, release_of_osd, with_wal_room
from .limit import common_storage, kv_sync_busy, limit_of, read_share
from .objections import Name, Objection, objection, standing_objections, workload_objections
from .profiles import Profile, PublishedEvidence, Storage, predict, recognize
from .records import (
    UNKNOWN_LIMIT,
    GroupFacts,
    Limit,
    MeasuredArm,
    OsdFacts,
    OsdOptions,
    Reason,
    names,
)
from .strings import check, same_meaning
from .weighing import Bars
from .whatif.compare import hardware_of_osd
from .whatif.derive import wal
from .whatif.situation import Overrides, Situation, situation_of_osd

#: A workload with less confidence is no reason to restart OSDs.
MIN_CONFIDENCE = 0.8
#: Share of the DB device that is reserved for compaction.
_ROOM_TO_COMPACT = 0.15


@dataclass(frozen=True)
class Circumstances:
    """What advice depends on besides the group."""

    #: To find other OSDs that share an entry.
    all_osds: Sequence[OsdFacts] = ()
    #: Whether an orchestrator can restart daemons, which affects the commands.
    orchestrated: bool = True
    #: Steps of the displayed recommendations.
    shown_steps: ShownSteps = field(default_factory=ShownSteps)
    custom_profiles: Sequence[Profile] = ()
    #: Required gain and allowed loss of a change for gain.
    bars: Bars = field(default_factory=Bars)
    #: Results of experiments on this cluster.
    measured: Sequence[MeasuredArm] = ()


@dataclass(frozen=True)
class Case:
    """OSDs of a group that one change can reach, with what they have in common."""

    group: GroupFacts
    osds: tuple[OsdFacts, ...]
    release: KnownRelease
    running: str
    #: The config store entries in force for these OSDs: a common one, or one per OSD.
    deciding_entries: tuple[str, ...]
    known: Circumstances
    #: OSDs that were left out, and why.
    remarks: tuple[str, ...] = ()
    #: Each entry is for a single OSD and is its only entry.
    own_entries: bool = False
    #: Value of the annex if the entries are for the annex; None: for the option string.
    annex: Optional[str] = None

    @cached_property
    def writer(self) -> Optional[Writer]:
        """The clients' kind of writes, if known with sufficient confidence."""
        found = writer_of(self.group.workload)
        return found if found is not None and found.confidence >= MIN_CONFIDENCE else None

    @cached_property
    def busy(self) -> Optional[Evidence]:
        return kv_sync_busy(self.group)

    @cached_property
    def limit(self) -> Limit:
        return limit_of(self.group) if self.group.limit == UNKNOWN_LIMIT else self.group.limit

    @cached_property
    def thread_share(self) -> Optional[float]:
        """Share of the kv_sync thread's time that options can shorten; None: all of it."""
        share = self.limit.thread_share
        return None if share is None else round(share, 1)

    @cached_property
    def reads(self) -> bool:
        """Whether clients read so much that faster writes alone are no gain."""
        return bool(read_share(self.group.workload) >= limit_thresholds().reads)

    @cached_property
    def storage(self) -> Optional[Storage]:
        return common_storage(self.osds)

    @cached_property
    def situation(self) -> Situation:
        """The tightest limits of all OSDs, since a recommendation has to fit each of them."""
        overrides = Overrides(workload=self.writer.workload_class if self.writer else None)
        first, *others = self._kinds
        found = situation_of_osd(first, self.release, overrides)
        for osd in others:
            # Only devices and memory matter here; without signals no needless fit.
            other = situation_of_osd(osd._replace(signals=None), self.release, overrides)
            targets = [s.memory_target_bytes or 0 for s in (found, other)]
            found = replace(found, memory_target_bytes=min(targets))
            if wal(other)[0] < wal(found)[0]:
                found = replace(found, devices=other.devices, osd_id=other.osd_id)
        return found

    @cached_property
    def _kinds(self) -> tuple[OsdFacts, ...]:
        """One OSD of each kind: the others of its kind differ only in their data."""
        kinds = {}
        for osd in map(with_wal_room, self.osds):
            target, info = osd.details and osd.details.memory_target_bytes, osd.info
            sizes = info.db_device_bytes, info.wal_device_bytes
            kinds[target, info.dedicated_db, info.dedicated_wal, sizes, osd.sharded] = osd
        return tuple(kinds.values())

    @cached_property
    def hardware(self) -> tuple[Hardware, ...]:
        """Hardware of each kind of OSD, without related options, which no string affects."""
        return tuple(replace(hardware_of_osd(osd), related_options=()) for osd in self._kinds)

    def published(self, text: str, base: str) -> Optional[PublishedEvidence]:
        """The published effect of a change from ``base`` on such OSDs; None if there is none."""
        profile = recognize(text, self.release)
        if profile is None or self.writer is None:
            return None
        who, running = self.writer.workload_class, self.effective(base)
        return predict(profile, who, release=self.release, storage=self.storage, running=running)

    def effective(self, text: str) -> Mapping[str, str]:
        """Effective options; empty if an OSD would not start."""
        return check(text, self.release.rocksdb_version).effective

    def standing(self, text: str) -> tuple[Objection, ...]:
        return standing_objections(text, self.release)

    def alike(self, one: str, other: str) -> bool:
        """Whether two strings configure RocksDB of these OSDs identically."""
        return same_meaning(one, other, self.release.rocksdb_version)

    def is_default(self, text: str) -> bool:
        """Whether ``text`` has the meaning of the release's default."""
        return self.alike(text, self.release.default_options)

    def broken(self, text: str) -> Mapping[str, Problem]:
        """Bounds of the devices or memory of any of these OSDs that it exceeds, by rule."""
        version, bounds = self.release.rocksdb_version, names('of-hardware')
        return {
            problem.rule: problem
            for hardware in self.hardware
            for problem in check(text, version, hardware).problems
            if problem.severity == 'warning' and problem.rule in bounds
        }

    def misfits(self, text: str) -> tuple[Objection, ...]:
        return tuple(objection(Name.MISFIT, p) for p in self.broken(text).values())

    @cached_property
    def standing_now(self) -> tuple[Objection, ...]:
        """Those to the running options. What won an experiment here is not superseded."""
        found = self.standing(self.running)
        won = any(
            arm.won
            and self._workload in {None, arm.workload}
            and self.alike(arm.options, self.running)
            and not self.standing(arm.options_from)
            for arm in self._measured_here
        )
        return tuple(o for o in found if o.name is not Name.SUPERSEDED) if won else found

    @cached_property
    def objections(self) -> tuple[Objection, ...]:
        """Objections to the running options, independent of any gain."""
        standing = self.standing_now if self.deciding_entries else ()
        return (*standing, *self.misfits(self.running))

    def under_workload(self, text: str) -> tuple[Objection, ...]:
        if self.writer is None:
            return ()
        # Clients that also read gain nothing by faster inserts alone.
        busy = self.busy if self.thread_share is None and not self.reads else None
        return workload_objections(self.effective(text), self.writer, busy)

    def solved(self, running: str, text: str) -> tuple[Objection, ...]:
        """Objections to ``running`` under this workload that ``text`` settles."""
        left = {o.name for o in self.under_workload(text)}
        return tuple(o for o in self.under_workload(running) if o.name not in left)

    @cached_property
    def why_no_tuning(self) -> Optional[Reason]:
        """Why no option string improves these OSDs; None if one may."""
        cluster = ClusterFacts(tuple(self.osds), ())
        for name in ('unoptimised-build', 'deferred-write-regression'):
            for found in conditions()[name].evaluate(cluster):
                return Reason.of('no-string-helps', found=found)
        return Reason.of('on-hard-disks') if self.storage is Storage.HDD else None

    @cached_property
    def db_space_short(self) -> Optional[str]:
        """Evidence that DB devices are short of space; None if there is none."""
        devices = [o.signals for o in self.osds if o.info.dedicated_db and o.signals]
        spilled = [s.osd_id for s in devices if s.slow_used_bytes]
        if spilled:
            return f'RocksDB data of {name_osds(spilled)} spilled over to the slow device.'
        shares = [(s.db_used_bytes or 0) / s.db_total_bytes for s in devices if s.db_total_bytes]
        full = max(shares, default=0.0)
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

    @property
    def _workload(self) -> Optional[str]:
        return None if self.writer is None else self.writer.workload_class.value

    @property
    def _measured_here(self) -> Sequence[MeasuredArm]:
        """Results of experiments on this group and release, under any workload."""
        return [
            arm
            for arm in self.known.measured
            if (arm.who, arm.release) == (self.group.who, self.release.name)
        ]

    @cached_property
    def results(self) -> Sequence[MeasuredArm]:
        """Results of experiments that apply to these OSDs, the newest first."""
        found = (arm for arm in self._measured_here if arm.workload == self._workload)
        return sorted(found, key=lambda arm: -arm.time_s)

    def measured(self, options_from: str, options_to: str) -> Optional[MeasuredArm]:
        """The newest result on a change; None if it was never measured."""
        for arm in self.results:
            if self.alike(arm.options_from, options_from) and self.alike(arm.options, options_to):
                return arm
        return None

    @cached_property
    def winner(self) -> Optional[MeasuredArm]:
        """The winner that the OSDs should run, or already run; None if there is none."""
        for arm in self.results:
            newest = arm.won and arm is self.measured(arm.options_from, arm.options)
            if newest and any(self.alike(o, self.running) for o in (arm.options_from, arm.options)):
                return arm
        return None


_NOT_REACHED = (
    'ceph.conf, the environment or the command line overrides the config store for {}.',
    'Entries for single OSDs apply to {}.',
    'No option string of BlueStore applies to {}, which have another object store.',
)


def group_case(group: GroupFacts, known: Circumstances) -> Union[Case, str]:
    """The OSDs of a group that a change can reach, or the reason why there are none."""
    up = [(o, o.options) for o in group.osds if o.info.up and o.options is not None]
    if not up:
        return 'No OSD of the group is up with known options.'
    by_id = {o.info.osd_id: options for o, options in up}
    unstartable = [n for n, options in by_id.items() if options.starts is False]
    if unstartable:
        return f'{first_remove(unstartable, by_id[unstartable[0]])}.'
    releases = {release_of_osd(o.info) for o, _ in up}
    names = ', '.join(sorted({o.info.version or '?' for o, _ in up}))
    release = releases.pop()
    if release is None or None in releases:
        return f'This module does not know the release of all OSDs ({names}): no recommendations.'
    if releases:
        return f'The OSDs run different releases ({names}): finish the upgrade first.'
    own = {n for n, o in by_id.items() if o.deciding_who and is_own_entry(o.deciding_who)}
    overruled = {n for n, o in by_id.items() if o.overruled}
    foreign = {o.info.osd_id for o, _ in up if o.info.objectstore not in {None, 'bluestore'}}
    reached = by_id.keys() - overruled - own - foreign
    usable = [(o, options) for o, options in up if o.info.osd_id in reached]
    remarks = tuple(
        text.format(name_osds(ids))
        for text, ids in zip(_NOT_REACHED, (overruled, own, foreign))
        if ids
    )
    blocker = (
        _blocker([options for _, options in usable])
        if usable
        else 'No entry for the group would reach any of its OSDs.'
    )
    if blocker:
        return ' '.join((blocker, *remarks))
    first = usable[0][1]
    return Case(
        group=group,
        osds=tuple(o for o, _ in usable),
        release=release,
        running=first.running,
        deciding_entries=(first.deciding_who,) if first.deciding_who else (),
        known=known,
        remarks=remarks,
    )


def _blocker(options: Sequence[OsdOptions]) -> Optional[str]:
    """Why these OSDs cannot share a recommendation; None if they can."""
    unknown = [o for o in options if o.next_start is None]
    pending = [o.osd_id for o in options if o.pending_restart]
    annexed = [o.osd_id for o in options if o.annex]
    if not annexed and not unknown and not pending:
        # Entries without a current effect.
        annexed = [o.osd_id for o in options if o.annex_who]
    if annexed:
        return (
            f'bluestore_rocksdb_options_annex is set for {name_osds(annexed)}: it is appended to '
            'any option string, so nothing else is recommended while it is set.'
        )
    if unknown:
        text = f'The options of {name_osds(o.osd_id for o in unknown)} after a restart are unknown.'
        masked = dict.fromkeys(o.unknown_entry for o in unknown if o.unknown_entry)
        return text + ''.join(
            f' It is unknown whether OSDs apply the entry for {e.who} when they start: set the '
            f'option for osd or single OSDs instead, then run "{removal(e.who, e.name)}".'
            for e in masked
        )
    if pending:
        return (
            f'{name_osds(pending)}: the configured options take effect only after a restart, so '
            'current measurements do not apply to them.'
        )
    if len({(o.running, o.deciding_who) for o in options}) > 1:
        return 'The OSDs of the group run different options ({}): make them the same first.'.format(
            ', '.join(sorted({o.deciding_who or 'no entry' for o in options}))
        )
    return None


def entry_cases(group: GroupFacts, known: Circumstances) -> Iterator[Case]:
    """OSDs of a group whose entries may go by themselves, by release and running options.

    First those with a redundant annex, then those whose only entry is their own. Entries of single
    OSDs with the same value are one case.
    """
    alike: dict[tuple[KnownRelease, str, Optional[str], Optional[str]], list[OsdFacts]] = {}
    for osd in group.osds:
        release, options = release_of_osd(osd.info), osd.options
        if not osd.info.up or release is None or options is None:
            continue
        annex, wide = None, None
        if options.annex_who is not None and redundant_annex(osd):
            annex = options.annex
            wide = None if is_own_entry(options.annex_who) else options.annex_who
        elif (
            not options.own_entry_only
            or options.overruled
            or options.annex
            or options.annex_who
            or options.pending_restart
            or options.starts is False
        ):
            continue
        alike.setdefault((release, options.running, annex, wide), []).append(osd)
    for (release, running, annex, wide), osds in sorted(
        alike.items(), key=lambda item: item[0][2] is None
    ):
        yield Case(
            group=group,
            osds=tuple(osds),
            release=release,
            running=running,
            deciding_entries=(wide,)
            if wide is not None
            else tuple(f'osd.{osd.info.osd_id}' for osd in osds),
            known=known,
            own_entries=wide is None,
            annex=annex,
        )

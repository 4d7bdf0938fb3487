"""A cluster in memory whose placement groups follow its topology, with the faults of real clusters.

In addition to `FakeCluster`: placement groups follow CRUSH and min_size, so that `ok-to-stop`
answers as a manager would; the orchestrator queues accepted requests; OSDs are purged, replaced and
added, start slowly, and their metadata may be old.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import (
    ClusterMap,
    ConfigEntry,
    DaemonVersions,
    OsdInfo,
    PgSummary,
    RunningOption,
)
from rocksdb_tuner.tests.fake_cluster import MGR_TICK_S, VERSIONS, FakeCluster, FakeOsd, _info

from .topology import Spot, Topology

CLEAN, DAMAGED = 'active+clean', 'active+clean+inconsistent'
#: How long a manager shows old metadata of an OSD.
STALE_S = 45.0


class Accepted(NamedTuple):
    """A restart that the orchestrator has promised."""

    at_s: float
    #: The OSD it will restart, and the requested one.
    osd_id: int
    requested: int


class ChaosCluster(FakeCluster):
    """A `FakeCluster` of a topology."""

    def __init__(self, topology: Topology, release: str = 'pacific') -> None:
        self.topology = topology
        self.spots: dict[int, Spot] = {}
        #: Requests that are not executed yet.
        self.accepted: list[Accepted] = []
        #: Until when the manager does not know an OSD's metadata, and until when it shows those
        #: of the process before: (time, release).
        self.without_metadata: dict[int, float] = {}
        self.old_metadata: dict[int, tuple[float, str]] = {}
        #: Seconds that single OSDs take to start, and the longest that each ever took.
        self.slow_starts: dict[int, float] = {}
        self.slowest_s: dict[int, float] = {}
        #: The disk of an OSD, which distinguishes a recreated OSD from a purged one.
        self.disks: dict[int, int] = {}
        self._disks_made = 0
        #: How far the manager's clock, which stamps reports, is from the time that has passed.
        self.clock_offset_s = 0.0
        #: Whether operators lowered min_size for OSDs that nothing replaces.
        self.makes_do = False
        #: Placement groups that a scrub found damaged.
        self.inconsistent = False
        #: The number of queries to monitors and OSDs since this was cleared.
        self.questions: Counter[str] = Counter()
        #: The states of all placement groups, since when.
        self._states: list[tuple[float, tuple[str, ...]]] = []
        self._acting_for: Optional[frozenset[int]] = None
        self._acting: tuple[tuple[int, tuple[int, ...]], ...] = ()
        self._infos: dict[int, tuple[tuple[object, ...], OsdInfo]] = {}
        super().__init__(osds=0, release=release)
        for n, spot in enumerate(topology.spots):
            self.add_at(n, spot)
        self._dirty_until_s = 0.0
        self._states = [(0.0, self._true_states())]

    # -- OSDs come and go

    def add_at(self, osd_id: int, spot: Spot) -> FakeOsd:
        """A new OSD on a new disk, which is up and runs what the config store gives it."""
        self.spots[osd_id] = spot
        self._disks_made += 1
        self.disks[osd_id] = self._disks_made
        osd = FakeOsd(osd_id, spot.host, spot.domain, spot.device_class, release=self.release)
        dirty_until_s = self._dirty_until_s
        log = self._pg_log
        self.add_osd(osd)
        self._dirty_until_s, self._pg_log = dirty_until_s, log
        self._changed()
        return osd

    def purge(self, osd_id: int) -> None:
        """It is gone from all maps; its entries in the config store stay."""
        self.osds.pop(osd_id)
        self.accepted = [found for found in self.accepted if found.osd_id != osd_id]
        self._changed()

    # -- time

    def advance(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(end_s, self.now_s + 1.0)
            due = [found for found in self.accepted if found.at_s <= self.now_s]
            for found in due:
                self.accepted.remove(found)
                if found.osd_id in self.osds:
                    self.osds[found.osd_id].requested_at_s = self.now_s
            for osd in list(self.osds.values()):
                if self._restless(osd):
                    self._live(osd)
            states = self._true_states()
            if states != self._states[-1][1]:
                self._states.append((self.now_s, states))

    def _restless(self, osd: FakeOsd) -> bool:
        return (
            osd.stop_at_s is not None
            or osd.requested_at_s is not None
            or osd.start_at_s is not None
            or osd.boot_at_s is not None
            or osd.crashes_after_s is not None
            # The map may call it down when its report is due.
            or (osd.up and osd.reported != osd.shown)
        )

    def _start(self, osd: FakeOsd) -> None:
        super()._start(osd)
        n = osd.osd_id
        starts_s = self.slow_starts.get(n, self.boot_s)
        osd.boot_at_s = self.now_s + starts_s
        self.slowest_s[n] = max(starts_s, self.slowest_s.get(n, 0.0))

    # -- placement groups

    @property
    def usable(self) -> frozenset[int]:
        """OSDs that CRUSH places anything on."""
        return frozenset(n for n, osd in self.osds.items() if osd.in_cluster)

    @property
    def down(self) -> set[int]:
        return {osd.osd_id for osd in self.osds.values() if not osd.up}

    @property
    def clean(self) -> bool:
        """Whether all placement groups are clean by now, reported or not."""
        return set(self._true_states()) == {CLEAN}

    def _groups(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """min_size and acting OSDs of each placement group."""
        usable = self.usable
        if usable != self._acting_for:
            self._acting_for = usable
            self._acting = tuple(
                (group.pool.min_size, group.acting(usable, self.spots))
                for group in self.topology.groups
            )
        if self.makes_do:
            return tuple((max(0, min(n, len(osds) - 1)), osds) for n, osds in self._acting)
        return self._acting

    def _true_states(self) -> tuple[str, ...]:
        """Of each placement group; the last one stands for those that scrubs find damaged."""
        down, states = self.down, []
        dirty = self.now_s < self._dirty_until_s
        for least, acting in self._groups():
            up = sum(osd not in down for osd in acting)
            if up < min(least, len(acting)):
                states.append('undersized+degraded+peered')
            elif up < len(acting):
                states.append('active+undersized+degraded')
            else:
                states.append('active+recovering+degraded' if dirty else CLEAN)
        return (*states, DAMAGED if self.inconsistent else CLEAN)

    @property
    def unclean(self) -> frozenset[str]:
        """True states of which a change of OSDs is the cause, reported or not."""
        return frozenset(self._true_states()) - {CLEAN, DAMAGED}

    def last_report_s(self, osd_id: int) -> Optional[float]:
        """Placement groups are reported with counters, whenever a test writes these."""
        if osd_id not in self.osds:
            return None
        return self.pgs_reported_s(osd_id, self.now_s) + self.clock_offset_s

    def report_times(self, osd_id: int) -> Sequence[float]:
        last_s = self.last_report_s(osd_id)
        if last_s is None:
            return ()
        before_s = self.pgs_reported_s(osd_id, last_s - self.clock_offset_s - 0.1)
        return (before_s + self.clock_offset_s, last_s)

    def pg_summary(self) -> PgSummary:
        """The states as of the last report of each primary."""
        counted_s = self.now_s - MGR_TICK_S
        reported = {n: self.pgs_reported_s(n, counted_s) for n, o in self.osds.items() if o.up}
        primaries = [
            next((osd for osd in acting if osd in reported), None) for _, acting in self._groups()
        ]
        times = [at_s for at_s, _ in self._states]
        states = Counter(
            self._states[
                max(0, bisect_right(times, counted_s if primary is None else reported[primary]) - 1)
            ][1][n]
            for n, primary in enumerate((*primaries, None))
        )
        return PgSummary(sum(states.values()), states[CLEAN], tuple(sorted(states.items())))

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        self.questions['osd ok-to-stop'] += 1
        self._maybe_fail('osd ok-to-stop')
        return self.why_not_stop(osd_ids)

    def why_not_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        """As of a real manager: min_size decides, recovery is no matter to it."""
        gone = self.down | set(osd_ids)
        lost = sum(
            not set(osd_ids).isdisjoint(acting)
            and sum(osd not in gone for osd in acting) < min(least, len(acting))
            for least, acting in self._groups()
        )
        return (
            f'unsafe to stop osd(s) at this time ({lost} PGs would become offline)'
            if lost
            else None
        )

    # -- queries to monitors and OSDs

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        self.questions['config dump'] += 1
        return super().entries(names)

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        self.questions['config show'] += 1
        return super().running(osd_id, names, if_set)

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        self.questions['versions'] += 1
        return super().daemon_versions()

    def starts_with(self, osd_id: int) -> str:
        """The options that a process of this OSD started now would get."""
        osd = self.osds[osd_id]
        if self.option in osd.conf_file:
            return osd.conf_file[self.option]
        started = self._at_start(osd, self.option)
        return self._default(osd, self.option) if started is None else started

    def cluster_map(self) -> ClusterMap:
        return ClusterMap(
            epoch=self.epoch,
            flags=frozenset(self.flags),
            require_osd_release=self.release,
            osds=tuple(map(self._seen, list(self.osds.values()))),
            pools=self.pools,
        )

    def _seen(self, osd: FakeOsd) -> OsdInfo:
        """The OSD, as the manager knows it: remembered, because most never change."""
        n = osd.osd_id
        missing = self.now_s < self.without_metadata.get(n, 0.0)
        until_s, older = self.old_metadata.get(n, (0.0, ''))
        old = older if self.now_s < until_s else osd.release
        known_by = (osd.up, osd.in_cluster, osd.nonce, osd.up_from)
        key = (*known_by, self.disks.get(n), missing, old, osd.host)
        known = self._infos.get(n)
        if known is None or known[0] != key:
            info = replace(_info(osd), version=VERSIONS[old], release=old)
            if missing:
                info = replace(info, version=None, release=None, host=None)
            known = self._infos[n] = key, info
        return known[1]

    # -- Orchestrator

    def restart_osd(self, osd_id: int) -> None:
        self._asked(f'ceph orch daemon restart osd.{osd_id}')
        self._maybe_fail('orch daemon')
        if self.orchestrator_reason is not None:
            raise CommandError(2, self.orchestrator_reason)
        if not self.orchestrator_idle:
            taken = osd_id if self.orchestrator_restarts is None else self.orchestrator_restarts
            self.accepted.append(Accepted(self.now_s + self.orchestrator_delay_s, taken, osd_id))

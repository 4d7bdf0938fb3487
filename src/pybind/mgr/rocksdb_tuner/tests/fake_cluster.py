"""A Ceph cluster in memory, for the unit tests of every package.

`FakeCluster` implements CounterReader, ClusterReader, ConfigStore, OsdCommands and Orchestrator of
`mgr/protocols.py`; `FakeStore` implements Store. Time passes only by `advance`. Its behavior was
observed on real clusters (16.2.15 unless noted), including traps:

* the monitor takes any string; an OSD that cannot read it does not start and stays down;
* a running OSD keeps its option until it is restarted, but `config show` reports the default as
  soon as the last entry for it is removed, and is not corrected by setting it again;
* `config show` of an OSD that is down, or has just booted, is that of the previous process;
* an OSD starts without the entries that have a mask, though `config get` shows them;
* the manager gets placement group states some seconds late;
* `osd ok-to-stop` answers "ok" for an id that does not exist;
* an orchestrator answers "scheduled" whether or not anything comes of it.
"""

from __future__ import annotations

import errno
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional

from rocksdb_tuner.mgr.protocols import REPORTED, CommandError, TellArguments
from rocksdb_tuner.mgr.records import (
    AuditLine,
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    FailureDomain,
    ManagerHost,
    ManagerInfo,
    OrchestratedDaemon,
    OsdInfo,
    PgSummary,
    Place,
    PoolCounters,
    PoolInfo,
    RunningOption,
)
from rocksdb_tuner.observe.sample import ALL_OPERATIONS
from rocksdb_tuner.tests.all_operations import all_operations
from rocksdb_tuner.tests.fake_compaction import FakeAnswer, FakeCompactions

OPTION = 'bluestore_rocksdb_options'
ANNEX = 'bluestore_rocksdb_options_annex'

#: Release defaults of 16.2.15 and of 18.2.7 (the same in 20.2.4).
DEFAULTS = {
    'pacific': (
        'compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,'
        'recycle_log_file_num=4,write_buffer_size=268435456,writable_file_max_buffer_size=0,'
        'compaction_readahead_size=2097152,max_background_compactions=2,'
        'max_total_wal_size=1073741824'
    ),
    'reef': (
        'compression=kLZ4Compression,max_write_buffer_number=64,min_write_buffer_number_to_merge=6,'
        'compaction_style=kCompactionStyleLevel,write_buffer_size=16777216,max_background_jobs=4,'
        'level0_file_num_compaction_trigger=8,max_bytes_for_level_base=1073741824,'
        'max_bytes_for_level_multiplier=8,compaction_readahead_size=2MB,'
        'max_total_wal_size=1073741824,writable_file_max_buffer_size=0'
    ),
}
VERSIONS = {'pacific': '16.2.15', 'reef': '18.2.7', 'tentacle': '20.2.4'}

PGS = 33
#: mgr_tick_period
MGR_TICK_S = 2.0
FSID = '6f0b7a52-98a1-11ef-8d2c-0242ac120002'


@dataclass
class FakeOsd:
    """One OSD and its process. Tests may change any of it between two calls."""

    osd_id: int
    host: str
    #: None: its host.
    domain: Optional[FailureDomain] = None
    device_class: str = 'ssd'
    #: A new one for each created OSD, whatever its id.
    uuid: Optional[str] = None
    release: str = 'pacific'
    in_cluster: bool = True
    up: bool = True
    nonce: int = 0
    up_from: int = 0
    dedicated_db: bool = False
    db_device_bytes: Optional[int] = None
    main_device_bytes: int = 1 << 40
    objectstore: str = 'bluestore'
    #: Values of options in its own ceph.conf: they beat the config store.
    conf_file: dict[str, str] = field(default_factory=dict)
    #: The options that the process was started with; not set: the default.
    started_with: dict[str, RunningOption] = field(default_factory=dict)
    #: The answers of `config show`, by option.
    shown: dict[str, RunningOption] = field(default_factory=dict)
    #: The same, as far as reported to the manager.
    reported: dict[str, RunningOption] = field(default_factory=dict)
    booted_s: float = 0.0
    #: Its last report before the interval of reports changed, and its next one.
    reported_s: float = 0.0
    next_report_s: float = 0.0
    #: How often a process came up.
    boots: int = 0
    stop_at_s: Optional[float] = None
    #: When the orchestrator restarts it as requested.
    requested_at_s: Optional[float] = None
    #: It does so now.
    being_restarted: bool = False
    #: When the orchestrator did so.
    executed: list[str] = field(default_factory=list)
    #: When its next process starts and reads its options, and when that one is up.
    start_at_s: Optional[float] = None
    boot_at_s: Optional[float] = None
    #: When its last process started.
    started_s: Optional[float] = None
    starting_with: dict[str, RunningOption] = field(default_factory=dict)
    # -- faults
    #: The process never comes up with any options (a dead disk).
    broken: bool = False
    #: It comes up, but with this instead of what the config store has.
    stubborn: Optional[RunningOption] = None
    #: It goes down this long after every boot with an entry, and is started again by systemd.
    crashes_after_s: Optional[float] = None
    #: It does not answer `config show`.
    silent: bool = False

    @property
    def failure_domain(self) -> FailureDomain:
        return self.domain or FailureDomain('host', self.host)

    @property
    def coming(self) -> bool:
        """Whether a process is about to come up."""
        return self.start_at_s is not None or self.boot_at_s is not None


class FakeCluster:
    """A cluster of ``osds`` OSDs, ``per_host`` on each host, running and clean."""

    def __init__(self, osds: int = 3, per_host: int = 1, release: str = 'pacific') -> None:
        self.now_s = self._began_s = 1_000_000.0
        #: The option that a test means where it names none.
        self.option = OPTION
        self.epoch = 10
        self.release = release
        self.osds: dict[int, FakeOsd] = {}
        self.flags: set[str] = {'sortbitwise', 'recovery_deletes', 'purged_snapdirs'}
        #: Health checks in addition to those that follow from the state of the OSDs.
        self.health: dict[str, str] = {}
        #: OSDs that a health check names.
        self.alerting: dict[str, frozenset[int]] = {}
        self.compactions = FakeCompactions(self)
        #: The cluster log: text, and whether it is a warning.
        self.logged: list[tuple[str, bool]] = []
        #: Commands with who sent them.
        self.audit: list[AuditLine] = []
        #: The events in `ceph -s`: message and progress, and the ended ones, with their failure.
        self.progress: dict[str, tuple[str, float]] = {}
        self.progress_ended: list[tuple[str, Optional[str]]] = []
        #: Requests that are slow now, by OSD.
        self.slow_requests: dict[int, int] = {}
        self.pools: tuple[PoolInfo, ...] = (
            PoolInfo(1, 'rbd', ('rbd',), 3, 2, (), cephfs_metadata=False, crush_rule=0),
        )
        #: The client work in each pool.
        self.pool_io: dict[int, PoolCounters] = {}
        self.store: dict[tuple[str, str], str] = {}
        #: OSDs that an entry covers by a mask other than class and host, by `who`.
        self.resolves: dict[str, set[int]] = {}
        #: The monitor's own defaults, by option.
        self.mon_defaults: dict[str, str] = {OPTION: DEFAULTS[release]}
        #: When OSDs reported; those that are not in here: at the time of their counters.
        self.report_log: dict[int, tuple[float, ...]] = {}
        self.counters: dict[tuple[int, str], CounterPoint] = {}
        #: Output of `tell osd.N PREFIX`, by (osd_id, prefix).
        self.tell_answers: dict[tuple[int, str], str] = {}
        #: Every command to an OSD, in its order: (osd_id, prefix).
        self.tell_commands: list[tuple[int, str]] = []
        #: Commands that fail until they are removed from here: prefix ("config set") to error.
        self.errors: dict[str, CommandError] = {}
        #: Every requested change, in the words of the command line.
        self.commands: list[str] = []
        #: Called with each such command before it takes effect.
        self.on_command: Callable[[str], None] = lambda command: None
        # -- times
        self.stop_s = 2.0
        self.boot_s = 5.0
        self.host = ManagerHost(dashboard_enabled=False, tab_installed=False)
        self.known_managers: tuple[ManagerInfo, ...] = (
            ManagerInfo('x', 'node0', active=True, has_module=True),
        )
        self.recover_s = 12.0
        #: The delay of running options to the manager.
        self.report_s = 3.0
        self._pg_report_s = 3.0
        # -- orchestrator and its faults
        self.orchestrator_reason: Optional[str] = None
        #: OSDs of an unmanaged service: it schedules their restarts and does not carry them out.
        self.unmanaged: set[int] = set()
        self.orchestrator_delay_s = 1.0
        #: The version of a running upgrade.
        self.upgrades_to: Optional[str] = None
        #: It answers "scheduled" and does nothing.
        self.orchestrator_idle = False
        #: It executes nothing, and everything once it is resumed.
        self.orchestrator_paused = False
        #: It reports no single daemons.
        self.orchestrator_silent = False
        #: It restarts this OSD instead.
        self.orchestrator_restarts: Optional[int] = None
        # -- faults of OSDs
        #: True for an option string with which no OSD starts.
        self.refuses_to_start: Callable[[str], bool] = lambda value: 'foo' in value
        self._dirty_until_s = 0.0
        self._pg_log: list[tuple[float, bool]] = [(0.0, True)]
        self._next_nonce = 1000
        self._made = 0
        for osd_id in range(osds):
            self.add_osd(FakeOsd(osd_id, f'node{osd_id // per_host}', release=release))

    def add_osd(self, osd: FakeOsd) -> FakeOsd:
        """Add an OSD that is up and runs what the config store gives it."""
        self.osds[osd.osd_id] = osd
        if osd.uuid is None:
            self._made += 1
            osd.uuid = str(uuid.UUID(int=zlib.crc32(b'%d' % self._made) << 96 | self._made))
        self._start(osd)
        self._boot(osd)
        osd.reported = dict(osd.shown)
        self._dirty_until_s = 0.0
        self._pg_log = [(0.0, True)]
        return osd

    # -- time

    def advance(self, seconds: float) -> None:
        """Let time pass, in steps of at most one second."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(end_s, self.now_s + 1.0)
            for osd in self.osds.values():
                self._live(osd)
            clean = self.clean
            if clean != self._pg_log[-1][1]:
                self._pg_log.append((self.now_s, clean))

    def _live(self, osd: FakeOsd) -> None:
        held = self.orchestrator_paused or osd.osd_id in self.unmanaged
        asked = osd.requested_at_s is not None and not held
        if asked and osd.requested_at_s is not None and self.now_s >= osd.requested_at_s:
            osd.requested_at_s, osd.stop_at_s = None, self.now_s
            osd.being_restarted = True
        if osd.stop_at_s is not None and self.now_s >= osd.stop_at_s:
            osd.stop_at_s = None
            self._stop(osd)
            osd.start_at_s = self.now_s + self.stop_s
        if osd.start_at_s is not None and self.now_s >= osd.start_at_s:
            self._start(osd)
            if osd.being_restarted:
                osd.executed = [*osd.executed, f'{self.now_s:.1f}'][-5:]
                osd.being_restarted = False
        if osd.boot_at_s is not None and self.now_s >= osd.boot_at_s:
            self._boot(osd)
        if osd.up and self.now_s >= osd.booted_s + self.report_s:
            osd.reported = dict(osd.shown)
        if (
            osd.up
            and osd.crashes_after_s is not None
            and osd.started_with
            and self.now_s >= osd.booted_s + osd.crashes_after_s
        ):
            self._stop(osd)
            osd.start_at_s = self.now_s

    # -- what a test or an operator does

    @property
    def clean(self) -> bool:
        """Whether all placement groups are clean by now, reported or not."""
        in_use = (osd for osd in self.osds.values() if osd.in_cluster)
        return all(osd.up for osd in in_use) and self.now_s >= self._dirty_until_s

    @property
    def places(self) -> Mapping[int, Place]:
        """The location of each OSD."""
        return {n: Place(osd.host, osd.failure_domain) for n, osd in self.osds.items()}

    @property
    def down(self) -> set[int]:
        return {osd.osd_id for osd in self.osds.values() if not osd.up}

    def entries_of(self, name: Optional[str] = None) -> dict[str, str]:
        wanted = name or self.option
        return {who: value for (who, option), value in self.store.items() if option == wanted}

    def runs(self, osd_id: int, name: Optional[str] = None) -> str:
        """The options that RocksDB was really opened with."""
        osd = self.osds[osd_id]
        started = osd.started_with.get(name or self.option)
        return started.value if started else self._default(osd, name or self.option)

    def operator_sets(self, who: str, value: str, name: Optional[str] = None) -> None:
        self.store[who, name or self.option] = value
        self._config_changed(name or self.option)

    def operator_removes(self, who: str, name: Optional[str] = None) -> None:
        self.store.pop((who, name or self.option), None)
        self._config_changed(name or self.option)

    def stop_osd(self, osd_id: int) -> None:
        """The process ends, without a restart."""
        self._stop(self.osds[osd_id])

    def mark_out(self, osd_id: int) -> None:
        """It is down for good, and other OSDs take its place."""
        self._stop(self.osds[osd_id])
        self.osds[osd_id].in_cluster = False
        self.osds[osd_id].broken = True

    def start_osd(self, osd_id: int) -> None:
        self._start(self.osds[osd_id])

    def restart_by_hand(self, osd_id: int) -> None:
        self.osds[osd_id].stop_at_s = self.now_s

    def purge(self, osd_id: int) -> None:
        """`ceph osd purge`; entries for the id stay in the config store."""
        self.stop_osd(osd_id)
        del self.osds[osd_id]

    def recreate(self, osd_id: int, device_class: str = 'ssd') -> FakeOsd:
        """Purge an OSD, and make another one with its id."""
        host = self.osds[osd_id].host
        self.purge(osd_id)
        made = FakeOsd(osd_id, host, device_class=device_class, release=self.release)
        self.add_osd(made)
        self.osds = dict(sorted(self.osds.items()))
        return made

    def mark_down(self, osd_id: int, *, up: bool = False) -> None:
        """The OSD map calls it down (or up again) while its process runs on."""
        self.osds[osd_id].up = up
        self.osds[osd_id].up_from += up
        self._changed()

    # -- CounterReader

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        return [self._counter(osd_id, path) for path in paths]

    def _counter(self, osd_id: int, path: str) -> Optional[CounterPoint]:
        if path == ALL_OPERATIONS and (osd_id, path) not in self.counters:
            return all_operations(lambda kind: self.counters.get((osd_id, kind)))
        return self.counters.get((osd_id, path))

    # -- ReportReader

    def report_times(self, osd_id: int) -> Sequence[float]:
        last_s = self.last_report_s(osd_id)
        if osd_id in self.report_log or last_s is None:
            return self.report_log.get(osd_id, ())
        before_s = self.pgs_reported_s(osd_id, last_s - 0.1)
        return (before_s, last_s) if 0.0 < before_s < last_s else (last_s,)

    def last_report_s(self, osd_id: int) -> Optional[float]:
        point = self.counters.get((osd_id, REPORTED))
        if point is not None:
            return point.time_s
        return self.pgs_reported_s(osd_id, self.now_s) if osd_id in self.osds else None

    @property
    def pg_report_s(self) -> float:
        """How often each OSD reports its placement groups; OSDs do so at different times."""
        return self._pg_report_s

    @pg_report_s.setter
    def pg_report_s(self, seconds: float) -> None:
        # The next report is sent after the time that was to pass before.
        for n, osd in self.osds.items():
            osd.reported_s = self.pgs_reported_s(n, self.now_s)
            if osd.next_report_s <= self.now_s:
                osd.next_report_s = osd.reported_s + self._pg_report_s
        self._pg_report_s = seconds

    def pgs_reported_s(self, osd_id: int, at_s: float) -> float:
        """When the OSD had last reported by then."""
        osd = self.osds[osd_id]
        if not osd.next_report_s:
            osd.next_report_s = self._began_s + osd_id * 0.37 % 1 * self._pg_report_s
        late_s = at_s - osd.next_report_s
        if late_s < 0:
            return min(at_s, max(osd.reported_s, osd.booted_s))
        return osd.next_report_s + late_s // self._pg_report_s * self._pg_report_s

    # -- ClusterReader

    def cluster_map(self) -> ClusterMap:
        return ClusterMap(
            epoch=self.epoch,
            flags=frozenset(self.flags),
            require_osd_release=self.release,
            osds=tuple(_info(osd) for osd in self.osds.values()),
            pools=self.pools,
        )

    def pg_summary(self) -> PgSummary:
        if self._reported_clean():
            return PgSummary(PGS, PGS, (('active+clean', PGS),))
        return PgSummary(PGS, 12, (('active+clean', 12), ('active+undersized+degraded', PGS - 12)))

    def pool_counters(self) -> Mapping[int, PoolCounters]:
        return dict(self.pool_io)

    def fsid(self) -> Optional[str]:
        return FSID

    def managers(self) -> tuple[ManagerInfo, ...]:
        return self.known_managers

    def manager_host(self) -> Optional[ManagerHost]:
        return self.host

    def slow_ops(self) -> Mapping[int, int]:
        return {n: self.slow_requests.get(n, 0) for n, osd in self.osds.items() if osd.up}

    def health_codes(self) -> Mapping[str, str]:
        codes = dict(self.health)
        if any(osd.in_cluster and not osd.up for osd in self.osds.values()):
            codes['OSD_DOWN'] = 'HEALTH_WARN'
        return codes

    def alerting_osds(self, code: str) -> frozenset[int]:
        return self.alerting.get(code, frozenset())

    # -- ConfigStore

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        self._maybe_fail('config dump')
        return tuple(
            ConfigEntry(who, name, value)
            for (who, name), value in sorted(self.store.items())
            if name in names
        )

    def set(self, who: str, name: str, value: str) -> None:
        self._asked(f"ceph config set {who} {name} '{value}'")
        self._maybe_fail('config set')
        self.operator_sets(who, value, name)

    def remove(self, who: str, name: str) -> None:
        self._asked(f'ceph config rm {who} {name}')
        self._maybe_fail('config rm')
        self.operator_removes(who, name)

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        self._maybe_fail('config show')
        osd = self._existing(osd_id)
        if osd.silent:
            raise CommandError(errno.ENOENT, f'no config state for daemon osd.{osd_id}')
        default = {
            name: RunningOption(self._default(osd, name), 'default', False) for name in names
        }
        beside = {name: osd.reported[name] for name in if_set if name in osd.reported}
        return beside | {name: osd.reported.get(name, default[name]) for name in names}

    # -- OsdCommands

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        return self.compactions.ask(osd_id, prefix)

    def tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        self.tell_commands.append((osd_id, prefix))
        self._maybe_fail(f'tell {prefix}')
        if not self._existing(osd_id).up:
            raise CommandError(errno.EIO, f'osd.{osd_id}: osd down')
        if (osd_id, prefix) not in self.tell_answers:
            raise CommandError(errno.EIO, f'osd.{osd_id}: unknown command prefix {prefix}')
        return self.tell_answers[osd_id, prefix]

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        self._maybe_fail('osd ok-to-stop')
        # The manager answers, from its reports.
        if self._reported_clean() or not any(osd_id in self.osds for osd_id in osd_ids):
            return None
        return 'unsafe to stop osd(s) at this time (19 PGs are or would become offline)'

    # -- Orchestrator

    def unavailable_reason(self, osd_id: Optional[int] = None) -> Optional[str]:
        unmanaged = osd_id in self.unmanaged if osd_id is not None else bool(self.unmanaged)
        return self.orchestrator_reason or ('its service is unmanaged' if unmanaged else None)

    def describes_osds(self) -> bool:
        return self.orchestrator_reason is None

    def restart_osd(self, osd_id: int) -> None:
        self._asked(f'ceph orch daemon restart osd.{osd_id}')
        self._maybe_fail('orch daemon')
        if self.orchestrator_reason is not None:
            raise CommandError(errno.ENOENT, self.orchestrator_reason)
        if not self.orchestrator_idle:
            restarted = osd_id if self.orchestrator_restarts is None else self.orchestrator_restarts
            self.osds[restarted].requested_at_s = self.now_s + self.orchestrator_delay_s

    def describe_osd(self, osd_id: int, refresh: bool) -> Optional[OrchestratedDaemon]:
        self._maybe_fail('orch ps')
        if self.orchestrator_reason is not None:
            raise CommandError(errno.ENOENT, self.orchestrator_reason)
        osd = self.osds.get(osd_id)
        if osd is None or self.orchestrator_silent:
            return None
        return OrchestratedDaemon(
            running=osd.up or osd.boot_at_s is not None,
            started=None if osd.started_s is None else f'{osd.started_s:.1f}',
            refreshed=f'{self.now_s:.1f}',
            executed=tuple(osd.executed),
            paused=self.orchestrator_paused,
            scheduled=True if osd_id in self.unmanaged and osd.requested_at_s else None,
        )

    # -- Audit

    def audited(self) -> tuple[AuditLine, ...]:
        self._maybe_fail('log last')
        return tuple(self.audit)

    # -- Announcements

    def log(self, text: str, warning: bool) -> None:
        self.logged.append((text, warning))

    def show_progress(self, event_id: str, message: str, share: float) -> None:
        self.progress[event_id] = (message, share)

    def end_progress(self, event_id: str, failure: Optional[str]) -> None:
        self.progress.pop(event_id, None)
        self.progress_ended.append((event_id, failure))

    # -- Upgrades

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        self._maybe_fail('versions')
        monitors = (VERSIONS[self.release],)
        osds = sorted({VERSIONS[osd.release] for osd in self.osds.values() if osd.up})
        return (
            DaemonVersions('mgr', monitors),
            DaemonVersions('mon', monitors),
            DaemonVersions('osd', tuple(osds)),
        )

    def orchestrated_upgrade(self) -> Optional[str]:
        self._maybe_fail('orch upgrade status')
        return self.upgrades_to

    # -- inside

    def _asked(self, command: str) -> None:
        self.on_command(command)
        self.commands.append(command)

    def _maybe_fail(self, prefix: str) -> None:
        if prefix in self.errors:
            raise self.errors[prefix]

    def _reported_clean(self) -> bool:
        # Primaries report; the manager counts what they sent every two seconds.
        heard_s = min(
            (self.pgs_reported_s(n, self.now_s - MGR_TICK_S) for n, o in self.osds.items() if o.up),
            default=self.now_s,
        )
        return [clean for at_s, clean in self._pg_log if at_s <= heard_s][-1]

    def _existing(self, osd_id: int) -> FakeOsd:
        if osd_id not in self.osds:
            raise CommandError(errno.ENOENT, f'osd.{osd_id} does not exist')
        return self.osds[osd_id]

    def _changed(self) -> None:
        self.epoch += 1
        self._dirty_until_s = max(self._dirty_until_s, self.now_s + self.recover_s)

    def _stop(self, osd: FakeOsd) -> None:
        osd.up = False
        osd.start_at_s = osd.boot_at_s = None
        self._changed()

    def _start(self, osd: FakeOsd) -> None:
        """A process starts: its options are read now, it is up later."""
        osd.start_at_s = None
        osd.started_s = self.now_s
        osd.boot_at_s = self.now_s + self.boot_s
        names = {name for _, name in self.store} | set(osd.conf_file)
        started = {}
        for name in names:
            value = self._at_start(osd, name)
            if name in osd.conf_file:
                started[name] = RunningOption(osd.conf_file[name], 'file', value is not None)
            elif value is not None:
                started[name] = RunningOption(value, 'mon', ignores_mon=False)
        osd.starting_with = started

    def _boot(self, osd: FakeOsd) -> None:
        osd.boot_at_s = None
        started = osd.starting_with
        given = [started[name].value for name in (OPTION, ANNEX) if name in started]
        if osd.broken or (osd.stubborn is None and any(map(self.refuses_to_start, given))):
            return
        if osd.stubborn is not None:
            started = {**started, self.option: osd.stubborn}
        self._next_nonce += 1
        osd.nonce = self._next_nonce
        osd.up_from += 1
        osd.up = True
        # The first report is sent at once.
        osd.booted_s = osd.next_report_s = self.now_s
        osd.boots += 1
        osd.started_with = started
        # The entries were reported once more since its start.
        osd.shown = dict(started)
        for name in {name for _, name in self.store} | set(started):
            self._shown_again(osd, name)
        self._changed()

    def _config_changed(self, name: str) -> None:
        for osd in self.osds.values():
            self._shown_again(osd, name)
            if osd.up and self.now_s >= osd.booted_s + self.report_s:
                osd.reported = dict(osd.shown)

    def _shown_again(self, osd: FakeOsd, name: str) -> None:
        """The effect of a change of the entries on `config show` without a restart."""
        value = self._from_store(osd, name)
        shown = osd.shown.get(name)
        if shown is not None and shown.source in {'file', 'env', 'cmdline'}:
            osd.shown[name] = RunningOption(shown.value, shown.source, value is not None)
        elif value is None:
            osd.shown.pop(name, None)
        elif shown is not None or name not in osd.started_with:
            now = shown or RunningOption(self._default(osd, name), 'default', ignores_mon=False)
            osd.shown[name] = RunningOption(now.value, now.source, now.value != value)

    def _default(self, osd: FakeOsd, name: str) -> str:
        return DEFAULTS.get(osd.release, DEFAULTS['reef']) if name == OPTION else ''

    def _at_start(self, osd: FakeOsd, name: str) -> Optional[str]:
        """The options an OSD starts with: it fetches them before it sends its location, so masks do
        not count.
        """
        for who in (f'osd.{osd.osd_id}', 'osd', 'global'):
            if (who, name) in self.store:
                return self.store[who, name]
        return None

    def _from_store(self, osd: FakeOsd, name: str) -> Optional[str]:
        """The precedence of `config get`: osd.N with a mask, osd.N, osd/host, osd/class, osd,
        global."""
        best: Optional[tuple[tuple[int, int], str]] = None
        for (who, option), value in self.store.items():
            section, *masks = who.split('/')
            sections = {'global': 0, 'osd': 1, f'osd.{osd.osd_id}': 2}
            known = {f'class:{osd.device_class}': 1, f'host:{osd.host}': 2}
            if osd.osd_id in self.resolves.get(who, ()):
                known[masks[0]] = 2
            if option != name or section not in sections or not set(masks) <= set(known):
                continue
            rank = sections[section], sum(known[mask] for mask in masks)
            if best is None or rank > best[0]:
                best = rank, value
        return None if best is None else best[1]


class FakeStore:
    """The module's data in the monitor's config-key store; survives a failover."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.error: Optional[CommandError] = None
        #: Called before each write.
        self.on_set: Callable[[str], None] = lambda key: None

    def get(self, key: str) -> Optional[str]:
        return self.values.get(key)

    def set(self, key: str, value: Optional[str]) -> None:
        self.on_set(key)
        if self.error is not None:
            raise self.error
        if value is None:
            self.values.pop(key, None)
            return
        assert len(value.encode()) <= 65536, 'the monitor refuses values above 64 KiB'
        self.values[key] = value

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(key for key in self.values if key.startswith(prefix))


def _info(osd: FakeOsd) -> OsdInfo:
    return OsdInfo(
        osd_id=osd.osd_id,
        up=osd.up,
        in_cluster=osd.in_cluster,
        nonce=osd.nonce,
        host=osd.host,
        device_class=osd.device_class,
        version=VERSIONS[osd.release],
        release=osd.release,
        dedicated_db=osd.dedicated_db,
        dedicated_wal=False,
        db_device_bytes=osd.db_device_bytes,
        objectstore=osd.objectstore,
        main_device_bytes=osd.main_device_bytes,
        failure_domain=osd.failure_domain,
        uuid=osd.uuid,
        up_from=osd.up_from,
    )

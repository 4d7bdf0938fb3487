"""The Protocols of this package, implemented over the ceph-mgr API."""

from __future__ import annotations

import errno
import json
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Generic, Mapping, NamedTuple, Optional, TypeVar

from mgr_module import CommandResult, MgrModule

from .parse import (
    parse_alerting_osds,
    parse_audit_log,
    parse_cluster_map,
    parse_config_dump,
    parse_health_codes,
    parse_managers,
    parse_orchestrated,
    parse_pg_status,
    parse_pool_counters,
    parse_running_option,
    parse_slow_ops,
    parse_unmanaged,
    parse_upgrade,
    parse_versions,
)
from .protocols import REPORTED, CommandError, TellArguments
from .records import (
    AuditLine,
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    ManagerHost,
    ManagerInfo,
    OrchestratedDaemon,
    PgSummary,
    PoolCounters,
    RunningOption,
)
from .releases import counter_reader, latest_counter_reader

log = logging.getLogger(__name__)

_T = TypeVar('_T')

#: Timeout of a command to an OSD.
TELL_TIMEOUT_S = 60.0
#: Maximum delay of a shutdown by a waiting command.
TELL_SLICE_S = 1.0
#: Daemon metadata reaches the mgr after the OSD map, so the map is also refreshed by age.
MAP_MAX_AGE_S = 30.0
#: The mgr map has the options of every module, about 100 KB, so it is cached.
MANAGERS_MAX_AGE_S = 30.0
#: The folder of all mgr modules on this host.
MODULES = Path(__file__).absolute().parents[2]
#: All that `make install-dashboard` installs, relative to the folder of all mgr modules. A test
#: compares it with that target.
TAB_FILES = tuple(
    f'dashboard/controllers/{name}'
    for name in (
        'rocksdb_tuner.py',
        '_rocksdb_tuner.py',
        '_rocksdb_tuner_api.py',
        '_rocksdb_tuner_experiments.py',
        '_rocksdb_tuner_operations.py',
        '_rocksdb_tuner_profiles.py',
        '_rocksdb_tuner_schemas.py',
        '_rocksdb_tuner_tab.py',
        '_rocksdb_tuner_tab.js',
    )
)
#: Cache time of the orchestrator's status.
ORCHESTRATOR_MAX_AGE_S = 15.0
#: The orchestrator's error for commands that a backend does not implement, in all releases.
CANNOT_UPGRADE = 'does not support'
#: Lines of the audit log to read: some seconds of a busy cluster.
AUDITED = 1000
#: Reference of events in `ceph progress json`.
PROGRESS_ORIGIN = 'rocksdb_tuner'
#: Exceptions from parsing a document of an unexpected shape.
_NOT_UNDERSTOOD = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_NUMBERS = (int, float)
#: Half the time of calling the class, which is for thousands of counters.
_new = tuple.__new__
#: Ceph counts in 64 bits.
_LARGEST = 1 << 64


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Convert errors from parsing the mgr's data on ``what`` to CommandError."""
    try:
        yield
    except _NOT_UNDERSTOOD as error:
        raise CommandError(
            errno.EPROTO, f'cannot parse {what} of the mgr: {error!r}'[:300]
        ) from None


def counter_point(point: object) -> Optional[CounterPoint]:
    """Parse a counter of the mgr; None if there is none or it is invalid."""
    if type(point) is not list and not isinstance(point, (list, tuple)):
        return None
    count: Any = None
    if len(point) == 2:
        time_s, value = point
    elif len(point) == 3:
        time_s, value, count = point
        if count is not None and (type(count) is not int or not 0 <= count < _LARGEST):
            return None
    else:
        return None
    # `type` instead of `isinstance`: it is faster for thousands of counters, and rejects bool.
    if type(time_s) not in _NUMBERS or not 0 <= time_s < _LARGEST:
        return None
    if type(value) not in _NUMBERS or not 0 <= value < _LARGEST:
        return None
    return _new(CounterPoint, (time_s, int(value), count))


def manager_host(mgr_map: Mapping[str, Any], modules: Path) -> ManagerHost:
    """``modules``: the folder of all mgr modules."""
    return ManagerHost(
        dashboard_enabled='dashboard' in (mgr_map.get('modules') or ()),
        tab_installed=all((modules / name).is_file() for name in TAB_FILES),
    )


class _Cached(Generic[_T]):
    """A value that is read again after ``max_age_s``; also if reading it failed."""

    def __init__(self, max_age_s: float, read: Callable[[], _T], value: _T) -> None:
        self._max_age_s, self._read, self.value = max_age_s, read, value
        self._read_s: Optional[float] = None

    def get(self) -> _T:
        now_s = time.monotonic()
        if self._read_s is None or now_s - self._read_s > self._max_age_s:
            self._read_s = now_s
            self.value = self._read()
        return self.value


class OrchestratorStatus(NamedTuple):
    #: Why it cannot restart daemons; None: it can.
    reason: Optional[str]
    backend: Optional[str] = None
    paused: bool = False
    #: Services whose restarts it would not carry out, and why, though it reports on their daemons.
    left_alone: Mapping[str, str] = {}


class MgrAnswer:
    """The answer of one OSD, filled in by a thread of the mgr."""

    def __init__(self, osd_id: int, result: CommandResult) -> None:
        self._osd_id = osd_id
        self._result = result

    def output(self, wait_s: float = 0.0) -> Optional[str]:
        """None if there is none within ``wait_s``; raises CommandError."""
        result = self._result
        if not result.ev.wait(wait_s):
            return None
        # The return code is 0 for all errors of an OSD ("unknown command", "osd down"): only the
        # error text shows them.
        if result.r != 0 or (result.outs and not result.outb):
            raise CommandError(abs(result.r) or errno.EIO, f'osd.{self._osd_id}: {result.outs}')
        return result.outb


class MgrCluster:
    """Access to the cluster.

    Implements CounterReader, ReportReader, ClusterReader, ConfigStore, OsdCommands, Orchestrator,
    Upgrades and Announcements. Calls block on:

    * an OSD: `tell`, for at most `TELL_TIMEOUT_S`. Never in the module's serve thread.
    * the monitors: `entries`, `set`, `remove`, `running`, `ok_to_stop`,
      `daemon_versions`, and MgrStore's writes. Without a timeout while there is no quorum; in the
      serve thread only, except for MgrStore's. The monitors forward `config show`,
      `osd ok-to-stop` and `versions` to this mgr, which answers from memory: no OSD is involved.
    * the orchestrator module, through the monitors: `unavailable_reason`, `restart_osd`,
      `orchestrated_upgrade`. cephadm schedules a restart and answers at once.
    * the monitors, in a background thread: `audited`.
    * nothing: CounterReader, ReportReader, ClusterReader, Announcements, and `ask`, whose answer
      comes later.

    `cluster_map`, `ask` and `tell` are thread-safe.
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module
        self._latest_counter = latest_counter_reader(module)
        self._counter = counter_reader(module)
        self._ending = threading.Event()
        self._map_lock = threading.Lock()
        self._map: Optional[ClusterMap] = None
        self._map_read_s = 0.0
        unread: tuple[tuple[ManagerInfo, ...], Optional[ManagerHost]] = ((), None)
        self._managers = _Cached(MANAGERS_MAX_AGE_S, self._read_managers, unread)
        self._orchestrator = _Cached(
            ORCHESTRATOR_MAX_AGE_S, self._read_orchestrator, OrchestratorStatus('unknown')
        )
        #: A backend without upgrades; and the time and error of a failed status of one with them.
        self._cannot_upgrade: Optional[str] = None
        self._upgrade_refused: Optional[tuple[float, CommandError]] = None

    # -- CounterReader

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        read, name = self._latest_counter, str(osd_id)
        # [] is a counter that this daemon never sent.
        return [counter_point(read('osd', name, path).get(path)) for path in paths]

    # -- ReportReader

    def report_times(self, osd_id: int) -> Sequence[float]:
        points = self._counter('osd', str(osd_id), REPORTED).get(REPORTED)
        if not isinstance(points, (list, tuple)):
            return ()
        return [found.time_s for found in map(counter_point, points) if found is not None]

    def last_report_s(self, osd_id: int) -> Optional[float]:
        (point,) = self.latest(osd_id, (REPORTED,))
        return None if point is None else point.time_s

    # -- ClusterReader

    def invalidate_map(self) -> None:
        """The OSD map changed: read it again at the next call of `cluster_map`."""
        self._map_read_s = 0.0

    def cluster_map(self) -> ClusterMap:
        with self._map_lock:
            now_s = time.monotonic()
            if self._map is None or now_s - self._map_read_s > MAP_MAX_AGE_S:
                # Set before reading: a change during the read invalidates the map again.
                self._map_read_s = now_s
                with understood('the OSD map'):
                    found = parse_cluster_map(
                        self._module.get('osd_map'),
                        self._module.get('osd_map_crush'),
                        self._module.get('osd_metadata'),
                    )
                    self._map = found if self._map is None else found.with_known_osds(self._map)
            return self._map

    def close(self) -> None:
        """The module shuts down: stop waiting for OSDs."""
        self._ending.set()

    def pg_summary(self) -> PgSummary:
        with understood('the PG states'):
            return parse_pg_status(self._module.get('pg_status'))

    def pool_counters(self) -> Mapping[int, PoolCounters]:
        with understood('the pool statistics'):
            return parse_pool_counters(self._module.get('df'))

    def managers(self) -> tuple[ManagerInfo, ...]:
        return self._managers.get()[0]

    def manager_host(self) -> Optional[ManagerHost]:
        return self._managers.get()[1]

    def _read_managers(self) -> tuple[tuple[ManagerInfo, ...], Optional[ManagerHost]]:
        with understood('the mgr map'):
            mgr_map = self._module.get('mgr_map')
            managers = parse_managers(
                mgr_map,
                self._module.module_name,
                lambda name: self._module.get_metadata('mgr', name) or {},
            )
            return managers, manager_host(mgr_map, MODULES)

    def fsid(self) -> Optional[str]:
        with understood('the monitor map'):
            found = self._module.get('mon_map').get('fsid')
            return None if found is None else str(found)

    def slow_ops(self) -> Mapping[int, int]:
        with understood('the slow requests of OSDs'):
            return parse_slow_ops(self._module.get_daemon_health_metrics())

    def health_codes(self) -> Mapping[str, str]:
        with understood('the cluster health'):
            return parse_health_codes(json.loads(self._module.get('health')['json']))

    def alerting_osds(self, code: str) -> frozenset[int]:
        with understood('the cluster health'):
            return parse_alerting_osds(json.loads(self._module.get('health')['json']), code)

    # -- ConfigStore

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        dump = self._mon_json({'prefix': 'config dump', 'format': 'json'})
        with understood('"config dump"'):
            return parse_config_dump(dump, names)

    def set(self, who: str, name: str, value: str) -> None:
        self._mon({'prefix': 'config set', 'who': who, 'name': name, 'value': value})

    def remove(self, who: str, name: str) -> None:
        self._mon({'prefix': 'config rm', 'who': who, 'name': name})

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        who = f'osd.{osd_id}'
        shown = self._mon_json({'prefix': 'config show', 'who': who, 'format': 'json'})
        with understood(f'"config show {who}"'):
            listed = {
                entry['name']: parse_running_option(entry)
                for entry in shown
                if entry['name'] in names or entry['name'] in if_set
            }
        optional = {name: listed[name] for name in if_set if name in listed}
        return optional | {
            name: listed[name]
            if name in listed
            # Unset options are not in the list. `config show` with a key returns the OSD's own
            # default, which can differ from the monitor's during an upgrade.
            else RunningOption(
                self._mon({'prefix': 'config show', 'who': who, 'key': name}).rstrip('\n'),
                source='default',
                ignores_mon=False,
            )
            for name in names
        }

    # -- OsdCommands

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> MgrAnswer:
        result = CommandResult()
        command = json.dumps({'prefix': prefix, **args})
        self._module.send_command(result, 'osd', str(osd_id), command, '')
        return MgrAnswer(osd_id, result)

    def tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        answer = self.ask(osd_id, prefix, args)
        until_s = time.monotonic() + TELL_TIMEOUT_S
        while not self._ending.is_set() and time.monotonic() < until_s:
            output = answer.output(TELL_SLICE_S)
            if output is not None:
                return output
        raise CommandError(errno.ETIMEDOUT, f'osd.{osd_id} did not answer "{prefix}"')

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        code, _, message = self._module.mon_command(
            {'prefix': 'osd ok-to-stop', 'ids': [str(i) for i in osd_ids], 'format': 'json'}
        )
        return None if code == 0 else message

    # -- Orchestrator

    def unavailable_reason(self, osd_id: Optional[int] = None) -> Optional[str]:
        status = self._orchestrator.get()
        services = set(status.left_alone)
        if osd_id is not None and services:
            with suppress(CommandError), understood('"orch ps"'):
                services &= {str(daemon['service_name']) for daemon in self._listed(osd_id)}
        return status.reason or next((status.left_alone[name] for name in sorted(services)), None)

    def describes_osds(self) -> bool:
        return self._orchestrator.get().reason is None

    def restart_osd(self, osd_id: int) -> None:
        self._mon({'prefix': 'orch daemon', 'action': 'restart', 'name': f'osd.{osd_id}'})

    def describe_osd(self, osd_id: int, refresh: bool) -> Optional[OrchestratedDaemon]:
        listed = self._listed(osd_id)
        host = next((d['hostname'] for d in listed if d.get('hostname')), None)
        if refresh and host is not None:
            # Refreshes this host's daemons only.
            self._listed(osd_id, hostname=host, refresh=True)
        found = parse_orchestrated(osd_id, listed, self._host_record(host))
        if found is not None and self._orchestrator.value.paused:
            return replace(found, paused=True)
        return found

    def _listed(self, osd_id: int, **options: object) -> Any:
        command = {'prefix': 'orch ps', 'daemon_type': 'osd', 'format': 'json'}
        return self._mon_json({**command, 'daemon_id': str(osd_id), **options})

    def _host_record(self, host: Optional[str]) -> Any:
        """The orchestrator's stored record of a host; None if there is none.

        cephadm's HostCache (src/pybind/mgr/cephadm/inventory.py), the only place that shows its
        scheduled actions.
        """
        backend = self._orchestrator.value.backend
        if host is None or backend is None:
            return None
        key = f'mgr/{backend}/host.{host}'
        with suppress(CommandError):
            return self._mon_json({'prefix': 'config-key get', 'key': key})
        return None

    # -- Upgrades

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        versions = self._mon_json({'prefix': 'versions', 'format': 'json'})
        with understood('"versions"'):
            return parse_versions(versions)

    def orchestrated_upgrade(self) -> Optional[str]:
        if (
            self._cannot_upgrade is not None
            and self._orchestrator.get().backend == self._cannot_upgrade
        ):
            return None
        refused = self._upgrade_refused
        if refused is not None and time.monotonic() - refused[0] < ORCHESTRATOR_MAX_AGE_S:
            raise CommandError(refused[1].errno, refused[1].message)
        self._cannot_upgrade = self._upgrade_refused = None
        try:
            return parse_upgrade(self._mon({'prefix': 'orch upgrade status'}))
        except CommandError as error:
            # The answer without an orchestrator, and of a backend without upgrades. The latter logs
            # a traceback in the mgr each time.
            if error.errno == errno.ENOENT:
                if CANNOT_UPGRADE in error.message:
                    self._cannot_upgrade = self._orchestrator.get().backend
                return None
            self._upgrade_refused = time.monotonic(), error
            raise

    # -- Audit

    def audited(self) -> tuple[AuditLine, ...]:
        command = {'prefix': 'log last', 'num': AUDITED, 'level': 'debug', 'channel': 'audit'}
        return parse_audit_log(self._mon_json({**command, 'format': 'json'}))

    # -- Announcements

    def log(self, text: str, warning: bool) -> None:
        try:
            self._module.cluster_log(
                'cluster',
                self._module.ClusterLogPrio.WARN if warning else self._module.ClusterLogPrio.INFO,
                f'{self._module.module_name}: {text}',
            )
        except Exception as error:  # noqa: BLE001 - nothing depends on the cluster log
            log.debug('cannot write to the cluster log: %s', error)

    def show_progress(self, event_id: str, message: str, share: float) -> None:
        # Without add_to_ceph_s an event shows in `ceph progress` only.
        self._progress('update', event_id, message, share, [PROGRESS_ORIGIN], add_to_ceph_s=True)

    def end_progress(self, event_id: str, failure: Optional[str]) -> None:
        if failure is None:
            self._progress('complete', event_id)
        else:
            self._progress('fail', event_id, failure)

    def _progress(self, method: str, *args: Any, **kwargs: Any) -> None:
        try:
            self._module.remote('progress', method, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever another module raises
            # The progress module is disabled (ImportError) or failed; nothing depends on it.
            log.debug('cannot show progress: %s', error)

    def _read_orchestrator(self) -> OrchestratorStatus:
        try:
            status = self._mon_json({'prefix': 'orch status', 'format': 'json'})
        except CommandError as error:
            return OrchestratorStatus(error.message)
        if not status.get('available'):
            return OrchestratorStatus(
                str(status.get('reason') or 'the orchestrator backend is not available')
            )
        known = OrchestratorStatus(None, status.get('backend'), status.get('paused') is True)
        return self._able(known, str(known.backend))

    def _able(self, known: OrchestratorStatus, backend: str) -> OrchestratorStatus:
        """With why it cannot restart daemons. Rook's is available but cannot."""
        try:
            # As in the dashboard: the orchestrator methods that the backend implements.
            features = self._module.remote(backend, 'get_feature_set')
            able = features['daemon_action']['available']
            lists = features.get('describe_service', {}).get('available')
        except Exception as error:  # noqa: BLE001 - the code of another module
            return known._replace(
                reason=f'the orchestrator backend {backend} does not report its features: {error!r}'
            )
        if not able:
            return known._replace(
                reason=f'the orchestrator backend {backend} cannot restart daemons'
            )
        return known._replace(left_alone=self._why_left_alone()) if lists else known

    def _why_left_alone(self) -> Mapping[str, str]:
        """Services whose scheduled restarts would stay scheduled, and why, as far as known.

        cephadm schedules restarts of unmanaged services, too, and never carries them out (seen on
        20.2.4).
        """
        command = {'prefix': 'orch ls', 'service_type': 'osd', 'format': 'json'}
        with suppress(CommandError), understood('"orch ls"'):
            return {
                name: f'the service {name} is unmanaged, so its OSDs are not restarted: "ceph orch '
                f'set-managed {name}" (from Reef on) changes that, and lets it make OSDs of free '
                'devices'
                for name in parse_unmanaged(self._mon_json(command))
            }
        return {}

    def _mon_json(self, command: Mapping[str, Any]) -> Any:
        out = self._mon(command)
        try:
            return json.loads(out)
        except (ValueError, RecursionError):
            # "config show" of 16.2.15 succeeds with an empty answer while a newly active mgr has no
            # data of the OSD yet.
            raise CommandError(
                errno.EAGAIN, f'"{command["prefix"]}" has no answer yet; try again'
            ) from None

    def _mon(self, command: Mapping[str, Any]) -> str:
        code, out, message = self._module.mon_command(dict(command))
        if code != 0:
            raise CommandError(abs(code), message or f'{command["prefix"]} failed')
        return out


class MgrStore:
    """Store over the module's keys in the monitors' config-key store.

    Reads come from the mgr's copy, which is updated before a write returns
    (src/mgr/ActivePyModules.cc, set_store).
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module

    def get(self, key: str) -> Optional[str]:
        return self._module.get_store(key)

    def set(self, key: str, value: Optional[str]) -> None:
        # MgrModule.set_store logs an error of the monitors and returns as if the write succeeded.
        where = f'mgr/{self._module.module_name}/{key}'
        code, _, message = (
            self._module.mon_command({'prefix': 'config-key del', 'key': where})
            if value is None
            else self._module.mon_command({'prefix': 'config-key set', 'key': where}, value)
        )
        if code != 0:
            raise CommandError(abs(code), f'cannot store "{where}": {message}')

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(self._module.get_store_prefix(prefix))

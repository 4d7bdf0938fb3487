"""The Protocols of this package over the API of a real ceph-mgr."""

from __future__ import annotations

import errno
import json
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Mapping, Optional

from mgr_module import CommandResult, MgrModule

from .parse import (
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
    parse_upgrade,
    parse_versions,
)
from .protocols import CommandError, TellArguments
from .records import (
    AuditLine,
    ClusterMap,
    ConfigEntry,
    CounterPoint,
    DaemonVersions,
    ManagerInfo,
    OrchestratedDaemon,
    PgSummary,
    PoolCounters,
    RunningOption,
)
from .releases import latest_counter_reader

log = logging.getLogger(__name__)

#: An OSD that does not answer within this time is treated as not answering.
TELL_TIMEOUT_S = 60.0
#: Within this time it is noticed that the module ends.
TELL_SLICE_S = 1.0
#: Daemons' metadata reach the mgr after the OSD map that announces them: look again this often.
MAP_MAX_AGE_S = 30.0
#: Managers come and go with upgrades; their map holds the options of every module, some 100 KB.
MANAGERS_MAX_AGE_S = 30.0
#: An orchestrator does not come and go within a rollout step.
ORCHESTRATOR_MAX_AGE_S = 15.0
#: What the orchestrator answers for a backend that does not implement a command, in all releases.
CANNOT_UPGRADE = 'does not support'
#: Lines of the audit log to look through: some seconds of a busy cluster.
AUDITED = 1000
#: What events of `ceph progress json` refer to.
PROGRESS_ORIGIN = 'rocksdb_tuner'
#: What parsing raises where a document is of another shape.
_NOT_UNDERSTOOD = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_NUMBERS = (int, float)
#: Ceph counts in 64 bits.
_LARGEST = 1 << 64


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Nothing that the manager says of ``what`` leads to another error than CommandError."""
    try:
        yield
    except _NOT_UNDERSTOOD as error:
        raise CommandError(
            errno.EPROTO, f'what the manager says of {what} is not understood: {error!r}'[:300]
        ) from None


def counter_point(point: object) -> Optional[CounterPoint]:
    """What the manager has of a counter; None for none, and for what no daemon counts."""
    if not isinstance(point, (list, tuple)) or not 2 <= len(point) <= 3:
        return None
    time_s, value = point[0], point[1]
    count = point[2] if len(point) == 3 else None
    # `type` and not `isinstance`: this is asked for thousands of counters, and true is no number.
    if type(time_s) not in _NUMBERS or not 0 <= time_s < _LARGEST:
        return None
    if type(value) not in _NUMBERS or not 0 <= value < _LARGEST:
        return None
    if count is not None and (type(count) is not int or not 0 <= count < _LARGEST):
        return None
    return CounterPoint(time_s, int(value), count)


class MgrAnswer:
    """The answer of one OSD, which the mgr fills in from a thread of its own."""

    def __init__(self, osd_id: int, result: CommandResult) -> None:
        self._osd_id = osd_id
        self._result = result

    def output(self, wait_s: float = 0.0) -> Optional[str]:
        """None if there is none within ``wait_s``; raises CommandError."""
        result = self._result
        if not result.ev.wait(wait_s):
            return None
        # The return code is 0 for every error of an OSD ("unknown command", "osd down"): only
        # the error text tells.
        if result.r != 0 or (result.outs and not result.outb):
            raise CommandError(abs(result.r) or errno.EIO, f'osd.{self._osd_id}: {result.outs}')
        return result.outb


class MgrCluster:
    """One object for all that is read from and done to the cluster.

    Implements CounterReader, ClusterReader, ConfigStore, OsdCommands, Orchestrator, Upgrades and
    Announcements. What waits for whom:

    * an OSD: `tell`, for `TELL_TIMEOUT_S` at most. Never in the module's serve thread.
    * the monitors: `entries`, `set`, `remove`, `resolved`, `running`, `ok_to_stop`,
      `daemon_versions`, and MgrStore's writes. Without limit while there is no quorum; in the serve
      thread only, but for MgrStore's. `config show`, `osd ok-to-stop` and `versions` come back
      from the monitors to this manager, which answers from its own memory: no OSD is asked.
    * the orchestrator module, by way of the monitors: `unavailable_reason`, `restart_osd`,
      `orchestrated_upgrade`. cephadm schedules a restart and answers at once.
    * the monitors, in a thread beside: `audited`.
    * nobody: CounterReader, ClusterReader, Announcements, and `ask`, whose answer comes later.

    Any thread may call `cluster_map`, `ask` and `tell`.
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module
        self._latest_counter = latest_counter_reader(module)
        self._ending = threading.Event()
        self._map_lock = threading.Lock()
        self._map: Optional[ClusterMap] = None
        self._map_read_s = 0.0
        self._managers: tuple[ManagerInfo, ...] = ()
        self._managers_read_s: Optional[float] = None
        self._orchestrator_read_s: Optional[float] = None
        self._orchestrator_reason: Optional[str] = None
        #: A backend that does not implement upgrades; and when one that does failed to tell.
        self._cannot_upgrade: Optional[str] = None
        self._upgrade_refused: Optional[tuple[float, CommandError]] = None
        self._orchestrator_backend: Optional[str] = None
        self._orchestrator_paused = False

    # -- CounterReader

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        read, name = self._latest_counter, str(osd_id)
        # [] stands for a counter that this daemon never sent.
        return [counter_point(read('osd', name, path).get(path)) for path in paths]

    # -- ClusterReader

    def invalidate_map(self) -> None:
        """The OSD map changed: read it anew when it is next asked for."""
        self._map_read_s = 0.0

    def cluster_map(self) -> ClusterMap:
        with self._map_lock:
            now_s = time.monotonic()
            if self._map is None or now_s - self._map_read_s > MAP_MAX_AGE_S:
                # Stamped before reading: a change that arrives meanwhile invalidates again.
                self._map_read_s = now_s
                with understood('the OSD map'):
                    self._map = parse_cluster_map(
                        self._module.get('osd_map'),
                        self._module.get('osd_map_crush'),
                        self._module.get('osd_metadata'),
                    )
            return self._map

    def close(self) -> None:
        """The module ends: no answer of an OSD is waited for any more."""
        self._ending.set()

    def pg_summary(self) -> PgSummary:
        with understood('the states of placement groups'):
            return parse_pg_status(self._module.get('pg_status'))

    def pool_counters(self) -> Mapping[int, PoolCounters]:
        with understood('the statistics of pools'):
            return parse_pool_counters(self._module.get('df'))

    def managers(self) -> tuple[ManagerInfo, ...]:
        now_s = time.monotonic()
        read_s = self._managers_read_s
        if read_s is None or now_s - read_s > MANAGERS_MAX_AGE_S:
            self._managers_read_s = now_s
            with understood('the map of managers'):
                self._managers = parse_managers(
                    self._module.get('mgr_map'),
                    self._module.module_name,
                    lambda name: self._module.get_metadata('mgr', name) or {},
                )
        return self._managers

    def slow_ops(self) -> Mapping[int, int]:
        with understood('the slow requests of OSDs'):
            return parse_slow_ops(self._module.get_daemon_health_metrics())

    def health_codes(self) -> Mapping[str, str]:
        with understood('the health of the cluster'):
            return parse_health_codes(json.loads(self._module.get('health')['json']))

    # -- ConfigStore

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        dump = self._mon_json({'prefix': 'config dump', 'format': 'json'})
        with understood('"config dump"'):
            return parse_config_dump(dump, names)

    def set(self, who: str, name: str, value: str) -> None:
        self._mon({'prefix': 'config set', 'who': who, 'name': name, 'value': value})

    def remove(self, who: str, name: str) -> None:
        self._mon({'prefix': 'config rm', 'who': who, 'name': name})

    def resolved(self, osd_id: int, name: str) -> str:
        return self._mon({'prefix': 'config get', 'who': f'osd.{osd_id}', 'key': name}).rstrip('\n')

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
        beside = {name: listed[name] for name in if_set if name in listed}
        return beside | {
            name: listed[name]
            if name in listed
            # An option that nobody set is not in the list; asked for by name it is answered with
            # the OSD's own default, which need not be the monitor's in a cluster being upgraded.
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
        raise CommandError(errno.ETIMEDOUT, f'osd.{osd_id} did not answer to "{prefix}"')

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        code, _, message = self._module.mon_command(
            {'prefix': 'osd ok-to-stop', 'ids': [str(i) for i in osd_ids], 'format': 'json'}
        )
        return None if code == 0 else message

    # -- Orchestrator

    def unavailable_reason(self) -> Optional[str]:
        now_s = time.monotonic()
        read_s = self._orchestrator_read_s
        if read_s is None or now_s - read_s > ORCHESTRATOR_MAX_AGE_S:
            self._orchestrator_reason = self._ask_orchestrator()
            self._orchestrator_read_s = now_s
        return self._orchestrator_reason

    def restart_osd(self, osd_id: int) -> None:
        self._mon({'prefix': 'orch daemon', 'action': 'restart', 'name': f'osd.{osd_id}'})

    def describe_osd(self, osd_id: int, refresh: bool) -> Optional[OrchestratedDaemon]:
        command: dict[str, Any] = {'prefix': 'orch ps', 'daemon_type': 'osd', 'format': 'json'}
        listed = self._mon_json({**command, 'daemon_id': str(osd_id)})
        host = next((d['hostname'] for d in listed if d.get('hostname')), None)
        if refresh and host is not None:
            # Only this host's daemons are looked at again.
            self._mon({**command, 'daemon_id': str(osd_id), 'hostname': host, 'refresh': True})
        found = parse_orchestrated(osd_id, listed, self._host_record(host))
        if found is not None and self._orchestrator_paused:
            return replace(found, paused=True)
        return found

    def _host_record(self, host: Optional[str]) -> Any:
        """What the orchestrator stores of a host; None where it stores nothing of the kind.

        cephadm's HostCache (src/pybind/mgr/cephadm/inventory.py): the one place that shows what it
        has still to carry out.
        """
        if host is None or self._orchestrator_backend is None:
            return None
        key = f'mgr/{self._orchestrator_backend}/host.{host}'
        with suppress(CommandError):
            return self._mon_json({'prefix': 'config-key get', 'key': key})
        return None

    # -- Upgrades

    def daemon_versions(self) -> tuple[DaemonVersions, ...]:
        versions = self._mon_json({'prefix': 'versions', 'format': 'json'})
        with understood('"versions"'):
            return parse_versions(versions)

    def orchestrated_upgrade(self) -> Optional[str]:
        if self._cannot_upgrade is not None and self._backend_now() == self._cannot_upgrade:
            return None
        refused = self._upgrade_refused
        if refused is not None and time.monotonic() - refused[0] < ORCHESTRATOR_MAX_AGE_S:
            raise CommandError(refused[1].errno, refused[1].message)
        self._cannot_upgrade = self._upgrade_refused = None
        try:
            return parse_upgrade(self._mon({'prefix': 'orch upgrade status'}))
        except CommandError as error:
            # So answer a cluster without an orchestrator, and a backend that cannot upgrade. For
            # the latter the orchestrator writes a traceback to the log of the manager each time.
            if error.errno == errno.ENOENT:
                if CANNOT_UPGRADE in error.message:
                    self._cannot_upgrade = self._backend_now()
                return None
            self._upgrade_refused = time.monotonic(), error
            raise

    def _backend_now(self) -> Optional[str]:
        """The orchestrator's backend; None where none is available."""
        return self._orchestrator_backend if self.unavailable_reason() is None else None

    # -- Audit

    def audited(self) -> tuple[AuditLine, ...]:
        command = {'prefix': 'log last', 'num': AUDITED, 'level': 'debug', 'channel': 'audit'}
        return parse_audit_log(self._mon_json({**command, 'format': 'json'}))

    # -- Announcements

    def log(self, text: str, warning: bool) -> None:
        priorities = self._module.ClusterLogPrio
        priority = priorities.WARN if warning else priorities.INFO
        try:
            self._module.cluster_log('cluster', priority, f'{self._module.module_name}: {text}')
        except Exception as error:  # noqa: BLE001 - nothing waits for what people read
            log.debug('not in the cluster log: %s', error)

    def show_progress(self, event_id: str, message: str, share: float) -> None:
        # Without add_to_ceph_s an event is only in `ceph progress`.
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
            # It is off (ImportError), or cannot do it now: only people would have looked at it.
            log.debug('progress is not shown: %s', error)

    def _ask_orchestrator(self) -> Optional[str]:
        try:
            status = self._mon_json({'prefix': 'orch status', 'format': 'json'})
        except CommandError as error:
            return error.message
        self._orchestrator_backend = status.get('backend')
        self._orchestrator_paused = status.get('paused') is True
        if status.get('available'):
            return None
        return str(status.get('reason') or 'the orchestrator backend is not available')

    def _mon_json(self, command: Mapping[str, Any]) -> Any:
        out = self._mon(command)
        try:
            return json.loads(out)
        except (ValueError, RecursionError):
            # "config show" of 16.2.15 succeeds with an empty answer while a manager that has just
            # become active knows nothing of the OSD yet.
            raise CommandError(
                errno.EAGAIN, f'"{command["prefix"]}" was not answered yet; try again'
            ) from None

    def _mon(self, command: Mapping[str, Any]) -> str:
        code, out, message = self._module.mon_command(dict(command))
        if code != 0:
            raise CommandError(abs(code), message or f'{command["prefix"]} failed')
        return out


class MgrStore:
    """Store over the module's own keys in the monitor's config-key store.

    Reads come from the manager's copy of them, which the monitors bring up to date before they
    acknowledge a write (src/mgr/ActivePyModules.cc, set_store).
    """

    def __init__(self, module: MgrModule) -> None:
        self._module = module

    def get(self, key: str) -> Optional[str]:
        return self._module.get_store(key)

    def set(self, key: str, value: Optional[str]) -> None:
        # Not MgrModule.set_store: where the monitors refuse, it writes that to the log of the
        # manager and returns as if the text was stored.
        where = f'mgr/{self._module.module_name}/{key}'
        code, _, message = (
            self._module.mon_command({'prefix': 'config-key del', 'key': where})
            if value is None
            else self._module.mon_command({'prefix': 'config-key set', 'key': where}, value)
        )
        if code != 0:
            raise CommandError(abs(code), f'"{where}" is not stored: {message}')

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(self._module.get_store_prefix(prefix))

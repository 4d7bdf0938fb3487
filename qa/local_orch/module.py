"""A test orchestrator that really starts, stops and restarts the OSDs of this machine.

It stands in for cephadm in clusters that qa/cluster makes: `ceph orch daemon restart osd.0` ends
the OSD's process and starts a new one. `mgr/orchestrator/orchestrator` permits only the names
cephadm, rook and test_orchestrator, so it is installed under the last one. One source for all
releases.

It needs no settings: the OSDs are those whose processes use the same ceph.conf as this manager.
"""

import datetime as dt
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import mgr_module
import orchestrator
from ceph.deployment.service_spec import ServiceSpec
from ceph.utils import datetime_to_str
from mgr_module import MgrModule, Option
from orchestrator import (
    DaemonDescription,
    DaemonDescriptionStatus,
    HostSpec,
    OrchestratorError,
    OrchestratorEvent,
    ServiceDescription,
    handle_orch_error,
)

if TYPE_CHECKING:
    from harness import procs
else:
    # By its own folder: the rest of the harness needs a newer Python than managers have. The last
    # to be searched, and only by this module: each has an interpreter of its own.
    sys.path.append(str(Path(__file__).resolve().parents[1] / 'harness'))
    import procs

_api: Any = mgr_module
if hasattr(_api, 'CLICommandBase'):  # Tentacle: each module has a registry of commands of its own
    CLICommand: Any = _api.CLICommandBase.make_registry_subtype('LocalOrchestratorCLICommand')
else:
    CLICommand = _api.CLICommand

SERVICE_ID = 'local'
SERVICE_NAME = f'osd.{SERVICE_ID}'
# Where a manager in a chroot finds the machine's own root (qa/harness/chroot.py)
MACHINE = Path('/opt/ceph-qa/machine')
ACTIONS = ('start', 'stop', 'restart')

# systemd gives an OSD as long before it sends SIGKILL
STOP_TIMEOUT_S = 90.0
START_TIMEOUT_S = 300.0

# Computed once: a start time that differs at every sample would look like another process
BOOT_S = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


#: Type, default and description of each option: they inject faults.
OPTIONS: Dict[str, Tuple[str, Any, str]] = {
    'refuse': ('bool', False, 'refuse every action'),
    'hang': ('float', 0.0, 'seconds before an action is even accepted'),
    'late': ('float', 0.0, 'seconds before an accepted action is started'),
    'instead': ('int', -1, 'the OSD that actions on any other OSD hit; -1: none'),
}


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)


def _started(process: procs.DaemonProcess) -> dt.datetime:
    """The start time of a process, from clock ticks since boot."""
    since_boot_s = process.start_ticks / os.sysconf('SC_CLK_TCK')
    return dt.datetime.fromtimestamp(BOOT_S + since_boot_s, dt.timezone.utc)


class LocalOrchestrator(MgrModule, orchestrator.Orchestrator):
    """Asynchronous like cephadm: an action is only scheduled when its command answers."""

    CLICommand = CLICommand
    MODULE_OPTIONS = [  # noqa: RUF012  # as MgrModule declares it
        Option(name=name, type=kind, default=default, desc=text, runtime=True)
        for name, (kind, default, text) in OPTIONS.items()
    ]
    NOTIFY_TYPES = []  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._jobs: queue.Queue[Optional[int]] = queue.Queue()
        # As cephadm: at most one action for each daemon, and its last five events
        self._lock = threading.Lock()
        self._scheduled: Dict[str, str] = {}
        self._events: Dict[str, List[OrchestratorEvent]] = {}
        argv = Path('/proc/self/cmdline').read_bytes().decode().split('\0')
        environ = [f'{key}={value}' for key, value in os.environ.items()]
        self._conf = procs.conf_of(argv, environ) or '/etc/ceph/ceph.conf'
        self._host = os.uname().nodename

    # Required by the orchestrator interface

    def available(self) -> Tuple[bool, str, Dict[str, Any]]:
        return True, '', {}

    @handle_orch_error
    def get_hosts(self) -> List[HostSpec]:
        return [HostSpec(self._host)]

    @handle_orch_error
    def list_daemons(
        self,
        service_name: Optional[str] = None,
        daemon_type: Optional[str] = None,
        daemon_id: Optional[str] = None,
        host: Optional[str] = None,
        refresh: bool = False,  # noqa: ARG002  # the interface's signature
    ) -> List[DaemonDescription]:
        if (
            service_name not in (None, 'osd', SERVICE_NAME)
            or daemon_type not in (None, 'osd')
            or host not in (None, self._host)
        ):
            return []
        running = self._running()
        return [
            self._describe(osd, running.get(osd))
            for osd in self._osds()
            if daemon_id in (None, str(osd))
        ]

    @handle_orch_error
    def describe_service(
        self,
        service_type: Optional[str] = None,
        service_name: Optional[str] = None,
        refresh: bool = False,  # noqa: ARG002  # the interface's signature
    ) -> List[ServiceDescription]:
        if service_type not in (None, 'osd') or service_name not in (None, SERVICE_NAME):
            return []
        spec = {
            'service_type': 'osd',
            'service_id': SERVICE_ID,
            'unmanaged': True,
            'placement': {'hosts': [self._host]},
            'spec': {'data_devices': {'all': True}},
        }
        osds, running = self._osds(), self._running()
        return [
            ServiceDescription(
                spec=ServiceSpec.from_json(spec),
                size=len(osds),
                running=sum(osd in running for osd in osds),
                last_refresh=_now(),
            )
        ]

    @handle_orch_error
    def daemon_action(
        self,
        action: str,
        daemon_name: str,
        image: Optional[str] = None,  # noqa: ARG002  # the interface's signature
        force: bool = False,  # noqa: ARG002
    ) -> str:
        return self._act(action, daemon_name)

    # The work

    def serve(self) -> None:
        """Execute the scheduled actions one by one."""
        # What the manager before this one had still to do, as far as that was stored
        stored = json.loads(self.get_store(self._key) or '{}')
        with self._lock:
            self._scheduled.update(stored.get('scheduled_daemon_actions', {}))
            for name in self._scheduled:
                self._jobs.put(int(name[4:]))
        while True:
            osd = self._jobs.get()
            if osd is None:
                return
            with self._lock:
                action = self._scheduled.get(f'osd.{osd}')
            if action is None:
                continue
            self._be_late()
            try:
                self._execute(action, osd)
            except Exception:
                # As with cephadm, the caller already has its answer: it must check the daemon
                self.log.exception('%s osd.%d failed', action, osd)
            self._executed(action, osd)

    def _number(self, option: str) -> float:
        value = self.get_module_option(option)
        # These options are declared as numbers.
        assert isinstance(value, (int, float))
        return value

    def _be_late(self) -> None:
        """Wait while the option is set; setting it to 0 ends the wait."""
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < self._number('late'):
            time.sleep(0.1)

    def shutdown(self) -> None:
        self._jobs.put(None)

    def _act(self, action: str, daemon_name: str) -> str:
        if action not in ACTIONS:
            raise OrchestratorError(f'cannot {action}: only {", ".join(ACTIONS)} are possible')
        osds = self._osds()
        names = {f'osd.{osd}': osd for osd in osds}
        if daemon_name not in names:
            raise OrchestratorError(
                f'no daemon {daemon_name!r} on host {self._host}: there is '
                f'{", ".join(names) or "none"}'
            )
        time.sleep(self._number('hang'))
        if self.get_module_option('refuse'):
            raise OrchestratorError(
                f'refused to {action} {daemon_name} (option mgr/test_orchestrator/refuse)'
            )
        osd = names[daemon_name]
        instead = int(self._number('instead'))
        if instead >= 0:
            osd = instead
        with self._lock:
            self._scheduled[f'osd.{osd}'] = action
        # Pacific's cephadm keeps it in memory until something else of the host is stored
        if self.release_name != 'pacific':
            self._save()
        self._jobs.put(osd)
        return f"Scheduled to {action} {daemon_name} on host '{self._host}'"

    def _executed(self, action: str, osd: int) -> None:
        """The event that cephadm shows after an action, successful or not."""
        name = f'osd.{osd}'
        message = f"{action} {name} from host '{self._host}'"
        with self._lock:
            self._scheduled.pop(name, None)
            events = self._events.setdefault(name, [])
            same = [event for event in events if event.message == message]
            if not same:
                events.append(OrchestratorEvent(_now(), 'daemon', name, 'INFO', message))
                del events[:-5]
            elif self.release_name != 'pacific':  # which leaves the old one as it is
                same[0].created = _now()
        self._save()

    @property
    def _key(self) -> str:
        return f'host.{self._host}'

    def _save(self) -> None:
        """Store what cephadm's HostCache does, as far as others read it."""
        running = self._running()
        with self._lock:
            record = {
                'daemons': {
                    f'osd.{osd}': {'started': datetime_to_str(_started(process))}
                    for osd, process in running.items()
                },
                'scheduled_daemon_actions': dict(self._scheduled),
            }
        self.set_store(self._key, json.dumps(record))

    def _osds(self) -> List[int]:
        return sorted(int(osd['osd']) for osd in self.get('osd_map')['osds'])

    def _running(self) -> Dict[int, procs.DaemonProcess]:
        newest = procs.newest_by_name(procs.find_daemons(self._conf))
        return {
            int(name[4:]): process
            for name, process in newest.items()
            if name.startswith('osd.') and name[4:].isdigit()
        }

    def _describe(self, osd: int, process: Optional[procs.DaemonProcess]) -> DaemonDescription:
        metadata = self.get('osd_metadata').get(str(osd), {})
        running = process is not None
        return DaemonDescription(
            daemon_type='osd',
            daemon_id=str(osd),
            hostname=self._host,
            version=metadata.get('ceph_version_short'),
            status=DaemonDescriptionStatus.running if running else DaemonDescriptionStatus.stopped,
            status_desc='running' if running else 'stopped',
            started=_started(process) if process is not None else None,
            last_refresh=_now(),
            osdspec_affinity=SERVICE_ID,
            events=self._events_of(osd),
            service_name=SERVICE_NAME,
        )

    def _events_of(self, osd: int) -> List[OrchestratorEvent]:
        with self._lock:
            return list(self._events.get(f'osd.{osd}', ()))

    def _execute(self, action: str, osd: int) -> None:
        begin_s = time.monotonic()
        if action in ('stop', 'restart'):
            self._stop(osd)
        stopped_s = time.monotonic()
        if action in ('start', 'restart'):
            self._start(osd)
        self.log.info(
            '%s osd.%d: stop %.1f s, start %.1f s',
            action,
            osd,
            stopped_s - begin_s,
            time.monotonic() - stopped_s,
        )

    def _stop(self, osd: int) -> None:
        processes = [p for p in procs.find_daemons(self._conf) if p.name == f'osd.{osd}']
        left = procs.stop(processes, self._conf, term_timeout_s=STOP_TIMEOUT_S)
        if left:
            raise OrchestratorError(f'osd.{osd} (pid {left[0].pid}) does not end')

    def _start_command(self, osd: int) -> List[str]:
        """How to start an OSD: qa/cluster leaves a file where releases are mixed."""
        file = Path(self._conf).parent / 'osd' / str(osd) / 'start-command.json'
        if not file.exists():
            return ['ceph-osd', '-i', str(osd), '-c', self._conf]
        # Written for the machine's own root, from which this manager may be in a chroot
        to_machine = ['chroot', str(MACHINE)] if (MACHINE / 'usr').is_dir() else []
        return [*to_machine, *json.loads(file.read_text())]

    def _start(self, osd: int) -> None:
        if osd in self._running():
            return
        environment = {
            key: value
            for key, value in os.environ.items()
            if key != 'LD_PRELOAD' and not key.startswith('PYTHON')
        }
        # The OSD goes into the background; its log explains this exit status
        completed = subprocess.run(
            self._start_command(osd),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd='/',
            timeout=START_TIMEOUT_S,
        )
        if completed.returncode != 0:
            raise OrchestratorError(
                f'osd.{osd} did not start: ceph-osd ended with status {completed.returncode}'
            )

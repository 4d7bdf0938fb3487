"""A real Ceph cluster on loopback, in its own folder.

    with Cluster.up(ClusterSpec(osds=3, mgrs=2)) as cluster:
        cluster.ceph('osd', 'tree')

`Cluster.up` makes one, `Cluster.open` takes the one that is in a folder. All of it works from any
Python 3.9 or later as root; what needs Ceph's Python bindings runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from . import boot, client_procs, ending, layout, packages, procs, services, space, upgrade
from .client import COMMAND_TIMEOUT_S, POLL_S, CephClient, parse_json
from .errors import HarnessError, UsageError
from .hosts import Hosts
from .layout import ClusterSpec, Dashboard, Layout, Record, Rgw
from .ports import PortBlock, held_path, reserve
from .progress import Progress
from .quick import QuickCeph
from .releases import RELEASES, Release, get_release, is_older

LOG_TAIL_LINES = 15
STOP_TIMEOUT_S = 60.0
STOP_ROUNDS = 3
#: A client whose requests hang ignores SIGTERM.
CLIENT_TERM_TIMEOUT_S = 3.0
# As long as another workload may take to install a gateway and to start it
CHANGE_WAIT_S = 600.0
MODULE_LOG_LINES = 40
# Lines that do not begin with a time belong to the entry before: a traceback
_LOG_ENTRY = re.compile(r'\d{4}-\d\d-\d\dT')

# The order in which daemons end: clients of the cluster before it, OSDs while the monitors can
# still take note (else each waits for them), monitors last
_STOP_ORDER: tuple[tuple[tuple[str, ...], float], ...] = (
    (('client', 'mds'), 5.0),
    (('osd',), 15.0),
    (('mgr',), 5.0),
    # The orchestrator in a manager may just have started another one
    (('osd',), 15.0),
    (('mon',), 10.0),
)


#: The folders of the clusters started by this process and not stopped yet.
_live: set[Path] = set()


def live() -> tuple[Path, ...]:
    """The folders of the clusters started by this process and not stopped yet."""
    return tuple(_live)


@dataclass(frozen=True)
class DaemonStatus:
    """One daemon. `pid` is None when it does not run."""

    name: str
    release: str
    pid: int | None
    up: bool


@dataclass(frozen=True)
class ClusterStatus:
    """The daemons of a cluster, by their processes."""

    release: str
    dir: str
    daemons: tuple[DaemonStatus, ...]

    def pid(self, name: str) -> int | None:
        """The process id of a daemon; None when it does not run. KeyError when there is none."""
        return {daemon.name: daemon.pid for daemon in self.daemons}[name]


class Cluster:
    """A cluster that is up, or was."""

    def __init__(self, directory: Path, record: Record, progress: Progress | None = None) -> None:
        self.dir = directory
        self.record = record
        self.layout = Layout(directory, Path(record.run_dir))
        self.hosts = Hosts(directory, record)
        self._quick: QuickCeph | None = None
        self._find_clients()
        self.ports = PortBlock(record.port_base)
        self.progress = progress or Progress()

    # Making and finding

    @classmethod
    def up(
        cls,
        spec: ClusterSpec,
        directory: Path | str | None = None,
        progress: Progress | None = None,
    ) -> Cluster:
        """Create a cluster in a folder that is empty, absent or has the leftovers of a failed one.

        If it cannot be started, everything started so far is stopped before the error is raised;
        the logs stay in the folder until `down` or the next `up`.
        """
        release = get_release(spec.release)
        for name in spec.osd_releases:
            if is_older(get_release(name), release):
                raise UsageError(
                    f'an OSD of {name} cannot join a cluster that {release.name} has made: make it '
                    f'with the oldest of its releases (--release), then upgrade'
                )
        if os.geteuid() != 0:
            raise HarnessError('not root: daemons, packages and their folders need it')
        path = _resolve(directory, spec.release)
        progress = progress or Progress()
        with _locked(path), reserve() as ports:
            was_there = path.is_dir()
            _make_room(path, progress)
            try:
                space.require(path, space.needed_bytes(spec), f'a cluster of {spec.osds} OSDs')
                cluster = kind_of(spec)(path, _new_record(spec, path, ports), progress)
            except BaseException:
                layout.remove_tree(path, keep=was_there)
                raise
            try:
                cluster._start_all_daemons(release)  # noqa: SLF001  # this class' own
            except BaseException as error:
                cluster._cancel_all(error)  # noqa: SLF001
                raise
            _live.add(cluster.dir)
        return cluster

    @classmethod
    def open(cls, directory: Path | str | None = None, progress: Progress | None = None) -> Cluster:
        """The cluster in a folder; HarnessError when there is none."""
        path = _resolve(directory, None)
        record = layout.load_record(path)
        if record is None:
            raise HarnessError(
                f'no cluster in {path}: start one with qa/cluster up --dir {path}, or name '
                f'another folder with --dir'
            )
        return kind_of(record.spec)(path, record, progress)

    def _find_clients(self) -> None:
        """The host of the clients, which have the monitors' release."""
        self.release: Release = self.hosts.release_of('mon.a')
        self.host = self.hosts.of('mon.a')
        self.client = CephClient(self.host, self.layout, self.release)
        self._end_quick()

    def _end_quick(self) -> None:
        quick, self._quick = self._quick, None
        if quick is not None:
            quick.close()

    def _start_all_daemons(self, release: Release) -> None:
        spec, progress = self.record.spec, self.progress
        steps = boot.Boot(
            spec,
            release,
            self.host,
            self.layout,
            self.ports,
            self.record.fsid,
            self.client,
            progress,
            self.hosts,
        )
        boot.install_packages(steps)
        with progress.step('lay out the folder and make keys'):
            boot.install_tree(steps)
            keyring = boot.make_keys(steps)
        with progress.step(f'start {spec.mons} mon'):
            boot.start_mons(steps, keyring)
            boot.configure(steps)
        with progress.step(f'start {spec.mgrs} mgr, make and start {spec.osds} OSDs'):
            boot.start_mgrs_and_osds(steps)
        with progress.step('wait for the OSDs to be up'):
            boot.wait_for_osds(steps)
            boot.make_crush_rules(steps)
            boot.make_erasure_coded_pool(steps)
        with progress.step('wait for the mgr modules to answer'):
            boot.wait_for_modules(self.client, spec)
        if spec.dashboard:
            with progress.step('set up the dashboard'):
                dashboard = services.set_up_dashboard(self.client, self.layout, spec, self.ports)
                self._change(dashboard=dashboard)
        self._change(state='running')
        if spec.rgw:
            self._start_rgw()

    def _cancel_all(self, error: BaseException) -> None:
        """Stop everything that a failed `up` started, and report the log of the failed daemon.

        After a signal nothing is reported or kept.
        """
        self.hosts.resume()
        self.progress.say(f'failed at: {self.progress.current}')
        if isinstance(error, boot.DaemonError) and not ending.reported():
            self._show_log(error)
        self._stop_processes(graceful=False)
        if ending.reported():
            layout.remove_cluster_files(self.dir, self.record)
            self.progress.say('ended what was started, and removed it')
            return
        self._change(state='failed')
        self.progress.say(
            f'ended what was started. The logs stay in {self.layout.logs} until the next up or '
            f'qa/cluster down --dir {self.dir}'
        )

    def _show_log(self, error: boot.DaemonError) -> None:
        tail = self.log_tail(error.daemon, error.module)
        if tail:
            self.progress.say(tail)

    @contextlib.contextmanager
    def _with_log(self) -> Iterator[None]:
        """Show the log of a daemon that could not be started."""
        try:
            yield
        except boot.DaemonError as error:
            self._show_log(error)
            raise

    def _change(self, **changes: Any) -> None:
        self._follow(layout.change_record(self.dir, self.record, **changes))

    def _follow(self, record: Record) -> None:
        self.record = record
        self.hosts.follow(record)
        self._find_clients()

    # Using

    def ceph(self, *arguments: str, stdin: str = '', timeout_s: float = COMMAND_TIMEOUT_S) -> str:
        """The output of `ceph ARGUMENTS`; CommandError when it fails. See `quick.py`."""
        if self.record.spec.cephadm:
            return self.client.ceph(*arguments, stdin=stdin, timeout_s=timeout_s)
        if self._quick is None:
            self._quick = QuickCeph(self.client)
        return self._quick.ceph(*arguments, stdin=stdin, timeout_s=timeout_s)

    def ceph_json(self, *arguments: str, timeout_s: float = COMMAND_TIMEOUT_S) -> Any:
        """The document that `ceph ARGUMENTS --format json` prints."""
        text = self.ceph(*arguments, '--format', 'json', timeout_s=timeout_s)
        return parse_json(text, arguments)

    def replace_process(self, argv: Sequence[str]) -> NoReturn:
        """Become that command: signals, terminal and exit status are its own."""
        command = self.host.command_here(argv)
        self.require_running()
        environment = self.host.environment(self.env())
        missing = f'{argv[0]}: no such program on this host'
        if not self.host.has_program(argv[0]):
            raise UsageError(missing)
        try:
            os.execvpe(command[0], command, environment)
        except FileNotFoundError as error:
            raise UsageError(missing) from error
        except PermissionError as error:
            raise UsageError(f'{argv[0]}: cannot be executed: {error}') from error

    def env(self) -> dict[str, str]:
        """Environment variables for clients of the cluster."""
        values = dict(self.client.environment)
        if self.record.dashboard is not None:
            values['DASHBOARD_URL'] = self._dashboard_url(self.record.dashboard)
            values['DASHBOARD_USER'] = self.record.dashboard.user
            values['DASHBOARD_PASSWORD'] = self.record.dashboard.password
        if self.record.rgw is not None:
            values['RGW_URL'] = self.record.rgw.url
            values['AWS_ACCESS_KEY_ID'] = self.record.rgw.access_key
            values['AWS_SECRET_ACCESS_KEY'] = self.record.rgw.secret_key
        return values

    def _dashboard_url(self, dashboard: Dashboard) -> str:
        """On the active manager; while there is none to ask, on the first."""
        urls = dashboard.urls
        if len(urls) > 1:
            with contextlib.suppress(HarnessError):
                active = self.ceph_json('mgr', 'stat', timeout_s=5)['active_name']
                return urls.get(active) or next(iter(urls.values()))
        return next(iter(urls.values()))

    def status(self) -> ClusterStatus:
        """The daemons that were started, and any other that runs with this cluster's ceph.conf."""
        running = procs.newest_by_name(self._daemons())
        names = [*self.record.daemons, *sorted(set(running) - set(self.record.daemons))]
        daemons = tuple(
            DaemonStatus(
                name,
                self.record.release_of(name),
                running[name].pid if name in running else None,
                name in running,
            )
            for name in names
        )
        return ClusterStatus(self.record.spec.release, str(self.dir), daemons)

    def stop_daemon(self, name: str, *, kill: bool = False) -> None:
        """End a daemon (SIGTERM, or SIGKILL with `kill`); it does not run when this returns."""
        if not self._runs(name):
            raise HarnessError(f'{name} does not run in {self.dir}')
        self._stop_if_it_runs(name, 0.0 if kill else STOP_TIMEOUT_S)

    def _stop_if_it_runs(self, name: str, term_timeout_s: float = STOP_TIMEOUT_S) -> None:
        if self._stop(lambda daemon: daemon.name == name, term_timeout_s):
            raise HarnessError(f'{name} does not end')

    def start_daemon(self, name: str) -> None:
        """Start a daemon of this cluster that does not run; it may not be up yet on return."""
        if name not in self.record.daemons:
            raise HarnessError(f'no {name} in {self.dir}: {", ".join(self.record.daemons)}')
        if self._runs(name):
            raise HarnessError(f'{name} runs already')
        with self._with_log():
            boot.start_daemon(self.hosts, self.layout, name)

    def register_daemon(self, name: str) -> None:
        """From now on this is a daemon of the cluster."""
        self._change(daemons=self._daemons_with(name))

    def forget_daemon(self, name: str) -> None:
        """This is no daemon of the cluster any more; it must not run."""
        if self._runs(name):
            raise HarnessError(f'{name} still runs in {self.dir}')
        self._change(daemons=tuple(known for known in self.record.daemons if known != name))

    def upgrade(self, release: Release, words: Sequence[str]) -> None:
        """Go on with another release's programs on the same data.

        `words` name daemons ("osd.2") or all of a kind ("mon", "mgr"). One after the other in
        Ceph's order, each when the one before is back; managers together.
        """
        with _locked(self.dir, CHANGE_WAIT_S):
            self._reload()
            self.require_running()
            steps = upgrade.steps(self.record, release, words)
            names = [name for step in steps for name in step]
            purposes = upgrade.packages_for(names, dashboard=self.record.spec.dashboard)
            self.hosts.install([release], purposes, self.progress)
            for step in steps:
                with (
                    self._with_log(),
                    self.progress.step(f'{", ".join(step)}: stop, start as {release.name}'),
                ):
                    self._move(step, release)

    def _move(self, names: Sequence[str], release: Release) -> None:
        nonces = upgrade.osd_nonces(self)
        for name in names:
            self._stop_if_it_runs(name)
        self._change(moved=self._moved(names, release))
        if any(name.startswith('mgr.') for name in names):
            boot.link_modules(self.record.spec, self.layout, self.hosts)
        for osd in range(self.record.spec.osds):
            self.hosts.write_start_command(self.layout, f'osd.{osd}')
        for name in names:
            self.start_daemon(name)
        upgrade.wait_until_restarted(self, names, nonces)

    def _moved(self, names: Sequence[str], release: Release) -> tuple[tuple[str, str], ...]:
        moved = {**dict(self.record.moved), **dict.fromkeys(names, release.name)}
        return tuple(sorted(moved.items()))

    def restart_osd(self, osd: int) -> None:
        """End and start an OSD as an operator does on its host, past any orchestrator."""
        self.stop_daemon(f'osd.{osd}')
        self.start_daemon(f'osd.{osd}')

    def pgs_are_clean(self) -> bool:
        """Whether all placement groups are active and clean, scrubbed or not.

        Those of a new pool count from the start: the manager's summary lacks them at first.
        """
        wanted = sum(pool['pg_num'] for pool in self.ceph_json('osd', 'dump')['pools'])
        states = self.ceph_json('status')['pgmap'].get('pgs_by_state', [])
        clean = sum(s['count'] for s in states if s['state_name'].startswith('active+clean'))
        return bool(clean == wanted)

    def log_tail(self, name: str, module: str | None = None, lines: int = LOG_TAIL_LINES) -> str:
        """The last lines of a daemon's log, with a heading; '' without a log.

        With `module`, the lines of a manager's log about that mgr module.
        """
        path = self.host.outside(self.layout.log(name))
        try:
            text = path.read_text(errors='replace').splitlines()
        except OSError:
            return ''
        about = lines_about_module(text, module) if module else []
        heading = f'{path} on {module}:' if about else f'the end of {path}:'
        chosen = about or without_dumps(text)[-lines:]
        return '\n'.join([heading, *(f'    {line}' for line in chosen)])

    def install(self, purpose: str) -> None:
        """Install the release's packages for a purpose (a key of Release.packages)."""
        packages.install(self.host, self.release.packages[purpose], self.progress)

    def require_running(self) -> None:
        """HarnessError unless this cluster is up: its ports may be another cluster's by now."""
        if self.record.state != 'running' or not self._daemons():
            raise HarnessError(
                f'the cluster in {self.dir} is not running (its state: {self.record.state})'
            )

    def ensure_rgw(self) -> Rgw:
        """The cluster's object gateway, started if there is none."""
        self.require_running()
        with _locked(self.dir, CHANGE_WAIT_S):
            self._reload()
            rgw = self.record.rgw
            if rgw is None or not self._runs(f'client.{rgw.id}'):
                with self._with_log():
                    rgw = self._start_rgw()
            return rgw

    def ensure_mds(self) -> str:
        """The id of the cluster's MDS, started with a file system if there is none."""
        self.require_running()
        with _locked(self.dir, CHANGE_WAIT_S):
            self._reload()
            mds = self.record.mds
            if mds is None or not self._runs(f'mds.{mds}'):
                self._prepare_new(f'mds.{services.MDS_ID}', 'mds')
                with self._with_log(), self.progress.step('start an MDS and make a file system'):
                    mds = services.start_mds(self.client, self.layout, self.record.spec, self.hosts)
                self._change(mds=mds, daemons=self._daemons_with(f'mds.{mds}'))
            return mds

    def _start_rgw(self) -> Rgw:
        self._prepare_new(f'client.{services.RGW_ID}', 'rgw')
        with self.progress.step('start an object gateway'):
            rgw = services.start_rgw(
                self.client, self.layout, self.record.spec, self.ports, self.hosts
            )
        self._change(rgw=rgw, daemons=self._daemons_with(f'client.{rgw.id}'))
        return rgw

    def _prepare_new(self, name: str, purpose: str) -> None:
        """A daemon that is made later is of the release that the monitors run by then."""
        if name not in self.record.daemons and self.release.name != self.record.release_of(name):
            self._change(moved=self._moved([name], self.release))
        self.hosts.install([self.hosts.release_of(name)], [purpose], self.progress)

    def _daemons_with(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.record.daemons, name)))

    def _reload(self) -> None:
        record = layout.load_record(self.dir)
        if record is None:
            raise HarnessError(f'the cluster in {self.dir} was taken down meanwhile')
        self._follow(record)

    def _daemons(self) -> list[procs.DaemonProcess]:
        return procs.find_daemons(str(self.layout.conf))

    def _runs(self, name: str) -> bool:
        return any(daemon.name == name for daemon in self._daemons())

    # Ending

    def down(self) -> None:
        """End the cluster's daemons and remove its folder."""
        self._end_quick()
        with _locked(self.dir, CHANGE_WAIT_S):
            if layout.load_record(self.dir) is None:
                return
            self._reload()
            if self._is_there():
                with self.progress.step('end clients and daemons'):
                    self._stop_processes(graceful=True)
            _live.discard(self.dir)
            layout.remove_cluster_files(self.dir, self.record)

    def _is_there(self) -> bool:
        """Whether anything of it may still run."""
        return bool(self._daemons() or self._clients())

    def _clients(self) -> list[procs.DaemonProcess]:
        return client_procs.find_clients(str(self.layout.conf), self.record.fsid)

    def _stop_processes(self, *, graceful: bool) -> None:
        """Stop everything that belongs to the cluster, without a grace period after a signal."""
        self._stop_clients(CLIENT_TERM_TIMEOUT_S if graceful else 0.0)
        for types, term_timeout_s in _STOP_ORDER:
            self._stop(
                lambda daemon, types=types: daemon.name.partition('.')[0] in types,  # type: ignore[misc]
                term_timeout_s if graceful else 0.0,
                hurry=ending.reported,
            )
        # A manager may have had children, and clients may have come meanwhile
        self._stop_clients(0.0)
        left = self._daemons() + self._clients()
        if left:
            names = ', '.join(f'{process.name} (pid {process.pid})' for process in left)
            raise HarnessError(f'these processes do not end: {names}')

    def _stop_clients(self, term_timeout_s: float) -> None:
        client_procs.stop_clients(
            str(self.layout.conf),
            self.record.fsid,
            term_timeout_s=term_timeout_s,
            hurry=ending.reported,
        )

    def _stop(
        self,
        chosen: Callable[[procs.DaemonProcess], bool],
        term_timeout_s: float,
        hurry: Callable[[], bool] = lambda: False,
    ) -> list[procs.DaemonProcess]:
        """Stop the chosen daemons; returns what is left.

        Repeated: a manager that was respawning may have had a child meanwhile.
        """
        left: list[procs.DaemonProcess] = []
        for _ in range(STOP_ROUNDS):
            left = [daemon for daemon in self._daemons() if chosen(daemon)]
            if not left:
                break
            left = procs.stop(
                left, str(self.layout.conf), term_timeout_s=term_timeout_s, hurry=hurry
            )
            if left:
                break
        return left

    def __enter__(self) -> Cluster:  # noqa: PYI034  # Self is of Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()


#: Classes of clusters that are not this file's, by what asks for one in a specification.
KINDS: dict[str, type[Cluster]] = {}


def kind_of(spec: ClusterSpec) -> type[Cluster]:
    """The class of the clusters that are made so."""
    return KINDS['cephadm'] if spec.cephadm else Cluster


def without_dumps(lines: Sequence[str]) -> list[str]:
    """A log without what a daemon that crashes repeats there: up to 10000 recent entries."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if line.startswith('--- begin dump of recent events'):
            inside = True
        if not inside:
            kept.append(line)
        if line.startswith('--- end dump of recent events'):
            inside = False
    return kept


def lines_about_module(lines: Sequence[str], module: str) -> list[str]:
    """The lines of a manager's log on loading a mgr module, its messages and tracebacks."""
    entries: list[list[str]] = []
    for line in lines:
        if entries and not _LOG_ENTRY.match(line):
            entries[-1].append(line)
        else:
            entries.append([line])
    signs = (f"'{module}'", f'[{module} ', f'/{module}/')
    chosen = [
        line
        for entry in entries
        if any(sign in line for line in entry for sign in signs)
        for line in entry
        if line
    ]
    return chosen[-MODULE_LOG_LINES:]


def _new_record(spec: ClusterSpec, path: Path, ports: PortBlock) -> Record:
    """The record that makes an empty folder a cluster's."""
    run_dir = layout.make_run_dir(path)
    try:
        record = Record(
            state='starting',
            fsid=str(uuid.uuid4()),
            port_base=ports.base,
            run_dir=str(run_dir),
            spec=spec,
            daemons=tuple(boot.daemon_names(spec)),
        )
        layout.save_record(path, record)
    except BaseException:
        layout.remove_tree(run_dir)
        raise
    return record


def _resolve(directory: Path | str | None, release: str | None) -> Path:
    """The folder that is meant: named, in the environment, the release's, or the only one."""
    chosen = directory or os.environ.get('QA_CLUSTER_DIR')
    if chosen:
        return Path(chosen).resolve()
    if release is not None:
        return layout.default_dir(release)
    usual = [layout.default_dir(name) for name in RELEASES]
    found = [path for path in usual if layout.load_record(path) is not None]
    if len(found) > 1:
        names = ', '.join(map(str, found))
        raise UsageError(f'there are several clusters: choose one of {names} with --dir')
    return found[0] if found else usual[0]


def _locked(path: Path, wait_s: float = 0.0) -> contextlib.AbstractContextManager[None]:
    """Only one `up`, `down` or change at a time in a folder; another one is waited for."""
    return held_path(
        'dir',
        path,
        wait_s=wait_s,
        busy=f'another qa/cluster or qa/workload is at work in {path}',
        pause=lambda: ending.pause(POLL_S),
    )


def _make_room(path: Path, progress: Progress) -> None:
    """Leave `path` an empty folder, or refuse."""
    record = layout.load_record(path)
    if record is None:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise HarnessError(
                f'{path} is not empty and was not made by this harness: choose a folder that is '
                f'empty or does not exist'
            )
        path.mkdir(parents=True, exist_ok=True)
        return
    left = kind_of(record.spec)(path, record, progress)
    daemons = left._daemons()  # noqa: SLF001  # this class' own
    if daemons:
        raise HarnessError(
            f'a cluster is running in {path} ({len(daemons)} daemons): take it down with '
            f'qa/cluster down --dir {path}, or choose another folder with --dir'
        )
    progress.say(f'the cluster that was in {path} does not run any more: its files are replaced')
    left._stop_processes(graceful=True)  # noqa: SLF001
    layout.remove_cluster_files(path, record)
    path.mkdir(parents=True)

"""How a cluster comes into being: one function per step, in the order in which they run.

Monitors first (they hold keys and configuration), then managers and OSDs side by side, then
what needs a working cluster. The mgr modules are enabled before the first manager starts, because
each later `mgr module enable` makes the manager start over.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import conf, packages, preload, slow_sync, tab
from .client import CephClient, wait_until
from .errors import CommandError, HarnessError
from .host import Host, in_parallel
from .hosts import Hosts
from .layout import CHECKOUT, QA, ClusterSpec, Layout
from .ports import PortBlock
from .progress import Progress
from .releases import Release

START_TIMEOUT_S = 120.0
MKFS_TIMEOUT_S = 120.0
UP_TIMEOUT_S = 120.0
MODULE_TIMEOUT_S = 120.0

#: The erasure-coded pool and its profile.
EC_POOL, EC_PG_NUM = 'ec', '16'
ORCHESTRATOR = 'test_orchestrator'
MODULE = 'rocksdb_tuner'
DASHBOARD = 'dashboard'
CONTROLLERS = 'controllers'
#: Of Ceph's own mgr modules, what a cluster with few of them has: those that are always on, without
#: which its health is an error, and the one that conf.py enables.
MINIMAL_MODULES = frozenset(
    {
        *('balancer', 'crash', 'devicehealth', 'iostat', 'orchestrator', 'pg_autoscaler'),
        *('progress', 'rbd_support', 'status', 'telemetry', 'volumes'),
    }
)

_CAPS: dict[str, tuple[str, ...]] = {
    'mon.': ('mon', 'allow *'),
    'client.admin': ('mon', 'allow *', 'osd', 'allow *', 'mgr', 'allow *', 'mds', 'allow *'),
    'mgr': ('mon', 'allow profile mgr', 'osd', 'allow *', 'mds', 'allow *'),
    'osd': ('mon', 'allow profile osd', 'mgr', 'allow profile osd', 'osd', 'allow *'),
}


class DaemonError(HarnessError):
    """A daemon could not be made or started; `daemon` is its name, for its log.

    `module`: the mgr module that is to blame.
    """

    def __init__(self, daemon: str, message: str, module: str | None = None) -> None:
        self.daemon = daemon
        self.module = module
        super().__init__(message)


@dataclass(frozen=True)
class Boot:
    """The input of every step."""

    spec: ClusterSpec
    release: Release
    host: Host
    layout: Layout
    ports: PortBlock
    fsid: str
    client: CephClient
    progress: Progress
    hosts: Hosts


def install_packages(boot: Boot) -> None:
    """The parts that this machine or the chroots lack for such a cluster."""
    purposes = ['core'] + ['rgw'] * boot.spec.rgw + ['dashboard'] * boot.spec.dashboard
    releases = [boot.hosts.release_of(name) for name in daemon_names(boot.spec)]
    boot.hosts.install(releases, purposes, boot.progress)
    if boot.spec.slow_sync:
        packages.install(Host(), preload.PACKAGES, boot.progress)


def start_daemon(hosts: Hosts, layout: Layout, name: str) -> None:
    """Start a daemon, which puts itself into the background once it is set up."""
    host, release = hosts.of(name), hosts.release_of(name)
    daemon_type, _, daemon_id = name.partition('.')
    if daemon_type == 'client':
        argv = ['radosgw', '-n', name]
    else:
        argv = [f'ceph-{daemon_type}', '-i', daemon_id]
    if daemon_type == 'mgr':
        # The checkout's module is imported through a link: no __pycache__ into the checkout
        environment = {'PYTHONDONTWRITEBYTECODE': '1', **release.mgr_environment}
        # By env: a library to preload is there only once the mgr's own root is
        argv = ['env', *(f'{key}={value}' for key, value in environment.items()), *argv]
    try:
        host.run(hosts.argv(name, [*argv, '-c', str(layout.conf)]), timeout_s=START_TIMEOUT_S)
    except CommandError as error:
        raise DaemonError(name, f'{name} did not start: {error}') from error


def install_tree(boot: Boot) -> None:
    """The folders, ceph.conf and the folder of mgr modules."""
    layout, outside = boot.layout, boot.host.outside
    for directory in (layout.logs, layout.crashes, layout.clients, layout.mgr_modules):
        outside(directory).mkdir()
    for name in daemon_names(boot.spec):
        outside(layout.data(name)).mkdir(parents=True)
    content = conf.sections(boot.spec, boot.release, layout, boot.ports, boot.fsid)
    outside(layout.conf).write_text(conf.render(content))
    link_modules(boot.spec, layout, boot.hosts)
    if boot.spec.slow_sync:
        slow_sync.build(Host(), layout.dir)


def daemon_names(spec: ClusterSpec) -> list[str]:
    """The names of the daemons that every cluster like this has, as Ceph names them."""
    return [
        *(f'mon.{i}' for i in spec.mon_ids),
        *(f'mgr.{i}' for i in spec.mgr_ids),
        *(f'osd.{i}' for i in range(spec.osds)),
    ]


def link_modules(spec: ClusterSpec, layout: Layout, hosts: Hosts) -> None:
    """One folder of links: `mgr_module_path` takes only one, and it must hold Ceph's own too."""
    manager = f'mgr.{spec.mgr_ids[0]}'
    host, release = hosts.of(manager), hosts.release_of(manager)
    folder = host.outside(layout.mgr_modules)
    for link in folder.iterdir():
        if link.is_symlink():
            link.unlink()
        else:
            shutil.rmtree(link)
    ours = {MODULE: Path(spec.module)} if spec.module else {}
    if spec.orchestrator:
        ours[ORCHESTRATOR] = QA / 'local_orch'
    for name, source in ours.items():
        if not (source / '__init__.py').is_file():
            raise HarnessError(f'no mgr module {name} in {source}: it has no __init__.py')
        (folder / name).symlink_to(source)
    shipped = Path(release.mgr_modules)
    for source in shipped_modules(host.outside(shipped), few=spec.few_mgr_modules):
        if source.name == DASHBOARD and spec.module and spec.dashboard:
            _install_dashboard(folder / DASHBOARD, source, shipped / DASHBOARD)
        elif source.name not in ours:
            (folder / source.name).symlink_to(shipped / source.name)


def shipped_modules(folder: Path, *, few: bool) -> list[Path]:
    """What a manager is to have of the folder of Ceph's own modules; what they share is no module.

    Not by `mgr_disabled_modules`: that would have to name the modules of each release.
    """

    def is_requested(source: Path) -> bool:
        return not few or source.name in MINIMAL_MODULES or not (source / 'module.py').is_file()

    return sorted(filter(is_requested, folder.iterdir()))


def _install_dashboard(folder: Path, shipped: Path, shipped_inside: Path) -> None:
    """The shipped dashboard with our controllers in it: links, but for the folder of controllers.

    The dashboard does not load a controller that is a link. The tab is in it where it was built
    (tab.py).
    """
    (folder / CONTROLLERS).mkdir(parents=True)
    for source in shipped.iterdir():
        if source.name != CONTROLLERS:
            (folder / source.name).symlink_to(shipped_inside / source.name)
    built = tab.bundle()
    # The drop-in's rocksdb_tuner.py takes the place of that of Ceph's tree.
    for place in (shipped, CHECKOUT / 'src/pybind/mgr' / DASHBOARD, tab.DROPIN / DASHBOARD):
        for source in (place / CONTROLLERS).glob('*.py'):
            shutil.copy(source, folder / CONTROLLERS)
    if built is not None:
        shutil.copy(built, folder / CONTROLLERS)


def make_keys(boot: Boot) -> Path:
    """A keyring per daemon, and one with all of them for the monitors' first start."""
    host, layout = boot.host, boot.layout
    everything = layout.dir / 'mkfs.keyring'

    def make(keyring: Path, entity: str, caps: Sequence[str]) -> None:
        argv = ['ceph-authtool', str(keyring), '--create-keyring', '--gen-key', '-n', entity]
        for service, allowed in zip(caps[::2], caps[1::2]):
            argv += ['--cap', service, allowed]
        host.run(argv)
        if keyring != everything:
            host.run(['ceph-authtool', str(everything), '--import-keyring', str(keyring)])

    make(everything, 'mon.', _CAPS['mon.'])
    make(layout.admin_keyring, 'client.admin', _CAPS['client.admin'])
    for name in daemon_names(boot.spec):
        daemon_type = name.partition('.')[0]
        if daemon_type != 'mon':
            make(layout.data(name) / 'keyring', name, _CAPS[daemon_type])
    return everything


def start_mons(boot: Boot, keyring: Path) -> None:
    """Make and start the monitors; they have a quorum when this returns."""
    host, layout, spec = boot.host, boot.layout, boot.spec
    monmap = layout.dir / 'monmap'
    argv = ['monmaptool', '--create', '--fsid', boot.fsid]
    for rank, mon_id in enumerate(spec.mon_ids):
        argv += ['--addv', mon_id, conf.mon_address(boot.ports, rank)]
    host.run([*argv, str(monmap)])

    def create_and_start(mon_id: str) -> None:
        name = f'mon.{mon_id}'
        mkfs = ['ceph-mon', '--mkfs', '-i', mon_id, '-c', str(layout.conf)]
        try:
            host.run([*mkfs, '--monmap', str(monmap), '--keyring', str(keyring)])
        except CommandError as error:
            raise DaemonError(name, f'{name} could not be made: {error}') from error
        start_daemon(boot.hosts, layout, name)

    in_parallel(boot.hosts, [partial(create_and_start, mon_id) for mon_id in spec.mon_ids])
    for path in (keyring, monmap):
        host.outside(path).unlink()
    try:
        boot.client.ceph('mon', 'stat', timeout_s=START_TIMEOUT_S)
    except CommandError as error:
        raise DaemonError('mon.a', f'the monitors have no quorum: {error}') from error


def configure(boot: Boot) -> None:
    """Enable our mgr modules and set what ceph.conf cannot hold: options of mgr modules.

    Not by mgr_initial_modules: the monitor splits that at underscores.
    """
    spec, ports = boot.spec, boot.ports
    options = {
        # Asking the files' disk for its health every hour is no use, and makes a pool
        'mgr/devicehealth/enable_monitoring': 'false',
        'mgr/prometheus/server_addr': '127.0.0.1',
    }
    for rank, mgr_id in enumerate(spec.mgr_ids):
        options[f'mgr/prometheus/{mgr_id}/server_port'] = str(ports.prometheus(rank))
    if spec.orchestrator:
        options['mgr/orchestrator/orchestrator'] = ORCHESTRATOR
    if spec.dashboard:
        options['mgr/dashboard/ssl'] = 'false'
        options['mgr/dashboard/server_addr'] = '127.0.0.1'
        for rank, mgr_id in enumerate(spec.mgr_ids):
            options[f'mgr/dashboard/{mgr_id}/server_port'] = str(ports.dashboard(rank))
    # --force: the monitors know a module's options only after a manager has told them
    commands: list[tuple[str, ...]] = [
        ('config', 'set', 'mgr', key, value) for key, value in options.items()
    ]
    # --force: nor do they know which modules a manager has
    modules = [MODULE] * bool(spec.module) + [ORCHESTRATOR] * spec.orchestrator
    modules += ['dashboard'] * spec.dashboard
    commands += [('mgr', 'module', 'enable', module) for module in modules]

    in_parallel(
        boot.hosts,
        [partial(boot.client.ceph, *command, '--force') for command in commands],
    )


def new_osd(client: CephClient, osd: int) -> str:
    """The uuid of a new OSD. The monitors give the lowest free number, which must be ``osd``."""
    osd_uuid = str(uuid.uuid4())
    given = client.ceph('osd', 'new', osd_uuid).strip()
    if given != str(osd):
        raise HarnessError(f'the monitors gave osd.{osd} the number {given}')
    return osd_uuid


def make_osd(
    hosts: Hosts, layout: Layout, spec: ClusterSpec, osd: int, osd_uuid: str, device_class: str
) -> None:
    """Make the store of an OSD in its folder, which has its key."""
    name = f'osd.{osd}'
    host = hosts.of(name)
    if spec.osd_releases or spec.crush_hosts or spec.slow_sync:
        hosts.write_start_command(layout, name)
    # Read by the OSD at each start; else it would call itself hdd after the disk of its file
    file = host.outside(layout.data(name) / 'crush_device_class')
    file.write_text(f'{device_class}\n')
    mkfs = ['ceph-osd', '--mkfs', '-i', str(osd), '-c', str(layout.conf), '--osd-uuid', osd_uuid]
    try:
        host.run(mkfs, timeout_s=MKFS_TIMEOUT_S)
    except CommandError as error:
        raise DaemonError(name, f'{name} could not be made: {error}') from error


def start_mgrs_and_osds(boot: Boot) -> None:
    """Start all managers and make and start all OSDs, side by side."""
    layout, spec = boot.layout, boot.spec
    uuids = [new_osd(boot.client, osd) for osd in range(spec.osds)]

    def create_and_start(osd: int) -> None:
        make_osd(boot.hosts, layout, spec, osd, uuids[osd], spec.class_of_osd(osd))
        start_daemon(boot.hosts, layout, f'osd.{osd}')

    def start_mgr(mgr_id: str) -> None:
        start_daemon(boot.hosts, layout, f'mgr.{mgr_id}')

    tasks: list[Callable[[], None]] = []
    tasks += [partial(start_mgr, mgr_id) for mgr_id in spec.mgr_ids]
    tasks += [partial(create_and_start, osd) for osd in range(spec.osds)]
    in_parallel(boot.hosts, tasks)


def wait_for_osds(boot: Boot) -> None:
    """All OSDs are up and in."""

    def up() -> int:
        return int(boot.client.ceph_json('osd', 'stat')['num_up_osds'])

    def down() -> list[str]:
        osds = boot.client.ceph_json('osd', 'dump')['osds']
        return [f'osd.{osd["osd"]}' for osd in osds if not osd['up']]

    try:
        wait_until(lambda: up() == boot.spec.osds, UP_TIMEOUT_S, 'all OSDs up')
    except HarnessError as error:
        missing = down()
        raise DaemonError(
            missing[0] if missing else 'mon.a', f'{error}: down are {missing}'
        ) from error


def crush_rule(spec: ClusterSpec) -> str:
    """The name of the rule that places the workloads' pools on a device class."""
    return f'replicated_{spec.pool_class}'


def make_crush_rules(boot: Boot) -> None:
    """A rule for replicated pools on each device class."""
    for name in boot.spec.classes:
        boot.client.ceph(
            'osd', 'crush', 'rule', 'create-replicated', f'replicated_{name}',
            'default', boot.spec.failure_domain, name,
        )  # fmt: skip


def make_erasure_coded_pool(boot: Boot) -> None:
    """The data pool of RBD, if an erasure code is configured."""
    if boot.spec.erasure_code is None:
        return
    k, m = boot.spec.erasure_code
    for command in (
        (
            'osd', 'erasure-code-profile', 'set', EC_POOL, f'k={k}', f'm={m}',
            f'crush-failure-domain={boot.spec.failure_domain}',
            f'crush-device-class={boot.spec.pool_class}',
        ),
        ('osd', 'pool', 'create', EC_POOL, EC_PG_NUM, EC_PG_NUM, 'erasure', EC_POOL),
        # Without it an image's data cannot be written over
        ('osd', 'pool', 'set', EC_POOL, 'allow_ec_overwrites', 'true'),
        ('osd', 'pool', 'application', 'enable', EC_POOL, 'rbd'),
    ):  # fmt: skip
        boot.client.ceph(*command)


def _module_error(client: CephClient, module: str) -> str:
    """The health message about a module that cannot run; '' if there is none."""
    checks = client.ceph_json('health', 'detail').get('checks', {})
    for code in ('MGR_MODULE_ERROR', 'MGR_MODULE_DEPENDENCY'):
        for entry in checks.get(code, {}).get('detail', []):
            if f"'{module}'" in entry['message']:
                return str(entry['message'])
    return ''


def _wait_for_answer(client: CephClient, module: str, command: tuple[str, ...]) -> None:
    """A command of the module answers with success."""
    last = ''

    def answers() -> bool:
        nonlocal last
        done = client.run('ceph', *command, timeout_s=MODULE_TIMEOUT_S, check=False)
        last = (done.stderr or done.stdout).strip()
        if done.returncode != 0:
            error_text = _module_error(client, module)
            if error_text:
                raise HarnessError(error_text)
        return done.returncode == 0

    what = f'ceph {" ".join(command)} answers'
    try:
        wait_until(answers, MODULE_TIMEOUT_S, what, detail=lambda: last)
    except HarnessError as error:
        active = client.ceph_json('mgr', 'stat')['active_name']
        raise DaemonError(f'mgr.{active}', str(error), module) from error


def _check_orchestrator(client: CephClient) -> None:
    status = client.ceph_json('orch', 'status')
    if not status.get('available'):
        raise HarnessError(f'the local orchestrator is not available: {json.dumps(status)}')


def wait_for_modules(client: CephClient, spec: ClusterSpec) -> None:
    """A manager is active, and its commands of our modules answer."""
    try:
        wait_until(
            lambda: bool(client.ceph_json('mgr', 'stat')['available']),
            MODULE_TIMEOUT_S,
            'a manager is active',
        )
        if spec.orchestrator:
            _wait_for_answer(client, ORCHESTRATOR, ('orch', 'status'))
            _check_orchestrator(client)
        if spec.module:
            _wait_for_answer(client, MODULE, ('rocksdb-tuner', 'status'))
        wait_until(
            lambda: len(client.ceph_json('mgr', 'dump')['standbys']) == spec.mgrs - 1,
            MODULE_TIMEOUT_S,
            f'{spec.mgrs - 1} standby managers',
        )
    except DaemonError:
        raise
    except HarnessError as error:
        raise DaemonError(f'mgr.{spec.mgr_ids[0]}', str(error)) from error

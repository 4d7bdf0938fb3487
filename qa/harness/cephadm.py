"""A cluster under cephadm: monitor, managers and OSDs in containers, on one host that is one too.

    machine --- veth pair --- host (systemd, sshd, podman) --- containers of daemons (host network)

The host is a privileged container without a network but a veth pair of its own. Clients run in the
chroot of the release, as for other clusters. All that is made ends with the host's container: its
mounts, its network with the pair, its processes. Only the loop devices under the OSDs are outside;
they are found by their files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from . import boot, cephadm_image, client_procs, procs
from .client import wait_until
from .cluster import CLIENT_TERM_TIMEOUT_S, KINDS, Cluster, ClusterStatus, DaemonStatus
from .errors import CommandError, HarnessError
from .host import Completed, Host
from .ports import BLOCK_PORTS
from .releases import Release

#: The host's name, and of its container with the first digits of the fsid.
HOST = 'qa-host'
MODULE_DIR = '/rocksdb_tuner'
BOOTSTRAP_TIMEOUT_S = 600.0
OSDS_TIMEOUT_S = 900.0
OSD_SERVICE = 'osd.disks'
#: The module in every manager: what cephadm redeploys them with.
_MOUNT = f'--volume={MODULE_DIR}:/usr/share/ceph/mgr/rocksdb_tuner:ro'


class CephadmCluster(Cluster):
    """A cluster whose daemons cephadm runs."""

    @property
    def podman(self) -> cephadm_image.Podman:
        return cephadm_image.Podman(Host())

    @property
    def container(self) -> str:
        """The name of the host's container on the machine."""
        return f'ceph-qa-{self.record.fsid[:8]}'

    @property
    def address(self) -> str:
        """The host's address. Each block of ports, held by one cluster at a time, has a network."""
        return f'{self._network}.1'

    @property
    def _link_name(self) -> str:
        return f'qa{self.record.fsid[:8]}'

    @property
    def _network(self) -> str:
        return f'10.77.{self.record.port_base // BLOCK_PORTS}'

    def on_host(
        self, *argv: str, stdin: str = '', timeout_s: float = 120.0, check: bool = True
    ) -> Completed:
        """Run a command on the host, as root there."""
        return self.podman.run(
            'exec', '-i', self.container, *argv, stdin=stdin, timeout_s=timeout_s, check=check
        )

    def shell(self, script: str, timeout_s: float = 120.0) -> str:
        """The output of a script on the host."""
        return self.on_host('bash', '-ec', script, timeout_s=timeout_s).stdout

    # Coming up

    def _start_all_daemons(self, release: Release) -> None:
        spec, progress = self.record.spec, self.progress
        cephadm_image.ensure(release, self.podman, progress)
        with progress.step('start a host'):
            self._start_host(cephadm_image.host_image())
        with progress.step('cephadm bootstrap'):
            self._bootstrap(cephadm_image.ceph_image(release))
        with progress.step(f'{spec.mgrs} mgr and {spec.osds} OSDs by cephadm'):
            managers = self.manager_service([_MOUNT] if spec.module else [])
            self._apply([managers, self._osd_service(paths=self._devices())])
            wait_until(self._all_up, OSDS_TIMEOUT_S, 'the OSDs are up', poll_s=2)
            # One that still names the disks has ceph-volume look at each before every restart: 20 s
            self._apply([self._osd_service(size='100TB:')])
            steps = boot.Boot(
                spec, release, self.host, self.layout, self.ports, self.record.fsid,
                self.client, progress, self.hosts,
            )  # fmt: skip
            boot.make_crush_rules(steps)
        if spec.module:
            with progress.step('enable rocksdb_tuner once every manager has it'):
                self.enable_module()
        self._change(state='running')

    def _start_host(self, image: str) -> None:
        for osd in range(self.record.spec.osds):
            self._make_loop_device(osd)
        for folder in ('containers', 'opt', 'clients'):
            (self.dir / folder).mkdir()
        volumes = [
            f'{self.dir}/containers:/var/lib/containers',
            f'{self.dir}/opt:/opt',
            f'{self.podman.store}:{cephadm_image.SHARED_STORE}:ro',
        ]
        if self.record.spec.module:
            volumes.append(f'{self.record.spec.module}:{MODULE_DIR}:ro')
        self.podman.run(
            'run', '-d', f'--name={self.container}', f'--hostname={HOST}', '--privileged',
            '--systemd=always', '--network=none', '--tmpfs=/run', '--pids-limit=0',
            *(f'--volume={volume}' for volume in volumes), image, '/sbin/init',
        )  # fmt: skip
        wait_until(
            lambda: self._systemd() in {'running', 'degraded'}, 60, 'systemd runs on the host',
            detail=self._systemd, poll_s=1,
        )  # fmt: skip
        self._link()
        # ceph-volume asks udev, which does not run: a record of each device says that there is none
        self.shell(
            f"""
            mkdir -p /run/udev/data
            for n in /sys/block/*; do
                printf 'I:1\\nE:DEVTYPE=disk\\n' > "/run/udev/data/b$(cat "$n/dev")"
            done
            sed '/{HOST}/d' /etc/hosts > /tmp/hosts; echo '{self.address} {HOST}' >> /tmp/hosts
            cat /tmp/hosts > /etc/hosts
            systemctl start ssh
            """
        )

    def _systemd(self) -> str:
        return self.on_host('systemctl', 'is-system-running', check=False).stdout.strip()

    def _make_loop_device(self, osd: int) -> None:
        # Not sparse: an OSD need not abort when the machine's disk is full for a moment
        with (self.dir / f'disk.{osd}').open('wb') as file:
            os.posix_fallocate(file.fileno(), 0, self.record.spec.block_size_bytes)
        Host().run(['losetup', '--find', file.name])

    def _devices(self) -> list[str]:
        """The loop devices of this cluster's OSDs, in their order, by their files."""
        listed = json.loads(Host().run(['losetup', '--json', '--list']).stdout or '{}')
        own = {
            entry['back-file'].removesuffix(' (deleted)'): entry['name']
            for entry in listed.get('loopdevices', ())
        }
        files = [str(self.dir / f'disk.{osd}') for osd in range(self.record.spec.osds)]
        return [own[file] for file in files if file in own]

    def _link(self) -> None:
        """A veth pair between the machine and the host."""
        inspected = self.podman.run('inspect', '-f', '{{.State.Pid}}', self.container)
        pid, inside, outside = inspected.stdout.strip(), 'eth0', self._link_name
        machine = Host()
        for command in (
            f'ip link add {outside} type veth peer name {inside} netns {pid}',
            f'ip addr add {self._network}.2/24 dev {outside}',
            f'ip link set {outside} up',
        ):
            machine.run(shlex.split(command))
        self.shell(f'ip addr add {self.address}/24 dev {inside}; ip link set {inside} up')

    def _bootstrap(self, image: str) -> None:
        settings = {
            'osd_memory_target': 900 << 20,
            'osd_memory_target_autotune': 'false',
            'mon_data_avail_warn': 1,
            **dict(self.record.spec.osd_conf),
        }
        options = ''.join(f'{key} = {value}\n' for key, value in settings.items())
        # An image without a repository has no digest to be known by
        managers = '[mgr]\nmgr/cephadm/use_repo_digest = false\n'
        self.on_host('tee', '/root/initial.conf', stdin=f'[global]\n{options}{managers}')
        self.shell(
            f"""
            podman run --rm --net=host --privileged {image} cat /usr/sbin/cephadm > /usr/lib/cephadm
            # Its first line names the Python of its image
            printf '#!/bin/sh\nexec python3 /usr/lib/cephadm "$@"\n' > /usr/sbin/cephadm
            chmod 755 /usr/sbin/cephadm
            """
        )
        self.on_host(
            'cephadm', '--image', image, 'bootstrap', '--fsid', self.record.fsid,
            '--mon-ip', self.address, '--skip-pull', '--skip-dashboard', '--skip-monitoring-stack',
            '--skip-firewalld', '--allow-fqdn-hostname', '--single-host-defaults',
            '--config', '/root/initial.conf',
            timeout_s=BOOTSTRAP_TIMEOUT_S,
        )  # fmt: skip
        keyring = self.layout.admin_keyring
        keyring.touch(mode=0o600)
        keyring.write_text(self.shell('cat /etc/ceph/ceph.client.admin.keyring'))
        conf = self.shell('cat /etc/ceph/ceph.conf')
        self.layout.conf.write_text(f'{conf}\n[client]\nkeyring = {keyring}\n')
        for who, key, value in (
            ('mgr', 'mgr/cephadm/use_repo_digest', 'false'),
            ('osd', 'osd_memory_target_autotune', 'false'),
        ):
            self.ceph('config', 'set', who, key, value)

    def _osd_service(self, **devices: Any) -> dict[str, Any]:
        return {
            'service_type': 'osd',
            'service_id': OSD_SERVICE.partition('.')[2],
            'placement': {'hosts': [HOST]},
            'spec': {
                'data_devices': devices,
                'method': 'raw',
                'crush_device_class': self.record.spec.class_of_osd(0),
            },
        }

    def manager_service(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The specification of the managers, in containers with more arguments."""
        return {
            'service_type': 'mgr',
            'placement': {'hosts': [HOST], 'count_per_host': self.record.spec.mgrs},
            **({'extra_container_args': list(arguments)} if arguments else {}),
        }

    def _apply(self, services: Sequence[Mapping[str, Any]]) -> None:
        text = '\n---\n'.join(map(json.dumps, services))
        self.repeat('orch', 'apply', '-i', '-', stdin=text)

    def repeat(self, *words: str, stdin: str = '') -> str:
        """The output of a command that is refused for a while: managers have just started."""
        last = ''

        def is_done() -> bool:
            nonlocal last
            # One that a manager took that then ended has no answer
            with contextlib.suppress(CommandError):
                done = self.client.run('ceph', *words, stdin=stdin, check=False)
                last = done.stdout or done.stderr.strip()
                return done.returncode == 0
            return False

        wait_until(is_done, 300, f'ceph {" ".join(words)}', detail=lambda: last, poll_s=2)
        return last

    def _all_up(self) -> bool:
        spec = self.record.spec
        return bool(
            self.ceph_json('osd', 'stat')['num_up_osds'] == spec.osds
            and self.ceph_json('mgr', 'stat').get('num_standby', 0) == spec.mgrs - 1
        )

    def wait_for_managers(self, *, with_module: bool) -> None:
        """Wait until every manager has the module's files, or none, and all but one are standby."""
        mgrs = self.record.spec.mgrs
        wait_until(
            lambda: (
                len(self.managers_with('rocksdb_tuner')) == (mgrs if with_module else 0)
                and len(self.containers('mgr')) == mgrs
                and self._all_up()
            ),
            600,
            f'managers {"with" if with_module else "without"} the module',
            poll_s=2,
        )

    def enable_module(self) -> None:
        """Enable the module once every manager has its files and one is standby."""
        self.wait_for_managers(with_module=True)
        self.repeat('mgr', 'module', 'enable', 'rocksdb_tuner')
        boot.wait_for_modules(self.client, self.record.spec)

    def managers_with(self, module: str) -> list[str]:
        """The running containers of managers that have the files of a module."""
        file = f'/usr/share/ceph/mgr/{module}/module.py'
        return [
            name
            for name in self.containers('mgr')
            if self.on_host('podman', 'exec', name, 'test', '-e', file, check=False).returncode == 0
        ]

    def containers(self, kind: str) -> list[str]:
        """The names of the running containers of daemons of a type."""
        name = f'^ceph-{self.record.fsid}-{kind}-'
        return self.shell(f'podman ps --filter name={name} --format "{{{{.Names}}}}"').split()

    # Using

    def _daemons(self) -> list[procs.DaemonProcess]:
        """The daemons' processes on the machine, in the control groups of the host's container."""
        found = self.podman.run('inspect', '-f', '{{.Id}}', self.container, check=False)
        identity = found.stdout.strip()
        return client_procs.find_contained(identity) if identity else []

    def status(self) -> ClusterStatus:
        """The daemons whose processes run. Names are cephadm's: mgr.HOST.xxxxxx."""
        daemons = [DaemonStatus(d.name, self.release.name, d.pid, up=True) for d in self._daemons()]
        return ClusterStatus(self.release.name, str(self.dir), tuple(daemons))

    # Ending

    def _is_there(self) -> bool:
        return True

    def _stop_processes(self, *, graceful: bool) -> None:
        self._stop_clients(CLIENT_TERM_TIMEOUT_S if graceful else 0.0)
        podman = self.podman
        if podman.host.has_program('podman'):
            podman.run('rm', '-f', '-i', '-t', '0', '-v', self.container)
        for device in self._devices():
            podman.host.run(['losetup', '--detach', device])
        podman.host.run(['ip', 'link', 'delete', self._link_name], check=False)
        left = [*self._devices(), *(process.name for process in self._daemons())]
        # Last: the question for the container that is gone mounts the store once more
        podman.leave()
        if left:
            raise HarnessError(f'these do not end: {", ".join(left)}')


KINDS['cephadm'] = CephadmCluster

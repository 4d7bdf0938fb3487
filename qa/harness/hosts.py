"""Which release each daemon of a cluster runs, and where."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import chroot_build, layout, packages, slow_sync
from .chroot import ChrootHost
from .host import Host
from .layout import Layout, Record
from .progress import Progress
from .releases import Release, get_release

#: Read by the local orchestrator: how to start an OSD whose release may not be the manager's.
START_COMMAND = 'start-command.json'


class Hosts:
    """The hosts of a cluster's daemons and clients: one for each release, and for its managers."""

    def __init__(self, directory: Path, record: Record) -> None:
        self._record = record
        self._directory = directory
        self._shared = [directory, Path(record.run_dir), layout.CHECKOUT]
        if record.spec.module:
            self._shared.append(Path(record.spec.module))
        self._made: dict[tuple[str, bool], Host] = {}
        self._canceled = False
        self._lock = threading.Lock()

    def follow(self, record: Record) -> None:
        """Go by what is known of the cluster by now."""
        self._record = record

    def release_of(self, daemon: str) -> Release:
        """The release that a daemon ("osd.2") runs, or would be started with."""
        return get_release(self._record.release_of(daemon))

    def of(self, daemon: str) -> Host:
        """Where a daemon runs.

        A manager can get back to the machine's own root: its orchestrator may have to start an OSD
        of another release, which has another root.
        """
        return self._host(self.release_of(daemon), with_machine=daemon.startswith('mgr.'))

    def of_release(self, release: Release) -> Host:
        """The host of a release's programs."""
        return self._host(release, with_machine=False)

    def argv(self, daemon: str, argv: Sequence[str]) -> list[str]:
        """The command line that starts a daemon on the host that it is to take itself to be on."""
        kind, _, number = daemon.partition('.')
        if kind != 'osd':
            return list(argv)
        if self._record.spec.slow_sync:
            argv = slow_sync.argv(self._directory, daemon, argv)
        name = self._record.spec.host_of_osd(int(number))
        if name is None:
            return list(argv)
        return ['unshare', '--uts', '/bin/sh', '-c', 'hostname "$0" && exec "$@"', name, *argv]

    def cancel(self) -> None:
        """End the running commands of all hosts; new ones are refused."""
        with self._lock:
            self._canceled = True
            for host in self._made.values():
                host.cancel()

    def resume(self) -> None:
        """Allow commands again, for the clearing up after `cancel`."""
        with self._lock:
            self._canceled = False
            for host in self._made.values():
                host.resume()

    def install(
        self, releases: Iterable[Release], purposes: Iterable[str], progress: Progress
    ) -> None:
        """Create the chroots of these releases, and install the packages for these purposes."""
        wanted = tuple(purposes)
        distinct = {release.name: release for release in releases}.values()
        chroot_build.ensure_all(distinct, progress)
        for release in distinct:
            host = self.of_release(release)
            needed = [package for purpose in wanted for package in release.packages[purpose]]
            packages.install(host, needed, progress)
            packages.check_version(host, release)

    def write_start_command(self, paths: Layout, osd: str) -> None:
        """Configure how the orchestrator starts an OSD from the machine's own root."""
        argv = self.argv(osd, ['ceph-osd', '-i', osd.partition('.')[2], '-c', str(paths.conf)])
        host = self.of(osd)
        file = host.outside(paths.data(osd) / START_COMMAND)
        file.write_text(json.dumps(host.command(argv)))

    def _host(self, release: Release, *, with_machine: bool) -> Host:
        with self._lock:
            key = (release.name, with_machine and release.in_chroot)
            if key not in self._made:
                self._made[key] = self._make(release, with_machine=with_machine)
                if self._canceled:
                    self._made[key].cancel()
            return self._made[key]

    def _make(self, release: Release, *, with_machine: bool) -> Host:
        if not release.in_chroot:
            return Host(self._record.fsid)
        path = chroot_build.chroot_path(release)
        return ChrootHost(path, self._shared, with_machine=with_machine, mark=self._record.fsid)

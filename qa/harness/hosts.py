"""Which release each daemon of a cluster runs, and where."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from . import chroot_build, layout, packages
from .chroot import ChrootHost
from .host import Host
from .layout import Layout, Record
from .progress import Progress
from .releases import Release, get_release

#: Read by the local orchestrator: how to start an OSD whose release may not be the manager's.
START_COMMAND = 'start-command.json'


class Hosts:
    """The hosts of a cluster's daemons, one for each release."""

    def __init__(self, directory: Path, record: Record) -> None:
        self._record = record
        self._shared = [directory, Path(record.run_dir), layout.CHECKOUT]
        if record.spec.module:
            self._shared.append(Path(record.spec.module))
        self._by_release: dict[str, Host] = {}

    def release_of(self, daemon: str) -> Release:
        """The release that a daemon ("osd.2") runs, or would be started with."""
        return get_release(self._record.release_of(daemon))

    def of(self, daemon: str) -> Host:
        """Where a daemon runs."""
        return self.of_release(self.release_of(daemon))

    def of_release(self, release: Release) -> Host:
        host = self._by_release.get(release.name)
        if host is None:
            host = self._by_release[release.name] = self._make(release)
        return host

    def install(self, daemons: Iterable[str], purposes: Iterable[str], progress: Progress) -> None:
        """Make the chroots and install the packages that these daemons need."""
        wanted = tuple(purposes)
        for name in dict.fromkeys(map(self._record.release_of, daemons)):
            release = get_release(name)
            if release.in_chroot:
                chroot_build.ensure(release, progress)
            host = self.of_release(release)
            needed = [package for purpose in wanted for package in release.packages[purpose]]
            packages.install(host, needed, progress)
            packages.check_version(host, release)

    def write_start_command(self, paths: Layout, osd: str) -> None:
        """Tell the orchestrator how to start an OSD from the machine's own root."""
        argv = ['ceph-osd', '-i', osd.partition('.')[2], '-c', str(paths.conf)]
        host = self.of(osd)
        file = host.outside(paths.data(osd) / START_COMMAND)
        file.write_text(json.dumps(host.command(argv)))

    def _make(self, release: Release) -> Host:
        if not release.in_chroot:
            return Host()
        return ChrootHost(
            chroot_build.chroot_path(release), self._shared, with_machine=self._record.mixed
        )

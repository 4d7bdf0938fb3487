"""Debian packages of the module on a cluster that was made without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .client import wait_until
from .cluster import Cluster
from .host import PATH

MODULE = 'rocksdb_tuner'
#: The systemd calls of the packages, as in those of Ceph.
RESTART = 'try-restart ceph-mgr.target'
INSTALL = ('install', '--no-install-recommends')
_RESTART_S = 300


class PackagedManagers:
    """The managers of a cluster, and the packages on the machine or chroot that they run on.

    `scratch` is a folder that the machine and its chroots share.
    """

    def __init__(self, cluster: Cluster, scratch: Path) -> None:
        self.cluster, self.host = cluster, cluster.host
        self.folder = Path(cluster.release.mgr_modules)
        self._asked = scratch / 'asked'
        # Neither the machine nor a chroot has systemd: this records the calls to it.
        asks = scratch / 'deb-systemd-invoke'
        asks.write_text(f'#!/bin/sh\necho "$@" >> {self._asked}\n')
        asks.chmod(0o755)
        self._path = f'{scratch}:{PATH}'
        # Where the packages put the module, as /usr/share/ceph/mgr is not what managers read here.
        outside = cluster.host.outside(cluster.layout.mgr_modules)
        (outside / MODULE).symlink_to(self.folder / MODULE)

    def apt(self, *words: str) -> list[str]:
        """Run apt-get; returns the calls to systemd."""
        self._asked.unlink(missing_ok=True)
        given = {'DEBIAN_FRONTEND': 'noninteractive'}
        options = ('Dpkg::Use-Pty=0', 'DPkg::Lock::Timeout=300', f'DPkg::Path={self._path}')
        argv = ['apt-get', '-qy', *(w for o in options for w in ('-o', o)), *words]
        self.host.run(argv, environment=given, timeout_s=600)
        return self._asked.read_text().splitlines() if self._asked.exists() else []

    def install(self, debs: Sequence[Path]) -> list[str]:
        """Install packages, or other versions of them; returns the calls to systemd."""
        allowed = ('--allow-downgrades', '--no-remove')
        return self.apt(*INSTALL, *allowed, *map(str, debs))

    def restart_managers(self) -> None:
        """As systemd restarts ceph-mgr.target: every manager of the host."""
        names = [f'mgr.{mgr_id}' for mgr_id in self.cluster.record.spec.mgr_ids]
        # A manager respawns by itself after a module is enabled or disabled.
        wait_until(
            lambda: {d.name for d in self.cluster.status().daemons if d.up} >= set(names),
            _RESTART_S, 'all managers running',
        )  # fmt: skip
        before = self.gids()
        for name in names:
            self.cluster.stop_daemon(name)
        for name in names:
            self.cluster.start_daemon(name)
        # The monitors list a manager that ended until its beacons have been missing for a while.
        wait_until(
            lambda: self.dump()['available'] and len(self.gids() - before) == len(names),
            _RESTART_S, 'all managers back',
        )  # fmt: skip

    def gids(self) -> set[int]:
        """Of each manager that the monitors list: it changes with each process."""
        dump = self.dump()
        return {dump['active_gid'], *(standby['gid'] for standby in dump['standbys'])}

    def dump(self) -> Any:
        return self.cluster.ceph_json('mgr', 'dump')

"""Everything that differs between Ceph releases, for the harness. Nowhere else is a release named.

Sources: Debian's package lists, and what was seen when each release was run on this harness.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import UsageError


@dataclass(frozen=True)
class Release:
    """How one release is obtained, and its peculiarities."""

    name: str
    version_prefix: str
    """The required start of `ceph --version`, so that no other release is mistaken for it."""
    suite: str
    """The Debian suite that carries it."""
    in_chroot: bool = True
    """Whether it runs in a chroot of its suite; else on the machine itself."""
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _PACKAGES)
    """Debian packages by what they are needed for; 'core' is always needed."""
    more_packages: tuple[str, ...] = ()
    """Packages that Ceph's own should depend on and do not."""
    mgr_modules: str = '/usr/share/ceph/mgr'
    conf: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """ceph.conf settings by section that only this release needs."""
    mgr_environment: Mapping[str, str] = field(default_factory=dict)
    """Environment that its ceph-mgr needs."""
    reserved_pool_flags: tuple[str, ...] = ('--yes-i-really-mean-it',)
    """What `osd pool create` wants for a name that begins with a dot; without, it answers 0 all the
    same and makes nothing (seen on 18.2.7)."""
    gil_shim: str | None = None
    """The path of the library built from reef/gil_per_thread.c in the chroot; None: not needed."""
    mgr_wheels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Python packages for its ceph-mgr alone: (requirement, options of pip download)."""
    cephadm_wheels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """More of them, for the module cephadm."""

    @property
    def chroot_packages(self) -> tuple[str, ...]:
        """The initial content of its chroot."""
        return (*self.packages['core'], *self.packages['dashboard'], *self.more_packages)


_PACKAGES: Mapping[str, tuple[str, ...]] = {
    'core': ('ceph-mon', 'ceph-mgr', 'ceph-osd', 'ceph-common'),
    'dashboard': ('ceph-mgr-dashboard',),
    'rgw': ('radosgw',),
    'mds': ('ceph-mds',),
    'rbd-client': ('fio', 'librbd1'),
    's3-client': ('python3-boto3',),
    'cephfs-client': ('python3-cephfs',),
    'rados-client': ('python3-rados',),
    'rbd-python-client': ('python3-rados', 'python3-rbd'),
}

#: As pip is to look for what runs in Debian 13's Python
_TRIXIE = (
    *('--platform', f'manylinux2014_{platform.machine()}'),
    *('--platform', f'manylinux2010_{platform.machine()}'),
    *('--python-version', '3.13', '--implementation', 'cp', '--abi', 'abi3'),
)
_REEF_SHIM = '/opt/ceph-qa/gil_per_thread.so'

#: From the oldest to the newest.
RELEASES: Mapping[str, Release] = {
    release.name: release
    for release in (
        Release('pacific', '16.2.', 'bookworm', in_chroot=False, reserved_pool_flags=()),
        # Debian 13 links Ceph 18 with Python 3.13, which no module survives as packaged (seen on
        # 18.2.7; upstream's containers have Python 3.9 and neither fault):
        # - mgr_util imports bcrypt, whose Rust extension refuses to load in a sub-interpreter, so
        #   every module has "failed dependencies". bcrypt 3.2.2 was the last one written in C.
        # - ceph-mgr crashes once modules send commands: see reef/gil_per_thread.c.
        # - Neither does cryptography load, which cephadm needs, by itself and for asyncssh.
        Release(
            'reef',
            '18.2.',
            'trixie',
            mgr_environment={'LD_PRELOAD': _REEF_SHIM, 'PYTHONPATH': '/opt/ceph-qa/python'},
            gil_shim=_REEF_SHIM,
            mgr_wheels=(
                (
                    'bcrypt==3.2.2',
                    (
                        *('--platform', f'manylinux2014_{platform.machine()}'),
                        *('--python-version', '3.13'),
                        *('--implementation', 'cp', '--abi', 'abi3'),
                    ),
                ),
            ),
            cephadm_wheels=(
                ('cryptography==3.3.2', _TRIXIE),
                ('asyncssh==2.7.2', ('--python-version', '3.13')),
                ('pyOpenSSL==20.0.1', ('--python-version', '3.13')),
                ('six==1.17.0', ('--python-version', '3.13')),
            ),
        ),
        # libceph_zlib and libceph_lz4 of 20.2.4 want libqatzip, which no package asks for
        Release('tentacle', '20.2.', 'forky', more_packages=('libqatzip3',)),
    )
}


def is_older(release: Release, other: Release) -> bool:
    """Whether a release came before another one."""
    order = tuple(RELEASES)
    return order.index(release.name) < order.index(other.name)


def get_release(name: str) -> Release:
    """The release with this name."""
    release = RELEASES.get(name)
    if release is None:
        raise UsageError(f'unknown release {name!r}: choose one of {", ".join(RELEASES)}')
    return release

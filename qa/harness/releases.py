"""Everything that differs between Ceph releases, for the harness. Nowhere else is a release named.

Sources: Debian's package lists, and what was seen when each release was run on this harness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import UsageError


@dataclass(frozen=True)
class Release:
    """How one release is obtained and what is peculiar about running it."""

    name: str
    version_prefix: str
    """What `ceph --version` must begin with, so that another release is never taken for it."""
    suite: str
    """The Debian suite that carries it."""
    built: bool
    """Whether the harness can run it yet."""
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Debian packages by what they are needed for; 'core' is always needed."""
    mgr_modules: str = '/usr/share/ceph/mgr'
    conf: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """ceph.conf settings by section that only this release needs."""
    mgr_environment: Mapping[str, str] = field(default_factory=dict)
    """Environment that its ceph-mgr needs."""


_PACKAGES: Mapping[str, tuple[str, ...]] = {
    'core': ('ceph-mon', 'ceph-mgr', 'ceph-osd', 'ceph-common'),
    'dashboard': ('ceph-mgr-dashboard',),
    'rgw': ('radosgw',),
    'mds': ('ceph-mds',),
    'rbd-client': ('fio', 'librbd1'),
    's3-client': ('python3-boto3',),
    'cephfs-client': ('python3-cephfs',),
}

RELEASES: Mapping[str, Release] = {
    release.name: release
    for release in (
        Release('pacific', '16.2.', 'bookworm', built=True, packages=_PACKAGES),
        Release('reef', '18.2.', 'trixie', built=False),
        Release('tentacle', '20.2.', 'forky', built=False),
    )
}


def get_release(name: str) -> Release:
    """The release with this name, if the harness can run it."""
    release = RELEASES.get(name)
    if release is None:
        raise UsageError(f'unknown release {name!r}: choose one of {", ".join(RELEASES)}')
    if not release.built:
        ready = ', '.join(r.name for r in RELEASES.values() if r.built)
        raise UsageError(
            f'release {name} is not built yet: it needs a chroot of Debian {release.suite}, which '
            f'this harness does not make so far. What works now: {ready}.'
        )
    return release

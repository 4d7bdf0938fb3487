"""Debian packages that the harness needs and installs by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import ending
from .errors import CommandError, HarnessError
from .host import Host
from .ports import held_path
from .progress import Progress
from .releases import Release

POLICY = Path('usr/sbin/policy-rc.d')
INSTALL_TIMEOUT_S = 1800.0


def missing_packages(host: Host, packages: Sequence[str]) -> list[str]:
    """Those of the packages that are not installed on the host."""
    query = ['dpkg-query', '-W', '-f', '${db:Status-Status} ${Package}\n', *packages]
    answer = host.run(query, check=False).stdout.splitlines()
    installed = {line.split()[1] for line in answer if line.startswith('installed ')}
    return [package for package in packages if package not in installed]


@contextmanager
def _no_service_starts(root: Path) -> Iterator[None]:
    """Keep maintainer scripts from starting daemons: invoke-rc.d calls this file (Debian)."""
    policy = root / POLICY
    try:
        policy.touch(mode=0o755, exist_ok=False)
    except FileExistsError:  # the machine has its own policy
        yield
        return
    try:
        policy.write_text('#!/bin/sh\nexit 101\n')
        yield
    finally:
        policy.unlink(missing_ok=True)


def apt_get(host: Host, *arguments: str) -> None:
    """Run apt-get without a question to anybody."""
    host.run(
        ['apt-get', '-qy', '-o', 'Dpkg::Use-Pty=0', '-o', 'DPkg::Lock::Timeout=300', *arguments],
        environment={'DEBIAN_FRONTEND': 'noninteractive', 'APT_LISTCHANGES_FRONTEND': 'none'},
        timeout_s=INSTALL_TIMEOUT_S,
    )


def install(host: Host, packages: Iterable[str], progress: Progress) -> None:
    """Install what is missing of the packages; the package lists are fetched only when needed."""
    wanted = list(dict.fromkeys(packages))
    if not missing_packages(host, wanted):
        return
    # POLICY is removed by the one that made it.
    alone = held_path(
        'packages',
        host.root,
        wait_s=INSTALL_TIMEOUT_S,
        busy=f'another process installs packages in {host.root}: no end of it',
        pause=lambda: ending.pause(0.5),
    )
    with alone:
        missing = missing_packages(host, wanted)
        if missing:
            _install(host, missing, progress)


def _install(host: Host, missing: Sequence[str], progress: Progress) -> None:
    if os.geteuid() != 0:
        raise HarnessError(f'not root: cannot install the packages {" ".join(missing)}')
    with (
        progress.step(f'install Debian packages: {" ".join(missing)}'),
        _no_service_starts(host.root),
    ):
        try:
            apt_get(host, 'install', '--no-install-recommends', *missing)
        except CommandError:
            progress.say('not installed at once: fetching the package lists, then trying again')
            # An installation that was killed leaves packages half configured, and apt refuses
            host.run(['dpkg', '--configure', '-a'], timeout_s=INSTALL_TIMEOUT_S, check=False)
            apt_get(host, 'update')
            apt_get(host, 'install', '--no-install-recommends', *missing)


def check_version(host: Host, release: Release) -> str:
    """The version of Ceph on the host; HarnessError when it is another release."""
    words = host.run(['ceph-mgr', '--version']).stdout.split()
    version = words[2] if len(words) > 2 else 'unknown'
    if not version.startswith(release.version_prefix):
        raise HarnessError(
            f'the Ceph installed here is {version}, release {release.name} is '
            f'{release.version_prefix}x: it comes with Debian {release.suite}'
        )
    return version

"""Making the chroot of a release, once, and keeping it for the next time.

A chroot appears under its name only when it is whole. One that was made by another recipe is made
anew; what a build that was killed has left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from . import packages
from .chroot import ChrootHost
from .errors import HarnessError
from .host import Host
from .packages import INSTALL_TIMEOUT_S
from .ports import held_name
from .progress import Progress
from .releases import RELEASES, Release

CACHE_VARIABLE = 'ROCKSDB_TUNER_CACHE'
DEFAULT_CACHE = Path('/var/cache/rocksdb-tuner')
WAIT_S = 1200.0
#: Raise it when a change of this file must reach chroots that are there already.
RECIPE_VERSION = 1
#: What the harness adds to a chroot lies here; ends in the names that releases.py uses.
OURS = Path('opt/ceph-qa')
STAMP = OURS / 'recipe.json'
SHIM_SOURCE = Path(__file__).parent / 'reef/gil_per_thread.c'
_APT_CONF = (
    'APT::Install-Recommends "0";\n'
    'Dpkg::Use-Pty "0";\n'
    # A mirror's index of testing may be older than this machine's clock allows
    'Acquire::Check-Valid-Until "false";\n'
)


def chroots_dir() -> Path:
    """Where chroots are kept; the variable ROCKSDB_TUNER_CACHE names another place."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).resolve() / 'chroots'


def chroot_path(release: Release) -> Path:
    return chroots_dir() / release.name


def present() -> tuple[str, ...]:
    """The releases whose chroot is there."""
    return tuple(name for name in RELEASES if (chroots_dir() / name / STAMP).is_file())


def ensure(release: Release, progress: Progress) -> Path:
    """The chroot of a release, made if it is not there or was made by another recipe."""
    path = chroot_path(release)
    if _is_current(path, release):
        return path
    with _at_work(release):
        if not _is_current(path, release):
            with progress.step(f'make a chroot of Debian {release.suite} with Ceph, once'):
                _build(release, path, progress)
    return path


def remove(release: Release) -> bool:
    """Remove a release's chroot; False when there is none. Refused while something runs in it."""
    path = chroot_path(release)
    with _at_work(release):
        _remove_leftovers(path)
        if not path.exists():
            return False
        refuse_if_used(path)
        _remove_tree(path)
    return True


def refuse_if_used(path: Path) -> None:
    """HarnessError while any process has its root in the chroot."""
    users = []
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / 'root').samefile(path):
                users.append(process.name)
    if users:
        raise HarnessError(
            f'{path} is in use by the processes {", ".join(users[:8])}: take the clusters that run '
            'in it down first (qa/cluster down)'
        )


@contextlib.contextmanager
def _at_work(release: Release) -> Iterator[None]:
    """Only one at a time makes or removes a chroot; another one is waited for."""
    name = f'chroot-{hashlib.sha1(os.fsencode(chroot_path(release))).hexdigest()}'
    deadline_s = time.monotonic() + WAIT_S
    while True:
        with held_name(name) as mine:
            if mine:
                yield
                return
        if time.monotonic() >= deadline_s:
            raise HarnessError(f'another process is making the chroot of {release.name}')
        time.sleep(1)


def recipe(release: Release) -> dict[str, object]:
    """All that decides what a chroot is made of."""
    return {
        'version': RECIPE_VERSION,
        'suite': release.suite,
        'packages': list(release.chroot_packages),
        'wheels': [[requirement, *options] for requirement, options in release.mgr_wheels],
        'shim': hashlib.sha256(SHIM_SOURCE.read_bytes()).hexdigest() if release.gil_shim else None,
    }


def _is_current(path: Path, release: Release) -> bool:
    try:
        return bool(json.loads((path / STAMP).read_text()) == recipe(release))
    except (OSError, ValueError):
        return False


def _build(release: Release, path: Path, progress: Progress) -> None:
    host = Host()
    if path.exists():
        refuse_if_used(path)
    _remove_leftovers(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    packages.install(host, _builder_packages(release), progress)
    unfinished = Path(tempfile.mkdtemp(prefix=f'.{path.name}.', dir=path.parent))
    try:
        unfinished.chmod(0o755)
        with progress.step('unpack the base system'):
            _debootstrap(host, release, unfinished)
        _configure(unfinished)
        chroot = ChrootHost(unfinished)
        with progress.step('install Ceph in it'):
            packages.apt_get(chroot, 'update')
            packages.apt_get(chroot, 'install', *release.chroot_packages)
            packages.apt_get(chroot, 'clean')
        _add_ours(host, release, unfinished)
        packages.check_version(chroot, release)
        (unfinished / STAMP).write_text(json.dumps(recipe(release)))
        if path.exists():
            _remove_tree(path)
        unfinished.rename(path)
    except BaseException:
        _remove_tree(unfinished)
        raise


def _builder_packages(release: Release) -> list[str]:
    needed = ['debootstrap', 'debian-archive-keyring']
    if release.gil_shim:
        needed += ['gcc', 'libc6-dev']
    if release.mgr_wheels:
        needed += ['python3-venv']
    return needed


def mirror(sources: Path = Path('/etc/apt')) -> str:
    """The archive that this machine takes its own packages from."""
    for file in sorted((sources / 'sources.list.d').glob('*.sources')):
        found = re.search(r'^URIs:\s*(\S+)', file.read_text(), re.MULTILINE)
        if found:
            return found[1]
    for file in [sources / 'sources.list', *sorted((sources / 'sources.list.d').glob('*.list'))]:
        with contextlib.suppress(FileNotFoundError):
            found = re.search(r'^deb\s+(?:\[[^]]*\]\s+)?(\S+)', file.read_text(), re.MULTILINE)
            if found:
                return found[1]
    raise HarnessError(f'{sources} names no archive of Debian packages')


def _debootstrap(host: Host, release: Release, root: Path) -> None:
    scripts = Path('/usr/share/debootstrap/scripts')
    argv = ['debootstrap', '--variant=minbase', release.suite, str(root), mirror()]
    if not (scripts / release.suite).exists():
        # An older debootstrap does not know the suite's name; all newer suites are made alike
        argv.append(str(scripts / 'sid'))
    # debootstrap mounts inside the chroot: where it is killed, that must not stay
    unshare = ['unshare', '--mount', '--propagation', 'slave']
    host.run([*unshare, *argv], timeout_s=INSTALL_TIMEOUT_S)


def _configure(root: Path) -> None:
    (root / 'etc/apt/apt.conf.d/99ceph-qa').write_text(_APT_CONF)
    # Nothing that is installed starts as a service: this is no machine that boots
    policy = root / packages.POLICY
    policy.write_text('#!/bin/sh\nexit 101\n')
    policy.chmod(0o755)
    for name in ('resolv.conf', 'hosts'):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(Path('/etc') / name, root / 'etc' / name)
    for file in Path('/etc/apt/apt.conf.d').glob('*proxy*'):
        shutil.copyfile(file, root / 'etc/apt/apt.conf.d' / file.name)


def _add_ours(host: Host, release: Release, root: Path) -> None:
    """What works around faults of the release's packages; releases.py says which and why."""
    ours = root / OURS
    ours.mkdir(parents=True)
    if release.gil_shim:
        library = ours / Path(release.gil_shim).name
        host.run(['gcc', '-O2', '-Wall', '-shared', '-fPIC', '-o', str(library), str(SHIM_SOURCE)])
    if release.mgr_wheels:
        _unpack_wheels(host, release, ours / 'python')


def _unpack_wheels(host: Host, release: Release, target: Path) -> None:
    """Python packages that are unpacked, not installed: only ceph-mgr is shown this folder."""
    with tempfile.TemporaryDirectory(prefix='ceph-qa-wheels-') as scratch:
        host.run([_system_python(), '-m', 'venv', f'{scratch}/venv'], timeout_s=120)
        for requirement, options in release.mgr_wheels:
            download = [f'{scratch}/venv/bin/pip', 'download', '-q', '--no-deps']
            download += ['--only-binary=:all:', '-d', f'{scratch}/wheels', *options, requirement]
            host.run(download, timeout_s=300)
        for wheel in sorted(Path(scratch, 'wheels').glob('*.whl')):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)


def _system_python() -> str:
    return '/usr/bin/python3' if Path('/usr/bin/python3').exists() else sys.executable


def _remove_leftovers(path: Path) -> None:
    for leftover in path.parent.glob(f'.{path.name}.*'):
        _remove_tree(leftover)


def _remove_tree(path: Path) -> None:
    """Remove a chroot. Its name goes first, so that no half of it is ever taken for a whole."""
    if not path.name.startswith('.'):
        doomed = Path(tempfile.mkdtemp(prefix=f'.{path.name}.', dir=path.parent))
        path = path.rename(doomed / path.name).parent
    shutil.rmtree(path)

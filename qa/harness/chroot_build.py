"""Making the chroot of a release, once, and keeping it for the next time.

A chroot appears under its name only when it is whole. One with an outdated recipe is
rebuilt under another name; processes in the old one keep running.

Processes started by a build end with it, even on SIGKILL; leftover files are removed by the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import ending, packages, preload, space
from .chroot import ChrootHost
from .errors import HarnessError
from .host import Host, terminate_commands
from .layout import cache_dir
from .packages import INSTALL_TIMEOUT_S
from .ports import held_path
from .progress import Progress
from .releases import Release

WAIT_S = 1200.0
REMOVE_TIMEOUT_S = 30.0
#: One is 1 GiB; downloaded and unpacked packages are temporarily stored beside it.
BUILD_BYTES = 3 << 30
#: Raise it when a change of this file must reach chroots that are there already.
RECIPE_VERSION = 1
#: Parent directory of the chroots made by the harness; ends in the names that releases.py uses.
LOCAL_PACKAGES = Path('opt/ceph-qa')
STAMP = LOCAL_PACKAGES / 'recipe.json'
SHIM_SOURCE = Path(__file__).parent / 'reef/gil_per_thread.c'
_APT_CONF = (
    'APT::Install-Recommends "0";\n'
    'Dpkg::Use-Pty "0";\n'
    # A mirror's index of testing may be older than this machine's clock allows
    'Acquire::Check-Valid-Until "false";\n'
    'Acquire::Languages "none";\n'
)
# A chroot that a crash of the machine spoils half-made is rebuilt: no fsync after each file
_DPKG_CONF = 'force-unsafe-io\npath-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\n'
# Runs a command whose processes the kernel ends with the one that waits for it
_TIED = ('setpriv', '--pdeathsig', 'KILL', 'unshare', '--pid', '--fork', '--kill-child')


def chroots_dir() -> Path:
    """The folder of the chroots; the variable ROCKSDB_TUNER_CACHE overrides it."""
    return cache_dir() / 'chroots'


def chroot_path(release: Release) -> Path:
    return chroots_dir() / release.name


def ensure(release: Release, progress: Progress) -> Path:
    """The root of a release's chroot, which is made if it is not there or of another recipe."""
    ensure_all([release], progress)
    return chroot_path(release)


def ensure_all(releases: Iterable[Release], progress: Progress) -> None:
    """As `ensure` for those of the releases that run in chroots, which are made side by side."""
    missing = {
        release.name: release
        for release in releases
        if release.in_chroot and not _is_up_to_date(chroot_path(release), release)
    }
    with ThreadPoolExecutor(max(1, len(missing))) as pool:
        try:
            list(pool.map(lambda release: _ensure(release, progress), missing.values()))
        except BaseException:
            # The pool waits for what the others run
            terminate_commands()
            raise


def _ensure(release: Release, progress: Progress) -> None:
    path = chroot_path(release)
    with _at_work(release, progress):
        if not _is_up_to_date(path, release):
            with progress.step(f'make a chroot of Debian {release.suite} with Ceph, once'):
                _build(release, path, progress)


def _users(path: Path) -> list[str]:
    """The pids of processes whose root is a chroot or a moved-away one."""
    roots = [root for root in (path, _moved_away(path)) if root.is_dir()]
    users = []
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and any((process / 'root').samefile(root) for root in roots):
                users.append(process.name)
    return users


def _at_work(release: Release, progress: Progress) -> contextlib.AbstractContextManager[None]:
    """Only one at a time makes or removes a chroot; another one is waited for."""
    busy = f'another process is making the chroot of {release.name}'
    reported = False

    def pause() -> None:
        nonlocal reported
        if not reported:
            progress.say(f'{busy}: waiting')
            reported = True
        ending.pause(1)

    return held_path('chroot', chroot_path(release), wait_s=WAIT_S, busy=busy, pause=pause)


def recipe(release: Release) -> dict[str, object]:
    """All that decides what a chroot is made of."""
    return {
        'version': RECIPE_VERSION,
        'suite': release.suite,
        'packages': list(release.chroot_packages),
        'wheels': [[requirement, *options] for requirement, options in release.mgr_wheels],
        'shim': hashlib.sha256(SHIM_SOURCE.read_bytes()).hexdigest() if release.gil_shim else None,
    }


def _is_up_to_date(path: Path, release: Release) -> bool:
    try:
        return bool(json.loads((path / STAMP).read_text()) == recipe(release))
    except (OSError, ValueError):
        return False


class _Builder(Host):
    """Runs the commands of a build, or those of one that run in the chroot being made.

    Each has a process namespace of its own: all that it starts ends with it, and it with us.
    """

    def __init__(self, chroot: ChrootHost | None = None) -> None:
        super().__init__()
        self._inner = chroot or Host()
        self._in_chroot = chroot is not None

    @property
    def root(self) -> Path:
        return self._inner.root

    def command(self, argv: Sequence[str]) -> list[str]:
        # Mounts that debootstrap makes must not stay where it is killed
        mounts = () if self._in_chroot else ('--mount', '--propagation', 'slave', '--mount-proc')
        return [*_TIED, *mounts, *self._inner.command(argv)]


def _build(release: Release, path: Path, progress: Progress) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_unused(path)
    space.require(path.parent, BUILD_BYTES, f'a chroot of Debian {release.suite}')
    packages.install(Host(), _builder_packages(release), progress)
    unfinished = Path(tempfile.mkdtemp(prefix=f'.{path.name}.', dir=path.parent))
    try:
        unfinished.chmod(0o755)
        with progress.step(f'{release.name}: unpack the base system'):
            _debootstrap(_Builder(), release, unfinished)
        _configure(unfinished)
        chroot = _Builder(ChrootHost(unfinished))
        with progress.step(f'{release.name}: install Ceph'):
            packages.apt_get(chroot, 'update')
            packages.apt_get(chroot, 'install', *release.chroot_packages)
            packages.apt_get(chroot, 'clean')
        _add_local_packages(_Builder(), release, unfinished)
        packages.check_version(chroot, release)
        (unfinished / STAMP).write_text(json.dumps(recipe(release)))
        if path.exists():
            _move_away(path)
        unfinished.rename(path)
    except BaseException:
        _remove_tree(unfinished)
        raise
    _remove_unused(path)


def _builder_packages(release: Release) -> list[str]:
    needed = ['debootstrap', 'debian-archive-keyring']
    if release.gil_shim:
        needed += preload.PACKAGES
    if release.mgr_wheels:
        needed += ['python3-venv']
    return needed


def mirror(sources: Path = Path('/etc/apt'), codename: str | None = None) -> str:
    """The archive that this machine takes its own base system from.

    Others that it has packages of (a vendor's) may come first, but do not carry its suite as a
    whole with a component "main".
    """
    suite = codename or _codename()
    lists = [sources / 'sources.list', *sorted((sources / 'sources.list.d').glob('*.list'))]
    deb822 = sorted((sources / 'sources.list.d').glob('*.sources'))
    entries = [entry for file in deb822 for entry in _deb822_entries(file.read_text())]
    entries += [e for file in lists if file.exists() for e in _one_line_entries(file.read_text())]
    for uri, suites, components in entries:
        if suite in suites and 'main' in components:
            return uri
    raise HarnessError(f'{sources} names no archive with the component main of Debian {suite}')


_Entry = tuple[str, list[str], list[str]]


def _codename() -> str:
    found = re.search(r'^VERSION_CODENAME=(\w+)', Path('/etc/os-release').read_text(), re.MULTILINE)
    return found[1] if found else 'sid'


def _deb822_entries(text: str) -> Iterable[_Entry]:
    """URI, suites and components of each stanza with packages that is not switched off."""
    for stanza in re.split(r'\n\s*\n', re.sub(r'(?m)^#.*\n?', '', text)):
        pairs = re.findall(r'^([\w-]+):[ \t]*(.*(?:\n[ \t]+.*)*)', stanza, re.MULTILINE)
        fields = {key.lower(): value.split() for key, value in pairs}
        if 'deb' in fields.get('types', []) and fields.get('enabled') not in (['no'], ['false']):
            for uri in fields.get('uris', []):
                yield uri, fields.get('suites', []), fields.get('components', [])


def _one_line_entries(text: str) -> Iterable[_Entry]:
    for found in re.finditer(r'^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)(.*)', text, re.MULTILINE):
        yield found[1], [found[2]], found[3].split()


def _debootstrap(host: Host, release: Release, root: Path) -> None:
    scripts = Path('/usr/share/debootstrap/scripts')
    argv = ['debootstrap', '--variant=minbase', release.suite, str(root), mirror()]
    if not (scripts / release.suite).exists():
        # An older debootstrap does not know the suite's name; all newer suites are made alike
        argv.append(str(scripts / 'sid'))
    host.run(argv, timeout_s=INSTALL_TIMEOUT_S)


def _configure(root: Path) -> None:
    (root / 'etc/apt/apt.conf.d/99ceph-qa').write_text(_APT_CONF)
    (root / 'etc/dpkg/dpkg.cfg.d/99ceph-qa').write_text(_DPKG_CONF)
    # Nothing that is installed starts as a service: this is no machine that boots
    policy = root / packages.POLICY
    policy.write_text('#!/bin/sh\nexit 101\n')
    policy.chmod(0o755)
    for name in ('resolv.conf', 'hosts'):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(Path('/etc') / name, root / 'etc' / name)
    for file in Path('/etc/apt/apt.conf.d').glob('*proxy*'):
        shutil.copyfile(file, root / 'etc/apt/apt.conf.d' / file.name)


def _add_local_packages(host: Host, release: Release, root: Path) -> None:
    """Workarounds for faults of the release's packages; releases.py lists them with the reasons."""
    ours = root / LOCAL_PACKAGES
    ours.mkdir(parents=True)
    if release.gil_shim:
        library = ours / Path(release.gil_shim).name
        preload.build(host, SHIM_SOURCE, library)
    if release.mgr_wheels:
        unpack_wheels(host, release.mgr_wheels, ours / 'python')


def unpack_wheels(host: Host, wheels: Sequence[tuple[str, tuple[str, ...]]], target: Path) -> None:
    """Python packages that are unpacked, not installed: only ceph-mgr is shown this folder."""
    with tempfile.TemporaryDirectory(prefix='ceph-qa-wheels-') as scratch:
        host.run([_system_python(), '-m', 'venv', f'{scratch}/venv'], timeout_s=120)
        for requirement, options in wheels:
            download = [f'{scratch}/venv/bin/pip', 'download', '-q', '--no-deps']
            download += ['--only-binary=:all:', '-d', f'{scratch}/wheels', *options, requirement]
            host.run(download, timeout_s=300)
        for wheel in sorted(Path(scratch, 'wheels').glob('*.whl')):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)


def _system_python() -> str:
    return '/usr/bin/python3' if Path('/usr/bin/python3').exists() else sys.executable


def _moved_away(folder: Path) -> Path:
    """The path of a moved-away chroot within its new folder."""
    return folder / 'set-aside'


def _move_away(path: Path) -> None:
    """Take a chroot's name from it, so that no half of it is ever taken for a whole."""
    folder = Path(tempfile.mkdtemp(prefix=f'.{path.name}.', dir=path.parent))
    path.rename(_moved_away(folder))


def _leftovers(path: Path) -> list[Path]:
    """Moved-away chroots and leftovers of killed builds."""
    return list(path.parent.glob(f'.{path.name}.*'))


def _remove_unused(path: Path) -> None:
    for leftover in _leftovers(path):
        if not _users(leftover):
            _remove_tree(leftover)


def _remove_tree(path: Path) -> None:
    """Remove a folder in which processes that were killed may still be about to end."""
    deadline_s = time.monotonic() + REMOVE_TIMEOUT_S
    while True:
        try:
            shutil.rmtree(path)
        except OSError as error:
            if not path.exists():
                return
            if time.monotonic() >= deadline_s:
                raise HarnessError(f'{path} cannot be removed: {error}') from error
        else:
            return
        time.sleep(0.2)

"""Chroots: what they share with the machine, and what they are made of."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import chroot_build, packages
from harness.chroot import ChrootHost
from harness.errors import CancelledError, HarnessError
from harness.host import Host
from harness.layout import CACHE_VARIABLE, QA
from harness.progress import Progress
from harness.releases import RELEASES, Release

ROOT = Path('/nowhere/reef')
QUIET = Progress(quiet=True)
REEF = RELEASES['reef']
IN_CHROOTS = [release for release in RELEASES.values() if release.in_chroot]


@pytest.mark.parametrize(
    ('inside', 'outside'),
    [
        ('/tmp/c/ceph.conf', '/tmp/c/ceph.conf'),
        ('/srv/clusters/a/log', '/srv/clusters/a/log'),
        ('/srv/clusters-b', '/nowhere/reef/srv/clusters-b'),
        ('/usr/share/ceph/mgr', '/nowhere/reef/usr/share/ceph/mgr'),
        ('/', '/nowhere/reef'),
    ],
)
def test_shared_folders_keep_their_path_and_all_others_are_private(
    inside: str, outside: str
) -> None:
    host = ChrootHost(ROOT, [Path('/srv/clusters')])
    assert host.outside(Path(inside)) == Path(outside)


def test_folder_within_a_shared_one_is_not_mounted_again() -> None:
    command = ' '.join(ChrootHost(ROOT, [Path('/srv/a/b'), Path('/srv/a')]).command(['true']))
    assert command.count('mount --rbind /srv/a') == 1
    assert '/srv/a/b' not in command
    assert command.count('mount --rbind /tmp ') == 1


def test_special_characters_in_folder_names_are_quoted() -> None:
    command = ChrootHost(ROOT, [Path("/srv/it's; rm -rf")]).command(['ceph', '-s'])
    assert "'/nowhere/reef/srv/it'\"'\"'s; rm -rf'" in command[6]
    assert command[-2:] == ['ceph', '-s']


def test_command_is_searched_in_the_path_of_the_chroot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """./PROGRAM is the caller's where the chroot has the caller's folder, else the chroot's own."""
    root, shared, private = tmp_path / 'root', tmp_path / 'shared', Path('/usr')
    for folder in (root / 'opt', shared):
        folder.mkdir(parents=True)
    (shared / 'mine').touch()
    (root / 'opt/its').touch()
    host = ChrootHost(root, [shared])
    monkeypatch.chdir(shared)
    assert host.has_program('./mine')
    assert str(shared) in host.command_here(['./mine'])
    monkeypatch.chdir(private)
    assert not host.has_program('./mine')
    assert host.has_program('opt/its')
    assert host.command_here(['opt/its']) == host.command(['opt/its'])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test's chroots."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path / 'chroots'


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds that make a folder and nothing more; the folders that they worked in."""
    folders: list[Path] = []

    def debootstrap(_host: object, _release: Release, root: Path) -> None:
        folders.append(root)
        (root / 'opt').mkdir()
        time.sleep(0.2)

    monkeypatch.setattr(chroot_build, '_debootstrap', debootstrap)
    for name in ('_configure', '_add_local_packages'):
        monkeypatch.setattr(chroot_build, name, lambda *_: None)
    for name in ('install', 'apt_get', 'check_version'):
        monkeypatch.setattr(packages, name, lambda *_: None)
    monkeypatch.setattr(chroot_build, 'STAMP', Path('opt/recipe.json'))
    return folders


@pytest.mark.parametrize('release', IN_CHROOTS, ids=lambda release: release.name)
def test_chroot_is_kept_until_its_recipe_changes(
    release: Release, cache: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ensure` returns at once for what is there, and a new recipe is another chroot."""
    assert chroot_build.state(release) == 'not there'
    assert chroot_build.ensure(release, QUIET) == cache / release.name
    (cache / release.name / 'first').touch()
    assert chroot_build.ensure(release, QUIET) == cache / release.name
    assert len(made) == 1
    assert chroot_build.state(release) == 'ready'
    monkeypatch.setattr(chroot_build, 'RECIPE_VERSION', 99)
    assert chroot_build.state(release).startswith('of another recipe')
    chroot_build.ensure(release, QUIET)
    assert len(made) == 2
    assert not (cache / release.name / 'first').exists()
    assert [path.name for path in cache.iterdir()] == [release.name]


@pytest.mark.parametrize('failure', [HarnessError('x'), KeyboardInterrupt()])
def test_failed_build_keeps_the_existing_chroot(
    failure: BaseException, cache: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older chroot keeps its name, and nothing else remains."""
    chroot_build.ensure(REEF, QUIET)
    monkeypatch.setattr(chroot_build, 'RECIPE_VERSION', 99)

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(chroot_build, '_add_local_packages', fail)
    with pytest.raises(type(failure)):
        chroot_build.ensure(REEF, QUIET)
    assert len(made) == 2
    assert [path.name for path in cache.iterdir()] == ['reef']
    assert chroot_build.state(REEF).startswith('of another recipe')


def test_concurrent_users_build_a_chroot_once(
    cache: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The second waits with a message and uses the result of the first."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: chroot_build.ensure(REEF, Progress()), range(2)))
    assert found == [cache / 'reef'] * 2
    assert len(made) == 1
    assert 'another process is making the chroot of reef: waiting' in capsys.readouterr().err


def test_removal_includes_leftovers_of_killed_builds(cache: Path) -> None:
    (cache / '.reef.abc/usr').mkdir(parents=True)
    (cache / '.tentacle.abc').mkdir()
    assert chroot_build.remove(REEF, QUIET) is False
    (cache / 'reef/usr').mkdir(parents=True)
    assert chroot_build.remove(REEF, QUIET) is True
    assert [path.name for path in cache.iterdir()] == ['.tentacle.abc']


@contextlib.contextmanager
def process_in(root: Path) -> Iterator[int]:
    """A process whose root is a folder, which needs nothing in it: a copy of Python in a chroot."""
    program = f'import os, time; os.chroot({str(root)!r}); print(flush=True); time.sleep(600)'
    with subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b'\n'
            yield process.pid
        finally:
            process.kill()


@pytest.mark.integration
def test_chroot_in_use_is_not_removed(cache: Path) -> None:
    """Not even when it has lost its name to a newer one; the processes are named."""
    (cache / 'reef/opt').mkdir(parents=True)
    with process_in(cache / 'reef') as pid:
        for _ in range(2):
            with pytest.raises(HarnessError, match=f'in use by the processes {pid}: take'):
                chroot_build.remove(REEF, QUIET)
            if (cache / 'reef').exists():
                chroot_build._move_away(cache / 'reef')
    assert chroot_build.remove(REEF, QUIET) is False
    assert list(cache.iterdir()) == []


@pytest.mark.integration
def test_new_recipe_keeps_the_chroot_of_running_clusters(cache: Path, made: list[Path]) -> None:
    """Processes in the old one keep running; the next build after their end removes it."""
    (cache / 'reef/opt').mkdir(parents=True)
    (cache / 'reef/opt/old').touch()
    with process_in(cache / 'reef') as pid:
        chroot_build.ensure(REEF, QUIET)
        assert Path(f'/proc/{pid}/root/opt/old').exists()
        assert not (cache / 'reef/opt/old').exists()
        assert len(list(cache.iterdir())) == 2
    chroot_build.remove(REEF, QUIET)
    assert list(cache.iterdir()) == []


@pytest.mark.integration
@pytest.mark.parametrize('in_chroot', [False, True])
def test_processes_started_by_a_build_end_with_it(in_chroot: bool, tmp_path: Path) -> None:
    """By SIGKILL too: programs in sessions of their own would write into what the next one makes.

    In the case of the chroot, the one that is being made is the machine's own root.
    """
    name = f'{os.getpid()}.{time.time_ns()}'
    started = f'setsid sleep {name} & echo > {tmp_path}/started; wait'
    chroot = "ChrootHost(Path('/'))" if in_chroot else 'None'
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(QA)!r})
from harness.chroot import ChrootHost
from harness.chroot_build import _Builder
_Builder({chroot}).run(['sh', '-c', {started!r}])
"""
    builder = subprocess.Popen([sys.executable, '-c', program])
    try:
        wait_for((tmp_path / 'started').exists)
        wait_for(lambda: running(f'sleep\0{name}'))
    finally:
        builder.kill()
        builder.wait()
    wait_for(lambda: not running(f'sleep\0{name}'))


def running(command_line: str) -> bool:
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError):
            if (process / 'cmdline').read_text().startswith(command_line):
                return True
    return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


VENDOR = 'Types: deb\nURIs: http://vendor.test/apt\nSuites: nodistro\nComponents: main\n'
SECURITY = 'Types: deb\nURIs: http://a.test/security\nSuites: bookworm-security\nComponents: main\n'
OFF = 'Types: deb\nEnabled: no\nURIs: http://off.test/x\nSuites: bookworm\nComponents: main\n'
OWN = (
    '# the base\nTypes: deb deb-src\n# http://old.test/x\nURIs: http://a.test/debian\n'
    'Suites: bookworm bookworm-updates\nComponents: main\nSigned-By:\n -----BEGIN\n .\n x: y\n'
)


@pytest.mark.parametrize(
    'files',
    [
        {'sources.list.d/debian.sources': OWN},
        {'sources.list.d/debian.sources': f'{SECURITY}\n{OFF}\n{OWN}'},
        {'sources.list.d/a-vendor.sources': VENDOR, 'sources.list.d/debian.sources': OWN},
        {'sources.list': '#\ndeb [arch=amd64 trusted=no] http://a.test/debian bookworm main\n'},
        {
            'sources.list': 'deb http://a.test/debian bookworm contrib main\n',
            'sources.list.d/a-vendor.list': 'deb http://vendor.test/apt vendor-bookworm main\n',
        },
        {'sources.list.d/more.list': 'deb http://a.test/debian bookworm main\n'},
    ],
)
def test_packages_come_from_the_archive_of_the_machine(
    files: dict[str, str], tmp_path: Path
) -> None:
    """From the archive of its base system, not from additional vendor archives."""
    (tmp_path / 'sources.list.d').mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert chroot_build.mirror(tmp_path, 'bookworm') == 'http://a.test/debian'


def test_machine_without_an_archive_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / 'sources.list.d').mkdir()
    (tmp_path / 'sources.list.d/a-vendor.sources').write_text(VENDOR)
    with pytest.raises(HarnessError, match=r'names no archive .* of Debian bookworm'):
        chroot_build.mirror(tmp_path, 'bookworm')


def test_chroots_are_built_in_parallel_and_cancelled_together(
    cache: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other to start; when one fails, the commands of the other end."""
    both = threading.Barrier(2)
    ended: list[str] = []

    def configure(root: Path) -> None:
        both.wait(30)
        if '.reef.' in root.name:
            raise HarnessError('no archive')

    def add_local_packages(host: Host, _release: Release, _root: Path) -> None:
        try:
            host.run(['sleep', '600'], timeout_s=600)
        except CancelledError as error:
            ended.append(str(error))
            raise

    monkeypatch.setattr(chroot_build, '_configure', configure)
    monkeypatch.setattr(chroot_build, '_add_local_packages', add_local_packages)
    monkeypatch.setattr(chroot_build._Builder, 'command', lambda _self, argv: list(argv))
    with pytest.raises(HarnessError, match='no archive'):
        chroot_build.ensure_all(IN_CHROOTS, QUIET)
    assert len(made) == 2
    assert len(ended) == 1
    assert 'the work was given up' in ended[0]
    assert list(cache.iterdir()) == []

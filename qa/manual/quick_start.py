"""The quick start of the manual, done and timed on clusters of all releases: `make quick-start`.

Each runs in a fresh copy of a Debian system: of a release's chroot, or for Pacific of the machine
itself. What the packages write goes to a layer that ends with the script, so that the next run
starts without the module again. The commands are those of the page, and so are the outputs that
they are compared with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from harness import Cluster, ClusterSpec, Progress, chroot_build
from harness.client import wait_until
from harness.ending import interruptible
from harness.errors import CommandError, HarnessError
from harness.layout import CHECKOUT, DEFAULT_MEMORY
from harness.packaged import RESTART, PackagedManagers
from harness.releases import RELEASES, Release, get_release
from rocksdb_tuner.knowledge import loader
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.version import VERSION

from .pages import pages
from .sessions import Session, missing, sessions

RESULTS = CHECKOUT / 'qa/bench/results/quick-start.json'
PACKAGES = tuple(
    CHECKOUT / f'build/packages/{name}_{VERSION}_all.deb'
    for name in ('ceph-mgr-rocksdb-tuner', 'ceph-mgr-dashboard-rocksdb-tuner')
)
PAGE = 'quickstart'
#: The situation of the page: OSDs that run a string copied from a blog post.
PROFILE = 'alternate-2019'
#: The time given on the page.
LIMIT_S = 300.0
#: How long an output is waited for; later ones are compared at once.
PATIENCE_S = 900.0
#: The folders that packages write to.
_LAYERED = ('etc', 'usr', 'var/lib/dpkg', 'var/lib/apt', 'var/cache/apt', 'var/cache/debconf')
_INSIDE = 'ROCKSDB_TUNER_QUICK_START'


@dataclass(frozen=True)
class Step:
    """A step of the quick start; `at_s`: when it was done, from the first one's begin."""

    command: str
    seconds: float
    at_s: float


@dataclass(frozen=True)
class Run:
    """The quick start on one release, or another way to the first decision."""

    way: str
    release: str
    debian: str
    date: str
    load_average: float
    """Of the machine at the end: everything takes longer on a loaded one."""
    steps: tuple[Step, ...]

    @property
    def seconds(self) -> float:
        return self.steps[-1].at_s


def timed(release: Release, way: str, steps: tuple[Step, ...]) -> Run:
    """A run that ends now."""
    today = datetime.now(tz=timezone.utc).date().isoformat()
    return Run(way, release.name, release.suite, today, round(os.getloadavg()[0], 1), steps)


class QuickStart:
    """The steps of the page, on one cluster."""

    def __init__(self, managers: PackagedManagers, progress: Progress) -> None:
        self._managers, self._cluster, self._progress = managers, managers.cluster, progress
        self._begin_s = time.monotonic()
        self._steps: list[Step] = []

    def run(self) -> tuple[Step, ...]:
        self._time('apt install ./ceph-mgr-rocksdb-tuner_*.deb ...', self._install)
        self._time('systemctl restart ceph-mgr.target', self._managers.restart_managers)
        for session in sessions(PAGE, pages()[PAGE]):
            self._time(session.command, lambda: self._follow(session))  # noqa: B023  # runs at once
        return tuple(self._steps)

    def _time(self, command: str, step: Callable[[], None]) -> None:
        begin_s = time.monotonic()
        step()
        now_s = time.monotonic()
        done = Step(command, round(now_s - begin_s, 1), round(now_s - self._begin_s, 1))
        self._steps.append(done)
        self._progress.say(f'{done.at_s:7.1f} s  {command}')

    def _install(self) -> None:
        asked = self._managers.install(PACKAGES)
        if asked != [RESTART] * len(PACKAGES):
            raise HarnessError(f'the packages called systemd with {asked}')

    def _follow(self, session: Session) -> None:
        """Run the command until it prints what the page shows."""
        found = 'nothing'

        def shown() -> bool:
            nonlocal found
            try:
                words = [self._recommendation() if w == '<id>' else w for w in session.words[1:]]
                text = self._cluster.ceph(*words)
            except CommandError as error:
                found = str(error)
                return False
            found = f'lacks {missing(session.output or (), text)}: {text}'
            return missing(session.output or (), text) == []

        wait_until(shown, PATIENCE_S, session.command, detail=lambda: found, poll_s=1)

    def _recommendation(self) -> str:
        (found,) = self._cluster.ceph_json('rocksdb-tuner', 'recommend', '--format', 'json')
        return str(found['id'])


def run(release: Release, progress: Progress) -> Run:
    """Start a cluster in layers over the release's system, and follow the page."""
    profiles = loader.load('profiles')['profiles']
    (options,) = [profile['options'] for profile in profiles if profile['name'] == PROFILE]
    root = chroot_build.ensure(release, progress) if release.in_chroot else Path('/')
    with tempfile.TemporaryDirectory(prefix='tuner-quick-start-') as scratch:
        spec = ClusterSpec(
            release=release.name, osds=1, mgrs=2, module=None, osd_conf=DEFAULT_MEMORY
        )
        folder = Path(scratch) / 'cluster'
        with (
            _layers(root, Path(scratch) / 'layers'),
            Cluster.up(spec, folder, progress) as cluster,
        ):
            cluster.ceph('config', 'set', 'osd', OPTION, options)
            cluster.restart_osd(0)
            steps = QuickStart(PackagedManagers(cluster, Path(scratch)), progress).run()
            return timed(release, 'Packages', steps)


@contextlib.contextmanager
def _layers(root: Path, folder: Path) -> Iterator[None]:
    """In this process's mount namespace only: the kernel removes them with the last process."""
    folder.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', str(folder)], check=True)
    mounted = [folder]
    try:
        for name in _LAYERED:
            upper, work = (folder / name.replace('/', '-') / part for part in ('upper', 'work'))
            upper.mkdir(parents=True)
            work.mkdir()
            options = f'lowerdir={root / name},upperdir={upper},workdir={work}'
            mount = ['mount', '-t', 'overlay', 'overlay', '-o', options, str(root / name)]
            subprocess.run(mount, check=True)
            mounted.append(root / name)
        yield
    finally:
        # Lazily: this program runs from one of them
        for path in reversed(mounted):
            subprocess.run(['umount', '--lazy', str(path)], check=True)


def write(done: Run) -> None:
    """In the place of an older result of the release."""
    runs = {(run['way'], run['release']): run for run in json.loads(RESULTS.read_text())}
    runs[done.way, done.release] = {**asdict(done), 'seconds': done.seconds}
    order = list(RELEASES)
    entries = sorted(runs.values(), key=lambda run: (run['way'], order.index(run['release'])))
    RESULTS.write_text(json.dumps(entries, indent=1) + '\n')


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog='qa/quick-start', description=__doc__)
    parser.add_argument('releases', nargs='*', metavar='RELEASE', help='default: all')
    releases = parser.parse_args(arguments).releases or list(RELEASES)
    if os.geteuid() != 0:
        sys.exit('qa/quick-start: not root: mounts and packages need it')
    if _INSIDE not in os.environ:
        own = [sys.executable, str(CHECKOUT / 'qa/quick-start'), *arguments]
        environment = {**os.environ, _INSIDE: '1'}
        os.execvpe('unshare', ['unshare', '--mount', '--propagation', 'private', *own], environment)
    absent = [shlex.quote(str(path)) for path in PACKAGES if not path.is_file()]
    if absent:
        sys.exit(f'qa/quick-start: no {", ".join(absent)}: run make deb first')
    progress, late = Progress(), False
    for name in releases:
        try:
            with interruptible():
                done = run(get_release(name), progress)
        except HarnessError as error:
            sys.exit(f'qa/quick-start: {name}: {error}')
        write(done)
        late |= done.seconds > LIMIT_S
        progress.say(f'{name}: {done.seconds:.0f} s, load average {done.load_average:g}')
    return 1 if late else 0

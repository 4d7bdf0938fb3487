"""The two images of a cluster under cephadm, made once from Debian's packages and kept.

One is Ceph's: the chroot of a release with what cephadm asks of an image. The other is a host's: a
small Debian 12 with systemd, podman and sshd. Both are in a store of their own in the cache, which
hosts share read-only. What stood in the way of cephadm on a machine without device mapper and with
control groups of version 1, and how it was got round, was measured first in shell scripts of a
laboratory; this file and cephadm.py take that over.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from . import chroot_build, ending, packages, space
from .host import Completed, Host
from .layout import cache_dir
from .packages import INSTALL_TIMEOUT_S
from .ports import held_path
from .progress import Progress
from .releases import Release

PODMAN = ('podman', 'runc', 'conmon', 'netavark', 'aardvark-dns', 'iproute2')
#: What a host needs: cephadm's own requirements, and an init. No crun: it wants one kind of control
#: groups only.
HOST_PACKAGES = (
    *('systemd', 'systemd-sysv', 'dbus', 'udev', 'podman', 'runc', 'conmon', 'netavark'),
    *('aardvark-dns', 'catatonit', 'openssh-server', 'chrony', 'python3', 'python3-jinja2'),
    *('python3-yaml', 'lvm2', 'iproute2', 'iptables', 'procps', 'ca-certificates'),
)
#: udevd must not run in a privileged container: it would act on the machine's devices.
MASKED = (
    'systemd-udevd.service',
    'systemd-udev-trigger.service',
    'getty.target',
    'lvm2-monitor.service',
)
IMAGES_BYTES = 4 << 30
#: Where hosts see the store of images.
SHARED_STORE = '/var/lib/ceph-qa-images'
#: Python 3.14 starts a ThreadPool's resource tracker with sys.executable, ceph-mgr: "orch set
#: backend" would say "Module not found". Without device mapper there is no LVM, so OSDs are "raw"
#: ones on loop devices. "cephadm shell" looks for the label. A manager that starts loads every
#: module that there is, in seconds where no package has compiled them: some go.
_CEPH = """\
ARG CHROOT
FROM ${CHROOT}
RUN apt-get update -qq && \
 DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
 ceph-mgr-cephadm cephadm ceph-volume ceph-base lvm2 udev util-linux && apt-get clean
RUN cd /usr/share/ceph/mgr && rm -rf insights influx mirroring osd_perf_query \
 selftest snap_schedule stats telegraf test_orchestrator && python3 -m compileall -q .
RUN printf 'import multiprocessing\\nmultiprocessing.set_start_method("fork")\\n' \
 >> $(echo /etc/python3.*/sitecustomize.py)
ENV CEPH_VOLUME_ALLOW_LOOP_DEVICES=1
LABEL ceph=True
"""
#: What ceph-mgr alone needs (releases.py), in its place: cephadm runs it by this name.
_MGR = """\
COPY python /opt/ceph-qa/python
RUN install -D -t /opt/ceph-qa/bin /usr/bin/ceph-mgr && \
 printf '#!/bin/sh\\n{environment} exec /opt/ceph-qa/bin/ceph-mgr "$@"\\n' > /usr/bin/ceph-mgr
"""
_STORAGE = f"""\
[storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
[storage.options]
additionalimagestores = ["{SHARED_STORE}"]
"""
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=10000:10000"]
pids_limit = 0
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
"""
#: In place of a host's podman: control groups of version 1 can be mounted only in a namespace of
#: their own, and the limit of open files cannot be raised above the machine's.
_WRAPPER = """\
#!/bin/bash
arguments=()
while (($#)); do
  case "$1" in
    run | create)
      arguments+=("$1")
      [[ -z "$seen" ]] && arguments+=(--cgroupns=private)
      seen=1 ;;
    --ulimit)
      case "$2" in nofile=1048576*) shift ;; *) arguments+=("$1") ;; esac ;;
    *)
      arguments+=("$1")
      [[ "$1" != -* ]] && seen=1 ;;
  esac
  shift
done
exec /usr/bin/podman.real "${arguments[@]}"
"""


class Podman:
    """The machine's podman with the store of images in the cache."""

    def __init__(self, host: Host | None = None) -> None:
        self.host = host or Host()
        self.store = cache_dir() / 'podman'
        self._environment = {'CONTAINERS_CONF': str(cache_dir() / 'containers.conf')}

    def argv(self, *words: str) -> list[str]:
        """A command line of podman."""
        return [
            'env', *(f'{key}={value}' for key, value in self._environment.items()),
            'podman', '--root', str(self.store), '--runroot', '/run/ceph-qa-podman',
            '--storage-driver', 'overlay', *words,
        ]  # fmt: skip

    def run(
        self, *words: str, stdin: str = '', timeout_s: float = 120.0, check: bool = True
    ) -> Completed:
        """Run a command of podman to its end."""
        return self.host.run(self.argv(*words), stdin=stdin, timeout_s=timeout_s, check=check)

    def has(self, image: str) -> bool:
        return self.run('image', 'exists', image, check=False).returncode == 0

    def leave(self) -> None:
        """Undo what podman leaves on the machine once its last container has ended."""
        if self.run('ps', '--all', '--quiet', check=False).stdout.strip():
            return
        self.host.run(['umount', str(self.store / 'overlay')], check=False)
        for group in Path('/sys/fs/cgroup').glob('*/libpod_parent'):
            for folder in (*group.iterdir(), group):
                with contextlib.suppress(OSError):  # another podman's
                    folder.rmdir()

    def configure(self) -> None:
        """Write the file that every command reads."""
        cache_dir().mkdir(parents=True, exist_ok=True)
        (cache_dir() / 'containers.conf').write_text(_CONTAINERS)


def ceph_image(release: Release) -> str:
    """The name of the image that daemons run, with a digest of all that it is made of."""
    wheels = [requirement for requirement, _ in release.cephadm_wheels]
    recipe = str(chroot_build.recipe(release))
    return f'localhost/ceph-qa/ceph:{_digest(_recipe(release), *wheels, recipe)}'


def _recipe(release: Release) -> str:
    environment = ' '.join(f'{key}={value}' for key, value in release.mgr_environment.items())
    return _CEPH + (_MGR.format(environment=environment) if environment else '')


def host_image() -> str:
    """The same for hosts."""
    texts = (*HOST_PACKAGES, *MASKED, _STORAGE, _CONTAINERS, _WRAPPER)
    return f'localhost/ceph-qa/host:{_digest(*texts)}'


def _digest(*texts: str) -> str:
    return hashlib.sha256('\0'.join(texts).encode()).hexdigest()[:12]


def ensure(release: Release, podman: Podman, progress: Progress) -> None:
    """Install podman and make the images, unless they are there."""
    packages.install(podman.host, PODMAN, progress)
    podman.configure()
    root = chroot_build.ensure(release, progress)
    busy = 'another process makes the images of cephadm'
    with held_path('images', podman.store, wait_s=1200, busy=busy, pause=lambda: ending.pause(1)):
        images: Mapping[str, tuple[str, Callable[[str], None]]] = {
            ceph_image(release): ('Ceph', lambda name: _make_ceph(podman, root, name, release)),
            host_image(): ('a host', lambda name: _make_host(podman, name)),
        }
        for name, (what, make) in images.items():
            if not podman.has(name):
                space.require(podman.store, IMAGES_BYTES, f'an image of {what}')
                with progress.step(f'make the image of {what} for cephadm, once'):
                    make(name)


def _make_ceph(podman: Podman, root: Path, name: str, release: Release) -> None:
    with tempfile.TemporaryDirectory(prefix='ceph-qa-image-') as folder:
        base = f'{name}-chroot'
        _import(podman, root, base)
        recipe = Path(folder, 'Containerfile')
        recipe.write_text(_recipe(release))
        if release.cephadm_wheels:
            chroot_build.unpack_wheels(podman.host, release.cephadm_wheels, Path(folder, 'python'))
        podman.run(
            'build', '-q', '--network=host', '--isolation=chroot', f'--build-arg=CHROOT={base}',
            '-f', str(recipe), '-t', name, folder, timeout_s=INSTALL_TIMEOUT_S,
        )  # fmt: skip
        podman.run('untag', base, check=False)


def _make_host(podman: Podman, name: str) -> None:
    packages.install(podman.host, ['debootstrap', 'debian-archive-keyring'], Progress(quiet=True))
    with tempfile.TemporaryDirectory(prefix='ceph-qa-host-', dir=cache_dir()) as root:
        include = f'--include={",".join(HOST_PACKAGES)}'
        argv = ['debootstrap', '--variant=minbase', include, 'bookworm', root]
        argv.append(chroot_build.mirror(codename='bookworm'))
        podman.host.run(argv, timeout_s=INSTALL_TIMEOUT_S)
        _configure_host(Path(root))
        _import(podman, Path(root), name)


def _configure_host(root: Path) -> None:
    for unit in MASKED:
        (root / 'etc/systemd/system' / unit).symlink_to('/dev/null')
    configuration = root / 'etc/containers'
    configuration.mkdir(exist_ok=True)
    (configuration / 'storage.conf').write_text(_STORAGE)
    (configuration / 'containers.conf').write_text(_CONTAINERS)
    program = root / 'usr/bin/podman'
    program.rename(program.with_suffix('.real'))
    program.write_text(_WRAPPER)
    program.chmod(0o755)
    for archive in (root / 'var/cache/apt/archives').glob('*.deb'):
        archive.unlink()


def _import(podman: Podman, root: Path, name: str) -> None:
    """Make an image of a folder's files."""
    left_out = ' '.join(
        f'--exclude=./{folder}/*' for folder in ('proc', 'sys', 'dev', 'tmp', 'run')
    )
    script = f'set -o pipefail; tar -C "$0" -c {left_out} . | "$@"'
    podman.host.run(
        ['bash', '-c', script, str(root), *podman.argv('import', '-q', '-', name)],
        timeout_s=INSTALL_TIMEOUT_S,
    )

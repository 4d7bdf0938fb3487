"""Packages of this checkout and of another version of it, as `make deb` and `make rpm` do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness import Progress
from harness.cephadm_image import Podman
from harness.host import Host
from harness.layout import CHECKOUT
from harness.packages import install
from rocksdb_tuner.version import VERSION

#: The tools that examine packages; `make deb` and `make rpm` install what builds them.
TOOLS = ('lintian', 'rpm2cpio', 'cpio')
NAMES = ('ceph-mgr-rocksdb-tuner', 'ceph-mgr-dashboard-rocksdb-tuner')
OLDER = '0.9.0'
#: Only the older version has it.
LEFTOVER = 'only_in_the_older_version.py'
_MODULE = Path('src/pybind/mgr/rocksdb_tuner')


@dataclass(frozen=True)
class Packages:
    """The packages of one version."""

    version: str
    folder: Path

    def debs(self) -> list[Path]:
        """The module's, and the dashboard's."""
        return [self.folder / f'{name}_{self.version}_all.deb' for name in NAMES]

    def rpms(self) -> list[Path]:
        return [self.folder / f'{name}-{self.version}-1.noarch.rpm' for name in NAMES]


@cache
def build() -> Packages:
    """Packages of this checkout."""
    install(Host(), TOOLS, Progress())
    subprocess.run(['make', '-s', 'deb', 'rpm'], cwd=CHECKOUT, check=True)
    return Packages(VERSION, CHECKOUT / 'build/packages')


def build_pyz(target: Path) -> None:
    """The one file for clusters without the module, without the tab."""
    subprocess.run(
        [
            *('make', '--old-file', f'{sys.prefix}/bin/tox', 'pyz', f'VENV={sys.prefix}'),
            *('TAB_TO_INSTALL=', f'PYZ={target}'),
        ],
        cwd=CHECKOUT,
        check=True,
    )


def unpacked(folder: Path) -> Path:
    """The release tarball's folder, from which an image is built."""
    subprocess.run(['make', '-s', 'dist'], cwd=CHECKOUT, check=True)
    name = f'ceph-rocksdb-tuner-{VERSION}'
    tarball = CHECKOUT / f'build/packages/{name}.tar.gz'
    subprocess.run(['tar', '-xzf', str(tarball), '-C', str(folder)], check=True)
    return folder / name


def build_image(
    podman: Podman,
    context: Path,
    base: str,
    name: str,
    recipe: str = 'packaging/image/Containerfile',
) -> None:
    """An image over another one, as the recipe says."""
    podman.run(
        'build', '-q', '--layers=false', '--network=host', '--isolation=chroot',
        f'--build-arg=CEPH_IMAGE={base}',
        '-f', str(context / recipe), '-t', name, str(context), timeout_s=300,
    )  # fmt: skip


def build_older(folder: Path) -> Packages:
    """Debian packages of a version that differs in its number and in one more file."""
    top = folder / f'ceph-rocksdb-tuner-{OLDER}'
    unpacked(folder).rename(top)
    version = top / _MODULE / 'version.py'
    text = version.read_text()
    version.write_text(text.replace(f"VERSION = '{VERSION}'", f"VERSION = '{OLDER}'"))
    assert version.read_text() != text
    (top / _MODULE / LEFTOVER).write_text('')
    packed = folder / f'{top.name}.tar.gz'
    subprocess.run(['tar', '-czf', str(packed), '-C', str(folder), top.name], check=True)
    subprocess.run([str(CHECKOUT / 'packaging/build-package'), 'deb', str(packed)], check=True)
    return Packages(OLDER, folder)


def contents(package: Path, scratch: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of each file of a package, by its path, without what documents it."""
    folder = scratch / package.name
    folder.mkdir()
    if package.suffix == '.deb':
        subprocess.run(['dpkg-deb', '-x', str(package), str(folder)], check=True)
    else:
        archive = subprocess.run(['rpm2cpio', str(package)], check=True, capture_output=True).stdout
        subprocess.run(['cpio', '-idm', '--quiet'], cwd=folder, input=archive, check=True)
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        for path in folder.rglob('*')
        if path.is_file()
        and not path.is_relative_to(folder / 'usr/share/doc')
        and not path.is_relative_to(folder / 'usr/share/licenses')
    }

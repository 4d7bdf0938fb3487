"""Container images with the module.

podman builds them on images of Debian's packages, and Ceph's own mgr_module imports the module in
them. Clusters that run them are in test_cephadm.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from built_packages import build_image, digest, unpacked
from harness import Progress, cephadm_image
from harness.cephadm_image import Podman
from harness.errors import CommandError
from harness.releases import get_release

pytestmark = [pytest.mark.integration, pytest.mark.packaging]

MGR = '/usr/share/ceph/mgr'
IMAGE = 'localhost/ceph-rocksdb-tuner:recipe'


@pytest.fixture(scope='module')
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked release, from which an image is built."""
    return unpacked(tmp_path_factory.mktemp('context'))


@pytest.fixture(scope='module')
def podman() -> Iterator[Podman]:
    found = Podman()
    yield found
    found.run('rmi', '--force', IMAGE, check=False)
    found.leave()


@pytest.fixture(scope='module')
def base(release: str, podman: Podman) -> str:
    """An image of Ceph by its digest."""
    found = get_release(release)
    if not found.in_chroot:
        pytest.skip('its packages run on the machine itself: there is no image of them')
    cephadm_image.ensure(found, podman, Progress())
    return digest(podman, cephadm_image.ceph_image(found))


def test_image_has_the_module_and_a_manager_could_run_it(
    podman: Podman, base: str, context: Path
) -> None:
    build_image(podman, context, base, IMAGE)
    find = ('find', f'{MGR}/rocksdb_tuner', f'{MGR}/dashboard/controllers', '/tmp')
    names = set(podman.run('run', '--rm', '--network=host', IMAGE, *find).stdout.split())
    assert f'{MGR}/rocksdb_tuner/module.py' in names
    assert f'{MGR}/dashboard/controllers/_rocksdb_tuner_tab.js' in names
    assert any(name.startswith(f'{MGR}/rocksdb_tuner/__pycache__/module.') for name in names)
    assert not any(name.startswith(f'{MGR}/rocksdb_tuner/tests') for name in names)
    assert '/tmp/check-import' not in names


@pytest.mark.usefixtures('base')
def test_image_without_a_digest_is_rejected(podman: Podman, release: str, context: Path) -> None:
    tag = cephadm_image.ceph_image(get_release(release))
    with pytest.raises(CommandError, match='must name an image by digest'):
        build_image(podman, context, tag, IMAGE)


def test_module_that_cannot_run_in_the_image_fails_the_build(
    podman: Podman, base: str, context: Path
) -> None:
    """As on an image whose Python is too old."""
    version = context / 'src/pybind/mgr/rocksdb_tuner/version.py'
    version.write_text(version.read_text().replace('(3, 9)', '(3, 99)'))
    with pytest.raises(CommandError, match=r'requires Python 3\.99 or newer'):
        build_image(podman, context, base, IMAGE)

"""The recipes for cephadm, Rook and container images.

cephadm's own code reads the service specification. Images are built by podman on those of Debian's
packages, and Ceph's own mgr_module imports the module in them. Clusters under cephadm are in
test_cephadm.py. Not tested: a Rook cluster.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from built_packages import build_image, digest, unpacked
from harness import Progress, cephadm_image, chroot_build
from harness.cephadm_image import Podman
from harness.chroot import ChrootHost
from harness.errors import CommandError
from harness.host import Host
from harness.layout import CHECKOUT
from harness.packages import install
from harness.releases import get_release

pytestmark = [pytest.mark.integration, pytest.mark.packaging]

RECIPES = CHECKOUT / 'packaging'
DATA = Path(__file__).resolve().parents[1] / 'data'
MGR = '/usr/share/ceph/mgr'
IMAGE = 'localhost/ceph-rocksdb-tuner:recipe'
READ_SPEC = """
import json, sys
from ceph.deployment.service_spec import ServiceSpec
spec = ServiceSpec.from_json(json.load(sys.stdin))
spec.validate()
print(json.dumps(spec.to_json()))
"""
TO_JSON = 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'


@pytest.fixture(scope='module')
def host(release: str) -> Host:
    """Where the release's programs run, Ceph's Python packages among them."""
    found = get_release(release)
    install(Host(), found.packages['core'] if not found.in_chroot else (), Progress())
    if not found.in_chroot:
        install(Host(), found.packages['dashboard'], Progress())
        return Host()
    return ChrootHost(chroot_build.ensure(found, Progress()))


def python(host: Host, program: str, stdin: str) -> Any:
    return json.loads(host.run(['/usr/bin/python3', '-c', program], stdin=stdin).stdout)


def read_yaml(host: Host, path: Path) -> Any:
    return python(host, TO_JSON, path.read_text())


def test_cephadm_accepts_the_specification_with_the_mounts(host: Host) -> None:
    spec = read_yaml(host, RECIPES / 'cephadm/mgr-mount.yaml')
    read = python(host, READ_SPEC, json.dumps(spec))
    assert read['service_type'] == 'mgr'
    assert read['extra_container_args'] == spec['extra_container_args']
    with pytest.raises(CommandError):
        python(host, READ_SPEC, json.dumps({**spec, 'extra_container_arg': []}))


def test_rook_would_accept_the_patch(host: Host) -> None:
    """By the schema of its CephCluster, in which a misspelt field is refused."""
    patch = read_yaml(host, RECIPES / 'rook/cephcluster-patch.yaml')
    schema = json.loads((DATA / 'rook-cephcluster.schema.json').read_text())
    jsonschema.validate(patch, schema)
    assert {'name': 'rocksdb_tuner', 'enabled': True} in patch['spec']['mgr']['modules']
    wrong = copy.deepcopy(patch)
    wrong['spec']['mgr']['module'] = wrong['spec']['mgr'].pop('modules')
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


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

"""The recipes for cephadm, Rook and container images, where no container engine runs.

cephadm's own code reads the service specification. The steps of the Containerfile are executed
over the root folder of a release, and Ceph's own mgr_module imports the module in it. Not tested: a
container engine, a cephadm cluster, a Rook cluster.
"""

from __future__ import annotations

import copy
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from built_packages import build
from harness import Progress, chroot_build
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
IMAGE = 'registry.example.com/ceph@sha256:' + '0123456789abcdef' * 4
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


def test_mounts_match_the_layout_of_make_install(host: Host, tmp_path: Path) -> None:
    """Each file of the dashboard by itself: its folder is Ceph's."""
    text = (RECIPES / 'cephadm/mgr-mount.yaml').read_text()
    (target,) = re.findall('make install install-dashboard DESTDIR=(\\S+)', text)
    installed_files = tmp_path / 'root'
    words = ['make', '-s', 'install', 'install-dashboard', f'DESTDIR={installed_files}']
    subprocess.run(words, cwd=CHECKOUT, check=True)
    mounted = []
    for argument in read_yaml(host, RECIPES / 'cephadm/mgr-mount.yaml')['extra_container_args']:
        source, inside, options = argument.removeprefix('--volume=').split(':')
        assert source == f'{target}{inside}'
        assert options == 'ro,z'
        mounted.append(installed_files / inside.lstrip('/'))
    assert [path for path in mounted if not path.exists()] == []
    covered = {path for path in installed_files.rglob('*') if path.is_file()}
    left = {p for p in covered if not any(p == m or m in p.parents for m in mounted)}
    assert left == set()


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


@pytest.fixture(scope='session')
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked release, from which an image is built."""
    folder = tmp_path_factory.mktemp('context')
    tarball = build().tarball
    subprocess.run(['tar', '-xzf', str(tarball), '-C', str(folder)], check=True)
    return folder / tarball.name.removesuffix('.tar.gz')


def steps(context: Path) -> Iterator[tuple[str, str]]:
    """The instructions of the Containerfile."""
    text = (context / 'packaging/image/Containerfile').read_text()
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    for line in '\n'.join(lines).replace('\\\n', ' ').splitlines():
        instruction, _, rest = line.partition(' ')
        yield instruction, rest


def assembled(host: Host, context: Path, then: str, image: str = IMAGE) -> str:
    """Execute the Containerfile over the host's root, which stays unchanged, and then a command."""
    script = [
        'set -e',
        'scratch=$(mktemp -d); mount -t tmpfs tmpfs "$scratch"',
        'mkdir "$scratch/upper" "$scratch/work" "$scratch/root"',
        (
            f'mount -t overlay overlay -o lowerdir={shlex.quote(str(host.root))},'
            'upperdir="$scratch/upper",workdir="$scratch/work" "$scratch/root"'
        ),
        'trap \'umount "$scratch/root" "$scratch"; rmdir "$scratch"\' EXIT',
        (
            'inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin CEPH_IMAGE="$image" '
            'chroot "$scratch/root" sh -ec "$1"; }'
        ),
        f'image={shlex.quote(image)}',
    ]
    for instruction, rest in steps(context):
        if instruction == 'COPY':
            *sources, target = shlex.split(rest)
            inside = f'"$scratch/root"{shlex.quote(target)}'
            for source in sources:
                path = context / source
                # A folder's contents are copied, a file itself.
                what = f'{path}/.' if path.is_dir() else str(path)
                script.append(f'{f"mkdir -p {inside}; " * path.is_dir()}cp -R {what!r} {inside}')
        elif instruction == 'RUN':
            script.append(f'inside {shlex.quote(rest)}')
        else:
            assert instruction in {'ARG', 'FROM', ''}
    script.append(f'inside {shlex.quote(then)}')
    words = ['unshare', '--mount', 'sh', '-c', '\n'.join(script)]
    return Host().run(words, timeout_s=300).stdout


def test_image_has_the_module_and_a_manager_could_run_it(host: Host, context: Path) -> None:
    listed = assembled(host, context, f'find {MGR}/rocksdb_tuner {MGR}/dashboard/controllers /tmp')
    names = set(listed.split())
    assert f'{MGR}/rocksdb_tuner/module.py' in names
    assert f'{MGR}/dashboard/controllers/_rocksdb_tuner_tab.js' in names
    assert any(name.startswith(f'{MGR}/rocksdb_tuner/__pycache__/module.') for name in names)
    assert not any(name.startswith(f'{MGR}/rocksdb_tuner/tests') for name in names)
    assert '/tmp/check-import' not in names
    # The machine, or chroot, under it has got nothing.
    assert not host.outside(Path(MGR) / 'rocksdb_tuner').exists()


@pytest.mark.parametrize('image', ['registry.example.com/ceph:v18', 'ceph@sha256:0123', ''])
def test_image_without_a_digest_is_rejected(host: Host, context: Path, image: str) -> None:
    with pytest.raises(CommandError, match='must name an image by digest'):
        assembled(host, context, 'true', image)


def test_module_that_cannot_run_in_the_image_fails_the_build(
    host: Host, context: Path, tmp_path: Path
) -> None:
    """As on an image whose Python is too old."""
    spoiled = tmp_path / 'context'
    subprocess.run(['cp', '-R', str(context), str(spoiled)], check=True)
    version = spoiled / 'src/pybind/mgr/rocksdb_tuner/version.py'
    version.write_text(version.read_text().replace('(3, 9)', '(3, 99)'))
    with pytest.raises(CommandError, match=r'requires Python 3\.99 or newer'):
        assembled(host, spoiled, 'true')

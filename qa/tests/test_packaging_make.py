"""What `make` installs, removes and packages, in a copy of the checkout with a double of npm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest
import yaml

from harness.layout import CHECKOUT
from harness.releases import RELEASES
from rocksdb_tuner.mgr.adapter import TAB_FILES
from rocksdb_tuner.version import VERSION

MGR = Path('usr/share/ceph/mgr')
DROPIN = Path('contrib/dashboard-dropin')
TAB = DROPIN / 'tab'
#: As `make install` is to find it, however it was made.
BUNDLE = Path('build/dashboard/_rocksdb_tuner_tab.js')
RELEASED = TAB / 'released' / BUNDLE.name
NEEDED = (
    *('Makefile', 'README.md', 'LICENSE', 'CHANGELOG.md', 'packaging', 'monitoring'),
    *('src/pybind/mgr/rocksdb_tuner', 'src/pybind/mgr/dashboard', str(DROPIN)),
)
#: Possible leftovers of an older version.
LEFTOVERS = ('gone.py', 'advise/gone.py', '__pycache__/gone.cpython-311.pyc')


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A commit with what is installed, and a bundle that is newer than its source."""
    folder = tmp_path / 'a checkout'
    folder.mkdir()
    for name in NEEDED:
        source = CHECKOUT / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns('node_modules', '__pycache__', 'tests', 'released')
            shutil.copytree(source, folder / name, ignore=unwanted)
        else:
            shutil.copy(source, folder / name)
    # The real tests of the module and of the tab, of which there are many, stay where they are.
    for package in ('src/pybind/mgr/rocksdb_tuner/tests', str(TAB / 'tests')):
        (folder / package).mkdir(exist_ok=True)
        (folder / package / 'test_it.py').write_text('')
    git = ['git', '-c', 'user.name=x', '-c', 'user.email=x@example.com']
    (folder / '.gitignore').write_text('build/\n')
    for words in (['init', '-q'], ['add', '-A'], ['commit', '-qm', 'all']):
        subprocess.run([*git, *words], cwd=folder, check=True)
    (folder / BUNDLE).parent.mkdir(parents=True)
    (folder / BUNDLE).write_text('the bundle')
    (folder / BUNDLE).with_name('report.js').write_text('the report')
    (folder / 'build/axe.min.js').write_text('axe')
    npm = tmp_path / 'bin/npm'
    npm.parent.mkdir()
    npm.write_text('#!/bin/sh\necho npm was called >&2\nexit 3\n')
    npm.chmod(0o755)
    return folder


def make(folder: Path, *words: str) -> str:
    """Run make without npm; returns its output."""
    environment = {**os.environ, 'PATH': f'{folder.parent}/bin:{os.environ["PATH"]}'}
    done = subprocess.run(
        ['make', '-s', *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob('*') if not path.is_dir()}


def test_relative_destination_starts_in_the_directory_of_the_caller(checkout: Path) -> None:
    before = files(checkout)
    make(checkout, 'install', 'install-dashboard', 'install-monitoring', 'DESTDIR=out/there')
    installed = files(checkout / 'out/there')
    assert {name for name in files(checkout) if not name.startswith('out/')} == before
    assert f'{MGR}/rocksdb_tuner/module.py' in installed
    assert f'{MGR}/rocksdb_tuner/knowledge/options.json' in installed
    assert f'{MGR}/dashboard/controllers/{BUNDLE.name}' in installed
    assert not [name for name in installed if '/tests/' in name]
    make(checkout, 'install', 'install-dashboard', 'install-monitoring', f'DESTDIR={checkout}/abs')
    assert files(checkout / 'abs') == installed


def test_dashboard_has_the_files_that_doctor_checks_and_the_loader_of_the_drop_in(
    checkout: Path,
) -> None:
    """None is missing: it keeps the others from loading. Ceph's loader fails with a controller."""
    make(checkout, 'install-dashboard', 'DESTDIR=out')
    assert files(checkout / 'out' / MGR) == set(TAB_FILES)
    loader = 'dashboard/controllers/rocksdb_tuner.py'
    installed = (checkout / 'out' / MGR / loader).read_text()
    assert installed == (CHECKOUT / DROPIN / loader).read_text()
    assert installed != (CHECKOUT / 'src/pybind/mgr' / loader).read_text()


def test_cephadm_mounts_every_installed_dashboard_file() -> None:
    """One that is missing keeps the dashboard of a cephadm cluster from having any."""
    text = (CHECKOUT / 'packaging/cephadm/mgr-mount.yaml').read_text()
    mounts = re.findall(rf'--volume=(\S+)/{MGR}/(\S+):/{MGR}/(\S+):ro,z', text)
    assert {source for _, source, _ in mounts} == {'rocksdb_tuner', *TAB_FILES}
    assert [source for _, source, _ in mounts] == [target for _, _, target in mounts]
    assert len({folder for folder, _, _ in mounts}) == 1


def test_rook_would_accept_the_patch() -> None:
    """By the schema of its CephCluster, in which a misspelt field is refused."""
    patch = yaml.safe_load((CHECKOUT / 'packaging/rook/cephcluster-patch.yaml').read_text())
    schema = json.loads((CHECKOUT / 'qa/tests/data/rook-cephcluster.schema.json').read_text())
    jsonschema.validate(patch, schema)
    assert {'name': 'rocksdb_tuner', 'enabled': True} in patch['spec']['mgr']['modules']
    patch['spec']['mgr']['module'] = patch['spec']['mgr'].pop('modules')
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(patch, schema)


def test_only_files_of_an_older_version_are_removed(checkout: Path) -> None:
    target = checkout / 'out' / MGR
    make(checkout, 'install', 'install-dashboard', 'DESTDIR=out')
    installed = files(target)
    for name in LEFTOVERS:
        (target / 'rocksdb_tuner' / name).parent.mkdir(exist_ok=True)
        (target / 'rocksdb_tuner' / name).write_text('')
    controllers = target / 'dashboard/controllers'
    (controllers / '_rocksdb_tuner_gone.py').write_text('')
    (controllers / '__pycache__').mkdir()
    (controllers / '__pycache__/_rocksdb_tuner_gone.cpython-311.pyc').write_text('')
    (controllers / 'osd.py').write_text("Ceph's own")
    (target / 'balancer').mkdir()
    (target / 'balancer/module.py').write_text("Ceph's own")
    make(checkout, 'install', 'install-dashboard', 'DESTDIR=out')
    assert files(target) == {*installed, 'dashboard/controllers/osd.py', 'balancer/module.py'}


def test_link_to_a_checkout_is_replaced_and_the_checkout_kept(checkout: Path) -> None:
    elsewhere = checkout / 'elsewhere'
    elsewhere.mkdir()
    (elsewhere / 'module.py').write_text('mine')
    (checkout / 'out' / MGR).mkdir(parents=True)
    (checkout / 'out' / MGR / 'rocksdb_tuner').symlink_to(elsewhere)
    make(checkout, 'install', 'DESTDIR=out')
    assert (elsewhere / 'module.py').read_text() == 'mine'
    assert not (checkout / 'out' / MGR / 'rocksdb_tuner').is_symlink()


def test_alerts_that_repeat_health_checks_are_installed_only_on_request(checkout: Path) -> None:
    folder, alerts = Path('etc/prometheus/ceph'), 'rocksdb_tuner_alerts.yml'
    both = {alerts, 'rocksdb_tuner_alerts_health_checks.yml'}
    make(checkout, 'install-monitoring', 'DESTDIR=out', 'HEALTH_CHECK_ALERTS=1')
    assert files(checkout / 'out' / folder) == both
    make(checkout, 'install-monitoring', 'DESTDIR=out')
    assert files(checkout / 'out' / folder) == {alerts}
    make(checkout, 'install-monitoring', 'DESTDIR=out', 'HEALTH_CHECK_ALERTS=1')
    make(checkout, 'uninstall', 'DESTDIR=out')
    assert files(checkout / 'out') == set()


def test_uninstall_keeps_foreign_files(checkout: Path) -> None:
    make(checkout, 'install', 'install-dashboard', 'install-monitoring', 'DESTDIR=out')
    out = checkout / 'out'
    cached = out / MGR / 'dashboard/controllers/__pycache__'
    cached.mkdir()
    (cached / '_rocksdb_tuner.cpython-311.pyc').write_text('')
    kept = (out / MGR / 'dashboard/controllers/osd.py', out / 'etc/prometheus/ceph/alerts.yml')
    for path in kept:
        path.write_text("Ceph's own")
    make(checkout, 'uninstall', 'DESTDIR=out')
    assert files(out) == {str(path.relative_to(out)) for path in kept}
    make(checkout, 'uninstall', 'DESTDIR=out')


def test_release_is_reproducible_and_installs_the_tab_without_npm(
    checkout: Path, tmp_path: Path
) -> None:
    """Untracked files and the user change nothing. Its dates are all the same: make builds none."""
    make(checkout, 'dist')
    tarball = checkout / f'build/packages/ceph-rocksdb-tuner-{VERSION}.tar.gz'
    first = tarball.read_bytes()
    (checkout / 'untracked.txt').write_text('not tracked')
    (checkout / 'README.md').chmod(0o600)
    os.utime(checkout / 'README.md')
    make(checkout, 'dist')
    assert tarball.read_bytes() == first
    assert {path.name for path in tarball.parent.iterdir()} == {tarball.name}
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
    top = f'ceph-rocksdb-tuner-{VERSION}'
    names = {member.name for member in members}
    assert {f'{top}/{RELEASED}', f'{top}/Makefile', f'{top}/packaging/debian/rules'} <= names
    assert not [name for name in names if not name.startswith(top) or 'untracked' in name]
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}
    assert len({member.mtime for member in members}) == 1
    subprocess.run(['tar', '-xzf', str(tarball), '-C', str(tmp_path)], check=True)
    unpacked = tmp_path / top
    make(unpacked, 'install', 'install-dashboard', 'DESTDIR=out')
    installed = unpacked / 'out' / MGR / 'dashboard/controllers' / BUNDLE.name
    assert installed.read_text() == 'the bundle'
    module = unpacked / 'out' / MGR / 'rocksdb_tuner'
    assert (module / 'offline/report.js').read_text() == 'the report'
    assert not (unpacked / 'build').exists()


@pytest.mark.parametrize(
    ('kind', 'tool', 'packages'),
    [('deb', 'dpkg-buildpackage', 'build-essential debhelper'), ('rpm', 'rpmbuild', 'rpm')],
)
def test_missing_build_tools_are_installed(
    checkout: Path, tmp_path: Path, kind: str, tool: str, packages: str
) -> None:
    """On a machine without them, whose first try finds no list of packages."""
    calls = tmp_path / 'calls'
    doubles = {
        'dpkg-query': 'exit 1',
        'id': 'echo 0',
        'apt-get': f"""
            echo "$*" >> {calls}
            case "$*" in
            *update*) exit ;;
            esac
            test -e {tmp_path}/tried || {{ touch {tmp_path}/tried; exit 100; }}
            printf '#!/bin/sh\\nexit 3\\n' > "$(dirname "$0")/{tool}"
            chmod +x "$(dirname "$0")/{tool}"
        """,
    }
    for name, script in doubles.items():
        (tmp_path / 'bin' / name).write_text(f'#!/bin/sh\n{script}\n')
        (tmp_path / 'bin' / name).chmod(0o755)
    # Nothing else is found that a bare machine has not
    used = 'bash cat chmod cp date dirname env git gzip install make mktemp mkdir mv printf'
    for name in (*used.split(), 'realpath', 'rm', 'sed', 'sh', 'stat', 'tar', 'touch'):
        (tmp_path / 'bin' / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ['make', '-s', kind],
        cwd=checkout,
        env={**os.environ, 'PATH': str(tmp_path / 'bin')},
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0, 'the double of the tool builds nothing'
    first, update, second = calls.read_text().splitlines()
    assert first == second
    assert first.endswith(f'install --no-install-recommends {packages}')
    assert update.endswith('update')


def test_installing_says_the_measured_times() -> None:
    """From nothing to the first decision: for packages, the first `status`."""
    said: dict[str, dict[str, str]] = {}
    for run in json.loads((CHECKOUT / 'qa/bench/results/quick-start.json').read_text()):
        steps = {step['command']: step['at_s'] for step in run['steps']}
        seconds = steps.get('ceph rocksdb-tuner status', run['seconds'])
        said.setdefault(run['way'], {})[run['release']] = f'{seconds:.0f}'
    page = (CHECKOUT / 'doc/mgr/rocksdb_tuner/installing.rst').read_text()
    row = r'^   \* - (?::ref:)?`(.+?)(?: <\S+>)?`_?\n     - \d+\n     - (.+, .+)$'
    assert dict(re.findall(row, page, re.MULTILINE)) == {
        way: ', '.join(times.get(release, '-') for release in RELEASES)
        for way, times in said.items()
    }


def test_every_library_of_the_bundle_is_in_the_copyright_file() -> None:
    lock = json.loads((CHECKOUT / TAB / 'package-lock.json').read_text())
    text = (CHECKOUT / 'packaging/debian/copyright').read_text()
    bundled = {
        path.removeprefix('node_modules/'): entry['license']
        for path, entry in lock['packages'].items()
        if path and not entry.get('dev')
    }
    assert [name for name in bundled if not re.search(rf'(?<![\w/@-]){name}(?![\w/-])', text)] == []
    assert set(bundled.values()) == {'BSD-3-Clause', 'MIT'}
    assert 'License: BSD-3-Clause\n Redistribution' in text
    assert 'License: Expat\n Permission' in text


def test_no_package_has_a_hard_coded_version() -> None:
    """It is in version.py; what else has one is made of it."""
    named = [
        str(path)
        for path in (CHECKOUT / 'packaging').rglob('*')
        if path.is_file()
        and re.search(rf'(?<![\d.]){re.escape(VERSION)}(?![\d.])', path.read_text())
    ]
    assert [name for name in named if not name.endswith(('build-package', '.md'))] == []

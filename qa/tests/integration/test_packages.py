"""The Debian and RPM packages: their content, and their effect on a real cluster."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from built_packages import LEFTOVER, NAMES, OLDER, Packages, build, build_older, contents
from harness import Cluster, ClusterSpec, Progress
from harness.client import wait_until
from harness.errors import CommandError
from harness.packaged import MODULE, RESTART, PackagedManagers
from module_client import ModuleClient
from rocksdb_tuner.version import MINIMUM_PYTHON, VERSION

pytestmark = [pytest.mark.integration, pytest.mark.packaging]

#: A profile of the operator's own: stored data of the module.
PROFILE = {
    'name': 'mine',
    'title': 'Mine',
    'options': 'compression=kLZ4Compression,write_buffer_size=33554432',
    'source': 'a test',
}
#: For `lintian`, on packages that never were in Debian's archive.
LINTIAN = ('lintian', '--fail-on', 'error,warning,info', '-EvIL', '+info')


@pytest.fixture(scope='session')
def packages() -> Packages:
    return build()


@pytest.fixture(scope='session')
def older(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return build_older(tmp_path_factory.mktemp('older'))


def test_debian_packages_are_lintian_clean(packages: Packages) -> None:
    done = subprocess.run(
        [*LINTIAN, *map(str, packages.debs())],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert [line for line in done.stdout.splitlines() if re.match('[EWI]: ', line)] == []
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize('name', NAMES)
def test_rpm_and_debian_package_have_the_same_files(
    packages: Packages, name: str, tmp_path: Path
) -> None:
    deb, rpm = (found[NAMES.index(name)] for found in (packages.debs(), packages.rpms()))
    found = contents(deb, tmp_path)
    assert found == contents(rpm, tmp_path)
    assert found.keys() == {path for path in found if path.startswith('usr/share/ceph/mgr/')}
    assert {mode for mode, _ in found.values()} == {0o100644}


def test_rpms_restart_managers_on_install_and_upgrade_as_ceph_does(
    packages: Packages,
) -> None:
    for path in packages.rpms():
        text = subprocess.check_output(['rpm', '-qp', '--scripts', str(path)], text=True)
        assert text.count('if [ $1 -eq 1 ] ; then') == 2
        assert text.count(f'systemctl {RESTART}') == 2
        assert re.findall('^(post\\w*) scriptlet', text, re.MULTILINE) == [
            'postinstall', 'postuninstall',
        ]  # fmt: skip


class Machine(PackagedManagers):
    """A cluster without the module, and the packages on the machine or chroot that it runs on."""

    def update(self, packages: Packages) -> None:
        """Install the packages, and restart the managers as they ask."""
        assert self.install(packages.debs()) == [RESTART] * len(NAMES)
        self.restart_managers()

    def files(self) -> list[str]:
        """Ours in the managers' folder."""
        paths = map(str, self.host.outside(self.folder).rglob('*'))
        return [path for path in paths if 'rocksdb_tuner' in path]

    def settle(self) -> None:
        """Wait until the managers respawned after the module was disabled."""
        others = len(self.cluster.record.spec.mgr_ids) - 1
        wait_until(
            lambda: self.dump()['available'] and len(self.dump()['standbys']) == others,
            300, 'all managers back',
        )  # fmt: skip

    def enable(self, version: str) -> None:
        self.cluster.ceph('mgr', 'module', 'enable', MODULE)
        self.wait_for_version(version)

    def wait_for_version(self, version: str) -> None:
        def answers() -> bool:
            try:
                return bool(ModuleClient(self.cluster).status()['version'] == version)
            except CommandError:
                return False

        wait_until(answers, 300, f'the module answers as version {version}')

    def refusal(self) -> str:
        """Why the module is not enabled."""
        with pytest.raises(CommandError) as refused:
            self.cluster.ceph('mgr', 'module', 'enable', MODULE)
        return str(refused.value)

    def page(self) -> str:
        """The dashboard as a browser gets it."""
        with urllib.request.urlopen(self.cluster.env()['DASHBOARD_URL'], timeout=30) as answer:
            return str(answer.read().decode())


@pytest.fixture
def machine(release: str, tmp_path: Path) -> Iterator[Machine]:
    spec = ClusterSpec(release=release, osds=1, mgrs=2, module=None, dashboard=True)
    with Cluster.up(spec, tempfile.mkdtemp(prefix='tuner-packages-'), Progress()) as cluster:
        found = Machine(cluster, tmp_path)
        try:
            yield found
        finally:
            found.apt('purge', *NAMES)


def kept(machine: Machine) -> tuple[str, Sequence[str]]:
    """The operator's settings, and the module's stored data."""
    module = ModuleClient(machine.cluster)
    profiles = [p['name'] for p in module.json('profile', 'ls', schema='profile-ls') if p['own']]
    return module.status()['mode'], profiles


def test_packages_on_a_cluster(machine: Machine, packages: Packages, older: Packages) -> None:
    """Install, upgrade, downgrade, remove, install again: stored data stays, files do not."""
    cluster = machine.cluster
    cluster.ceph('config', 'set', 'mgr', 'mgr/rocksdb_tuner/sample_interval', '5', '--force')
    # Not enabled before every manager was restarted.
    asked = machine.install(older.debs())
    assert asked == [RESTART] * len(NAMES)
    assert 'all mgr daemons do not support module' in machine.refusal()
    active, before = machine.dump()['active_name'], machine.dump()['epoch']
    cluster.ceph('mgr', 'fail')
    wait_until(
        lambda: machine.dump()['available'] and machine.dump()['active_name'] != active
        and len(machine.dump()['standbys']) == 1 and machine.dump()['epoch'] > before,
        120, 'the standby active, and the other one a standby',
    )  # fmt: skip
    assert 'all mgr daemons do not support module' in machine.refusal()
    machine.restart_managers()
    machine.enable(OLDER)
    assert 'rocksdb_tuner_tab/script' in machine.page()
    assert any(name.endswith(LEFTOVER) for name in machine.files())

    profile = json.dumps({**PROFILE, 'releases': [cluster.release.name]})
    cluster.ceph('rocksdb-tuner', 'profile', 'add', '-i', '-', stdin=profile)
    cluster.ceph('rocksdb-tuner', 'mode', 'observe')
    state = ('observe', ['mine'])
    assert kept(machine) == state

    machine.update(packages)
    machine.wait_for_version(VERSION)
    assert kept(machine) == state
    assert not any(name.endswith(LEFTOVER) for name in machine.files())

    machine.update(older)
    machine.wait_for_version(OLDER)
    assert kept(machine) == state

    cluster.ceph('mgr', 'module', 'disable', MODULE)
    machine.settle()
    machine.apt('purge', *NAMES)
    assert machine.files() == []
    machine.restart_managers()
    assert 'rocksdb_tuner_tab/script' not in machine.page()
    modules = {module['name'] for module in machine.dump()['available_modules']}
    assert MODULE not in modules

    machine.update(packages)
    machine.enable(VERSION)
    assert kept(machine) == state

    # Last, for it spoils the installed files: what a manager with an older Python reports.
    cluster.ceph('mgr', 'module', 'disable', MODULE)
    machine.settle()
    version = machine.host.outside(machine.folder / MODULE / 'version.py')
    version.write_text(version.read_text().replace(f'{MINIMUM_PYTHON}', '(3, 99)'))
    machine.restart_managers()
    (listed,) = [m for m in machine.dump()['available_modules'] if m['name'] == MODULE]
    assert listed['can_run'] is False
    assert 'requires Python 3.99 or newer' in listed['error_string']
    assert 'requires Python 3.99 or newer' in machine.refusal()

"""Chroots: what they share with the machine, and what they are made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import chroot_build
from harness.chroot import ChrootHost
from harness.errors import HarnessError
from harness.progress import Progress
from harness.releases import RELEASES, Release

ROOT = Path('/nowhere/reef')
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
def test_shared_folders_have_one_path_and_all_else_is_the_chroots(
    inside: str, outside: str
) -> None:
    host = ChrootHost(ROOT, [Path('/srv/clusters')])
    assert host.outside(Path(inside)) == Path(outside)


def test_a_folder_within_a_shared_one_is_not_mounted_again() -> None:
    command = ' '.join(ChrootHost(ROOT, [Path('/srv/a/b'), Path('/srv/a')]).command(['true']))
    assert command.count('mount --rbind /srv/a') == 1
    assert '/srv/a/b' not in command
    assert command.count('mount --rbind /tmp ') == 1


def test_odd_names_of_folders_are_quoted() -> None:
    command = ChrootHost(ROOT, [Path("/srv/it's; rm -rf")]).command(['ceph', '-s'])
    assert "'/nowhere/reef/srv/it'\"'\"'s; rm -rf'" in command[6]
    assert command[-2:] == ['ceph', '-s']


@pytest.mark.parametrize('release', IN_CHROOTS, ids=lambda release: release.name)
def test_a_chroot_is_kept_until_its_recipe_changes(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ensure` returns at once for what is there, and a new recipe is another chroot."""
    monkeypatch.setenv(chroot_build.CACHE_VARIABLE, str(tmp_path))
    stamp = chroot_build.chroot_path(release) / chroot_build.STAMP
    stamp.parent.mkdir(parents=True)
    stamp.write_text(json.dumps(chroot_build.recipe(release)))
    assert chroot_build.ensure(release, Progress()) == tmp_path / (f'chroots/{release.name}')
    assert chroot_build.present() == (release.name,)
    built: list[str] = []
    monkeypatch.setattr(chroot_build, 'RECIPE_VERSION', 99)
    monkeypatch.setattr(chroot_build, '_build', lambda release, *_: built.append(release.name))
    chroot_build.ensure(release, Progress())
    assert built == [release.name]


def test_removing_takes_the_leftovers_of_killed_builds_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chroot_build.CACHE_VARIABLE, str(tmp_path))
    release = RELEASES['reef']
    chroots = chroot_build.chroots_dir()
    (chroots / '.reef.abc/usr').mkdir(parents=True)
    (chroots / '.tentacle.abc').mkdir()
    assert chroot_build.remove(release) is False
    (chroots / 'reef/usr').mkdir(parents=True)
    assert chroot_build.remove(release) is True
    assert [path.name for path in chroots.iterdir()] == ['.tentacle.abc']


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('sources.list.d/debian.sources', 'Types: deb\nURIs: http://a.test/debian\nSuites: x\n'),
        (
            'sources.list',
            '# mine\ndeb [signed-by=/k trusted=no] http://a.test/debian x main\n',
        ),
        ('sources.list.d/more.list', 'deb http://a.test/debian x main\n'),
    ],
)
def test_packages_come_from_where_the_machine_takes_its_own(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / 'sources.list.d').mkdir()
    (tmp_path / name).write_text(text)
    assert chroot_build.mirror(tmp_path) == 'http://a.test/debian'


def test_a_machine_without_an_archive_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match='names no archive'):
        chroot_build.mirror(tmp_path)

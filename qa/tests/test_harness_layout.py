"""A cluster's folder, its record and its specification."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import ClusterSpec, HarnessError, UsageError
from harness.boot import MINIMAL_MODULES, shipped_modules
from harness.layout import (
    CHECKOUT,
    MAX_RUN_DIR_BYTES,
    RECORD,
    Dashboard,
    Record,
    Rgw,
    default_dir,
    load_record,
    make_run_dir,
    remove_cluster_files,
    save_record,
)

PLAIN = Record('running', 'fsid', 16000, '/d/run', ClusterSpec(), ('mon.a', 'osd.0'))
FULL = replace(
    PLAIN,
    spec=ClusterSpec(
        db_size_bytes=1 << 30,
        osd_conf=(('a', 'b'), ('c', 'd')),
        module=None,
        osds=6,
        device_classes=('ssd', 'hdd'),
        crush_hosts=3,
        crush_racks=3,
        erasure_code=(2, 1),
    ),
    rgw=Rgw('rgw.a', 'http://127.0.0.1:1', 'key', 'secret'),
    mds='a',
    dashboard=Dashboard('admin', 'pw', {'x': 'http://127.0.0.1:2'}),
)


@pytest.mark.parametrize('record', [PLAIN, FULL])
def test_record_round_trips(tmp_path: Path, record: Record) -> None:
    """A saved record is loaded unchanged, including tuples and records."""
    save_record(tmp_path, record)
    assert load_record(tmp_path) == record


def test_record_is_readable_by_root_only(tmp_path: Path) -> None:
    """It holds passwords."""
    save_record(tmp_path, FULL)
    assert (tmp_path / RECORD).stat().st_mode & 0o077 == 0


def test_no_record_is_no_cluster(tmp_path: Path) -> None:
    """An empty folder, a missing one and a file hold no cluster."""
    (tmp_path / 'file').touch()
    for path in (tmp_path, tmp_path / 'missing', tmp_path / 'file'):
        assert load_record(path) is None


@pytest.mark.parametrize(
    'text',
    [
        '',
        '{',
        '{}',
        '[]',
        '"text"',
        json.dumps({'format': 99}),
        PLAIN.to_json().replace('"osds"', '"ozds"'),
        PLAIN.to_json().replace('"fsid"', '"f"'),
        PLAIN.to_json()[: len(PLAIN.to_json()) // 2],
    ],
)
def test_broken_record_is_named(tmp_path: Path, text: str) -> None:
    """A truncated, foreign or damaged record gives an error with its path, never a traceback."""
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(HarnessError, match=RECORD):
        load_record(tmp_path)


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [
        ({'osds': -1}, 'osds must be 0 to 96, not -1'),
        ({'mons': 0}, 'mons must be 1 to 9, not 0'),
        ({'mgrs': 10}, 'mgrs must be 1 to 9, not 10'),
        ({'db_size_bytes': 1 << 20}, 'at least 67108864'),
        ({'block_size_bytes': 1 << 20}, 'at least 1073741824'),
        ({'osds': 3, 'pool_size': 4}, 'pool size must be 1 to 3'),
        ({'dashboard': True, 'few_mgr_modules': True}, 'few_mgr_modules leaves out the dashboard'),
        ({'osds': 3, 'crush_hosts': 4}, 'crush_hosts must be 0 to 3'),
        ({'osds': 4, 'crush_hosts': 2, 'crush_racks': 3}, 'crush_racks must be 0 to 2'),
        ({'device_class': 's sd'}, "'s sd' is not a device class"),
        ({'device_classes': ('ssd', '')}, "'' is not a device class"),
        ({'osds': 2, 'device_classes': ('a', 'b', 'c')}, '3 device classes for 2 OSDs'),
        ({'osds': 6, 'crush_hosts': 2, 'pool_size': 3}, r'1 to 2 \(hosts with OSDs of class ssd'),
        ({'osds': 4, 'device_classes': ('a', 'b'), 'pool_size': 3}, 'osds with OSDs of class a'),
        ({'osds': 2, 'erasure_code': (2, 1)}, r'2\+1 needs 3 osds .*: there are 2'),
        ({'osds': 6, 'erasure_code': (1, 1)}, 'k >= 2 and m >= 1, not 1'),
    ],
)
def test_impossible_clusters_are_refused(wrong: dict[str, Any], message: str) -> None:
    """The message has the error and the valid form."""
    with pytest.raises(UsageError, match=message):
        ClusterSpec(**wrong)


def test_hosts_are_spread_over_racks_and_pools_over_racks() -> None:
    """A pool gets no more replicas than there are racks with OSDs of its class."""
    spec = ClusterSpec(osds=9, crush_hosts=6, crush_racks=2, device_classes=('ssd', 'hdd', 'hdd'))
    assert [spec.rack_of_osd(n) for n in range(7)] == [
        *('rack0', 'rack1', 'rack0', 'rack1', 'rack0', 'rack1', 'rack0'),
    ]
    assert spec.failure_domain == 'rack'
    assert [spec.class_of_osd(n) for n in range(4)] == ['ssd', 'hdd', 'hdd', 'ssd']
    assert (spec.classes, spec.pool_class) == (('ssd', 'hdd'), 'ssd')
    assert (spec.pool_domains, spec.replicas) == (2, 2)
    assert ClusterSpec(osds=4).rack_of_osd(0) is None


def test_record_of_an_older_harness_is_read(tmp_path: Path) -> None:
    """A cluster started by an older checkout can still be stopped."""
    document = json.loads(PLAIN.to_json())
    for name in ('device_classes', 'crush_racks', 'erasure_code'):
        del document['spec'][name]
    (tmp_path / RECORD).write_text(json.dumps(document))
    assert load_record(tmp_path) == PLAIN


def test_osds_are_spread_over_hosts_in_turn() -> None:
    spread, alone = ClusterSpec(osds=5, crush_hosts=3), ClusterSpec(osds=5)
    assert [spread.host_of_osd(n) for n in range(5)] == [
        'host0',
        'host1',
        'host2',
        'host0',
        'host1',
    ]
    assert (spread.failure_domain, alone.failure_domain) == ('host', 'osd')
    assert alone.host_of_osd(0) is None


def test_sockets_of_a_deep_folder_are_elsewhere(tmp_path: Path) -> None:
    """The longest socket name of a client fits into 107 bytes, however deep the folder is."""
    deep = tmp_path / ('d' * 100)
    deep.mkdir()
    run_dir = make_run_dir(deep)
    try:
        assert run_dir.is_dir()
        assert len(str(run_dir)) <= MAX_RUN_DIR_BYTES
        save_record(deep, replace(PLAIN, run_dir=str(run_dir)))
    finally:
        remove_cluster_files(deep, replace(PLAIN, run_dir=str(run_dir)))
    assert not run_dir.exists()
    assert not deep.exists()


def test_sockets_of_a_shallow_folder_are_inside(tmp_path: Path) -> None:
    """If the path is short enough, everything is in one folder."""
    shallow = Path('/tmp') / f'qa-test-{tmp_path.name[:20]}'
    shallow.mkdir()
    try:
        assert make_run_dir(shallow) == shallow / 'run'
    finally:
        (shallow / 'run').rmdir()
        shallow.rmdir()


def test_removal_does_not_follow_links(tmp_path: Path) -> None:
    """The folder of mgr modules holds links into the checkout: only the links go."""
    precious = tmp_path / 'module'
    precious.mkdir()
    (precious / 'module.py').touch()
    folder = tmp_path / 'cluster'
    (folder / 'mgr-modules').mkdir(parents=True)
    (folder / 'mgr-modules' / 'rocksdb_tuner').symlink_to(precious)
    (folder / 'link').symlink_to(precious)
    save_record(folder, PLAIN)
    remove_cluster_files(folder, PLAIN)
    assert not folder.exists()
    assert (precious / 'module.py').exists()


def test_default_folder_is_ignored_by_git() -> None:
    """A cluster in its usual place never shows in `git status`."""
    path = default_dir('pacific') / 'ceph.conf'
    done = subprocess.run(['git', '-C', CHECKOUT, 'check-ignore', '-q', path], check=False)
    if done.returncode == 128:
        ignored = (CHECKOUT / 'qa/.gitignore').read_text().split()
        assert f'/{path.parent.parent.name}/' in ignored  # an exported tree, without git
    else:
        assert done.returncode == 0


def test_removal_tolerates_missing_folders(tmp_path: Path) -> None:
    """A folder that is gone, or goes meanwhile, is as removed as it can be."""
    folder = tmp_path / 'cluster'
    remove_cluster_files(folder, PLAIN)
    (folder / 'osd').mkdir(parents=True)
    remove_cluster_files(folder, PLAIN)
    assert not folder.exists()


def test_minimal_mgr_modules_are_the_requested_and_required_ones(tmp_path: Path) -> None:
    for name in (*MINIMAL_MODULES, 'dashboard', 'prometheus'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'module.py').touch()
    for shared in ('mgr_module.py', 'mgr_util.py'):
        (tmp_path / shared).touch()
    (tmp_path / 'a_package').mkdir()
    every = sorted(tmp_path.iterdir())
    assert shipped_modules(tmp_path, few=False) == every
    few = {path.name for path in shipped_modules(tmp_path, few=True)}
    assert few == {*MINIMAL_MODULES, 'mgr_module.py', 'mgr_util.py', 'a_package'}

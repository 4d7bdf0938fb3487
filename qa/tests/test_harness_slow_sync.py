"""How OSDs are slowed down, and how they are started for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import ClusterSpec, slow_sync
from harness.errors import HarnessError
from harness.hosts import Hosts
from harness.layout import Record


def prepared(directory: Path) -> Path:
    """A cluster's folder with the built library, and the settings files of its OSDs."""
    library = slow_sync.library(directory)
    library.parent.mkdir()
    library.touch()
    return library.parent


def reported(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob('osd.*')}


def test_only_the_last_named_osds_are_slow(tmp_path: Path) -> None:
    folder = prepared(tmp_path)
    slow_sync.slow_down(tmp_path, {0: 25, 12: 7.5})
    assert reported(folder) == {'osd.0': '25\n', 'osd.12': '7.5\n'}
    slow_sync.slow_down(tmp_path, {0: 50})
    assert reported(folder) == {'osd.0': '50\n'}
    slow_sync.slow_down(tmp_path, {})
    assert reported(folder) == {}


def test_sync_can_be_configured_to_take_a_minimum_time(tmp_path: Path) -> None:
    """Beside the percentage, in the path that the library reads."""
    folder = prepared(tmp_path)
    slow_sync.slow_down(tmp_path, {1: 0}, least_ms=2.5)
    assert reported(folder) == {'osd.1': '0 2.5\n'}


def test_sync_can_be_configured_to_be_free(tmp_path: Path) -> None:
    """A negative minimum, which no disk has."""
    folder = prepared(tmp_path)
    slow_sync.slow_down(tmp_path, {1: 0}, least_ms=slow_sync.FREE_MS)
    assert reported(folder) == {'osd.1': '0 -1\n'}


def test_cluster_without_the_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match='made without slow_sync'):
        slow_sync.slow_down(tmp_path, {0: 25})


@pytest.mark.parametrize('crush_hosts', [0, 3])
def test_only_osds_preload_the_library_and_read_the_written_file(
    tmp_path: Path, crush_hosts: int
) -> None:
    spec = ClusterSpec(osds=3, crush_hosts=crush_hosts, slow_sync=True, module=None)
    record = Record('running', 'fsid', 0, str(tmp_path / 'run'), spec, ())
    hosts = Hosts(tmp_path, record)
    folder = prepared(tmp_path)
    slow_sync.slow_down(tmp_path, {2: 25})
    command = hosts.argv('osd.2', ['ceph-osd', '-i', '2'])
    preload = f'LD_PRELOAD={folder / "slow_sync.so"}'
    assert command[-6:] == [
        'env', preload, f'QA_SLOW_SYNC={folder / "osd.2"}', 'ceph-osd', '-i', '2',
    ]  # fmt: skip
    assert hosts.argv('mgr.a', ['ceph-mgr']) == ['ceph-mgr']

"""CPU time by thread, from /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.thread_cpu import thread_cpu_s


def thread(process: Path, number: int, name: str, nanoseconds: int) -> None:
    task = process / 'task' / str(number)
    task.mkdir(parents=True)
    (task / 'comm').write_text(f'{name}\n')
    (task / 'schedstat').write_text(f'{nanoseconds} 77 3\n')


def test_threads_are_summed_by_name(tmp_path: Path) -> None:
    """Numbered ones of a pool are one, and those of no interest count in all."""
    thread(tmp_path, 1, 'ceph-osd', 500_000_000)
    thread(tmp_path, 2, 'rocksdb:low0', 1_000_000_000)
    thread(tmp_path, 3, 'rocksdb:low1', 250_000_000)
    thread(tmp_path, 4, 'bstore_kv_sync', 2_000_000_000)
    found = thread_cpu_s(tmp_path)
    assert found['rocksdb:low'] == pytest.approx(1.25)
    assert found['bstore_kv_sync'] == pytest.approx(2)
    assert found['rocksdb:high'] == 0
    assert found['all'] == pytest.approx(3.75)


def test_thread_that_ends_meanwhile_is_ignored(tmp_path: Path) -> None:
    """Its folder is listed and then empty."""
    thread(tmp_path, 1, 'ceph-osd', 500_000_000)
    (tmp_path / 'task' / '2').mkdir()
    assert thread_cpu_s(tmp_path)['all'] == pytest.approx(0.5)

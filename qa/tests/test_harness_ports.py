"""Blocks of loopback ports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness import HarnessError, ports
from harness.layout import QA
from harness.ports import (
    BLOCK_PORTS,
    BLOCKS,
    FIRST_PORT,
    LAST_BLOCK,
    PortBlock,
    listening_ports,
    reserve,
)


@pytest.fixture(autouse=True)
def _names_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other clusters may start on this machine meanwhile."""
    monkeypatch.setattr(ports, 'NAMES', f'test-{tmp_path.name}')


def test_no_port_of_a_block_has_two_uses() -> None:
    """Ports of ten daemons of each kind and the messengers' range never meet, and stay inside."""
    block = PortBlock(20000)
    single = [port for rank in range(10) for port in block.mon(rank)]
    for use in (block.dashboard, block.prometheus, block.rgw, block.beside):
        single += [use(rank) for rank in range(10)]
    first, last = block.messenger
    every = [*single, *range(first, last + 1)]
    assert len(every) == len(set(every))
    assert set(every) <= set(block.ports)


def test_block_has_ports_for_the_largest_cluster() -> None:
    """Eight for each of 96 OSDs, and some for managers."""
    first, last = PortBlock(20000).messenger
    assert last - first + 1 >= 8 * (96 + 4)


def test_blocks_stay_below_ephemeral_ports() -> None:
    """A client's own port can never be taken for a daemon's."""
    assert FIRST_PORT + BLOCKS * BLOCK_PORTS <= 32768


def test_concurrent_requests_get_different_blocks(tmp_path: Path) -> None:
    """Between choosing a block and listening on it, no other process can choose it."""
    with reserve(frozenset, tmp_path) as one, reserve(frozenset, tmp_path) as other:
        assert set(one.ports).isdisjoint(other.ports)


def test_port_block_is_reused_only_after_all_others(tmp_path: Path) -> None:
    """A client that outlived its cluster does not meet the next one there."""
    had = []
    for _ in range(BLOCKS + 1):
        with reserve(frozenset, tmp_path) as block:
            had.append(block.base)
    assert len(set(had[:BLOCKS])) == BLOCKS
    assert had[BLOCKS] == had[0]


def test_last_block_is_not_reused_even_if_no_other_is_free(tmp_path: Path) -> None:
    with reserve(frozenset, tmp_path) as last:
        pass
    others = frozenset(
        FIRST_PORT + n * BLOCK_PORTS
        for n in range(BLOCKS)
        if FIRST_PORT + n * BLOCK_PORTS != last.base
    )
    with pytest.raises(HarnessError, match='used last'), reserve(lambda: others, tmp_path):
        pass


def test_concurrent_clusters_never_share_a_block(tmp_path: Path) -> None:
    """Processes that reserve at the same time, again and again, get one block each."""
    script = (
        'import sys; from pathlib import Path; from harness import ports\n'
        'ports.NAMES = sys.argv[1]; reserve = ports.reserve\n'
        'for _ in range(20):\n'
        '    with reserve(frozenset, Path(sys.argv[1])) as block: print(block.base)'
    )
    environment = {**os.environ, 'PYTHONPATH': str(QA)}
    running = [
        subprocess.Popen(
            [sys.executable, '-c', script, str(tmp_path)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    message = [process.communicate(timeout=60)[0].split() for process in running]
    assert [len(bases) for bases in message] == [20] * 4
    every = [base for bases in message for base in bases]
    # In turn: each block was had as often as any other
    assert {every.count(base) for base in every} == {len(every) // BLOCKS}


@pytest.mark.parametrize('text', ['', 'x', '-3', '99999', '²', '\0'])
def test_broken_record_of_the_last_block_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / LAST_BLOCK).write_text(text)
    with reserve(frozenset, tmp_path) as block:
        assert block.base >= FIRST_PORT
    with reserve(frozenset, tmp_path) as another:
        assert another != block


def test_unwritable_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with (
        pytest.raises(HarnessError, match=r'file/cache.*ROCKSDB_TUNER_CACHE'),
        reserve(frozenset, tmp_path / 'file/cache'),
    ):
        pass


def test_block_with_a_listener_is_skipped(tmp_path: Path) -> None:
    """One listener anywhere in a block keeps a cluster out of it."""
    taken = frozenset({FIRST_PORT + BLOCK_PORTS - 1})
    with reserve(lambda: taken, tmp_path) as block:
        assert block.base == FIRST_PORT + BLOCK_PORTS


def test_no_free_block_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    """With a listener in each block, the message names the range and the remedy."""
    everywhere = frozenset(range(FIRST_PORT, FIRST_PORT + BLOCKS * BLOCK_PORTS))
    with (
        pytest.raises(HarnessError, match=f'{FIRST_PORT}.*qa/cluster down'),
        reserve(lambda: everywhere, tmp_path),
    ):
        pass


def test_listening_ports_are_seen() -> None:
    """A real listener is in the set, and is gone from it when it closes."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        assert port in listening_ports()
    assert port not in listening_ports()

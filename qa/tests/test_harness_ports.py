"""Blocks of loopback ports."""

from __future__ import annotations

import socket

import pytest

from harness import HarnessError
from harness.ports import BLOCK_PORTS, BLOCKS, FIRST_PORT, PortBlock, listening_ports, reserve


def test_no_port_of_a_block_has_two_uses() -> None:
    """Ports of ten daemons of each kind and the messengers' range never meet, and stay inside."""
    block = PortBlock(20000)
    single = [port for rank in range(10) for port in block.mon(rank)]
    for use in (block.dashboard, block.prometheus, block.rgw):
        single += [use(rank) for rank in range(10)]
    first, last = block.messenger
    every = [*single, *range(first, last + 1)]
    assert len(every) == len(set(every))
    assert set(every) <= set(block.ports)


def test_blocks_stay_below_ephemeral_ports() -> None:
    """A client's own port can never be taken for a daemon's."""
    assert FIRST_PORT + BLOCKS * BLOCK_PORTS <= 32768


def test_two_at_once_get_different_blocks() -> None:
    """Between choosing a block and listening in it, nobody else can choose it."""
    with reserve(frozenset) as one, reserve(frozenset) as other:
        assert set(one.ports).isdisjoint(other.ports)


def test_block_comes_back() -> None:
    """A reservation leaves nothing behind."""
    with reserve(frozenset) as one:
        pass
    with reserve(frozenset) as again:
        assert again == one


def test_block_with_a_listener_is_skipped() -> None:
    """One listener anywhere in a block keeps a cluster out of it."""
    with reserve(frozenset) as free:
        pass
    taken = frozenset({free.base + BLOCK_PORTS - 1})
    with reserve(lambda: taken) as block:
        assert taken.isdisjoint(block.ports)
        assert block.base > free.base


def test_no_free_block_is_an_error_that_says_what_to_do() -> None:
    """With a listener in each block, the message names the range and the remedy."""
    everywhere = frozenset(range(FIRST_PORT, FIRST_PORT + BLOCKS * BLOCK_PORTS))
    with (
        pytest.raises(HarnessError, match=f'{FIRST_PORT}.*qa/cluster down'),
        reserve(lambda: everywhere),
    ):
        pass


def test_listening_ports_are_seen() -> None:
    """A real listener is in the set, and is gone from it when it closes."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        assert port in listening_ports()
    assert port not in listening_ports()

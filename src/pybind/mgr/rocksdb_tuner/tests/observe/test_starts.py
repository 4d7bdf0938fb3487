"""How long OSDs were away until they were up again: only what was watched, and its bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Mapping, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.observe.starts import PAUSE_S, TOGETHER_S, LastStart, StartWatch

from .samples import osd_info

#: The nonce of each OSD's process in the map, None if it is down.
Seen = Mapping[int, Optional[int]]
TEN_S = 10.0
#: Three more OSDs that stay up on the same host.
OTHERS: Seen = {7: 1, 8: 1, 9: 1}


def osds(seen: Seen, hosts: Mapping[int, Optional[str]], uuids: Mapping[int, str]) -> list[OsdInfo]:
    return [
        replace(
            osd_info(n, 99 if nonce is None else nonce, up=nonce is not None),
            host=hosts.get(n, 'vm'),
            uuid=uuids.get(n, f'u{n}'),
        )
        for n, nonce in seen.items()
    ]


class Watching:
    """A tracker with samples every ten seconds."""

    def __init__(self) -> None:
        self.watch = StartWatch()
        self.now_s = 1000.0
        self.hosts: dict[int, Optional[str]] = {}
        self.uuids: dict[int, str] = {}

    def look(self, *polls: Seen, after_s: float = TEN_S) -> Mapping[int, LastStart]:
        for seen in polls:
            self.now_s += after_s
            self.watch.sample(osds(seen, self.hosts, self.uuids), self.now_s, TEN_S)
        return self.watch.starts


def one(*nonces: Optional[int]) -> list[Seen]:
    """Samples of osd.0, whose host has others that stay up."""
    return [{0: nonce, **OTHERS} for nonce in nonces]


def test_downtime_is_bounded_by_the_samples() -> None:
    """Down in three samples: 20 s at least, and less than 40 s between the two processes."""
    assert Watching().look(*one(1, None, None, None, 2)) == {0: LastStart(20.0, 40.0, False)}


def test_restart_between_two_samples_was_shorter_than_their_distance() -> None:
    """Never seen down: at least 0 s, and nothing is known of its host."""
    assert Watching().look(*one(1, 2)) == {0: LastStart(0.0, TEN_S, None)}


@pytest.mark.parametrize('nonces', [(None, None, 2), (None, 2, 2), (1, 1), (1, None), (1, None, 1)])
def test_only_tracked_process_changes_are_starts(
    nonces: tuple[Optional[int], ...],
) -> None:
    """Neither one that was down in the first sample, nor one wrongly marked down."""
    assert Watching().look(*one(*nonces)) == {}


def test_osd_wrongly_marked_down_starts_its_next_downtime_again() -> None:
    """The time before is no part of it."""
    starts = Watching().look(*one(1, None, None, None, 1, None, 2))
    assert starts == {0: LastStart(0.0, 20.0, False)}


def test_interrupted_tracking_knows_nothing_of_the_gap() -> None:
    """As while the manager waited for a monitor: an OSD may have come and gone unseen."""
    longer_s = PAUSE_S + 1
    for before, after in ((1, 2), (1, None), (None, 2), (None, None)):
        watching = Watching()
        watching.look(*one(1, before))
        watching.look(*one(after), after_s=longer_s)
        assert watching.look(*one(2)) == {}
    watching = Watching()
    watching.look(*one(1, None, 2))
    # The same process: its start was watched.
    assert watching.look(*one(2), after_s=longer_s) == {0: LastStart(0.0, 20.0, False)}
    assert watching.look(*one(3), after_s=longer_s) == {}


@pytest.mark.parametrize(('apart_s', 'watched'), [(7200.0, True), (7201.0, False)])
def test_samples_may_be_two_intervals_apart(apart_s: float, watched: bool) -> None:
    """In a large cluster, or with a long interval, samples are rare."""
    watch = StartWatch()
    for n, seen in enumerate(one(1, 2)):
        watch.sample(osds(seen, {}, {}), n * apart_s, 3600.0)
    assert (watch.starts == {0: LastStart(0.0, apart_s, None)}) is watched


def test_purged_osd_is_dropped_and_a_recreated_one_is_new() -> None:
    """The same id, and another uuid: seen up, or down at first."""
    watching = Watching()
    assert 0 in watching.look(*one(1, None, 2))
    assert watching.look(OTHERS) == {}
    assert watching.look(*one(3)) == {}
    for nonce in (3, None):
        watching = Watching()
        watching.look(*one(1, None, 2, None))
        watching.uuids = {0: 'another'}
        assert watching.look(*one(nonce, 4 if nonce is None else nonce)) == {}


def host(up: Iterable[int], down: Iterable[int], nonce: int = 1) -> Seen:
    return {**dict.fromkeys(up, nonce), **dict.fromkeys(down)}


@pytest.mark.parametrize(
    ('size', 'away', 'expected'),
    [
        # No other OSD could prove that the host was up.
        (1, 1, None),
        (2, 1, False),
        (2, 2, True),
        (3, 1, False),
        (3, 2, True),
        (4, 2, False),
        (4, 3, True),
        (12, 12, True),
    ],
)
def test_host_is_down_if_at_least_two_and_most_of_its_osds_are(
    size: int, away: int, expected: Optional[bool]
) -> None:
    """An OSD on another host is no matter."""
    watching, every = Watching(), range(size)
    watching.hosts = {99: 'elsewhere'}
    down = range(away)
    polls = (host(every, ()), host(range(away, size), down), host(every, (), 2))
    starts = watching.look(*({**seen, 99: 1} for seen in polls))
    assert [starts[n].host_away for n in down] == [expected] * away


def test_host_with_a_rolling_outage_of_its_osds_was_down() -> None:
    """A single sample must have them down together, even late in the downtime of the first."""
    watching, late = Watching(), [{0: None, 1: 1, 2: 1}] * int(TOGETHER_S / TEN_S + 2)
    watching.look({0: 1, 1: 1, 2: 1}, *late)
    starts = watching.look(
        {0: None, 1: None, 2: 1}, {0: None, 1: None, 2: None}, {0: None, 1: 2, 2: None}
    )
    assert starts[1].host_away is True
    starts = watching.look({0: 2, 1: 2, 2: None}, {0: 2, 1: 2, 2: 2})
    assert {starts[n].host_away for n in range(3)} == {True}


def test_long_dead_osds_do_not_indicate_a_reboot() -> None:
    """Nor of a host that stayed up, where no other OSD of it lives."""
    dead = [{0: 1, 1: None, 2: None}] * int(TOGETHER_S / TEN_S + 2)
    watching = Watching()
    watching.look({0: 1, 1: 1, 2: 1}, *dead)
    starts = watching.look({0: None, 1: None, 2: None}, {0: 2, 1: None, 2: None})
    assert starts[0].host_away is None
    watching = Watching()
    watching.look({0: 1, 1: 1, 2: None, 3: 1}, *({**seen, 3: 1} for seen in dead))
    starts = watching.look({0: None, 1: None, 2: None, 3: 1}, {0: 2, 1: None, 2: None, 3: 1})
    assert starts[0].host_away is False


def test_reboot_is_unknown_for_osds_on_unknown_hosts() -> None:
    """They need not be of one host."""
    watching = Watching()
    watching.hosts = dict.fromkeys(range(3))
    starts = watching.look({0: 1, 1: 1, 2: 1}, {0: None, 1: None, 2: 1}, {0: 2, 1: 2, 2: 1})
    assert [starts[n].host_away for n in (0, 1)] == [None, None]


Step = Union[None, int]


@given(
    st.lists(
        st.tuples(st.sampled_from((1.0, 10.0, 60.0, 61.0)), st.sampled_from((None, 1, 2, 3))),
        max_size=12,
    )
)
def test_bounds_are_those_of_the_looks_whatever_they_see(polls: list[tuple[float, Step]]) -> None:
    """With two consecutive processes: no downtime is longer than the time between them."""
    watching = Watching()
    times: list[tuple[float, Step]] = []
    for after_s, nonce in polls:
        starts = watching.look(*one(nonce), after_s=after_s)
        times.append((watching.now_s, nonce))
        if 0 not in starts:
            continue
        start = starts[0]
        assert 0.0 <= start.away_s <= start.away_most_s
        seen_up = [at_s for at_s, up in times if up is not None]
        assert start.away_most_s <= seen_up[-1] - seen_up[0]

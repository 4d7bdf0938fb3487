"""Option strings are queried after a change, and never shown for another process."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Mapping, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import ClusterMap, ConfigEntry, OsdInfo, RunningOption
from rocksdb_tuner.observe.option_watch import ASKED_PER_TICK, POLL_S, SETTLE_S, OptionWatch

from .samples import osd_info

NAME = 'bluestore_rocksdb_options'


def osd(osd_id: int, nonce: int = 1, *, up: bool = True) -> OsdInfo:
    return osd_info(osd_id, nonce, up=up)


def cluster_of(*osds: OsdInfo) -> ClusterMap:
    return ClusterMap(
        epoch=1, flags=frozenset(), require_osd_release='pacific', osds=osds, pools=()
    )


class FakeConfig:
    """A config store in memory that counts its queries."""

    def __init__(self) -> None:
        self.stored: tuple[ConfigEntry, ...] = ()
        self.values: dict[int, str] = {}
        self.asked: list[int] = []

    def entries(self, names: Sequence[str]) -> tuple[ConfigEntry, ...]:
        return self.stored

    def running(
        self, osd_id: int, names: Sequence[str], if_set: Sequence[str] = ()
    ) -> Mapping[str, RunningOption]:
        self.asked.append(osd_id)
        if osd_id not in self.values:
            raise CommandError(errno.ENOENT, f'no config state for daemon osd.{osd_id}')
        value = self.values[osd_id]
        return {name: RunningOption(value, 'default', ignores_mon=False) for name in names}

    def set(self, who: str, name: str, value: str) -> None:
        raise AssertionError('a watch changes nothing')

    def remove(self, who: str, name: str) -> None:
        raise AssertionError('a watch changes nothing')


class Watched:
    """What a watch of ``osds`` asked a store for, and found."""

    def __init__(self, *osds: OsdInfo) -> None:
        self.config = FakeConfig()
        self.config.values = {0: 'a=1', 1: 'a=1'}
        self.watch, self.osds = OptionWatch(self.config, [NAME]), osds or (osd(0),)

    def refresh(self, *times_s: float) -> None:
        for now_s in times_s:
            self.watch.refresh(cluster_of(*self.osds), now_s)

    def value(self, of: Optional[OsdInfo] = None) -> Optional[str]:
        """The running options of an OSD; None: unknown."""
        running = self.watch.known.running(of or self.osds[0])
        return None if running is None else running[NAME].value


def test_process_is_queried_until_its_report_arrives_and_then_never_again() -> None:
    watched = Watched()
    watched.refresh(*(float(now_s) for now_s in range(0, 1000, 5)))
    assert len(watched.config.asked) == 1 + SETTLE_S / 10
    assert watched.value() == 'a=1'
    # `config show` reports "default" once an entry is removed: the process runs the old value.
    watched.config.values[0] = 'the default'
    watched.refresh(1040.0)
    assert watched.value() == 'a=1'
    assert watched.value(osd(0, up=False)) is None


def test_restarted_osd_is_queried_again_and_its_old_answer_hidden() -> None:
    watched = Watched()
    watched.refresh(0.0)
    watched.osds = (osd(0, nonce=2),)
    assert watched.value() is None
    watched.config.values[0] = 'a=2'
    watched.refresh(5.0)
    assert watched.value() == 'a=2'


def test_osd_without_a_report_is_unknown_and_queried_again() -> None:
    watched = Watched(osd(2))
    watched.refresh(0.0)
    assert watched.value() is None
    watched.config.values[2] = 'a=1'
    watched.refresh(1.0)
    assert watched.value() == 'a=1'


def test_answer_survives_a_brief_gap_in_reports_of_the_process() -> None:
    """Queried again while it settles, and the monitor has no report: its options stay known."""
    watched = Watched()
    watched.refresh(0.0)
    del watched.config.values[0]
    watched.refresh(POLL_S)
    assert watched.value() == 'a=1'
    watched.osds = (osd(0, nonce=2),)
    watched.refresh(POLL_S + 1)
    assert (watched.value(), watched.value(osd(0))) == (None, None)


def test_changed_entries_are_seen_at_the_next_poll() -> None:
    watched = Watched()
    watched.refresh(0.0)
    watched.config.stored = (ConfigEntry('osd', NAME, 'a=3'),)
    watched.refresh(5.0)
    assert not watched.watch.known.entries
    watched.refresh(10.0)
    assert watched.watch.known.entries == watched.config.stored


def test_many_osds_are_queried_over_several_ticks() -> None:
    watched = Watched(*map(osd, range(3 * ASKED_PER_TICK)))
    watched.config.values = {o.osd_id: 'a=1' for o in watched.osds}
    for tick in range(3):
        watched.config.asked.clear()
        watched.refresh(float(tick))
        assert len(watched.config.asked) == ASKED_PER_TICK
    assert all(map(watched.value, watched.osds))


def test_equal_options_of_osds_are_one_object() -> None:
    """Ten thousand OSDs mostly run with the same ones."""
    watched = Watched(*map(osd, range(4)))
    watched.config.values = {0: 'a=1', 1: 'a=1', 2: 'a=2', 3: 'a=2'}
    watched.refresh(0.0)
    one, same, other, same_again = map(watched.watch.known.running, watched.osds)
    assert one is same
    assert other is same_again
    assert one != other

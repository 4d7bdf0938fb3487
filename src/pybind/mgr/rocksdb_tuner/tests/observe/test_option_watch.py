"""Option strings are queried after a change, and never shown for another process."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Mapping

import pytest

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


@pytest.fixture
def config() -> FakeConfig:
    config = FakeConfig()
    config.values = {0: 'a=1', 1: 'a=1'}
    return config


def test_process_is_queried_until_its_report_arrives_and_then_never_again(
    config: FakeConfig,
) -> None:
    watch = OptionWatch(config, [NAME])
    for now_s in range(0, 1000, 5):
        watch.refresh(cluster_of(osd(0)), float(now_s))
    assert len(config.asked) == 1 + SETTLE_S / 10
    running = watch.known.running(osd(0))
    assert running is not None
    assert running[NAME].value == 'a=1'


def test_removed_entry_does_not_make_a_running_process_appear_restarted(
    config: FakeConfig,
) -> None:
    """`config show` reports "default" at once, though the process still runs the old value."""
    watch = OptionWatch(config, [NAME])
    for now_s in (0.0, 10.0, 20.0, 30.0):
        watch.refresh(cluster_of(osd(0)), now_s)
    config.values[0] = 'the default'
    watch.refresh(cluster_of(osd(0)), 40.0)
    running = watch.known.running(osd(0))
    assert running is not None
    assert running[NAME].value == 'a=1'


def test_restarted_osd_is_queried_again_and_its_old_answer_hidden(
    config: FakeConfig,
) -> None:
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(osd(0)), 0.0)
    assert watch.known.running(osd(0, nonce=2)) is None
    config.values[0] = 'a=2'
    watch.refresh(cluster_of(osd(0, nonce=2)), 5.0)
    running = watch.known.running(osd(0, nonce=2))
    assert running is not None
    assert running[NAME].value == 'a=2'


def test_osd_that_is_down_runs_nothing(config: FakeConfig) -> None:
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(osd(0)), 0.0)
    assert watch.known.running(osd(0, up=False)) is None


def test_osd_without_a_report_is_unknown_and_queried_again(config: FakeConfig) -> None:
    del config.values[1]
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(osd(1)), 0.0)
    assert watch.known.running(osd(1)) is None
    config.values[1] = 'a=1'
    watch.refresh(cluster_of(osd(1)), 1.0)
    assert watch.known.running(osd(1)) is not None


def test_answer_survives_a_brief_gap_in_reports_of_the_process(
    config: FakeConfig,
) -> None:
    """Queried again while it settles, and the monitor has no report: its options stay known."""
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(osd(0)), 0)
    del config.values[0]
    watch.refresh(cluster_of(osd(0)), POLL_S)
    assert watch.known.running(osd(0)) is not None
    watch.refresh(cluster_of(osd(0, nonce=2)), POLL_S + 1)
    assert watch.known.running(osd(0, nonce=2)) is None
    assert watch.known.running(osd(0)) is None


def test_changed_entries_are_seen_at_the_next_poll(config: FakeConfig) -> None:
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(osd(0)), 0.0)
    config.stored = (ConfigEntry('osd', NAME, 'a=3'),)
    watch.refresh(cluster_of(osd(0)), 5.0)
    assert not watch.known.entries
    watch.refresh(cluster_of(osd(0)), 10.0)
    assert watch.known.entries == config.stored


def test_many_osds_are_queried_over_several_ticks(config: FakeConfig) -> None:
    osds = [osd(i) for i in range(3 * ASKED_PER_TICK)]
    config.values = {o.osd_id: 'a=1' for o in osds}
    watch = OptionWatch(config, [NAME])
    for tick in range(3):
        config.asked.clear()
        watch.refresh(cluster_of(*osds), float(tick))
        assert len(config.asked) == ASKED_PER_TICK
    assert all(watch.known.running(o) is not None for o in osds)


def test_equal_options_of_osds_are_one_object(config: FakeConfig) -> None:
    """Ten thousand OSDs mostly run with the same ones."""
    config.values = {0: 'a=1', 1: 'a=1', 2: 'a=2', 3: 'a=2'}
    osds = [osd(i) for i in config.values]
    watch = OptionWatch(config, [NAME])
    watch.refresh(cluster_of(*osds), 0.0)
    one, same, other, same_again = map(watch.known.running, osds)
    assert one is same
    assert other is same_again
    assert one != other

"""Settings changed for a deep query are restored, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Sequence
from typing import Callable, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.deep.reader import (
    OPTIONS,
    OVERRIDES,
    DeepStatsReader,
)
from rocksdb_tuner.mgr.protocols import CommandError, TellArguments
from rocksdb_tuner.mgr.records import ClusterMap, OsdInfo

from ..fake_cluster import FakeCluster, FakeStore

KV_STATS = '{"": "** Compaction Stats [default] **", "": "Uptime(secs): 12.5 total, 1.0 interval"}'


def at_once(_: int, work: Callable[[], object]) -> bool:
    work()
    return True


class Died(BaseException):
    """The manager's process ends here."""


class Osds:
    """Running OSDs that accept options, as 16.2.15 does: overrides on top of other settings."""

    def __init__(self) -> None:
        #: Values from the config store or a file, and values set in the process.
        self.below: dict[str, bool] = {}
        self.override: dict[str, bool] = {}
        self.nonce = 100
        #: Commands until the manager dies, or until the OSD stops answering.
        self.fails_after: Optional[int] = None
        self.silent_after: Optional[int] = None
        self.asked: list[str] = []

    def info(self, *, up: bool = True) -> OsdInfo:
        (osd,) = FakeCluster(osds=1).cluster_map().osds
        return OsdInfo(**{**vars(osd), 'up': up, 'nonce': self.nonce})

    def restart(self) -> None:
        self.nonce += 1
        self.override.clear()

    def tell(self, osd_id: int, prefix: str, args: TellArguments) -> str:
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise Died
        if self.silent_after is not None and len(self.asked) >= self.silent_after:
            raise CommandError(errno.ETIMEDOUT, 'osd.0 did not answer')
        self.asked.append(prefix)
        if prefix == 'config diff':
            return json.dumps({'diff': {name: self._shown(name) for name in OPTIONS}})
        name = args.get('var')
        if prefix == 'config set':
            assert isinstance(name, str)
            value = args['val']
            assert isinstance(value, list)
            self.override[name] = value == ['true']
        elif prefix == 'config unset':
            assert isinstance(name, str)
            self.override.pop(name, None)
        else:
            assert prefix == 'dump_objectstore_kv_stats'
            on = all(self._final(name) for name in OPTIONS)
            return KV_STATS if on else ''
        return '{"success": ""}'

    def ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        raise AssertionError

    def _final(self, name: str) -> bool:
        return self.override.get(name, self.below.get(name, False))

    def _shown(self, name: str) -> dict[str, bool]:
        shown = {'default': False, 'final': self._final(name)}
        if name in self.below:
            shown['mon'] = self.below[name]
        if name in self.override:
            shown['override'] = self.override[name]
        return shown


def a_map(*osds: OsdInfo) -> ClusterMap:
    return ClusterMap(1, frozenset(), None, osds, ())


@pytest.fixture
def osds() -> Osds:
    return Osds()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def test_deep_query_enables_statistics_reads_and_restores(osds: Osds, store: FakeStore) -> None:
    look = DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    assert look.stats.uptime_s == 12.5
    assert look.switched_on == OPTIONS
    assert look.not_put_back == ()
    assert osds.override == {}
    assert store.values == {}


def test_enabled_statistics_are_left_alone(osds: Osds, store: FakeStore) -> None:
    osds.below = dict.fromkeys(OPTIONS, True)
    look = DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    assert look.switched_on == ()
    assert osds.asked == ['config diff', 'dump_objectstore_kv_stats']


def test_setting_of_an_operator_in_the_process_is_restored(osds: Osds, store: FakeStore) -> None:
    before = {'rocksdb_perf': False, 'rocksdb_collect_memory_stats': True}
    osds.override = dict(before)
    osds.below = {'rocksdb_perf': True}
    DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    assert osds.override == before


def test_note_is_stored_before_any_change(osds: Osds, store: FakeStore) -> None:
    seen = []

    def on_set(key: str) -> None:
        seen.append((key, 'config set' in osds.asked))

    store.on_set = on_set
    DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    assert seen[0] == (f'{OVERRIDES}osd.0', False)


def test_nothing_is_changed_if_the_note_cannot_be_stored(osds: Osds, store: FakeStore) -> None:
    store.error = CommandError(errno.EIO, 'no quorum')
    with pytest.raises(CommandError):
        DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    assert osds.asked == ['config diff']


@given(
    fails_after=st.integers(0, 12),
    below=st.dictionaries(st.sampled_from(OPTIONS), st.booleans()),
    override=st.dictionaries(st.sampled_from(OPTIONS), st.booleans()),
    again=st.integers(0, 12),
)
@settings(max_examples=200)
def test_a_manager_that_dies_anywhere_is_cleaned_up_after(
    fails_after: int, below: dict[str, bool], override: dict[str, bool], again: int
) -> None:
    """Also where the next manager dies while it cleans up."""
    osds, store = Osds(), FakeStore()
    osds.below, osds.override = below, dict(override)
    osds.fails_after = fails_after
    with contextlib.suppress(Died):
        DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    osds.asked, osds.fails_after = [], again
    try:
        takeover(osds, store)
    except Died:
        osds.asked, osds.fails_after = [], None
        takeover(osds, store)
    assert osds.override == override
    assert store.values == {}


def takeover(osds: Osds, store: FakeStore) -> DeepStatsReader:
    reader = DeepStatsReader(osds, store)
    reader.load()
    reader.restore(a_map(osds.info()), 2000.0, at_once)
    return reader


def test_osd_that_stops_answering_is_retried_until_it_answers(osds: Osds, store: FakeStore) -> None:
    osds.silent_after = 3
    reader = DeepStatsReader(osds, store)
    with pytest.raises(CommandError):
        reader.read(osds.info(), 1000.0)
    assert osds.override != {}
    assert store.keys(OVERRIDES) == [f'{OVERRIDES}osd.0']
    reader.restore(a_map(osds.info()), 1001.0, at_once)
    assert osds.override != {}
    with pytest.raises(CommandError, match='the module retries'):
        reader.read(osds.info(), 1002.0)
    osds.silent_after = None
    reader.restore(a_map(osds.info()), 1040.0, at_once)
    assert osds.override == {}
    assert store.values == {}


def test_osd_that_is_down_is_awaited(osds: Osds, store: FakeStore) -> None:
    osds.fails_after = 3
    with pytest.raises(Died):
        DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    osds.fails_after = None
    reader = DeepStatsReader(osds, store)
    reader.load()
    asked = list(osds.asked)
    reader.restore(a_map(osds.info(up=False)), 2000.0, at_once)
    assert osds.asked == asked
    assert store.keys(OVERRIDES)


@pytest.mark.parametrize('gone', [True, False])
def test_dead_process_has_nothing_to_restore(osds: Osds, store: FakeStore, gone: bool) -> None:
    osds.fails_after = 3
    with pytest.raises(Died):
        DeepStatsReader(osds, store).read(osds.info(), 1000.0)
    osds.fails_after, osds.asked = None, []
    osds.restart()
    reader = DeepStatsReader(osds, store)
    reader.load()
    reader.restore(a_map(*([] if gone else [osds.info()])), 2000.0, at_once)
    assert osds.asked == []
    assert store.values == {}


def test_unreadable_note_is_quarantined(osds: Osds, store: FakeStore) -> None:
    store.values[f'{OVERRIDES}osd.0'] = '{"version": 1, "osd"'
    takeover(osds, store)
    assert osds.asked == []
    assert store.values == {f'broken/{OVERRIDES}osd.0': '{"version": 1, "osd"'}


def test_osd_that_is_down_is_not_queried(osds: Osds, store: FakeStore) -> None:
    with pytest.raises(CommandError, match=r'osd\.0 is down'):
        DeepStatsReader(osds, store).read(osds.info(up=False), 1000.0)

"""The slow events reported by OSDs, and the releases that send them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.slow_events import SLOW_COMMITS, SlowEvents, read_slow_events
from rocksdb_tuner.tests.fake_cluster import FakeCluster

DATA = Path(__file__).parent / 'data'


@pytest.mark.parametrize(
    ('release', 'sent'), [('pacific', False), ('reef', True), ('tentacle', True)]
)
def test_slow_commits_are_counted_as_in_the_perf_schema(release: str, sent: bool) -> None:
    counters = json.loads((DATA / release / 'counters_sent.json').read_text())
    assert (SLOW_COMMITS in counters) == sent


@pytest.mark.parametrize('release', ['pacific', 'reef', 'tentacle'])
def test_no_release_sends_cpu_time_or_rocksdb_stall_time(release: str) -> None:
    counters = json.loads((DATA / release / 'counters_sent.json').read_text())
    assert counters
    assert not [name for name in counters if 'cpu' in name or name.startswith('rocksdb.')]


def test_value_missing_in_the_report_is_unknown() -> None:
    cluster = FakeCluster(osds=2)
    cluster.slow_requests[0] = 3
    cluster.counters[0, SLOW_COMMITS] = CounterPoint(1.0, 12, None)
    cluster.osds[1].up = False
    assert read_slow_events(cluster, [0, 1]) == {0: SlowEvents(3, 12), 1: SlowEvents(None, None)}

"""The slow events reported by OSDs, and the releases that send them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.details import (
    SLOW_COMMITS,
    SLOW_COUNTERS,
    AlertingOsd,
    SlowEvents,
    SlowOps,
    count_slow_ops,
    read_slow_events,
    watch_slow_ops,
)
from rocksdb_tuner.tests.fake_cluster import FakeCluster

DATA = Path(__file__).parent / 'data'


@pytest.mark.parametrize(
    ('release', 'sent'), [('pacific', False), ('reef', True), ('tentacle', True)]
)
def test_slow_commits_are_counted_as_in_the_perf_schema(release: str, sent: bool) -> None:
    counters = json.loads((DATA / release / 'counters_sent.json').read_text())
    assert [name in counters for name in SLOW_COUNTERS] == [sent] * len(SLOW_COUNTERS)


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


def test_slow_operations_of_all_kinds_are_counted() -> None:
    cluster = FakeCluster(osds=2)
    for number, path in enumerate(SLOW_COUNTERS):
        cluster.counters[0, path] = CounterPoint(1.0, 10**number, None)
    assert count_slow_ops(cluster, 0) == 1111
    assert count_slow_ops(cluster, 1) is None


def test_live_alert_differs_from_a_latched_one() -> None:
    """Only what grew while it was watched is known to be slow now."""
    state = watch_slow_ops({}, {0: 5, 1: 5, 2: None}, 100.0)
    state = watch_slow_ops(state, {0: 6, 1: 5, 2: None}, 130.0)
    assert {n: ops.at(200.0) for n, ops in state.items()} == {
        0: AlertingOsd(100.0, 70.0),
        1: AlertingOsd(100.0, None),
        2: AlertingOsd(None, None),
    }
    later = watch_slow_ops(state, {0: 6}, 160.0)
    assert later == {0: SlowOps(6, 100.0, 130.0)}
    assert watch_slow_ops(later, {0: 2}, 190.0) == {0: SlowOps(2, 190.0)}
    assert later[0].at(0.0) == AlertingOsd(0.0, 0.0)

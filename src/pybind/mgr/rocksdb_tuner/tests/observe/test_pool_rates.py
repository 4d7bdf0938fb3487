"""Client work in pools, from the mgr's statistics."""

from __future__ import annotations

from rocksdb_tuner.mgr.parse import parse_pool_counters
from rocksdb_tuner.mgr.records import PoolCounters
from rocksdb_tuner.observe.load_history import PoolHistory, PoolRates


def counters(writes: int) -> PoolCounters:
    return PoolCounters(reads=2 * writes, read_bytes=0, writes=writes, write_bytes=4096 * writes)


def test_rates_cover_the_same_time_as_those_of_osds() -> None:
    """Forty seconds are known, and the window reaches back thirty."""
    history = PoolHistory()
    for now_s, writes in ((0.0, 0), (10.0, 5000), (20.0, 5100), (30.0, 5200), (40.0, 5300)):
        history.add({1: counters(writes)}, now_s)
    assert history.rates() == {1: PoolRates(20.0, 0.0, 10.0, 40960.0)}


def test_one_reading_gives_no_rate() -> None:
    history = PoolHistory()
    assert history.rates() == {}
    history.add({1: counters(100)}, 0.0)
    assert history.rates() == {}


def test_pools_with_decreased_or_missing_counters_are_unknown() -> None:
    history = PoolHistory()
    history.add({2: counters(100), 3: counters(100)}, 0.0)
    history.add({1: counters(9), 2: counters(50), 3: counters(110)}, 10.0)
    assert set(history.rates()) == {3}


def test_new_pool_started_at_zero() -> None:
    """Ids of pools only grow, so a larger one than all before is new."""
    history = PoolHistory()
    history.add({3: counters(100)}, 0.0)
    history.add({3: counters(100), 4: counters(50)}, 10.0)
    assert history.rates()[4].writes_per_s == 5.0


def test_clock_set_back_gives_no_rate() -> None:
    history = PoolHistory()
    history.add({1: counters(100)}, 1000.0)
    history.add({1: counters(200)}, 10.0)
    assert history.rates() == {}
    history.add({1: counters(300)}, 20.0)
    assert history.rates()[1].writes_per_s == 10.0


def test_readings_too_close_together_are_skipped() -> None:
    """They may hold the same reports of the PGs."""
    history = PoolHistory()
    history.add({1: counters(100)}, 0.0)
    history.add({1: counters(100)}, 1.0)
    assert history.rates() == {}


def test_pool_statistics_as_returned_by_the_mgr() -> None:
    """Names as in `get('df')` of 16.2.15 to 20.2.4; a pool without statistics is absent."""
    stats = {'rd': 5, 'rd_bytes': 2048, 'wr': 7, 'wr_bytes': 4096, 'stored': 1}
    df = {'pools': [{'id': 3, 'name': 'rbd', 'stats': stats}, {'id': 4, 'name': 'new'}]}
    assert parse_pool_counters(df) == {3: PoolCounters(5, 2048, 7, 4096)}
    assert parse_pool_counters({}) == {}

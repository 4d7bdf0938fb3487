"""RocksDB's own statistics, as three releases really print them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.kv_stats import (
    KvStats,
    KvStatsUnavailableError,
    parse_kv_stats,
    parse_memtable_time,
)

DATA = Path(__file__).parent / 'data'
EXTENDED = {
    'pacific': KvStats(
        200773817, 178009961, 148168512, 299420766, 0, (15242452, 18614), 53297, 49922
    ),
    'reef': KvStats(
        112348542, 110152859, 107133107, 343194260, 0, (11727681, 20194), 102582, 39104
    ),
    'tentacle': KvStats(37547201, 40678201, 1437674, 51079259, 0, (2084367, 3614), 8354, 16796),
}


@pytest.mark.parametrize('release', EXTENDED)
def test_recorded_answers_give_database_wide_tickers(release: str) -> None:
    text = (DATA / release / 'extended.txt').read_text()
    assert parse_kv_stats(text) == EXTENDED[release]


@pytest.mark.parametrize('release', EXTENDED)
def test_column_family_tables_are_not_mistaken_for_the_database(release: str) -> None:
    text = (DATA / release / 'compaction_only.txt').read_text()
    with pytest.raises(KvStatsUnavailableError, match='rocksdb_collect_extended_stats'):
        parse_kv_stats(text)


def test_disabled_osd_has_a_reason() -> None:
    with pytest.raises(KvStatsUnavailableError, match='RocksDB perf is disabled'):
        parse_kv_stats((DATA / 'tentacle' / 'default.txt').read_text())
    with pytest.raises(KvStatsUnavailableError, match='empty'):
        parse_kv_stats('\n')


@pytest.mark.parametrize('release', EXTENDED)
@given(data=st.data())
def test_a_cut_answer_gives_the_same_figures_or_none(release: str, data: st.DataObject) -> None:
    text = (DATA / release / 'extended.txt').read_text()
    cut = text[: data.draw(st.integers(0, len(text)))]
    try:
        stats = parse_kv_stats(cut)
    except KvStatsUnavailableError:
        return
    assert stats == EXTENDED[release]


@given(st.text())
def test_garbage_is_unavailable_and_nothing_worse(text: str) -> None:
    with pytest.raises(KvStatsUnavailableError):
        parse_kv_stats(text)


def test_deep_nesting_is_unavailable_without_an_error() -> None:
    with pytest.raises(KvStatsUnavailableError):
        parse_kv_stats('[' * 100_000)


def test_memtable_time_is_known_only_if_counted() -> None:
    counted = '{"rocksdb": {"rocksdb_write_memtable_time": {"avgcount": 50177, "sum": 1.114}}}'
    off = '{"rocksdb": {"rocksdb_write_memtable_time": {"avgcount": 0, "sum": 0.0}}}'
    assert parse_memtable_time(counted) == (1.114, 50177)
    assert [parse_memtable_time(text) for text in (off, '{}', '', '[]', '{"rocksdb": 1}')] == [
        None
    ] * 5

"""RocksDB's own statistics and tables, as three releases really print them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.kv_stats import (
    KvStats,
    KvStatsUnavailableError,
    parse_deep_stats,
    parse_kv_stats,
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


def test_deep_nesting_is_unavailable_without_an_error() -> None:
    with pytest.raises(KvStatsUnavailableError):
        parse_kv_stats('[' * 100_000)


def test_memtable_time_is_known_only_if_counted() -> None:
    text = (DATA / 'pacific' / 'extended.txt').read_text()
    counted = '{"rocksdb": {"rocksdb_write_memtable_time": {"avgcount": 50177, "sum": 1.114}}}'
    off = '{"rocksdb": {"rocksdb_write_memtable_time": {"avgcount": 0, "sum": 0.0}}}'
    assert parse_kv_stats(text, counted).memtable_insert == (1.114, 50177)
    for dump in (off, '{}', '', '[]', '{"rocksdb": 1}'):
        assert parse_kv_stats(text, dump).memtable_insert is None


def answer(release: str, name: str) -> str:
    return (DATA / release / f'{name}.txt').read_text()


@pytest.mark.parametrize(
    ('release', 'shown'), [('pacific', ['default']), ('reef', ['default']), ('tentacle', None)]
)
def test_the_column_families_of_the_release_are_found(
    release: str, shown: list[str] | None
) -> None:
    stats = parse_deep_stats(answer(release, 'compaction_only'))
    names = [family.name for family in stats.column_families]
    if shown is None:
        assert {'default', 'p-0', 'm-2', 'O-1', 'P', 'L'} <= set(names)
        assert len(names) == len(set(names))
    else:
        assert names == shown
    levels = [level for family in stats.column_families for level in family.levels]
    assert levels
    assert not [level for level in levels if None in (level.files, level.size_bytes)]
    assert stats.totals is None
    assert stats.uptime_s is not None
    assert stats.stalled_s == 0.0


TABLE = r"""{
    "rocksdb_compaction_statistics": "",
    "": "** Compaction Stats [p-0] **",
    "": "Level    Files   Size     Score W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) Comp(cnt)",
    "": "----------------------",
    "": "  L0      3/0   28.72 MB   0.4      1.0      0.0    192.5      0.15         2",
    "": "  L1      1/0    1.50 GB   1.2      3.5    200.0    160.0      2.00         7",
    "": " Sum      4/0    1.53 GB   0.0      2.0    109.2    178.3      2.15         9",
    "": " Int      0/0    0.00 KB   0.0      2.0    109.3    178.5      0.32         2",
    "": "",
    "": "** Compaction Stats [p-0] **",
    "": "Priority    Files   Size     Score Read(GB)",
    "": " Low      0/0    0.00 KB   0.0      0.0",
    "": "Uptime(secs): 737.4 total, 137.4 interval",
    "": "Flush(GB): cumulative 0.028, interval 0.028",
    "": "Stalls(count): 3 level0_slowdown, 1 stop for pending_compaction_bytes, interval 4 total",
    "": "Cumulative stall: 01:02:3.500 H:M:S, 0.0 percent"
}
{ "block_cache_usage": "1234", "rocksdb_memtable_usage": "99" }
"""


def test_figures_are_in_bytes_and_seconds() -> None:
    stats = parse_deep_stats(TABLE)
    (family,) = stats.column_families
    level_0, level_1 = family.levels
    assert (level_0.level, level_0.files, level_0.compactions) == (0, 3, 2)
    assert level_0.size_bytes == round(28.72 * (1 << 20))
    assert (level_1.score, level_1.write_amp) == (1.2, 3.5)
    assert level_1.write_bytes == 320 << 20
    assert family.write_amp == 2.0
    assert family.stalls == {'level0_slowdown': 3, 'stop for pending_compaction_bytes': 1}
    assert (stats.uptime_s, stats.stalled_s) == (737.4, 3723.5)
    assert (stats.block_cache_bytes, stats.memtable_bytes) == (1234, 99)


def test_too_small_values_are_unknown() -> None:
    text = TABLE.replace('0.15         2', '0.00         2').replace('2.00         7', '0.00    0')
    level_0, level_1 = parse_deep_stats(text).column_families[0].levels
    assert (level_0.write_bytes, level_1.write_bytes) == (None, 0)


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_deep_stats(text)
